//! The arguments that a root declares static, as written: `static_argnums=0`, `static_argnames=("mode",)`.

use ag_syntax::expressions;
use ruff_python_ast::name::Name;
use ruff_python_ast::{Expr, Operator};

use crate::assumptions::StaticParameters;
use crate::ids::ParameterIndex;
use crate::index::Signature;

/// An argument that a root declares static.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StaticArgument {
    Position(ParameterIndex),
    Name(Name),
}

impl StaticArgument {
    pub(crate) fn at(position: u32) -> Self {
        Self::Position(position.into())
    }

    /// Returns the argument that a literal names, `0` or `"mode"`; `None` for any other expression.
    pub fn of(literal: &Expr) -> Option<Self> {
        match literal {
            Expr::StringLiteral(literal) => Some(Self::Name(Name::new(literal.value.to_str()))),
            Expr::NumberLiteral(literal) => {
                let position = literal.value.as_int()?.as_u16()?;
                Some(Self::Position(u32::from(position).into()))
            }
            _ => None,
        }
    }

    /// Returns whether this names the given parameter. A keyword-only parameter has no position.
    pub fn is_for(&self, position: Option<ParameterIndex>, parameter: &str) -> bool {
        match self {
            Self::Position(listed) => Some(*listed) == position,
            Self::Name(name) => name == parameter,
        }
    }
}

/// The static arguments of a root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StaticArguments {
    pub listed: Vec<StaticArgument>,
    /// If given, all arguments that are not listed here are static: the `argnums` of `jax.grad`.
    pub differentiated: Option<Vec<StaticArgument>>,
    /// An expression that declares more static arguments, but does not consist of literals.
    pub more: Option<MoreStatic>,
}

/// An expression that may declare more static arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoreStatic {
    Variable(Name),
    Other,
}

impl StaticArguments {
    /// Adds the value of `static_argnums` or `static_argnames`.
    pub(crate) fn add(&mut self, value: &Expr) {
        match literals(value) {
            Some(listed) => self.listed.extend(listed),
            None => {
                let name = value.as_name_expr().map(|name| name.id.clone());
                self.more = Some(name.map_or(MoreStatic::Other, MoreStatic::Variable));
            }
        }
    }

    /// Adds the arguments that `vmap` does not map: argument 1 for `in_axes=(0, None)`.
    pub(crate) fn add_unmapped(&mut self, in_axes: &Expr) {
        match in_axes {
            Expr::NumberLiteral(_) | Expr::NoneLiteral(_) | Expr::UnaryOp(_) | Expr::Dict(_) => return,
            _ => {}
        }
        let Some(elements) = sequence(in_axes) else {
            self.more = Some(MoreStatic::Other);
            return;
        };
        // A name may stand for None: `na = jnp.newaxis`.
        if elements.iter().any(|element| matches!(element, Expr::Name(_) | Expr::Attribute(_))) {
            self.more = Some(MoreStatic::Other);
        }
        let unmapped = elements.iter().enumerate().filter(|(_, element)| element.is_none_literal_expr());
        self.listed.extend(unmapped.map(|(position, _)| StaticArgument::Position(position.into())));
    }

    /// Sets the `argnums` of `jax.grad`; argument 0 if they are not given.
    pub(crate) fn differentiate(&mut self, argnums: Option<&Expr>) {
        let listed = match argnums {
            Some(argnums) => literals(argnums),
            None => Some(vec![StaticArgument::at(0)]),
        };
        match listed {
            Some(listed) => self.differentiated = Some(listed),
            None => self.more = Some(MoreStatic::Other),
        }
    }

    /// Replaces a variable by the value that the module assigns to it: `STATIC = ("mode",)`.
    pub(crate) fn resolve<'a>(&mut self, assigned: impl Fn(&Name) -> Option<&'a Expr>) {
        if let Some(MoreStatic::Variable(name)) = &self.more
            && let Some(listed) = assigned(name).and_then(literals)
        {
            self.listed.extend(listed);
            self.more = None;
        }
    }

    /// Converts positions of arguments of `partial(f, a, b)` to positions of arguments of `f`. `partial` passes the
    /// first `given` arguments.
    pub(crate) fn skip_given_arguments(&mut self, given: usize) {
        for argument in &mut self.listed {
            if let StaticArgument::Position(position) = argument {
                *position = *position + given;
            }
        }
    }

    /// Returns the static parameters of a function. Its first `bound` parameters are already bound: `self` in `self.f`.
    pub fn parameters(&self, signature: &Signature, bound: usize) -> StaticParameters {
        let is_static = |position: ParameterIndex, name: &Name| {
            let position = position.index().checked_sub(bound).map(ParameterIndex::from);
            let is_in = |arguments: &[StaticArgument]| arguments.iter().any(|it| it.is_for(position, name));
            is_in(&self.listed) || self.differentiated.as_deref().is_some_and(|traced| !is_in(traced))
        };
        let parameters = signature.parameters.iter_enumerated();
        let known = parameters.filter(|(position, parameter)| is_static(*position, &parameter.name));
        StaticParameters { known: known.map(|(position, _)| position).collect(), more: self.more.is_some() }
    }
}

/// Returns the names and positions in a constant; `None` if it does not consist of literals.
fn literals(value: &Expr) -> Option<Vec<StaticArgument>> {
    match value {
        Expr::BinOp(_) | Expr::Set(_) | Expr::Call(_) => {
            sequence(value)?.into_iter().map(StaticArgument::of).collect()
        }
        _ => expressions::elements(value).iter().map(StaticArgument::of).collect(),
    }
}

/// Returns the elements of a sequence that is computed from literals: `(0,) * 3 + (None,) * 11`. Returns `None` for
/// other computations, such as `tuple(range(1, 4))`.
fn sequence(value: &Expr) -> Option<Vec<&Expr>> {
    const LONGEST: usize = 256;
    let elements = match value {
        Expr::Tuple(tuple) => tuple.elts.iter().collect(),
        Expr::List(list) => list.elts.iter().collect(),
        Expr::Set(set) => set.elts.iter().collect(),
        Expr::Call(call) => {
            let [only] = &*call.arguments.args else { return None };
            let name = call.func.as_name_expr().filter(|_| call.arguments.keywords.is_empty())?;
            return matches!(name.id.as_str(), "tuple" | "list" | "set" | "frozenset")
                .then(|| sequence(only))
                .flatten();
        }
        Expr::BinOp(operation) => match operation.op {
            Operator::Add => {
                let mut joined = sequence(&operation.left)?;
                joined.extend(sequence(&operation.right)?);
                joined
            }
            Operator::Mult => {
                let (repeated, times) = match sequence(&operation.left) {
                    Some(repeated) => (repeated, &operation.right),
                    None => (sequence(&operation.right)?, &operation.left),
                };
                let times = usize::from(times.as_number_literal_expr()?.value.as_int()?.as_u16()?);
                if repeated.len() * times > LONGEST {
                    return None;
                }
                repeated.repeat(times)
            }
            _ => return None,
        },
        _ => return None,
    };
    (!elements.iter().any(|element| element.is_starred_expr())).then_some(elements)
}
