//! Reaching definitions: the bindings that may determine the value of a name at a node.
//!
//! At the entry, every name has one definition: a parameter, a value from outside or, for a local variable,
//! *undefined*. `del x` is a definition after which `x` is undefined. A binding of `a` also defines `a.b`, because
//! `a.b` is then an attribute of another object.
//!
//! A binding that may not happen does not kill earlier definitions. Examples are a walrus in the right operand of
//! `and`, and the `nonlocal` binding of a nested function. A `nonlocal` binding is itself never killed, because the
//! nested function may be called at any time.
//!
//! ```python
//! x = 1
//! if c:
//!     x = 2
//! use(x)                     # x = 1 and x = 2 reach
//! c and (x := f())
//! use(x)                     # x = 1, x = 2 and x := f() reach
//! ```

use ruff_text_size::TextRange;

use super::accesses::DefKind;
use super::activity::Activity;
use super::bits::{self, BitMatrix};
use super::cfg::{self, Cfg, Edge, EdgeKind, NodeId};
use super::names::NameId;
use ag_syntax::qname::QName;

/// A definition of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Def {
    /// The bound name. A definition of `a.b` may be a binding of `a`.
    pub name: QName,
    pub kind: DefKind,
    /// The node of the binding; [`Cfg::ENTRY`] for definitions at the start of the function.
    pub node: NodeId,
    /// The range of the bound name. For a definition at the start of the function, the range of the function.
    pub range: TextRange,
    /// The range of the value's expression, if the syntax contains one: the right side of an assignment (for
    /// `a, b = x, y` the corresponding element, for `a, b = f()` none), the iterable of a `for`, the context of a
    /// `with`, or the subject of a `match`.
    pub value: Option<TextRange>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reaching {
    defs: Vec<Def>,
    /// The slots. A slot is a pair of a definition and a name that it defines. The slots of one name are consecutive.
    slots: Vec<u32>,
    slot_start: Vec<u32>,
    /// The definitions at each node, in the order in which they are evaluated.
    steps: Vec<Step>,
    step_start: Vec<u32>,
    /// The slots that reach each node.
    before: BitMatrix,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    name: NameId,
    slot: u32,
    certain: bool,
}

impl Reaching {
    pub(super) fn build(cfg: &Cfg, activity: &Activity) -> Self {
        let mut reaching = Self::collect(cfg, activity);
        reaching.solve(cfg);
        reaching
    }

    /// Collects the definitions and the steps of the nodes.
    fn collect(cfg: &Cfg, activity: &Activity) -> Self {
        let names = &activity.names;
        let mut defs = Vec::with_capacity(names.len() + activity.effects.len());
        // A definition as a tuple: (name, definition, node, certain).
        let mut slots: Vec<(NameId, u32, NodeId, bool)> = Vec::with_capacity(defs.capacity());
        let function = cfg.node(Cfg::ENTRY).map(|node| node.range).unwrap_or_default();
        for (id, name) in names.iter() {
            let kind = at_entry(activity, name);
            slots.push((id, defs.len() as u32, Cfg::ENTRY, true));
            defs.push(Def { name: name.clone(), kind, node: Cfg::ENTRY, range: function, value: None });
        }
        for (node, _) in cfg.nodes() {
            for effect in activity.effects_of(node) {
                let Some(name) = names.get(effect.name) else { continue };
                if activity.tracked(name) != Some(effect.name) {
                    continue;
                }
                let def = defs.len() as u32;
                let mut slot = |id| slots.push((id, def, node, effect.certain));
                slot(effect.name);
                activity.dependents(effect.name).for_each(slot);
                defs.push(Def {
                    name: name.clone(),
                    kind: effect.kind,
                    node,
                    range: effect.range,
                    value: effect.value,
                });
            }
        }
        slots.sort_by_key(|slot| slot.0);
        let slot_start: Vec<u32> = (0..=names.len() as u32)
            .map(|name| slots.partition_point(|slot| slot.0 < NameId(name)) as u32)
            .collect();
        let mut steps: Vec<(NodeId, Step)> = slots
            .iter()
            .enumerate()
            .map(|(index, &(name, _, node, certain))| (node, Step { name, slot: index as u32, certain }))
            .collect();
        // The definitions of one node are in the order in which they are evaluated.
        steps.sort_by_key(|(node, step)| (*node, slots[step.slot as usize].1));
        let step_start = (0..=cfg.node_count() as u32)
            .map(|node| steps.partition_point(|step| step.0 < NodeId(node)) as u32)
            .collect();
        Self {
            before: BitMatrix::new(cfg.node_count(), slots.len()),
            slots: slots.iter().map(|slot| slot.1).collect(),
            steps: steps.into_iter().map(|(_, step)| step).collect(),
            defs,
            slot_start,
            step_start,
        }
    }

