//! Lowers nodes of a graph to a program.
//!
//! A function returns `None` if it cannot lower what it was given; the segment then ends before the node.

mod arena;
mod control;
mod creation;
mod elementwise;
mod lists;
mod losses;
mod products;
mod reductions;
mod scalars;
mod views;

use ag_graph::ir::arithmetic::Kind;
use ag_graph::ir::{Device, Function, Layout, MemoryFormat, Node, Op, Operand, TensorType, Value};
use ag_graph::liveness::NodeLife;
use rustc_hash::{FxHashMap, FxHashSet};

use self::arena::Arena;
use self::lists::ListItem;
use crate::dtype::Element;
use crate::kernels::elementwise::{self as kernels, Kernel};
use crate::program::{ARENA, CONSTANTS, Elementwise, ListRegister, Number, Outer, Program, Register, Step};
use crate::view::{BufferId, Place, View, contiguous, extent};

/// The most nodes of a segment. Finding its end takes time in proportion to its length, several times.
const MOST_NODES: usize = 1_000;

/// The most elements of a tensor that a step computes. From here on, the cost of calling libtorch is small
/// compared with the work.
const MOST_ELEMENTS: usize = 8_192;

/// The most elements of a function such as `exp` or a softmax, whose kernels here are slower than those of libtorch.
const MOST_OF_FUNCTIONS: usize = 1_024;

/// The fewest operators for which a segment is worth its overhead.
pub const FEWEST_OPERATORS: usize = 2;

/// Consecutive nodes of a region that run natively.
#[derive(Debug)]
pub struct Segment {
    /// The number of nodes.
    pub nodes: usize,
    /// The values from outside that it reads.
    pub inputs: Vec<(Value, Input)>,
    /// The values that it defines and that are used after it.
    pub outputs: Vec<(Value, Output)>,
    /// The tensors that it writes.
    pub tensors: Vec<NewTensor>,
    pub(crate) program: Program,
    /// For each input, the base of a tensor or the register of a number.
    pub(crate) input_bases: Vec<Result<u32, Register>>,
    /// The base of each tensor that it writes.
    pub(crate) tensor_bases: Vec<u32>,
    /// The outputs that are numbers, in order.
    pub(crate) numbers: Vec<Number>,
}

impl Segment {
    /// The number of steps.
    pub fn len(&self) -> usize {
        self.program.steps.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A tensor with these sizes and strides (in elements).
    Tensor(Element, Vec<usize>, Vec<usize>),
    Number(Kind),
}

/// A tensor that a segment writes. Strides are in elements.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTensor {
    pub element: Element,
    pub sizes: Vec<usize>,
    pub strides: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// The tensor with this index in `Segment::tensors`.
    Tensor(usize),
    View(OutputView),
    Number(Kind),
}

/// A view of a tensor that other values share: what `torch.as_strided` makes.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputView {
    pub of: Base,
    pub sizes: Vec<usize>,
    pub strides: Vec<usize>,
    /// In elements.
    pub offset: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// An index into `Segment::inputs`.
    Input(usize),
    /// An index into `Segment::tensors`.
    Tensor(usize),
}

/// The strides of values in elements. A value that is missing is expected to be contiguous.
pub type Layouts = FxHashMap<Value, Vec<usize>>;

/// The longest segment that starts at the first of these nodes of a region and has at least `fewest` operators.
pub fn segment(
    function: &Function,
    nodes: &[Node],
    lives: &[NodeLife],
    layouts: &Layouts,
    fewest: usize,
) -> Option<Segment> {
    let mut limit = nodes.len().min(MOST_NODES);
    loop {
        let mut lowering = Lowering::new(function, layouts);
        let mut length = 0;
        while length < limit && lowering.try_node(&nodes[length], &lives[length]) {
            length += 1;
        }
        if length == 0 || lowering.operators < fewest {
            return None;
        }
        match lowering.finish(&nodes[..length], &lives[..length]) {
            Ok(segment) => return Some(segment),
            // A value that cannot leave the segment: it ends before the node that defines the value.
            Err(node) => limit = node,
        }
    }
}

/// What a value is in a program.
#[derive(Debug, Clone)]
enum Item {
    Tensor(View),
    Number(Number, Kind),
    List(ListRegister, ListItem),
}

