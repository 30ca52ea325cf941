//! Runs a plan: a loop over steps with its own stack of frames.

mod native;
mod registers;

use std::time::{Duration, Instant};

use ag_graph::ir::Type;
use ag_graph::ir::arithmetic::{Kind, range_length};

use super::aten::{self, NoAutogradGuard, Output};
use super::deferred;
use super::error::{Error, Fault, Location};
use super::host::Host;
use super::in_place;
use super::list;
use super::plan::{Dead, Function, ListStep, Native, Plan, Slice, Step, fits};
use super::tier::{Tier, tier};
use super::value::Value;

use self::native::Scratch;
use self::registers::{Frame, Registers};

impl Plan {
    /// Runs the plan. Returns the results of the entry, in order. If the run fails, nothing has changed except for
    /// effects of the host.
    pub fn run(&self, inputs: Vec<Value>, host: &mut dyn Host) -> Result<Vec<Value>, Error> {
        self.resume(Vec::new(), inputs, host)
    }

    /// Runs the plan with results of another plan as its first inputs, whose types are known to match.
    pub fn resume(
        &self,
        mut saved: Vec<Value>,
        inputs: Vec<Value>,
        host: &mut dyn Host,
    ) -> Result<Vec<Value>, Error> {
        let Some(entry) = self.functions.first() else { return Ok(Vec::new()) };
        let nowhere = |fault| Error { fault, trace: Vec::new() };
        self.check(saved.len(), &inputs).map_err(nowhere)?;
        saved.extend(inputs);
        let mut machine = Machine {
            plan: self,
            host,
            mode: NoAutogradGuard::enter(),
            registers: Registers::default(),
            frames: Vec::new(),
            poll_timer: PollTimer::default(),
            outputs: Vec::new(),
            is_native: tier() != Tier::Torch && aten::ambient().is_multiple_of(2),
            scratch: Scratch::take(),
        };
        machine.registers.open(entry);
        for (register, input) in entry.params.iter().zip(saved) {
            machine.registers.store(*register, input).map_err(nowhere)?;
        }
        let results = machine.run().map_err(|(fault, function, at)| machine.error(fault, function, at));
        machine.scratch.keep();
        results
    }

