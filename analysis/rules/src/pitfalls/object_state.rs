//! Attributes of `self` that keep their value from one trace to the next.

use ruff_python_ast::Expr;

use crate::FunctionContext;
use ag_index::index::{FunctionId, file_index, function_ast};
use ag_staging::queries;
use ag_syntax::expressions;

/// Returns whether an attribute of `self` outlives a trace: `__init__`, or `reset_state` of a metric, assigns it, traced
/// code does not create the object, and no other traced function of the file assigns or empties the attribute. Otherwise
/// the value may belong to one trace:
///
/// ```python
/// def call(self, x):
///     self.total = 0.0                  # each trace starts with a new value
///     for layer in self.layers:
///         self.add(layer(x))            # self.total = self.total + …
/// ```
pub(super) fn outlives_trace(ctx: &FunctionContext, attribute: &str) -> bool {
    let index = file_index(ctx.db, ctx.document);
    let Some(class) = ctx.class() else { return false };
    let mut is_initialized = false;
    for (function, entry) in index.definitions.functions.iter_enumerated() {
        if entry.path == ctx.path {
            continue;
        }
        let id = FunctionId::new(ctx.db, ctx.document, entry.path.clone());
        let Some(ast) = function_ast(ctx.db, id).as_ref() else { return false };
        let changes = expressions::of_function(ast.def()).into_iter().any(|expression| match expression {
            Expr::Attribute(method) if matches!(method.attr.as_str(), "clear" | "pop") => {
                is_attribute(&method.value, attribute)
            }
            Expr::Attribute(target) => !target.ctx.is_load() && target.attr.as_str() == attribute,
            _ => false,
        });
        if changes && queries::stage(ctx.db, id).is_some() {
            return false;
        }
        is_initialized |= changes
            && class.methods.contains(&function)
            && matches!(entry.path.name(), "__init__" | "reset_state");
    }
    is_initialized
}

fn is_attribute(expression: &Expr, name: &str) -> bool {
    expression.as_attribute_expr().is_some_and(|attribute| attribute.attr.as_str() == name)
}