    fn solve(&mut self, cfg: &Cfg) {
        let order = cfg.reverse_post_order();
        let mut rank = vec![0; order.len()];
        for (position, node) in order.iter().enumerate() {
            rank[node.index()] = position;
        }
        let mut after = self.before.empty_row();
        loop {
            let mut again = false;
            for (position, &node) in order.iter().enumerate() {
                if !cfg.is_reachable(node) {
                    break;
                }
                after.copy_from_slice(self.before.row(node.index()));
                self.transfer(node, &mut after);
                for edge in cfg.successors(node) {
                    let mut changed = bits::union(self.before.row_mut(edge.to.index()), &after);
                    if edge.kind == EdgeKind::Exception {
                        changed |= self.before.union_rows(edge.to.index(), node.index());
                    }
                    again |= changed && rank[edge.to.index()] <= position;
                }
            }
            if !again {
                return;
            }
        }
    }

    /// Applies the transfer function of a node: replaces the definitions before it by those after it.
    fn transfer(&self, node: NodeId, row: &mut [u64]) {
        for step in cfg::slice(&self.steps, &self.step_start, node.index()) {
            if step.certain {
                for slot in self.slots_of(step.name) {
                    if self.defs[self.slots[slot as usize] as usize].kind != DefKind::Closure {
                        bits::remove(row, slot);
                    }
                }
            }
            bits::insert(row, step.slot);
        }
    }

    fn slots_of(&self, name: NameId) -> std::ops::Range<u32> {
        match (self.slot_start.get(name.0 as usize), self.slot_start.get(name.0 as usize + 1)) {
            (Some(&from), Some(&to)) => from..to,
            _ => 0..0,
        }
    }

    /// Returns the definitions of `name` that reach `node`, in source order.
    pub(super) fn before(&self, node: NodeId, name: NameId) -> impl Iterator<Item = &Def> {
        self.among(self.before.row(node.index()), name)
    }

    /// Returns the definitions after any of the nodes, as a row for [`Reaching::among`].
    pub(super) fn leaving(&self, nodes: &[NodeId]) -> Vec<u64> {
        let mut all = self.before.empty_row();
        let mut after = self.before.empty_row();
        for &node in nodes {
            after.copy_from_slice(self.before.row(node.index()));
            self.transfer(node, &mut after);
            bits::union(&mut all, &after);
        }
        all
    }

    /// Returns the definitions on any of the edges, as a row for [`Reaching::among`].
    pub(super) fn along<'a>(&self, edges: impl Iterator<Item = &'a Edge>) -> Vec<u64> {
        let mut all = self.before.empty_row();
        for edge in edges {
            bits::union(&mut all, &self.leaving(&[edge.from]));
            if edge.kind == EdgeKind::Exception {
                bits::union(&mut all, self.before.row(edge.from.index()));
            }
        }
        all
    }

    /// Returns the definitions of `name` in `row`.
    pub(super) fn among<'a>(&'a self, row: &[u64], name: NameId) -> impl Iterator<Item = &'a Def> {
        self.slots_of(name).filter(|&slot| bits::contains(row, slot)).map(|slot| self.def(slot))
    }

    fn def(&self, slot: u32) -> &Def {
        &self.defs[self.slots[slot as usize] as usize]
    }

    /// Returns whether a definition of `name` at the node `at` reaches `node`.
    pub(super) fn reaches(&self, at: NodeId, name: NameId, node: NodeId) -> bool {
        self.before(node, name).any(|def| def.node == at)
    }

    /// Returns all definitions in the function, starting with those at its entry.
    pub fn definitions(&self) -> &[Def] {
        &self.defs
    }
}

fn at_entry(activity: &Activity, name: &QName) -> DefKind {
    let scope = activity.scope();
    if let Some(index) = scope.parameters.iter().position(|parameter| parameter == name.root_name()) {
        DefKind::Parameter(index as u32)
    } else if scope.is_local(name.root()) {
        DefKind::Undefined
    } else {
        DefKind::Outer
    }
}
