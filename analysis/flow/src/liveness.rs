//! Liveness: the names that may be read before they are rebound.
//!
//! A read of `a.b` makes `a` and `a.b` live; a binding of `a` kills both. Names declared `global` or
//! `nonlocal` are live everywhere, because other functions may read them. A name captured by a nested
//! function is live wherever the definition of that function reaches, because the function may be called
//! there:
//!
//! ```python
//! def g(): return x
//! x = 2        # x is live after this statement
//! return g()
//! ```
//!
//! No other name is live at the end of the function.

use super::activity::Activity;
use super::bits::{self, BitMatrix};
use super::cfg::{Cfg, EdgeKind, NodeId, NodeKind};
use super::reaching::Reaching;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Liveness {
    before: BitMatrix,
    /// The names that are live everywhere.
    always: Vec<u64>,
}

impl Liveness {
    pub(super) fn build(cfg: &Cfg, activity: &Activity, reaching: &Reaching) -> Self {
        let (rows, columns) = (cfg.node_count(), activity.names.len());
        let mut killed = BitMatrix::new(rows, columns);
        let mut before = BitMatrix::new(rows, columns);
        let mut always = before.empty_row();
        for (id, name) in activity.names.iter() {
            if activity.scope.is_declared_outer(name.root()) {
                bits::insert(&mut always, id.0);
            }
        }
        let has_outer = always.iter().any(|word| *word != 0);
        for (node, step) in cfg.nodes() {
            let row = node.index();
            for effect in activity.effects_of(node).iter().filter(|effect| effect.certain) {
                killed.insert(row, effect.name.0);
                for longer in activity.dependents(effect.name) {
                    killed.insert(row, longer.0);
                }
            }
            bits::union(before.row_mut(row), activity.reads_row(node));
            if has_outer {
                bits::union(before.row_mut(row), &always);
            }
            // A captured name can be read only at a node that evaluates something.
            if !matches!(step.kind, NodeKind::Exit | NodeKind::Join) {
                for capture in &activity.captures {
                    let alive = activity
                        .effects_of(capture.node)
                        .iter()
                        .any(|effect| reaching.reaches(capture.node, effect.name, node));
                    for name in capture.names.iter().filter(|_| alive) {
                        before.insert(row, name.0);
                    }
                }
            }
        }
        let mut liveness = Self { before, always };
        liveness.solve(cfg, &killed);
        liveness
    }

    fn solve(&mut self, cfg: &Cfg, killed: &BitMatrix) {
        let mut after = self.before.empty_row();
        loop {
            let mut has_changed = false;
            for &node in cfg.reverse_post_order().iter().rev() {
                after.fill(0);
                for edge in cfg.successors(node) {
                    bits::union(&mut after, self.before.row(edge.to.index()));
                }
                for (word, killed) in after.iter_mut().zip(killed.row(node.index())) {
                    *word &= !killed;
                }
                // If the node raises an exception, its bindings may not have taken effect.
                for edge in cfg.successors(node).iter().filter(|edge| edge.kind == EdgeKind::Exception) {
                    bits::union(&mut after, self.before.row(edge.to.index()));
                }
                has_changed |= bits::union(self.before.row_mut(node.index()), &after);
            }
            if !has_changed {
                return;
            }
        }
    }

    pub(super) fn before(&self, node: NodeId) -> &[u64] {
        self.before.row(node.index())
    }

    pub(super) fn after(&self, cfg: &Cfg, node: NodeId) -> Vec<u64> {
        let mut after = self.always.clone();
        for edge in cfg.successors(node) {
            bits::union(&mut after, self.before.row(edge.to.index()));
        }
        after
    }
}
