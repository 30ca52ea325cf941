//! Loop batching: replaces a `for` whose iterations are independent by operators that compute all iterations at once.
//!
//! ```python
//! for play in range(20):              # s: f32[1, 4] becomes f32[20, 1, 4]
//!     s = starts[play]
//!     for t in range(100):
//!         s = torch.tanh(s @ a)
//!         rewards.append(s[0, 2])
//! ```
//!
//! In a loop over small tensors, calls of kernels take more time than the kernels. A kernel of a batched loop does the
//! work of all iterations, and a product with one row becomes a product with a row for each iteration. Sums and
//! products may round differently.
//!
//! Loops are batched while a graph is built, before gradients of their results are requested, so that the backward pass
//! is batched too. A loop stays as it is if
//!
//! - an iteration uses a result of an earlier iteration; exceptions are tensors to which each iteration adds
//!   (`loss = loss + f(x)`), lists to which each iteration appends the same number of tensors, and values that are
//!   assigned before they are used;
//! - a condition or a number of iterations in it depends on a tensor;
//! - a node has an effect, or its operator has no rule;
//! - its tensors are so large that batching is not faster.
//!
//! The modules:
//!
//! - `building`: the loops that a builder emits
//! - `lane`: how the batched loop represents a value of the body
//! - `control`: nested loops and branches; `list`: lists; `scalar`: numbers; `rules`: operators, one file per family
//! - `output`: the results of the loop

mod building;
mod control;
mod lane;
mod list;
mod output;
mod rules;
mod scalar;

use std::collections::HashMap;

pub use self::building::{LoopBatching, Mode};

use self::lane::Lane;
use crate::ir::arithmetic::range_length;
use crate::ir::graph::{Node, Region, Span, Value, ValueInfo, type_of};
use crate::ir::op::Op;
use crate::ir::operand::Operand;
use crate::ir::types::{Device, Dim, TensorType, Type};

/// The maximum number of elements of a batched tensor. Larger tensors do not fit into a core's L2 cache, and kernels
/// already take most of the time of a loop over them.
const MOST_ELEMENTS: u64 = 1 << 15;
const MOST_ITERATIONS: u64 = 1 << 12;

/// The name by which `ag.disable_passes` switches loop batching off.
pub const NAME: &str = "loop-batching";

/// A batched loop.
#[derive(Debug)]
pub struct Batched {
    /// The nodes that replace the loop.
    pub nodes: Vec<Node>,
    /// The results of the loop.
    pub outputs: Vec<Value>,
    /// The lists among the results that were empty before the loop, each with a tensor whose rows are the items that
    /// the loop has appended.
    pub rows: Vec<(Value, Value)>,
}

/// Returns the batched form of a loop. `None` if it cannot be batched; then `values` has no additional values. `is_empty`
/// returns whether a list is known to be empty.
pub fn batch(values: &mut Vec<ValueInfo>, node: &Node, is_empty: &dyn Fn(Value) -> bool) -> Option<Batched> {
    let count = values.len();
    let batched = Batching::new(values, node).and_then(|mut batching| batching.run(node, is_empty));
    if batched.is_none() {
        values.truncate(count);
    }
    batched
}

struct Batching<'a> {
    values: &'a mut Vec<ValueInfo>,
    /// The number of iterations.
    iterations: u64,
    lanes: HashMap<Value, Lane>,
    /// The nodes of the innermost region so far.
    nodes: Vec<Node>,
    /// The source range of the node that is being batched, and whether gradients are enabled there.
    span: Option<Span>,
    grad: bool,
    /// Whether a tensor is batched. If none is, the loop stays as it is.
    has_batched: bool,
}

impl<'a> Batching<'a> {
    fn new(values: &'a mut Vec<ValueInfo>, node: &Node) -> Option<Self> {
        let (Op::For, [body]) = (&node.op, &node.regions[..]) else { return None };
        let [Operand::Int(start), Operand::Int(stop), Operand::Int(step @ 1..), ..] = node.operands[..]
        else {
            return None;
        };
        let iterations = range_length(start, stop, step)?;
        (2..=MOST_ITERATIONS).contains(&iterations).then_some(())?;
        let index = *body.params.first()?;
        let lanes = HashMap::from([(index, Lane::Index { start, step })]);
        let Node { span, grad, .. } = *node;
        Some(Self { values, iterations, lanes, nodes: Vec::new(), span, grad, has_batched: false })
    }

    fn run(&mut self, node: &Node, is_empty: &dyn Fn(Value) -> bool) -> Option<Batched> {
        let body = &node.regions[0];
        for (place, start) in node.operands[3..].iter().enumerate() {
            let lane = self.carried(body, place, start)?;
            self.lanes.insert(body.params[1 + place], lane);
        }
        self.region(body)?;
        (self.span, self.grad) = (node.span, node.grad);
        let (mut outputs, mut rows) = (Vec::new(), Vec::new());
        for (place, start) in node.operands[3..].iter().enumerate() {
            let ty = self.values[node.outputs[place].index()].ty.clone();
            let lane = self.lane(&body.results[place])?;
            let output = self.output(place, lane, start, &ty, is_empty, &mut rows)?;
            outputs.push(output);
        }
        self.has_batched.then(|| Batched { nodes: std::mem::take(&mut self.nodes), outputs, rows })
    }

    /// Returns the lane of a carried value at the start of an iteration.
    fn carried(&mut self, body: &Region, place: usize, start: &Operand) -> Option<Lane> {
        let param = body.params[1 + place];
        if body.results[place] == Operand::Value(param) {
            return Some(Lane::Same(start.clone()));
        }
        match self.values[param.index()].ty.clone() {
            Type::List(item) => self.new_list(&item, &[], Some(place)),
            _ => Some(Lane::Carried { place, sum: None }),
        }
    }