struct Lowering<'a> {
    function: &'a Function,
    layouts: &'a Layouts,
    program: Program,
    arena: Arena,
    /// What each value is, and the number of branches that were open at its definition.
    items: FxHashMap<Value, (Item, usize)>,
    /// The values in the order of their definition.
    order: Vec<Value>,
    inputs: Vec<(Value, Input)>,
    input_bases: Vec<Result<u32, Register>>,
    /// Buffers that the current node needs.
    temporaries: Vec<BufferId>,
    /// For each open `if`, values from outside that a branch has used last.
    dead: Vec<FxHashSet<Value>>,
    /// The number of operators that libtorch would execute otherwise. Those in loops count twice.
    operators: usize,
}

impl<'a> Lowering<'a> {
    fn new(function: &'a Function, layouts: &'a Layouts) -> Self {
        let program = Program { bases: CONSTANTS + 1, ..Program::default() };
        Self {
            function,
            layouts,
            program,
            arena: Arena::default(),
            items: FxHashMap::default(),
            order: Vec::new(),
            inputs: Vec::new(),
            input_bases: Vec::new(),
            temporaries: Vec::new(),
            dead: Vec::new(),
            operators: 0,
        }
    }

    /// Lowers a node. If that fails, the program is as before.
    fn try_node(&mut self, node: &Node, life: &NodeLife) -> bool {
        let steps = self.program.steps.len();
        let (inputs, values) = (self.inputs.len(), self.order.len());
        let operators = self.operators;
        if self.node(node, life).is_some() {
            return true;
        }
        self.program.steps.truncate(steps);
        self.inputs.truncate(inputs);
        self.input_bases.truncate(inputs);
        for value in self.order.drain(values..) {
            self.items.remove(&value);
        }
        self.operators = operators;
        false
    }

    fn node(&mut self, node: &Node, life: &NodeLife) -> Option<()> {
        match &node.op {
            Op::Operator(operator) => {
                self.operators += 1;
                self.operator(operator.in_aten()?, node)?;
            }
            Op::If => self.branch(node, life)?,
            Op::While => self.while_loop(node, life)?,
            Op::For => self.for_loop(node, life)?,
            Op::Scalar(_) | Op::Item | Op::Size => self.scalar(node)?,
            Op::Overwritten => {
                let after = self.tensor(&node.operands[1])?;
                self.define(node.outputs[0], Item::Tensor(after));
            }
            Op::ListNew
            | Op::ListFilled
            | Op::ListAppend
            | Op::ListGet
            | Op::ListSet
            | Op::ListPop
            | Op::ListLen => self.list(node, life)?,
            _ => return None,
        }
        for buffer in std::mem::take(&mut self.temporaries) {
            self.arena.release(buffer);
        }
        self.drop_values(&life.operands);
        self.drop_values(&life.after);
        Some(())
    }

    fn operator(&mut self, name: &str, node: &Node) -> Option<()> {
        self.view_operator(name, node)
            .or_else(|| self.elementwise_operator(name, node))
            .or_else(|| self.product_operator(name, node))
            .or_else(|| self.reduction_operator(name, node))
            .or_else(|| self.creation_operator(name, node))
            .or_else(|| self.loss_operator(name, node))
    }

    fn define(&mut self, value: Value, item: Item) {
        if let Item::Tensor(View { buffer: Some(buffer), .. }) = &item {
            self.arena.retain(*buffer);
        }
        self.items.insert(value, (item, self.dead.len()));
        self.order.push(value);
    }

    /// Frees the memory of values after their last use.
    fn drop_values(&mut self, values: &[Value]) {
        for value in values {
            let Some((item, depth)) = self.items.get(value) else { continue };
            let Item::Tensor(View { buffer: Some(buffer), .. }) = item else { continue };
            let buffer = *buffer;
            let is_outside = *depth < self.dead.len();
            // Both branches of an `if` may use a value last.
            match self.dead.last_mut() {
                Some(dead) if is_outside => {
                    dead.insert(*value);
                }
                _ => self.arena.release(buffer),
            }
        }
    }

    /// The tensor of an operand: a value of the segment, or an input.
    fn tensor(&mut self, operand: &Operand) -> Option<View> {
        let value = operand.value()?;
        if let Some((item, _)) = self.items.get(&value) {
            return match item {
                Item::Tensor(view) => Some(view.clone()),
                _ => None,
            };
        }
        let (element, sizes) = known(self.function.ty(value).tensor()?)?;
        let strides = self.layouts.get(&value).cloned().unwrap_or_else(|| contiguous(&sizes));
        // Offsets in a program have 32 bits.
        u32::try_from(extent(&sizes, &strides)?.checked_mul(element.size())?).ok()?;
        let base = self.new_base();
        let view = View {
            place: Place { base, offset: 0 },
            element,
            strides: strides.clone(),
            sizes: sizes.clone(),
            buffer: None,
            has_torch_layout: true,
        };
        self.input(value, Input::Tensor(element, sizes, strides), Ok(base), Item::Tensor(view.clone()));
        Some(view)
    }

