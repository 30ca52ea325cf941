//! Direct bindings of `tch` for operators that are common in small graphs, in which boxing the arguments for the
//! dispatcher would dominate the time. All other operators are called through `aten`.

use ag_graph::ir::Operand;
use tch::{TchError, Tensor};

use super::products;

type TchResult = Result<Tensor, TchError>;
pub(super) type Unary = fn(&Tensor) -> TchResult;
pub(super) type Binary = fn(&Tensor, &Tensor) -> TchResult;
pub(super) type Ternary = fn(&Tensor, &Tensor, &Tensor) -> TchResult;
pub(super) type WithInts = fn(&Tensor, &[i64]) -> TchResult;
pub(super) type Indexed = fn(&Tensor, &Tensor, &[i64]) -> TchResult;
/// Takes ownership of the first operand; this call is the last use of it.
pub(super) type InPlace = fn(Tensor, &Tensor) -> TchResult;
pub(super) type Concat = fn(&[&Tensor], i64) -> TchResult;

/// The properties of an operand that are known at compile time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Form<'a> {
    Tensor,
    /// An integer scalar or literal.
    Int,
    Float,
    Bool,
    None,
    /// A list of integer scalars or literals.
    Ints,
    /// A list of tensors, each in a register.
    Tensors,
    /// A list of tensors in one register.
    List,
    Other(&'a Operand),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Typed {
    Unary(Unary),
    Binary(Binary),
    /// A tensor and a scalar.
    WithScalar(Binary),
    Ternary(Ternary),
    /// A tensor followed by integers, with lists flattened.
    WithInts(WithInts),
    /// Two tensors and integers.
    Indexed(Indexed),
    Concat(Concat),
}

/// The maximum number of integer operands of a step.
pub(super) const MAX_INTS: usize = 16;

