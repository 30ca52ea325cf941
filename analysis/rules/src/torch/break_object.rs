//! Classes, layers and objects that torch.compile cannot trace.

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::{break_severity, compiles, definition, handles_tracing, snippet};
use ag_index::facts::{Alternative, CalleeKind};
use ag_index::index::file_index;
use ag_syntax::functions::FunctionPath;

declare_rule! {
    /// ## What it does
    /// Reports Python constructs in a function compiled by `torch.compile` that the compiler does not trace, other than
    /// [calls of library functions](AG514):
    ///
    /// - layers: a call of `nn.LSTM`, `nn.GRU` or `nn.RNN`; layers, parameters and optimizers that the function
    ///   creates;
    /// - classes: a class that the function defines, an assignment to `__class__`, an `autograd.Function` with a `jvp`;
    /// - a compiled generator;
    /// - `with` on a lock or a file;
    /// - with `fullgraph=True`: functions under `torch.compiler.disable`.
    ///
    /// ## Why is this bad?
    /// The compiler inserts a graph break, or runs the whole function in Python. With `fullgraph=True` it raises.
    ///
    /// ## Example
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class Scaled(nn.Module):
    ///     def forward(self, x):
    ///         return nn.Linear(3, 3)(x)
    ///
    /// torch.compile(Scaled())(torch.ones(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class Scaled(nn.Module):
    ///     def __init__(self):
    ///         super().__init__()
    ///         self.linear = nn.Linear(3, 3)
    ///
    ///     def forward(self, x):
    ///         return self.linear(x)
    ///
    /// torch.compile(Scaled())(torch.ones(3))
    /// ```
    /// `torch._dynamo.config.allow_rnn = True` lets the compiler trace recurrent layers.
    ///
    /// ## What torch reports
    /// `Attempted to wrap RNN, GRU, or LSTM: Dynamo does not support RNN, GRU, or LSTM.`
    pub(crate) static TORCH_GRAPH_BREAK_OBJECT = {
        code: "AG516", name: "torch-graph-break-object",
        summary: "a layer, class or object that cannot be traced causes a graph break",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

/// Layers with parameters. Their constructors create objects of `nn.Parameter`.
const LAYERS: [&str; 24] = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Bilinear",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "Embedding",
    "EmbeddingBag",
    "GRU",
    "GRUCell",
    "LSTM",
    "LSTMCell",
    "LayerNorm",
    "Linear",
    "MultiheadAttention",
    "PReLU",
    "Parameter",
    "RNN",
    "TransformerDecoderLayer",
    "TransformerEncoderLayer",
];
const OPTIMIZERS: [&str; 7] = ["Adagrad", "Adam", "AdamW", "LBFGS", "NAdam", "RMSprop", "SGD"];
const CREATE: &str = "create it outside the compiled function (in a module: in `__init__`)";

fn check(ctx: &FunctionContext) {
    if !compiles(ctx) {
        return;
    }
    let expressions = ctx.expressions();
    if ctx.root().is_some()
        && let Some(produced) =
            expressions.iter().find(|it| matches!(it, Expr::Yield(_) | Expr::YieldFrom(_)))
    {
        report(
            ctx,
            produced.range(),
            "a generator",
            "return a list, or compile the function that computes an element",
        );
    }
    for expression in &expressions {
        match expression {
            Expr::Call(call) => {
                if let Some((what, help)) = called(ctx, call) {
                    report(ctx, call.range(), &what, help);
                }
            }
            Expr::Dict(dict) => {
                if let Some((key, class)) = dict.iter_keys().flatten().find_map(|key| hashed(ctx, key)) {
                    let what = format!("`{class}` as a key, which defines `__hash__`,");
                    report(ctx, key.range(), &what, "use a string or a number as the key");
                }
            }
            _ => {}
        }
    }
    for statement in ctx.statements() {
        match statement {
            Stmt::ClassDef(class) => {
                let what = format!("the definition of the class `{}`", class.name);
                report(ctx, class.name.range(), &what, "define it outside the compiled function");
            }
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    if target.as_attribute_expr().is_some_and(|it| it.attr.as_str() == "__class__") {
                        report(
                            ctx,
                            target.range(),
                            "an assignment to `__class__`",
                            "create an object of the other class",
                        );
                    }
                }
            }
            Stmt::With(with) => {
                for item in &with.items {
                    if let Some(class) = untraced_context(ctx, &item.context_expr) {
                        let what = format!("`with` on a `{class}`");
                        report(ctx, item.context_expr.range(), &what, "use it outside the compiled function");
                    }
                }
            }
            _ => {}
        }
    }
}

fn report(ctx: &FunctionContext, range: TextRange, what: &str, help: &str) {
    if handles_tracing(ctx, range) {
        return;
    }
    ctx.report(&TORCH_GRAPH_BREAK_OBJECT, range, format!("{what} cannot be traced: it causes a graph break"))
        .severity(break_severity(ctx))
        .help(help)
        .emit();
}

