//! Activity: which names each node reads, binds and deletes, and the same for whole blocks.
//!
//! A read of `a.b` is also a read of `a`. Binding `a.b` reads `a` and binds `a.b` alone; binding
//! `d[0]` likewise. What a call does to its arguments or receiver is invisible. A nested function
//! reads the names it captures where it is defined, and binds none there.

use std::borrow::Cow;

use ruff_python_ast as ast;
use ruff_text_size::TextRange;

use super::accesses::{self, Accesses, DefKind};
use super::bits::{self, BitMatrix};
use super::build::Syntax;
use super::cfg::{self, Block, BlockKind, Cfg, NodeId, NodeKind, StmtId};
use super::names::{NameId, NameSet, Names};
use super::scope::Scope;
use crate::syntax::qname::{QName, Segment};

/// A binding or deletion at a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Effect {
    pub(super) name: NameId,
    pub(super) kind: DefKind,
    pub(super) range: TextRange,
    pub(super) value: Option<TextRange>,
    /// Whether it happens whenever the node completes.
    pub(super) certain: bool,
}

/// The names that the functions and classes defined at a node read later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Capture {
    pub(super) node: NodeId,
    pub(super) names: Vec<NameId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    pub(super) names: Names,
    pub(super) scope: Scope,
    pub(super) effects: Vec<Effect>,
    pub(super) effect_start: Vec<u32>,
    pub(super) captures: Vec<Capture>,
    reads: BitMatrix,
    binds: BitMatrix,
    deletes: BitMatrix,
    /// The bodies of `except E as e`, and `e`.
    handlers: Vec<(Block, NameId)>,
}

impl Activity {
    /// `None` when nested scopes are too deep to be followed.
    pub(super) fn build(
        def: &ast::StmtFunctionDef,
        cfg: &Cfg,
        syntax: &[Syntax<'_>],
    ) -> Option<Self> {
        let found: Vec<Accesses> = syntax.iter().map(|&syntax| accesses::of_node(syntax)).collect();
        let too_deep = found.iter().any(|accesses| accesses.too_deep);
        (!too_deep).then(|| Self::new(def, cfg, found))
    }

    fn new(def: &ast::StmtFunctionDef, cfg: &Cfg, found: Vec<Accesses>) -> Self {
        let scope = Scope::new(def, found.iter());
        let mut all: Vec<QName> = scope.parameters.iter().map(QName::from).collect();
        for accesses in &found {
            all.extend(accesses.reads.iter().chain(&accesses.captures).cloned());
            all.extend(accesses.writes.iter().map(|write| write.name.clone()));
        }
        let names = Names::new(all);
        let (rows, columns) = (found.len(), names.len());
        let mut activity = Self {
            reads: BitMatrix::new(rows, columns),
            binds: BitMatrix::new(rows, columns),
            deletes: BitMatrix::new(rows, columns),
            effects: Vec::new(),
            effect_start: vec![0],
            captures: Vec::new(),
            handlers: Vec::new(),
            names,
            scope,
        };
        for (row, accesses) in found.into_iter().enumerate() {
            activity.add(row, accesses);
        }
        activity.handlers(cfg);
        activity
    }

    /// Of a function of which nothing is known.
    pub(super) fn opaque(def: &ast::StmtFunctionDef, cfg: &Cfg) -> Self {
        Self::new(def, cfg, cfg.nodes().map(|_| Accesses::default()).collect())
    }

    fn add(&mut self, row: usize, accesses: Accesses) {
        for name in accesses.reads.iter().chain(&accesses.captures) {
            if let Some(id) = self.names.id(name) {
                self.reads.insert(row, id.0);
            }
        }
        let captures: Vec<NameId> =
            accesses.captures.iter().filter_map(|name| self.names.id(name)).collect();
        if !captures.is_empty() {
            self.captures.push(Capture { node: NodeId(row as u32), names: captures });
        }
        // The other items that `d[i] = v` may bind; the item itself follows and is certain.
        for (container, range) in accesses.items {
            let own = accesses.writes.iter().find(|write| write.range == range);
            for name in self.other_items(&container, own.map(|write| &write.name)) {
                let kind = DefKind::Item;
                self.effects.push(Effect { name, kind, range, value: None, certain: false });
            }
        }
        for write in accesses.writes {
            let Some(name) = self.names.id(&write.name) else { continue };
            match write.kind {
                DefKind::Closure => {}
                DefKind::Delete => self.deletes.insert(row, name.0),
                _ => self.binds.insert(row, name.0),
            }
            let accesses::Write { kind, range, value, certain, .. } = write;
            self.effects.push(Effect { name, kind, range, value, certain });
        }
        self.effect_start.push(self.effects.len() as u32);
    }

    /// The items of `container` that may be the one bound as `own`, or under a computed key.
    fn other_items(&self, container: &QName, own: Option<&QName>) -> Vec<NameId> {
        let Some(id) = self.names.id(container) else { return Vec::new() };
        let depth = container.segments().len();
        let key = |name: &'_ QName| match name.segments().get(depth) {
            Some(Segment::Key(key)) => Some(key.clone()),
            _ => None,
        };
        let own_key = own.and_then(key);
        self.names
            .dependents(id)
            .filter(|&id| {
                self.names.get(id).is_some_and(|name| {
                    name.segments().len() == depth + 1
                        && container.is_prefix_of(name)
                        && Some(name) != own
                        && match (key(name), &own_key) {
                            (Some(key), Some(own)) => key.may_equal(own),
                            (Some(_), None) => true,
                            (None, _) => false,
                        }
                })
            })
            .collect()
    }

