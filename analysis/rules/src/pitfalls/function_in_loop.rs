//! A `tf.function` is created in each iteration of a loop.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashSet;

use crate::FileContext;
use crate::declare::declare_rule;
use crate::declared;
use crate::names::Names;

declare_rule! {
    /// ## What it does
    /// Finds `tf.function(…)` and `@tf.function` in the body of a loop if the function does not depend on the
    /// iteration.
    ///
    /// ## Why is this bad?
    /// Each `tf.function` has its own cache of graphs. If it is created in each iteration, it is traced in each
    /// iteration.
    ///
    /// Functions that use the loop's variables, or are stored in a container, are not reported.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// def step(x):
    ///     return x * 2.0
    ///
    ///
    /// x = tf.constant(1.0)
    /// for _ in range(100):
    ///     staged = tf.function(step)
    ///     x = staged(x)
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// def step(x):
    ///     return x * 2.0
    ///
    ///
    /// x = tf.constant(1.0)
    /// staged = tf.function(step)
    /// for _ in range(100):
    ///     x = staged(x)
    /// ```
    ///
    /// ## What TensorFlow reports
    /// > 5 out of the last 5 calls to <function step> triggered tf.function retracing. Tracing is expensive and the
    /// > excessive number of tracings could be due to (1) creating @tf.function repeatedly in a loop, …
    pub(crate) static FUNCTION_IN_LOOP = {
        code: "AG403", name: "function-in-loop",
        summary: "a `tf.function` is created and traced in each iteration of a loop",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Tensorflow], fix: None,
        check: File(declared::is_likely, check),
    }
}

fn check(ctx: &FileContext) {
    if ctx.imports.uses("tensorflow") {
        FunctionCreations { ctx, loop_names: None }.visit_body(ctx.parsed.suite());
    }
}

struct FunctionCreations<'c, 'a> {
    ctx: &'c FileContext<'a>,
    /// The names that the enclosing loops bind; `None` outside loops.
    loop_names: Option<FxHashSet<&'a str>>,
}

impl<'a> FunctionCreations<'_, 'a> {
    fn report(&self, range: TextRange) {
        self.ctx
            .report(
                &FUNCTION_IN_LOOP,
                range,
                "each iteration of the loop creates a new `tf.function`, which is traced again",
            )
            .help("create the `tf.function` once, before the loop")
            .emit();
    }

    /// Returns whether a function of the module creates and returns a `tf.function`:
    ///
    /// ```python
    /// def make_step(model):
    ///     @tf.function
    ///     def step(x):
    ///         return model(x)
    ///     return step
    /// ```
    fn makes_function(&self, function: &Expr) -> bool {
        let Some(name) = function.as_name_expr() else { return false };
        let mut makers = self.ctx.parsed.suite().iter().filter_map(Stmt::as_function_def_stmt);
        let Some(maker) = makers.find(|maker| maker.name.id == name.id) else { return false };
        let Some((Stmt::Return(returned), before)) = maker.body.split_last() else { return false };
        let is_staged = |name: &str| {
            let mut defs = before.iter().filter_map(Stmt::as_function_def_stmt);
            defs.any(|def| def.name.as_str() == name && declared::staging_decorator(self.ctx, def).is_some())
        };
        maker.decorator_list.is_empty()
            && match returned.value.as_deref() {
                Some(Expr::Name(name)) => is_staged(&name.id),
                Some(Expr::Call(call)) => {
                    declared::is_tf_function(self.ctx, &call.func) && !call.arguments.args.is_empty()
                }
                _ => false,
            }
    }

    /// Returns whether a statement reads a name that changes in each iteration.
    fn changes(&self, node: &'a Stmt) -> bool {
        self.is_exempt(&Names::of_statement(node))
    }

    /// Returns whether there is no enclosing loop, or an enclosing loop binds one of the names.
    fn is_exempt(&self, names: &Names) -> bool {
        self.loop_names
            .as_ref()
            .is_none_or(|bound| names.read.iter().any(|name| bound.contains(name.id.as_str())))
    }

    fn within(&mut self, body: &'a [Stmt], statement: &'a Stmt) {
        let mut bound = self.loop_names.clone().unwrap_or_default();
        bound.extend(Names::of_statement(statement).bound);
        let outer = self.loop_names.replace(bound);
        self.visit_body(body);
        self.loop_names = outer;
    }
}

impl<'a> SourceOrderVisitor<'a> for FunctionCreations<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::For(node) => self.within(&node.body, statement),
            Stmt::While(node) => self.within(&node.body, statement),
            Stmt::FunctionDef(def) => {
                if let Some(decorator) = declared::staging_decorator(self.ctx, def)
                    && self.loop_names.is_some()
                    && !self.changes(statement)
                {
                    self.report(decorator.range());
                }
                // The body of a nested function runs when the function is called.
                let outer = self.loop_names.take();
                self.visit_body(&def.body);
                self.loop_names = outer;
            }
            Stmt::Assign(ast::StmtAssign { targets, .. })
                if targets.iter().any(|target| !target.is_name_expr()) => {}
            Stmt::Return(_) => {}
            Stmt::Assign(_) | Stmt::Expr(_) => source_order::walk_stmt(self, statement),
            Stmt::If(_) | Stmt::With(_) | Stmt::Try(_) | Stmt::ClassDef(_) => {
                source_order::walk_stmt(self, statement);
            }
            _ => {}
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Call(call) if declared::is_tf_function(self.ctx, &call.func) => {
                let arguments = &call.arguments.args;
                let changes = |argument| self.is_exempt(&Names::of_expression(argument));
                if !arguments.is_empty() && !arguments.iter().any(changes) {
                    self.report(call.range());
                }
            }
            Expr::Call(call)
                if self.makes_function(&call.func) && !self.is_exempt(&Names::of_expression(expression)) =>
            {
                self.report(call.range());
            }
            // These calls do not store the function: `staged(x)`, `tf.function(f)(x)`. Any other call may.
            Expr::Call(call) => self.visit_expr(&call.func),
            _ => {}
        }
    }
}
