//! What the type oracle says of one scope, as plain data: no types of the engine.

use ruff_python_ast::name::Name;
use rustc_hash::FxHashSet;

use crate::assumed::AssumedType;
use crate::dialect::Dialect;
use crate::facts::Fact;
use crate::lambdas::{LambdaStage, LambdaTypes};
use crate::place::Place;
use ag_db::Document;
use ag_syntax::expressions::ExprId;
use ag_syntax::functions::FunctionPath;

/// Facts by expression number; equal facts are stored once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The position in `table`, by expression.
    pub index: Vec<u32>,
    pub table: Vec<Fact>,
}

impl Facts {
    pub fn get(&self, id: ExprId) -> Option<&Fact> {
        self.table.get(*self.index.get(id.0 as usize)? as usize)
    }

    /// The same facts, but `fact` for all of `expressions`.
    pub fn with(&self, expressions: &FxHashSet<ExprId>, fact: Fact) -> Self {
        let mut facts = self.clone();
        let number = facts.table.len() as u32;
        facts.table.push(fact);
        for expression in expressions {
            if let Some(slot) = facts.index.get_mut(expression.0 as usize) {
                *slot = number;
            }
        }
        facts
    }
}

impl ScopeTypes {
    /// Sets the places of the calls, given those of all expressions of the scope.
    pub fn locate(&mut self, places: &[Place]) {
        for call in &mut self.calls {
            call.place = places.get(call.expression.0 as usize).copied().unwrap_or_default();
        }
    }

    /// The same with the Tensors of other libraries as host values; nothing where there are none.
    pub fn seen_in(&self, dialect: Dialect) -> Option<Self> {
        let facts = self.facts.table.iter().chain(&self.parameters);
        if !facts.into_iter().any(|fact| fact.is_foreign_to(dialect)) {
            return None;
        }
        let mut seen = self.clone();
        for fact in seen.facts.table.iter_mut().chain(&mut seen.parameters) {
            *fact = fact.seen_in(dialect);
        }
        Some(seen)
    }
}

/// A function of the project that an expression refers to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    pub document: Document,
    pub path: FunctionPath,
    /// The first parameter is already given.
    pub bound: bool,
}

/// What one call gives to the functions of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    pub targets: Vec<Target>,
    /// The call, or the object whose protocol is called.
    pub expression: ExprId,
    /// Where `expression` stands in the user's text: [`ScopeTypes::locate`].
    pub place: Place,
    pub arguments: Vec<(ArgumentPlace, AssumedType)>,
    /// `*args` or `**kwargs` are passed: parameters without an argument may still have a value.
    pub open: bool,
    /// The call is made by others, who do not convert: by Python for a `with` or `for` (`__enter__`,
    /// `__next__`), by a library (the bodies of `tf.cond`).
    pub implicit: bool,
    /// `functools.partial(f, …)`: the arguments are bound now, the call comes later.
    pub partial: bool,
    /// The lambda that it is in, if a library stages that.
    pub lambda: Option<LambdaStage>,
    /// The arguments that are lambdas.
    pub lambdas: Vec<(ArgumentPlace, ExprId)>,
    /// The arguments that are functions of the project which have no name outside.
    pub functions: Vec<(ArgumentPlace, Target)>,
    /// `self.method(…)`: a derived class may have another method of that name.
    pub on_self: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentPlace {
    Position(u32),
    Keyword(Name),
}

/// The types of one scope, in our words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopeTypes {
    pub facts: Facts,
    pub calls: Vec<CallSite>,
    /// What its `return` statements return.
    pub returns: AssumedType,
    /// Whether any `return` has a value.
    pub returns_value: bool,
    /// The parameters' types, in the order of the signature.
    pub parameters: Vec<Fact>,
    /// Parameters that are bound anew to what their declaration does not allow, and what that is: unknown
    /// where it is of the other binding time (`x = list(x)`).
    pub rebound: Vec<(Name, AssumedType)>,
    /// The types of defaults that are no literals, by parameter: `how=Pooling.MEAN`.
    pub defaults: Vec<(u32, AssumedType)>,
    /// Its calls of its own parameters: which one, and the arguments by position.
    pub applied: Vec<(u32, Vec<AssumedType>)>,
    /// What libraries call its lambdas with.
    pub lambdas: Vec<LambdaTypes>,
    /// The functions that the scope's root sites refer to, by the site's position in the file index.
    pub roots: Vec<(u32, Target)>,
}

impl CallSite {
    /// A plain call that gives no arguments.
    pub fn of(targets: Vec<Target>, expression: ExprId) -> Self {
        Self {
            targets,
            expression,
            place: Place::default(),
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
