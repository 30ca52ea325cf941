//! AG213: a lambda that reads the value of a variable from before the staged loop.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{Expr, ExprLambda, Stmt, StmtAssign};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::carried::{StagedLoop, staged_loops};
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_db::diagnostic::{Applicability, Edit};
use ag_flow::Definedness;
use ag_syntax::edits;
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports a lambda that is defined before a staged loop and reads a name that the loop assigns, if nothing else
    /// reads the name.
    ///
    /// ## Why is this bad?
    /// A staged loop carries the names that are live after an iteration. AutoGraph's liveness analysis treats a
    /// lambda as a read where it is defined, not where it is called. So the loop does not carry the name, and
    /// the lambda keeps reading the value from before the loop. A nested `def` is analyzed at its calls.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def last_of(n):
    ///     last = 0
    ///     read = lambda: last
    ///     for i in tf.range(n):
    ///         last = i
    ///     return read()
    ///
    ///
    /// last_of(tf.constant(3))  # 0
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def last_of(n):
    ///     last = 0
    ///
    ///     def read():
    ///         return last
    ///
    ///     for i in tf.range(n):
    ///         last = i
    ///     return read()
    ///
    ///
    /// last_of(tf.constant(3))  # 2
    /// ```
    ///
    /// ## Fix safety
    /// Safe: in Python a nested function behaves like the lambda.
    ///
    /// ## What TensorFlow reports
    /// Nothing; the result is wrong.
    pub(crate) static LAMBDA_CAPTURE = {
        code: "AG213", name: "lambda-capture",
        summary: "a lambda reads a name that a staged loop does not carry",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: Sometimes,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let mut lambdas = Lambdas { found: Vec::new() };
    if ctx.converts() {
        lambdas.visit_body(&ctx.def().body);
    }
    for (assign, name, lambda) in lambdas.found {
        for staged in staged_loops(ctx) {
            if assign.end() <= staged.construct.range.start() {
                check_lambda(&staged, assign, &name, lambda);
            }
        }
    }
}

fn check_lambda(staged: &StagedLoop, assign: &StmtAssign, name: &QName, lambda: &ExprLambda) {
    let ctx = staged.ctx;
    // The lambda must be called in the loop or after it, and must not be redefined.
    let called = reads_from(ctx, name, staged.construct.range.start());
    let same = ctx.flow.definitions_before(staged.stmt, name);
    if !called || same.len() != 1 {
        return;
    }
    let changed = staged.variables.variables.iter().find(|variable| {
        variable.modified_in_body
            && variable.before == Definedness::Always
            && variable.name.is_simple()
            && captures(lambda, variable.name.root())
            && !reads_from(ctx, &variable.name, liveness_start(staged))
    });
    let Some(variable) = changed else { return };
    let report = ctx
        .report(
            &LAMBDA_CAPTURE,
            lambda,
            format!(
                "`{name}` reads the value of `{}` from before the staged loop, which does not carry names that only lambdas read",
                variable.name
            ),
        )
        .label(ctx.span(staged.head()), format!("this loop assigns `{}`", variable.name))
        .why(staged.construct.why.clone())
        .help("use a nested `def`");
    match as_function(ctx, assign, name, lambda) {
        Some(edit) => report.fix(Applicability::Safe, format!("Make `{name}` a `def`"), vec![edit]).emit(),
        None => report.emit(),
    }
}

/// Returns the start of the code in which reads keep a name live: the outermost loop around the staged loop, or the
/// staged loop itself.
fn liveness_start(staged: &StagedLoop) -> TextSize {
    let around = staged.ctx.enclosing(staged.construct.range).filter(|construct| construct.kind.is_loop());
    around.last().map_or(staged.construct.range, |construct| construct.range).start()
}

/// Returns whether the function reads a name at or after `from`. Reads in lambdas do not count.
fn reads_from(ctx: &FunctionContext, name: &QName, from: TextSize) -> bool {
    let mut reads = Reads { name: name.root(), from, found: false };
    reads.visit_body(&ctx.def().body);
    reads.found
}

fn captures(lambda: &ExprLambda, name: &str) -> bool {
    let own = lambda.parameters.as_ref().is_some_and(|parameters| parameters.includes(name));
    let mut reads = Reads { name, from: TextSize::default(), found: false };
    reads.visit_expr(&lambda.body);
    reads.found && !own
}

/// Returns the assignment of the lambda, rewritten as a nested function.
fn as_function(
    ctx: &FunctionContext,
    assign: &StmtAssign,
    name: &QName,
    lambda: &ExprLambda,
) -> Option<Edit> {
    let indentation = edits::indentation(&ctx.ast.text, assign.start())?;
    let alone = ctx.ast.text.get(usize::from(assign.end())..)?.split('\n').next()?.trim().is_empty();
    let parameters = lambda.parameters.as_ref().map_or("", |parameters| ctx.text(&**parameters));
    let body = ctx.text(&*lambda.body);
    let text = format!("def {name}({parameters}):\n{indentation}    return {body}");
    (alone && !body.contains('\n')).then(|| Edit::replace(assign.range(), text))
}

struct Lambdas<'a> {
    found: Vec<(&'a StmtAssign, QName, &'a ExprLambda)>,
}

impl<'a> SourceOrderVisitor<'a> for Lambdas<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
            Stmt::Assign(assign) => {
                if let ([target], Expr::Lambda(lambda)) = (assign.targets.as_slice(), &*assign.value)
                    && let Some(name) = QName::from_expr(target).filter(QName::is_simple)
                {
                    self.found.push((assign, name, lambda));
                }
            }
            _ => source_order::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, _expression: &'a Expr) {}
}

struct Reads<'n> {
    name: &'n str,
    from: TextSize,
    found: bool,
}

impl<'n> Reads<'n> {
    fn note(&mut self, name: &str, range: TextRange) {
        self.found |= name == self.name && range.start() >= self.from;
    }
}

impl<'a> SourceOrderVisitor<'a> for Reads<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::AugAssign(assign) = statement
            && let Expr::Name(target) = &*assign.target
        {
            self.note(&target.id, target.range());
        }
        source_order::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Lambda(_) => {}
            Expr::Name(name) if name.ctx.is_load() => self.note(&name.id, name.range()),
            _ => source_order::walk_expr(self, expression),
        }
    }
}
