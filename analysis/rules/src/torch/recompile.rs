//! Integers and containers that change in each call of a compiled function.

use ruff_python_ast::name::Name;
use ruff_python_ast::{Expr, Operator, Stmt};
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::places::{self, Holder};
use super::repeated_changes::{self, Owner};
use super::{compiles, handles_tracing, snippet};
use ag_db::text;
use ag_index::facts::Alternative;
use ag_index::index::file_index;
use ag_syntax::expressions::natural;

declare_rule! {
    /// ## What it does
    /// Reports integers that a function compiled by `torch.compile` changes in each call, as in `self.calls += 1`. They
    /// belong to an `nn.Module` or a global variable, directly or through other objects. It also reports integers of a
    /// module that a loop of the same file changes (`model.epoch = epoch`), and containers that grow in each call:
    /// `self.history.append(y)`.
    ///
    /// ## Why is this bad?
    /// The compiler treats these integers, and the lengths of containers, as constants and guards on them, so each call
    /// compiles the function again. After 8 compilations (`torch._dynamo.config.recompile_limit`) it stops compiling
    /// and runs the function in Python; with `fullgraph=True` it raises. Integers of arguments and of an object
    /// whose method is compiled become inputs of the graph. So do floats, after one recompilation: the first value of a
    /// float is a constant. It is reported if the program of the file changes the float of a module repeatedly.
    ///
    /// ## Example
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class Counting(nn.Module):
    ///     def __init__(self):
    ///         super().__init__()
    ///         self.calls = 0
    ///
    ///     def forward(self, x):
    ///         self.calls += 1
    ///         return x * 2
    ///
    /// torch.compile(Counting())(torch.ones(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class Counting(nn.Module):
    ///     def __init__(self):
    ///         super().__init__()
    ///         self.register_buffer("calls", torch.tensor(0))
    ///
    ///     def forward(self, x):
    ///         self.calls += 1
    ///         return x * 2
    ///
    /// torch.compile(Counting())(torch.ones(3))
    /// ```
    ///
    /// ## What torch reports
    /// `torch._dynamo hit config.recompile_limit (8)`
    pub(crate) static TORCH_RECOMPILE = {
        code: "AG518", name: "torch-recompile",
        summary: "an integer or a container that changes in each call causes a recompilation",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

/// Methods that add an element to a list, set or deque.
const GROWING: [&str; 5] = ["add", "append", "appendleft", "extend", "insert"];

fn check(ctx: &FunctionContext) {
    if !compiles(ctx) {
        return;
    }
    for statement in ctx.statements() {
        if handles_tracing(ctx, statement.range()) {
            continue;
        }
        counts(ctx, statement);
        grows(ctx, statement);
    }
    changes_outside(ctx);
}

/// Reports an integer of a module that other code changes in a loop: `self.epoch`, with `model.epoch = epoch`.
fn changes_outside(ctx: &FunctionContext) {
    let mut reported: Vec<&str> = Vec::new();
    for expression in ctx.expressions() {
        let Expr::Attribute(attribute) = expression else { continue };
        let name = &attribute.attr.id;
        if !attribute.ctx.is_load()
            || !ctx.is_receiver(&attribute.value)
            || reported.contains(&name.as_str())
            || !is_known_int(ctx, expression)
            || !is_only_owner(ctx, name)
            || places::of_object(ctx, &attribute.value) != Some(Holder::Module)
            || handles_tracing(ctx, attribute.range())
            || repeated_changes::find(ctx.db, ctx.document, &Owner::Object, name).is_none()
        {
            continue;
        }
        reported.push(name);
        let message = format!(
            "`{}`, an integer of a module, changes repeatedly, and each change recompiles the function",
            snippet(ctx, expression)
        );
        ctx.report(&TORCH_RECOMPILE, expression, message)
            .help("store the number in a buffer (`register_buffer`), or pass it as an argument")
            .emit();
    }
}

/// Returns whether the class of this method is the only one in the file with methods that assign this attribute.
fn is_only_owner(ctx: &FunctionContext, attribute: &Name) -> bool {
    let index = file_index(ctx.db, ctx.document);
    let Some(own) = ctx.class() else { return false };
    let stores = index.signatures.iter_enumerated().filter(|(_, it)| it.stores.contains(attribute));
    let mut owners = stores
        .filter_map(|(function, _)| index.definitions.classes.get(index.class_around(function.into())?));
    let mut is_stored = false;
    owners.all(|owner| {
        is_stored = true;
        owner.qualname == own.qualname
    }) && is_stored
}

fn counts(ctx: &FunctionContext, statement: &Stmt) {
    let Some(target) = counted(ctx, statement) else { return };
    let what = match places::holder(ctx, target) {
        Some(Holder::Module) => "an attribute of a module",
        Some(Holder::Global) => "a global variable",
        Some(Holder::Receiver) | None => return,
    };
    let in_loop = ctx.enclosing(statement.range()).any(|construct| construct.kind.is_loop());
    if is_int(ctx, target) && !in_loop {
        let message = format!(
            "`{}`, {what}, changes in each call, so each call recompiles the function",
            snippet(ctx, target)
        );
        ctx.report(&TORCH_RECOMPILE, statement, message)
            .help("count in a buffer (`register_buffer`), or outside the compiled function")
            .emit();
    }
}

/// Reports a container that outlives the call, and to which the statement adds an element.
fn grows(ctx: &FunctionContext, statement: &Stmt) {
    let Some(container) = grown(ctx, statement) else { return };
    if is_container(ctx, container)
        && places::of_object(ctx, container).is_some()
        && !shrinks(ctx, container, statement)
    {
        let message =
            format!("`{}` grows in each call, so each call recompiles the function", snippet(ctx, container));
        ctx.report(&TORCH_RECOMPILE, statement, message)
            .help("return the value, and collect it outside the compiled function")
            .emit();
    }
}

/// Returns the container to which a statement adds an element: `xs.append(x)`, `xs += [x]`, `xs = xs + [x]`.
fn grown<'a>(ctx: &FunctionContext, statement: &'a Stmt) -> Option<&'a Expr> {
    let is_filled = |value: &Expr| value.as_list_expr().is_some_and(|list| !list.is_empty());
    match statement {
        Stmt::Expr(expression) => {
            let call = expression.value.as_call_expr()?;
            let method = call.func.as_attribute_expr()?;
            (GROWING.contains(&method.attr.as_str()) && !call.arguments.is_empty()).then_some(&*method.value)
        }
        Stmt::AugAssign(assign) => {
            (assign.op == Operator::Add && is_filled(&assign.value)).then_some(&*assign.target)
        }
        Stmt::Assign(assign) => {
            let [target] = assign.targets.as_slice() else { return None };
            let Expr::BinOp(operation) = &*assign.value else { return None };
            (operation.op == Operator::Add
                && is_filled(&operation.right)
                && ctx.text(&*operation.left) == ctx.text(target))
            .then_some(target)
        }
        _ => None,
    }
}

