//! AG212: a call in a staged loop with a side effect that the loop does not carry.

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{Expr, ExprAttribute, ExprCall, Stmt, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};

use super::carried::{StagedLoop, staged_loops};
use super::mutation::container_class;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_syntax::expressions::sequence;
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports calls, in a staged loop, of functions that update a `nonlocal` or `global` name, or an attribute of
    /// their object, by `+=`. Also reports calls of methods that append a Tensor to a list of their object.
    ///
    /// ## Why is this bad?
    /// A staged loop carries the variables that its own body assigns. It ignores assignments in the functions
    /// it calls: their side effects happen once, while the loop is traced.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// class Meter:
    ///     def __init__(self):
    ///         self.seen = 0
    ///
    ///     def note(self):
    ///         self.seen += 1
    ///
    ///     @tf.function
    ///     def watch(self, values):
    ///         for v in values:
    ///             self.note()
    ///         return self.seen
    ///
    ///
    /// meter = Meter()
    /// meter.watch(tf.constant([1, 2, 3]))  # 1
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// class Meter:
    ///     @tf.function
    ///     def watch(self, values):
    ///         seen = 0
    ///         for v in values:
    ///             seen += 1
    ///         return seen
    ///
    ///
    /// meter = Meter()
    /// meter.watch(tf.constant([1, 2, 3]))  # 3
    /// ```
    ///
    /// ## What TensorFlow reports
    /// Nothing; the result is wrong.
    pub(crate) static HIDDEN_MUTATION = {
        code: "AG212", name: "hidden-mutation",
        summary: "a call in a staged loop updates a variable that the loop does not carry",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let mut reported: Vec<TextRange> = Vec::new();
    for staged in staged_loops(ctx) {
        let mut calls = Calls { found: Vec::new() };
        calls.visit_body(staged.body());
        for call in calls.found {
            let updated = updates_of_nested(ctx, call).or_else(|| updates_of_callee(ctx, call));
            let updated = updated.and_then(|names| names.into_iter().find(|name| !staged.carries(name)));
            if let Some(name) = updated.filter(|_| !reported.contains(&call.range())) {
                reported.push(call.range());
                report(&staged, call, &name);
            }
        }
    }
}

fn report(staged: &StagedLoop, call: &ExprCall, name: &QName) {
    let ctx = staged.ctx;
    ctx.report(
        &HIDDEN_MUTATION,
        call,
        format!(
            "`{}` updates `{name}`, which this staged loop does not carry: the update happens once, while tracing",
            ctx.text(&*call.func)
        ),
    )
    .label(ctx.span(staged.head()), "the staged loop")
    .why(staged.construct.why.clone())
    .help(format!("return the new value and assign it in the loop, or make `{name}` a `tf.Variable`"))
    .emit();
}

/// Returns the names that the callee updates, if it is a function nested in this one.
fn updates_of_nested(ctx: &FunctionContext, call: &ExprCall) -> Option<Vec<QName>> {
    let name = call.func.as_name_expr()?;
    let definitions = ctx.flow.definitions_of(name.range(), &QName::simple(name.id.clone()));
    let [definition] = definitions.as_slice() else { return None };
    let mut nested = Nested { name: definition.range, found: None };
    nested.visit_body(&ctx.def().body);
    Some(updates(nested.found?, None))
}

/// Returns the names that the callee updates, if it is another function of the project, as names of the caller.
fn updates_of_callee(ctx: &FunctionContext, call: &ExprCall) -> Option<Vec<QName>> {
    let callee = ctx.callee(call)?.def();
    let receiver = call.func.as_attribute_expr().and_then(|attribute| QName::from_expr(&attribute.value));
    let own = callee.parameters.args.first().map(|parameter| &parameter.parameter.name.id);
    let mut found = updates(callee, receiver.as_ref().zip(own));
    if let Some((receiver, own)) = receiver.as_ref().zip(own)
        && let Some((callee, _)) = ctx.callee_context(call)
    {
        found.extend(appends(&callee, own).filter_map(|list| receiver.attribute(&list.attr.id)));
    }
    Some(found)
}

/// Returns the lists of its object to which a method always appends a Tensor: `self.rows` in `self.rows.append(x)`.
fn appends<'a>(callee: &FunctionContext<'a>, own: &Name) -> impl Iterator<Item = &'a ExprAttribute> {
    callee.def().body.iter().filter_map(move |statement| {
        let call = statement.as_expr_stmt()?.value.as_call_expr()?;
        let method = call.func.as_attribute_expr()?;
        let list = method.value.as_attribute_expr()?;
        let is_tensor = |value: &Expr| {
            sequence(value)
                .unwrap_or(std::slice::from_ref(value))
                .iter()
                .any(|element| callee.fact(element).may_be_tensor())
        };
        let appends = matches!(method.attr.as_str(), "append" | "appendleft" | "extend" | "insert")
            && list.value.as_name_expr().is_some_and(|name| name.id == *own)
            && container_class(callee, &method.value) == Some("list")
            && call.arguments.args.iter().any(is_tensor);
        appends.then_some(list)
    })
}

/// Returns the names that a function updates from their previous values: an outer `n` in `n += 1`, or `self.n`.
fn updates(def: &StmtFunctionDef, receiver: Option<(&QName, &Name)>) -> Vec<QName> {
    let mut updates = Updates { outer: Vec::new(), receiver, found: Vec::new() };
    updates.visit_body(&def.body);
    updates.found
}

struct Updates<'n> {
    /// The names that the function declares `nonlocal` or `global`.
    outer: Vec<Name>,
    /// The receiver of the call, and the name of the parameter that receives it.
    receiver: Option<(&'n QName, &'n Name)>,
    found: Vec<QName>,
}

impl<'a> SourceOrderVisitor<'a> for Updates<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
            Stmt::Nonlocal(declared) => self.outer.extend(declared.names.iter().map(|name| name.id.clone())),
            Stmt::Global(declared) => self.outer.extend(declared.names.iter().map(|name| name.id.clone())),
            Stmt::AugAssign(assign) => match &*assign.target {
                Expr::Name(name) if self.outer.contains(&name.id) => {
                    self.found.push(QName::simple(name.id.clone()));
                }
                Expr::Attribute(attribute) => {
                    let of = attribute.value.as_name_expr().map(|name| &name.id);
                    if let Some((receiver, own)) = self.receiver
                        && of == Some(own)
                        && let Some(updated) = receiver.attribute(&attribute.attr.id)
                    {
                        self.found.push(updated);
                    }
                }
                _ => {}
            },
            _ => source_order::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, _expression: &'a Expr) {}
}

/// Finds the function whose name has a given range.
struct Nested<'a> {
    name: TextRange,
    found: Option<&'a StmtFunctionDef>,
}

impl<'a> SourceOrderVisitor<'a> for Nested<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(def) if def.name.range() == self.name => self.found = Some(def),
            _ if statement.range().contains_range(self.name) => source_order::walk_stmt(self, statement),
            _ => {}
        }
    }

    fn visit_expr(&mut self, _expression: &'a Expr) {}
}

struct Calls<'a> {
    found: Vec<&'a ExprCall>,
}

impl<'a> SourceOrderVisitor<'a> for Calls<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if !matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
            source_order::walk_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Call(call) = expression {
            self.found.push(call);
        }
        if !expression.is_lambda_expr() {
            source_order::walk_expr(self, expression);
        }
    }

    fn visit_annotation(&mut self, _annotation: &'a Expr) {}
}
