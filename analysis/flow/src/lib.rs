//! Control and data flow within one function: the graph, activity, reaching definitions, liveness.
//!
//! This room is a pure function of one function's syntax tree. It knows no types, no other
//! function, no database; positions are those of the tree it is given. Nested functions and
//! classes are single steps, seen by what they take from this function.
//!
//! ```text
//! let flow = Flow::build(def);
//! let stmt = flow.cfg.statement_at(node.range.start())?;
//! flow.live_after(stmt);                         // names read after the whole statement
//! flow.definitions_of(name_range, &name);        // what may have bound it
//! flow.block_variables(stmt)?;                   // the state of an `if`, `while` or `for`
//! ```

mod accesses;
pub mod activity;
mod bits;
pub mod block;
mod build;
pub mod cfg;
mod functional;
mod input;
pub mod liveness;
mod names;
mod own;
pub mod reaching;
pub mod scope;

#[cfg(test)]
mod tests;

use ruff_python_ast as ast;
use ruff_text_size::TextRange;

pub use accesses::DefKind;
pub use activity::Activity;
pub use block::{BlockVariable, BlockVariables, Definedness, Exits, Role};
pub use cfg::{Block, BlockKind, Cfg, EdgeKind, NodeId, NodeKind, Statement, StatementKind, StmtId};
pub use input::Input;
pub use liveness::Liveness;
pub use names::NameSet;
pub use reaching::{Def, Reaching};
pub use scope::{Scope, Variables};

use ag_syntax::qname::QName;

/// All flow facts of one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    pub cfg: Cfg,
    pub activity: Activity,
    pub reaching: Reaching,
    pub liveness: Liveness,
    own: own::OwnNames,
}

impl Flow {
    pub fn build(def: &ast::StmtFunctionDef) -> Self {
        Self { own: own::OwnNames::build(def), ..Self::of(&Input::function(def)) }
    }

    /// The facts by statement and node; [`Flow::definitions_of`] is for functions as they are written.
    pub fn of(input: &Input<'_>) -> Self {
        let (mut cfg, syntax) = Cfg::with_syntax(input);
        let activity = Activity::build(input, &cfg, &syntax).unwrap_or_else(|| {
            cfg = Cfg::opaque(input);
            Activity::opaque(input.parameters, &cfg)
        });
        let reaching = Reaching::build(&cfg, &activity);
        let liveness = Liveness::build(&cfg, &activity, &reaching);
        Self { cfg, activity, reaching, liveness, own: own::OwnNames::default() }
    }

    /// Whether nothing is known of the function, because it is nested too deep or too large: see
    /// [`Cfg::is_opaque`].
    pub fn is_opaque(&self) -> bool {
        self.cfg.is_opaque()
    }

    pub fn scope(&self) -> &Scope {
        self.activity.scope()
    }

    /// The names that may be read from `node` on, before they are bound anew.
    pub fn live_in(&self, node: NodeId) -> NameSet<'_> {
        self.activity.set(self.liveness.before(node))
    }

    /// The same just after `node`.
    pub fn live_out(&self, node: NodeId) -> NameSet<'_> {
        self.activity.set(self.liveness.after(&self.cfg, node))
    }

    /// The names that are live where a whole statement starts.
    pub fn live_before(&self, stmt: StmtId) -> NameSet<'_> {
        self.live_at(self.cfg.points(stmt).map(|(entry, _)| self.live_in(entry)))
    }

    /// The names that are live after a whole statement: just after an `if` with all its clauses.
    pub fn live_after(&self, stmt: StmtId) -> NameSet<'_> {
        self.live_at(self.cfg.points(stmt).map(|(_, exit)| self.live_out(exit)))
    }

    fn live_at<'a>(&'a self, sets: impl Iterator<Item = NameSet<'a>>) -> NameSet<'a> {
        sets.reduce(|all, set| all.union(&set)).unwrap_or_else(|| self.activity.set(Vec::new()))
    }

    /// The definitions of `name` that reach `node`; none when the node cannot be reached, and those
    /// of `a` for an `a.b` that does not occur in the function.
    pub fn definitions_at(&self, node: NodeId, name: &QName) -> Vec<&Def> {
        let id = self.activity.tracked(name);
        id.map(|id| self.reaching.before(node, id).collect()).unwrap_or_default()
    }

    /// The definitions that may have bound `name` where the expression at `range` is evaluated; none of a
    /// variable of a comprehension or lambda.
    pub fn definitions_of(&self, range: TextRange, name: &QName) -> Vec<&Def> {
        let node = self.cfg.node_at(range).filter(|_| !self.own.bind(range, name.root()));
        node.map(|node| self.definitions_at(node, name)).unwrap_or_default()
    }

    /// Whether `name` has a value on every way to `node`, and so where no way leads there.
    pub fn definitely_defined(&self, node: NodeId, name: &QName) -> bool {
        self.defined_at_node(node, name) == Definedness::Always
    }

    /// Whether `name` has a value on some way to `node`.
    pub fn maybe_defined(&self, node: NodeId, name: &QName) -> bool {
        self.definitions_at(node, name).iter().any(|definition| definition.kind.defines())
    }

    fn defined_at_node(&self, node: NodeId, name: &QName) -> Definedness {
        match self.activity.tracked(name) {
            Some(id) => block::judge(self.reaching.before(node, id)),
            None => Definedness::Never,
        }
    }
}
