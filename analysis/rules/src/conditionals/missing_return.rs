//! A staged `if` that returns in only one branch.

use ruff_text_size::{Ranged, TextRange};

use super::branches::{condition, framework, in_loop};
use super::returns::{self, Branch};
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_db::diagnostic::{Applicability, Edit};
use ag_syntax::{blocks, edits};

declare_rule! {
    /// ## What it does
    /// Finds staged `if` statements that return in only one branch: the other branch reaches the end of the function,
    /// or a `return` outside the block that contains the `if`.
    ///
    /// ## Why is this bad?
    /// Both branches of a staged `if` are traced, and a graph cannot leave a function from inside a branch: the
    /// return value is an output of the `if`, and both branches must produce it. AutoGraph moves the statements
    /// after an `if` that returns into its `else`, but only within one block and not after an `elif`.
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
    /// If a single `return` follows the `if`, the fix moves it into an `else`. It is safe: all other branches
    /// of the `if` return.
    ///
    /// ## What TensorFlow reports
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
    // Only the innermost `if` is reported: TensorFlow rejects it first.
    let mut reported: Vec<TextRange> = Vec::new();
    let ifs: Vec<_> = ctx.staged_ifs().collect();
    for (construct, statement, clause) in ifs.into_iter().rev() {
        let Some((main, orelse)) = returns::branches(ctx, statement, clause) else { continue };
        let (returning, other, holds) = match (main.returns().is_empty(), orelse.returns().is_empty()) {
            (false, true) => (&main, &orelse, "does not hold"),
            (true, false) => (&orelse, &main, "holds"),
            _ => continue,
        };
        let is_reported = reported.iter().any(|range| construct.range.contains_range(*range));
        if other.raises() || is_reported || in_loop(ctx, construct) {
            continue;
        }
        reported.push(construct.range);
        let message = format!(
            "nothing is returned when {} {holds}; {} requires a `return` in both branches",
            condition(ctx, construct),
            framework(ctx),
        );
        let mut report = ctx.report(&MISSING_RETURN, construct.head(), message).why(construct.why.clone());
        for found in returning.returns() {
            report = report.label(ctx.span(found.range()), "a value is returned here");
        }
        report = match else_for_return(ctx, statement.range(), clause, &main, &orelse) {
            Some(edits) => {
                report.fix(Applicability::Safe, "Move the following `return` into an `else`", edits)
            }
            None => report,
        };
        report.help("add a `return` to the other branch, or assign the result in both branches and return it once at the end").emit();
    }
}

/// Returns the edits that move the single `return` after an `elif` chain into a new `else`.
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
