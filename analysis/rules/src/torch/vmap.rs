//! Code that needs values which torch.vmap does not provide.

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::mapped;
use super::super::path_certainty;
use super::super::tracing::{self, is_tensor};
use super::break_branch::predicate;
use super::break_shape::sized_by_values;
use super::{bool_severity, decisions, definition, host_value, is_assumed, snippet, vmap_leak};
use ag_db::diagnostic::Severity;
use ag_db::text;
use ag_flow::{Def, DefKind};
use ag_index::assumptions::Source;
use ag_index::dialect::RootKind;
use ag_staging::queries;
use ag_syntax::qname::QName;
use ag_syntax::{expressions, statements};

declare_rule! {
    /// ## What it does
    /// Reports code that needs the value of a Tensor in a function that `torch.vmap` maps: Python decisions, `.item()`,
    /// `int()`, `.numpy()`, and operations whose output size depends on the values. Also random operations, unless
    /// `randomness=` allows them, and writes of mapped values into a Tensor that is created in the function, or into a
    /// container that outlives the call. It also reports arguments that `vmap` cannot map: numbers, Tensors whose mapped
    /// dimensions have different sizes, and `in_dims` for another number of arguments; results that are not Tensors; and
    /// attributes that differ between the modules that `stack_module_state` stacks.
    ///
    /// ## Why is this bad?
    /// The function runs once for the whole batch. Its Tensors stand for all rows, which may have different values, so
    /// torch raises. Arguments that are not mapped (`in_dims=None`) are not affected. A new Tensor has no place for the
    /// values of all rows, and torch cannot know whether all rows should receive the same random numbers.
    ///
    /// ## Example
    /// ```python
    /// import torch
    ///
    /// def normalized(row):
    ///     if row.sum() > 0:
    ///         return row / row.sum()
    ///     return torch.zeros_like(row)
    ///
    /// torch.vmap(normalized)(torch.ones(3, 4))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    ///
    /// def normalized(row):
    ///     return torch.where(row.sum() > 0, row / row.sum(), 0.0)
    ///
    /// torch.vmap(normalized)(torch.ones(3, 4))
    /// ```
    ///
    /// ## What torch reports
    /// `RuntimeError: vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow.`
    pub(crate) static TORCH_VMAP = {
        code: "AG602", name: "torch-vmap",
        summary: "a mapped function needs the value of a Tensor",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

const HELP: &str = "use `torch.where`, which selects for each row";

fn check(ctx: &FunctionContext) {
    if ctx.stage.mode != RootKind::TorchVmap {
        return;
    }
    for decision in decisions(ctx) {
        let severity = bool_severity(ctx, &decision, Severity::Error);
        let is = if severity == Severity::Info { "may differ" } else { "differs" };
        let message = format!(
            "`{}` {is} between the rows of the batch: {} on it raises",
            snippet(ctx, decision.test),
            tracing::noun_phrase(decision.construct.kind)
        );
        report(ctx, decision.test, message, severity, HELP);
    }
    random_operations(ctx);
    dropout(ctx);
    unmapped_writes(ctx);
    vmap_leak::check(ctx);
    for expression in ctx.expressions() {
        if let Some((what, value, help)) =
            needed(ctx, expression).filter(|(_, value, _)| !is_created(ctx, value))
        {
            let severity = severity(ctx, value);
            let message =
                format!("{what} needs one value of `{}`, which has one for each row", snippet(ctx, value));
            report(ctx, expression, message, severity, help);
        } else if let Some((what, value)) = sized_by_values(ctx, expression)
            .filter(|(_, value)| !is_mapped_by_torch(expression) && !is_created(ctx, value))
        {
            let severity = severity(ctx, value);
            let message = format!("the size of {what} would differ between the rows of the batch");
            report(
                ctx,
                expression,
                message,
                severity,
                "use `torch.where(mask, x, fill)`, which keeps the shape",
            );
        }
    }
}

/// An error needs a value that certainly depends on a mapped argument.
fn severity(ctx: &FunctionContext, value: &Expr) -> Severity {
    match is_assumed(ctx, value) || !mapped::is_mapped(ctx, value) {
        true => Severity::Warning,
        false => Severity::Error,
    }
}

/// Returns whether a Tensor is computed only from Tensors that the function creates from numbers and sizes:
/// `torch.cumsum(torch.tensor(x.shape), 0)`. All rows of the batch share it.
fn is_created(ctx: &FunctionContext, value: &Expr) -> bool {
    let all = |operands: &mut dyn Iterator<Item = &Expr>| {
        let mut tensors = operands.filter(|operand| may_be_mapped(ctx, operand)).peekable();
        tensors.peek().is_some() && tensors.all(|tensor| is_created(ctx, tensor))
    };
    match value {
        Expr::Call(call) => {
            let mut arguments = call.arguments.iter_source_order().map(|argument| argument.value());
            match (ctx.resolve(&call.func), &*call.func) {
                (Some(function), _) if is_factory(&function) => !arguments.any(|it| may_be_mapped(ctx, it)),
                (Some(function), _) => function.starts_with("torch.") && all(&mut arguments),
                (None, Expr::Attribute(method)) if ctx.callee(call).is_none() => {
                    all(&mut std::iter::once(&*method.value).chain(arguments))
                }
                _ => false,
            }
        }
        Expr::Name(name) => {
            let definitions = definitions(ctx, name);
            // A loop may bind the name to a value that is computed from itself.
            let value = |definition: &&Def| {
                ctx.value_of(definition)
                    .filter(|value| definition.kind == DefKind::Assign && value.end() <= name.start())
            };
            !definitions.is_empty()
                && definitions.iter().all(|it| value(it).is_some_and(|value| is_created(ctx, value)))
        }
        Expr::BinOp(operation) => all(&mut [&*operation.left, &*operation.right].into_iter()),
        Expr::UnaryOp(operation) => is_created(ctx, &operation.operand),
        Expr::Subscript(subscript) => all(&mut [&*subscript.value, &*subscript.slice].into_iter()),
        _ => false,
    }
}

/// Reports `torch.randn_like(x)`.
fn random_operations(ctx: &FunctionContext) {
    const RANDOM: [&str; 12] = [
        "bernoulli",
        "multinomial",
        "normal",
        "poisson",
        "rand",
        "rand_like",
        "randint",
        "randint_like",
        "randn",
        "randn_like",
        "randperm",
        "binomial",
    ];
    if ctx.stage.options.randomness {
        return;
    }
    for call in ctx.expressions().into_iter().filter_map(Expr::as_call_expr) {
        let Some(name) = ctx.resolve(&call.func) else { continue };
        let is_random = name.strip_prefix("torch.").is_some_and(|function| RANDOM.contains(&function));
        if is_random {
            let certain = path_certainty::is_definitely_reached(ctx, call.range());
            let severity = if certain { Severity::Error } else { Severity::Info };
            let message =
                format!("`{name}` generates random numbers, which `vmap` does not allow by default");
            let help = "pass `randomness=\"different\"` (or `\"same\"`) to `vmap`";
            ctx.report(&TORCH_VMAP, call, message).severity(severity).help(help).emit();
        }
    }
}

/// Reports `F.dropout(x)` and calls of layers with dropout: `self.body(x)` for `self.body = nn.Sequential(…,
/// nn.Dropout(0.1))`. Modules are created in training mode, so the file must not contain `eval()`.
fn dropout(ctx: &FunctionContext) {
    let source = text(ctx.db, ctx.document);
    if ctx.stage.options.randomness
        || ["eval()", "train(False)", "train(mode=False)"].iter().any(|it| source.as_str().contains(it))
    {
        return;
    }
    let receiver = ctx.stage.parameters.first().filter(|first| first.source == Source::Receiver);
    for call in ctx.expressions().into_iter().filter_map(Expr::as_call_expr) {
        let is_random = match (ctx.resolve(&call.func), &*call.func) {
            (Some(name), _) => {
                name.strip_prefix("torch.nn.functional.").is_some_and(is_dropout_function)
                    && !is_off(call, 1)
                    && call.arguments.find_argument_value("training", 2).is_none_or(|training| {
                        training.as_boolean_literal_expr().is_some_and(|literal| literal.value)
                            || training.as_attribute_expr().is_some_and(|it| it.attr.as_str() == "training")
                    })
            }
            (None, Expr::Attribute(attribute)) => {
                let of_self = attribute
                    .value
                    .as_name_expr()
                    .is_some_and(|name| receiver.is_some_and(|receiver| receiver.name == name.id));
                of_self && holds_dropout(ctx, &attribute.attr)
            }
            _ => false,
        };
        if is_random && path_certainty::is_definitely_reached(ctx, call.range()) {
            let message = format!(
                "`{}` drops random elements in training mode, which `vmap` does not allow by default",
                snippet_of_call(ctx, call)
            );
            let help =
                "pass `randomness=\"different\"` (or `\"same\"`) to `vmap`, or call `eval()` on the module";
            ctx.report(&TORCH_VMAP, call, message).severity(Severity::Warning).help(help).emit();
        }
    }
}

fn snippet_of_call<'a>(ctx: &FunctionContext<'a>, call: &ast::ExprCall) -> String {
    tracing::snippet(ctx.text(call))
}

fn is_dropout_function(function: &str) -> bool {
    matches!(
        function,
        "alpha_dropout" | "dropout" | "dropout1d" | "dropout2d" | "dropout3d" | "feature_alpha_dropout"
    )
}

/// Returns whether the literal 0 is passed as the probability of a dropout.
fn is_off(call: &ast::ExprCall, position: usize) -> bool {
    let probability = call.arguments.find_argument_value("p", position);
    probability.and_then(Expr::as_number_literal_expr).is_some_and(|literal| match &literal.value {
        ast::Number::Int(value) => value.as_u64() == Some(0),
        ast::Number::Float(value) => *value == 0.0,
        ast::Number::Complex { .. } => false,
    })
}

/// Returns whether the constructor of this class assigns a value that contains a dropout layer to the attribute.
fn holds_dropout(ctx: &FunctionContext, attribute: &str) -> bool {
    let Some((class, _)) = ctx.path.qualname.rsplit_once('.') else { return false };
    let Some(constructor) = definition(ctx, &format!("{class}.__init__")) else { return false };
    let is_dropout = |expression: &Expr| {
        expression.as_call_expr().is_some_and(|call| {
            let layer = ctx.imports.resolve(&call.func);
            let layer = layer.as_deref().and_then(|name| name.strip_prefix("torch.nn."));
            layer.is_some_and(|layer| layer.contains("Dropout")) && !is_off(call, 0)
        })
    };
    let all = expressions::of_function(constructor.def());
    statements::of_function(constructor.def()).into_iter().any(|statement| {
        let Stmt::Assign(assign) = statement else { return false };
        let assigns = assign
            .targets
            .iter()
            .any(|target| target.as_attribute_expr().is_some_and(|target| target.attr.as_str() == attribute));
        assigns && all.iter().any(|it| assign.value.range().contains_range(it.range()) && is_dropout(it))
    })
}

/// Reports `out[i] = x`, `out += x` and `out.add_(x)`, if `out` is a new Tensor and `x` depends on a mapped argument.
fn unmapped_writes(ctx: &FunctionContext) {
    for statement in ctx.statements() {
        let (target, value) = match statement {
            Stmt::Assign(assign) => match assign.targets.as_slice() {
                [Expr::Subscript(subscript)] => (&*subscript.value, &*assign.value),
                _ => continue,
            },
            Stmt::AugAssign(assign) => match &*assign.target {
                Expr::Subscript(subscript) => (&*subscript.value, &*assign.value),
                target => (target, &*assign.value),
            },
            Stmt::Expr(expression) => {
                let Some(call) = expression.value.as_call_expr() else { continue };
                let (Some(method), [value]) = (call.func.as_attribute_expr(), &*call.arguments.args) else {
                    continue;
                };
                let name = method.attr.as_str();
                if !name.ends_with('_') || name.starts_with('_') || name.starts_with("require") {
                    continue;
                }
                (&*method.value, value)
            }
            _ => continue,
        };
        if is_new(ctx, target) && is_tensor(ctx, value) && mapped::is_mapped(ctx, value) {
            let (target_text, value_text) = (snippet(ctx, target), snippet(ctx, value));
            let message = format!(
                "`{value_text}` has a value for each row of the batch, but `{target_text}` is one Tensor for all rows"
            );
            let help = "compute the values and join them with `torch.stack`, or create the Tensor with `x.new_zeros(…)`";
            ctx.report(&TORCH_VMAP, statement, message).why(ctx.why(value)).help(help).emit();
        }
    }
}

/// Returns the definitions of a local variable.
fn definitions<'c>(ctx: &'c FunctionContext, name: &ast::ExprName) -> Vec<&'c Def> {
    ctx.flow.definitions_of(name.range(), &QName::from(&name.id))
}

