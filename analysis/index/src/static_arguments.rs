//! The arguments that a root declares static, as they are written: `static_argnums=0`, `static_argnames=("mode",)`.

use ag_syntax::expressions;
use ruff_python_ast::Expr;
use ruff_python_ast::name::Name;

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
    /// `0`, `"mode"`; `None` for any other expression.
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

    /// Whether this is the argument for a parameter. A keyword-only parameter has no position.
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
    /// An expression for more of them, if it does not consist of literals.
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

    /// Adds the arguments that `vmap` does not map: `in_axes=(0, None)` -> `1`.
    pub(crate) fn add_unmapped(&mut self, in_axes: &Expr) {
        let elements: &[Expr] = match in_axes {
            Expr::List(list) => &list.elts,
            Expr::Tuple(tuple) => &tuple.elts,
            _ => return,
        };
        let unmapped = elements.iter().enumerate().filter(|(_, element)| element.is_none_literal_expr());
        self.listed.extend(unmapped.map(|(position, _)| StaticArgument::Position(position.into())));
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

    /// The static parameters of a function.
    pub fn parameters(&self, signature: &Signature) -> StaticParameters {
        let is_static =
            |position, name: &Name| self.listed.iter().any(|argument| argument.is_for(Some(position), name));
        let parameters = signature.parameters.iter_enumerated();
        let known = parameters.filter(|(position, parameter)| is_static(*position, &parameter.name));
        StaticParameters { known: known.map(|(position, _)| position).collect(), more: self.more.is_some() }
    }
}

/// The names and positions in a literal; `None` if the value does not consist of literals.
fn literals(value: &Expr) -> Option<Vec<StaticArgument>> {
    expressions::elements(value).iter().map(StaticArgument::of).collect()
}
