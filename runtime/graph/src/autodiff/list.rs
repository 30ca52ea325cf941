//! Differentiates operations on lists and tuples. The derivative of an append is a pop, and vice versa.

use super::activity::{Activity, is_differentiable};
use super::adjoint::{self, Adjoints};
use super::emit::Emit;
use crate::ir::graph::{Node, Value};
use crate::ir::op::{Op, Scalar};
use crate::ir::operand::Operand;
use crate::ir::types::Type;

pub(super) fn derivative(emit: &mut Emit, activity: &Activity, node: &Node, adjoints: &mut Adjoints) {
    let operands = &node.operands;
    let active = |index: usize| {
        operands.get(index).and_then(Operand::value).filter(|value| activity.is_active(*value))
    };
    let list = active(0);
    match &node.op {
        Op::ListNew => {
            let known = adjoints.items(node.outputs[0], operands.len());
            let whole = if known.is_none() { adjoints.get(emit, node.outputs[0]) } else { None };
            for index in 0..operands.len() {
                let Some(value) = active(index) else { continue };
                let gradient = match (&known, &whole) {
                    (Some(items), _) => items[index].clone(),
                    (_, Some(whole)) => Some(get(emit, whole, (index as i64).into())),
                    _ => None,
                };
                if let Some(gradient) = gradient {
                    adjoints.add(emit, value, gradient);
                }
            }
        }
        Op::ListGet => {
            if let (Some(list), Some(gradient)) = (list, adjoints.get(emit, node.outputs[0])) {
                adjoints.add_item(emit, list, operands[1].clone(), gradient);
            }
        }
        Op::TupleNew => {
            let Some(whole) = adjoints.get(emit, node.outputs[0]) else { return };
            for index in 0..operands.len() {
                if let Some(value) = active(index) {
                    let ty = adjoint::type_of(emit.builder.ty(value));
                    let gradient = emit.node(Op::TupleGet(index as u32), vec![whole.clone()], ty);
                    adjoints.add(emit, value, gradient);
                }
            }
        }
        Op::TupleGet(index) => {
            let Some(tuple) = list else { return };
            let Some(gradient) = adjoints.get(emit, node.outputs[0]) else { return };
            let whole = in_tuple(emit, tuple, *index, gradient);
            adjoints.add(emit, tuple, whole);
        }
        Op::ListPop => {
            let (Some(list), [shorter, item]) = (list, &node.outputs[..]) else { return };
            let (shorter, item) = (*shorter, *item);
            let rest = adjoints.get(emit, shorter).unwrap_or_else(|| adjoint::zero(emit, shorter));
            let gradient = adjoints.get(emit, item).unwrap_or_else(|| adjoint::zero(emit, item));
            let ty = emit.ty(&rest);
            let whole = match &operands[1] {
                Operand::Int(-1) => emit.node(Op::ListAppend, vec![rest, gradient], ty),
                index => {
                    let index = non_negative(emit, &rest, index.clone(), 1);
                    emit.node(Op::ListInsert, vec![rest, index, gradient], ty)
                }
            };
            adjoints.add(emit, list, whole);
        }
        _ => {
            let Some(whole) = adjoints.get(emit, node.outputs[0]) else { return };
            let ty = emit.ty(&whole);
            match &node.op {
                Op::ListAppend => {
                    let (rest, item) = pop(emit, &whole, (-1).into());
                    add(adjoints, emit, list, rest);
                    add(adjoints, emit, active(1), item);
                }
                Op::ListInsert => {
                    let index = clamped(emit, &operands[0], operands[1].clone());
                    let (rest, item) = pop(emit, &whole, index);
                    add(adjoints, emit, list, rest);
                    add(adjoints, emit, active(2), item);
                }
                Op::ListSet => {
                    if let Some(value) = active(2) {
                        let item = get(emit, &whole, operands[1].clone());
                        adjoints.add(emit, value, item);
                    }
                    if let Some(list) = list {
                        let old = get(emit, &operands[0], operands[1].clone());
                        let zero = adjoint::zeros(emit, old);
                        let rest = emit.node(Op::ListSet, vec![whole, operands[1].clone(), zero], ty);
                        adjoints.add(emit, list, rest);
                    }
                }
                Op::ListFilled => {
                    let Some(value) = active(1) else { return };
                    let (zero, item) = (adjoint::zero(emit, value), emit.builder.ty(value).clone());
                    let length = emit.node(Op::ListLen, vec![whole.clone()], Type::Int);
                    let types = vec![adjoint::type_of(&item)];
                    let sums = emit.count_loop(length, vec![zero], types, |emit, index, carried| {
                        let more = get(emit, &whole, index);
                        vec![adjoint::sum(emit, carried[0].clone(), more, &item)]
                    });
                    add(adjoints, emit, Some(value), sums[0].clone());
                }
                Op::ListConcat => {
                    let length = emit.node(Op::ListLen, vec![operands[0].clone()], Type::Int);
                    let mut part = |emit: &mut Emit, value: Option<Value>, from: Operand, to: Operand| {
                        if value.is_some() {
                            let operands = vec![whole.clone(), from, to, Operand::None];
                            let part = emit.node(Op::ListSlice, operands, ty.clone());
                            add(adjoints, emit, value, part);
                        }
                    };
                    part(emit, list, Operand::None, length.clone());
                    part(emit, active(1), length, Operand::None);
                }
                Op::ListSlice => {
                    let Some(list) = list else { return };
                    let start = adjoints.get(emit, list).unwrap_or_else(|| adjoint::zero(emit, list));
                    let sum = unsliced(emit, &operands[1..], start, &whole);
                    adjoints.set(list, sum);
                }
                _ => {}
            }
        }
    }
}

