//! The type oracle's answer for one scope, as plain data without types of the type engine.

use ruff_index::IndexVec;
use ruff_python_ast::name::Name;
use rustc_hash::FxHashSet;

use crate::assumed::AssumedType;
use crate::dialect::Dialect;
use crate::facts::Fact;
use crate::ids::{ParameterIndex, RootIndex};
use crate::lambdas::{LambdaStage, LambdaTypes};
use crate::scope_location::ScopeLocation;
use ag_db::Document;
use ag_syntax::expressions::ExprId;
use ag_syntax::functions::FunctionPath;

/// Facts by expression id; equal facts are stored once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The position in `table`, by expression id.
    pub index: Vec<u32>,
    pub table: Vec<Fact>,
}

impl Facts {
    pub fn get(&self, id: ExprId) -> Option<&Fact> {
        self.table.get(*self.index.get(id.0 as usize)? as usize)
    }

    /// Returns a copy in which `fact` replaces the facts of `expressions`.
    pub fn with(&self, expressions: &FxHashSet<ExprId>, fact: Fact) -> Self {
        let mut facts = self.clone();
        let position = facts.table.len() as u32;
        facts.table.push(fact);
        for expression in expressions {
            if let Some(slot) = facts.index.get_mut(expression.0 as usize) {
                *slot = position;
            }
        }
        facts
    }
}

impl ScopeTypes {
    /// Sets the location of each call. `locations` has the locations of all expressions of the scope, by id.
    pub fn locate(&mut self, locations: &[ScopeLocation]) {
        for call in &mut self.calls {
            let location = call.expression.and_then(|expression| locations.get(expression.0 as usize));
            call.location = location.copied().unwrap_or_default();
        }
    }

    /// Returns a copy in which Tensors of other libraries are host values; `None` if there are no such Tensors.
    pub fn in_dialect(&self, dialect: Dialect) -> Option<Self> {
        let facts = self.facts.table.iter().chain(&self.parameters);
        if !facts.into_iter().any(|fact| fact.is_foreign_to(dialect)) {
            return None;
        }
        let mut seen = self.clone();
        for fact in seen.facts.table.iter_mut().chain(&mut seen.parameters) {
            *fact = fact.in_dialect(dialect);
        }
        Some(seen)
    }
}

/// A function of the project that an expression refers to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    pub document: Document,
    pub path: FunctionPath,
    /// The first parameter is already bound.
    pub bound: bool,
}

/// A call of functions of the project, with the types of its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    pub targets: Vec<Target>,
    /// The call, or the object whose protocol is called.
    pub expression: Option<ExprId>,
    /// The location of `expression` in the user's text: [`ScopeTypes::locate`].
    pub location: ScopeLocation,
    pub arguments: Vec<(ArgumentSlot, AssumedType)>,
    /// `*args` or `**kwargs` are passed, so parameters without an explicit argument may still receive one.
    pub open: bool,
    /// The caller is not converted code: it is Python (`__enter__` of a `with`, `__next__` of a `for`) or a library
    /// (the bodies of `tf.cond`).
    pub implicit: bool,
    /// `functools.partial(f, …)`: the arguments are bound here, and a later call passes the others.
    pub partial: bool,
    /// The enclosing lambda, if a library stages it.
    pub lambda: Option<LambdaStage>,
    /// The arguments that are lambdas.
    pub lambdas: Vec<(ArgumentSlot, ExprId)>,
    /// The arguments that are local functions of the project.
    pub functions: Vec<(ArgumentSlot, Target)>,
    /// `self.method(…)`: a derived class may override the method.
    pub on_self: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentSlot {
    Position(u32),
    Keyword(Name),
}

/// The types of one scope, as plain data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopeTypes {
    pub facts: Facts,
    pub calls: Vec<CallSite>,
    /// The type of the values that its `return` statements return.
    pub returns: AssumedType,
    /// Whether any `return` has a value.
    pub returns_value: bool,
    /// The types of the parameters.
    pub parameters: IndexVec<ParameterIndex, Fact>,
    /// Parameters that the body rebinds to a value that does not have the declared type, with the type of that value.
    /// The type is unknown if the binding time changes (`x = list(x)`).
    pub rebound: Vec<(Name, AssumedType)>,
    /// The types of defaults that are not literals, by parameter: `how=Pooling.MEAN`.
    pub defaults: Vec<(ParameterIndex, AssumedType)>,
    /// The calls of its parameters: the called parameter, and the arguments by position.
    pub applied: Vec<(ParameterIndex, Vec<AssumedType>)>,
    /// The parameter types of its lambdas.
    pub lambdas: Vec<LambdaTypes>,
    /// The functions that the scope's root sites refer to.
    pub roots: Vec<(RootIndex, Target)>,
    /// The scope's root sites on a Dataset whose function is not resolved: `data.map(f)` for a parameter `f`.
    pub on_datasets: Vec<RootIndex>,
}

impl CallSite {
    /// Returns whether both are equal except for locations and expression ids.
    pub fn is_same_but_for_positions(&self, other: &Self) -> bool {
        let Self {
            targets,
            arguments,
            open,
            implicit,
            partial,
            lambda,
            lambdas,
            functions,
            on_self,
            expression: _,
            location: _,
        } = self;
        let slot = |(slot, _): &(ArgumentSlot, ExprId)| slot.clone();
        *targets == other.targets
            && *arguments == other.arguments
            && *open == other.open
            && *implicit == other.implicit
            && *partial == other.partial
            && *lambda == other.lambda
            && lambdas.iter().map(slot).eq(other.lambdas.iter().map(slot))
            && *functions == other.functions
            && *on_self == other.on_self
    }

    /// Returns a call without arguments.
    pub fn of(targets: Vec<Target>, expression: Option<ExprId>) -> Self {
        Self {
            targets,
            expression,
            location: ScopeLocation::default(),
            arguments: Vec::new(),
            open: false,
            implicit: false,
            partial: false,
            lambda: None,
            lambdas: Vec::new(),
            functions: Vec::new(),
            on_self: false,
        }
    }
}