    fn number(&mut self, operand: &Operand) -> Option<(Number, Kind)> {
        Some(match operand {
            Operand::Int(value) => (Number::Const(value.cast_unsigned()), Kind::Int),
            Operand::Float(value) => (Number::Const(value.to_bits()), Kind::Float),
            Operand::Bool(value) => (Number::Const(u64::from(*value)), Kind::Bool),
            Operand::Value(value) => {
                if let Some((item, _)) = self.items.get(value) {
                    return match item {
                        Item::Number(number, kind) => Some((*number, *kind)),
                        _ => None,
                    };
                }
                let kind = Kind::of(self.function.ty(*value))?;
                let register = self.new_register();
                let number = Number::Register(register);
                self.input(*value, Input::Number(kind), Err(register), Item::Number(number, kind));
                (number, kind)
            }
            _ => return None,
        })
    }

    fn input(&mut self, value: Value, input: Input, base: Result<u32, Register>, item: Item) {
        self.inputs.push((value, input));
        self.input_bases.push(base);
        self.define(value, item);
    }

    fn new_base(&mut self) -> u32 {
        self.program.bases += 1;
        self.program.bases - 1
    }

    fn new_register(&mut self) -> Register {
        self.program.registers += 1;
        Register(self.program.registers - 1)
    }

    fn new_list(&mut self) -> ListRegister {
        self.program.lists += 1;
        ListRegister(self.program.lists - 1)
    }

    fn step(&mut self, step: Step) -> u32 {
        self.program.steps.push(step);
        (self.program.steps.len() - 1) as u32
    }

    fn next(&self) -> u32 {
        self.program.steps.len() as u32
    }

    /// A contiguous tensor in the arena, which lives until the end of the node unless it becomes a value.
    fn allocate(&mut self, element: Element, sizes: &[usize]) -> Option<View> {
        let view = self.reserve(element, sizes)?;
        self.temporaries.extend(view.buffer);
        Some(view)
    }

    /// A contiguous tensor in the arena, which the caller releases.
    fn reserve(&mut self, element: Element, sizes: &[usize]) -> Option<View> {
        let count: usize = sizes.iter().product();
        if count == 0 || count > MOST_ELEMENTS {
            return None;
        }
        let (buffer, offset) = self.arena.allocate(count * element.size());
        Some(View {
            place: Place { base: ARENA, offset: u32::try_from(offset).ok()? },
            element,
            sizes: sizes.to_vec(),
            strides: contiguous(sizes),
            buffer: Some(buffer),
            has_torch_layout: true,
        })
    }

    /// A constant without dimensions.
    fn constant(&mut self, element: Element, number: f64, bits: u64) -> View {
        let bits = match element {
            Element::F32 => u64::from((number as f32).to_bits()),
            Element::F64 => number.to_bits(),
            Element::I64 => bits,
            Element::Bool => u64::from(number != 0.0),
        };
        let offset = (self.program.constants.len() * 8) as u32;
        self.program.constants.push(bits);
        View {
            place: Place { base: CONSTANTS, offset },
            element,
            sizes: Vec::new(),
            strides: Vec::new(),
            buffer: None,
            has_torch_layout: true,
        }
    }

    /// A number as a tensor without dimensions.
    fn number_as(&mut self, operand: &Operand, element: Element) -> Option<View> {
        let (number, kind) = self.number(operand)?;
        if kind == Kind::Float && !element.is_floating() || kind != Kind::Bool && element == Element::Bool {
            return None;
        }
        match number {
            Number::Const(bits) => {
                let value =
                    if kind == Kind::Float { f64::from_bits(bits) } else { bits.cast_signed() as f64 };
                // The table of constants is little-endian, like the processors with kernels.
                Some(self.constant(element, value, bits))
            }
            number => {
                let out = self.allocate(element, &[])?;
                let is_float = kind == Kind::Float;
                self.step(Step::Fill { out: out.place, element, number, is_float });
                Some(out)
            }
        }
    }

    /// An operand as a tensor of a dtype: a converted tensor, or a number.
    fn operand_as(&mut self, operand: &Operand, element: Element) -> Option<View> {
        match operand {
            Operand::Value(value) if self.function.ty(*value).tensor().is_some() => {
                let view = self.tensor(operand)?;
                self.converted(view, element)
            }
            operand => self.number_as(operand, element),
        }
    }

