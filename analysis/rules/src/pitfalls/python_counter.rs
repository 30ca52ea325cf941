//! Python counters and flags that a staged function updates. The updates happen only while the function is traced.

use ruff_python_ast::helpers::any_over_expr;
use ruff_python_ast::{self as ast, Expr, ExprContext, Stmt};
use ruff_text_size::Ranged;

use crate::FunctionContext;
use crate::declare::declare_rule;
use crate::pitfalls::{object_state, root_calls};
use ag_index::assumptions::Source;
use ag_index::dialect::RootKind;
use ag_index::facts::{Alternative, Binding};
use ag_index::index::{FunctionId, file_index, function_ast};
use ag_staging::construct::Construct;
use ag_syntax::qname::QName;
use ag_syntax::{expressions, statements};

declare_rule! {
    /// ## What it does
    /// Finds
    ///
    /// - attributes of `self` with a Python value that a staged function both updates (`self.n += 1`,
    ///   `self.on = not self.on`) and tests
    /// - Python numbers that outlive the call and that a staged function updates from their own value: an attribute of
    ///   an object, an item of a dictionary, a global
    /// - attributes of `self` that a method increments and computes with, if each trace calls the method
    /// - such updates, and flags such as `self.warm = True`, in a staged branch or loop
    ///
    /// ## Why is this bad?
    /// The update and the test happen while the function is traced. The graph contains only the branch that was taken
    /// then; later calls neither update the value nor evaluate the condition again. In a staged branch or loop, the
    /// update leaves a symbolic Tensor in the attribute, which later traces and Python code cannot use.
    ///
    /// A counter whose name shows that it counts traces, such as `trace_count`, is not reported.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// class WarmUp:
    ///     def __init__(self):
    ///         self.calls = 0
    ///
    ///     @tf.function
    ///     def rate(self, x: tf.Tensor):
    ///         if self.calls < 100:
    ///             x = x * 0.1
    ///         self.calls += 1
    ///         return x
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// class WarmUp:
    ///     def __init__(self):
    ///         self.calls = tf.Variable(0)
    ///
    ///     @tf.function
    ///     def rate(self, x: tf.Tensor):
    ///         if self.calls < 100:
    ///             x = x * 0.1
    ///         self.calls.assign_add(1)
    ///         return x
    /// ```
    pub(crate) static PYTHON_COUNTER = {
        code: "AG409", name: "python-counter",
        summary: "a Python counter or flag changes only while its function is traced",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Tensorflow, Keras], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if matches!(ctx.def().name.as_str(), "__init__" | "build") {
        return;
    }
    for statement in statements::of_function(ctx.def()) {
        if let Some((target, value)) = update(statement) {
            // Other rules report state that is updated in a staged branch or loop.
            let is_python = ctx.binding(value) == Binding::Python && ctx.binding(target) == Binding::Python;
            if is_python && ctx.staged_region(target.range()).is_none() {
                tested_state(ctx, target);
            }
        }
        match statement {
            Stmt::AugAssign(assign) => counter(ctx, &assign.target, &assign.value),
            Stmt::Assign(ast::StmtAssign { targets, value, .. }) => match targets.as_slice() {
                [target] if is_update(target, value) => counter(ctx, target, value),
                [target @ Expr::Attribute(attribute)] if value.is_literal_expr() => {
                    flag(ctx, target, attribute)
                }
                _ => {}
            },
            _ => {}
        }
    }
}

/// Reports `self.n += 1` if the function also has a decision on `self.n`.
fn tested_state(ctx: &FunctionContext, target: &Expr) {
    let Some(name) = QName::from_expr(target) else { return };
    let receiver = ctx.stage.parameters.iter().find(|parameter| parameter.source == Source::Receiver);
    if receiver.is_none_or(|receiver| name.root() != receiver.name.as_str()) {
        return;
    }
    let Some(decision) = tested(ctx, &name) else { return };
    ctx.report(
        &PYTHON_COUNTER,
        target.range(),
        format!("`{name}` is a Python value: it is updated only while the function is traced"),
    )
    .label(ctx.span(decision.test_range), "evaluated once, for all later calls")
    .help("make it a `tf.Variable`")
    .emit();
}

