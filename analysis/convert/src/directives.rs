//! Pass 1: records the directives `set_loop_options` and `set_element_type`, and removes the calls.
//!
//! ```python
//! while i < n:                                                       while i < n:
//!     tf.autograph.experimental.set_loop_options(                        ...
//!         maximum_iterations=10)                               =>
//!     ...
//! ```

use ruff_python_ast::{self as ast, Expr, Stmt};

use super::build;
use super::lowering::LoweringContext;
use super::tree::blocks;

const LOOP_OPTIONS: [&str; 4] =
    ["parallel_iterations", "swap_memory", "maximum_iterations", "shape_invariants"];

pub(super) fn run(ctx: &LoweringContext, body: &mut ast::Suite) {
    for statement in body.iter_mut() {
        for inner in blocks(statement) {
            run(ctx, inner);
        }
        let (index, block) = match statement {
            Stmt::While(node) => (&mut node.node_index, &mut node.body),
            Stmt::For(node) => (&mut node.node_index, &mut node.body),
            _ => continue,
        };
        let position = block.iter().position(|statement| directive(statement, "set_loop_options").is_some());
        let Some(position) = position else { continue };
        let removed = block.remove(position);
        let Some(call) = directive(&removed, "set_loop_options") else { continue };
        let positional = LOOP_OPTIONS.iter().zip(&call.arguments.args);
        let mut options: Vec<ast::Keyword> =
            positional.map(|(name, value)| build::keyword(name, value.clone())).collect();
        options.extend(call.arguments.keywords.iter().cloned());
        ctx.notes.add(index, |note| note.loop_options = options);
        if block.is_empty() {
            block.push(build::pass());
        }
    }
    if body.iter().any(|statement| directive(statement, "set_element_type").is_some()) {
        super::tree::rewrite(body, |statement, out| match directive(&statement, "set_element_type") {
            Some(call) => element_type(ctx, call),
            None => out.push(statement),
        });
        if body.is_empty() {
            body.push(build::pass());
        }
    }
}

/// Records `set_element_type(target, dtype, shape)` for the pass that converts lists.
fn element_type(ctx: &LoweringContext, call: &ast::ExprCall) {
    let argument = |name: &str, position: usize| {
        let positional = call.arguments.args.get(position);
        positional.or_else(|| call.arguments.find_keyword(name).map(|keyword| &keyword.value)).cloned()
    };
    if let Some(Expr::Name(target)) = argument("entity", 0) {
        let types = (argument("dtype", 1), argument("shape", 2));
        ctx.element_types.borrow_mut().insert(target.id, types);
    }
}

/// Returns the call of the directive `name`, if the statement is one.
fn directive<'a>(statement: &'a Stmt, name: &str) -> Option<&'a ast::ExprCall> {
    let Stmt::Expr(ast::StmtExpr { value, .. }) = statement else { return None };
    let Expr::Call(call) = &**value else { return None };
    let called = match &*call.func {
        Expr::Name(function) => function.id.as_str(),
        Expr::Attribute(function) => function.attr.as_str(),
        _ => return None,
    };
    (called == name).then_some(call)
}