/// Returns the part of a call that the compiler cannot trace, and a description of the replacement.
fn called(ctx: &FunctionContext, call: &ast::ExprCall) -> Option<(String, &'static str)> {
    if let Some(name) = ctx.resolve(&call.func) {
        let (module, class) = name.rsplit_once('.')?;
        let created = match module {
            "torch.nn" | "torch.nn.parameter" => LAYERS.contains(&class) && !is_without_parameters(call),
            "torch.optim" => OPTIMIZERS.contains(&class),
            "torch.utils.data" => class == "DataLoader",
            _ => false,
        };
        return if created {
            Some((format!("the creation of a `{class}`"), CREATE))
        } else if name == "torch._check"
            && let Some(Expr::Lambda(message)) = call.arguments.find_argument_value("message", 1)
            && let Some(local) = local_in(ctx, &message.body)
        {
            let what = format!("the message of `torch._check`, which uses the variable `{local}`,");
            Some((what, "use a message without variables"))
        } else if name == "torch._dynamo.graph_break" && ctx.stage.options.full_graph {
            Some(("`torch._dynamo.graph_break()`".to_owned(), "remove it, or `fullgraph=True`"))
        } else {
            disabled(ctx, call)
        };
    }
    if let [Alternative::Instance { module: Some(module), class }] =
        ctx.fact(&call.func).alternatives.as_slice()
        && module.starts_with("torch.nn")
        && matches!(class.as_str(), "LSTM" | "GRU" | "RNN")
        && !ctx.fact(&call.func).unknown
    {
        let what = format!("`{}`, an `nn.{class}`,", snippet(ctx, &call.func));
        return Some((
            what,
            "set `torch._dynamo.config.allow_rnn`, or call the layer outside the compiled function",
        ));
    }
    forward_mode(ctx, call).or_else(|| disabled(ctx, call))
}

/// Returns the local variable in the message of a check, if there is one.
fn local_in<'a>(ctx: &FunctionContext<'a>, message: &Expr) -> Option<&'a str> {
    let within = |expression: &&Expr| message.range().contains_range(expression.range());
    let mut names = ctx.expressions().into_iter().filter(within).filter_map(Expr::as_name_expr);
    names.find(|name| ctx.flow.scope().is_local(&name.id)).map(|name| name.id.as_str())
}

/// Returns a key whose class is in this file and has a method `__hash__`, and a description of it.
fn hashed<'a>(ctx: &FunctionContext, key: &'a Expr) -> Option<(&'a Expr, String)> {
    let [Alternative::Instance { class, .. }] = ctx.fact(key).alternatives.as_slice() else { return None };
    let is_here =
        file_index(ctx.db, ctx.document).definitions.classes.iter().any(|entry| entry.qualname == *class);
    (is_here && definition(ctx, &format!("{class}.__hash__")).is_some()).then(|| (key, class.to_string()))
}

/// Returns whether the created layer has no parameters: `nn.LayerNorm(3, elementwise_affine=False)`,
/// `nn.BatchNorm1d(3, affine=False)`.
fn is_without_parameters(call: &ast::ExprCall) -> bool {
    ["affine", "elementwise_affine"].iter().any(|name| call.arguments.find_keyword(name).is_some())
}

/// Finds a call such as `Doubling.apply(x)`, where `Doubling` is a class of this file that defines `jvp`.
fn forward_mode(ctx: &FunctionContext, call: &ast::ExprCall) -> Option<(String, &'static str)> {
    let method = call.func.as_attribute_expr().filter(|method| method.attr.as_str() == "apply")?;
    let class = method.value.as_name_expr()?;
    let callee = ctx.fact(&method.value).callee();
    let entry = file_index(ctx.db, ctx.document)
        .definitions
        .classes
        .iter()
        .find(|entry| entry.qualname == class.id)
        .filter(|_| callee.is_none_or(|callee| callee.kind == CalleeKind::Class))?;
    let custom = entry.bases.iter().any(|base| base.ends_with("Function"));
    (custom && definition(ctx, &format!("{}.jvp", class.id)).is_some()).then(|| {
        (
            format!("`{}`, which defines `jvp`,", class.id),
            "remove `jvp`, or apply it outside the compiled function",
        )
    })
}

/// Finds a call of a function of this file under `torch.compiler.disable`. Without `fullgraph=True`, the graph break is
/// intended.
fn disabled(ctx: &FunctionContext, call: &ast::ExprCall) -> Option<(String, &'static str)> {
    let name = call.func.as_name_expr().filter(|name| !ctx.flow.scope().is_local(&name.id))?;
    if !ctx.stage.options.full_graph {
        return None;
    }
    let index = file_index(ctx.db, ctx.document);
    let path = FunctionPath { qualname: name.id.as_str().into(), occurrence: 0 };
    let (function, _) = index.definitions.find(&path)?;
    let disables =
        index.signature(function.into())?.decorators.iter().any(|decorator| decorator == "disable");
    disables.then(|| {
        let what = format!("`{}`, which is under `torch.compiler.disable`,", name.id);
        (what, "remove `fullgraph=True`, or call it outside the compiled function")
    })
}

/// Returns the class of a context manager that the compiler cannot enter.
fn untraced_context(ctx: &FunctionContext, manager: &Expr) -> Option<String> {
    let fact = ctx.fact(manager);
    match fact.alternatives.as_slice() {
        [Alternative::Instance { module: Some(module), class }]
            if !fact.unknown
                && !manager.is_call_expr()
                && matches!(module.as_str(), "threading" | "_thread" | "multiprocessing.synchronize") =>
        {
            Some(class.to_string())
        }
        _ => None,
    }
}
