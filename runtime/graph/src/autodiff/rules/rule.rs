//! The node that a rule differentiates: its operands, the gradients of its results, and how gradients are emitted.

use crate::autodiff::activity::Activity;
use crate::autodiff::adjoint::Adjoints;
use crate::autodiff::emit::{Emit, int};
use crate::autodiff::expression::Expr;
use crate::ir::graph::{Node, Value};
use crate::ir::operand::Operand;
use crate::ir::types::{self, Dim, TensorType, Type};

/// Sets the gradients of the operands. `None` if the rule does not apply.
pub(super) type Derivative = fn(&mut Rule) -> Option<()>;

/// Returns the gradient of an operand, given the gradient of the result, both operands and the result.
type BinaryDerivative = fn(Expr, Expr, Expr, Expr) -> Expr;

/// A node that is being differentiated by a rule.
pub(super) struct Rule<'a, 'b> {
    pub(super) emit: &'a mut Emit<'b>,
    pub(super) activity: &'a Activity,
    pub(super) node: &'a Node,
    pub(super) adjoints: &'a mut Adjoints,
    gradients: Vec<(Value, Operand)>,
}

impl<'a, 'b> Rule<'a, 'b> {
    pub(super) fn new(
        emit: &'a mut Emit<'b>,
        activity: &'a Activity,
        node: &'a Node,
        adjoints: &'a mut Adjoints,
    ) -> Self {
        Self { emit, activity, node, adjoints, gradients: Vec::new() }
    }

    /// Returns the gradients of the operands. `None` if the rule does not apply.
    pub(super) fn differentiate(mut self, derivative: Derivative) -> Option<Vec<(Value, Operand)>> {
        if self.is_complex() {
            return None;
        }
        derivative(&mut self)?;
        Some(self.gradients)
    }

    /// Returns whether an operand or result is complex. For these, torch's derivatives are used.
    pub(super) fn is_complex(&self) -> bool {
        let is_complex = |ty: &Type| {
            ty.tensor().is_some_and(|tensor| tensor.dtype.is_differentiable() && !tensor.dtype.is_floating())
        };
        let mut any = self.node.outputs.iter().any(|output| is_complex(self.emit.builder.ty(*output)));
        self.node.used(&mut |value| any |= is_complex(self.emit.builder.ty(*value)));
        any
    }

    pub(super) fn operand(&self, index: usize) -> Operand {
        self.node.operands.get(index).cloned().unwrap_or(Operand::None)
    }

    /// Returns an operand, for use in a derivative.
    pub(super) fn x(&self, index: usize) -> Expr {
        self.operand(index).into()
    }

    pub(super) fn output(&self, index: usize) -> Operand {
        self.node.outputs.get(index).map_or(Operand::None, |output| (*output).into())
    }

    /// Returns the first result, for use in a derivative.
    pub(super) fn y(&self) -> Expr {
        self.output(0).into()
    }

    /// Returns the gradient of a result.
    pub(super) fn result_gradient(&mut self, index: usize) -> Option<Operand> {
        self.adjoints.get(self.emit, *self.node.outputs.get(index)?)
    }

    /// Returns the gradient of the first result. `None` aborts the rule if only other results are differentiated.
    pub(super) fn g(&mut self) -> Option<Expr> {
        self.result_gradient(0).map(Expr::from)
    }

    /// Checks that no result from `index` on has a gradient. `None` if one has.
    pub(super) fn no_gradient_from(&mut self, index: usize) -> Option<()> {
        let outputs = self.node.outputs.get(index..).unwrap_or_default();
        (!outputs.iter().any(|output| self.adjoints.has(*output))).then_some(())
    }

    pub(super) fn needs_gradient(&self, index: usize) -> bool {
        self.node.operands.get(index).is_some_and(|operand| self.activity.any(operand))
    }

    pub(super) fn put(&mut self, expression: impl Into<Expr>) -> Operand {
        self.emit.put(expression)
    }

    /// Sets the gradient of an operand. The gradient must have the operand's shape.
    pub(super) fn set_gradient(&mut self, index: usize, gradient: impl Into<Expr>) {
        let operand = self.operand(index);
        self.set_gradient_of(&operand, gradient);
    }

    pub(super) fn set_gradient_of(&mut self, operand: &Operand, gradient: impl Into<Expr>) {
        let Operand::Value(value) = operand else { return };
        if !self.activity.is_active(*value) {
            return;
        }
        let gradient = self.put(gradient);
        let gradient = match self.emit.builder.ty(*value).clone() {
            Type::Tensor(wanted) => self.emit.converted(gradient, &wanted),
            _ => gradient,
        };
        self.gradients.push((*value, gradient));
    }

    /// Sets the gradient of an operand that may have been broadcast.
    pub(super) fn set_summed_gradient(&mut self, index: usize, gradient: impl Into<Expr>) -> Option<()> {
        if self.needs_gradient(index) {
            let gradient = self.put(gradient);
            let gradient = self.sum_to(gradient, index)?;
            self.set_gradient(index, gradient);
        }
        Some(())
    }

    /// Sets the gradient of the first operand. `derivative` computes it from the gradient of the result, the operand and
    /// the result.
    pub(super) fn unary(&mut self, derivative: fn(Expr, Expr, Expr) -> Expr) -> Option<()> {
        let g = self.g()?;
        self.set_gradient(0, derivative(g, self.x(0), self.y()));
        Some(())
    }

