//! Functions that `torch.func.grad` cannot differentiate, because their result is not a scalar Tensor.

use ruff_python_ast::{self as ast, Expr, Operator, Stmt};
use ruff_text_size::Ranged;

use super::super::FileContext;
use super::super::declare::declare_rule;
use crate::program::{Bound, Program, ScopeId};
use ag_index::callbacks::argument;
use ag_index::index::FileIndex;
use ag_syntax::{expressions, statements};

declare_rule! {
    /// ## What it does
    /// Reports functions that `torch.func.grad` and `torch.func.grad_and_value` cannot differentiate: the result is a
    /// tuple without `has_aux=True`, or a Tensor with dimensions. Also integers as the differentiated argument,
    /// `backward()` in such a function, and a `torch.autograd.Function` without `setup_context` in a function that
    /// `torch.func` transforms, or without a rule for batches in one that `vmap` maps.
    ///
    /// ## Why is this bad?
    /// A gradient exists only for a scalar result. torch raises at the call.
    ///
    /// ## Example
    /// ```python
    /// import torch
    /// from torch.func import grad
    ///
    /// def loss(w, x):
    ///     predicted = x @ w
    ///     return (predicted ** 2).mean(), predicted
    ///
    /// grad(loss)(torch.ones(3), torch.ones(2, 3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    /// from torch.func import grad
    ///
    /// def loss(w, x):
    ///     predicted = x @ w
    ///     return (predicted ** 2).mean(), predicted
    ///
    /// grad(loss, has_aux=True)(torch.ones(3), torch.ones(2, 3))
    /// ```
    /// For the derivative of every element of the result, use `torch.func.jacrev`.
    ///
    /// ## What torch reports
    /// `RuntimeError: grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got <class 'tuple'>`
    pub(crate) static TORCH_GRADIENT = {
        code: "AG603", name: "torch-gradient",
        summary: "a function cannot be differentiated",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: File(is_of_interest, check),
    }
}

/// The maximum number of names and calls that are followed.
const DEEPEST: usize = 12;

fn is_of_interest(index: &FileIndex) -> bool {
    (index.imports.uses("torch") || index.imports.uses("functorch"))
        && ["grad", "grad_and_value"].iter().any(|name| index.calls.contains_key(*name))
}

fn check(ctx: &FileContext) {
    let program = ctx.program();
    let checker = Checker { ctx, program };
    for site in &program.calls {
        let made = site.node;
        let Some(name) = checker.gradient(made) else { continue };
        let Some((function, function_scope)) =
            made.arguments.args.first().and_then(|it| checker.function(site.scope, it, DEEPEST))
        else {
            continue;
        };
        let applied = program.calls.iter().find(|other| {
            matches!(program.value(other.scope, &other.node.func), (Bound::Value(value), _) if value.range() == made.range())
        });
        let at = applied.map_or(made, |applied| applied.node);
        let fault = checker.structure(made, function, function_scope).or_else(|| {
            let (call, scope) = (applied?.node, applied?.scope);
            let rank = checker.rank(call.arguments.args.first()?, scope, None, DEEPEST)?;
            let is_first = made.arguments.args.len() == 1 && made.arguments.keywords.is_empty();
            let result = is_first.then(|| checker.result_rank(function, function_scope, rank)).flatten()?;
            let help = "return a scalar, such as `….sum()`, or use `torch.func.jacrev` or `vmap(grad(f))`";
            (result > 0).then(|| (format!("a Tensor with {}", dimensions(result)), help))
        });
        if let Some((what, help)) = fault {
            let message =
                format!("`torch.func.{name}` needs a scalar Tensor, but the function returns {what}");
            ctx.report(&TORCH_GRADIENT, at, message)
                .label(ctx.span(function.range()), "this function")
                .help(help)
                .emit();
        }
    }
}

fn dimensions(count: usize) -> String {
    if count == 1 { "1 dimension".to_owned() } else { format!("{count} dimensions") }
}

