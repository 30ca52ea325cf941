//! Two lambdas that AutoGraph cannot distinguish.

use ruff_python_ast::token::TokenKind;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::FxHashSet;

use crate::FileContext;
use crate::declare::declare_rule;
use ag_index::callbacks;

declare_rule! {
    /// ## What it does
    /// Finds lambdas that are passed to AutoGraph for conversion and share a line with another lambda that has the same
    /// parameters. Only lambdas whose value depends on a condition (`… if … else …`, `and`, `or`, `not`) are reported.
    ///
    /// ## Why is this bad?
    /// Python records only the line number of a lambda. AutoGraph searches that line for a lambda with the same
    /// parameters; if it finds two it leaves the lambda unconverted, and a condition on a Tensor raises.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    /// steps = [lambda x: x + 1 if x > 0 else x, lambda x: x - 1 if x > 0 else x]
    /// up = tf.function(steps[0])
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    /// steps = [
    ///     lambda x: x + 1 if x > 0 else x,
    ///     lambda x: x - 1 if x > 0 else x,
    /// ]
    /// up = tf.function(steps[0])
    /// ```
    ///
    /// ## What TensorFlow reports
    /// > could not parse the source code of <function <lambda>>: found multiple definitions with identical signatures
    /// > at the location. This error may be avoided by defining each lambda on a single line and with unique argument
    /// > names.
    pub(crate) static AMBIGUOUS_LAMBDA = {
        code: "AG008", name: "ambiguous-lambda",
        summary: "AutoGraph cannot distinguish two lambdas on one line",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Tensorflow], fix: None,
        check: File(|index| index.lambda_count > 1 && index.imports.uses("tensorflow"), check),
    }
}

fn check(ctx: &FileContext) {
    if !ctx.imports.uses("tensorflow") || !may_share_line(ctx) {
        return;
    }
    let mut staged = StagedNames { ctx, names: FxHashSet::default() };
    staged.visit_body(ctx.parsed.suite());
    let mut lambdas = Lambdas { ctx, names: staged.names, is_converted: false, found: Vec::new() };
    lambdas.visit_body(ctx.parsed.suite());
    let found = lambdas.found;
    for (position, (lambda, is_converted)) in found.iter().enumerate() {
        let others = found.iter().enumerate().filter(|(other, _)| *other != position);
        let same = others
            .map(|(_, (other, _))| *other)
            .find(|other| parameters(other) == parameters(lambda) && covers_line_of(ctx.text, other, lambda));
        let Some(other) = same.filter(|_| *is_converted && depends_on_condition(&lambda.body)) else {
            continue;
        };
        ctx.report(
            &AMBIGUOUS_LAMBDA,
            lambda.range(),
            "AutoGraph cannot distinguish this lambda from another one on its line and does not convert it",
        )
        .label(ctx.span(other.range()), "has the same parameters on the same line")
        .help("write each lambda on its own line, or rename the parameters")
        .emit();
    }
}

/// Returns whether two lambdas may begin in one statement or on one line. This fast search of the tokens excludes most
/// files.
fn may_share_line(ctx: &FileContext) -> bool {
    let (mut last, mut is_same_statement) = (None, false);
    for token in ctx.parsed.tokens() {
        match token.kind() {
            TokenKind::Newline => is_same_statement = false,
            TokenKind::Lambda => {
                let between = |last: TextSize| ctx.text.get(last.to_usize()..token.start().to_usize());
                let is_same_line = last.and_then(between).is_some_and(|text| !text.contains('\n'));
                if is_same_statement || is_same_line {
                    return true;
                }
                (last, is_same_statement) = (Some(token.start()), true);
            }
            _ => {}
        }
    }
    false
}

/// Returns the names of a lambda's parameters, which AutoGraph compares.
fn parameters(lambda: &ast::ExprLambda) -> Vec<&str> {
    lambda
        .parameters
        .iter()
        .flat_map(|parameters| parameters.iter())
        .map(|parameter| parameter.name().as_str())
        .collect()
}