    fn region(&mut self, region: &Region) -> Option<()> {
        region.nodes.iter().try_for_each(|node| self.node(node))
    }

    fn node(&mut self, node: &Node) -> Option<()> {
        (self.span, self.grad) = (node.span, node.grad);
        match node.op {
            Op::If => return self.branch(node),
            Op::For | Op::While => return self.nested_loop(node),
            _ if node.op.has_effect() => return None,
            _ => {}
        }
        let lanes = node.operands.iter().map(|operand| self.lane(operand)).collect::<Option<Vec<_>>>()?;
        // Later nodes may append a batched tensor to an empty list, so the list is batched from the start.
        let is_empty_list = matches!(node.op, Op::ListNew) && lanes.is_empty();
        if is_empty_list && self.list(node, &lanes).is_some() {
            return Some(());
        }
        let same: Option<Vec<Operand>> = lanes.iter().map(Lane::same).collect();
        if let Some(operands) = same {
            // All iterations compute the same, so one computation is enough.
            self.nodes.push(Node { operands, ..node.clone() });
            for output in &node.outputs {
                self.lanes.insert(*output, Lane::Same((*output).into()));
            }
            return Some(());
        }
        match &node.op {
            Op::Operator(operator) => self.operator(operator.in_aten()?, node, &lanes),
            Op::Scalar(scalar) => self.scalar(*scalar, node, &lanes),
            _ => self.list(node, &lanes),
        }
    }

    /// Returns the lane of an operand. A tree that contains a batched value has the lane `Tree`.
    fn lane(&self, operand: &Operand) -> Option<Lane> {
        match operand {
            Operand::Value(value) => Some(match self.lanes.get(value) {
                Some(lane) => lane.clone(),
                // A value from outside of the loop.
                None => Lane::Same(operand.clone()),
            }),
            Operand::List(items) => {
                let lanes = items.iter().map(|item| self.lane(item)).collect::<Option<Vec<_>>>()?;
                let same: Option<Vec<Operand>> = lanes.iter().map(Lane::same).collect();
                Some(same.map_or(Lane::Tree(lanes), |items| Lane::Same(Operand::List(items))))
            }
            _ => Some(Lane::Same(operand.clone())),
        }
    }

    /// Returns the type of a tensor of one iteration for all iterations.
    fn batched_type(&self, ty: &Type) -> Option<TensorType> {
        let tensor = ty.tensor()?;
        let elements =
            tensor.sizes()?.iter().try_fold(self.iterations, |all, size| all.checked_mul(*size))?;
        (elements <= MOST_ELEMENTS && tensor.device == Device::Cpu).then_some(())?;
        let mut shape = vec![Dim::Known(self.iterations)];
        shape.extend(tensor.shape.as_ref()?);
        Some(TensorType { shape: Some(shape), ..tensor.clone() })
    }

    fn ty(&self, operand: &Operand) -> Type {
        type_of(self.values, operand)
    }

    /// Returns the sizes of a tensor, which must all be known.
    fn sizes(&self, operand: &Operand) -> Option<Vec<u64>> {
        self.ty(operand).tensor()?.sizes()
    }

    fn value(&mut self, ty: Type) -> Value {
        let value = Value(u32::try_from(self.values.len()).unwrap_or(u32::MAX));
        self.values.push(ValueInfo { ty, name: None });
        value
    }

    fn emit(&mut self, op: Op, operands: Vec<Operand>, ty: Type) -> Value {
        let output = self.value(ty);
        let (span, grad) = (self.span, self.grad);
        self.nodes.push(Node { op, operands, outputs: vec![output], regions: Vec::new(), span, grad });
        output
    }

    /// Emits an ATen operator whose result is a tensor of the same dtype and device as `like` with these sizes.
    fn tensor(&mut self, name: &str, operands: Vec<Operand>, like: &TensorType, sizes: &[u64]) -> Value {
        let shape = Some(sizes.iter().copied().map(Dim::Known).collect());
        self.emit(Op::aten(name), operands, Type::Tensor(TensorType { shape, ..like.clone() }))
    }

    /// Emits a node with the operator, the literals and the attributes of the original one, whose result is batched.
    fn batched(&mut self, node: &Node, operands: Vec<Operand>) -> Option<()> {
        let [output] = node.outputs[..] else { return None };
        let ty = self.batched_type(&self.values[output.index()].ty)?;
        let value = self.value(Type::Tensor(ty));
        self.values[value.index()].name = self.values[output.index()].name.clone();
        self.nodes.push(Node { operands, outputs: vec![value], ..node.clone() });
        self.define_each(output, value)
    }

    fn define_each(&mut self, output: Value, value: Value) -> Option<()> {
        self.has_batched = true;
        self.lanes.insert(output, Lane::Each(value));
        Some(())
    }

    /// Returns the tensor of all iterations. A tensor that is the same in all iterations is expanded.
    fn each(&mut self, lane: &Lane) -> Option<Value> {
        match lane {
            Lane::Each(value) => Some(*value),
            Lane::Same(operand) => {
                let ty = self.batched_type(&self.ty(operand))?;
                let operands = vec![operand.clone(), size_list(&ty.sizes()?), false.into()];
                Some(self.emit(Op::aten("expand.default"), operands, Type::Tensor(ty)))
            }
            _ => None,
        }
    }
}

/// Returns sizes as the operand of an operator.
fn size_list(sizes: &[u64]) -> Operand {
    Operand::List(sizes.iter().map(|size| Operand::Int(size.cast_signed())).collect())
}
