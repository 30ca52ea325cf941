//! Activity: the names that each node and each block reads, binds and deletes.
//!
//! ```python
//! y = a.b          # reads a and a.b, binds y
//! a.b = x          # reads a and x, binds a.b
//! d[0] = x         # reads d and x, binds d[0]
//! a.append(x)      # reads a, a.append and x; effects of calls are not modelled
//! def g(): use(x)  # reads use and x, binds g
//! ```
//!
//! In very large functions, attributes and items are not tracked separately from their root variable. Even larger
//! functions are opaque: only their parameters are known.

use std::borrow::Cow;

use ruff_python_ast as ast;
use ruff_python_ast::name::Name;
use ruff_text_size::TextRange;

use super::accesses::{self, Accesses, DefKind};
use super::bits::{self, BitMatrix};
use super::build::Syntax;
use super::cfg::{self, Block, BlockKind, Cfg, NodeId, NodeKind, StmtId};
use super::input::Input;
use super::names::{NameId, NameSet, Names, Ranks};
use super::scope::{self, Scope};
use ag_syntax::qname::{QName, Segment};

/// The maximum number of bits in one matrix of the analyses: 64 MB.
const MAX_BITS: usize = 1 << 29;

/// A binding or deletion at a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Effect {
    pub(super) name: NameId,
    pub(super) kind: DefKind,
    pub(super) range: TextRange,
    pub(super) value: Option<TextRange>,
    /// Whether it happens on every path on which the node completes.
    pub(super) certain: bool,
}

/// The names that the functions and classes defined at a node capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Capture {
    pub(super) node: NodeId,
    pub(super) names: Vec<NameId>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    pub(super) names: Names,
    pub(super) scope: Scope,
    pub(super) effects: Vec<Effect>,
    pub(super) effect_start: Vec<u32>,
    pub(super) captures: Vec<Capture>,
    /// Whether attributes and items are tracked separately from their root variable.
    tracks_paths: bool,
    reads: BitMatrix,
    binds: BitMatrix,
    deletes: BitMatrix,
    /// The bodies of `except E as e` clauses, with the name `e`.
    handlers: Vec<(Block, NameId)>,
}

