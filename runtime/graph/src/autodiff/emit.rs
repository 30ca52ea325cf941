//! Emits the nodes of a gradient, with inferred types, into the innermost open region.

use super::expression::{Call, Expr, Typing};
use super::shape;
use crate::ir::build::{Builder, NodeAttrs};
use crate::ir::op::{Op, Scalar};
use crate::ir::operand::Operand;
use crate::ir::types::{DType, Dim, TensorType, Type};

pub(super) struct Emit<'a> {
    pub(super) builder: &'a mut Builder,
    /// Attributes of the node that is being differentiated.
    pub(super) attrs: NodeAttrs,
}

impl Emit<'_> {
    pub(super) fn node(&mut self, op: Op, operands: Vec<Operand>, ty: Type) -> Operand {
        self.builder.one(op, operands, ty, &self.attrs).into()
    }

    /// Emits an ATen operator with any number of results.
    pub(super) fn aten(&mut self, name: &str, operands: Vec<Operand>, types: Vec<Type>) -> Vec<Operand> {
        let outputs = self.builder.emit(Op::aten(name), operands, types, Vec::new(), &self.attrs);
        outputs.into_iter().map(Operand::Value).collect()
    }

    pub(super) fn put(&mut self, expression: impl Into<Expr>) -> Operand {
        let Call { name, operands, typing } = match expression.into() {
            Expr::Operand(operand) => return operand,
            Expr::Call(call) => *call,
        };
        let operands: Vec<Operand> = operands.into_iter().map(|operand| self.put(operand)).collect();
        let types = || operands.iter().map(|operand| self.ty(operand)).collect::<Vec<_>>();
        let ty = match typing {
            Typing::Pointwise => shape::pointwise(&types()),
            Typing::Comparison => TensorType { dtype: DType::Bool, ..shape::pointwise(&types()) },
            Typing::Like(index) => operands.get(index).map_or_else(unknown, |operand| self.tensor(operand)),
            Typing::Given(ty) => ty,
        };
        self.node(Op::aten(name), operands, Type::Tensor(ty))
    }

    pub(super) fn ty(&self, operand: &Operand) -> Type {
        self.builder.type_of(operand)
    }

    /// Returns the type of a tensor.
    pub(super) fn tensor(&self, operand: &Operand) -> TensorType {
        match self.ty(operand) {
            Type::Tensor(tensor) => tensor,
            _ => unknown(),
        }
    }

    /// Emits a scalar operation, or folds it if the operands are literals.
    pub(super) fn scalar(&mut self, scalar: Scalar, operands: Vec<Operand>) -> Operand {
        if let Some(known) = folded(scalar, &operands) {
            return known;
        }
        let types: Vec<Type> = operands.iter().map(|operand| self.ty(operand)).collect();
        let ty = match scalar {
            Scalar::Eq | Scalar::Ne | Scalar::Lt | Scalar::Le | Scalar::Gt | Scalar::Ge => Type::Bool,
            Scalar::TrueDiv | Scalar::ToFloat | Scalar::Log => Type::Float,
            Scalar::Select => types[1].clone(),
            _ if types.contains(&Type::Float) => Type::Float,
            _ => Type::Int,
        };
        self.node(Op::Scalar(scalar), operands, ty)
    }

    /// Returns the size of one dimension: a literal if it is known.
    pub(super) fn size(&mut self, tensor: &Operand, dim: usize) -> Operand {
        match self.tensor(tensor).shape.as_deref().and_then(|shape| shape.get(dim)) {
            Some(Dim::Known(size)) => int(*size),
            _ => self.node(Op::Size, vec![tensor.clone(), int(dim as u64)], Type::Int),
        }
    }

    /// Returns the shape of a tensor. `None` if the rank is unknown.
    pub(super) fn sizes(&mut self, tensor: &Operand) -> Option<Operand> {
        let rank = self.tensor(tensor).rank()?;
        Some(Operand::List((0..rank).map(|dim| self.size(tensor, dim)).collect()))
    }

    /// Returns the number of elements along some dimensions.
    pub(super) fn count(&mut self, tensor: &Operand, dims: impl IntoIterator<Item = usize>) -> Operand {
        dims.into_iter().fold(Operand::Int(1), |count, dim| {
            let size = self.size(tensor, dim);
            self.scalar(Scalar::Mul, vec![count, size])
        })
    }

    /// `zeros` or `ones` of a type, if all sizes are known.
    pub(super) fn filled(&mut self, name: &str, ty: &TensorType) -> Option<Operand> {
        let sizes = Operand::List(ty.sizes()?.into_iter().map(int).collect());
        let (dtype, device) = (Operand::DType(ty.dtype), Operand::Device(ty.device));
        let operands = vec![sizes, dtype, Operand::None, device, Operand::None];
        Some(self.node(Op::aten(&format!("{name}.default")), operands, Type::Tensor(ty.clone())))
    }

    /// `zeros` or `ones` with the shape, dtype and device of a tensor.
    pub(super) fn filled_like(&mut self, name: &str, tensor: &Operand) -> Operand {
        let ty = self.tensor(tensor);
        self.filled(name, &ty).unwrap_or_else(|| {
            let mut operands = vec![tensor.clone()];
            operands.resize(6, Operand::None);
            self.node(Op::aten(&format!("{name}_like.default")), operands, Type::Tensor(ty))
        })
    }

    /// Returns the tensor converted to the dtype and device of `wanted`.
    pub(super) fn converted(&mut self, tensor: Operand, wanted: &TensorType) -> Operand {
        let ty = self.tensor(&tensor);
        if ty.dtype == wanted.dtype && ty.device == wanted.device {
            return tensor;
        }
        let ty = TensorType { shape: ty.shape, ..wanted.clone() };
        let device = if wanted.device == self.tensor(&tensor).device {
            Operand::None
        } else {
            Operand::Device(wanted.device)
        };
        let (dtype, none) = (Operand::DType(wanted.dtype), Operand::None);
        let operands = vec![tensor, dtype, none.clone(), device, none.clone(), false.into(), none];
        self.node(Op::aten("_to_copy.default"), operands, Type::Tensor(ty))
    }

    /// Returns a loop over `range(count)`; `body` maps the carried values of one iteration to those of the next.
    pub(super) fn count_loop(
        &mut self,
        count: Operand,
        start: Vec<Operand>,
        types: Vec<Type>,
        body: impl FnOnce(&mut Self, Operand, Vec<Operand>) -> Vec<Operand>,
    ) -> Vec<Operand> {
        let params = self.builder.open([vec![Type::Int], types.clone()].concat());
        let mut params = params.into_iter().map(Operand::Value);
        let index = params.next().unwrap_or(Operand::None);
        let results = body(self, index, params.collect());
        let regions = self.builder.close(results).into_iter().collect();
        let operands = [vec![0.into(), count, 1.into()], start].concat();
        let outputs = self.builder.emit(Op::For, operands, types, regions, &self.attrs);
        outputs.into_iter().map(Operand::Value).collect()
    }
}

