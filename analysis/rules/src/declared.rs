//! The functions that a file decorates with `tf.function`, for rules that check a file as a whole.

use ruff_python_ast::{self as ast, Expr, Stmt};

use super::FileContext;

/// A decorated function of the module, or method of one of its classes.
pub(super) struct Declared<'a> {
    pub(super) def: &'a ast::StmtFunctionDef,
    pub(super) class: Option<&'a ast::StmtClassDef>,
    /// Whether `input_signature=` is passed, which converts arguments to Tensors.
    pub(super) has_signature: bool,
}

/// In source order.
pub(super) fn functions<'a>(ctx: &FileContext<'a>) -> Vec<Declared<'a>> {
    let mut found = Vec::new();
    for statement in ctx.parsed.suite() {
        match statement {
            Stmt::FunctionDef(def) => found.extend(declared(ctx, def, None)),
            Stmt::ClassDef(class) => {
                let methods = class.body.iter().filter_map(Stmt::as_function_def_stmt);
                found.extend(methods.filter_map(|def| declared(ctx, def, Some(class))));
            }
            _ => {}
        }
    }
    found
}

fn declared<'a>(
    ctx: &FileContext<'a>,
    def: &'a ast::StmtFunctionDef,
    class: Option<&'a ast::StmtClassDef>,
) -> Option<Declared<'a>> {
    let decorator = &staging_decorator(ctx, def)?.expression;
    let has_signature = decorator.as_call_expr().is_some_and(|call| {
        call.arguments.find_keyword("input_signature").is_some() || !call.arguments.args.is_empty()
    });
    Some(Declared { def, class, has_signature })
}

/// The `@tf.function` decorator of a definition, if any.
pub(super) fn staging_decorator<'a>(
    ctx: &FileContext,
    def: &'a ast::StmtFunctionDef,
) -> Option<&'a ast::Decorator> {
    def.decorator_list.iter().find(|decorator| {
        let callee = decorator.expression.as_call_expr().map_or(&decorator.expression, |call| &call.func);
        is_tf_function(ctx, callee)
    })
}

pub(super) fn is_tf_function(ctx: &FileContext, callee: &Expr) -> bool {
    ctx.resolve(callee).is_some_and(|name| name == "tensorflow.function")
}