/// Reports updates such as `state.steps += 1`, `self.rate = self.rate * 0.9`, `counts["calls"] += 1`, or `calls += 1`
/// for a global, in a function that is called repeatedly. `value` is the number that is added, or the new value.
fn counter(ctx: &FunctionContext, target: &Expr, value: &Expr) {
    let Some(root) = root_of(target) else { return };
    let outlives = match target {
        Expr::Name(_) => ctx.flow.scope().is_declared_outer(root),
        _ => ctx.parameter(root).is_some() || !ctx.flow.scope().is_local(root),
    };
    let is_number = |expression: &Expr| {
        let fact = ctx.python_fact(expression);
        let is_one = |known: &Alternative| matches!(known, Alternative::Int(_) | Alternative::Float);
        !fact.unknown && !fact.alternatives.is_empty() && fact.alternatives.iter().all(is_one)
    };
    if !outlives || counts_traces(ctx.text(target)) || !is_number(value) || !is_number(target) {
        return;
    }
    let is_staged = ctx.staged_region(target.range()).is_some();
    let is_called = match ctx.root() {
        Some(root) => matches!(root, RootKind::Function | RootKind::KerasMethod | RootKind::DatasetCallback),
        // A variable of the module outlives the trace, no matter which function changes it.
        None if ctx.creates_objects() => false,
        None => ctx.is_module_variable(root) || is_kept(ctx, target) && (is_staged || is_used(ctx, target)),
    };
    let name = QName::from_expr(target).filter(|name| !name.is_simple());
    if !is_called || is_computed(ctx, target) {
        return;
    }
    if is_staged {
        report_staged(ctx, target, "number");
    } else if name.is_none_or(|name| tested(ctx, &name).is_none()) {
        let text = ctx.text(target);
        let message = format!(
            "`{text}` is a Python number: it changes only while the function is traced, not in each call"
        );
        ctx.report(&PYTHON_COUNTER, target.range(), message).help("make it a `tf.Variable`").emit();
    }
}

/// Reports `self.warm = True` in a staged branch or loop, if the attribute keeps its value from one trace to the next.
fn flag(ctx: &FunctionContext, target: &Expr, attribute: &ast::ExprAttribute) {
    if !ctx.is_receiver(&attribute.value) || ctx.staged_region(target.range()).is_none() {
        return;
    }
    let is_kept = match ctx.root() {
        Some(RootKind::Function) => object_state::outlives_trace(ctx, &attribute.attr),
        _ => is_kept(ctx, target),
    };
    if is_kept {
        report_staged(ctx, target, "value");
    }
}

/// Reports an update in a staged branch or loop. AutoGraph makes the attribute a result of the branch, and does not
/// store globals.
fn report_staged(ctx: &FunctionContext, target: &Expr, what: &str) {
    let text = ctx.text(target);
    let message = match target {
        Expr::Name(_) => format!("`{text}` is a global Python {what}: its update in staged code is lost"),
        _ => format!(
            "`{text}` is a Python {what}: its update in staged code leaves a symbolic Tensor in its place"
        ),
    };
    ctx.report(&PYTHON_COUNTER, target.range(), message).help("make it a `tf.Variable`").emit();
}

/// Returns whether a target is an attribute of `self` that outlives the trace, in a method that every trace calls.
fn is_kept(ctx: &FunctionContext, target: &Expr) -> bool {
    target.as_attribute_expr().is_some_and(|attribute| {
        ctx.is_receiver(&attribute.value)
            && root_calls::in_every_trace(ctx).is_some()
            && object_state::outlives_trace(ctx, &attribute.attr)
    })
}

