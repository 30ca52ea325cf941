//! `None` where TorchScript requires a value.

use ruff_python_ast::{self as ast, CmpOp, Expr, Stmt, UnaryOp};
use ruff_text_size::{Ranged, TextRange};

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::tracing;
use super::script_class::{self, Initial};
use super::script_loop_type::rebindings;
use super::script_paths::{Compiled, has_type_none};
use super::script_types::ScriptType;
use super::{is_under_script_test, scripts, snippet};
use ag_flow::{Def, DefKind};
use ag_index::facts::Alternative;
use ag_staging::construct::ConstructKind;
use ag_syntax::expressions::sequence;
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports uses of `None` that TorchScript rejects:
    ///
    /// - a name or attribute that is `None` and is assigned another value
    /// - an `Optional` operand or argument that may still be `None`
    /// - a test of an `Optional` (`if x:`)
    /// - the default `None` of a parameter whose annotation does not allow it
    ///
    /// ## Why is this bad?
    /// The type of `x = None` is `None`. Only the annotation `Optional[Tensor]` allows both, and only a test
    /// (`if x is not None:`) narrows it to a Tensor. A test narrows local variables, but not attributes: another
    /// method may change them. Attributes are declared in the body of the class; an annotation in `__init__` is
    /// ignored.
    ///
    /// ## Example
    /// ```python
    /// import torch
    ///
    /// @torch.jit.script
    /// def last(xs: torch.Tensor):
    ///     best = None
    ///     for row in xs:
    ///         best = row
    ///     return best
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// from typing import Optional
    ///
    /// import torch
    ///
    /// @torch.jit.script
    /// def last(xs: torch.Tensor):
    ///     best: Optional[torch.Tensor] = None
    ///     for row in xs:
    ///         best = row
    ///     return best
    /// ```
    ///
    /// ## What torch reports
    /// `RuntimeError: Variable 'best' previously had type NoneType but is now being assigned to a value
    /// of type Tensor`, or `Expected a default value of type float on parameter "scale"`
    pub(crate) static SCRIPT_NONE = {
        code: "AG533", name: "script-none",
        summary: "`None` is used where TorchScript requires a value",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !scripts(ctx) {
        return;
    }
    for rebinding in rebindings(ctx) {
        if rebinding.before == ScriptType::None {
            let (name, ty) = (&rebinding.name, rebinding.after);
            ctx.report(
                &SCRIPT_NONE,
                rebinding.range,
                format!("`{name}` has type `None` and cannot be assigned a value of type `{ty}`"),
            )
            .help(format!("annotate its first assignment: `{name}: Optional[{ty}] = None`"))
            .emit();
        }
    }
    operands(ctx);
    attributes(ctx);
    defaults(ctx);
}

fn operands(ctx: &FunctionContext) {
    let compiled = Compiled::of(ctx);
    let mut reported: Vec<TextRange> = Vec::new();
    for expression in ctx.expressions() {
        for (operand, is_test) in required(ctx, expression) {
            check_operand(ctx, &compiled, operand, is_test, &mut reported);
        }
        if let Expr::BoolOp(operation) = expression {
            operation.values.iter().skip(1).for_each(|value| check_order(ctx, &compiled, value));
        }
    }
    for (construct, node) in ctx.decisions() {
        if matches!(construct.kind, ConstructKind::If | ConstructKind::While | ConstructKind::IfExp)
            && let Some(test) = node.test()
        {
            check_operand(ctx, &compiled, test, true, &mut reported);
        }
    }
    let declared = ctx.def().returns.as_deref();
    let is_plain = declared.is_some_and(|declared| PLAIN_TYPES.contains(&ctx.text(declared)));
    for statement in ctx.statements() {
        match statement {
            Stmt::AugAssign(assign) => {
                check_operand(ctx, &compiled, &assign.target, false, &mut reported);
            }
            // `cos, sin = self.cache`
            Stmt::Assign(assign) if assign.targets.iter().any(Expr::is_tuple_expr) => {
                check_operand(ctx, &compiled, &assign.value, false, &mut reported);
            }
            Stmt::For(node) => check_operand(ctx, &compiled, &node.iter, false, &mut reported),
            Stmt::Return(node)
                if is_plain
                    && node.value.as_deref().is_some_and(|it| it.is_name_expr() || it.is_call_expr()) =>
            {
                let value = node.value.iter();
                value.for_each(|value| check_operand(ctx, &compiled, value, false, &mut reported));
            }
            _ => {}
        }
    }
}

