//! Pass 10: `a if test else b` becomes `ag__.if_exp(test, lambda: a, lambda: b, 'test')`.
//!
//! Nested conditional expressions are converted, too. TensorFlow's AutoGraph does not convert them.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use super::build;
use super::expressions::{self, Rewrite, Walk, can_move_into_lambda};
use super::lowering::LoweringContext;
use super::tree::is_synthesized;

pub(super) fn run(ctx: &LoweringContext, body: &mut ast::Suite) {
    expressions::rewrite(body, &Conditionals { source: ctx.source });
}

struct Conditionals<'a> {
    source: &'a str,
}

impl Rewrite for Conditionals<'_> {
    fn rewrite(&self, expression: &mut Expr, walk: &Walk<'_>) {
        walk.children(expression);
        let Expr::If(node) = expression else { return };
        if is_synthesized(node) || !can_move_into_lambda(&node.body) || !can_move_into_lambda(&node.orelse) {
            return;
        }
        let origin = node.range;
        let test_origin = node.test.range();
        let text = self.source.get(test_origin.to_std_range()).unwrap_or_default();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = walk.string(&text, origin).unwrap_or_else(|| build::none(origin));
        let take = |part: &mut Box<Expr>| std::mem::replace(&mut **part, build::none(origin));
        let (test, body, orelse) = (take(&mut node.test), take(&mut node.body), take(&mut node.orelse));
        *expression =
            build::operator("if_exp", vec![test, build::thunk(body), build::thunk(orelse), text], origin);
    }
}
