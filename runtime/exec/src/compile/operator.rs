//! Operators of ATen: a direct call where `typed` has one, else the dispatcher's.

use ag_graph::ir::arithmetic::Kind;
use ag_graph::ir::{Node, Operand};

use super::{Compiled, Compiler};
use crate::aten::{self, Argument, Call};
use crate::liveness::NodeLife;
use crate::plan::{Input, Number, Operator, Place, Slice, Source, Step, Ten};
use crate::typed::{Binary, Form, MOST_INTS, Typed, typed};

impl Compiler<'_> {
    pub(super) fn operator(&mut self, name: &str, node: &Node, life: &NodeLife) -> Compiled {
        if self.sum(name, node, life)? {
            return Ok(());
        }
        if let [output] = node.outputs[..]
            && self.function.ty(output).tensor().is_some()
        {
            let forms: Vec<Form<'_>> = node.operands.iter().map(|operand| self.form(operand)).collect();
            if let Some(function) = typed(name, &forms, &node.operands)
                && let Place::Ten(out) = self.define(output)
            {
                if let Some(step) = self.direct(function, out, &node.operands)? {
                    self.step_releasing(step, &life.operands);
                    return Ok(());
                }
                self.registers.release(Place::Ten(out));
            }
        }
        self.boxed(name, node, life)
    }

    fn form<'o>(&self, operand: &'o Operand) -> Form<'o> {
        match operand {
            Operand::None => Form::None,
            Operand::Int(_) => Form::Int,
            Operand::Float(_) => Form::Float,
            Operand::Bool(_) => Form::Bool,
            Operand::Value(value) => match self.places[value.index()] {
                Some(Place::Ten(_)) => Form::Tensor,
                Some(Place::Num(_, Kind::Int)) => Form::Int,
                Some(Place::Num(_, Kind::Float)) => Form::Float,
                Some(Place::Num(_, Kind::Bool)) => Form::Bool,
                Some(Place::Any(_)) if matches!(self.function.ty(*value), ag_graph::ir::Type::List(_)) => {
                    Form::List
                }
                _ => Form::Other(operand),
            },
            Operand::List(items) if items.iter().all(|item| self.form(item) == Form::Int) => Form::Ints,
            Operand::List(items) if items.iter().all(|item| self.form(item) == Form::Tensor) => Form::Tensors,
            _ => Form::Other(operand),
        }
    }

    fn direct(&mut self, function: Typed, out: Ten, operands: &[Operand]) -> Compiled<Option<Step>> {
        let mut tensors = Vec::new();
        let mut ints = Vec::new();
        for (index, operand) in operands.iter().enumerate() {
            self.flatten(operand, index, &mut tensors, &mut ints)?;
        }
        let a = tensors.first().copied();
        Ok(match (function, &tensors[..]) {
            (Typed::Unary(f), [a, ..]) => Some(Step::Unary { f, out, a: *a }),
            (Typed::Binary(f), [a, b, ..]) => Some(Step::Binary { f, out, a: *a, b: *b }),
            (Typed::Ternary(f), [a, b, c, ..]) => Some(Step::Ternary { f, out, a: *a, b: *b, c: *c }),
            (Typed::WithNumber(f), [a, ..]) => self.with_number(f, out, *a, operands)?,
            (Typed::WithInts(f), [a, ..]) if ints.len() <= MOST_INTS => {
                let ints = Slice::add(&mut self.plan.tables.inputs, ints);
                Some(Step::WithInts { f, out, a: *a, ints })
            }
            (Typed::Indexed(f), [a, b, ..]) if ints.len() <= MOST_INTS => {
                let ints = Slice::add(&mut self.plan.tables.inputs, ints);
                Some(Step::Indexed { f, out, a: *a, b: *b, ints })
            }
            (Typed::Joined(f), _) => {
                let dimension = self.input(&operands[1])?;
                match operands[0].value().map(|list| self.place(list)).transpose()? {
                    Some(Place::Any(list)) => Some(Step::JoinedList { f, out, list, dimension }),
                    _ if a.is_some() => {
                        let tensors = Slice::add(&mut self.plan.tables.tensors, tensors);
                        Some(Step::Joined { f, out, tensors, dimension })
                    }
                    _ => None,
                }
            }
            _ => None,
        })
    }

    /// Tensors and integers in their order. Bounds of a slice that are `none` are its ends.
    fn flatten(
        &self,
        operand: &Operand,
        index: usize,
        tensors: &mut Vec<Ten>,
        ints: &mut Vec<Input>,
    ) -> Compiled {
        match operand {
            Operand::List(items) => {
                items.iter().try_for_each(|item| self.flatten(item, index, tensors, ints))
            }
            Operand::Value(value) => {
                match self.place(*value)? {
                    Place::Ten(ten) => tensors.push(ten),
                    Place::Num(num, _) => ints.push(Input::Num(num)),
                    Place::Any(_) => {}
                }
                Ok(())
            }
            Operand::None if index == 2 => {
                ints.push(Input::Const(0));
                Ok(())
            }
            Operand::None => {
                ints.push(Input::Const(i64::MAX.cast_unsigned()));
                Ok(())
            }
            operand => {
                ints.push(self.input(operand)?);
                Ok(())
            }
        }
    }

    /// A literal is made a tensor once; a register's number each time.
    fn with_number(&mut self, f: Binary, out: Ten, a: Ten, operands: &[Operand]) -> Compiled<Option<Step>> {
        let ty = self.function.type_of(&operands[0]);
        let Some(beside) = ty.tensor().map(|tensor| tensor.dtype) else { return Ok(None) };
        let literal = match &operands[1] {
            Operand::Int(value) => Argument::int(*value),
            Operand::Float(value) => Argument::float(*value),
            operand => {
                let number = Number { input: self.input(operand)?, kind: self.number_kind(operand) };
                return Ok(Some(Step::WithNumber { f, out, a, number, beside }));
            }
        };
        let constant = aten::number(literal, beside).map_err(|error| error.message)?;
        let constant = Slice::add(&mut self.plan.tables.constants, Some(constant.into())).start();
        Ok(Some(Step::WithConst { f, out, a, constant }))
    }

    fn number_kind(&self, operand: &Operand) -> Kind {
        Kind::of(&self.function.type_of(operand)).unwrap_or(Kind::Int)
    }

    fn boxed(&mut self, name: &str, node: &Node, life: &NodeLife) -> Compiled {
        let mut arguments = Vec::new();
        let mut holes = Vec::new();
        for operand in &node.operands {
            self.argument(operand, &mut arguments, &mut holes)?;
        }
        let call = Call::prepare(name, &arguments).map_err(|error| format!("{name}: {}", error.message))?;
        if call.returns() != node.outputs.len() {
            return Err(format!("{name} gives {} results", call.returns()));
        }
        let outputs = node.outputs.iter().map(|output| self.define(*output)).collect();
        self.plan.tables.operators.push(Operator { call, holes: holes.into(), outputs });
        let call = (self.plan.tables.operators.len() - 1) as u32;
        self.step_releasing(Step::Operator { call }, &life.operands);
        Ok(())
    }

    fn argument<'o>(
        &mut self,
        operand: &'o Operand,
        arguments: &mut Vec<Argument<'o>>,
        holes: &mut Vec<Source>,
    ) -> Compiled {
        arguments.push(match operand {
            Operand::Value(_) => {
                holes.push(self.source(operand, &mut Vec::new())?);
                Argument::HOLE
            }
            Operand::None => Argument::NONE,
            Operand::Int(value) => Argument::int(*value),
            Operand::Float(value) => Argument::float(*value),
            Operand::Bool(value) => Argument::bool(*value),
            Operand::Str(text) => Argument::str(text),
            Operand::DType(dtype) => Argument::dtype(*dtype),
            Operand::Device(device) => Argument::device(*device),
            Operand::Layout(name) => {
                Argument::layout(name).ok_or_else(|| format!("there is no layout {name}"))?
            }
            Operand::MemoryFormat(name) => {
                Argument::memory_format(name).ok_or_else(|| format!("there is no memory format {name}"))?
            }
            Operand::List(items) => {
                arguments.push(Argument::list(items.len()));
                return items.iter().try_for_each(|item| self.argument(item, arguments, holes));
            }
        });
        Ok(())
    }
}
