//! Queries for passes that rewrite a statement as a call of a functional operator: the names that its blocks bind, and
//! those that may be undefined.
//!
//! Conversion passes use these sets. Checks use [`block`](super::block), which also computes roles.

use super::Flow;
use super::accesses::DefKind;
use super::block::{Definedness, definedness};
use super::cfg::{Block, BlockKind, NodeKind, StatementKind, StmtId};
use super::names::{NameId, NameSet};
use super::{Activity, bits};
use ag_syntax::qname::QName;

impl Flow {
    pub fn no_names(&self) -> NameSet<'_> {
        self.activity.set(self.activity.empty_row())
    }

    /// Returns the names that the statements of a block bind or delete at any depth, including the `e` of
    /// `except E as e`.
    pub fn bound_in(&self, block: Block) -> NameSet<'_> {
        let mut row = self.activity.empty_row();
        for &node in self.cfg.nodes_in(block) {
            bits::union(&mut row, self.activity.binds_row(node));
            bits::union(&mut row, self.activity.deletes_row(node));
        }
        self.activity.set(row)
    }

    /// Returns [`Flow::bound_in`] for one block of a statement; empty if the statement has no such block.
    pub fn bound_in_block(&self, stmt: StmtId, kind: BlockKind) -> NameSet<'_> {
        self.cfg.block(stmt, kind).map_or_else(|| self.no_names(), |block| self.bound_in(block))
    }

    /// Returns the names that the selected steps of a statement bind or delete. The steps in its blocks are excluded.
    pub fn bound_by(&self, stmt: StmtId, selects: impl Fn(NodeKind) -> bool) -> NameSet<'_> {
        let mut names = self.no_names();
        self.add_bound_by(stmt, selects, &mut names);
        names
    }

    /// Adds the names of [`Flow::bound_by`] to a set.
    pub fn add_bound_by(&self, stmt: StmtId, selects: impl Fn(NodeKind) -> bool, names: &mut NameSet<'_>) {
        for &node in self.cfg.nodes_of(stmt) {
            if self.cfg.node(node).is_some_and(|node| selects(node.kind)) {
                names.add_row(self.activity.binds_row(node));
                names.add_row(self.activity.deletes_row(node));
            }
        }
    }

    /// Returns the names bound in a statement that may be undefined at the start or end of one of its blocks. The
    /// blocks start after the test of an `if` and the iterable of a `for`, but before the test of a `while`.
    pub fn maybe_undefined(&self, stmt: StmtId) -> NameSet<'_> {
        let extent = Activity::extent(&self.cfg, stmt);
        let bound = self.bound_in(extent);
        let mut deleted = self.activity.empty_row();
        for &node in self.cfg.nodes_in(extent) {
            bits::union(&mut deleted, self.activity.deletes_row(node));
        }
        let at_start = self.before_blocks(stmt);
        let mut row = self.activity.empty_row();
        for id in bound.ids() {
            let name = self.activity.names.get(id);
            if bits::contains(&deleted, id.0)
                || !self.is_certain(&at_start, id)
                || name.is_some_and(|name| self.scope().closure_written.contains(name.root()))
            {
                bits::insert(&mut row, id.0);
            }
        }
        self.activity.set(row)
    }

    /// Returns the definitions before a statement that reach its blocks, as a row for [`Reaching::among`].
    ///
    /// [`Reaching::among`]: super::Reaching
    fn before_blocks(&self, stmt: StmtId) -> Vec<u64> {
        let operand = match self.cfg.statement(stmt).map(|statement| statement.kind) {
            Some(StatementKind::If) => NodeKind::Test,
            Some(StatementKind::For) => NodeKind::Iter,
            _ => return self.entering(stmt),
        };
        let nodes = self.cfg.nodes_of(stmt).iter().copied();
        let nodes: Vec<_> =
            nodes.filter(|&node| self.cfg.node(node).is_some_and(|node| node.kind == operand)).collect();
        self.reaching.leaving(&nodes)
    }

    /// Returns whether a name is defined on every path to the blocks of a statement.
    pub fn is_defined_before_blocks(&self, stmt: StmtId, name: &QName) -> bool {
        let id = self.activity.tracked(name);
        let row = self.before_blocks(stmt);
        id.is_some_and(|id| self.is_certain(&row, id))
    }

    /// Returns whether every definition of the name is a binding in this function. A global may be undefined.
    fn is_certain(&self, row: &[u64], id: NameId) -> bool {
        let mut definitions = self.reaching.among(row, id);
        definitions.all(|definition| definition.kind.defines() && definition.kind != DefKind::Outer)
    }

    /// Returns the local variables that a step of a statement reads or deletes, and that may be undefined there. Steps
    /// in the blocks of the statement are excluded. Names declared `global` or `nonlocal` are not local: for them,
    /// Python raises `NameError` and not `UnboundLocalError`.
    pub fn unbound_reads(&self, stmt: StmtId) -> NameSet<'_> {
        let mut row = self.activity.empty_row();
        for &node in self.cfg.nodes_of(stmt) {
            let reads = bits::iter(self.activity.reads_row(node));
            for id in reads.chain(bits::iter(self.activity.deletes_row(node))) {
                let name = self.activity.names.get(NameId(id));
                let is_outer = name.is_some_and(|name| self.scope().is_declared_outer(name.root()));
                if !is_outer && definedness(self.reaching.before(node, NameId(id))) != Definedness::Always {
                    bits::insert(&mut row, id);
                }
            }
        }
        self.activity.set(row)
    }
}