/// Returns whether a variable is always a Tensor that a function of torch creates from sizes and numbers:
/// `torch.zeros(n)`.
fn is_new(ctx: &FunctionContext, target: &Expr) -> bool {
    let Expr::Name(name) = target else { return false };
    let definitions = definitions(ctx, name);
    let creates = |definition: &&Def| {
        let call = ctx.value_of(definition).filter(|_| definition.kind == DefKind::Assign)?.as_call_expr()?;
        if call.arguments.iter_source_order().any(|argument| may_be_mapped(ctx, argument.value())) {
            return None;
        }
        let is_new = match ctx.resolve(&call.func) {
            Some(function) => is_factory(&function),
            None => returns_new(ctx, call)?,
        };
        is_new.then_some(())
    };
    !definitions.is_empty() && definitions.iter().all(|definition| creates(definition).is_some())
}

fn is_factory(function: &str) -> bool {
    const FACTORIES: [&str; 8] = ["arange", "empty", "eye", "full", "linspace", "ones", "tensor", "zeros"];
    function.strip_prefix("torch.").is_some_and(|function| FACTORIES.contains(&function))
}

/// Returns whether a call reaches a function of the project that only returns a new Tensor:
/// `return torch.zeros(self.bins)`.
fn returns_new(ctx: &FunctionContext, call: &ast::ExprCall) -> Option<bool> {
    let site = ctx.types.calls.iter().find(|site| site.location.range == call.range() && !site.implicit)?;
    let [target] = site.targets.as_slice() else { return None };
    let [Stmt::Return(returned)] = &*ctx.callee(call)?.def().body else { return None };
    let created = returned.value.as_deref()?.as_call_expr()?;
    let function = queries::imports(ctx.db, target.document).resolve(&created.func)?;
    let holds_tensor = function == "torch.tensor" || function == "torch.full";
    Some(is_factory(&function) && !holds_tensor)
}