fn add(adjoints: &mut Adjoints, emit: &mut Emit, value: Option<Value>, gradient: Operand) {
    if let Some(value) = value {
        adjoints.add(emit, value, gradient);
    }
}

fn get(emit: &mut Emit, list: &Operand, index: Operand) -> Operand {
    let Type::List(item) = emit.ty(list) else { return Operand::None };
    emit.node(Op::ListGet, vec![list.clone(), index], *item)
}

fn pop(emit: &mut Emit, list: &Operand, index: Operand) -> (Operand, Operand) {
    let ty = emit.ty(list);
    let Type::List(item) = ty.clone() else { return (Operand::None, Operand::None) };
    let attrs = emit.attrs.clone();
    let operands = vec![list.clone(), index];
    let outputs = emit.builder.emit(Op::ListPop, operands, vec![ty, *item], Vec::new(), &attrs);
    (outputs[0].into(), outputs[1].into())
}

/// Returns the gradient of a tuple: zeros, with `gradient` as the item at `index`.
fn in_tuple(emit: &mut Emit, tuple: Value, index: u32, gradient: Operand) -> Operand {
    let Type::Tuple(items) = emit.builder.ty(tuple).clone() else { return gradient };
    let parts = (0u32..)
        .zip(&items)
        .map(|(position, item)| {
            if position == index {
                gradient.clone()
            } else if is_differentiable(item) {
                let old = emit.node(Op::TupleGet(position), vec![tuple.into()], item.clone());
                adjoint::zeros(emit, old)
            } else {
                Operand::None
            }
        })
        .collect();
    emit.node(Op::TupleNew, parts, adjoint::type_of(&Type::Tuple(items)))
}

/// Returns `index` as a non-negative index. It is an index into a list that has `longer` more items than `list`.
fn non_negative(emit: &mut Emit, list: &Operand, index: Operand, longer: i64) -> Operand {
    if matches!(index, Operand::Int(index) if index >= 0) {
        return index;
    }
    let length = emit.node(Op::ListLen, vec![list.clone()], Type::Int);
    let length = emit.scalar(Scalar::Add, vec![length, longer.into()]);
    let from_end = emit.scalar(Scalar::Add, vec![length, index.clone()]);
    let is_from_end = emit.scalar(Scalar::Lt, vec![index.clone(), 0.into()]);
    match is_from_end {
        Operand::Bool(true) => from_end,
        condition => emit.scalar(Scalar::Select, vec![condition, from_end, index]),
    }
}

/// Returns the position at which `list.insert` inserts: an index that is out of range is clamped.
fn clamped(emit: &mut Emit, list: &Operand, index: Operand) -> Operand {
    if index == Operand::Int(0) {
        return index;
    }
    let index = non_negative(emit, list, index, 0);
    let length = emit.node(Op::ListLen, vec![list.clone()], Type::Int);
    let index = emit.scalar(Scalar::Min, vec![index, length]);
    emit.scalar(Scalar::Max, vec![index, 0.into()])
}

/// Returns the list `start` with the items of `slice` added to the items `start[bounds]`.
fn unsliced(emit: &mut Emit, bounds: &[Operand], start: Operand, slice: &Operand) -> Operand {
    let numbers = Type::list(Type::Int);
    let length = emit.node(Op::ListLen, vec![start.clone()], Type::Int);
    let none = emit.node(Op::ListNew, Vec::new(), numbers.clone());
    let types = vec![numbers.clone()];
    let positions = emit.count_loop(length, vec![none], types, |emit, index, carried| {
        vec![emit.node(Op::ListAppend, vec![carried[0].clone(), index], Type::list(Type::Int))]
    });
    let positions = emit.node(Op::ListSlice, [&positions[..], bounds].concat(), numbers);
    let count = emit.node(Op::ListLen, vec![slice.clone()], Type::Int);
    let ty = emit.ty(&start);
    emit.count_loop(count, vec![start], vec![ty], |emit, index, carried| {
        let position = get(emit, &positions, index.clone());
        let more = get(emit, slice, index);
        let item = emit.ty(&more);
        vec![adjoint::accumulated(emit, carried[0].clone(), position, more, &item)]
    })
    .swap_remove(0)
}