/// Reports `best is None or score > best` if the type of `best` is `None`, because TorchScript compiles the comparison,
/// too.
fn check_order(ctx: &FunctionContext, compiled: &Compiled, comparison: &Expr) {
    let Expr::Compare(compare) = comparison else { return };
    let sides = std::iter::once(&*compare.left).chain(&compare.comparators);
    let orders = compare.ops.iter().all(|op| orders(*op)) && compiled.contains(compare.range());
    if let Some(none) = sides.into_iter().find(|side| has_type_none(ctx, side)).filter(|_| orders) {
        let name = snippet(ctx, none);
        ctx.report(&SCRIPT_NONE, none, format!("`{name}` has the type `None` here, in every iteration"))
            .help(format!("annotate its first assignment: `{name}: Optional[…] = None`"))
            .emit();
    }
}

fn check_operand(
    ctx: &FunctionContext,
    compiled: &Compiled,
    operand: &Expr,
    is_test: bool,
    reported: &mut Vec<TextRange>,
) {
    let range = operand.range();
    let optional = is_optional(ctx, operand) && !reported.contains(&range);
    if !optional || !compiled.contains(range) || is_under_script_test(ctx, range) {
        return;
    }
    reported.push(range);
    let shown = snippet(ctx, operand);
    let is_attribute = operand.is_attribute_expr();
    let message = match (is_test, is_attribute) {
        (true, _) => format!("`{shown}` is an `Optional`, which TorchScript does not convert to a bool"),
        (false, true) => format!("`{shown}` is an `Optional` attribute, which a test does not narrow"),
        (false, false) => format!("`{shown}` may be `None` here"),
    };
    let help = match (is_test, is_attribute) {
        (true, _) => format!("compare it: `{shown} is not None`"),
        (false, true) => "assign it to a local variable, and test that".to_owned(),
        (false, false) => format!("test it first: `if {shown} is not None:`"),
    };
    ctx.report(&SCRIPT_NONE, range, message).help(help).emit();
}

/// Returns the operands of an expression for which TorchScript does not allow `None`, each with whether the expression
/// tests it.
fn required<'e>(ctx: &FunctionContext, expression: &'e Expr) -> Vec<(&'e Expr, bool)> {
    match expression {
        Expr::BinOp(operation) => vec![(&operation.left, false), (&operation.right, false)],
        Expr::UnaryOp(operation) => vec![(&operation.operand, operation.op == UnaryOp::Not)],
        Expr::BoolOp(operation) => operation.values.iter().map(|value| (value, true)).collect(),
        Expr::Compare(compare) if compare.ops.iter().all(|op| orders(*op)) => {
            std::iter::once(&*compare.left).chain(&compare.comparators).map(|side| (side, false)).collect()
        }
        Expr::Attribute(attribute) => vec![(&attribute.value, false)],
        Expr::Subscript(subscript) => vec![(&subscript.value, false)],
        Expr::Call(call) if call.func.as_name_expr().is_some_and(|name| name.id == "range") => {
            call.arguments.args.iter().map(|bound| (bound, false)).collect()
        }
        Expr::Call(call) => {
            let mut operands = passed(ctx, call);
            operands.extend(joined(ctx, call).iter().map(|element| (element, false)));
            operands.extend(tensors(ctx, call).iter().map(|argument| (argument, false)));
            operands.extend(appended(ctx, call).map(|element| (element, false)));
            operands
        }
        _ => Vec::new(),
    }
}

/// Returns the Tensors that a function of torch joins: `cache` and `x` for `torch.cat([cache, x])`.
fn joined<'e>(ctx: &FunctionContext, call: &'e ast::ExprCall) -> &'e [Expr] {
    const JOIN: [&str; 7] = ["cat", "concat", "concatenate", "dstack", "hstack", "stack", "vstack"];
    let joins = ctx
        .resolve(&call.func)
        .is_some_and(|name| name.strip_prefix("torch.").is_some_and(|function| JOIN.contains(&function)));
    let list = call.arguments.find_argument_value("tensors", 0).filter(|_| joins);
    list.and_then(sequence).unwrap_or_default()
}

