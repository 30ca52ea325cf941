//! Compiles ATen operators: to a direct call if `typed` has a binding, otherwise to a call through the dispatcher.

use ag_graph::ir::arithmetic::Kind;
use ag_graph::ir::{Node, Operand};

use super::{Compiled, Compiler};
use crate::aten::{self, Argument, Call};
use crate::plan::{Operator, Register, ScalarInput, Slice, Source, Step, TensorReg, TypedScalar};
use crate::pooling::MaxPool;
use crate::typed::{Binary, Form, MAX_INTS, Typed, typed};
use ag_graph::liveness::NodeLife;

impl Compiler<'_> {
    /// Compiles a call of an operator: in place if possible, else as a direct call, else through the dispatcher.
    pub(super) fn operator(&mut self, name: &str, node: &Node, life: &NodeLife) -> Compiled {
        if self.in_place(name, node, life)? {
            return Ok(());
        }
        if let [output] = node.outputs[..]
            && self.function.ty(output).tensor().is_some()
        {
            let forms: Vec<Form<'_>> = node.operands.iter().map(|operand| self.form(operand)).collect();
            if let Some(function) = typed(name, &forms, &node.operands)
                && let Register::Tensor(out) = self.define(output)
            {
                if let Some(step) = self.direct(function, out, &node.operands)? {
                    self.step_releasing(step, &life.operands);
                    return Ok(());
                }
                self.registers.release(Register::Tensor(out));
            }
        }
        if self.max_pool(name, node, life)? {
            return Ok(());
        }
        self.boxed(name, node, life)
    }

    /// Compiles the node if it is a call of maximum pooling with a known window. Otherwise returns `false`.
    fn max_pool(&mut self, name: &str, node: &Node, life: &NodeLife) -> Compiled<bool> {
        let (Some(pool), [maxima, indices]) = (MaxPool::of(name, &node.operands), &node.outputs[..]) else {
            return Ok(false);
        };
        let Some(input) = node.operands.first().and_then(Operand::value) else { return Ok(false) };
        let Register::Tensor(a) = self.register_of(input)? else { return Ok(false) };
        let (Register::Tensor(maxima), Register::Tensor(indices)) =
            (self.define(*maxima), self.define(*indices))
        else {
            return Err(format!("{name} returns tensors"));
        };
        self.plan.tables.pools.push(pool);
        let pool = (self.plan.tables.pools.len() - 1) as u32;
        self.step_releasing(Step::MaxPool { pool, maxima, indices, a }, &life.operands);
        Ok(true)
    }

    /// Returns the form of an operand, by which a direct call is selected.
    fn form<'o>(&self, operand: &'o Operand) -> Form<'o> {
        match operand {
            Operand::None => Form::None,
            Operand::Int(_) => Form::Int,
            Operand::Float(_) => Form::Float,
            Operand::Bool(_) => Form::Bool,
            Operand::Value(value) => match self.assigned[value.index()] {
                Some(Register::Tensor(_)) => Form::Tensor,
                Some(Register::Scalar(_, Kind::Int)) => Form::Int,
                Some(Register::Scalar(_, Kind::Float)) => Form::Float,
                Some(Register::Scalar(_, Kind::Bool)) => Form::Bool,
                Some(Register::Object(_))
                    if matches!(self.function.ty(*value), ag_graph::ir::Type::List(_)) =>
                {
                    Form::List
                }
                _ => Form::Other(operand),
            },
            Operand::List(items) if items.iter().all(|item| self.form(item) == Form::Int) => Form::Ints,
            Operand::List(items) if items.iter().all(|item| self.form(item) == Form::Tensor) => Form::Tensors,
            _ => Form::Other(operand),
        }
    }

    /// Returns a step that calls a function directly. `None` if the function does not support these operands.
    fn direct(&mut self, function: Typed, out: TensorReg, operands: &[Operand]) -> Compiled<Option<Step>> {
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
            (Typed::WithScalar(f), [a, ..]) => self.with_number(f, out, *a, operands)?,
            (Typed::WithInts(f), [a, ..]) if ints.len() <= MAX_INTS => {
                let ints = Slice::add(&mut self.plan.tables.inputs, ints);
                Some(Step::WithInts { f, out, a: *a, ints })
            }
            (Typed::Indexed(f), [a, b, ..]) if ints.len() <= MAX_INTS => {
                let ints = Slice::add(&mut self.plan.tables.inputs, ints);
                Some(Step::Indexed { f, out, a: *a, b: *b, ints })
            }
            (Typed::Concat(f), _) => {
                let dimension = self.input(&operands[1])?;
                match operands[0].value().map(|list| self.register_of(list)).transpose()? {
                    Some(Register::Object(list)) => Some(Step::ConcatList { f, out, list, dimension }),
                    _ if a.is_some() => {
                        let tensors = Slice::add(&mut self.plan.tables.tensors, tensors);
                        Some(Step::Concat { f, out, tensors, dimension })
                    }
                    _ => None,
                }
            }
            _ => None,
        })
    }

    /// Flattens tensors and integers in order. A missing bound of a slice becomes the start or the end of the
    /// dimension.
    fn flatten(
        &self,
        operand: &Operand,
        index: usize,
        tensors: &mut Vec<TensorReg>,
        ints: &mut Vec<ScalarInput>,
    ) -> Compiled {
        match operand {
            Operand::List(items) => {
                items.iter().try_for_each(|item| self.flatten(item, index, tensors, ints))
            }
            Operand::Value(value) => {
                match self.register_of(*value)? {
                    Register::Tensor(reg) => tensors.push(reg),
                    Register::Scalar(reg, _) => ints.push(ScalarInput::Register(reg)),
                    Register::Object(_) => {}
                }
                Ok(())
            }
            Operand::None if index == 2 => {
                ints.push(ScalarInput::Const(0));
                Ok(())
            }
            Operand::None => {
                ints.push(ScalarInput::Const(i64::MAX.cast_unsigned()));
                Ok(())
            }
            operand => {
                ints.push(self.input(operand)?);
                Ok(())
            }
        }
    }

    /// Returns a step with a tensor and a number. A literal is converted to a tensor at compile time, a scalar register
    /// in each run.
    fn with_number(
        &mut self,
        f: Binary,
        out: TensorReg,
        a: TensorReg,
        operands: &[Operand],
    ) -> Compiled<Option<Step>> {
        let ty = self.function.type_of(&operands[0]);
        let Some(other_dtype) = ty.tensor().map(|tensor| tensor.dtype) else { return Ok(None) };
        let literal = match &operands[1] {
            Operand::Int(value) => Argument::int(*value),
            Operand::Float(value) => Argument::float(*value),
            operand => {
                let number = TypedScalar { input: self.input(operand)?, kind: self.number_kind(operand) };
                return Ok(Some(Step::WithScalar { f, out, a, number, other_dtype }));
            }
        };
        let constant = aten::number(literal, other_dtype).map_err(|error| error.message)?;
        let constant = Slice::add(&mut self.plan.tables.constants, Some(constant.into())).start();
        Ok(Some(Step::WithConst { f, out, a, constant }))
    }

    fn number_kind(&self, operand: &Operand) -> Kind {
        Kind::of(&self.function.type_of(operand)).unwrap_or(Kind::Int)
    }

    /// Adds a step that calls the operator through torch's dispatcher. Values that are known only in a run are holes in
    /// the prepared arguments.
    fn boxed(&mut self, name: &str, node: &Node, life: &NodeLife) -> Compiled {
        let mut arguments = Vec::new();
        let mut holes = Vec::new();
        for operand in &node.operands {
            self.argument(operand, &mut arguments, &mut holes)?;
        }
        let call = Call::prepare(name, &arguments).map_err(|error| format!("{name}: {}", error.message))?;
        if call.returns() != node.outputs.len() {
            return Err(format!("{name} returns {} results", call.returns()));
        }
        let outputs = node.outputs.iter().map(|output| self.define(*output)).collect();
        self.plan.tables.operators.push(Operator { call, holes: holes.into(), outputs });
        let call = (self.plan.tables.operators.len() - 1) as u32;
        self.step_releasing(Step::Operator { call }, &life.operands);
        Ok(())
    }

    /// Appends an operand to the arguments of a call, or a hole and its source.
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
            Operand::Layout(layout) => Argument::layout(*layout),
            Operand::MemoryFormat(format) => Argument::memory_format(*format),
            Operand::List(items) => {
                arguments.push(Argument::list(items.len()));
                return items.iter().try_for_each(|item| self.argument(item, arguments, holes));
            }
        });
        Ok(())
    }
}
