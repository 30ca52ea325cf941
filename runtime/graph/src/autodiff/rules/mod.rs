//! Derivatives of ATen's operators: what arrives at the results, and what goes on to the operands.
//!
//! Operands are those of the operator's schema, in its order. A rule that does not hold for the operands that it finds
//! gives `None`, and torch is asked for the formula.

mod activation;
mod convolution;
mod elementwise;
mod indexing;
mod joining;
mod loss;
mod normalization;
mod product;
mod reduction;
mod view;

use super::activity::Activity;
use super::adjoint::Adjoints;
use super::emit::Emit;
use super::expression::Expr;
use crate::ir::graph::{Node, Value};
use crate::ir::op::Op;
use crate::ir::operand::Operand;
use crate::ir::types::{Dim, TensorType, Type};

type Derivative = fn(&mut Rule) -> Option<()>;

/// `f(g, a, b, y)`
type OfTwo = fn(Expr, Expr, Expr, Expr) -> Expr;

/// The gradients of a node's operands by the rule of its operator.
pub(super) fn apply(
    emit: &mut Emit,
    activity: &Activity,
    node: &Node,
    adjoints: &mut Adjoints,
) -> Option<Vec<(Value, Operand)>> {
    let Op::Operator(name) = &node.op else { return None };
    let name = name.strip_prefix("aten.")?;
    let derivative = elementwise::rule(name)
        .or_else(|| activation::rule(name))
        .or_else(|| product::rule(name))
        .or_else(|| reduction::rule(name))
        .or_else(|| view::rule(name))
        .or_else(|| joining::rule(name))
        .or_else(|| indexing::rule(name))
        .or_else(|| loss::rule(name))
        .or_else(|| normalization::rule(name))
        .or_else(|| convolution::rule(name))?;
    let mut rule = Rule { emit, activity, node, adjoints, given: Vec::new() };
    if rule.is_complex() {
        return None;
    }
    derivative(&mut rule)?;
    Some(rule.given)
}

/// One use of an operator.
struct Rule<'a, 'b> {
    emit: &'a mut Emit<'b>,
    activity: &'a Activity,
    node: &'a Node,
    adjoints: &'a mut Adjoints,
    given: Vec<(Value, Operand)>,
}

impl Rule<'_, '_> {
    /// Of complex numbers the derivatives are torch's.
    fn is_complex(&self) -> bool {
        let is_complex = |ty: &Type| {
            ty.tensor().is_some_and(|tensor| tensor.dtype.is_differentiable() && !tensor.dtype.is_floating())
        };
        let mut any = self.node.outputs.iter().any(|output| is_complex(self.emit.builder.ty(*output)));
        self.node.used(&mut |value| any |= is_complex(self.emit.builder.ty(*value)));
        any
    }

    fn operand(&self, index: usize) -> Operand {
        self.node.operands.get(index).cloned().unwrap_or(Operand::None)
    }

    fn x(&self, index: usize) -> Expr {
        self.operand(index).into()
    }

    fn output(&self, index: usize) -> Operand {
        self.node.outputs.get(index).map_or(Operand::None, |output| (*output).into())
    }

    fn y(&self) -> Expr {
        self.output(0).into()
    }

    /// What has arrived at a result.
    fn arrived(&mut self, index: usize) -> Option<Operand> {
        self.adjoints.get(self.emit, *self.node.outputs.get(index)?)
    }

    /// What has arrived at the first result. A rule that asks has nothing to say when only others are used.
    fn g(&mut self) -> Option<Expr> {
        self.arrived(0).map(Expr::from)
    }

    /// Whether nothing has arrived at the results from this one on.
    fn only_before(&mut self, index: usize) -> Option<()> {
        let outputs = self.node.outputs.get(index..).unwrap_or_default();
        (!outputs.iter().any(|output| self.adjoints.has(*output))).then_some(())
    }

    fn wants(&self, index: usize) -> bool {
        self.node.operands.get(index).is_some_and(|operand| self.activity.any(operand))
    }