/// Methods of Tensors whose positional arguments are Tensors or numbers.
const TENSOR_METHODS: [&str; 30] = [
    "add",
    "bmm",
    "copy_",
    "div",
    "dot",
    "eq",
    "expand_as",
    "gather",
    "ge",
    "gt",
    "index_select",
    "le",
    "lerp",
    "logical_and",
    "logical_or",
    "lt",
    "masked_fill",
    "masked_fill_",
    "masked_select",
    "matmul",
    "maximum",
    "minimum",
    "mm",
    "mul",
    "ne",
    "scatter",
    "sub",
    "type_as",
    "view_as",
    "where",
];

/// Returns the arguments of a call that must be Tensors: those of `x.masked_fill(mask, 0)`, and the first one of a
/// function or module of torch, as in `torch.relu(x)`.
fn tensors<'e>(ctx: &FunctionContext, call: &'e ast::ExprCall) -> &'e [Expr] {
    let arguments = &*call.arguments.args;
    let first = arguments.get(..1).unwrap_or_default();
    match (ctx.resolve(&call.func), &*call.func) {
        (Some(name), _) => {
            let function = name.strip_prefix("torch.nn.functional.").or(name.strip_prefix("torch."));
            let takes_tensor = function.is_some_and(|it| {
                !it.contains('.') && !it.starts_with("is_") && it.starts_with(char::is_lowercase)
            });
            if takes_tensor { first } else { &[] }
        }
        (None, Expr::Attribute(method)) if TENSOR_METHODS.contains(&method.attr.as_str()) => {
            if tracing::is_tensor(ctx, &method.value) {
                arguments
            } else {
                &[]
            }
        }
        (None, callee) => match ctx.fact(callee).alternatives.as_slice() {
            [Alternative::Instance { module: Some(module), class }]
                if module.starts_with("torch.nn") && !matches!(class.as_str(), "Module" | "Identity") =>
            {
                first
            }
            _ => &[],
        },
    }
}

/// Returns the element that a call adds to a list of plain values: `value` in `ids.append(value)`, with
/// `ids: List[int]`.
fn appended<'e>(ctx: &FunctionContext, call: &'e ast::ExprCall) -> Option<&'e Expr> {
    const LISTS: [&str; 5] = ["list[int]", "list[float]", "list[bool]", "list[str]", "list[Tensor]"];
    let method = call.func.as_attribute_expr().filter(|method| method.attr.as_str() == "append")?;
    let list = ctx.python_fact(&method.value);
    (!list.unknown && LISTS.contains(&list.shown.as_str())).then(|| call.arguments.args.first())?
}

fn orders(op: CmpOp) -> bool {
    matches!(op, CmpOp::Lt | CmpOp::LtE | CmpOp::Gt | CmpOp::GtE)
}

/// If the call is of a function of the project, returns the arguments whose parameters do not allow `None`.
fn passed<'e>(ctx: &FunctionContext, call: &'e ast::ExprCall) -> Vec<(&'e Expr, bool)> {
    // A name may be bound to a module. In `for block in self.blocks: x = block(x, mask)`, the call runs `forward`.
    let Some((callee, bound)) = ctx.callee_and_receiver(call).filter(|_| call.func.is_name_expr()) else {
        return Vec::new();
    };
    let parameters = callee.def().parameters.iter_non_variadic_params().skip(bound.into());
    let declared = parameters.zip(&call.arguments.args).filter(|(parameter, argument)| {
        !argument.is_starred_expr()
            && parameter
                .parameter
                .annotation
                .as_deref()
                .is_some_and(|annotation| PLAIN_TYPES.contains(&&callee.text[annotation.range()]))
    });
    declared.map(|(_, argument)| (argument, false)).collect()
}

const PLAIN_TYPES: [&str; 6] = ["int", "float", "bool", "str", "Tensor", "torch.Tensor"];

