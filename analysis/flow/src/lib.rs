//! Control flow and dataflow within one function: graph, activity, reaching definitions, liveness.
//!
//! The result depends only on the syntax tree of the function: no types, no other functions, no database.
//! Ranges refer to the given tree. A nested function or class is a single step that reads the names it
//! captures.
//!
//! ```text
//! let flow = Flow::build(def);
//! let stmt = flow.cfg.statement_at(node.range.start())?;
//! flow.live_after(stmt);                         // names that may be read after the statement
//! flow.definitions_of(name_range, &name);        // definitions that reach the expression
//! flow.block_variables(stmt)?;                   // the state of an `if`, `while` or `for`
//! ```

mod accesses;
pub mod activity;
mod bits;
pub mod block;
mod build;
pub mod cfg;
mod functional;
mod inner_scopes;
mod input;
pub mod liveness;
mod names;
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
use inner_scopes::InnerScopes;

/// The results of all analyses for one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    pub cfg: Cfg,
    pub activity: Activity,
    pub reaching: Reaching,
    pub liveness: Liveness,
    inner_scopes: InnerScopes,
}

impl Flow {
    pub fn build(def: &ast::StmtFunctionDef) -> Self {
        Self { inner_scopes: InnerScopes::build(def), ..Self::of(&Input::function(def)) }
    }

    /// Analyzes a function that passes may have rewritten. [`Flow::definitions_of`] requires [`Flow::build`] instead,
    /// which also collects the variables of comprehensions and lambdas.
    pub fn of(input: &Input<'_>) -> Self {
        let (mut cfg, syntax) = Cfg::with_syntax(input);
        let activity = Activity::build(input, &cfg, &syntax).unwrap_or_else(|| {
            cfg = Cfg::opaque(input);
            Activity::opaque(input.parameters, &cfg)
        });
        let reaching = Reaching::build(&cfg, &activity);
        let liveness = Liveness::build(&cfg, &activity, &reaching);
        Self { cfg, activity, reaching, liveness, inner_scopes: InnerScopes::default() }
    }

    /// Returns whether the function is too large or too deeply nested to analyze: see [`Cfg::is_opaque`].
    pub fn is_opaque(&self) -> bool {
        self.cfg.is_opaque()
    }

    pub fn scope(&self) -> &Scope {
        self.activity.scope()
    }

    /// Returns the names live before `node`: those that may be read, at `node` or after it, before they are rebound.
    pub fn live_in(&self, node: NodeId) -> NameSet<'_> {
        self.activity.set(self.liveness.before(node))
    }

    /// Returns the names live after `node`.
    pub fn live_out(&self, node: NodeId) -> NameSet<'_> {
        self.activity.set(self.liveness.after(&self.cfg, node))
    }

    /// Returns the names live before a statement.
    pub fn live_before(&self, stmt: StmtId) -> NameSet<'_> {
        self.live_at(self.cfg.points(stmt).map(|(entry, _)| self.live_in(entry)))
    }

    /// Returns the names live after a statement and all its blocks.
    pub fn live_after(&self, stmt: StmtId) -> NameSet<'_> {
        self.live_at(self.cfg.points(stmt).map(|(_, exit)| self.live_out(exit)))
    }

    fn live_at<'a>(&'a self, sets: impl Iterator<Item = NameSet<'a>>) -> NameSet<'a> {
        sets.reduce(|all, set| all.union(&set)).unwrap_or_else(|| self.activity.set(Vec::new()))
    }

    /// Returns the definitions of `name` that reach `node`; empty if the node is unreachable. For an `a.b` that does
    /// not occur in the function, returns the definitions of `a`.
    pub fn definitions_at(&self, node: NodeId, name: &QName) -> Vec<&Def> {
        let id = self.activity.tracked(name);
        id.map(|id| self.reaching.before(node, id).collect()).unwrap_or_default()
    }

    /// Returns the definitions of `name` that reach the expression at `range`; empty for a variable of a comprehension
    /// or lambda.
    pub fn definitions_of(&self, range: TextRange, name: &QName) -> Vec<&Def> {
        let node = self.cfg.node_at(range).filter(|_| !self.inner_scopes.bind(range, name.root()));
        node.map(|node| self.definitions_at(node, name)).unwrap_or_default()
    }

    /// Returns whether `name` has a value on every path to `node`. If `node` is unreachable, returns true.
    pub fn definitely_defined(&self, node: NodeId, name: &QName) -> bool {
        self.defined_at_node(node, name) == Definedness::Always
    }

    /// Returns whether `name` has a value on some path to `node`.
    pub fn maybe_defined(&self, node: NodeId, name: &QName) -> bool {
        self.definitions_at(node, name).iter().any(|definition| definition.kind.defines())
    }

    fn defined_at_node(&self, node: NodeId, name: &QName) -> Definedness {
        match self.activity.tracked(name) {
            Some(id) => block::definedness(self.reaching.before(node, id)),
            None => Definedness::Never,
        }
    }
}
