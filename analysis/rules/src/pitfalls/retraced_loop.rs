//! A loop calls a `tf.function` with a different Python number, or a new object, in each iteration.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use super::number_attributes::NumberAttributes;
use super::python_numbers::{MANY_TRACES, Numbers, may_be_long};
use super::staged_names::StagedNames;
use crate::FileContext;
use crate::declare::declare_rule;
use crate::declared;
use crate::evaluation::{self, Changing};
use crate::program::{Bound, ScopeId};
use ag_db::diagnostic::{Applicability, Edit};

declare_rule! {
    /// ## What it does
    /// Finds loops that pass a Python number to a `tf.function` of the same file, if the number differs in each
    /// iteration: the variable of a loop over `range(…)`, `enumerate(…)` or a list of numbers, a counter, or a number
    /// computed from them. An object that the loop creates for the call, such as `train(x, Options())`, is found, too,
    /// if its class does not define equality. So are strings, and containers whose length changes, if the evaluation of the
    /// program shows it.
    ///
    /// ## Why is this bad?
    /// A Python number is not an input of the graph but a constant in it. A `tf.function` is retraced for each new
    /// number and keeps all the graphs.
    ///
    /// Loops of fewer than five iterations are not reported, because TensorFlow warns only from the fifth trace on.
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
        check: File(declared::is_likely, check),
    }
}

fn check(ctx: &FileContext) {
    if !ctx.imports.uses("tensorflow") {
        return;
    }
    let staged = StagedNames::of(ctx);
    if !staged.is_empty() {
        let attributes = NumberAttributes::of(ctx);
        let scope = Scope { id: ctx.program().module(), body: ctx.parsed.suite(), parameters: None };
        Loops {
            ctx,
            staged: &staged,
            attributes: &attributes,
            scope,
            numbers: None,
            in_long_loop: false,
            class: None,
        }
        .visit_body(ctx.parsed.suite());
    }
}

/// The body of a function or of the module.
struct Scope<'a> {
    id: ScopeId,
    body: &'a [Stmt],
    parameters: Option<&'a ast::Parameters>,
}

struct Loops<'c, 'a> {
    ctx: &'c FileContext<'a>,
    staged: &'c StagedNames<'a>,
    attributes: &'c NumberAttributes<'c, 'a>,
    scope: Scope<'a>,
    /// Which names of the scope are numbers, and change in the enclosing loops; `None` before the first loop of the
    /// scope.
    numbers: Option<Numbers<'c, 'a>>,
    /// Whether an enclosing loop may have many iterations.
    in_long_loop: bool,
    class: Option<&'a str>,
}

impl<'a> SourceOrderVisitor<'a> for Loops<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            // Inside a staged function the loop is unrolled, which `unrolled-loop` reports.
            Stmt::FunctionDef(def) => {
                let id = self.ctx.program().scope_of(def.range());
                if let Some(id) = id.filter(|_| declared::staging_decorator(self.ctx, def).is_none()) {
                    let scope = Scope { id, body: &def.body, parameters: Some(&def.parameters) };
                    let is_long = std::mem::take(&mut self.in_long_loop);
                    let outer = (std::mem::replace(&mut self.scope, scope), self.numbers.take(), is_long);
                    self.visit_body(&def.body);
                    (self.scope, self.numbers, self.in_long_loop) = outer;
                }
            }
            Stmt::ClassDef(class) => {
                let outer = self.class.replace(class.name.as_str());
                source_order::walk_stmt(self, statement);
                self.class = outer;
            }
            Stmt::For(_) | Stmt::While(_) => {
                let (ctx, attributes, scope) = (self.ctx, self.attributes, &self.scope);
                let numbers = self.numbers.get_or_insert_with(|| {
                    Numbers::of_scope(ctx, attributes, scope.id, scope.body, scope.parameters)
                });
                let before = numbers.enter(statement);
                let outer = self.in_long_loop;
                self.in_long_loop |= statement.as_for_stmt().is_none_or(may_be_long);
                source_order::walk_stmt(self, statement);
                self.in_long_loop = outer;
                self.numbers.iter_mut().for_each(|numbers| numbers.leave(before));
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

impl<'a> Loops<'_, 'a> {
    fn call(&self, call: &'a ast::ExprCall) {
        let Some(numbers) = &self.numbers else { return };
        let Some(function) = self.staged.called(&call.func, self.class) else { return };
        let keywords = call.arguments.keywords.iter().map(|keyword| &keyword.value);
        let arguments = call.arguments.args.iter().chain(keywords);
        if self.in_long_loop
            && let Some((object, class)) =
                arguments.clone().find_map(|argument| Some((argument, self.created_object(argument)?)))
        {
            let message = format!("`{function}` is retraced for each new `{class}` object, a Python value");
            let help = "create the object once, before the loop, or define `__eq__` and `__hash__`";
            self.ctx.report(&RETRACED_LOOP, object.range(), message).help(help).emit();
            return;
        }
        let changing =
            evaluation::changing_arguments(self.ctx.db, self.ctx.document, call.range(), MANY_TRACES);
        let changes = |position: usize, argument: &'a Expr| {
            let evaluated = changing.iter().find(|(changing, _)| *changing == position);
            let evaluated = evaluated.map(|(_, changing)| *changing);
            evaluated.or_else(|| numbers.changes(argument).then_some(Changing::Number))
        };
        let changed = arguments
            .enumerate()
            .find_map(|(position, argument)| Some((argument, changes(position, argument)?)));
        let Some((argument, changing)) = changed else { return };
        let text = self.ctx.text(argument);
        let what = match changing {
            Changing::Number => format!("value of `{text}`, a Python number"),
            Changing::Text => format!("value of `{text}`, a Python string"),
            Changing::Length => format!("length of `{text}`, a Python container"),
        };
        let message = format!("`{function}` is retraced for each {what}");
        let report = self.ctx.report(&RETRACED_LOOP, argument.range(), message);
        match self.ctx.imports.local_name_of("tensorflow") {
            Some(tf) if changing == Changing::Number => {
                let number = argument;
                let edit = Edit::replace(number.range(), format!("{tf}.constant({text})"));
                report.fix(Applicability::Unsafe, "Pass a Tensor", vec![edit]).emit();
            }
            _ => report.help("pass a Tensor").emit(),
        }
    }
    /// Returns the class of an object that an argument creates, if TensorFlow identifies its objects by identity:
    /// `Config(0.1)` in `step(x, Config(0.1))`.
    fn created_object(&self, argument: &'a Expr) -> Option<&'a str> {
        let created = argument.as_call_expr()?;
        let (Bound::Class(class), _) = self.ctx.program().value(self.scope.id, &created.func) else {
            return None;
        };
        let has_own_identity = class.decorator_list.is_empty()
            && class.arguments.as_ref().is_none_or(|arguments| arguments.is_empty())
            && !class.body.iter().filter_map(Stmt::as_function_def_stmt).any(|method| {
                matches!(method.name.as_str(), "__eq__" | "__hash__" | "__new__" | "__tf_tracing_type__")
            });
        has_own_identity.then_some(class.name.as_str())
    }
}
