//! A loop calls a `tf.function` with a different Python number in each iteration.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;
use rustc_hash::FxHashSet;

use crate::FileContext;
use crate::declare::declare_rule;
use crate::declared;
use ag_db::diagnostic::{Applicability, Edit};

declare_rule! {
    /// ## What it does
    /// Finds loops over `range(…)`, `enumerate(…)` or a list of numbers that pass their variable to a `tf.function` of the
    /// same file.
    ///
    /// ## Why is this bad?
    /// A Python number is not an input of the graph but a constant in it. A `tf.function` is retraced for each
    /// new number and keeps all graphs.
    ///
    /// Loops of fewer than five iterations are not reported; TensorFlow warns from five on.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def train(step):
    ///     return step * 2
    ///
    ///
    /// for step in range(1000):
    ///     train(step)
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def train(step):
    ///     return step * 2
    ///
    ///
    /// for step in range(1000):
    ///     train(tf.constant(step))
    /// ```
    ///
    /// ## Fix safety
    /// Unsafe: a Tensor does not work where the function requires a Python number, for a shape or a Python condition.
    ///
    /// ## What TensorFlow reports
    /// > 5 out of the last 5 calls to <function train> triggered tf.function retracing. Tracing is expensive and the
    /// > excessive number of tracings could be due to (1) creating @tf.function repeatedly in a loop, (2) passing tensors
    /// > with different shapes, (3) passing Python objects instead of tensors.
    pub(crate) static RETRACED_LOOP = {
        code: "AG402", name: "retraced-loop",
        summary: "a loop passes a different Python number to a `tf.function` in each iteration",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Tensorflow], fix: Sometimes,
        check: File(check),
    }
}

/// The number of traces from which TensorFlow warns.
const MANY: usize = 5;

fn check(ctx: &FileContext) {
    if !ctx.imports.uses("tensorflow") {
        return;
    }
    let functions = declared::functions(ctx);
    let names: FxHashSet<&str> = functions
        .iter()
        .filter(|function| function.class.is_none() && !function.has_signature)
        .map(|function| function.def.name.as_str())
        .collect();
    if !names.is_empty() {
        Loops { ctx, names: &names, numbers: Vec::new() }.visit_body(ctx.parsed.suite());
    }
}

struct Loops<'c, 'a> {
    ctx: &'c FileContext<'a>,
    names: &'c FxHashSet<&'a str>,
    /// The variables of the enclosing loops with many numbers as values.
    numbers: Vec<&'a str>,
}

impl<'a> SourceOrderVisitor<'a> for Loops<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            // Inside a staged function the loop is unrolled, which `unrolled-loop` reports.
            Stmt::FunctionDef(def) => {
                if declared::staging_decorator(self.ctx, def).is_none() {
                    let outer = std::mem::take(&mut self.numbers);
                    self.visit_body(&def.body);
                    self.numbers = outer;
                }
            }
            Stmt::For(node) => {
                let before = self.numbers.len();
                self.numbers.extend(number_variable(node));
                source_order::walk_stmt(self, statement);
                self.numbers.truncate(before);
            }
            _ => source_order::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Call(call) = expression {
            self.call(call);
        }
        source_order::walk_expr(self, expression);
    }
}

impl Loops<'_, '_> {
    fn call(&self, call: &ast::ExprCall) {
        let Some(function) = call.func.as_name_expr().filter(|name| self.names.contains(name.id.as_str()))
        else {
            return;
        };
        let keywords = call.arguments.keywords.iter().map(|keyword| &keyword.value);
        let number = call.arguments.args.iter().chain(keywords).find(|argument| {
            argument.as_name_expr().is_some_and(|name| self.numbers.contains(&name.id.as_str()))
        });
        let Some(number) = number else { return };
        let text = self.ctx.text(number);
        let message = format!("`{}` is retraced for each value of `{text}`, a Python number", function.id);
        let report = self.ctx.report(&RETRACED_LOOP, number.range(), message);
        match self.ctx.imports.local_name_of("tensorflow") {
            Some(tf) => {
                let edit = Edit::replace(number.range(), format!("{tf}.constant({text})"));
                report.fix(Applicability::Unsafe, "Pass a Tensor", vec![edit]).emit();
            }
            None => report.help("pass a Tensor").emit(),
        }
    }
}

/// The variable of a loop over many numbers.
fn number_variable(node: &ast::StmtFor) -> Option<&str> {
    match node.iter.as_ref() {
        Expr::Call(call) => {
            let callee = call.func.as_name_expr()?.id.as_str();
            match (callee, node.target.as_ref()) {
                ("range", Expr::Name(target)) if !is_short(call) => Some(target.id.as_str()),
                ("enumerate", Expr::Tuple(targets)) => {
                    targets.elts.first()?.as_name_expr().map(|target| target.id.as_str())
                }
                _ => None,
            }
        }
        Expr::List(ast::ExprList { elts, .. }) | Expr::Tuple(ast::ExprTuple { elts, .. }) => {
            let are_numbers = elts.len() >= MANY && elts.iter().all(Expr::is_number_literal_expr);
            node.target.as_name_expr().filter(|_| are_numbers).map(|target| target.id.as_str())
        }
        _ => None,
    }
}

/// `range(3)`
fn is_short(call: &ast::ExprCall) -> bool {
    match &*call.arguments.args {
        [Expr::NumberLiteral(stop)] => match &stop.value {
            ast::Number::Int(stop) => stop.as_usize().is_some_and(|stop| stop < MANY),
            _ => true,
        },
        _ => false,
    }
}