    /// Sets the gradients of two operands, given a derivative for each.
    pub(super) fn binary(&mut self, derivatives: [BinaryDerivative; 2]) -> Option<()> {
        let g = self.g()?;
        for (index, derivative) in derivatives.into_iter().enumerate() {
            if self.needs_gradient(index) {
                let gradient = derivative(g.clone(), self.x(0), self.x(1), self.y());
                self.set_summed_gradient(index, gradient)?;
            }
        }
        Some(())
    }

    /// Sums over the dimensions in which the operand was broadcast.
    pub(super) fn sum_to(&mut self, gradient: Operand, index: usize) -> Option<Operand> {
        let target = self.operand(index);
        let (from, to) = (self.emit.tensor(&gradient), self.emit.tensor(&target));
        let wanted = to.shape.clone()?;
        let ty = TensorType { shape: to.shape, ..from };
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
                _ if self.only_source_of_dim(index, wanted.len() - dim) => {}
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
            let summed = TensorType { shape: Some(shape.collect()), ..ty };
            let operands = vec![sum.into(), int_list(&dims).into(), keeps.into(), Operand::None.into()];
            sum = self.put(Expr::typed("sum.dim_IntList", operands, summed));
            if keeps && leading > 0 {
                let first: Vec<usize> = (0..leading).collect();
                sum = self.put(Expr::typed("squeeze.dims", vec![sum.into(), int_list(&first).into()], ty));
            }
        }
        Some(sum)
    }

    /// Returns whether only the operand `index` determines the size of the dimension `from_end` (1 for the last) of the
    /// result, so that it was not broadcast there.
    pub(super) fn only_source_of_dim(&self, index: usize, from_end: usize) -> bool {
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

    pub(super) fn tensor(&self, index: usize) -> TensorType {
        self.emit.tensor(&self.operand(index))
    }

    pub(super) fn rank(&self, index: usize) -> Option<usize> {
        self.tensor(index).rank()
    }

    /// Returns the shape of an operand, as an operand.
    pub(super) fn sizes(&mut self, index: usize) -> Option<Operand> {
        let operand = self.operand(index);
        self.emit.sizes(&operand)
    }

    pub(super) fn zeros(&mut self, index: usize) -> Operand {
        let operand = self.operand(index);
        self.emit.filled_like("zeros", &operand)
    }

    pub(super) fn is_none(&self, index: usize) -> bool {
        self.operand(index) == Operand::None
    }

    /// Returns an operand that is a literal integer; `None` for any other operand.
    pub(super) fn int(&self, index: usize) -> Option<i64> {
        if let Operand::Int(number) = self.operand(index) { Some(number) } else { None }
    }

    pub(super) fn number(&self, index: usize) -> Option<f64> {
        match self.operand(index) {
            Operand::Int(number) => Some(number as f64),
            Operand::Float(number) => Some(number),
            _ => None,
        }
    }

    pub(super) fn truth(&self, index: usize) -> Option<bool> {
        if let Operand::Bool(truth) = self.operand(index) { Some(truth) } else { None }
    }

    pub(super) fn ints(&self, index: usize) -> Option<Vec<i64>> {
        let Operand::List(items) = self.operand(index) else { return None };
        items.iter().map(|item| if let Operand::Int(number) = item { Some(*number) } else { None }).collect()
    }

    /// Returns a dimension of the first operand, non-negative.
    pub(super) fn dim(&self, index: usize) -> Option<usize> {
        dimension(self.int(index)?, self.rank(0)?)
    }

    /// Returns dimensions of the first operand; all if none are given.
    pub(super) fn dims(&self, index: usize) -> Option<Vec<usize>> {
        let rank = self.rank(0)?;
        let named = if self.is_none(index) { Vec::new() } else { self.ints(index)? };
        if named.is_empty() {
            return Some((0..rank).collect());
        }
        named.into_iter().map(|dim| dimension(dim, rank)).collect()
    }

    /// Returns the shape of an operand with the dtype and device of a gradient.
    pub(super) fn like(&self, index: usize, gradient: &Expr) -> TensorType {
        let shape = self.tensor(index).shape;
        match gradient {
            Expr::Operand(operand) => TensorType { shape, ..self.emit.tensor(operand) },
            Expr::Call(_) => TensorType { shape, ..self.tensor(index) },
        }
    }

    /// Returns a call of the operator `name` whose result has the shape of the operand `index`.
    pub(super) fn shaped(&self, index: usize, name: &'static str, gradient: Expr, others: Vec<Expr>) -> Expr {
        let ty = self.like(index, &gradient);
        let mut operands = vec![gradient];
        operands.extend(others);
        Expr::typed(name, operands, ty)
    }
}

/// Returns the index of a dimension. A tensor without dimensions has dimension 0, as in torch.
pub(super) fn dimension(dim: i64, rank: usize) -> Option<usize> {
    types::dimension(dim, rank.max(1))
}

pub(super) fn int_list(dims: &[usize]) -> Operand {
    Operand::List(dims.iter().map(|dim| int(*dim as u64)).collect())
}

pub(super) fn none() -> Expr {
    Operand::None.into()
}
