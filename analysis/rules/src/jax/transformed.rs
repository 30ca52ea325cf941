//! The calls of JAX's transformations, and the calls of the functions that they return: `jax.vmap(f, in_axes=0)(x)`.

use ruff_python_ast::{self as ast, Expr};

use super::super::FileContext;
use crate::program::{Bound, Program, ScopeId};

/// The transformations that are checked.
const TRANSFORMATIONS: [&str; 16] = [
    "checkpoint",
    "eval_shape",
    "grad",
    "hessian",
    "jacfwd",
    "jacrev",
    "jit",
    "jvp",
    "linearize",
    "make_jaxpr",
    "pmap",
    "remat",
    "value_and_grad",
    "vjp",
    "vmap",
    "linear_transpose",
];

/// A transformation such as `jax.vmap(f, in_axes=0)`, and the call of its result.
pub(super) struct Transformed<'a> {
    /// The name of the transformation without `jax.`
    pub name: String,
    pub made: &'a ast::ExprCall,
    pub scope: ScopeId,
    /// The call of the result, and the scope of this call.
    pub applied: Option<(&'a ast::ExprCall, ScopeId)>,
}

impl<'a> Transformed<'a> {
    pub(super) fn function(&self) -> Option<&'a Expr> {
        self.made.arguments.args.first()
    }

    pub(super) fn keyword(&self, name: &str) -> Option<&'a Expr> {
        self.made.arguments.find_keyword(name).map(|keyword| &keyword.value)
    }

    /// Returns whether a keyword is passed with a value other than `False` and `None`.
    pub(super) fn sets(&self, name: &str) -> bool {
        self.keyword(name).is_some_and(|value| !is_false(value))
            || self.made.arguments.keywords.iter().any(|keyword| keyword.arg.is_none())
    }

    /// Returns the positional arguments of the call; `None` if a starred argument hides some of them.
    pub(super) fn arguments(&self) -> Option<&'a [Expr]> {
        let (call, _) = self.applied?;
        let arguments = &call.arguments.args;
        (!arguments.iter().any(Expr::is_starred_expr)).then_some(arguments)
    }
}

pub(super) fn is_false(value: &Expr) -> bool {
    value.is_none_literal_expr() || value.as_boolean_literal_expr().is_some_and(|literal| !literal.value)
}

/// Returns the calls of transformations in a file, each with every call of its result.
pub(super) fn all<'a>(ctx: &FileContext<'a>, program: &Program<'a>) -> Vec<Transformed<'a>> {
    let mut found = Vec::new();
    for site in &program.calls {
        let call = site.node;
        if let Some(name) = name(ctx, call) {
            found.push(Transformed { name, made: call, scope: site.scope, applied: None });
            continue;
        }
        let (Bound::Value(Expr::Call(made)), scope) = program.value(site.scope, &call.func) else {
            continue;
        };
        if let Some((name, made, scope)) = innermost(ctx, program, made, scope) {
            found.push(Transformed { name, made, scope, applied: Some((call, site.scope)) });
        }
    }
    found
}

/// Returns the transformation inside `jax.jit(…)`, if there is a `jax.jit` around it.
fn innermost<'a>(
    ctx: &FileContext<'a>,
    program: &Program<'a>,
    made: &'a ast::ExprCall,
    scope: ScopeId,
) -> Option<(String, &'a ast::ExprCall, ScopeId)> {
    let name = name(ctx, made)?;
    if name == "jit"
        && let [inner] = &*made.arguments.args
        && made.arguments.keywords.is_empty()
        && let (Bound::Value(Expr::Call(inner)), scope) = program.value(scope, inner)
        && let Some(name) = self::name(ctx, inner)
    {
        return Some((name, inner, scope));
    }
    Some((name, made, scope))
}

/// Returns the name of the called transformation, without `jax.`.
pub(super) fn name(ctx: &FileContext, call: &ast::ExprCall) -> Option<String> {
    let name = ctx.resolve(&call.func)?;
    let name = name.strip_prefix("jax.")?;
    TRANSFORMATIONS.contains(&name).then(|| name.to_owned())
}
