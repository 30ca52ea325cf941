//! Lambdas and the types of their parameters. A lambda is called by a library (`dataset.map(lambda x: …)`,
//! `jax.vmap(lambda row: …)`), by the function to which it is passed, or by its name.
//!
//! The parameters of a lambda cannot be annotated. So annotated source replaces each use of a parameter by a name
//! that is declared at the end of the file:
//!
//! ```python
//! ds.map(lambda x: x + 1 if x > 0 else x)                 # the user's text
//! ds.map(lambda x: ag_v0 + 1 if ag_v0 > 0 else ag_v0)     # annotated source
//! ag_v0: "ag_m0.Tensor"
//! ```
//!
//! The decisions in a lambda belong to the enclosing function. The functions that a lambda calls are staged in the same
//! way as the library stages the lambda.

use ruff_index::IndexVec;
use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::{Ranged, TextRange};

use crate::assumed::AssumedType;
use crate::callbacks::{self, HigherOrderFunction, Tracing};
use crate::dialect::{Dialect, RootKind};
use crate::ids::{Code, ParameterIndex};
use crate::roots;
use ag_syntax::expressions::ExprId;
use ag_syntax::imports::Imports;

/// A lambda, with the places in its body where its parameters are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LambdaSyntax {
    /// The enclosing function, or the module's own code.
    pub scope: Code,
    pub id: ExprId,
    /// The uses of its parameters: (parameter, range of the name).
    pub uses: Vec<(ParameterIndex, TextRange)>,
    /// Whether a library stages the functions that the lambda calls.
    pub stages: bool,
}

/// The types of the arguments that a lambda is called with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LambdaTypes {
    pub id: ExprId,
    pub parameters: IndexVec<ParameterIndex, AssumedType>,
}

/// How a library stages a lambda.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LambdaStage {
    pub dialect: Dialect,
    pub kind: RootKind,
    pub converts: bool,
    /// `torch.vmap(lambda x: …, randomness="different")`: whether the functions that it calls may generate random numbers.
    pub randomness: bool,
}

/// The caller of the lambdas among the arguments of a call.
pub enum CalledBy<'a> {
    /// `lax.scan(lambda carry, x: …, init, xs)`
    Function(&'static HigherOrderFunction),
    /// `dataset.map(lambda x: …)`, if the receiver is a Dataset.
    Dataset(&'a Expr),
    /// `jax.vmap(lambda x: …)`: the lambda is called with Tensors.
    Wrapper(Dialect),
}

/// The lambdas among the arguments of a call, if a library calls them.
pub struct Called<'a> {
    pub lambdas: Vec<&'a ast::ExprLambda>,
    pub by: CalledBy<'a>,
    /// How the library stages the lambdas; `None` for `jax.grad(lambda x: …)`, which does not stage.
    pub stage: Option<LambdaStage>,
}

impl<'a> Called<'a> {
    pub fn of(imports: &Imports, call: &'a ast::ExprCall) -> Option<Self> {
        if !call.arguments.iter_source_order().any(|argument| holds_lambda(argument.value())) {
            return None;
        }
        if let Some(name) = imports.resolve(&call.func) {
            if let Some(caller) = callbacks::higher_order_function(&name) {
                let lambdas =
                    caller.functions_of(call).into_iter().filter_map(Expr::as_lambda_expr).collect();
                let (dialect, kind, converts) = (caller.dialect, caller.kind, caller.converts);
                let is_traced = caller.tracing == Tracing::Always;
                let stage = is_traced.then_some(LambdaStage { dialect, kind, converts, randomness: false });
                return Some(Self { lambdas, by: CalledBy::Function(caller), stage });
            }
            let (dialect, kind) = roots::wrapper(&name)?;
            let lambda = transformed(imports, call)?;
            let (converts, randomness) = (dialect.converts(), roots::allows_randomness(&call.arguments));
            let stage = kind.map(|kind| LambdaStage { dialect, kind, converts, randomness });
            return Some(Self { lambdas: vec![lambda], by: CalledBy::Wrapper(dialect), stage });
        }
        let method = callbacks::dataset_method(call).filter(|_| imports.uses("tensorflow"))?;
        let (dialect, kind) = (Dialect::Tensorflow, RootKind::DatasetCallback);
        Some(Self {
            lambdas: vec![method.function.as_lambda_expr()?],
            by: CalledBy::Dataset(method.receiver),
            stage: Some(LambdaStage { dialect, kind, converts: true, randomness: false }),
        })
    }
}