pub(super) fn int(size: u64) -> Operand {
    Operand::Int(i64::try_from(size).unwrap_or(i64::MAX))
}

fn unknown() -> TensorType {
    TensorType { dtype: DType::F32, shape: None, device: Default::default() }
}

/// Returns the result of an operation on integers that is known at compile time.
fn folded(scalar: Scalar, operands: &[Operand]) -> Option<Operand> {
    match (scalar, operands) {
        (Scalar::Add, [Operand::Int(0), other] | [other, Operand::Int(0)])
        | (Scalar::Mul, [Operand::Int(1), other] | [other, Operand::Int(1)]) => Some(other.clone()),
        (_, [Operand::Int(a), Operand::Int(b)]) => match scalar {
            Scalar::Add => a.checked_add(*b).map(Operand::Int),
            Scalar::Sub => a.checked_sub(*b).map(Operand::Int),
            Scalar::Mul => a.checked_mul(*b).map(Operand::Int),
            Scalar::Max => Some(Operand::Int(*a.max(b))),
            Scalar::Min => Some(Operand::Int(*a.min(b))),
            Scalar::FloorDiv if *b != 0 => {
                let quotient = a.checked_div(*b)?;
                let is_exact = quotient.checked_mul(*b)? == *a;
                Some(Operand::Int(if is_exact || (*a < 0) == (*b < 0) { quotient } else { quotient - 1 }))
            }
            Scalar::Lt => Some(Operand::Bool(a < b)),
            _ => None,
        },
        (_, [Operand::Float(a), Operand::Float(b)]) => match scalar {
            Scalar::Add => Some(Operand::Float(a + b)),
            Scalar::Sub => Some(Operand::Float(a - b)),
            Scalar::Mul => Some(Operand::Float(a * b)),
            _ => None,
        },
        (Scalar::Sub, [Operand::Float(a), Operand::Int(b)]) => Some(Operand::Float(a - *b as f64)),
        (Scalar::Neg, [Operand::Int(a)]) => a.checked_neg().map(Operand::Int),
        (Scalar::Neg, [Operand::Float(a)]) => Some(Operand::Float(-a)),
        _ => None,
    }
}
