//! Lowers nodes of a graph to a program.
//!
//! A function returns `None` if the node cannot be lowered. Then the segment ends before this node.

mod added_products;
mod arena;
mod borrowed_items;
mod composites;
mod constants;
mod control;
mod creation;
mod elementwise;
mod emit;
mod in_place_results;
mod indexing;
mod input_products;
mod joined_lists;
mod lists;
mod losses;
mod multiply_add;
mod operands;
mod outputs;
mod products;
mod raises;
mod rearranging;
mod reductions;
mod scalars;
mod scatter;
mod selection;
mod views;
mod whole;

use ag_graph::ir::arithmetic::Kind;
use ag_graph::ir::{Device, Function, Layout, MemoryFormat, Node, Op, Operand, TensorType, Value};
use ag_graph::liveness::NodeLife;
use rustc_hash::{FxHashMap, FxHashSet};

use self::added_products::Addition;
use self::arena::Arena;
use self::input_products::Remainder;
use self::lists::ListItem;
use crate::dtype::Element;
use crate::options::Options;
use crate::pass::Fired;
use crate::program::{CONSTANTS, ListRegister, Number, Operation, Program, Register, Step};
use crate::segment::{Input, Layouts, Segment};
use crate::view::{BufferId, View};

pub use self::whole::{Unsupported, whole};

/// The maximum number of nodes of a segment.
const MAX_NODES: usize = 20_000;

/// The minimum number of operators for which a segment is worth its overhead.
pub const MIN_OPERATORS: usize = 2;

/// Returns the longest segment that starts at the first of these nodes of a region.
pub fn segment(
    function: &Function,
    nodes: &[Node],
    lives: &[NodeLife],
    layouts: &Layouts,
    options: Options,
) -> Option<Segment> {
    let mut lowering = Lowering::new(function, layouts, options);
    // The values of the nodes so far that are used later and cannot leave the segment.
    let mut held: FxHashSet<Value> = FxHashSet::default();
    let (mut length, mut operators) = (0, 0);
    for (index, (node, life)) in nodes.iter().zip(lives).take(MAX_NODES).enumerate() {
        if lowering.node(node, life).is_none() {
            break;
        }
        held.extend(node.outputs.iter().filter(|value| !lowering.can_leave(node, **value)));
        for value in life.operands.iter().chain(&life.after) {
            held.remove(value);
        }
        if held.is_empty() {
            (length, operators) = (index + 1, lowering.operators);
        }
    }
    (length > 0 && operators >= options.fewest).then_some(())?;
    // Lowers the nodes of the segment again: the first lowering has also lowered nodes after its end.
    let (nodes, lives) = (&nodes[..length], &lives[..length]);
    let mut lowering = Lowering::new(function, layouts, options);
    nodes.iter().zip(lives).try_for_each(|(node, life)| lowering.node(node, life))?;
    lowering.finish(nodes, lives)
}

/// The representation of a value in a program.
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
    /// The operation of the current node.
    operation: u32,
    arena: Arena,
    /// The representation of each value, and the number of `if`s that were open at its definition.
    items: FxHashMap<Value, (Item, usize)>,
    inputs: Vec<(Value, Input)>,
    input_bases: Vec<Result<u32, Register>>,
    /// Buffers that the current node needs.
    temporaries: Vec<BufferId>,
    /// For each open `if`, the values from outside whose last use is in a branch.
    dead: Vec<FxHashSet<Value>>,
    /// The number of operators that emitted steps. Operators in loops count twice.
    operators: usize,
    options: Options,
    fired: Fired,
    /// The number of open loops and branches.
    depth: usize,
    /// The bases of borrowed items, with the lists that they are in.
    borrowed: FxHashMap<u32, ListRegister>,
    /// The values that are borrowed items and are used later.
    borrowers: Vec<Value>,
    /// The start of the current basic block: this step and the following ones are neither jumps nor, except for the
    /// first, targets of jumps.
    last_jump: u32,
    /// The number of values in each list register that are used later.
    list_users: FxHashMap<ListRegister, u32>,
    /// Recent steps that multiply, with the buffers of their results.
    multiplications: Vec<(u32, BufferId)>,
    /// The last steps that are products, with the buffers of their results.
    products: Vec<(u32, BufferId)>,
    additions: Vec<Addition>,
    /// The buffers of tensors that join the items of a list, outside of loops and branches.
    joined: Vec<BufferId>,
    /// The lists that are created outside of loops and branches.
    outer_lists: Vec<ListRegister>,
    /// The products whose first parts have been computed for several iterations. The key is the result of the product.
    remainders: FxHashMap<Value, Remainder>,
    /// The bases that are addresses in the buffer of a group. The buffer is not freed before the end of the loop.
    group_bases: FxHashMap<u32, BufferId>,
    /// The nodes that are not lowered because of `remainders`: slices and joined tensors. Each node is represented by
    /// its first result.
    skipped: FxHashSet<Value>,
    /// The values whose last use is as an operand of the current node, and which are only one operand of it.
    dying: Vec<Value>,
    /// The memory of the results of open branches and of the values that open loops carry.
    slot_buffers: FxHashSet<BufferId>,
    /// Values whose last use is in a skipped node of the innermost loop. They stay until the end of the iteration.
    held: Vec<Value>,
}