/// Returns whether a value is a list, or a set.
fn is_container(ctx: &FunctionContext, value: &Expr) -> bool {
    let text = ctx.text(value);
    ctx.expressions().into_iter().filter(|other| ctx.text(*other) == text).any(|value| {
        matches!(
            ctx.python_fact(value).alternatives.as_slice(),
            [Alternative::Container { class, .. }] if matches!(class.as_str(), "list" | "set")
        )
    })
}

/// Returns whether the file also removes elements from a container with this name, or replaces it:
/// `meter.history.clear()`, `self.history = []` outside of the constructor.
fn shrinks(ctx: &FunctionContext, container: &Expr, statement: &Stmt) -> bool {
    let name = match container {
        Expr::Attribute(attribute) => &attribute.attr.id,
        Expr::Name(name) => &name.id,
        _ => return true,
    };
    let document = text(ctx.db, ctx.document);
    let own = usize::from(!statement.is_expr_stmt());
    removes(document.as_str(), name)
        || assignments(document.as_str(), name) > 1 + own
        || assignments(&ctx.ast.text, name) > own
}

/// Returns whether a text removes elements of a container.
fn removes(text: &str, name: &str) -> bool {
    let methods = [".clear(", ".pop(", ".popleft(", ".remove(", "[:]"];
    methods.iter().any(|method| text.contains(&format!("{name}{method}")))
        || text.lines().any(|line| line.trim_start().starts_with("del ") && line.contains(name))
}

/// Returns how often a text assigns a name, or an attribute with this name.
fn assignments(text: &str, name: &str) -> usize {
    let is_assignment = |line: &&str| {
        let line = line.trim_start();
        let Some((target, rest)) = line.split_once(name) else { return false };
        let rest = rest.trim_start();
        let is_target = target.is_empty() || target.ends_with('.') && !target.contains(' ');
        is_target && (rest.starts_with([':', '=']) || rest.starts_with("+=")) && !rest.starts_with("==")
    };
    text.lines().filter(is_assignment).count()
}

/// Returns the target of `n += 1` or `n = n + 1`.
fn counted<'a>(ctx: &FunctionContext, statement: &'a Stmt) -> Option<&'a Expr> {
    match statement {
        Stmt::AugAssign(assign) => (matches!(assign.op, Operator::Add | Operator::Sub)
            && is_step(ctx, &assign.value))
        .then_some(&*assign.target),
        Stmt::Assign(assign) => {
            let [target] = assign.targets.as_slice() else { return None };
            let Expr::BinOp(operation) = &*assign.value else { return None };
            (matches!(operation.op, Operator::Add | Operator::Sub)
                && is_step(ctx, &operation.right)
                && ctx.text(&*operation.left) == ctx.text(target))
            .then_some(target)
        }
        _ => None,
    }
}

/// Returns whether a value is a positive integer literal, or the size of a Tensor.
fn is_step(ctx: &FunctionContext, value: &Expr) -> bool {
    natural(value).is_some_and(|step| step > 0) || !value.is_literal_expr() && is_known_int(ctx, value)
}

fn is_known_int(ctx: &FunctionContext, expression: &Expr) -> bool {
    let fact = ctx.python_fact(expression);
    !fact.unknown
        && !fact.alternatives.is_empty()
        && fact.alternatives.iter().all(|alternative| matches!(alternative, Alternative::Int(_)))
}

/// Returns whether the previous value is an integer. The target of an assignment does not always have a fact.
fn is_int(ctx: &FunctionContext, target: &Expr) -> bool {
    let text = ctx.text(target);
    is_known_int(ctx, target)
        || ctx
            .expressions()
            .into_iter()
            .any(|expression| ctx.text(expression) == text && is_known_int(ctx, expression))
}
