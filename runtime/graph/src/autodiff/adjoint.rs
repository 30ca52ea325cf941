//! Gradients of values. The gradient of a tensor is a tensor; the gradient of a list or a tuple contains the
//! gradients of its items. This module creates zero gradients, sums gradients and looks them up.

use std::collections::{BTreeMap, HashMap};

use super::activity::is_differentiable;
use super::emit::Emit;
use super::expression::Expr;
use crate::ir::graph::Value;
use crate::ir::op::Op;
use crate::ir::operand::Operand;
use crate::ir::types::Type;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Adjoint {
    Whole(Operand),
    /// The gradient of a list, as the gradients of some items by literal index. All others are zero.
    Items(BTreeMap<i64, Operand>),
}

/// The gradients accumulated so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Adjoints {
    of: HashMap<Value, Adjoint>,
}

impl Adjoints {
    pub(super) fn has(&self, value: Value) -> bool {
        self.of.contains_key(&value)
    }

    pub(super) fn set(&mut self, value: Value, adjoint: Operand) {
        self.of.insert(value, Adjoint::Whole(adjoint));
    }

    /// Returns the gradient as one operand. If the gradient is known by items, the list is built first.
    pub(super) fn get(&mut self, emit: &mut Emit, value: Value) -> Option<Operand> {
        if let Adjoint::Items(items) = self.of.get(&value)? {
            let ty = emit.builder.ty(value).clone();
            let item = if let Type::List(item) = &ty { (**item).clone() } else { Type::Any };
            let items = items.clone();
            let mut list = zero(emit, value);
            for (index, adjoint) in items {
                list = accumulated(emit, list, index.into(), adjoint, &item);
            }
            self.set(value, list);
        }
        match self.of.get(&value)? {
            Adjoint::Whole(operand) => Some(operand.clone()),
            Adjoint::Items(_) => None,
        }
    }

    /// Returns the gradients of a list's items; `None` unless the gradient is known by items.
    pub(super) fn items(&self, value: Value, length: usize) -> Option<Vec<Option<Operand>>> {
        let Adjoint::Items(known) = self.of.get(&value)? else { return None };
        let mut items = vec![None; length];
        for (index, adjoint) in known {
            let index = if *index < 0 { index + length as i64 } else { *index };
            *items.get_mut(usize::try_from(index).ok()?)? = Some(adjoint.clone());
        }
        Some(items)
    }

    pub(super) fn add(&mut self, emit: &mut Emit, value: Value, more: Operand) {
        let sum = match self.get(emit, value) {
            None => more,
            Some(before) => {
                let ty = emit.builder.ty(value).clone();
                sum(emit, before, more, &ty)
            }
        };
        self.set(value, sum);
    }

    /// Adds to the gradient of one list item.
    pub(super) fn add_item(&mut self, emit: &mut Emit, list: Value, index: Operand, more: Operand) {
        let Type::List(item) = emit.builder.ty(list).clone() else { return };
        match (self.of.get_mut(&list), &index) {
            (None, Operand::Int(index)) => {
                self.of.insert(list, Adjoint::Items(BTreeMap::from([(*index, more)])));
            }
            // An index from the front and one from the back may be the same item.
            (Some(Adjoint::Items(items)), Operand::Int(index))
                if items.keys().all(|key| (*key < 0) == (*index < 0)) =>
            {
                let before = items.remove(index);
                let added = match before {
                    None => more,
                    Some(before) => sum(emit, before, more, &item),
                };
                if let Some(Adjoint::Items(items)) = self.of.get_mut(&list) {
                    items.insert(*index, added);
                }
            }
            _ => {
                let before = self.get(emit, list).unwrap_or_else(|| zero(emit, list));
                let after = accumulated(emit, before, index, more, &item);
                self.set(list, after);
            }
        }
    }
}

/// Returns the type of the gradient. Tuple items without a gradient become `none`.
pub(super) fn type_of(ty: &Type) -> Type {
    match ty {
        Type::List(item) => Type::list(type_of(item)),
        Type::Tuple(items) => Type::Tuple(items.iter().map(type_of).collect()),
        ty if is_differentiable(ty) => ty.clone(),
        _ => Type::None,
    }
}

/// Returns the gradient of a value that no output depends on.
pub(super) fn zero(emit: &mut Emit, value: Value) -> Operand {
    zeros(emit, value.into())
}

/// Returns a gradient of zeros for a tensor, or for a list or tuple of tensors.
pub(super) fn zeros(emit: &mut Emit, of: Operand) -> Operand {
    let ty = emit.ty(&of);
    match &ty {
        Type::List(item) => {
            let length = emit.node(Op::ListLen, vec![of.clone()], Type::Int);
            let (item, list) = ((**item).clone(), type_of(&ty));
            if let Some(zero) = item.tensor().and_then(|tensor| emit.filled("zeros", tensor)) {
                return emit.node(Op::ListFilled, vec![length, zero], list);
            }
            let empty = emit.node(Op::ListNew, Vec::new(), list.clone());
            emit.count_loop(length, vec![empty], vec![list.clone()], |emit, index, carried| {
                let item = emit.node(Op::ListGet, vec![of, index], item);
                let zero = zeros(emit, item);
                vec![emit.node(Op::ListAppend, vec![carried[0].clone(), zero], list)]
            })
            .swap_remove(0)
        }
        Type::Tuple(items) => {
            let zeros = (0u32..)
                .zip(items)
                .map(|(index, item)| {
                    if !is_differentiable(item) {
                        return Operand::None;
                    }
                    let item = emit.node(Op::TupleGet(index), vec![of.clone()], item.clone());
                    zeros(emit, item)
                })
                .collect();
            emit.node(Op::TupleNew, zeros, type_of(&ty))
        }
        _ => emit.filled_like("zeros", &of),
    }
}

/// Returns the sum of two gradients of a value of type `ty`.
pub(super) fn sum(emit: &mut Emit, a: Operand, b: Operand, ty: &Type) -> Operand {
    match ty {
        Type::List(item) => {
            let (item, list) = ((**item).clone(), type_of(ty));
            let length = emit.node(Op::ListLen, vec![a.clone()], Type::Int);
            emit.count_loop(length, vec![a], vec![list], |emit, index, carried| {
                let more = emit.node(Op::ListGet, vec![b, index.clone()], type_of(&item));
                vec![accumulated(emit, carried[0].clone(), index, more, &item)]
            })
            .swap_remove(0)
        }
        Type::Tuple(items) => {
            let sums = (0u32..)
                .zip(items)
                .map(|(index, item)| {
                    if !is_differentiable(item) {
                        return Operand::None;
                    }
                    let part = |emit: &mut Emit, of: &Operand| {
                        emit.node(Op::TupleGet(index), vec![of.clone()], type_of(item))
                    };
                    let (a, b) = (part(emit, &a), part(emit, &b));
                    sum(emit, a, b, item)
                })
                .collect();
            emit.node(Op::TupleNew, sums, type_of(ty))
        }
        Type::Tensor(ty) => {
            let operands = vec![a.into(), b.into(), 1.into()];
            emit.put(Expr::typed("add.Tensor", operands, ty.clone()))
        }
        _ => a,
    }
}

/// Returns the list with `more` added to one of its items.
pub(super) fn accumulated(
    emit: &mut Emit,
    list: Operand,
    index: Operand,
    more: Operand,
    item: &Type,
) -> Operand {
    let ty = emit.ty(&list);
    let before = emit.node(Op::ListGet, vec![list.clone(), index.clone()], type_of(item));
    let after = sum(emit, before, more, item);
    emit.node(Op::ListSet, vec![list, index, after], ty)
}