impl Activity {
    /// Returns the activity of a function; `None` if its scopes are nested too deeply or it is too large.
    pub(super) fn build(input: &Input<'_>, cfg: &Cfg, syntax: &[Syntax<'_>]) -> Option<Self> {
        let found: Vec<Accesses> = syntax.iter().map(|&syntax| accesses::of_node(syntax, input)).collect();
        let too_deep = found.iter().any(|accesses| accesses.too_deep);
        if too_deep { None } else { Self::new(input.parameters, cfg, found) }
    }

    fn new(parameters: &ast::Parameters, cfg: &Cfg, found: Vec<Accesses>) -> Option<Self> {
        let own = scope::parameters(parameters).chain(found.iter().flat_map(|accesses| &accesses.declared));
        let own: Vec<QName> = own.map(QName::from).collect();
        let written = found.iter().flat_map(|accesses| &accesses.writes).map(|write| &write.name);
        let read = found.iter().flat_map(|accesses| accesses.reads.iter().chain(&accesses.captures));
        let (names, ranks) = Names::new(own.iter().chain(written).chain(read));
        let (rows, columns) = (found.len(), names.len());
        let limit = MAX_BITS / rows.max(1);
        let bindings: usize = found.iter().map(|accesses| accesses.writes.len()).sum();
        if columns + bindings > limit {
            return None;
        }
        let mut activity = Self {
            tracks_paths: columns + definitions(&found, &names, &ranks, limit) <= limit,
            reads: BitMatrix::new(rows, columns),
            binds: BitMatrix::new(rows, columns),
            deletes: BitMatrix::new(rows, columns),
            effects: Vec::new(),
            effect_start: vec![0],
            captures: Vec::new(),
            handlers: Vec::new(),
            scope: Scope::declared(parameters, &found),
            names,
        };
        for (row, accesses) in found.into_iter().enumerate() {
            activity.add(row, accesses, &ranks);
        }
        activity.collect_handlers(cfg);
        activity.complete_scope();
        Some(activity)
    }

    /// Returns the activity of an opaque function, of which only the parameters are known.
    pub(super) fn opaque(parameters: &ast::Parameters, cfg: &Cfg) -> Self {
        let nothing = cfg.nodes().map(|_| Accesses::default()).collect();
        Self::new(parameters, cfg, nothing).unwrap_or_default()
    }

    /// Returns the id of the name, or of its longest prefix that has definitions in this function.
    pub(super) fn tracked(&self, name: &QName) -> Option<NameId> {
        let id = Some(name).filter(|name| self.tracks_paths || name.is_simple());
        id.and_then(|name| self.names.id(name)).or_else(|| self.tracked(&name.parent()?))
    }

    /// Returns the longer names that a binding of `bound` also redefines: `a.b` for `a`.
    pub(super) fn dependents(&self, bound: NameId) -> impl Iterator<Item = NameId> + '_ {
        self.tracks_paths.then(|| self.names.dependents(bound)).into_iter().flatten()
    }

    fn add(&mut self, row: usize, accesses: Accesses, ranks: &Ranks) {
        for name in accesses.reads.iter().filter_map(|name| ranks.of(name)) {
            self.reads.insert(row, name.0);
        }
        let captures: Vec<NameId> = accesses.captures.iter().filter_map(|name| ranks.of(name)).collect();
        for name in &captures {
            self.reads.insert(row, name.0);
        }
        if !captures.is_empty() {
            self.captures.push(Capture { node: NodeId(row as u32), names: captures });
        }
        // `d[i] = v` may also bind other items of `d`. The binding of `d[i]` itself is added below.
        let items = accesses.items.into_iter().filter(|_| self.tracks_paths);
        for (container, range) in items.collect::<Vec<_>>() {
            let own = accesses.writes.iter().find(|write| write.range == range);
            for name in self.other_items(&container, own.map(|write| &write.name)) {
                let kind = DefKind::Item;
                self.effects.push(Effect { name, kind, range, value: None, certain: false });
            }
        }
        for write in accesses.writes {
            let Some(name) = ranks.of(&write.name) else { continue };
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

    /// Fills in the local, free and captured names of the scope.
    fn complete_scope(&mut self) {
        let simple = |id: NameId| {
            self.names.get(id).filter(|name| name.is_simple()).map(|name| name.root_name().clone())
        };
        let (closures, own): (Vec<&Effect>, Vec<&Effect>) =
            self.effects.iter().partition(|effect| effect.kind == DefKind::Closure);
        let bound = own.iter().filter_map(|effect| simple(effect.name));
        let scope = &mut self.scope;
        let locals: Vec<Name> = bound.filter(|name| !scope.is_declared_outer(name)).collect();
        scope.locals.extend(locals);
        let closures = closures.iter().filter_map(|effect| simple(effect.name));
        scope.closure_written = closures.filter(|name| scope.is_local(name)).collect();
        let captures = self.captures.iter().flat_map(|capture| &capture.names);
        let captures = captures.filter_map(|&name| simple(name));
        scope.captured = captures.filter(|name| scope.is_local(name)).collect();
        // Simple names suffice: a read of `a.b` is also a read of `a`.
        let mut read = self.reads.empty_row();
        for row in 0..self.effect_start.len() - 1 {
            bits::union(&mut read, self.reads.row(row));
        }
        let read = bits::iter(&read).filter_map(|id| simple(NameId(id)));
        scope.free = read.filter(|name| !scope.is_local(name)).collect();
    }

    /// Returns the other tracked items of `container` that a binding of the item `own` may also bind, because their
    /// keys may be equal. If `own` is `None`, the key is computed.
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

    fn collect_handlers(&mut self, cfg: &Cfg) {
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

    pub(super) fn empty_row(&self) -> Vec<u64> {
        self.reads.empty_row()
    }

    pub(super) fn binds_row(&self, node: NodeId) -> &[u64] {
        self.binds.row(node.index())
    }

    pub(super) fn deletes_row(&self, node: NodeId) -> &[u64] {
        self.deletes.row(node.index())
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

    /// Returns the names that a node reads, except those that it has definitely bound before the read.
    pub fn reads(&self, node: NodeId) -> NameSet<'_> {
        NameSet::new(&self.names, self.reads.row(node.index()))
    }

    /// Returns the names that a node binds or may bind.
    pub fn modifies(&self, node: NodeId) -> NameSet<'_> {
        NameSet::new(&self.names, self.binds.row(node.index()))
    }

    pub fn deletes(&self, node: NodeId) -> NameSet<'_> {
        NameSet::new(&self.names, self.deletes.row(node.index()))
    }

    /// Returns the names that the statements of a block read, including names that the block binds first.
    pub fn reads_in(&self, cfg: &Cfg, block: Block) -> NameSet<'_> {
        self.gather(cfg, block, &self.reads)
    }

    pub fn modifies_in(&self, cfg: &Cfg, block: Block) -> NameSet<'_> {
        self.gather(cfg, block, &self.binds)
    }

    pub fn deletes_in(&self, cfg: &Cfg, block: Block) -> NameSet<'_> {
        self.gather(cfg, block, &self.deletes)
    }

    /// Returns a statement and all statements within it, as a block.
    pub fn extent(cfg: &Cfg, stmt: StmtId) -> Block {
        let extent = cfg.extent(stmt);
        Block { kind: BlockKind::Body, start: extent.start, end: extent.end }
    }

    /// Returns the union of the rows of a block. The name `e` of an `except E as e` in the block is not included,
    /// because Python deletes it at the end of the clause.
    fn gather(&self, cfg: &Cfg, block: Block, rows: &BitMatrix) -> NameSet<'_> {
        let mut members = rows.empty_row();
        let mut row = rows.empty_row();
        for &node in cfg.nodes_in(block) {
            let Some(step) = cfg.node(node) else { continue };
            if matches!(step.kind, NodeKind::HandlerName(_) | NodeKind::Unbind(_)) {
                continue;
            }
            if self.handlers.is_empty() {
                bits::union(&mut members, rows.row(node.index()));
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

/// Counts the definitions. A binding counts once for each name that it redefines. Counting stops above `limit`.
fn definitions(found: &[Accesses], names: &Names, ranks: &Ranks, limit: usize) -> usize {
    let mut count = 0;
    for accesses in found {
        let written = accesses.writes.iter().map(|write| &write.name);
        let containers = accesses.items.iter().map(|(container, _)| container);
        for id in written.chain(containers).filter_map(|name| ranks.of(name)) {
            count += names.dependents_cost(id);
            if count > limit {
                return count;
            }
        }
    }
    count
}