/// A function that is differentiated.
#[derive(Clone, Copy)]
enum Function<'a> {
    Def { def: &'a ast::StmtFunctionDef, is_method: bool },
    Lambda(&'a ast::ExprLambda),
}

impl<'a> Function<'a> {
    fn range(self) -> ruff_text_size::TextRange {
        match self {
            Self::Def { def, .. } => def.name.range(),
            Self::Lambda(lambda) => lambda.range(),
        }
    }

    /// Returns the first parameter, not counting the receiver of a method.
    fn first(self) -> Option<&'a str> {
        let (parameters, skipped) = match self {
            Self::Def { def, is_method } => (&*def.parameters, usize::from(is_method)),
            Self::Lambda(lambda) => (lambda.parameters.as_deref()?, 0),
        };
        let mut positional = parameters.posonlyargs.iter().chain(&parameters.args);
        positional.nth(skipped).map(|parameter| parameter.parameter.name.as_str())
    }

    /// Returns the expressions that the function returns; `None` if a `return` has no value, or if the function is a
    /// generator or coroutine.
    fn returned(self) -> Option<Vec<&'a Expr>> {
        match self {
            Self::Lambda(lambda) => Some(vec![&*lambda.body]),
            Self::Def { def, .. } => {
                let yields = expressions::of_function(def)
                    .into_iter()
                    .any(|it| matches!(it, Expr::Yield(_) | Expr::YieldFrom(_)));
                let returns = statements::of_function(def).into_iter().filter_map(Stmt::as_return_stmt);
                let values: Option<Vec<&Expr>> = returns.map(|node| node.value.as_deref()).collect();
                values.filter(|values| !values.is_empty() && !yields && !def.is_async)
            }
        }
    }
}

struct Checker<'c, 'a> {
    ctx: &'c FileContext<'a>,
    program: &'c Program<'a>,
}

