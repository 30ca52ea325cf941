//! A staged `if` that returns in one branch only.

use ruff_text_size::{Ranged, TextRange};

use super::branches::{condition, framework, head, in_loop};
use super::returns::{self, Branch};
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_db::diagnostic::{Applicability, Edit};
use ag_syntax::{blocks, edits};

declare_rule! {
    /// ## What it does
    /// Finds staged `if` statements with a `return` in one branch, where the other branch goes on to the end of the
    /// function, or to a `return` outside of the block that the `if` stands in.
    ///
    /// ## Why is this bad?
    /// Both branches of a staged `if` are traced, and no graph can leave a function from within one of them: the
    /// returned value is a result of the `if` like any other, and both branches must give it. AutoGraph helps where
    /// it can: what follows an `if` that returns becomes its `else`. It does so within one block only, and not after
    /// an `elif`.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def clipped(x: tf.Tensor):
    ///     if x < 0.0:
    ///         return 0.0
    ///     elif x > 1.0:
    ///         return 1.0
    ///     return x
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def clipped(x: tf.Tensor):
    ///     if x < 0.0:
    ///         return 0.0
    ///     elif x > 1.0:
    ///         return 1.0
    ///     else:
    ///         return x
    /// ```
    ///
    /// ## Fix safety
    /// Where a single `return` follows the `if`, the fix puts it under an `else`. It is safe: the `if` above returns on
    /// all other ways.
    ///
    /// ## What TensorFlow says
    /// > the else branch must also have a return statement.
    pub(crate) static MISSING_RETURN = {
        code: "AG102", name: "missing-return",
        summary: "a staged `if` returns in one branch only",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: Sometimes,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !ctx.converts() {
        return;
    }
    // The innermost `if` is the one that is refused.
    let mut blamed: Vec<TextRange> = Vec::new();
    let ifs: Vec<_> = ctx.staged_ifs().collect();
    for (construct, statement, clause) in ifs.into_iter().rev() {
        let Some((main, orelse)) = returns::branches(ctx, statement, clause) else { continue };
        let (returning, other, holds) = match (main.returns().is_empty(), orelse.returns().is_empty()) {
            (false, true) => (&main, &orelse, "does not hold"),
            (true, false) => (&orelse, &main, "holds"),
            _ => continue,
        };
        let is_blamed = blamed.iter().any(|range| construct.range.contains_range(*range));
        if other.raises() || is_blamed || in_loop(ctx, construct) {
            continue;
        }
        blamed.push(construct.range);
        let message = format!(
            "nothing is returned when {} {holds}; {} needs a `return` in both branches",
            condition(ctx, construct),
            framework(ctx),
        );
        let mut report = ctx.report(&MISSING_RETURN, head(construct), message).why(construct.why.clone());
        for found in returning.returns() {
            report = report.label(ctx.span(found.range()), "a value is returned here");
        }
        report = match else_for_return(ctx, statement.range(), clause, &main, &orelse) {
            Some(edits) => {
                report.fix(Applicability::Safe, "Put the `return` that follows under an `else`", edits)
            }
            None => report,
        };
        report.help("`return` in both branches, or bind the result and return it once, at the end").emit();
    }
}

/// Makes the single `return` after an `elif` chain its `else`.
fn else_for_return(
    ctx: &FunctionContext,
    statement: TextRange,
    clause: usize,
    main: &Branch,
    orelse: &Branch,
) -> Option<Vec<Edit>> {
    let [following] = blocks::following(&ctx.def().body, statement) else { return None };
    let following = following.as_return_stmt()?;
    let is_last_elif = clause > 0 && orelse.is_absent() && main.certainly_returns();
    if !is_last_elif || ctx.text(following.range()).contains('\n') {
        return None;
    }
    let indentation = edits::indentation(&ctx.ast.text, statement.start())?;
    edits::indentation(&ctx.ast.text, following.start())?;
    let step = if indentation.contains('\t') { "\t" } else { "    " };
    Some(vec![Edit::insert(following.start(), format!("else:\n{indentation}{step}"))])
}