/// Returns whether a method of the class computes with the attribute: `self.count += 1`, then
/// `return self.count >= self.every` or `x / self.count`.
fn is_used(ctx: &FunctionContext, target: &Expr) -> bool {
    let Some(attribute) = target.as_attribute_expr() else { return false };
    let is_read = |part: &Expr| {
        part.as_attribute_expr().is_some_and(|part| {
            part.ctx.is_load() && part.attr.id == attribute.attr.id && part.value.is_name_expr()
        })
    };
    let computes = |def: &ast::StmtFunctionDef| {
        expressions::of_function(def).into_iter().any(|expression| match expression {
            Expr::Compare(_) | Expr::BinOp(_) => any_over_expr(expression, &is_read),
            // `self.rows[self.position]`
            Expr::Subscript(item) => any_over_expr(&item.slice, &is_read),
            _ => false,
        })
    };
    let index = file_index(ctx.db, ctx.document);
    computes(ctx.def())
        || ctx.class().is_some_and(|class| {
            class.methods.iter().any(|method| {
                let path = index.definitions.functions[*method].path.clone();
                let ast = function_ast(ctx.db, FunctionId::new(ctx.db, ctx.document, path)).as_ref();
                ast.is_some_and(|ast| computes(ast.def()))
            })
        })
}

/// Returns whether the counter is in an object that the function computes from its arguments. The counter then belongs
/// to the trace:
///
/// ```python
/// if self.shape is None:
///     self.shape = x.shape.as_list()
/// else:
///     self.shape[0] += x.shape[0]
/// ```
fn is_computed(ctx: &FunctionContext, target: &Expr) -> bool {
    let container = match target {
        Expr::Attribute(attribute) => &attribute.value,
        Expr::Subscript(item) => &item.value,
        _ => return false,
    };
    let Some(container) = QName::from_expr(container).filter(|name| !name.is_simple()) else { return false };
    let is_argument = |expression: &Expr| {
        expression
            .as_name_expr()
            .and_then(|name| ctx.parameter(&name.id))
            .is_some_and(|parameter| parameter.source != Source::Receiver)
    };
    ctx.statements().into_iter().filter_map(Stmt::as_assign_stmt).any(|assign| {
        any_over_expr(&assign.value, &is_argument)
            && assign.targets.iter().any(|target| QName::from_expr(target).as_ref() == Some(&container))
    })
}

/// Returns whether a name shows that the counter counts traces. To count traces, a Python number is correct.
fn counts_traces(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["trac", "compil"].iter().any(|word| name.contains(word))
}

/// Returns the name at the start of an expression: `state` for `state.counts["calls"]`.
fn root_of(target: &Expr) -> Option<&str> {
    match target {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Attribute(attribute) => root_of(&attribute.value),
        Expr::Subscript(item) if item.slice.is_literal_expr() => root_of(&item.value),
        _ => None,
    }
}

/// Returns a Python decision that reads the name.
fn tested<'a>(ctx: &FunctionContext<'a>, name: &QName) -> Option<&'a Construct> {
    let reads = |expression: &&Expr| {
        matches!(expression, Expr::Attribute(attribute) if attribute.ctx == ExprContext::Load)
            && QName::from_expr(expression).as_ref() == Some(name)
    };
    let reads: Vec<_> =
        expressions::of_function(ctx.def()).into_iter().filter(reads).map(Ranged::range).collect();
    ctx.decisions().filter(|(_, node)| node.test().is_some()).map(|(construct, _)| construct).find(
        |construct| {
            construct.binding == Binding::Python
                && reads.iter().any(|read| construct.test_range.contains_range(*read))
        },
    )
}

/// Returns the attribute that a statement updates from its own value, and the expression for the new value.
fn update(statement: &Stmt) -> Option<(&Expr, &Expr)> {
    match statement {
        Stmt::AugAssign(ast::StmtAugAssign { target, value, .. }) if target.is_attribute_expr() => {
            Some((target, value))
        }
        Stmt::Assign(ast::StmtAssign { targets, value, .. }) => match targets.as_slice() {
            [target @ Expr::Attribute(_)] if is_update(target, value) => Some((target, value)),
            _ => None,
        },
        _ => None,
    }
}

/// Returns whether an assignment updates its target: `self.n = self.n + 1`, `self.on = not self.on`.
fn is_update(target: &Expr, value: &Expr) -> bool {
    let name = QName::from_expr(target);
    let is_same = |expression: &Expr| name.is_some() && QName::from_expr(expression) == name;
    match value {
        Expr::UnaryOp(operation) => is_same(&operation.operand),
        // `self.position = (self.position + 1) % self.size`
        Expr::BinOp(operation) => {
            [&*operation.left, &*operation.right].into_iter().any(|it| is_same(it) || is_update(target, it))
        }
        _ => false,
    }
}
