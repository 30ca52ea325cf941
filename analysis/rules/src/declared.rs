//! The functions that a file decorates with `tf.function`, for rules that check a file as a whole.

use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};

use super::FileContext;
use ag_index::dialect::{Dialect, RootKind};
use ag_index::index::FileIndex;
use ag_index::roots::RootSite;

/// A decorated function, or method of a class.
pub(super) struct Declared<'a> {
    pub(super) def: &'a ast::StmtFunctionDef,
    pub(super) class: Option<&'a ast::StmtClassDef>,
    /// Whether `input_signature=` is passed. If so, TensorFlow converts the arguments to Tensors.
    pub(super) has_signature: bool,
}

/// Returns whether a file seems to have a `tf.function`: it has a root of this kind, or calls something with this name.
pub(super) fn is_likely(index: &FileIndex) -> bool {
    let is_function =
        |root: &RootSite| root.kind == RootKind::Function && root.dialect == Dialect::Tensorflow;
    index.imports.uses("tensorflow")
        && (index.calls.contains_key("function") || index.roots.iter().any(is_function))
}

/// Returns the decorated functions and methods in source order, also those nested in functions.
pub(super) fn functions<'a>(ctx: &FileContext<'a>) -> Vec<Declared<'a>> {
    let mut finder = Finder { ctx, class: None, found: Vec::new() };
    finder.visit_body(ctx.parsed.suite());
    finder.found
}

struct Finder<'c, 'a> {
    ctx: &'c FileContext<'a>,
    /// The class whose body is being visited.
    class: Option<&'a ast::StmtClassDef>,
    found: Vec<Declared<'a>>,
}

impl<'a> StatementVisitor<'a> for Finder<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        let inner = match statement {
            Stmt::FunctionDef(def) => {
                self.found.extend(declared(self.ctx, def, self.class));
                None
            }
            Stmt::ClassDef(class) => Some(class),
            _ => return statement_visitor::walk_stmt(self, statement),
        };
        let outer = std::mem::replace(&mut self.class, inner);
        statement_visitor::walk_stmt(self, statement);
        self.class = outer;
    }
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

/// Returns the `@tf.function` decorator of a definition.
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
