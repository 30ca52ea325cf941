//! Pass 7: subscripts of lists and tensors become operators. The pass runs only with the feature `LISTS`.
//!
//! ```python
//! x[i] = v        =>  x = ag__.set_item(x, i, v)
//! x[i]            =>  ag__.get_item(x, i, opts=ag__.GetItemOpts(element_dtype=None))
//! ```
//!
//! Slices and tuples of indices are not converted. `x[i] = v` is not converted either if `x` is a variable of another
//! scope, because the assignment `x = …` would make it local.

use ruff_python_ast::{self as ast, Expr, ExprContext, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::build;
use super::expressions::{self, Rewrite, Walk};
use super::lists;
use super::lowering::{self, LoweringContext};

pub(super) fn run(ctx: &LoweringContext, parameters: &ast::Parameters, body: &mut ast::Suite) {
    if !ctx.options.features.lists {
        return;
    }
    let own = lists::own_variables(parameters, body);
    lowering::for_each(body, &mut |statement| {
        if let Stmt::Assign(node) = statement
            && let [Expr::Subscript(target)] = &mut node.targets[..]
            && is_single(&target.slice)
            && let Expr::Name(list) = &*target.value
            && own.contains(&list.id)
        {
            let origin = node.range;
            let value = std::mem::replace(&mut *node.value, build::none(origin));
            let item = vec![Expr::Name(list.clone()), (*target.slice).clone(), value];
            *statement = build::assign(&list.id, build::operator("set_item", item, origin), origin);
        }
    });
    expressions::rewrite(body, &Items);
}

fn is_single(index: &Expr) -> bool {
    !matches!(index, Expr::Slice(_) | Expr::Tuple(_) | Expr::Starred(_))
}

struct Items;

impl Rewrite for Items {
    fn rewrite(&self, expression: &mut Expr, walk: &Walk<'_>) {
        walk.children(expression);
        let origin: TextRange = expression.range();
        let Expr::Subscript(node) = expression else { return };
        if node.ctx != ExprContext::Load || !is_single(&node.slice) {
            return;
        }
        let take = |part: &mut Box<Expr>| std::mem::replace(&mut **part, build::none(origin));
        let item = vec![take(&mut node.value), take(&mut node.slice)];
        let options = build::call_with(
            build::operator_name("GetItemOpts", origin),
            Vec::new(),
            vec![build::keyword("element_dtype", build::none(origin))],
            origin,
        );
        let function = build::operator_name("get_item", origin);
        *expression = build::call_with(function, item, vec![build::keyword("opts", options)], origin);
    }
}
