//! Pass 12: a load of a variable that may be `Undefined` in a graph becomes `ag__.ld(x)`.
//!
//! Only operators assign `Undefined`, and only to state variables that may be unbound before the statement of the
//! operator. All other loads are unchanged.

use ruff_python_ast::{self as ast, Expr, ExprContext, Stmt};

use super::build;
use super::expressions::{self, Rewrite, Walk};
use super::lowering::LoweringContext;
use super::options::View;
use super::tree::{is_synthesized, synthesized};

pub(super) fn run(ctx: &LoweringContext, body: &mut ast::Suite) {
    if ctx.options.view == View::Simplified || ctx.maybe_undefined.borrow().is_empty() {
        return;
    }
    expressions::rewrite(body, &Loads { ctx });
    augmented(ctx, body);
}

struct Loads<'a> {
    ctx: &'a LoweringContext<'a>,
}

impl Rewrite for Loads<'_> {
    fn rewrite(&self, expression: &mut Expr, walk: &Walk<'_>) {
        match expression {
            Expr::Name(node) if node.ctx == ExprContext::Load && !is_synthesized(node) => {
                if self.ctx.maybe_undefined.borrow().contains(&node.id) {
                    let origin = node.range;
                    let mut name = node.clone();
                    name.node_index = synthesized();
                    *expression = build::operator("ld", vec![Expr::Name(name)], origin);
                }
            }
            _ => walk.children(expression),
        }
    }
}

/// Inserts `x = ag__.ld(x)` before `x += 1`, which also reads `x`.
fn augmented(ctx: &LoweringContext, body: &mut ast::Suite) {
    super::tree::rewrite(body, |mut statement, out| {
        for inner in super::tree::blocks(&mut statement) {
            augmented(ctx, inner);
        }
        match &mut statement {
            Stmt::FunctionDef(def) if is_synthesized(def) => augmented(ctx, &mut def.body),
            Stmt::AugAssign(node) => {
                if let Expr::Name(target) = &*node.target
                    && ctx.maybe_undefined.borrow().contains(&target.id)
                {
                    let load =
                        build::operator("ld", vec![build::name(&target.id, target.range)], target.range);
                    out.push(build::assign(&target.id, load, target.range));
                }
            }
            _ => {}
        }
        out.push(statement);
    });
}
