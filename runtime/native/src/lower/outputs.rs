//! The outputs of a segment: the values that are used after it, as tensors and numbers.

use ag_graph::ir::{Node, Op, Value};
use ag_graph::liveness::NodeLife;
use rustc_hash::{FxHashMap, FxHashSet};

use super::lists::ListItem;
use super::{Item, Lowering};
use crate::program::{ARENA, Number};
use crate::segment::{Base, NewList, NewTensor, Output, OutputView, Segment};
use crate::view::{BufferId, Place, View};

/// The maximum size in bytes of the items of a list that leaves a segment. Each item is copied to the list, and from
/// there to a tensor; for larger items, this takes longer than calls of libtorch.
const MAX_ITEM_BYTES: u32 = 1 << 12;

/// The owner of the memory of a tensor.
#[derive(Clone, Copy)]
enum Owner {
    /// An index into the inputs.
    Input(usize),
    Buffer(BufferId),
}

/// The outputs of a segment so far.
#[derive(Default)]
pub(super) struct Outputs {
    pub(super) values: Vec<(Value, Output)>,
    pub(super) numbers: Vec<Number>,
    pub(super) tensors: Vec<NewTensor>,
    pub(super) tensor_bases: Vec<u32>,
    lists: Vec<NewList>,
    /// For each buffer with several outputs, the tensor that holds the whole buffer. The outputs are views of this
    /// tensor.
    shared: FxHashMap<BufferId, usize>,
}

impl Lowering<'_> {
    /// Returns whether a result of a node can be an output: a number, a tensor with the same layout as torch's result, or
    /// a list of small tensors that a loop has made, as in `while x.norm() > 1: xs.append(x)`.
    pub(super) fn can_leave(&self, node: &Node, value: Value) -> bool {
        match self.items.get(&value) {
            Some((Item::Number(..), _)) => true,
            Some((Item::Tensor(view), _)) => view.has_torch_layout && self.owner(view).is_some(),
            Some((Item::List(_, item), _)) => {
                matches!(node.op, Op::While | Op::For)
                    && item.bytes().is_some_and(|bytes| bytes <= MAX_ITEM_BYTES)
            }
            None => false,
        }
    }

    fn owner(&self, view: &View) -> Option<Owner> {
        if view.place.base == ARENA {
            return view.buffer.map(Owner::Buffer);
        }
        self.input_bases.iter().position(|base| *base == Ok(view.place.base)).map(Owner::Input)
    }

    /// Ends the segment. `can_leave` must be true for all values that are used after it.
    pub(super) fn finish(mut self, nodes: &[Node], lives: &[NodeLife]) -> Option<Segment> {
        let mut dead = FxHashSet::default();
        lives.iter().for_each(|life| dead.extend(life.operands.iter().chain(&life.after).copied()));
        let mut leaving = Vec::new();
        // The number of outputs in each buffer.
        let mut sharers: FxHashMap<BufferId, u32> = FxHashMap::default();
        for value in nodes.iter().flat_map(|node| &node.outputs).filter(|value| !dead.contains(value)) {
            let item = self.items.get(value)?.0.clone();
            if let Item::Tensor(View { buffer: Some(buffer), .. }) = item {
                *sharers.entry(buffer).or_default() += 1;
            }
            leaving.push((*value, item));
        }
        let mut outputs = Outputs::default();
        for (value, item) in leaving {
            let output = match item {
                Item::Number(number, kind) => {
                    outputs.numbers.push(number);
                    Output::Number(kind)
                }
                Item::Tensor(view) => {
                    let is_alone = view.buffer.is_some_and(|buffer| sharers[&buffer] == 1);
                    self.output(&mut outputs, view, is_alone)?
                }
                Item::List(register, ListItem::Tensor(element, sizes)) => {
                    outputs.lists.push(NewList { element, sizes, register });
                    Output::List(outputs.lists.len() - 1)
                }
                Item::List(..) => return None,
            };
            outputs.values.push((value, output));
        }
        Some(self.into_segment(nodes.len(), outputs))
    }

    /// Returns the segment with these outputs. `nodes` is the number of its nodes.
    pub(super) fn into_segment(self, nodes: usize, outputs: Outputs) -> Segment {
        let Self { mut program, arena, inputs, input_bases, fired, .. } = self;
        program.arena = arena.bytes();
        program.inputs = input_bases.iter().filter_map(|base| base.ok()).collect();
        program.number_loops();
        let Outputs { values: outputs, numbers, tensors, tensor_bases, lists, .. } = outputs;
        Segment { nodes, inputs, outputs, tensors, lists, fired, program, input_bases, tensor_bases, numbers }
    }

    /// Returns the output for a tensor. `is_alone` is true if no other output is in the same buffer.
    fn output(&mut self, outputs: &mut Outputs, view: View, is_alone: bool) -> Option<Output> {
        let owner = self.owner(&view)?;
        if is_alone && view.is_dense() && matches!(owner, Owner::Buffer(_)) {
            return Some(Output::Tensor(self.new_tensor(outputs, view)?));
        }
        let (of, start) = match owner {
            Owner::Input(input) => (Base::Input(input), 0),
            Owner::Buffer(buffer) => {
                let (start, bytes) = self.arena.extent(buffer);
                let tensor = match outputs.shared.get(&buffer) {
                    Some(tensor) => *tensor,
                    None => {
                        let whole = View {
                            place: Place { base: ARENA, offset: u32::try_from(start).ok()? },
                            sizes: vec![bytes / view.element.size()],
                            strides: vec![1],
                            ..view
                        };
                        self.new_tensor(outputs, whole)?
                    }
                };
                outputs.shared.insert(buffer, tensor);
                (Base::Tensor(tensor), start)
            }
        };
        let offset = (view.place.offset as usize - start) / view.element.size();
        Some(Output::View(OutputView { of, sizes: view.sizes, strides: view.strides, offset }))
    }

    /// Makes a part of the arena a new tensor, which the caller of the segment creates.
    fn new_tensor(&mut self, outputs: &mut Outputs, view: View) -> Option<usize> {
        let base = self.new_base();
        if !self.join_in_place(&view, base) {
            let out = View { place: Place { base, offset: 0 }, ..view.clone() };
            self.copy(&out, &view)?;
        }
        outputs.tensor_bases.push(base);
        let View { element, sizes, strides, .. } = view;
        outputs.tensors.push(NewTensor { element, sizes, strides });
        Some(outputs.tensors.len() - 1)
    }
}
