//! The type oracle's answer about one scope, as plain data that does not contain types of the type engine.

use ruff_index::IndexVec;
use ruff_python_ast::name::Name;
use rustc_hash::FxHashSet;

use crate::assumed::AssumedType;
use crate::dialect::Dialect;
use crate::facts::Fact;
use crate::ids::{ClassIndex, ParameterIndex, RootIndex};
use crate::lambdas::{LambdaStage, LambdaTypes};
use crate::scope_location::ScopeLocation;
use ag_db::Document;
use ag_syntax::expressions::ExprId;
use ag_syntax::functions::FunctionPath;

/// The facts of a scope's expressions. Equal facts are stored once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// For each expression id, the position of its fact in `table`.
    pub index: Vec<u32>,
    pub table: Vec<Fact>,
}

impl Facts {
    pub fn get(&self, id: ExprId) -> Option<&Fact> {
        self.table.get(*self.index.get(id.0 as usize)? as usize)
    }

    /// Returns a copy in which the facts of `expressions` are replaced by `fact`.
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
    /// Sets the location of each call. `locations` contains the location of each expression of the scope, by its id.
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

/// A function of the project to which an expression refers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    pub document: Document,
    pub path: FunctionPath,
    /// Whether the first parameter is already bound, as in `object.method`.
    pub bound: bool,
}

/// A call of functions of the project, with the types of its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    pub targets: Vec<Target>,
    /// The call, or the object whose special method Python calls.
    pub expression: Option<ExprId>,
    /// The location of `expression` in the user's text, set by [`ScopeTypes::locate`].
    pub location: ScopeLocation,
    pub arguments: Vec<(ArgumentSlot, AssumedType)>,
    /// Whether `*args` or `**kwargs` is passed. Then parameters without an explicit argument may receive one, too.
    pub open: bool,
    /// Whether the caller is not the converted code itself, but Python (`__enter__` for a `with`, `__next__` for a
    /// `for`) or a library (the bodies of `tf.cond`).
    pub implicit: bool,
    /// Whether this is `functools.partial(f, …)`, which binds some arguments of `f`. A later call passes its other
    /// arguments.
    pub partial: bool,
    /// The lambda that contains the call, if a library stages that lambda.
    pub lambda: Option<LambdaStage>,
    /// The arguments that are lambdas, by slot.
    pub lambdas: Vec<(ArgumentSlot, ExprId)>,
    /// The arguments that are local functions of the project, by slot.
    pub functions: Vec<(ArgumentSlot, Target)>,
    /// Whether this is `self.method(…)`, so that a derived class may override the method.
    pub on_self: bool,
    /// The method, if this is `self.method(…)` in a class that does not define it, so that a derived class must.
    pub missing: Option<Name>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentSlot {
    Position(u32),
    Keyword(Name),
}

/// A call of a class of the project whose constructor is generated, or that makes a changed copy of an object of it:
/// `State(1, loss)`, `state._replace(loss=loss)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Construction {
    pub document: Document,
    pub class: ClassIndex,
    pub arguments: Vec<(ArgumentSlot, AssumedType)>,
    /// Whether `*args` or `**kwargs` may set fields that are not in `arguments`.
    pub open: bool,
    /// Whether it copies an object, whose other fields keep their values.
    pub copies: bool,
}

/// The types of the values to which a body rebinds a parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rebound {
    /// Python values. The type is unknown if the binding time changes (`x = list(x)`).
    pub others: AssumedType,
    /// Tensors to which an argument of unknown type is rebound: `x = tf.reduce_sum(x)`.
    pub tensors: AssumedType,
}

/// The types of one scope, as plain data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopeTypes {
    pub facts: Facts,
    pub calls: Vec<CallSite>,
    /// The type of the values in its `return` statements.
    pub returns: AssumedType,
    /// Whether any `return` has a value.
    pub returns_value: bool,
    /// The types of the parameters.
    pub parameters: IndexVec<ParameterIndex, Fact>,
    /// Parameters that the body rebinds to a value of a type that was not declared.
    pub rebound: Vec<(Name, Rebound)>,
    pub constructions: Vec<Construction>,
    /// The types of defaults that are not literals, such as `how=Pooling.MEAN`.
    pub defaults: Vec<(ParameterIndex, AssumedType)>,
    /// The calls of the function's parameters: for each call, the parameter and the types of the arguments by position.
    pub applied: Vec<(ParameterIndex, Vec<AssumedType>)>,
    /// The types of the parameters of its lambdas.
    pub lambdas: Vec<LambdaTypes>,
    /// The functions to which the root sites in the scope refer.
    pub roots: Vec<(RootIndex, Target)>,
    /// The root sites in the scope that are calls on a Dataset and whose function is not resolved: `data.map(f)` for a
    /// parameter `f`.
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
            missing,
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
            && *missing == other.missing
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
            missing: None,
        }
    }
}