    fn handlers(&mut self, cfg: &Cfg) {
        for (node, step) in cfg.nodes() {
            let (NodeKind::HandlerName(index), Some(stmt)) = (step.kind, step.stmt) else {
                continue;
            };
            let block = cfg.block(stmt, BlockKind::Handler(index));
            let name = self.effects_of(node).first().map(|effect| effect.name);
            self.handlers.extend(block.zip(name));
        }
    }

    pub(super) fn effects_of(&self, node: NodeId) -> &[Effect] {
        cfg::slice(&self.effects, &self.effect_start, node.index())
    }

    pub(super) fn reads_row(&self, node: NodeId) -> &[u64] {
        self.reads.row(node.index())
    }

    pub(super) fn set<'a>(&'a self, row: impl Into<Cow<'a, [u64]>>) -> NameSet<'a> {
        NameSet::new(&self.names, row)
    }

    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The names whose values from before the node it uses.
    pub fn reads(&self, node: NodeId) -> NameSet<'_> {
        NameSet::new(&self.names, self.reads.row(node.index()))
    }

    /// The names a node binds, or may bind.
    pub fn modifies(&self, node: NodeId) -> NameSet<'_> {
        NameSet::new(&self.names, self.binds.row(node.index()))
    }

    pub fn deletes(&self, node: NodeId) -> NameSet<'_> {
        NameSet::new(&self.names, self.deletes.row(node.index()))
    }

    /// What the statements of a block read, whatever they have bound before.
    pub fn reads_in(&self, cfg: &Cfg, block: Block) -> NameSet<'_> {
        self.gather(cfg, block, &self.reads)
    }

    pub fn modifies_in(&self, cfg: &Cfg, block: Block) -> NameSet<'_> {
        self.gather(cfg, block, &self.binds)
    }

    pub fn deletes_in(&self, cfg: &Cfg, block: Block) -> NameSet<'_> {
        self.gather(cfg, block, &self.deletes)
    }

    /// The steps of a statement and everything within it, as a block.
    pub fn extent(cfg: &Cfg, stmt: StmtId) -> Block {
        let extent = cfg.extent(stmt);
        Block { kind: BlockKind::Body, start: extent.start, end: extent.end }
    }

    /// The union of the rows of a block. The name of an `except E as e` within the block is its own
    /// affair: it is gone after the clause.
    fn gather(&self, cfg: &Cfg, block: Block, rows: &BitMatrix) -> NameSet<'_> {
        let mut members = rows.empty_row();
        let mut row = rows.empty_row();
        for &node in cfg.nodes_in(block) {
            let Some(step) = cfg.node(node) else { continue };
            if matches!(step.kind, NodeKind::HandlerName(_) | NodeKind::Unbind(_)) {
                continue;
            }
            row.copy_from_slice(rows.row(node.index()));
            for (handler, name) in &self.handlers {
                let within = handler.start >= block.start && handler.end <= block.end;
                if within && step.stmt.is_some_and(|stmt| handler.contains(stmt)) {
                    bits::remove(&mut row, name.0);
                    for longer in self.names.dependents(*name) {
                        bits::remove(&mut row, longer.0);
                    }
                }
            }
            bits::union(&mut members, &row);
        }
        NameSet::new(&self.names, members)
    }
}