impl<'a> Lowering<'a> {
    fn new(function: &'a Function, layouts: &'a Layouts, options: Options) -> Self {
        let program = Program { bases: CONSTANTS + 1, ..Program::default() };
        Self {
            function,
            layouts,
            program,
            operation: 0,
            arena: Arena::default(),
            items: FxHashMap::default(),
            inputs: Vec::new(),
            input_bases: Vec::new(),
            temporaries: Vec::new(),
            dead: Vec::new(),
            operators: 0,
            options,
            fired: Fired::default(),
            depth: 0,
            borrowed: FxHashMap::default(),
            borrowers: Vec::new(),
            last_jump: 0,
            list_users: FxHashMap::default(),
            multiplications: Vec::new(),
            products: Vec::new(),
            additions: Vec::new(),
            joined: Vec::new(),
            outer_lists: Vec::new(),
            remainders: FxHashMap::default(),
            group_bases: FxHashMap::default(),
            skipped: FxHashSet::default(),
            held: Vec::new(),
            dying: Vec::new(),
            slot_buffers: FxHashSet::default(),
        }
    }

    /// Lowers a node. `None` if it cannot run natively.
    fn node(&mut self, node: &Node, life: &NodeLife) -> Option<()> {
        if node.outputs.first().is_some_and(|output| self.skipped.contains(output)) {
            self.held.extend(life.operands.iter().chain(&life.after));
            return Some(());
        }
        self.program.operations.push(Operation { name: name_of(node), span: node.span });
        let outer = std::mem::replace(&mut self.operation, self.program.operations.len() as u32 - 1);
        match &node.op {
            Op::Operator(operator) => {
                let steps = self.next();
                self.dying = last_uses(node, life);
                self.operator(operator.in_aten()?, node)?;
                self.operators += usize::from(self.next() > steps);
            }
            Op::If | Op::While | Op::For => {
                self.return_items(None)?;
                self.depth += 1;
                match &node.op {
                    Op::If => self.branch(node, life)?,
                    Op::While => self.while_loop(node, life)?,
                    _ => self.for_loop(node, life)?,
                }
                self.depth -= 1;
            }
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
            Op::Raise(_) | Op::Assert => self.raise(node)?,
            _ => return None,
        }
        for buffer in std::mem::take(&mut self.temporaries) {
            self.arena.release(buffer);
        }
        self.drop_values(&life.operands);
        self.drop_values(&life.after);
        if let Op::Operator(operator) = &node.op {
            let name = operator.in_aten()?;
            // `torch.add(a, b, alpha=2)` has a kernel with three operands, which the passes do not fuse.
            let is_scaled = matches!(name, "add.Tensor" | "sub.Tensor" | "add.Scalar" | "sub.Scalar")
                && node.operands.get(2) != Some(&Operand::Int(1));
            if !is_scaled && !self.fuse_multiplication(name, node) {
                self.note_addition(name, node);
            }
        }
        self.operation = outer;
        Some(())
    }

    fn operator(&mut self, name: &str, node: &Node) -> Option<()> {
        self.view_operator(name, node)
            .or_else(|| self.elementwise_operator(name, node))
            .or_else(|| self.product_operator(name, node))
            .or_else(|| self.reduction_operator(name, node))
            .or_else(|| self.composite_operator(name, node))
            .or_else(|| self.creation_operator(name, node))
            .or_else(|| self.constant_operator(name, node))
            .or_else(|| self.rearranging_operator(name, node))
            .or_else(|| self.loss_operator(name, node))
            .or_else(|| self.selection_operator(name, node))
            .or_else(|| self.indexing_operator(name, node))
            .or_else(|| self.scatter_operator(name, node))
    }

