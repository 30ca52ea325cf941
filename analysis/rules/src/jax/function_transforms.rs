//! The values of transformed functions: `jax.vmap(f, in_axes=(None, 0))`, `jax.grad(f)`, `jax.jit(f)`.

use std::sync::Arc;

use ag_index::callbacks::argument;
use ag_syntax::expressions::{integer, natural};
use ruff_python_ast::{self as ast, Expr};

use super::abstract_value::{FunctionValue, Leaf, Value};
use super::frame::{Environment, Frame};
use super::indexing::position;
use super::transformed::is_false;

/// A transformation of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Transform {
    /// `jax.jit(f)`
    Same,
    /// `jax.vmap(f, in_axes)`
    Vmap(Axes),
    /// `jax.grad(f, argnums)`
    Grad { position: usize, has_aux: bool, with_value: bool },
}

/// The axes over which `vmap` maps the arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Axes {
    Same(Option<i64>),
    /// One axis for each argument. `Err` if it is unknown.
    Each(Vec<Result<Option<i64>, Unknown>>),
    Unknown,
}

/// An axis that the source does not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unknown;

impl Axes {
    /// Returns the axes of a call of `jax.vmap`.
    pub(super) fn of_call(call: &ast::ExprCall) -> Self {
        let axis = |expression: &Expr| match expression {
            Expr::NoneLiteral(_) => Ok(None),
            other => integer(other).map(Some).ok_or(Unknown),
        };
        match argument(call, 1, "in_axes") {
            _ if call.arguments.keywords.iter().any(|keyword| keyword.arg.is_none()) => Self::Unknown,
            None => Self::Same(Some(0)),
            Some(Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. })) => {
                Self::Each(elts.iter().map(axis).collect())
            }
            Some(other) => axis(other).map_or(Self::Unknown, Self::Same),
        }
    }

    /// Returns the axis over which an argument is mapped.
    pub(super) fn axis(&self, argument: usize) -> Result<Option<i64>, Unknown> {
        match self {
            Self::Same(axis) => Ok(*axis),
            Self::Each(axes) => axes.get(argument).copied().unwrap_or(Err(Unknown)),
            Self::Unknown => Err(Unknown),
        }
    }

    /// Returns what the function receives for an argument.
    pub(super) fn mapped(&self, argument: usize, value: &Value) -> Value {
        match self.axis(argument) {
            Err(Unknown) => Value::Unknown,
            Ok(None) => value.clone(),
            Ok(Some(axis)) => value.map(&|leaf| {
                let shape = leaf.shape.as_ref().and_then(|shape| {
                    let mut shape = shape.clone();
                    shape.remove(position(axis, shape.len())?);
                    Some(shape)
                });
                Leaf { dtype: leaf.dtype.map(|(dtype, _)| (dtype, false)), shape, ..Leaf::default() }
            }),
        }
    }

    /// Returns the number of calls: the size of the mapped axis.
    fn size(&self, arguments: &[Value]) -> Option<u64> {
        arguments.iter().enumerate().find_map(|(argument, value)| {
            let axis = self.axis(argument).ok()??;
            let mut leaves = Vec::new();
            value.leaves(&mut leaves);
            let shape = leaves.first()?.shape.as_ref()?;
            shape.get(position(axis, shape.len())?).copied()
        })
    }
}

impl Transform {
    /// Returns the transformation if `name` is the function that a call calls.
    pub(super) fn of_call(name: &str, call: &ast::ExprCall) -> Option<Self> {
        let arguments = &call.arguments;
        let only = |known: &[&str]| {
            let is_known = |keyword: &ast::Keyword| {
                keyword.arg.as_ref().is_some_and(|name| known.contains(&name.as_str()))
            };
            arguments.keywords.iter().all(is_known) && !arguments.args.iter().any(Expr::is_starred_expr)
        };
        match name {
            "jax.jit" | "jax.checkpoint" | "jax.remat" => Some(Self::Same),
            "jax.vmap" if only(&["in_axes"]) && arguments.args.len() <= 2 => {
                Some(Self::Vmap(Axes::of_call(call)))
            }
            "jax.grad" | "jax.value_and_grad"
                if only(&["argnums", "has_aux"]) && arguments.args.len() <= 2 =>
            {
                let position = match argument(call, 1, "argnums") {
                    None => 0,
                    Some(argnums) => usize::try_from(natural(argnums)?).ok()?,
                };
                let has_aux = match argument(call, 2, "has_aux") {
                    None => false,
                    Some(value) if is_false(value) => false,
                    Some(Expr::BooleanLiteral(_)) => true,
                    Some(_) => return None,
                };
                Some(Self::Grad { position, has_aux, with_value: name == "jax.value_and_grad" })
            }
            _ => None,
        }
    }

    /// Returns the result of a call of the transformed function. `inner` calls the function itself.
    pub(super) fn call(&self, arguments: Vec<Value>, inner: &dyn Fn(Vec<Value>) -> Value) -> Value {
        match self {
            Self::Same => inner(arguments),
            Self::Vmap(axes) => {
                let size = axes.size(&arguments);
                let mapped = arguments.iter().enumerate();
                let mapped = mapped.map(|(position, value)| axes.mapped(position, value)).collect();
                inner(mapped).map(&|leaf| {
                    let shape = size.zip(leaf.shape.as_ref());
                    let shape = shape.map(|(size, shape)| std::iter::once(size).chain(shape.iter().copied()));
                    Leaf { shape: shape.map(Iterator::collect), integer: None, extent: None, ..leaf.clone() }
                })
            }
            Self::Grad { position, has_aux, with_value } => {
                let gradient = arguments.get(*position).map_or(Value::Unknown, Value::without_integers);
                let result = if *has_aux || *with_value { inner(arguments) } else { Value::Unknown };
                let aux = || match result.elements().as_deref() {
                    Some([_, aux]) => (*aux).clone(),
                    _ => Value::Unknown,
                };
                match (with_value, has_aux) {
                    (true, _) => Value::Tuple(vec![result, gradient]),
                    (false, true) => Value::Tuple(vec![gradient, aux()]),
                    (false, false) => gradient,
                }
            }
        }
    }
}

impl<'a> Frame<'_, '_, 'a> {
    /// Returns the function that `jax.vmap(f)` or another transformation makes.
    pub(super) fn transformed(
        &self,
        transform: Transform,
        call: &'a ast::ExprCall,
        environment: &Environment<'a>,
    ) -> Value {
        let Some(first) = call.arguments.args.first() else { return Value::Unknown };
        match self.value(first, environment) {
            Value::Function(function) => {
                let mut transforms = function.transforms.clone();
                transforms.push(transform);
                Value::Function(Arc::new(FunctionValue { transforms, ..(*function).clone() }))
            }
            _ => Value::Unknown,
        }
    }
}