/// Returns the direct binding for an operator with operands of these forms, if there is one. `literals` are the
/// operands themselves: some bindings apply only for the usual value of an argument.
pub(super) fn typed(name: &str, forms: &[Form<'_>], literals: &[Operand]) -> Option<Typed> {
    let name = name.strip_prefix("aten.")?;
    match forms {
        [Form::Tensor] => unary(name).map(Typed::Unary),
        [Form::Tensor, Form::Tensor] => binary(name).map(Typed::Binary),
        [Form::Tensor, Form::Tensor, Form::Int] if literals[2] == Operand::Int(1) => match name {
            "add.Tensor" => Some(Typed::Binary(Tensor::f_add)),
            "sub.Tensor" => Some(Typed::Binary(Tensor::f_sub)),
            _ => None,
        },
        [Form::Tensor, Form::Int | Form::Float] => {
            number(name).map(Typed::WithScalar).or_else(|| ints(name).map(Typed::WithInts))
        }
        [Form::Tensor, Form::Int | Form::Float, Form::Int] if literals[2] == Operand::Int(1) => match name {
            "add.Tensor" | "add.Scalar" => Some(Typed::WithScalar(Tensor::f_add)),
            "sub.Tensor" | "sub.Scalar" => Some(Typed::WithScalar(Tensor::f_sub)),
            "rsub.Tensor" | "rsub.Scalar" => Some(Typed::WithScalar(|a, b| b.f_sub(a))),
            _ => ints(name).map(Typed::WithInts),
        },
        [Form::Tensor, Form::Tensor, Form::Tensor] => match name {
            "where.self" => Some(Typed::Ternary(|c, a, b| a.f_where_self(c, b))),
            _ => None,
        },
        [Form::Tensor, Form::Tensor, Form::Tensor, Form::Int, Form::Int]
            if literals[3] == Operand::Int(1) && literals[4] == Operand::Int(1) =>
        {
            match name {
                "addmm.default" => Some(Typed::Ternary(products::addmm)),
                _ => None,
            }
        }
        [Form::Tensor, Form::Int, Form::Tensor] => match name {
            "index_select.default" => Some(Typed::Indexed(|a, index, ints| a.f_index_select(ints[0], index))),
            _ => None,
        },
        [Form::Tensor, Form::Int, Form::Tensor, Form::Bool] if literals[3] == Operand::Bool(false) => {
            match name {
                "gather.default" => Some(Typed::Indexed(|a, index, ints| a.f_gather(ints[0], index, false))),
                _ => None,
            }
        }
        [Form::Tensors | Form::List, Form::Int] => match name {
            "cat.default" => Some(Typed::Concat(|tensors, dim| Tensor::f_cat(tensors, dim))),
            "stack.default" => Some(Typed::Concat(|tensors, dim| Tensor::f_stack(tensors, dim))),
            _ => None,
        },
        // Reductions; the last operand is a dtype, which is rarely given.
        [Form::Tensor, Form::None] => match name {
            "sum.default" => Some(Typed::Unary(|a| a.f_sum(None::<tch::Kind>))),
            "mean.default" => Some(Typed::Unary(|a| a.f_mean(None::<tch::Kind>))),
            _ => None,
        },
        [Form::Tensor, Form::Ints, Form::Bool, Form::None] => match name {
            "sum.dim_IntList" => Some(Typed::WithInts(sum_dims)),
            "mean.dim" => Some(Typed::WithInts(mean_dims)),
            _ => None,
        },
        [Form::Tensor, Form::Int, Form::Int | Form::None, Form::Int | Form::None, Form::Int] => match name {
            "slice.Tensor" => Some(Typed::WithInts(|a, ints| a.f_slice(ints[0], ints[1], ints[2], ints[3]))),
            _ => None,
        },
        [Form::Tensor, Form::Ints] if name == "expand.default" => {
            Some(Typed::WithInts(|a, ints| a.f_expand(ints, false)))
        }
        // The last operand (`implicit`) has no effect.
        [Form::Tensor, Form::Ints, Form::Bool] if name == "expand.default" => {
            Some(Typed::WithInts(|a, ints| a.f_expand(&ints[..ints.len() - 1], false)))
        }
        [Form::Tensor, rest @ ..]
            if rest.iter().all(|form| matches!(form, Form::Int | Form::Ints | Form::Bool)) =>
        {
            ints(name).map(Typed::WithInts)
        }
        _ => None,
    }
}

/// Returns the dimensions, and whether they are kept.
fn reduced(ints: &[i64]) -> (&[i64], bool) {
    match ints {
        [dims @ .., keep, _] => (dims, *keep != 0),
        _ => (ints, false),
    }
}

fn sum_dims(a: &Tensor, ints: &[i64]) -> TchResult {
    let (dims, keep) = reduced(ints);
    a.f_sum_dim_intlist(dims, keep, None::<tch::Kind>)
}

fn mean_dims(a: &Tensor, ints: &[i64]) -> TchResult {
    let (dims, keep) = reduced(ints);
    a.f_mean_dim(dims, keep, None::<tch::Kind>)
}

fn unary(name: &str) -> Option<Unary> {
    Some(match name {
        "neg.default" => Tensor::f_neg,
        "abs.default" => Tensor::f_abs,
        "sigmoid.default" => Tensor::f_sigmoid,
        "tanh.default" => Tensor::f_tanh,
        "relu.default" => Tensor::f_relu,
        "exp.default" => Tensor::f_exp,
        "log.default" => Tensor::f_log,
        "log1p.default" => Tensor::f_log1p,
        "sqrt.default" => Tensor::f_sqrt,
        "rsqrt.default" => Tensor::f_rsqrt,
        "sin.default" => Tensor::f_sin,
        "cos.default" => Tensor::f_cos,
        "reciprocal.default" => Tensor::f_reciprocal,
        "logical_not.default" => Tensor::f_logical_not,
        "t.default" => Tensor::f_tr,
        "squeeze.default" => Tensor::f_squeeze,
        _ => return None,
    })
}

fn binary(name: &str) -> Option<Binary> {
    Some(match name {
        "mul.Tensor" => Tensor::f_mul,
        "div.Tensor" => Tensor::f_div,
        "mm.default" => products::mm,
        "bmm.default" => Tensor::f_bmm,
        "mv.default" => Tensor::f_mv,
        "dot.default" => Tensor::f_dot,
        "matmul.default" => Tensor::f_matmul,
        "maximum.default" => Tensor::f_maximum,
        "minimum.default" => Tensor::f_minimum,
        "eq.Tensor" => Tensor::f_eq_tensor,
        "ne.Tensor" => Tensor::f_ne_tensor,
        "lt.Tensor" => Tensor::f_lt_tensor,
        "le.Tensor" => Tensor::f_le_tensor,
        "gt.Tensor" => Tensor::f_gt_tensor,
        "ge.Tensor" => Tensor::f_ge_tensor,
        "logical_and.default" => Tensor::f_logical_and,
        "logical_or.default" => Tensor::f_logical_or,
        "bitwise_and.Tensor" => Tensor::f_bitwise_and_tensor,
        "bitwise_or.Tensor" => Tensor::f_bitwise_or_tensor,
        "pow.Tensor_Tensor" => Tensor::f_pow,
        // Derivatives of common activation functions.
        "sigmoid_backward.default" => Tensor::f_sigmoid_backward,
        "tanh_backward.default" => Tensor::f_tanh_backward,
        _ => return None,
    })
}

/// Returns the binding of an operator of a tensor and a number. The number is passed as a tensor, because from a
/// `Scalar`, libtorch would create and convert a tensor in each call.
fn number(name: &str) -> Option<Binary> {
    Some(match name {
        "mul.Tensor" | "mul.Scalar" => Tensor::f_mul,
        "div.Tensor" | "div.Scalar" => Tensor::f_div,
        "eq.Scalar" => Tensor::f_eq_tensor,
        "ne.Scalar" => Tensor::f_ne_tensor,
        "lt.Scalar" => Tensor::f_lt_tensor,
        "le.Scalar" => Tensor::f_le_tensor,
        "gt.Scalar" => Tensor::f_gt_tensor,
        "ge.Scalar" => Tensor::f_ge_tensor,
        _ => return None,
    })
}

fn ints(name: &str) -> Option<WithInts> {
    Some(match name {
        "select.int" => |a, ints| a.f_select(ints[0], ints[1]),
        "view.default" => |a, ints| a.f_view(ints),
        "_unsafe_view.default" => |a, ints| a.f_view(ints),
        "reshape.default" => |a, ints| a.f_reshape(ints),
        "permute.default" => |a, ints| a.f_permute(ints),
        "transpose.int" => |a, ints| a.f_transpose(ints[0], ints[1]),
        "unsqueeze.default" => |a, ints| a.f_unsqueeze(ints[0]),
        "squeeze.dim" => |a, ints| a.f_squeeze_dim(ints[0]),
        _ => return None,
    })
}