    fn define(&mut self, value: Value, item: Item) {
        if let Item::Tensor(View { buffer: Some(buffer), .. }) = &item {
            self.arena.retain(*buffer);
        }
        if let Item::Tensor(view) = &item
            && self.is_borrowed(view)
        {
            self.borrowers.push(value);
        }
        if let Item::List(list, _) = &item {
            *self.list_users.entry(*list).or_default() += 1;
        }
        self.items.insert(value, (item, self.dead.len()));
    }

    /// Frees the memory of values after their last use.
    fn drop_values(&mut self, values: &[Value]) {
        for value in values {
            self.borrowers.retain(|borrower| borrower != value);
            let Some((item, depth)) = self.items.get(value) else { continue };
            let item = match item {
                Item::Tensor(View { buffer: Some(buffer), .. }) => Ok(*buffer),
                Item::List(list, _) => Err(*list),
                _ => continue,
            };
            let is_outside = *depth < self.dead.len();
            match (self.dead.last_mut(), item) {
                // Both branches of an `if` may use a value last.
                (Some(dead), _) if is_outside => {
                    dead.insert(*value);
                }
                (_, Ok(buffer)) => self.arena.release(buffer),
                (_, Err(list)) => self.drop_list(list),
            }
        }
    }

    /// Frees the memory of a list after the last use of a value in its register. In loops, where a step would cost more
    /// than it gains, and for lists of lists, the memory stays with the register.
    fn drop_list(&mut self, list: ListRegister) {
        let Some(users) = self.list_users.get_mut(&list) else { return };
        *users = users.saturating_sub(1);
        if *users == 0 && self.depth == 0 {
            self.step(Step::DropList { list });
        }
    }
}

/// Returns the values whose last use is as an operand of a node, and which are only one operand of it.
fn last_uses(node: &Node, life: &NodeLife) -> Vec<Value> {
    let uses = |value: &Value| {
        let mut uses = 0;
        for operand in &node.operands {
            operand.values(&mut |other| uses += usize::from(other == value));
        }
        uses
    };
    life.operands.iter().copied().filter(|value| uses(value) == 1).collect()
}

/// Returns the name of an operation, for listings and errors.
fn name_of(node: &Node) -> Box<str> {
    match &node.op {
        Op::Scalar(scalar) => format!("scalar.{}", scalar.text()).into(),
        Op::Raise(class) => raises::described(class, &node.operands),
        Op::Assert => raises::described("AssertionError", node.operands.get(1..).unwrap_or_default()),
        Op::Call(_) => "a call of a recursive function".into(),
        Op::Python(_) | Op::Start(_) => "a call of Python".into(),
        Op::TupleGet(_) => "tuple.get".into(),
        op => op.name().unwrap_or_default().into(),
    }
}

/// Returns whether torch's result of an elementwise operator on this tensor has the strides of a contiguous tensor.
fn keeps_layout(view: &View, sizes: &[usize]) -> bool {
    view.has_torch_layout && (view.sizes != sizes || view.is_contiguous())
}

/// Returns whether a dtype argument is missing or equals the dtype of the result.
fn is_dtype(operand: Option<&Operand>, element: Element) -> bool {
    match operand {
        None | Some(Operand::None) => true,
        Some(Operand::DType(dtype)) => *dtype == element.dtype(),
        _ => false,
    }
}

/// Returns the dtype and the sizes of a tensor type. `None` if the dtype is not supported, a size is not known, or the
/// tensor is not on the CPU.
fn known(ty: &TensorType) -> Option<(Element, Vec<usize>)> {
    let sizes = ty.sizes()?.into_iter().map(|size| usize::try_from(size).ok()).collect::<Option<Vec<_>>>()?;
    (ty.device == Device::Cpu).then_some((Element::of(ty.dtype)?, sizes))
}

/// Returns the integers of a list of literals.
fn ints(operand: &Operand) -> Option<Vec<i64>> {
    let Operand::List(items) = operand else { return None };
    items.iter().map(|item| if let Operand::Int(value) = item { Some(*value) } else { None }).collect()
}

/// Returns whether the optional arguments `dtype, layout, device, pin_memory` of an operator are supported: only the
/// CPU and the strided layout are.
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