    fn converted(&mut self, view: View, element: Element) -> Option<View> {
        if view.element == element {
            return Some(view);
        }
        let kernel = kernels::convert(view.element, element)?;
        self.map(kernel, element, &[&view])
    }

    /// Dtype and sizes of the only result of a node.
    fn result(&self, node: &Node) -> Option<(Element, Vec<usize>)> {
        let [output] = node.outputs[..] else { return None };
        known(self.function.ty(output).tensor()?)
    }

    /// Defines the only result of a node, if it has the type that the graph says.
    fn define_result(&mut self, node: &Node, view: View) -> Option<()> {
        let (element, sizes) = self.result(node)?;
        (element == view.element && sizes == view.sizes).then_some(())?;
        self.define(node.outputs[0], Item::Tensor(view));
        Some(())
    }

    /// A contiguous tensor with the same elements.
    fn as_contiguous(&mut self, view: &View) -> Option<View> {
        if view.is_contiguous() {
            return Some(view.clone());
        }
        let out = self.allocate(view.element, &view.sizes)?;
        self.copy(&out, view)?;
        Some(out)
    }

    /// Copies elements. `out` need not be contiguous.
    fn copy(&mut self, out: &View, from: &View) -> Option<()> {
        self.emit(kernels::copy(from.element), out, &[from])
    }

    /// Emits an elementwise step. Operands are broadcast to the result.
    fn emit(&mut self, kernel: Kernel, out: &View, operands: &[&View]) -> Option<()> {
        let mut views = Vec::with_capacity(3);
        for operand in operands {
            views.push(operand.expand(&out.sizes)?);
        }
        // Dimensions, innermost first; adjacent ones are merged where all strides allow it.
        let mut dims: Vec<(usize, [usize; 4])> = Vec::new();
        let mut order: Vec<usize> = (0..out.rank()).rev().filter(|dim| out.sizes[*dim] != 1).collect();
        order.sort_by_key(|dim| out.strides[*dim]);
        for dim in order {
            let mut strides = [0, 0, 0, out.strides[dim]];
            for (stride, view) in strides.iter_mut().zip(&views) {
                *stride = view.strides[dim];
            }
            match dims.last_mut() {
                Some((size, inner)) if inner.iter().zip(&strides).all(|(a, b)| a * *size == *b) => {
                    *size *= out.sizes[dim];
                }
                _ => dims.push((out.sizes[dim], strides)),
            }
        }
        let (count, strides) = if dims.is_empty() { (1, [1; 4]) } else { dims.remove(0) };
        let bytes = |slot: usize| views.get(slot).map_or(0, |view| view.element.size());
        let bytes = [bytes(0), bytes(1), bytes(2), out.element.size()];
        let start = self.program.outer.len() as u32;
        for (size, strides) in dims.iter().rev() {
            let strides = [0, 1, 2, 3].map(|slot| (strides[slot] * bytes[slot]) as u32);
            self.program.outer.push(Outer { size: *size as u32, strides });
        }
        let nowhere = Place { base: CONSTANTS, offset: 0 };
        let places = [0, 1, 2].map(|slot| views.get(slot).map_or(nowhere, |view| view.place));
        self.step(Step::Elementwise(Elementwise {
            kernel,
            out: out.place,
            operands: places,
            count: count as u32,
            strides: strides.map(|stride| stride as u32),
            outer: (start, dims.len() as u32),
        }));
        Some(())
    }

