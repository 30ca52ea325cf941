//! A statement as a call of an operator on functions: what its blocks bind, and what its state lacks.
//!
//! [`block`](super::block) says the same of names with their roles, for those who judge a statement;
//! this is for those who rewrite one.

use super::Flow;
use super::accesses::DefKind;
use super::block::{Definedness, judge};
use super::cfg::{Block, BlockKind, NodeKind, StatementKind, StmtId};
use super::names::{NameId, NameSet};
use super::{Activity, bits};
use ag_syntax::qname::QName;

impl Flow {
    pub fn no_names(&self) -> NameSet<'_> {
        self.activity.set(self.activity.empty_row())
    }

    /// All that the statements of a block bind or delete at any depth, the names of `except E as e` too.
    pub fn bound_in(&self, block: Block) -> NameSet<'_> {
        let mut row = self.activity.empty_row();
        for &node in self.cfg.nodes_in(block) {
            bits::union(&mut row, self.activity.binds_row(node));
            bits::union(&mut row, self.activity.deletes_row(node));
        }
        self.activity.set(row)
    }

    /// The same of one block of a statement; nothing where it has none of that kind.
    pub fn bound_in_block(&self, stmt: StmtId, kind: BlockKind) -> NameSet<'_> {
        self.cfg.block(stmt, kind).map_or_else(|| self.no_names(), |block| self.bound_in(block))
    }

    /// What the steps of a statement that `is_asked` picks bind or delete, its blocks aside.
    pub fn bound_by(&self, stmt: StmtId, is_asked: impl Fn(NodeKind) -> bool) -> NameSet<'_> {
        let mut names = self.no_names();
        self.add_bound_by(stmt, is_asked, &mut names);
        names
    }

    /// Adds the names of [`Flow::bound_by`] to a set.
    pub fn add_bound_by(&self, stmt: StmtId, is_asked: impl Fn(NodeKind) -> bool, names: &mut NameSet<'_>) {
        for &node in self.cfg.nodes_of(stmt) {
            if self.cfg.node(node).is_some_and(|node| is_asked(node.kind)) {
                names.add_row(self.activity.binds_row(node));
                names.add_row(self.activity.deletes_row(node));
            }
        }
    }

    /// The names bound in a statement that may have no value where its blocks start or end. Blocks
    /// start after the test of an `if` and the iterable of a `for`, and before the test of a `while`.
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

    /// What reaches the blocks of a statement from before it: a row for [`Reaching::among`].
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

    /// Whether a name has a value wherever the blocks of a statement start.
    pub fn is_defined_before_blocks(&self, stmt: StmtId, name: &QName) -> bool {
        let id = self.activity.tracked(name);
        let row = self.before_blocks(stmt);
        id.is_some_and(|id| self.is_certain(&row, id))
    }

    /// Whether the function itself has given a name a value; a global may have none.
    fn is_certain(&self, row: &[u64], id: NameId) -> bool {
        let mut definitions = self.reaching.among(row, id);
        definitions.all(|definition| definition.kind.defines() && definition.kind != DefKind::Outer)
    }

    /// The local variables that a step of a statement reads or deletes although they may have no
    /// value; of its blocks nothing.
    pub fn unbound_reads(&self, stmt: StmtId) -> NameSet<'_> {
        let mut row = self.activity.empty_row();
        for &node in self.cfg.nodes_of(stmt) {
            let reads = bits::iter(self.activity.reads_row(node));
            for id in reads.chain(bits::iter(self.activity.deletes_row(node))) {
                if judge(self.reaching.before(node, NameId(id))) != Definedness::Always {
                    bits::insert(&mut row, id);
                }
            }
        }
        self.activity.set(row)
    }
}
