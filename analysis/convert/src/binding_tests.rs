//! Part of pass 3: lowers a `while` whose test binds names. In a staged loop, only the body can change the loop's
//! state, not the test. So the test is evaluated before the loop, and again at the end of the body.
//!
//! ```python
//! while (rest := limit - x) > 0:         test_ = (rest := limit - x) > 0
//!     x += 1                       =>    while test_:
//!                                            x += 1
//!                                            test_ = (rest := limit - x) > 0
//! ```

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, BoolOp, Expr};
use ruff_text_size::{Ranged, TextRange};

use super::build;
use super::lowering::LoweringContext;
use super::tree::is_synthesized;

/// Replaces the test by one that binds no names. Appends statements that must precede the loop to `out`.
pub(super) fn lower(ctx: &LoweringContext, node: &mut ast::StmtWhile, out: &mut ast::Suite) {
    let mut search = FindNamedExpr { found: false };
    search.visit_expr(&node.test);
    if !search.found {
        return;
    }
    let flag = ctx.names.fresh("test_");
    let (test, condition) = take_test(&mut node.test, &flag);
    let origin = TextRange::empty(test.start());
    out.push(build::assign(&flag, test.clone(), origin));
    let again = build::assign(&flag, test, origin);
    node.body.push(match condition {
        Some(condition) => build::if_(condition, [again].into_iter().collect(), origin),
        None => again,
    });
}

/// Replaces the original test by the variable `flag`, and returns the original test. For `while not break_ and test`,
/// also returns the condition before the test: `not break_`.
fn take_test(test: &mut Expr, flag: &str) -> (Expr, Option<Expr>) {
    if let Expr::BoolOp(tests) = test
        && is_synthesized(tests)
        && tests.op == BoolOp::And
        && let Some((last, flags)) = tests.values.split_last_mut()
    {
        let origin = TextRange::empty(last.start());
        let condition = match flags {
            [one] => one.clone(),
            flags => build::and(flags.to_vec(), origin),
        };
        let replacement = build::name(flag, last.range());
        return (std::mem::replace(last, replacement), Some(condition));
    }
    let replacement = build::name(flag, test.range());
    (std::mem::replace(test, replacement), None)
}

struct FindNamedExpr {
    found: bool,
}

impl<'a> SourceOrderVisitor<'a> for FindNamedExpr {
    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Lambda(_) => {}
            Expr::Named(_) => self.found = true,
            _ => source_order::walk_expr(self, expression),
        }
    }
}