    /// Checks the inputs that follow the saved ones.
    fn check(&self, saved: usize, inputs: &[Value]) -> Result<(), Fault> {
        let params = self.params.get(saved..).unwrap_or_default();
        if inputs.len() != params.len() {
            let (wanted, given) = (params.len(), inputs.len());
            return Err(Fault::Input(format!("expected {wanted} inputs, found {given}")));
        }
        for ((name, ty), input) in params.iter().zip(inputs) {
            match (ty, input) {
                (Type::Tensor(ty), Value::Tensor(tensor)) => {
                    fits(tensor, ty).map_err(|message| Fault::Input(format!("`{name}` {message}")))?;
                }
                (Type::Tensor(_), other) => {
                    let kind = other.kind();
                    return Err(Fault::Input(format!("`{name}` must be a Tensor, not {kind}")));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

struct Machine<'a> {
    plan: &'a Plan,
    host: &'a mut dyn Host,
    mode: Option<NoAutogradGuard>,
    registers: Registers,
    /// The callers of the current function.
    frames: Vec<Caller>,
    poll_timer: PollTimer,
    /// Reused to avoid allocation.
    outputs: Vec<Output>,
    /// Whether native segments run natively. False under modes and transforms of torch, which intercept each
    /// operator.
    is_native: bool,
    scratch: Scratch,
}

/// A suspended function and the index of its call step.
struct Caller {
    function: u32,
    at: usize,
    frame: Frame,
}

/// A fault, and the function and the step in which it occurred.
type Stopped = (Fault, usize, usize);

impl Machine<'_> {
    fn run(&mut self) -> Result<Vec<Value>, Stopped> {
        let plan = self.plan;
        let mut number = 0;
        let mut function = &plan.functions[number];
        let mut at = 0;
        loop {
            let index = at;
            at += 1;
            let stopped = |fault| (fault, number, index);
            match function.steps[index] {
                Step::Jump { to } => at = to as usize,
                Step::JumpIfFalse { condition, to } => {
                    if self.registers.scalar(condition) == 0 {
                        at = to as usize;
                    }
                }
                Step::JumpBack { to } => {
                    self.poll().map_err(stopped)?;
                    at = to as usize;
                }
                Step::Native { native, to } => {
                    let native = &function.tables.natives[native as usize];
                    if self.is_native && self.run_native(native).map_err(stopped)? {
                        at = to as usize;
                    }
                }
                Step::ForTest { left, to } => {
                    if *self.registers.scalar_mut(left) == 0 {
                        at = to as usize;
                    }
                }
                Step::ForNext { index, left, step, to } => {
                    self.poll().map_err(stopped)?;
                    let by = *self.registers.scalar_mut(step);
                    let index = self.registers.scalar_mut(index);
                    *index = index.wrapping_add(by);
                    *self.registers.scalar_mut(left) -= 1;
                    at = to as usize;
                }
                Step::Call { function: callee, arguments, .. } => {
                    self.poll().map_err(stopped)?;
                    if self.frames.len() >= plan.recursion_limit {
                        return Err(stopped(Fault::Recursion(plan.recursion_limit)));
                    }
                    let arguments = self.collect(function, arguments);
                    let frame = self.registers.open(&plan.functions[callee as usize]);
                    self.frames.push(Caller { function: number as u32, at: index, frame });
                    number = callee as usize;
                    function = &plan.functions[number];
                    at = 0;
                    for (register, argument) in function.params.iter().zip(arguments) {
                        self.registers.store(*register, argument).map_err(|fault| (fault, number, 0))?;
                    }
                    continue;
                }
                Step::Return { results } => {
                    let results = self.collect(function, results);
                    let Some(caller) = self.frames.pop() else { return Ok(results) };
                    self.registers.close(caller.frame);
                    number = caller.function as usize;
                    function = &plan.functions[number];
                    at = caller.at + 1;
                    if let Step::Call { outputs, .. } = function.steps[caller.at] {
                        for (register, result) in outputs.of(&function.tables.registers).iter().zip(results) {
                            self.registers
                                .store(*register, result)
                                .map_err(|fault| (fault, number, caller.at))?;
                        }
                    }
                    self.release_dead(function, caller.at);
                    continue;
                }
                step => self.step(function, step).map_err(stopped)?,
            }
            self.release_dead(function, index);
        }
    }

    fn release_dead(&mut self, function: &Function, index: usize) {
        for dead in function.dead[index].of(&function.tables.dead) {
            match dead {
                Dead::Tensor(reg) => drop(self.registers.tensor_mut(*reg).take()),
                Dead::Object(reg) => *self.registers.object_mut(*reg) = Value::None,
            }
        }
    }

    /// Executes a step that does not jump.
    fn step(&mut self, function: &Function, step: Step) -> Result<(), Fault> {
        let tables = &function.tables;
        let registers = &mut self.registers;
        match step {
            Step::Scalar { f, out, a, b } => {
                *registers.scalar_mut(out) = f(registers.scalar(a), registers.scalar(b))?;
            }
            Step::Select { out, condition, a, b } => {
                let taken = if registers.scalar(condition) == 0 { b } else { a };
                *registers.scalar_mut(out) = registers.scalar(taken);
            }
            Step::Item { out, kind, tensor } => {
                let item = aten::item(registers.tensor(tensor)?)?;
                *registers.scalar_mut(out) = match (kind, item) {
                    (Kind::Int, Output::Int(value)) => value.cast_unsigned(),
                    (Kind::Int | Kind::Bool, Output::Bool(value)) => u64::from(value),
                    (Kind::Float, Output::Float(value)) => value.to_bits(),
                    (_, item) => {
                        let kind = Value::from(item).kind();
                        return Err(Fault::Type(format!("unexpected element type of the tensor: {kind}")));
                    }
                };
            }
            Step::Size { out, tensor, dimension } => {
                let dimension = registers.scalar(dimension).cast_signed();
                *registers.scalar_mut(out) =
                    aten::size(registers.tensor(tensor)?, dimension)?.cast_unsigned();
            }

            Step::Unary { f, out, a } => {
                let result = f(registers.tensor(a)?)?;
                *registers.tensor_mut(out) = Some(result);
            }
            Step::Binary { f, out, a, b } => {
                let result = f(registers.tensor(a)?, registers.tensor(b)?)?;
                *registers.tensor_mut(out) = Some(result);
            }
            Step::WithConst { f, out, a, constant } => {
                let result = f(registers.tensor(a)?, &tables.constants[constant as usize])?;
                *registers.tensor_mut(out) = Some(result);
            }
            Step::WithScalar { f, out, a, number, other_dtype } => {
                let number = aten::number(registers.argument_of(number), other_dtype)?;
                let result = f(registers.tensor(a)?, &number)?;
                *registers.tensor_mut(out) = Some(result);
            }
            Step::Ternary { f, out, a, b, c } => {
                let result = f(registers.tensor(a)?, registers.tensor(b)?, registers.tensor(c)?)?;
                *registers.tensor_mut(out) = Some(result);
            }
            Step::WithInts { f, out, a, ints } => {
                let (few, length) = registers.ints(ints.of(&tables.inputs));
                let result = f(registers.tensor(a)?, &few[..length])?;
                *registers.tensor_mut(out) = Some(result);
            }
            Step::Indexed { f, out, a, b, ints } => {
                let (few, length) = registers.ints(ints.of(&tables.inputs));
                let result = f(registers.tensor(a)?, registers.tensor(b)?, &few[..length])?;
                *registers.tensor_mut(out) = Some(result);
            }
            Step::Concat { f, out, tensors, dimension } => {
                let dimension = registers.scalar(dimension).cast_signed();
                let tensors: Result<Vec<_>, Fault> =
                    tensors.of(&tables.tensors).iter().map(|reg| registers.tensor(*reg)).collect();
                let result = f(&tensors?, dimension)?;
                *registers.tensor_mut(out) = Some(result);
            }
            Step::ConcatList { f, out, list, dimension } => {
                let dimension = registers.scalar(dimension).cast_signed();
                let items = list::items(registers.object_mut(list))?;
                let tensors: Option<Vec<_>> = items.iter().map(Value::tensor).collect();
                let tensors =
                    tensors.ok_or_else(|| Fault::Type("the list has items that are not tensors".into()))?;
                let result = f(&tensors, dimension)?;
                *registers.tensor_mut(out) = Some(result);
            }
            Step::AddInPlace { f, out, a, b } => {
                let grown = registers.take(a)?;
                let result = f(grown, registers.tensor(b)?)?;
                *registers.tensor_mut(out) = Some(result);
            }
            Step::IndexAddInPlace { out, a, dimension, index, b } => {
                let dimension = registers.scalar(dimension).cast_signed();
                let grown = registers.take(a)?;
                let result =
                    in_place::add_at(grown, dimension, registers.tensor(index)?, registers.tensor(b)?)?;
                *registers.tensor_mut(out) = Some(result);
            }
            Step::NewSum { out, total } => {
                let Value::Tensor(total) = registers.fetch(&tables.sources[total as usize]) else {
                    return Err(Fault::Type("expected a Tensor as the start of a sum".into()));
                };
                *registers.object_mut(out) = deferred::Sum::new(total.into()).into();
            }
            Step::AddProduct { out, sum, a, b } => {
                let mut sum = std::mem::take(registers.object_mut(sum));
                let at_once = !self.is_native;
                deferred::Sum::of(&mut sum)?.add(registers.tensor(a)?, registers.tensor(b)?, at_once)?;
                *registers.object_mut(out) = sum;
            }
            Step::FinishSum { out, sum } => {
                let mut sum = std::mem::take(registers.object_mut(sum));
                let total = deferred::Sum::of(&mut sum)?.finish()?;
                *registers.tensor_mut(out) = Some(total);
            }
            Step::MaxPool { pool, maxima, indices, a } => {
                let results = tables.pools[pool as usize].run(registers.tensor(a)?)?;
                *registers.tensor_mut(maxima) = Some(results.0);
                *registers.tensor_mut(indices) = Some(results.1);
            }
            Step::Operator { call } => {
                let operator = &tables.operators[call as usize];
                let mut outputs = std::mem::take(&mut self.outputs);
                let ran = registers
                    .with_hole_values(&operator.holes, |fillings| operator.call.run(fillings, &mut outputs));
                if let Err(fault) = ran {
                    outputs.clear();
                    self.outputs = outputs;
                    return Err(fault);
                }
                for (register, output) in operator.outputs.iter().zip(outputs.drain(..)) {
                    registers.store_output(*register, output)?;
                }
                self.outputs = outputs;
            }

            Step::CopyScalar { out, a } => *registers.scalar_mut(out) = registers.scalar(a),
            Step::MoveTensor { out, a } => {
                let taken = registers.tensor_mut(a).take();
                *registers.tensor_mut(out) = taken;
            }
            Step::CopyTensor { out, a } => {
                let copy = registers.tensor_mut(a).as_ref().map(tch::Tensor::shallow_clone);
                *registers.tensor_mut(out) = copy;
            }
            Step::Move { source, register } => {
                let value = registers.fetch(&tables.sources[source as usize]);
                registers.store(tables.registers[register as usize], value)?;
            }
            Step::ForStart { index, left, step, start, stop, by } => {
                let [start, stop, by] = [start, stop, by].map(|input| registers.scalar(input).cast_signed());
                *registers.scalar_mut(index) = start.cast_unsigned();
                *registers.scalar_mut(left) = range_length(start, stop, by)
                    .ok_or_else(|| Fault::Value("range() arg 3 must not be zero".into()))?;
                *registers.scalar_mut(step) = by.cast_unsigned();
            }

            Step::List { op, out, list, index, item } => {
                let index = registers.scalar(index).cast_signed();
                let list = registers.fetch(&tables.sources[list as usize]);
                let result = match op {
                    ListStep::New => list,
                    op => list::step(op, list, index, registers.fetch(&tables.sources[item as usize]))?,
                };
                *registers.object_mut(out) = result;
            }
            Step::ListGet { out, list, index } => {
                let index = registers.scalar(index).cast_signed();
                let item = list::get(registers.object_mut(list), index)?;
                registers.store(tables.registers[out as usize], item)?;
            }
            Step::ListPop { out, item, list, index } => {
                let index = registers.scalar(index).cast_signed();
                let list = registers.fetch(&tables.sources[list as usize]);
                let (list, popped) = list::pop(list, index)?;
                *registers.object_mut(out) = list;
                registers.store(tables.registers[item as usize], popped)?;
            }
            Step::ListLen { out, list } => {
                let length = list::items(registers.object_mut(list))?.len();
                *registers.scalar_mut(out) = length as u64;
            }
            Step::ListSlice { out, list, bounds } => {
                let mut range = [None; 3];
                for (bound, source) in range.iter_mut().zip(bounds.of(&tables.sources)) {
                    *bound = match registers.fetch(source) {
                        Value::Int(value) => Some(value),
                        Value::Bool(value) => Some(i64::from(value)),
                        _ => None,
                    };
                }
                let result = list::slice(registers.object_mut(list), range)?;
                *registers.object_mut(out) = result;
            }
            Step::TupleNew { out, items } => {
                let items = items.of(&tables.sources).iter().map(|item| registers.fetch(item)).collect();
                *registers.object_mut(out) = Value::tuple(items);
            }
            Step::TupleGet { out, tuple, index } => {
                let item = list::get(registers.object_mut(tuple), i64::from(index))?;
                registers.store(tables.registers[out as usize], item)?;
            }

            Step::Print { parts } => {
                let parts = self.collect(function, parts);
                self.call_host(|host| host.print(&parts))?;
            }
            Step::Assert { condition, parts } => {
                if registers.scalar(condition) == 0 {
                    return Err(Fault::Assertion(self.collect(function, parts)));
                }
            }
            Step::Raise { class, parts } => {
                let class = tables.classes[class as usize].clone();
                return Err(Fault::Raised(class, self.collect(function, parts)));
            }
            Step::Python { callback, arguments, outputs } => {
                let arguments = self.collect(function, arguments);
                let results = self.call_host(|host| host.call(callback, arguments))?;
                let registers = outputs.of(&tables.registers);
                if results.len() != registers.len() {
                    let (wanted, given) = (registers.len(), results.len());
                    return Err(Fault::Type(format!("expected {wanted} results, found {given}")));
                }
                for (register, result) in registers.iter().zip(results) {
                    self.registers.store(*register, result)?;
                }
            }
            Step::Native { .. }
            | Step::Release
            | Step::Jump { .. }
            | Step::JumpIfFalse { .. }
            | Step::JumpBack { .. }
            | Step::ForTest { .. }
            | Step::ForNext { .. }
            | Step::Call { .. }
            | Step::Return { .. } => {}
        }
        Ok(())
    }

    fn collect(&mut self, function: &Function, sources: Slice) -> Vec<Value> {
        sources.of(&function.tables.sources).iter().map(|source| self.registers.fetch(source)).collect()
    }

    /// Calls the host with autograd enabled again.
    fn call_host<T>(&mut self, call: impl FnOnce(&mut dyn Host) -> Result<T, Fault>) -> Result<T, Fault> {
        self.mode = None;
        let answer = call(self.host);
        self.mode = NoAutogradGuard::enter();
        answer
    }

    /// Runs a segment natively. Returns `false` if that is not possible; then the libtorch steps of the segment must
    /// run.
    fn run_native(&mut self, native: &Native) -> Result<bool, Fault> {
        let Self { scratch, registers, poll_timer, host, mode, .. } = self;
        let mut interrupt = None;
        let is_done = scratch.run(native, registers, &mut || {
            if !poll_timer.is_due() {
                return true;
            }
            *mode = None;
            interrupt = host.poll().err();
            *mode = NoAutogradGuard::enter();
            interrupt.is_none()
        });
        interrupt.map_or(Ok(is_done), Err)
    }

    fn poll(&mut self) -> Result<(), Fault> {
        if self.poll_timer.is_due() { self.call_host(|host| host.poll()) } else { Ok(()) }
    }

    fn error(&self, fault: Fault, function: usize, at: usize) -> Error {
        const MOST: usize = 32;
        let callers = self.frames.iter().rev().map(|caller| (caller.function as usize, caller.at));
        let locations = std::iter::once((function, at)).chain(callers).take(MOST);
        let trace = locations.map(|(function, at)| self.plan.location(function, at)).collect();
        Error { fault, trace }
    }
}

impl Plan {
    fn location(&self, function: usize, at: usize) -> Location {
        let function = &self.functions[function];
        let origin = &function.origins[function.origin[at] as usize];
        let file = origin.span.and_then(|span| self.files.get(span.file as usize).cloned());
        let (function, operation) = (function.name.clone(), origin.operation.clone());
        Location { function, file, span: origin.span, operation }
    }
}

/// Determines when the host is polled: about every 50 ms. If iterations are short, the timer reads the clock rarely.
struct PollTimer {
    left: u32,
    interval: u32,
    since: Instant,
}

impl Default for PollTimer {
    fn default() -> Self {
        Self { left: 1, interval: 1, since: Instant::now() }
    }
}

impl PollTimer {
    const SHORT: Duration = Duration::from_millis(10);
    const LONG: Duration = Duration::from_millis(50);
    /// The maximum number of iterations between two readings of the clock. It makes the cost of the clock negligible
    /// for iterations of a few nanoseconds.
    const WIDEST: u32 = 256;

    fn is_due(&mut self) -> bool {
        self.left -= 1;
        if self.left > 0 {
            return false;
        }
        let passed = self.since.elapsed();
        if passed < Self::SHORT {
            self.interval = (self.interval * 2).min(Self::WIDEST);
        } else if passed > Self::LONG {
            self.interval = 1;
        }
        self.left = self.interval;
        if passed < Self::SHORT {
            return false;
        }
        self.since = Instant::now();
        true
    }
}