/// Returns whether `other` covers the line on which `lambda` starts.
fn covers_line_of(text: &str, other: &ast::ExprLambda, lambda: &ast::ExprLambda) -> bool {
    let between = |from: TextRange, to: TextRange| {
        let gap = text.get(from.end().to_usize()..to.start().to_usize());
        gap.is_some_and(|gap| !gap.contains('\n'))
    };
    let (a, b) = (other.range(), lambda.range());
    a.contains(b.start()) || between(a, b) || {
        // `other` begins after `lambda`, on the same line.
        let gap = text.get(b.start().to_usize()..a.start().to_usize());
        a.start() >= b.start() && gap.is_some_and(|gap| !gap.contains('\n'))
    }
}

/// Returns whether the value of a lambda depends on a condition.
fn depends_on_condition(body: &Expr) -> bool {
    struct Choice(bool);
    impl SourceOrderVisitor<'_> for Choice {
        fn visit_expr(&mut self, expression: &Expr) {
            match expression {
                Expr::If(_) | Expr::BoolOp(_) => self.0 = true,
                Expr::UnaryOp(operation) if operation.op == ast::UnaryOp::Not => self.0 = true,
                Expr::Lambda(_) => {}
                _ => source_order::walk_expr(self, expression),
            }
        }
    }
    let mut choice = Choice(false);
    choice.visit_expr(body);
    choice.0
}

/// Returns the function that a call passes to `tf.function`, `tf.autograph.to_graph` or a method of a Dataset.
fn converted_argument<'a>(ctx: &FileContext, call: &'a ast::ExprCall) -> Option<&'a Expr> {
    let callee = ctx.resolve(&call.func);
    if callee
        .is_some_and(|name| matches!(name.as_str(), "tensorflow.function" | "tensorflow.autograph.to_graph"))
    {
        return call.arguments.args.first();
    }
    callbacks::dataset_method(call).map(|method| method.function)
}

/// The names in the arguments that calls pass to AutoGraph: `steps` in `tf.function(steps[0])`.
struct StagedNames<'c, 'a> {
    ctx: &'c FileContext<'a>,
    names: FxHashSet<&'a str>,
}

impl<'a> SourceOrderVisitor<'a> for StagedNames<'_, 'a> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Call(call) = expression
            && let Some(mut function) = converted_argument(self.ctx, call)
        {
            while let Expr::Subscript(subscript) = function {
                function = &subscript.value;
            }
            self.names.extend(function.as_name_expr().map(|name| name.id.as_str()));
        }
        source_order::walk_expr(self, expression);
    }
}

/// The lambdas outside functions with the decorator `tf.function`, each with whether it is passed to AutoGraph for
/// conversion.
struct Lambdas<'c, 'a> {
    ctx: &'c FileContext<'a>,
    names: FxHashSet<&'a str>,
    is_converted: bool,
    found: Vec<(&'a ast::ExprLambda, bool)>,
}

impl<'a> SourceOrderVisitor<'a> for Lambdas<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            // A lambda in a converted function is converted together with it.
            Stmt::FunctionDef(def)
                if def.decorator_list.iter().any(|decorator| {
                    let callee =
                        decorator.expression.as_call_expr().map_or(&decorator.expression, |call| &call.func);
                    self.ctx.resolve(callee).is_some_and(|name| name == "tensorflow.function")
                }) => {}
            Stmt::Assign(assign) => {
                let named = assign.targets.iter().filter_map(Expr::as_name_expr);
                let is_converted = named.into_iter().any(|name| self.names.contains(name.id.as_str()));
                let outer = std::mem::replace(&mut self.is_converted, is_converted);
                source_order::walk_stmt(self, statement);
                self.is_converted = outer;
            }
            _ => source_order::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Lambda(lambda) => self.found.push((lambda, self.is_converted)),
            Expr::Call(call) => {
                if let Some(Expr::Lambda(lambda)) = converted_argument(self.ctx, call) {
                    let position = self.found.len();
                    source_order::walk_expr(self, expression);
                    for (found, is_converted) in self.found.iter_mut().skip(position) {
                        *is_converted |= std::ptr::eq(*found, lambda);
                    }
                    return;
                }
            }
            _ => {}
        }
        source_order::walk_expr(self, expression);
    }
}
