//! Pass 5: `assert test, message` becomes `ag__.assert_stmt(test, lambda: message)`. The pass runs only with the
//! feature `ASSERT_STATEMENTS`.

use ruff_python_ast::{self as ast, Stmt};

use super::build;
use super::expressions::can_move_into_lambda;
use super::lowering::{self, LoweringContext};

pub(super) fn run(ctx: &LoweringContext, body: &mut ast::Suite) {
    if !ctx.options.features.asserts {
        return;
    }
    lowering::for_each(body, &mut |statement| {
        let Stmt::Assert(node) = statement else { return };
        if node.msg.as_deref().is_some_and(|message| !can_move_into_lambda(message)) {
            return;
        }
        let origin = node.range;
        let test = std::mem::replace(&mut *node.test, build::none(origin));
        let message =
            node.msg.take().map_or_else(|| build::string("Assertion error", origin), |message| *message);
        let call = build::operator("assert_stmt", vec![test, build::thunk(message)], origin);
        *statement = build::expression(call, origin);
    });
}
