//! Compiles all operations except ATen operators.

use ag_graph::ir::arithmetic::{self, Kind, widen};
use ag_graph::ir::{self, Node, Op, Operand, Scalar};

use super::{Compiled, Compiler};
use crate::plan::{ListStep, ObjectReg, Register, ScalarInput, ScalarReg, Slice, Source, Step, TypedScalar};
use crate::value::Value;
use ag_graph::liveness::NodeLife;

impl Compiler<'_> {
    /// Compiles an `if`: both branches end by moving their results to the registers of the outputs.
    pub(super) fn branch(&mut self, node: &Node, life: &NodeLife) -> Compiled {
        let condition = self.input(&node.operands[0])?;
        let unless = self.step_releasing(Step::JumpIfFalse { condition, to: 0 }, &life.operands);
        let outputs: Vec<Register> = node.outputs.iter().map(|output| self.define(*output)).collect();
        let (origin, span) = (self.origin, self.span);
        self.registers.open_branches();
        let mut leave = None;
        for (index, (region, life)) in node.regions.iter().zip(&life.regions).enumerate() {
            if index == 1 {
                self.patch_jump(unless);
            }
            self.region(region, life)?;
            (self.origin, self.span) = (origin, span);
            self.parallel_move(&outputs, &region.results, &life.results, &[])?;
            if index == 0 {
                leave = Some(self.step(Step::Jump { to: 0 }));
            }
        }
        if let Some(leave) = leave {
            self.patch_jump(leave);
        }
        self.registers.close_branches();
        Ok(())
    }

    /// Compiles a `while`. The carried variables keep their registers in all iterations.
    pub(super) fn while_loop(&mut self, node: &Node, life: &NodeLife) -> Compiled {
        let [condition, body] = &node.regions[..] else {
            return Err("a `while` must have two regions".into());
        };
        let carried = self.carry(&body.params, &node.operands, &life.operands)?;
        self.bind(&condition.params, &carried)?;
        self.bind(&body.params, &carried)?;
        let (origin, span) = (self.origin, self.span);
        let head = self.next();
        self.region(condition, &life.regions[0])?;
        let input = self.input(&condition.results[0])?;
        let exit =
            self.step_releasing(Step::JumpIfFalse { condition: input, to: 0 }, &life.regions[0].results);
        self.region(body, &life.regions[1])?;
        (self.origin, self.span) = (origin, span);
        self.parallel_move(&carried, &body.results, &life.regions[1].results, &[])?;
        self.step(Step::JumpBack { to: head });
        self.patch_jump(exit);
        self.registers.unhold(carried.len());
        self.end_loop(&node.outputs, &carried)
    }

    /// Compiles a `for`, with registers for the index, the remaining number of iterations and the step.
    pub(super) fn for_loop(&mut self, node: &Node, life: &NodeLife) -> Compiled {
        let body = &node.regions[0];
        let [start, stop, by] = [0, 1, 2].map(|index| self.input(&node.operands[index]));
        let (index, left, step) = (self.registers.number(), self.registers.number(), self.registers.number());
        self.step(Step::ForStart { index, left, step, start: start?, stop: stop?, by: by? });
        let counters = [index, left, step].map(|reg| Register::Scalar(reg, Kind::Int));
        self.registers.hold(&counters);
        let carried = self.carry(&body.params[1..], &node.operands[3..], &life.operands)?;
        self.bind(&body.params[..1], &counters[..1])?;
        self.bind(&body.params[1..], &carried)?;
        let (origin, span) = (self.origin, self.span);
        let head = self.next();
        let mut exits = vec![self.step(Step::ForTest { left, to: 0 })];
        if let (Some(test), Some(life)) = (node.regions.get(1), life.regions.get(1)) {
            self.bind(&test.params, &carried)?;
            self.region(test, life)?;
            let condition = self.input(&test.results[0])?;
            exits.push(self.step_releasing(Step::JumpIfFalse { condition, to: 0 }, &life.results));
        }
        self.region(body, &life.regions[0])?;
        (self.origin, self.span) = (origin, span);
        self.parallel_move(&carried, &body.results, &life.regions[0].results, &[])?;
        self.step(Step::ForNext { index, left, step, to: head });
        exits.into_iter().for_each(|exit| self.patch_jump(exit));
        self.registers.unhold(carried.len() + counters.len());
        counters.into_iter().for_each(|counter| self.registers.release(counter));
        self.end_loop(&node.outputs, &carried)
    }

    /// Assigns the registers of carried values to the results of a loop. Sums that end here are computed.
    fn end_loop(&mut self, outputs: &[ir::Value], carried: &[Register]) -> Compiled {
        let mut carried = carried.to_vec();
        for (output, register) in outputs.iter().zip(&mut carried) {
            let Register::Object(sum) = *register else { continue };
            if self.function.ty(*output).tensor().is_some() && !self.is_sum(*output) {
                self.registers.release(*register);
                let Register::Tensor(out) = self.define(*output) else { continue };
                self.step(Step::FinishSum { out, sum });
                *register = Register::Tensor(out);
            }
        }
        self.bind(outputs, &carried)
    }

    /// Allocates registers for the carried values of a loop and initializes them.
    fn carry(
        &mut self,
        params: &[ir::Value],
        operands: &[Operand],
        dies: &[ir::Value],
    ) -> Compiled<Vec<Register>> {
        let function = self.function;
        let is_sum =
            |compiler: &Self, index: usize| params.get(index).is_some_and(|param| compiler.is_sum(*param));
        let sums = self.sums_of_operands(operands, dies, is_sum)?;
        let carried: Vec<Register> = params
            .iter()
            .map(|param| {
                let ty = if self.is_sum(*param) { &ir::Type::Any } else { function.ty(*param) };
                self.registers.take(ty)
            })
            .collect();
        self.registers.hold(&carried);
        self.parallel_move(&carried, operands, dies, &sums)?;
        Ok(carried)
    }

    /// Assigns existing registers to values: a loop's parameters in each of its regions, and its results.
    fn bind(&mut self, values: &[ir::Value], registers: &[Register]) -> Compiled {
        for (value, register) in values.iter().zip(registers) {
            let ty = self.function.ty(*value);
            let fits = match register {
                Register::Scalar(_, kind) => Kind::of(ty) == Some(*kind),
                Register::Tensor(_) => ty.tensor().is_some(),
                Register::Object(_) => self.is_sum(*value) || !ty.is_scalar() && ty.tensor().is_none(),
            };
            if !fits {
                return Err(format!("{ty} does not match the type of the carried value"));
            }
            self.assigned[value.index()] = Some(*register);
        }
        Ok(())
    }

    /// Compiles a node without regions.
    pub(super) fn simple(&mut self, node: &Node, life: &NodeLife) -> Compiled {
        let (operands, dies) = (&node.operands[..], &life.operands[..]);
        match &node.op {
            Op::Scalar(scalar) => return self.scalar(*scalar, node, dies),
            Op::Item => {
                let Operand::Value(value) = operands[0] else {
                    return Err("expected a tensor operand".into());
                };
                let Register::Tensor(tensor) = self.register_of(value)? else {
                    return Err("the operand must be a tensor".into());
                };
                let Register::Scalar(out, kind) = self.define(node.outputs[0]) else {
                    return Err("the result must be a number".into());
                };
                self.step_releasing(Step::Item { out, kind, tensor }, dies);
            }
            Op::Size => {
                let Operand::Value(value) = operands[0] else {
                    return Err("expected a tensor operand".into());
                };
                let Register::Tensor(tensor) = self.register_of(value)? else {
                    return Err("the operand must be a tensor".into());
                };
                let dimension = self.input(&operands[1])?;
                let Register::Scalar(out, Kind::Int) = self.define(node.outputs[0]) else {
                    return Err("the result must be an int".into());
                };
                self.step_releasing(Step::Size { out, tensor, dimension }, dies);
            }
            Op::Overwritten => {
                let Operand::Value(after) = operands[1] else {
                    return Err("expected a tensor operand".into());
                };
                let Register::Tensor(a) = self.register_of(after)? else {
                    return Err("the operand must be a tensor".into());
                };
                let Register::Tensor(out) = self.define(node.outputs[0]) else {
                    return Err("the result must be a tensor".into());
                };
                self.step_releasing(Step::CopyTensor { out, a }, dies);
            }
            Op::Call(function) => return self.call(*function, node, dies),
            Op::Python(callback) | Op::Start(callback) => {
                let arguments = self.source_slice(operands, dies)?;
                let outputs = self.output_slice(&node.outputs);
                self.step(Step::Python { callback: *callback, arguments, outputs });
            }
            Op::Print => {
                let parts = self.source_slice(operands, &[])?;
                self.step_releasing(Step::Print { parts }, dies);
            }
            Op::Assert => {
                let condition = self.input(&operands[0])?;
                let parts = self.source_slice(&operands[1..], &[])?;
                self.step_releasing(Step::Assert { condition, parts }, dies);
            }
            Op::Raise(class) => {
                let parts = self.source_slice(operands, &[])?;
                let class = Slice::add(&mut self.plan.tables.classes, Some(class.clone())).start();
                self.step_releasing(Step::Raise { class, parts }, dies);
                // The following steps are unreachable, but they need registers for the results.
                for output in &node.outputs {
                    self.define(*output);
                }
            }
            Op::TupleNew => {
                let items = self.source_slice(operands, dies)?;
                let out = self.object_output(node.outputs[0])?;
                self.step(Step::TupleNew { out, items });
            }
            Op::TupleGet(index) => {
                let tuple = self.object_operand(&operands[0])?;
                let out = self.output_entry(node.outputs[0]);
                self.step_releasing(Step::TupleGet { out, tuple, index: *index }, dies);
            }
            _ => return self.list(node, dies),
        }
        Ok(())
    }

    /// Compiles an operation on lists.
    fn list(&mut self, node: &Node, dies: &[ir::Value]) -> Compiled {
        let operands = &node.operands[..];
        let nothing = || Operand::None;
        let (op, list, index, item) = match (&node.op, operands) {
            (Op::ListNew, items) => {
                (ListStep::New, Operand::List(items.to_vec()), Operand::Int(0), nothing())
            }
            (Op::ListFilled, [length, item]) => (ListStep::Filled, nothing(), length.clone(), item.clone()),
            (Op::ListAppend, [list, item]) => (ListStep::Append, list.clone(), Operand::Int(0), item.clone()),
            (Op::ListConcat, [list, item]) => (ListStep::Concat, list.clone(), Operand::Int(0), item.clone()),
            (Op::ListSet, [list, index, item]) => (ListStep::Set, list.clone(), index.clone(), item.clone()),
            (Op::ListInsert, [list, index, item]) => {
                (ListStep::Insert, list.clone(), index.clone(), item.clone())
            }
            (Op::ListPop, [list, index]) => {
                let index = self.input(index)?;
                let list = self.sources(std::slice::from_ref(list), dies)?.remove(0);
                let list = self.source_entry(list);
                let out = self.object_output(node.outputs[0])?;
                let item = self.output_entry(node.outputs[1]);
                self.step(Step::ListPop { out, item, list, index });
                return Ok(());
            }
            (Op::ListGet, [list, index]) => {
                let (list, index) = (self.object_operand(list)?, self.input(index)?);
                let out = self.output_entry(node.outputs[0]);
                self.step_releasing(Step::ListGet { out, list, index }, dies);
                return Ok(());
            }
            (Op::ListLen, [list]) => {
                let list = self.object_operand(list)?;
                let Register::Scalar(out, Kind::Int) = self.define(node.outputs[0]) else {
                    return Err("the result must be an int".into());
                };
                self.step_releasing(Step::ListLen { out, list }, dies);
                return Ok(());
            }
            (Op::ListSlice, [list, bounds @ ..]) => {
                let list = self.object_operand(list)?;
                let bounds = self.source_slice(bounds, &[])?;
                let out = self.object_output(node.outputs[0])?;
                self.step_releasing(Step::ListSlice { out, list, bounds }, dies);
                return Ok(());
            }
            _ => return Err("unexpected operands".into()),
        };
        let index = self.input(&index)?;
        let mut sources = self.sources(&[list, item], dies)?;
        let item = sources.pop().unwrap_or(Source::Const(Value::None));
        let list = sources.pop().unwrap_or(Source::Const(Value::None));
        let (list, item) = (self.source_entry(list), self.source_entry(item));
        let out = self.object_output(node.outputs[0])?;
        self.step(Step::List { op, out, list, index, item });
        Ok(())
    }

    fn object_output(&mut self, output: ir::Value) -> Compiled<ObjectReg> {
        match self.define(output) {
            Register::Object(reg) => Ok(reg),
            _ => Err(format!("unexpected result type {}", self.function.ty(output))),
        }
    }

    /// Returns the register that contains a list or tuple operand. A constant is moved to a register first.
    fn object_operand(&mut self, operand: &Operand) -> Compiled<ObjectReg> {
        if let Operand::Value(value) = operand {
            return match self.register_of(*value)? {
                Register::Object(reg) => Ok(reg),
                _ => Err(format!("{} has no items", self.function.ty(*value))),
            };
        }
        let source = self.sources(std::slice::from_ref(operand), &[])?.remove(0);
        let reg = self.registers.unused_object();
        self.move_to(source, Register::Object(reg));
        Ok(reg)
    }

    fn kind(&self, operand: &Operand) -> Compiled<Kind> {
        let ty = self.function.type_of(operand);
        Kind::of(&ty).ok_or_else(|| format!("expected a number, found {ty}"))
    }

    /// Compiles an operation on numbers, after conversion of the operands to one kind.
    fn scalar(&mut self, scalar: Scalar, node: &Node, dies: &[ir::Value]) -> Compiled {
        let operands = &node.operands[..];
        let wanted = Kind::of(self.function.ty(node.outputs[0])).ok_or("the result must be a number")?;
        let none = || format!("{} does not support operands of these types", scalar.text());
        let mut between = Vec::new();
        let step = if scalar == Scalar::Select {
            let condition = self.number_as(&operands[0], Kind::Bool, &mut between)?;
            let a = self.number_as(&operands[1], wanted, &mut between)?;
            let b = self.number_as(&operands[2], wanted, &mut between)?;
            Step::Select { out: self.registers.number(), condition, a, b }
        } else {
            let a = self.kind(&operands[0])?;
            let (f, takes, gives) = match operands.get(1) {
                None => arithmetic::unary(scalar, a),
                Some(b) => arithmetic::binary(scalar, a, self.kind(b)?, wanted),
            }
            .ok_or_else(none)?;
            let a = self.number_as(&operands[0], takes, &mut between)?;
            let b = match operands.get(1) {
                None => ScalarInput::Const(0),
                Some(b) => self.number_as(b, takes, &mut between)?,
            };
            let out = self.registers.number();
            if gives != wanted {
                self.step(Step::Scalar { f, out, a, b });
                between.push(out);
                let given = TypedScalar { input: ScalarInput::Register(out), kind: gives };
                self.widened(given, wanted).ok_or_else(none)?
            } else {
                Step::Scalar { f, out, a, b }
            }
        };
        if let Step::Scalar { out, .. } | Step::Select { out, .. } | Step::CopyScalar { out, .. } = &step {
            self.assigned[node.outputs[0].index()] = Some(Register::Scalar(*out, wanted));
        }
        self.step(step);
        between.into_iter().for_each(|reg| self.registers.release(Register::Scalar(reg, Kind::Int)));
        self.release(dies, true);
        Ok(())
    }

    /// Returns a scalar converted to the kind `wanted`. Temporaries are recorded in `between`.
    fn number_as(
        &mut self,
        operand: &Operand,
        wanted: Kind,
        between: &mut Vec<ScalarReg>,
    ) -> Compiled<ScalarInput> {
        let (input, kind) = (self.input(operand)?, self.kind(operand)?);
        let narrower = || "a number cannot be converted to a narrower type".to_owned();
        if let ScalarInput::Const(bits) = input {
            return widen(bits, kind, wanted).map(ScalarInput::Const).ok_or_else(narrower);
        }
        if kind == wanted || (kind, wanted) == (Kind::Bool, Kind::Int) {
            return Ok(input);
        }
        let step = self.widened(TypedScalar { input, kind }, wanted).ok_or_else(narrower)?;
        let Step::Scalar { out, .. } = step else { return Err(narrower()) };
        self.step(step);
        between.push(out);
        Ok(ScalarInput::Register(out))
    }

    fn widened(&mut self, number: TypedScalar, wanted: Kind) -> Option<Step> {
        match (number.kind, wanted) {
            (Kind::Bool | Kind::Int, Kind::Float) => Some(Step::Scalar {
                f: arithmetic::int_to_float,
                out: self.registers.number(),
                a: number.input,
                b: ScalarInput::Const(0),
            }),
            (Kind::Bool, Kind::Int) => {
                Some(Step::CopyScalar { out: self.registers.number(), a: number.input })
            }
            _ => None,
        }
    }
}