/// Returns the lambda that a wrapper receives, directly or in other wrappers, if all its parameters are traced:
/// `jax.jit(jax.grad(lambda w: …))`.
fn transformed<'a>(imports: &Imports, call: &'a ast::ExprCall) -> Option<&'a ast::ExprLambda> {
    roots::wrapper(&imports.resolve(&call.func)?)?;
    let is_static = |keyword: &ast::Keyword| {
        keyword.arg.as_ref().is_some_and(|name| name.starts_with("static_") || name.as_str() == "in_axes")
    };
    if call.arguments.keywords.iter().any(is_static) {
        return None;
    }
    match &*call.arguments.args {
        [Expr::Lambda(lambda)] => Some(lambda),
        [Expr::Call(inner)] => transformed(imports, inner),
        _ => None,
    }
}

fn holds_lambda(argument: &Expr) -> bool {
    match argument {
        Expr::Lambda(_) => true,
        Expr::Call(call) => call.arguments.args.first().is_some_and(holds_lambda),
        Expr::List(list) => list.elts.iter().any(Expr::is_lambda_expr),
        Expr::Tuple(tuple) => tuple.elts.iter().any(Expr::is_lambda_expr),
        Expr::Dict(dict) => dict.items.iter().any(|item| item.value.is_lambda_expr()),
        _ => false,
    }
}

/// Returns the parameters that can receive positional arguments.
pub fn parameters(lambda: &ast::ExprLambda) -> impl Iterator<Item = &Name> {
    let parameters = lambda.parameters.iter().flat_map(|list| list.posonlyargs.iter().chain(&list.args));
    parameters
        .take_while(|parameter| parameter.default.is_none())
        .map(|parameter| &parameter.parameter.name.id)
}

/// Returns where the body of a lambda uses its parameters: (parameter, range of the name).
pub fn uses(lambda: &ast::ExprLambda) -> Vec<(ParameterIndex, TextRange)> {
    let mut uses = Uses { names: parameters(lambda).collect(), found: Vec::new() };
    uses.visit_expr(&lambda.body);
    uses.found
}

struct Uses<'a> {
    names: Vec<&'a Name>,
    found: Vec<(ParameterIndex, TextRange)>,
}

impl Uses<'_> {
    fn rebinds(&self, name: &Name) -> bool {
        self.names.contains(&name)
    }
}

impl<'a> SourceOrderVisitor<'a> for Uses<'_> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        // Inner scopes that rebind a parameter's name are skipped.
        let generators = match expression {
            Expr::Name(name) => {
                if name.ctx.is_load()
                    && let Some(position) = self.names.iter().position(|known| **known == name.id)
                {
                    self.found.push((position.into(), name.range()));
                }
                return;
            }
            Expr::Lambda(inner) => {
                let mut bound = inner.parameters.iter().flat_map(|parameters| parameters.iter());
                if bound.any(|parameter| self.rebinds(&parameter.name().id)) {
                    return;
                }
                &[][..]
            }
            Expr::ListComp(node) => &node.generators[..],
            Expr::SetComp(node) => &node.generators[..],
            Expr::DictComp(node) => &node.generators[..],
            Expr::Generator(node) => &node.generators[..],
            _ => &[][..],
        };
        let mut targets = Targets(Vec::new());
        generators.iter().for_each(|generator| targets.visit_expr(&generator.target));
        if !targets.0.iter().any(|name| self.rebinds(name)) {
            source_order::walk_expr(self, expression);
        }
    }
}

struct Targets<'a>(Vec<&'a Name>);

impl<'a> SourceOrderVisitor<'a> for Targets<'a> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Name(name) = expression {
            self.0.push(&name.id);
        }
        source_order::walk_expr(self, expression);
    }
}
