//! An attribute is assigned between two calls of a method whose graph contains its old value.

use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use crate::FileContext;
use crate::declare::declare_rule;
use crate::declared;
use crate::declared::Declared;

declare_rule! {
    /// ## What it does
    /// Finds this sequence in one block: an object is created, a `tf.function` method of it is called, an
    /// attribute that the method reads is set to a number, flag or string, and the method is called again.
    ///
    /// ## Why is this bad?
    /// The first call traces the method, with the attribute as a constant of the graph. The second call reuses
    /// that graph and ignores the new value.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// class Model:
    ///     def __init__(self):
    ///         self.scale = 1.0
    ///
    ///     @tf.function
    ///     def run(self, x):
    ///         return x * self.scale
    ///
    ///
    /// model = Model()
    /// model.run(tf.constant(1.0))
    /// model.scale = 2.0
    /// model.run(tf.constant(1.0))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// class Model:
    ///     def __init__(self):
    ///         self.scale = tf.Variable(1.0)
    ///
    ///     @tf.function
    ///     def run(self, x):
    ///         return x * self.scale
    ///
    ///
    /// model = Model()
    /// model.run(tf.constant(1.0))
    /// model.scale.assign(2.0)
    /// model.run(tf.constant(1.0))
    /// ```
    pub(crate) static CHANGED_ATTRIBUTE = {
        code: "AG411", name: "changed-attribute",
        summary: "an attribute is assigned after a `tf.function` was traced with its old value",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Tensorflow], fix: None,
        check: File(check),
    }
}

fn check(ctx: &FileContext) {
    if !ctx.imports.uses("tensorflow") {
        return;
    }
    let methods: Vec<_> =
        declared::functions(ctx).into_iter().filter(|function| function.class.is_some()).collect();
    if methods.is_empty() {
        return;
    }
    let mut blocks = Blocks { ctx, methods: &methods };
    blocks.block(ctx.parsed.suite());
    blocks.visit_body(ctx.parsed.suite());
}

struct Blocks<'c, 'a> {
    ctx: &'c FileContext<'a>,
    methods: &'c [Declared<'a>],
}

impl<'a> StatementVisitor<'a> for Blocks<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::FunctionDef(def) = statement {
            self.block(&def.body);
        }
        statement_visitor::walk_stmt(self, statement);
    }
}

impl<'a> Blocks<'_, 'a> {
    /// Statements of one block after `model = Model()`.
    fn block(&self, body: &'a [Stmt]) {
        for (position, statement) in body.iter().enumerate() {
            let Some((Expr::Name(object), Expr::Call(constructor))) = assignment(statement) else { continue };
            let Some(class) = constructor.func.as_name_expr() else { continue };
            let later = body.get(position + 1..).unwrap_or_default();
            let rebound = later.iter().position(|statement| {
                matches!(assignment(statement), Some((Expr::Name(name), _)) if name.id == object.id)
            });
            let later = later.get(..rebound.unwrap_or(later.len())).unwrap_or_default();
            let methods = self
                .methods
                .iter()
                .filter(|method| method.class.is_some_and(|known| known.name.as_str() == class.id.as_str()));
            for method in methods {
                self.object(object, method, later);
            }
        }
    }

    fn object(&self, object: &ast::ExprName, method: &Declared, later: &'a [Stmt]) {
        let calls = |statement: &Stmt| calls(statement, &object.id, &method.def.name);
        for (position, statement) in later.iter().enumerate() {
            let Some((Expr::Attribute(attribute), value)) = assignment(statement) else { continue };
            let is_of_object = attribute.value.as_name_expr().is_some_and(|name| name.id == object.id);
            let before = later.get(..position).unwrap_or_default();
            let after = later.get(position + 1..).unwrap_or_default();
            let traced = before.iter().rev().find(|statement| calls(statement));
            if is_of_object
                && value.is_literal_expr()
                && reads_only(method.def, &attribute.attr)
                && after.iter().any(calls)
                && let Some(traced) = traced
            {
                self.ctx
                    .report(
                        &CHANGED_ATTRIBUTE,
                        attribute.range(),
                        format!(
                            "`{}` was traced with the old value of `{}` and ignores this assignment",
                            method.def.name, attribute.attr
                        ),
                    )
                    .label(self.ctx.span(traced.range()), "traced here")
                    .help("make the attribute a `tf.Variable`, or pass the value as an argument")
                    .emit();
            }
        }
    }
}

fn assignment(statement: &Stmt) -> Option<(&Expr, &Expr)> {
    let assign = statement.as_assign_stmt()?;
    let [target] = assign.targets.as_slice() else { return None };
    Some((target, &assign.value))
}

/// Whether a simple statement calls `object.method(…)`.
fn calls(statement: &Stmt, object: &str, method: &str) -> bool {
    struct Calls<'a> {
        object: &'a str,
        method: &'a str,
        found: bool,
    }
    impl SourceOrderVisitor<'_> for Calls<'_> {
        fn visit_expr(&mut self, expression: &Expr) {
            if let Expr::Call(call) = expression
                && let Expr::Attribute(attribute) = call.func.as_ref()
                && attribute.attr.as_str() == self.method
                && attribute.value.as_name_expr().is_some_and(|name| name.id == self.object)
            {
                self.found = true;
            }
            if !expression.is_lambda_expr() {
                source_order::walk_expr(self, expression);
            }
        }
    }
    let mut calls = Calls { object, method, found: false };
    if matches!(statement, Stmt::Expr(_) | Stmt::Assign(_) | Stmt::Assert(_)) {
        calls.visit_stmt(statement);
    }
    calls.found
}

/// Whether a method reads `self.attribute` and does not set it.
fn reads_only(def: &ast::StmtFunctionDef, attribute: &str) -> bool {
    struct Uses<'a> {
        receiver: &'a str,
        attribute: &'a str,
        reads: bool,
        sets: bool,
    }
    impl SourceOrderVisitor<'_> for Uses<'_> {
        fn visit_expr(&mut self, expression: &Expr) {
            if let Expr::Attribute(found) = expression
                && found.attr.as_str() == self.attribute
                && found.value.as_name_expr().is_some_and(|name| name.id == self.receiver)
            {
                if found.ctx.is_load() {
                    self.reads = true
                } else {
                    self.sets = true
                };
            }
            source_order::walk_expr(self, expression);
        }
    }
    let Some(receiver) = def.parameters.iter().next() else { return false };
    let mut uses = Uses { receiver: receiver.name().as_str(), attribute, reads: false, sets: false };
    uses.visit_body(&def.body);
    uses.reads && !uses.sets
}
