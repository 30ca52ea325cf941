//! `declare_rule!`: the doc comment of a rule becomes its manual page.

/// Declares a [`Rule`](super::Rule).
///
/// ```ignore
/// declare_rule! {
///     /// ## What it does
///     /// …
///     pub(crate) static UNDEFINED_BRANCH = {
///         code: "AG101", name: "undefined-branch",
///         summary: "a name is bound in only one branch of a staged `if`",
///         severity: Error, default: true, since: "0.1.0",
///         dialects: [Tensorflow, Autograph], fix: Sometimes,
///         check: Function(check),
///     }
/// }
/// ```
macro_rules! declare_rule {
    (
        $(#[doc = $doc:literal])+
        $vis:vis static $rule:ident = {
            code: $code:literal, name: $name:literal,
            summary: $summary:literal,
            severity: $severity:ident, default: $default:literal, since: $since:literal,
            dialects: [$($dialect:ident),+ $(,)?], fix: $fix:ident,
            check: $check:ident $(($($function:expr),+))?,
        }
    ) => {
        $(#[doc = $doc])+
        $vis static $rule: $crate::Rule = $crate::Rule {
            code: $code,
            name: $name,
            summary: $summary,
            severity: ag_db::diagnostic::Severity::$severity,
            default: $default,
            since: $since,
            dialects: &[$(ag_index::dialect::Dialect::$dialect),+],
            fix: $crate::FixAvailability::$fix,
            docs: concat!($($doc, "\n"),+),
            check: $crate::Check::$check$(($($function),+))?,
        };
    };
}
pub(crate) use declare_rule;