/// Returns whether an expression is a variable that may be `None` although tests precede it, or an attribute that is
/// declared `Optional`. Tests do not narrow attributes.
fn is_optional(ctx: &FunctionContext, expression: &Expr) -> bool {
    match expression {
        Expr::Name(name) => {
            let fact = ctx.fact(expression);
            // After `x: Optional[int]`, ty keeps the declared type when `x` is bound to a value of unknown or another
            // type. TorchScript uses the type of the value.
            let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
            let value_of = |definition: &Def| {
                let value = definition.value.and_then(|range| ctx.expression_at(range))?;
                Some(ctx.fact(value)).filter(|fact| !fact.unknown)
            };
            let is_parameter = |definition: &Def| matches!(definition.kind, DefKind::Parameter(_));
            !fact.unknown
                && fact.may_be_none()
                && fact.alternatives.len() > 1
                && definitions.iter().all(|it| is_parameter(it) || value_of(it).is_some())
                && definitions.iter().any(|it| match it.kind {
                    // A parameter without annotation is a Tensor, whatever calls pass for it.
                    DefKind::Parameter(_) => is_annotated(ctx, &name.id),
                    _ => value_of(it).is_some_and(|fact| fact.may_be_none()),
                })
        }
        Expr::Attribute(_) => script_class::is_optional_attribute(ctx, expression),
        Expr::Call(call) => is_lookup(ctx, call),
        _ => false,
    }
}

/// Returns whether a call is `counts.get(key)`, where `counts` is a dictionary. With a default, the result is not
/// `Optional`.
fn is_lookup(ctx: &FunctionContext, call: &ast::ExprCall) -> bool {
    let Expr::Attribute(method) = &*call.func else { return false };
    let dict = ctx.python_fact(&method.value);
    method.attr.as_str() == "get"
        && call.arguments.len() == 1
        && !dict.unknown
        && matches!(dict.alternatives.as_slice(), [Alternative::Container { class, .. }] if class == "dict")
}

fn is_annotated(ctx: &FunctionContext, parameter: &str) -> bool {
    let mut parameters = ctx.def().parameters.iter();
    parameters.any(|known| known.name().id == parameter && known.annotation().is_some())
}

/// Reports `self.cache = x` if the constructor assigns `None`, and the body of the class declares no type.
fn attributes(ctx: &FunctionContext) {
    let Some(class) = script_class::of_method(ctx).filter(|class| class.is_complete) else { return };
    let compiled = Compiled::of(ctx);
    for statement in ctx.statements() {
        let Stmt::Assign(assign) = statement else { continue };
        let [target] = assign.targets.as_slice() else { continue };
        let Some(name) = script_class::attribute_of_self(ctx, target) else { continue };
        let Some(attribute) = class.attributes.get(name) else { continue };
        let only_none = attribute.annotation.is_none()
            && !attribute.is_constant
            && attribute.initial == [Initial::None]
            && attribute.used_by == [ctx.def().name.id.clone()];
        let Some(ty) = ScriptType::of_expression(ctx, &assign.value).filter(|ty| *ty != ScriptType::None)
        else {
            continue;
        };
        if only_none && compiled.contains(statement.range()) {
            ctx.report(
                &SCRIPT_NONE,
                target,
                format!("`self.{name}` has type `None` and cannot be assigned a value of type `{ty}`"),
            )
            .help(format!("declare it in the body of the class: `{name}: Optional[{ty}]`"))
            .emit();
        }
    }
}

/// Reports `scale: float = None`.
fn defaults(ctx: &FunctionContext) {
    for parameter in ctx.def().parameters.iter_non_variadic_params() {
        let (Some(annotation), Some(Expr::NoneLiteral(_))) =
            (parameter.parameter.annotation.as_deref(), parameter.default.as_deref())
        else {
            continue;
        };
        let plain = matches!(annotation, Expr::Name(_) | Expr::Attribute(_))
            && PLAIN_TYPES.contains(&ctx.text(annotation));
        if plain {
            let name = &parameter.parameter.name;
            ctx.report(
                &SCRIPT_NONE,
                &ctx.def().name,
                format!(
                    "the default of `{name}` is `None`, but its annotation `{}` does not allow it",
                    ctx.text(annotation)
                ),
            )
            .label(ctx.span(parameter.range()), "this parameter")
            .help(format!("annotate it as `Optional[{}]`", ctx.text(annotation)))
            .emit();
        }
    }
}
