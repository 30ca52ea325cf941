//! Pass 4: replaces all `return`s by a single one at the end of the function.
//!
//! ```python
//! if x > 0:                       if x > 0:
//!     return x                        retval_ = x
//! y = -x                     =>   else:
//! return y                            y = -x
//!                                     retval_ = y
//!                                 return fscope.ret(retval_, True)
//! ```
//!
//! A `return` with code after it sets the flag `do_return`, which also ends loops.

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::build;
use super::jumps::{self, Jump, Lowering};
use super::lowering::LoweringContext;
use super::options::{OperatorSet, View};
use super::tree::{self, blocks, docstring};

pub(super) fn run(ctx: &LoweringContext, body: &mut ast::Suite) {
    if !jumps::contains(body, Jump::Return) {
        return;
    }
    let (last, before) =
        body.split_last_mut().map_or((None, &[][..]), |(last, before)| (Some(last), &*before));
    let only_at_the_end = matches!(last, Some(Stmt::Return(_))) && !jumps::contains(before, Jump::Return);
    if ctx.is_async || only_at_the_end {
        return wrap_values(ctx, body);
    }
    let always_returns = jumps::exits(body);
    let flag = ctx.names.fresh("do_return");
    let value = ctx.names.fresh("retval_");
    let store = |statement: &Stmt| {
        let Stmt::Return(node) = statement else { return None };
        let returned = node.value.as_deref().cloned();
        let returned = returned.unwrap_or_else(|| build::none(node.range));
        Some(build::assign(&value, returned, node.range))
    };
    let undo = |origin| Some(build::assign(&value, default_return_value(ctx, origin), origin));
    let mut lowering =
        Lowering { replace: &store, undo: &undo, ..Lowering::new(Jump::Return, &flag, ctx.notes) };
    lowering.block(body, true);
    let is_used = lowering.is_used;
    let origin = TextRange::empty(body.last().map_or_else(Default::default, Ranged::end));
    let did_return = if is_used { build::name(&flag, origin) } else { build::boolean(true, origin) };
    body.push(ret(ctx, build::name(&value, origin), did_return, origin));

    let start = TextRange::empty(body.first().map_or_else(Default::default, Ranged::start));
    let position = docstring(body);
    if !always_returns || is_used {
        body.insert(position, build::assign(&value, default_return_value(ctx, start), start));
    }
    if is_used {
        body.insert(position, build::assign(&flag, build::boolean(false, start), start));
    }
}

/// Returns the initial value of `retval_`.
fn default_return_value(ctx: &LoweringContext, origin: TextRange) -> Expr {
    match ctx.options.view {
        View::Full => build::operator("UndefinedReturnValue", Vec::new(), origin),
        View::Simplified => build::none(origin),
    }
}

/// `return fscope.ret(value, did_return)`
fn ret(ctx: &LoweringContext, value: Expr, did_return: Expr, origin: TextRange) -> Stmt {
    if ctx.options.view == View::Simplified || ctx.options.operator_set == OperatorSet::Snek {
        return build::returned(value, origin);
    }
    let ret = build::attribute(build::name(&ctx.scope, origin), "ret", origin);
    build::returned(build::call(ret, vec![value, did_return], origin), origin)
}

/// Wraps the values of `return`s that are not lowered in `fscope.ret`: the function's scope processes returned values.
fn wrap_values(ctx: &LoweringContext, body: &mut ast::Suite) {
    tree::rewrite(body, |mut statement, out| {
        for inner in blocks(&mut statement) {
            wrap_values(ctx, inner);
        }
        out.push(match statement {
            Stmt::Return(node) => {
                let value = node.value.map_or_else(|| build::none(node.range), |value| *value);
                ret(ctx, value, build::boolean(true, node.range), node.range)
            }
            statement => statement,
        });
    });
}