impl<'a> Checker<'_, 'a> {
    /// Returns `grad` or `grad_and_value`, if a call is a call of one of them.
    fn gradient(&self, call: &ast::ExprCall) -> Option<&'static str> {
        let name = self.ctx.resolve(&call.func)?;
        let (module, function) = name.rsplit_once('.')?;
        if !matches!(module, "torch.func" | "functorch") {
            return None;
        }
        ["grad", "grad_and_value"].into_iter().find(|known| *known == function)
    }

    /// Returns the function to which an expression refers, and the scope of its body.
    fn function(&self, scope: ScopeId, value: &'a Expr, depth: usize) -> Option<(Function<'a>, ScopeId)> {
        let depth = depth.checked_sub(1)?;
        let function = match self.program.value(scope, value) {
            (Bound::Function(def), _) if def.decorator_list.is_empty() => {
                Function::Def { def, is_method: false }
            }
            (Bound::Value(Expr::Lambda(lambda)), _) => Function::Lambda(lambda),
            (Bound::Value(Expr::Attribute(attribute)), owner) => {
                let def = self.program.method(owner, attribute)?;
                (def.decorator_list.is_empty()).then_some(Function::Def { def, is_method: true })?
            }
            (Bound::Value(Expr::Call(call)), owner)
                if self.ctx.resolve(&call.func).is_some_and(|name| name == "functools.partial")
                    && call.arguments.args.len() == 1 =>
            {
                return self.function(owner, call.arguments.args.first()?, depth);
            }
            _ => return None,
        };
        let scope = match function {
            Function::Def { def, .. } => self.program.scope_of(def.range())?,
            Function::Lambda(lambda) => self.program.scope_of(lambda.range())?,
        };
        Some((function, scope))
    }

    /// Returns a description of the result if it is not a scalar or, with `has_aux=True`, not a pair; also returns the
    /// help.
    fn structure(
        &self,
        made: &ast::ExprCall,
        function: Function<'a>,
        scope: ScopeId,
    ) -> Option<(String, &'static str)> {
        if made.arguments.keywords.iter().any(|keyword| keyword.arg.is_none()) {
            return None;
        }
        let has_aux = match argument(made, 2, "has_aux") {
            None => false,
            Some(Expr::BooleanLiteral(literal)) => literal.value,
            Some(_) => return None,
        };
        let sizes: Option<Vec<usize>> =
            function.returned()?.into_iter().map(|value| self.size(value, scope, DEEPEST)).collect();
        let sizes = sizes?;
        let size = sizes.iter().copied().find(|size| *size != 2).or(sizes.first().copied())?;
        match has_aux {
            false => Some((
                format!("a tuple of {size}"),
                "pass `has_aux=True` if the function returns a pair of a scalar and other values",
            )),
            true if sizes.iter().all(|size| *size != 2) => Some((
                format!("a tuple of {size}, not the pair that `has_aux=True` needs"),
                "return the value and the auxiliary output: `return loss, aux`",
            )),
            true => None,
        }
    }

    /// Returns the number of elements, if a value is certainly a tuple.
    fn size(&self, value: &'a Expr, scope: ScopeId, depth: usize) -> Option<usize> {
        let depth = depth.checked_sub(1)?;
        match self.program.value(scope, value) {
            (Bound::Value(Expr::Tuple(tuple)), _) if !tuple.iter().any(Expr::is_starred_expr) => {
                Some(tuple.elts.len())
            }
            (Bound::Value(Expr::Call(call)), owner) => {
                let (function, scope) = self.function(owner, &call.func, depth)?;
                let sizes: Option<Vec<usize>> =
                    function.returned()?.into_iter().map(|value| self.size(value, scope, depth)).collect();
                sizes?.into_iter().reduce(|one, other| if one == other { one } else { 0 })
            }
            _ => None,
        }
    }

    /// Returns the number of dimensions of the result, given that the first argument has `rank` dimensions.
    fn result_rank(&self, function: Function<'a>, scope: ScopeId, rank: usize) -> Option<usize> {
        let [returned] = *function.returned()? else { return None };
        let first = function.first()?;
        let is_rebound = self.program.bindings(scope, first).len() != 1;
        (!is_rebound).then(|| self.rank(returned, scope, Some((scope, first, rank)), DEEPEST)).flatten()
    }

    /// Returns the number of dimensions of a Tensor or number. `given` is the parameter whose number of dimensions is
    /// known.
    fn rank(
        &self,
        value: &'a Expr,
        scope: ScopeId,
        given: Option<(ScopeId, &str, usize)>,
        depth: usize,
    ) -> Option<usize> {
        let depth = depth.checked_sub(1)?;
        let of = |value: &'a Expr| self.rank(value, scope, given, depth);
        match value {
            Expr::NumberLiteral(_) => Some(0),
            Expr::Name(name) => {
                let owner = self.program.owner(scope, &name.id)?;
                if let Some((scope, parameter, rank)) = given
                    && owner == scope
                    && parameter == name.id.as_str()
                {
                    return Some(rank);
                }
                match self.program.lookup(scope, &name.id, name.range().start())? {
                    (Bound::Value(value), owner) => self.rank(value, owner, given, depth),
                    _ => None,
                }
            }
            Expr::UnaryOp(operation) => of(&operation.operand),
            Expr::BinOp(operation) if operation.op != Operator::MatMult => {
                Some(of(&operation.left)?.max(of(&operation.right)?))
            }
            Expr::Call(call) => self.rank_of_call(call, scope, given, depth),
            _ => None,
        }
    }

    fn rank_of_call(
        &self,
        call: &'a ast::ExprCall,
        scope: ScopeId,
        given: Option<(ScopeId, &str, usize)>,
        depth: usize,
    ) -> Option<usize> {
        let arguments = &*call.arguments.args;
        if let Some(name) = self.ctx.resolve(&call.func) {
            let function = name.strip_prefix("torch.")?;
            return match (function, arguments) {
                ("tensor", [value]) => nesting(value),
                ("arange" | "linspace" | "logspace" | "randperm", _) => Some(1),
                ("ones" | "zeros" | "rand" | "randn" | "empty", [Expr::Tuple(sizes)]) => {
                    Some(sizes.elts.len())
                }
                ("ones" | "zeros" | "rand" | "randn" | "empty", sizes) => {
                    let is_size = |size: &Expr| expressions::natural(size).is_some();
                    sizes.iter().all(is_size).then_some(sizes.len())
                }
                ("full", [Expr::Tuple(sizes), _]) => Some(sizes.elts.len()),
                (function, [value]) if call.arguments.keywords.is_empty() => {
                    let function = function.strip_prefix("nn.functional.").unwrap_or(function);
                    keeps(function, self.rank(value, scope, given, depth)?)
                }
                _ => None,
            };
        }
        let method = call.func.as_attribute_expr().filter(|_| call.arguments.is_empty())?;
        keeps(&method.attr, self.rank(&method.value, scope, given, depth)?)
    }
}

/// Returns the number of dimensions that an operation's result has if its only argument is a Tensor with `rank`
/// dimensions.
fn keeps(function: &str, rank: usize) -> Option<usize> {
    const ELEMENTWISE: [&str; 22] = [
        "abs", "atan", "clone", "cos", "cosh", "erf", "exp", "expm1", "gelu", "log", "log1p", "neg", "relu",
        "selu", "sigmoid", "silu", "sin", "sinh", "softplus", "sqrt", "square", "tanh",
    ];
    match function {
        "sum" | "mean" | "prod" | "norm" | "max" | "min" | "std" | "var" | "logsumexp" => Some(0),
        function => ELEMENTWISE.contains(&function).then_some(rank),
    }
}

/// Returns the nesting depth of a list of numbers: `[[1.0, 2.0]]`.
fn nesting(value: &Expr) -> Option<usize> {
    match value {
        Expr::List(list) => Some(1 + list.elts.first().map_or(Some(0), nesting)?),
        Expr::NumberLiteral(_) => Some(0),
        Expr::UnaryOp(operation) => nesting(&operation.operand),
        _ => None,
    }
}
