//! Parts of arguments: items, attributes, and the elements of loops and unpacked sequences.
//!
//! An argument without evidence is assumed to be one Tensor, so its parts are Tensors, too. But the argument may be a
//! tree, and its parts containers:
//!
//! ```python
//! @jax.jit
//! def step(state):
//!     position, history = state
//!     history[0] = position                     # allowed if `history` is a list
//! ```

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::TextRange;
use rustc_hash::FxHashSet;

use super::callers::MAX_CALLERS;
use super::names::bound_names;
use super::path_certainty::{self, Passed};
use super::{FunctionContext, parameter_use};
use ag_flow::{Def, DefKind};
use ag_index::assumptions::{Parameter, Source};
use ag_syntax::qname::QName;

/// Builtins that return the elements of their arguments.
const OF_ELEMENTS: [&str; 8] = ["enumerate", "iter", "list", "next", "reversed", "sorted", "tuple", "zip"];

/// Methods of containers that return their elements.
const ELEMENT_METHODS: [&str; 5] = ["get", "items", "pop", "setdefault", "values"];

/// Returns whether a value is a part of an argument whose structure is unknown, and the function does not use it as one
/// Tensor. It may be a container, or the key of a dictionary.
pub(super) fn is_unknown_part(ctx: &FunctionContext, value: &Expr) -> bool {
    Follower { calls: MAX_CALLERS, seen: FxHashSet::default() }.is_part(ctx, value)
}

/// Follows values back to arguments.
struct Follower {
    /// The number of calls that may be followed back.
    calls: usize,
    /// The expressions of the current function that are already followed.
    seen: FxHashSet<TextRange>,
}

impl Follower {
    /// Returns whether a value is a part of a tree.
    fn is_part(&mut self, ctx: &FunctionContext, value: &Expr) -> bool {
        match value {
            Expr::Subscript(subscript) => self.is_tree(ctx, &subscript.value),
            Expr::Attribute(attribute) => {
                self.is_tree(ctx, &attribute.value) && !parameter_use::is_of_tensor(attribute)
            }
            Expr::Starred(starred) => self.is_part(ctx, &starred.value),
            Expr::Named(named) => self.is_part(ctx, &named.value),
            Expr::UnaryOp(operation) if operation.op == ast::UnaryOp::Not => {
                self.is_part(ctx, &operation.operand)
            }
            Expr::BoolOp(operation) => operation.values.iter().any(|value| self.is_part(ctx, value)),
            Expr::If(conditional) => {
                self.is_part(ctx, &conditional.body) || self.is_part(ctx, &conditional.orelse)
            }
            Expr::Call(call) => match &*call.func {
                Expr::Attribute(method) => {
                    ELEMENT_METHODS.contains(&method.attr.as_str()) && self.is_tree(ctx, &method.value)
                }
                function => {
                    ctx.builtin(function).is_some_and(|name| OF_ELEMENTS.contains(&name))
                        && call.arguments.args.iter().any(|argument| self.is_tree(ctx, argument))
                }
            },
            Expr::Name(name) => {
                !parameter_use::is_used_as_tensor(ctx, &name.id) && self.is_any_definition(ctx, name, false)
            }
            _ => false,
        }
    }

    /// Returns whether a value may be a tree: an argument of unknown structure that the function does not use as one
    /// Tensor, or a part of it.
    fn is_tree(&mut self, ctx: &FunctionContext, value: &Expr) -> bool {
        match value {
            Expr::Name(name) => {
                !parameter_use::is_used_as_tensor(ctx, &name.id) && self.is_any_definition(ctx, name, true)
            }
            _ => match taken_from(value) {
                Some(iterable) => self.is_tree(ctx, iterable),
                None => self.is_part(ctx, value),
            },
        }
    }

    /// `whole`: whether the argument itself counts, besides its parts.
    fn is_any_definition(&mut self, ctx: &FunctionContext, name: &ast::ExprName, whole: bool) -> bool {
        if !self.seen.insert(name.range) {
            return false;
        }
        let definitions = ctx.flow.definitions_of(name.range, &QName::from(&name.id));
        definitions.into_iter().any(|definition| self.is_definition(ctx, definition, whole))
    }

    fn is_definition(&mut self, ctx: &FunctionContext, definition: &Def, whole: bool) -> bool {
        match definition.kind {
            DefKind::Parameter(position) => ctx
                .stage
                .parameters
                .iter()
                .nth(position as usize)
                .is_some_and(|parameter| self.is_parameter(ctx, parameter, whole)),
            // `for layer in layers`
            DefKind::ForTarget => ctx.bound_value(definition).is_some_and(|value| self.is_tree(ctx, value)),
            DefKind::Assign | DefKind::Walrus => match (ctx.value_of(definition), whole) {
                (Some(value), true) => self.is_tree(ctx, value),
                (Some(value), false) => self.is_part(ctx, value),
                // `a, b = pair`
                (None, _) => ctx.bound_value(definition).is_some_and(|value| self.is_tree(ctx, value)),
            },
            _ => false,
        }
    }

    fn is_parameter(&mut self, ctx: &FunctionContext, parameter: &Parameter, whole: bool) -> bool {
        match parameter.source {
            Source::Assumption => whole,
            Source::CallSites => self.is_argument(ctx, parameter, whole),
            _ => false,
        }
    }

    /// Returns whether the call that reaches this function passes a tree, or a part of one, for a parameter.
    fn is_argument(&mut self, ctx: &FunctionContext, parameter: &Parameter, whole: bool) -> bool {
        let Some(calls) = self.calls.checked_sub(1) else { return false };
        let mut follower = Self { calls, seen: FxHashSet::default() };
        match path_certainty::passed(ctx, &parameter.name) {
            Some((caller, Passed::Argument(value))) if whole => follower.is_tree(&caller, value),
            Some((caller, Passed::Argument(value))) => follower.is_part(&caller, value),
            Some((caller, Passed::FromLibrary(others))) => {
                whole && others.into_iter().any(|other| follower.is_tree(&caller, other))
            }
            None => false,
        }
    }
}

/// Returns the elements of a list or generator with the iterable from which they come unchanged: `x[0]` and `xs` for
/// `[x[0] for x in xs]`.
fn taken_from(value: &Expr) -> Option<&Expr> {
    let (mut element, generators) = match value {
        Expr::ListComp(comprehension) => (&*comprehension.elt, &comprehension.generators),
        Expr::Generator(generator) => (&*generator.elt, &generator.generators),
        _ => return None,
    };
    loop {
        element = match element {
            Expr::Subscript(subscript) => &subscript.value,
            Expr::Attribute(attribute) if !parameter_use::is_of_tensor(attribute) => &attribute.value,
            Expr::Name(name) => {
                let mut binding = generators
                    .iter()
                    .filter(|generator| bound_names(&generator.target).contains(&name.id.as_str()));
                return binding.next().map(|generator| &generator.iter);
            }
            _ => return None,
        }
    }
}