    fn put(&mut self, expression: impl Into<Expr>) -> Operand {
        self.emit.put(expression)
    }

    /// The gradient of an operand, which has its shape.
    fn give(&mut self, index: usize, gradient: impl Into<Expr>) {
        let operand = self.operand(index);
        self.give_to(&operand, gradient);
    }

    fn give_to(&mut self, operand: &Operand, gradient: impl Into<Expr>) {
        let Operand::Value(value) = operand else { return };
        if !self.activity.is_active(*value) {
            return;
        }
        let gradient = self.put(gradient);
        let gradient = match self.emit.builder.ty(*value).clone() {
            Type::Tensor(wanted) => self.emit.converted(gradient, &wanted),
            _ => gradient,
        };
        self.given.push((*value, gradient));
    }

    /// The gradient of an operand that may have been broadcast.
    fn give_summed(&mut self, index: usize, gradient: impl Into<Expr>) -> Option<()> {
        if self.wants(index) {
            let gradient = self.put(gradient);
            let gradient = self.sum_to(gradient, index)?;
            self.give(index, gradient);
        }
        Some(())
    }

    /// `f(g, x, y)`
    fn unary(&mut self, derivative: fn(Expr, Expr, Expr) -> Expr) -> Option<()> {
        let g = self.g()?;
        self.give(0, derivative(g, self.x(0), self.y()));
        Some(())
    }

    /// For each of two operands.
    fn binary(&mut self, derivatives: [OfTwo; 2]) -> Option<()> {
        let g = self.g()?;
        for (index, derivative) in derivatives.into_iter().enumerate() {
            if self.wants(index) {
                let gradient = derivative(g.clone(), self.x(0), self.x(1), self.y());
                self.give_summed(index, gradient)?;
            }
        }
        Some(())
    }

    /// Sums over the dimensions that an operand does not have.
    fn sum_to(&mut self, gradient: Operand, index: usize) -> Option<Operand> {
        let target = self.operand(index);
        let (from, to) = (self.emit.tensor(&gradient), self.emit.tensor(&target));
        let wanted = to.shape.clone()?;
        let ty = TensorType { shape: to.shape, ..from.clone() };
        if wanted.is_empty() {
            return Some(match from.rank() {
                Some(0) => gradient,
                _ => self.put(Expr::typed("sum.default", vec![gradient.into(), Operand::None.into()], ty)),
            });
        }
        let given = from.shape?;
        let leading = given.len().checked_sub(wanted.len())?;
        let mut dims: Vec<usize> = (0..leading).collect();
        for (dim, size) in wanted.iter().enumerate() {
            match (size, given[leading + dim]) {
                (Dim::Known(1), Dim::Known(1)) => {}
                (Dim::Known(1), _) => dims.push(leading + dim),
                (Dim::Known(_), _) => {}
                (size, given) if *size == given && *size != Dim::Unknown => {}
                _ if self.is_alone(index, wanted.len() - dim) => {}
                _ => {
                    let sizes = self.emit.sizes(&target)?;
                    return Some(self.put(Expr::typed(
                        "sum_to_size.default",
                        vec![gradient.into(), sizes.into()],
                        ty,
                    )));
                }
            }
        }
        let mut sum = gradient;
        if !dims.is_empty() {
            let keeps = dims.len() > leading;
            let shape = given.iter().enumerate().filter(|(dim, _)| keeps || !dims.contains(dim));
            let shape = shape.map(|(dim, size)| if dims.contains(&dim) { Dim::Known(1) } else { *size });
            let summed = TensorType { shape: Some(shape.collect()), ..ty.clone() };
            let operands = vec![sum.into(), numbers(&dims).into(), keeps.into(), Operand::None.into()];
            sum = self.put(Expr::typed("sum.dim_IntList", operands, summed));
            if keeps && leading > 0 {
                let first: Vec<usize> = (0..leading).collect();
                sum = self.put(Expr::typed("squeeze.dims", vec![sum.into(), numbers(&first).into()], ty));
            }
        }
        Some(sum)
    }

