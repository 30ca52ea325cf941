//! Branches and loops.

use ag_graph::ir::arithmetic::Kind;
use ag_graph::ir::{Node, Op, Operand, Region, Value};
use ag_graph::liveness::{NodeLife, RegionLife};
use rustc_hash::FxHashSet;

use super::lists::{ListItem, is_last_use};
use super::{Item, Lowering, known};
use crate::program::{ListRegister, Number, Register, Step};
use crate::view::View;

/// The storage of a branch result or a loop-carried value.
#[derive(Debug, Clone)]
enum Slot {
    Tensor(View),
    Number(Register, Kind),
    List(ListRegister, ListItem),
}

impl Slot {
    fn item(&self) -> Item {
        match self.clone() {
            Self::Tensor(view) => Item::Tensor(view),
            Self::Number(register, kind) => Item::Number(Number::Register(register), kind),
            Self::List(list, item) => Item::List(list, item),
        }
    }
}

impl Lowering<'_> {
    /// Lowers an `if`.
    pub(super) fn branch(&mut self, node: &Node, life: &NodeLife) -> Option<()> {
        let (condition, _) = self.number(&node.operands[0])?;
        let mut slots = self.slots(&node.outputs)?;
        let unless = self.step(Step::JumpIfFalse { condition, to: 0 });
        self.dead.push(FxHashSet::default());
        let mut leave = None;
        for (index, (region, life)) in node.regions.iter().zip(&life.regions).enumerate() {
            if index == 1 {
                self.patch(unless);
            }
            self.region(region, life)?;
            // A branch that raises an exception has no results.
            if !region.nodes.iter().any(|node| matches!(node.op, Op::Raise(_))) {
                self.assign(&mut slots, &region.results, &life.results)?;
            }
            self.drop_values(&life.results);
            if index == 0 {
                leave = Some(self.step(Step::Jump { to: 0 }));
            }
        }
        self.patch(leave?);
        let dead: Vec<Value> = self.dead.pop()?.into_iter().collect();
        self.drop_values(&dead);
        self.close(&node.outputs, slots);
        Some(())
    }

    /// Lowers a `while`.
    pub(super) fn while_loop(&mut self, node: &Node, life: &NodeLife) -> Option<()> {
        let ([condition, body], [condition_life, body_life]) = (&node.regions[..], &life.regions[..]) else {
            return None;
        };
        let mut slots = self.slots(&body.params)?;
        self.assign(&mut slots, &node.operands, &life.operands)?;
        self.bind(&condition.params, &slots);
        self.bind(&body.params, &slots);
        let operators = self.operators;
        let head = self.target();
        self.region(condition, condition_life)?;
        let exit = self.exit_unless(condition, condition_life)?;
        self.region(body, body_life)?;
        self.assign(&mut slots, &body.results, &body_life.results)?;
        self.drop_values(&body_life.results);
        self.step(Step::JumpBack { to: head, number: 0 });
        self.patch(exit);
        self.operators += self.operators - operators;
        self.close(&node.outputs, slots);
        Some(())
    }

    /// Lowers a `for`.
    pub(super) fn for_loop(&mut self, node: &Node, life: &NodeLife) -> Option<()> {
        let (body, body_life) = (node.regions.first()?, life.regions.first()?);
        let mut bounds = [Number::Const(0); 3];
        for (bound, operand) in bounds.iter_mut().zip(&node.operands) {
            *bound = self.widened(operand, Kind::Int)?;
        }
        let [start, stop, by] = bounds;
        let (index, left, step) = (self.new_register(), self.new_register(), self.new_register());
        let groups = self.open_groups(node);
        self.step(Step::ForStart { index, left, step, start, stop, by });
        let mut slots = self.slots(&body.params[1..])?;
        self.assign(&mut slots, &node.operands[3..], &life.operands)?;
        self.define(body.params[0], Item::Number(Number::Register(index), Kind::Int));
        self.bind(&body.params[1..], &slots);
        let operators = self.operators;
        let head = self.target();
        let mut exits = vec![self.step(Step::ForTest { left, to: 0 })];
        if let (Some(test), Some(life)) = (node.regions.get(1), life.regions.get(1)) {
            self.bind(&test.params, &slots);
            self.region(test, life)?;
            exits.push(self.exit_unless(test, life)?);
        }
        let held = std::mem::take(&mut self.held);
        if let Some(groups) = &groups {
            self.compute_group(node, groups, left)?;
        }
        self.region(body, body_life)?;
        if let Some(groups) = &groups {
            self.next_in_group(groups)?;
        }
        let held = std::mem::replace(&mut self.held, held);
        self.assign(&mut slots, &body.results, &body_life.results)?;
        self.drop_values(&body_life.results);
        self.drop_values(&held);
        self.step(Step::ForNext { index, left, step, to: head, number: 0 });
        exits.into_iter().for_each(|exit| self.patch(exit));
        self.operators += self.operators - operators;
        self.close(&node.outputs, slots);
        if let Some(groups) = groups {
            self.close_groups(groups);
        }
        Some(())
    }

    fn region(&mut self, region: &Region, life: &RegionLife) -> Option<()> {
        self.drop_values(&life.entry);
        region.nodes.iter().zip(&life.nodes).try_for_each(|(node, life)| self.node(node, life))
    }

    /// Emits a jump out of the loop, for the case that the result of this region is false.
    fn exit_unless(&mut self, region: &Region, life: &RegionLife) -> Option<u32> {
        let (condition, _) = self.number(region.results.first()?)?;
        self.drop_values(&life.results);
        Some(self.step(Step::JumpIfFalse { condition, to: 0 }))
    }

    /// Sets the target of a jump emitted earlier to the next step.
    pub(super) fn patch(&mut self, jump: u32) {
        let here = self.next();
        self.last_jump = here;
        match &mut self.program.steps[jump as usize] {
            Step::Jump { to } | Step::JumpIfFalse { to, .. } | Step::ForTest { to, .. } => *to = here,
            _ => {}
        }
    }

    /// Returns the index of the next step, as the target of a jump.
    pub(super) fn target(&mut self) -> u32 {
        self.last_jump = self.next();
        self.last_jump
    }

    /// Reserves storage for these values. `close` releases it.
    fn slots(&mut self, values: &[Value]) -> Option<Vec<Slot>> {
        let function = self.function;
        let mut slots = Vec::with_capacity(values.len());
        for value in values {
            let ty = function.ty(*value);
            slots.push(if let Some(tensor) = ty.tensor() {
                let (element, sizes) = known(tensor)?;
                let view = self.reserve(element, &sizes)?;
                self.slot_buffers.extend(view.buffer);
                Slot::Tensor(view)
            } else if let Some(kind) = Kind::of(ty) {
                Slot::Number(self.new_register(), kind)
            } else {
                Slot::List(self.new_list(), ListItem::of_list(ty)?)
            });
        }
        Some(slots)
    }

    fn bind(&mut self, values: &[Value], slots: &[Slot]) {
        for (value, slot) in values.iter().zip(slots) {
            self.define(*value, slot.item());
        }
    }

    /// Defines the results of a branch or loop, and releases the storage reserved by `slots`.
    fn close(&mut self, outputs: &[Value], slots: Vec<Slot>) {
        self.bind(outputs, &slots);
        for slot in slots {
            if let Slot::Tensor(View { buffer: Some(buffer), .. }) = slot {
                self.slot_buffers.remove(&buffer);
                self.arena.release(buffer);
            }
        }
    }

    /// Assigns operands to slots simultaneously, as in `a, b = b, a`.
    fn assign(&mut self, slots: &mut [Slot], operands: &[Operand], dies: &[Value]) -> Option<()> {
        (slots.len() == operands.len()).then_some(())?;
        let moves_lists = slots.iter().any(|slot| matches!(slot, Slot::List(..)));
        // A source that is in another slot, or is a part of its own slot, is copied to a temporary first.
        let mut sources = Vec::with_capacity(slots.len());
        for (index, operand) in operands.iter().enumerate() {
            // `a, b = a, a` copies a list.
            let is_once = operands.iter().filter(|other| *other == operand).count() == 1;
            let is_last = is_once && is_last_use(operand, dies);
            let source = self.source(&slots[index], operand, is_last)?;
            let is_borrowed =
                matches!(&source, Source::Tensor(from) if moves_lists && self.is_borrowed(from));
            let reads_slot = is_borrowed
                || slots.iter().enumerate().any(|(other, slot)| match (&source, slot) {
                    (Source::Tensor(from), Slot::Tensor(to)) => {
                        let is_itself =
                            other == index && from.place == to.place && from.strides == to.strides;
                        from.buffer == to.buffer && !is_itself
                    }
                    (Source::Number(Number::Register(from)), Slot::Number(to, _)) => {
                        from == to && other != index
                    }
                    (Source::List(from, _), Slot::List(to, _)) => from == to && other != index,
                    _ => false,
                });
            sources.push(if reads_slot { self.moved_aside(source)? } else { source });
        }
        for ((slot, source), operand) in slots.iter_mut().zip(sources).zip(operands) {
            match (slot, source) {
                (Slot::Tensor(to), Source::Tensor(from)) => {
                    to.has_torch_layout &= from.has_torch_layout && from.is_contiguous();
                    let is_once = operands.iter().filter(|other| *other == operand).count() == 1;
                    let is_last = is_once && is_last_use(operand, dies);
                    if from.buffer != to.buffer && !(is_last && self.compute_in_place(to, &from)) {
                        self.copy(&to.clone(), &from)?;
                    }
                }
                (Slot::Number(to, _), Source::Number(from)) => {
                    if from != Number::Register(*to) {
                        self.step(Step::CopyScalar { out: *to, a: from });
                    }
                }
                (Slot::List(to, _), Source::List(from, is_last)) => {
                    if from != *to {
                        self.step(Step::MoveList { out: *to, a: from, is_last });
                    }
                }
                _ => return None,
            }
        }
        Some(())
    }

    fn source(&mut self, slot: &Slot, operand: &Operand, is_last: bool) -> Option<Source> {
        Some(match slot {
            Slot::Tensor(to) => {
                let from = self.tensor(operand)?;
                (from.element == to.element && from.sizes == to.sizes).then_some(())?;
                Source::Tensor(from)
            }
            Slot::Number(_, kind) => Source::Number(self.widened(operand, *kind)?),
            Slot::List(_, item) => {
                let (from, found) = self.known_list(operand.value()?)?;
                (found == *item).then_some(())?;
                Source::List(from, is_last)
            }
        })
    }

    /// Copies a value to new memory or a new register, so that it can be read after the original is overwritten.
    fn moved_aside(&mut self, source: Source) -> Option<Source> {
        Some(match source {
            Source::Tensor(from) => {
                let mut aside = self.allocate(from.element, &from.sizes)?;
                aside.has_torch_layout = from.has_torch_layout && from.is_contiguous();
                self.copy(&aside, &from)?;
                Source::Tensor(aside)
            }
            Source::Number(from) => {
                let aside = self.new_register();
                self.step(Step::CopyScalar { out: aside, a: from });
                Source::Number(Number::Register(aside))
            }
            Source::List(from, is_last) => {
                let aside = self.new_list();
                self.step(Step::MoveList { out: aside, a: from, is_last });
                Source::List(aside, true)
            }
        })
    }
}

enum Source {
    Tensor(View),
    Number(Number),
    /// The flag is `true` if the list is not used again.
    List(ListRegister, bool),
}