    /// Ends the segment. The error is the index of the node that defines a value that cannot leave it.
    fn finish(mut self, nodes: &[Node], lives: &[NodeLife]) -> Result<Segment, usize> {
        let mut dead = FxHashSet::default();
        lives.iter().for_each(|life| dead.extend(life.operands.iter().chain(&life.after).copied()));
        let mut leaving = Vec::new();
        // The number of values in each buffer that leave.
        let mut sharers: FxHashMap<BufferId, u32> = FxHashMap::default();
        for (index, node) in nodes.iter().enumerate() {
            for value in node.outputs.iter().filter(|value| !dead.contains(value)) {
                let Some((item, _)) = self.items.get(value).cloned() else { return Err(index) };
                if let Item::Tensor(View { buffer: Some(buffer), .. }) = item {
                    *sharers.entry(buffer).or_default() += 1;
                }
                leaving.push((index, *value, item));
            }
        }
        let (mut outputs, mut numbers) = (Vec::new(), Vec::new());
        let (mut tensors, mut tensor_bases) = (Vec::new(), Vec::new());
        let mut shared: FxHashMap<BufferId, usize> = FxHashMap::default();
        for (index, value, item) in leaving {
            let output = match item {
                Item::Number(number, kind) => {
                    numbers.push(number);
                    Output::Number(kind)
                }
                Item::Tensor(view) if !view.has_torch_layout => return Err(index),
                Item::Tensor(view) => {
                    let is_alone = view.buffer.is_some_and(|buffer| sharers[&buffer] == 1);
                    if is_alone && view.is_dense() && view.place.base == ARENA {
                        tensor_bases.push(self.leave(&view).ok_or(index)?);
                        let View { element, sizes, strides, .. } = view;
                        tensors.push(NewTensor { element, sizes, strides });
                        Output::Tensor(tensors.len() - 1)
                    } else {
                        let (of, start) = match view.buffer {
                            _ if view.place.base != ARENA => {
                                let base =
                                    self.input_bases.iter().position(|base| *base == Ok(view.place.base));
                                (Base::Input(base.ok_or(index)?), 0)
                            }
                            // The whole buffer is a tensor, of which the values are views.
                            Some(buffer) => {
                                let (offset, bytes) = self.arena.extent(buffer);
                                let count = bytes / view.element.size();
                                let tensor = match shared.get(&buffer) {
                                    Some(tensor) => *tensor,
                                    None => {
                                        let whole = View {
                                            place: Place { base: ARENA, offset: offset as u32 },
                                            sizes: vec![count],
                                            strides: vec![1],
                                            ..view.clone()
                                        };
                                        tensor_bases.push(self.leave(&whole).ok_or(index)?);
                                        let View { element, sizes, strides, .. } = whole;
                                        tensors.push(NewTensor { element, sizes, strides });
                                        shared.insert(buffer, tensors.len() - 1);
                                        tensors.len() - 1
                                    }
                                };
                                (Base::Tensor(tensor), offset)
                            }
                            None => return Err(index),
                        };
                        let offset = (view.place.offset as usize - start) / view.element.size();
                        Output::View(OutputView { of, sizes: view.sizes, strides: view.strides, offset })
                    }
                }
                Item::List(..) => return Err(index),
            };
            outputs.push((value, output));
        }
        let Self { mut program, arena, inputs, input_bases, .. } = self;
        program.arena = arena.bytes();
        let nodes = nodes.len();
        Ok(Segment { nodes, inputs, outputs, tensors, program, input_bases, tensor_bases, numbers })
    }

    /// Copies a tensor to a new base, which it returns.
    fn leave(&mut self, view: &View) -> Option<u32> {
        let base = self.new_base();
        let out = View { place: Place { base, offset: 0 }, ..view.clone() };
        self.copy(&out, view)?;
        Some(base)
    }
}

/// Whether torch gives the result of an elementwise operator on this tensor the strides of a contiguous one.
fn keeps_layout(view: &View, sizes: &[usize]) -> bool {
    view.has_torch_layout && (view.sizes != sizes || view.is_contiguous())
}

/// Dtype and sizes of a tensor type, if both are supported and known.
fn known(ty: &TensorType) -> Option<(Element, Vec<usize>)> {
    let sizes = ty.sizes()?.into_iter().map(|size| usize::try_from(size).ok()).collect::<Option<Vec<_>>>()?;
    (ty.device == Device::Cpu).then_some((Element::of(ty.dtype)?, sizes))
}

/// The integers of a list of literals.
fn ints(operand: &Operand) -> Option<Vec<i64>> {
    let Operand::List(items) = operand else { return None };
    items.iter().map(|item| if let Operand::Int(value) = item { Some(*value) } else { None }).collect()
}

/// Whether the arguments `dtype, layout, device, pin_memory` that an operator may have are supported: the CPU
/// and strides.
fn is_plain(operands: &[Operand]) -> bool {
    operands.iter().all(|operand| match operand {
        Operand::Device(device) => *device == Device::Cpu,
        Operand::Layout(layout) => *layout == Layout::Strided,
        Operand::MemoryFormat(format) => {
            matches!(format, MemoryFormat::Contiguous | MemoryFormat::Preserve)
        }
        Operand::DType(_) | Operand::None | Operand::Bool(false) => true,
        _ => false,
    })
}

/// Whether a dtype argument is missing or the dtype of the result.
fn is_dtype(operand: Option<&Operand>, element: Element) -> bool {
    match operand {
        None | Some(Operand::None) => true,
        Some(Operand::DType(dtype)) => *dtype == element.dtype(),
        _ => false,
    }
}