    /// Whether no other operand, a tensor or sizes, can have stretched a dimension, counted from the last one.
    fn is_alone(&self, index: usize, from_end: usize) -> bool {
        if self.node.operands.iter().any(|operand| matches!(operand, Operand::List(_))) {
            return false;
        }
        let others = self.node.operands.iter().enumerate().filter(|(other, _)| *other != index);
        others.filter_map(|(_, operand)| operand.value()).all(|value| {
            let Type::Tensor(tensor) = self.emit.builder.ty(value) else { return true };
            let Some(shape) = &tensor.shape else { return false };
            shape.len() < from_end || shape[shape.len() - from_end] == Dim::Known(1)
        })
    }

    fn tensor(&self, index: usize) -> TensorType {
        self.emit.tensor(&self.operand(index))
    }

    fn rank(&self, index: usize) -> Option<usize> {
        self.tensor(index).rank()
    }

    /// The shape of an operand, as an operand.
    fn sizes(&mut self, index: usize) -> Option<Operand> {
        let operand = self.operand(index);
        self.emit.sizes(&operand)
    }

    fn zeros(&mut self, index: usize) -> Operand {
        let operand = self.operand(index);
        self.emit.filled_like("zeros", &operand)
    }

    fn is_none(&self, index: usize) -> bool {
        self.operand(index) == Operand::None
    }

    /// A literal number.
    fn int(&self, index: usize) -> Option<i64> {
        if let Operand::Int(number) = self.operand(index) { Some(number) } else { None }
    }

    fn number(&self, index: usize) -> Option<f64> {
        match self.operand(index) {
            Operand::Int(number) => Some(number as f64),
            Operand::Float(number) => Some(number),
            _ => None,
        }
    }

    fn truth(&self, index: usize) -> Option<bool> {
        if let Operand::Bool(truth) = self.operand(index) { Some(truth) } else { None }
    }

    fn ints(&self, index: usize) -> Option<Vec<i64>> {
        let Operand::List(items) = self.operand(index) else { return None };
        items.iter().map(|item| if let Operand::Int(number) = item { Some(*number) } else { None }).collect()
    }

    /// A dimension of the first operand, from its front.
    fn dim(&self, index: usize) -> Option<usize> {
        dimension(self.int(index)?, self.rank(0)?)
    }

    /// Dimensions of the first operand; all of them if none are named.
    fn dims(&self, index: usize) -> Option<Vec<usize>> {
        let rank = self.rank(0)?;
        let named = if self.is_none(index) { Vec::new() } else { self.ints(index)? };
        if named.is_empty() {
            return Some((0..rank).collect());
        }
        named.into_iter().map(|dim| dimension(dim, rank)).collect()
    }

    /// The shape of one type with the dtype and the device of what it is the gradient of.
    fn like(&self, index: usize, gradient: &Expr) -> TensorType {
        let shape = self.tensor(index).shape;
        match gradient {
            Expr::Operand(operand) => TensorType { shape, ..self.emit.tensor(operand) },
            Expr::Call(_) => TensorType { shape, ..self.tensor(index) },
        }
    }

    /// An operator whose result has the shape of an operand.
    fn shaped(&self, index: usize, name: &'static str, gradient: Expr, others: Vec<Expr>) -> Expr {
        let ty = self.like(index, &gradient);
        let mut operands = vec![gradient];
        operands.extend(others);
        Expr::typed(name, operands, ty)
    }
}

fn dimension(dim: i64, rank: usize) -> Option<usize> {
    let dim = if dim < 0 { dim + rank.max(1) as i64 } else { dim };
    usize::try_from(dim).ok().filter(|dim| *dim < rank.max(1))
}

fn numbers(dims: &[usize]) -> Operand {
    Operand::List(dims.iter().map(|dim| super::emit::int(*dim as u64)).collect())
}

fn none() -> Expr {
    Operand::None.into()
}
