//! Arguments that the control flow operators of torch reject: `torch.cond`, `while_loop`, `scan`.

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::names::bound_names;
use super::super::tracing::is_tensor;
use super::custom_operators;
use super::{break_severity, compiles, definition, exports, snippet};
use ag_syntax::expressions::sequence;
use ag_syntax::functions::FunctionAst;
use ag_syntax::statements;

declare_rule! {
    /// ## What it does
    /// Reports arguments that the control flow operators of torch (`torch.cond`, `while_loop`, `scan`) reject: operands
    /// that are not in a tuple, branches that are not functions, and functions that
    ///
    /// - return different structures, or something other than Tensors and integers;
    /// - return Tensors of other sizes or dtypes than `while_loop` passes to its body;
    /// - return an operand itself, or change one in place;
    /// - change a list, an attribute or a variable outside the function.
    ///
    /// It also reports calls of operators that the program defines with `torch.library.custom_op` but without
    /// `register_fake`: the compiler cannot know the shapes of their results.
    ///
    /// ## Why is this bad?
    /// The operators trace their functions into subgraphs. A subgraph has no side effects, and its results must be new
    /// Tensors. The operators raise if a function does not comply.
    ///
    /// ## Example
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def clip(x):
    ///     return torch.cond(x.norm() > 1, lambda v: v / v.norm(), lambda v: v, (x,))
    ///
    /// clip(torch.ones(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def clip(x):
    ///     return torch.cond(x.norm() > 1, lambda v: v / v.norm(), lambda v: v.clone(), (x,))
    ///
    /// clip(torch.ones(3))
    /// ```
    ///
    /// ## What torch reports
    /// `UncapturedHigherOrderOpError: This higher order operator doesn't work unless it is captured completely with
    /// torch.compile. Got graph break/error: Encountered aliasing during higher order op tracing`
    pub(crate) static TORCH_OPERATOR_ARGUMENTS = {
        code: "AG517", name: "torch-operator-arguments",
        summary: "a control flow operator of torch does not accept its arguments",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operator {
    Cond,
    WhileLoop,
    Scan,
}

fn check(ctx: &FunctionContext) {
    if !compiles(ctx) && !exports(ctx) {
        return;
    }
    custom_operators::check(ctx);
    for expression in ctx.expressions() {
        let Expr::Call(call) = expression else { continue };
        let Some(name) = ctx.resolve(&call.func) else { continue };
        let Some((module, function)) = name.rsplit_once('.') else { continue };
        if name == "torch.utils.checkpoint.checkpoint" {
            checkpoint(ctx, call);
        }
        if !(module == "torch"
            || module.starts_with("torch._higher_order_ops")
            || module.starts_with("functorch."))
        {
            continue;
        }
        match function {
            "cond" => cond(ctx, call),
            "while_loop" => while_loop(ctx, call),
            "scan" => scan(ctx, call),
            _ => {}
        }
    }
}

fn cond(ctx: &FunctionContext, call: &ast::ExprCall) {
    let argument = |name: &str, position: usize| call.arguments.find_argument_value(name, position);
    if let Some(operands) = argument("operands", 3)
        && is_tensor(ctx, operands)
    {
        let message =
            format!("the operands of `torch.cond` must be in a tuple: `{}`", snippet(ctx, operands));
        report(ctx, operands.range(), message, format!("write `({},)`", ctx.text(operands)));
    }
    let branches = [argument("true_fn", 1), argument("false_fn", 2)];
    let mut bodies = Vec::new();
    for branch in branches.into_iter().flatten() {
        if is_tensor(ctx, branch) {
            let message =
                format!("`{}` is a Tensor; the branches of `torch.cond` are functions", snippet(ctx, branch));
            report(ctx, branch.range(), message, "use `torch.where` to select between Tensors".to_owned());
        } else if let Some(body) = Body::of(ctx, branch) {
            subgraph(ctx, branch, &body, Operator::Cond);
            bodies.push(body);
        }
    }
    if let [one, other] = bodies.as_slice()
        && let (Some(one), Some(other)) = (one.structure(ctx), other.structure(ctx))
        && one != other
    {
        let message = "the branches of `torch.cond` return different structures".to_owned();
        report(ctx, call.range(), message, "return the same structure of Tensors in both".to_owned());
    }
}

fn while_loop(ctx: &FunctionContext, call: &ast::ExprCall) {
    let argument = |name: &str, position: usize| call.arguments.find_argument_value(name, position);
    if let Some(carried) = argument("carried_inputs", 2)
        && is_tensor(ctx, carried)
    {
        let message =
            format!("the values that `while_loop` carries must be in a tuple: `{}`", snippet(ctx, carried));
        report(ctx, carried.range(), message, format!("write `({},)`", ctx.text(carried)));
    }
    if let Some(condition) = argument("cond_fn", 0)
        && let Some(body) = Body::of(ctx, condition)
        && body.results.iter().all(|result| result.is_boolean_literal_expr())
        && !body.results.is_empty()
    {
        let message = "the condition of `while_loop` always returns the same value".to_owned();
        report(ctx, condition.range(), message, "compute it from the carried values".to_owned());
    }
    if let Some(step) = argument("body_fn", 1)
        && let Some(body) = Body::of(ctx, step)
    {
        subgraph(ctx, step, &body, Operator::WhileLoop);
    }
}

fn scan(ctx: &FunctionContext, call: &ast::ExprCall) {
    let Some(combine) = call.arguments.find_argument_value("combine_fn", 0) else { return };
    let Some(body) = Body::of(ctx, combine) else { return };
    subgraph(ctx, combine, &body, Operator::Scan);
    if !body.results.is_empty() && body.results.iter().all(|result| body.is_single(ctx, result)) {
        let message = "the function of `scan` must return a pair: the next carry and the output".to_owned();
        report(ctx, combine.range(), message, "return a tuple of two elements".to_owned());
    }
}

/// Checks the function that is passed to `checkpoint`. It also becomes a subgraph, or causes a graph break if that is
/// impossible.
fn checkpoint(ctx: &FunctionContext, call: &ast::ExprCall) {
    if let Some(function) = call.arguments.args.first()
        && let Some(Body { effect: Some(effect), .. }) = Body::of(ctx, function)
    {
        let message = format!(
            "the function changes `{effect}`, which is defined outside it; a subgraph cannot have side effects"
        );
        ctx.report(&TORCH_OPERATOR_ARGUMENTS, function, message)
            .severity(break_severity(ctx))
            .help("return the value")
            .emit();
    }
}

/// Makes the checks that apply to every function that becomes a subgraph.
fn subgraph(ctx: &FunctionContext, function: &Expr, body: &Body, operator: Operator) {
    if let Some(effect) = &body.effect {
        let message = format!(
            "the function changes `{effect}`, which is defined outside it; a subgraph cannot have side effects"
        );
        report(ctx, function.range(), message, "return the value".to_owned());
        return;
    }
    if let Some(changed) = &body.changed {
        let message = format!("the function changes its operand `{changed}` in place");
        report(ctx, function.range(), message, "compute a new Tensor".to_owned());
        return;
    }
    for result in &body.results {
        let wrong = match result {
            Expr::NoneLiteral(_) if operator != Operator::Cond => None,
            Expr::NoneLiteral(_) => Some("`None`"),
            Expr::StringLiteral(_) | Expr::FString(_) => Some("a string"),
            Expr::NumberLiteral(number) if number.value.is_float() => Some("a float"),
            _ => None,
        };
        if let Some(wrong) = wrong {
            let message = format!("the function returns {wrong}, not a Tensor or an integer");
            report(ctx, function.range(), message, "return a Tensor".to_owned());
            return;
        }
        let parts = sequence(result).unwrap_or(std::slice::from_ref(*result));
        let operand = parts.iter().find_map(|part| {
            part.as_name_expr()
                .filter(|name| operator == Operator::Cond && body.parameters.contains(&name.id.as_str()))
        });
        if let Some(operand) = operand.filter(|_| body.bound.is_empty()) {
            let message = format!("the function returns its operand `{}` itself", operand.id);
            report(ctx, function.range(), message, format!("return `{}.clone()`", operand.id));
            return;
        }
    }
}

fn report(ctx: &FunctionContext, range: TextRange, message: String, help: String) {
    ctx.report(&TORCH_OPERATOR_ARGUMENTS, range, message).help(help).emit();
}

/// The structure of a result, as far as the source shows it.
#[derive(PartialEq, Eq)]
enum Structure {
    Single,
    Tuple(usize),
    Dict(usize),
}

/// A function that is passed to an operator.
struct Body<'a> {
    parameters: Vec<&'a str>,
    results: Vec<&'a Expr>,
    /// The names that the function binds. A parameter that is bound again no longer refers to an operand.
    bound: Vec<&'a str>,
    /// The changes that the function makes to objects outside it.
    effect: Option<String>,
    /// The parameter that the function changes in place.
    changed: Option<&'a str>,
    lambda: bool,
}

impl<'a> Body<'a> {
    fn of(ctx: &FunctionContext<'a>, function: &'a Expr) -> Option<Self> {
        match function {
            Expr::Lambda(lambda) => {
                let parameters = lambda.parameters.as_deref().map(names).unwrap_or_default();
                let changed = changed_in_place(&lambda.body, &parameters);
                Some(Self {
                    parameters,
                    results: vec![&lambda.body],
                    bound: Vec::new(),
                    effect: None,
                    changed,
                    lambda: true,
                })
            }
            Expr::Name(name) => {
                let nested = format!("{}.{}", ctx.path.qualname, name.id);
                let outside = || {
                    let shadowed = ctx.flow.scope().is_local(&name.id);
                    (!shadowed).then(|| definition(ctx, &name.id)).flatten()
                };
                definition(ctx, &nested).or_else(outside).map(|function| Self::of_function(function, 0))
            }
            Expr::Attribute(attribute) => {
                let receiver = ctx.def().parameters.args.first()?.name();
                let is_self = attribute.value.as_name_expr().is_some_and(|name| name.id == receiver.id);
                let (class, _) =
                    ctx.path.qualname.rsplit_once('.').filter(|_| is_self && receiver.as_str() == "self")?;
                let function = definition(ctx, &format!("{class}.{}", attribute.attr))?;
                Some(Self::of_function(function, 1))
            }
            _ => None,
        }
    }

    fn of_function(function: &'a FunctionAst, receiver: usize) -> Self {
        let def = function.def();
        let all = names(&def.parameters);
        let parameters: Vec<&str> = all.iter().copied().skip(receiver).collect();
        let (mut results, mut bound, mut effect, mut changed) = (Vec::new(), Vec::new(), None, None);
        let mut outer: Vec<&str> = Vec::new();
        let body = statements::of_function(def);
        for statement in &body {
            match statement {
                Stmt::Return(returned) => results.extend(returned.value.as_deref()),
                Stmt::Nonlocal(names) => outer.extend(names.names.iter().map(ast::Identifier::as_str)),
                Stmt::Global(names) => outer.extend(names.names.iter().map(ast::Identifier::as_str)),
                Stmt::Assign(assign) => {
                    bound.extend(assign.targets.iter().flat_map(bound_names));
                }
                Stmt::AugAssign(assign) => bound.extend(bound_names(&assign.target)),
                Stmt::For(each) => bound.extend(bound_names(&each.target)),
                Stmt::FunctionDef(inner) => bound.push(inner.name.as_str()),
                _ => {}
            }
        }
        effect = effect.or(bound.iter().find(|name| outer.contains(name)).map(|name| (*name).to_owned()));
        for statement in &body {
            match statement {
                Stmt::Expr(expression) => {
                    if let Some(method) =
                        expression.value.as_call_expr().and_then(|it| it.func.as_attribute_expr())
                        && matches!(method.attr.as_str(), "append" | "extend" | "insert" | "add" | "update")
                        && let Some(name) = method.value.as_name_expr()
                        && !bound.contains(&name.id.as_str())
                        && !all.contains(&name.id.as_str())
                    {
                        effect.get_or_insert(name.id.to_string());
                    }
                    changed = changed.or(changed_in_place(&expression.value, &parameters));
                }
                Stmt::Assign(assign) if receiver == 1 => {
                    for attribute in assign.targets.iter().filter_map(Expr::as_attribute_expr) {
                        if attribute.value.as_name_expr().is_some_and(|name| name.id == *all[0]) {
                            effect.get_or_insert(format!("{}.{}", all[0], attribute.attr));
                        }
                    }
                }
                _ => {}
            }
        }
        if changed.is_some_and(|name| bound.contains(&name)) {
            changed = None;
        }
        Self { parameters, results, bound, effect, changed, lambda: false }
    }

    /// Returns the structure of the result, if the source shows it.
    fn structure(&self, ctx: &FunctionContext) -> Option<Structure> {
        let [result] = self.results.as_slice() else { return None };
        match result {
            Expr::Tuple(tuple) => Some(Structure::Tuple(tuple.elts.len())),
            Expr::Dict(dict) => Some(Structure::Dict(dict.items.len())),
            result => self.is_single(ctx, result).then_some(Structure::Single),
        }
    }

    /// Returns whether a result is one Tensor.
    fn is_single(&self, ctx: &FunctionContext, result: &Expr) -> bool {
        match result {
            Expr::BinOp(_) | Expr::Compare(_) => true,
            Expr::UnaryOp(_) | Expr::Call(_) => self.lambda && is_tensor(ctx, result),
            _ => false,
        }
    }
}

fn names(parameters: &ast::Parameters) -> Vec<&str> {
    parameters.iter_non_variadic_params().map(|parameter| parameter.name().as_str()).collect()
}

/// Returns the parameter that an expression changes in place: `v` of `v.add_(1)`.
fn changed_in_place<'a>(expression: &'a Expr, parameters: &[&'a str]) -> Option<&'a str> {
    let method = expression.as_call_expr()?.func.as_attribute_expr()?;
    let receiver = method.value.as_name_expr()?.id.as_str();
    let name = method.attr.as_str();
    let in_place = name.ends_with('_') && !name.ends_with("__") && name != "requires_grad_";
    (in_place && parameters.contains(&receiver)).then_some(receiver)
}