fn may_be_mapped(ctx: &FunctionContext, argument: &Expr) -> bool {
    ctx.fact(argument).may_be_tensor()
}

fn report(ctx: &FunctionContext, at: &Expr, message: String, severity: Severity, help: &'static str) {
    ctx.report(&TORCH_VMAP, at, message).severity(severity).why(ctx.why(at)).help(help).emit();
}

/// Returns the operation that needs a Tensor as a Python value, the Tensor, and the help.
fn needed<'a>(ctx: &FunctionContext<'a>, expression: &'a Expr) -> Option<(String, &'a Expr, &'static str)> {
    if let Some((name, value)) = predicate(ctx, expression) {
        return Some((format!("`{name}`"), value, HELP));
    }
    let compute = "compute with the Tensor itself";
    if let Some((what, value)) = host_value(ctx, expression) {
        return Some((what, value, compute));
    }
    let method = expression.as_call_expr()?.func.as_attribute_expr()?;
    let name = method.attr.as_str();
    (matches!(name, "tolist" | "numpy") && is_tensor(ctx, &method.value))
        .then(|| (format!("`.{name}()`"), &*method.value, compute))
}

/// Returns whether torch maps the operation, although the size of its result depends on values.
fn is_mapped_by_torch(expression: &Expr) -> bool {
    let Expr::Call(ast::ExprCall { func, .. }) = expression else { return false };
    let name = match &**func {
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        Expr::Name(name) => name.id.as_str(),
        _ => return false,
    };
    matches!(name, "bincount" | "one_hot" | "repeat_interleave")
}
