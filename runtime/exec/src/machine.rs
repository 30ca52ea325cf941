//! Runs a plan: one loop over steps, a stack of frames of its own.

mod registers;

use std::time::{Duration, Instant};

use ag_graph::ir::Type;
use ag_graph::ir::arithmetic::Kind;

use super::aten::{self, BelowAutograd, Output};
use super::error::{Error, Fault, Place as ErrorPlace};
use super::host::Host;
use super::list;
use super::plan::{Dead, Function, ListStep, Plan, Slice, Step, fits};
use super::sums;
use super::value::Value;

use self::registers::{Frame, Registers};

impl Plan {
    /// The results of the entry, in its order. On failure nothing has changed but what the host did.
    pub fn run(&self, inputs: Vec<Value>, host: &mut dyn Host) -> Result<Vec<Value>, Error> {
        self.resume(Vec::new(), inputs, host)
    }

    /// A run whose first inputs are results of another plan, which fit as they are.
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
            mode: BelowAutograd::enter(),
            registers: Registers::default(),
            frames: Vec::new(),
            patience: Patience::default(),
            outputs: Vec::new(),
        };
        machine.registers.open(entry);
        for (place, input) in entry.params.iter().zip(saved) {
            machine.registers.store(*place, input).map_err(nowhere)?;
        }
        machine.run().map_err(|(fault, function, at)| machine.error(fault, function, at))
    }

    /// The inputs after those that are saved.
    fn check(&self, saved: usize, inputs: &[Value]) -> Result<(), Fault> {
        let params = self.params.get(saved..).unwrap_or_default();
        if inputs.len() != params.len() {
            let (wanted, given) = (params.len(), inputs.len());
            return Err(Fault::Type(format!("{wanted} inputs are wanted and {given} given")));
        }
        for ((name, ty), input) in params.iter().zip(inputs) {
            match (ty, input) {
                (Type::Tensor(ty), Value::Tensor(tensor)) => {
                    fits(tensor, ty).map_err(|message| Fault::Type(format!("`{name}` {message}")))?;
                }
                (Type::Tensor(_), other) => {
                    let kind = other.kind();
                    return Err(Fault::Type(format!("`{name}` must be a Tensor, and is {kind}")));
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
    mode: Option<BelowAutograd>,
    registers: Registers,
    /// The callers of the function that runs.
    frames: Vec<Caller>,
    patience: Patience,
    /// Kept for its room.
    outputs: Vec<Output>,
}

/// A function that waits, at the step that called.
struct Caller {
    function: u32,
    at: usize,
    frame: Frame,
}

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
                Step::Unless { condition, to } => {
                    if self.registers.number(condition) == 0 {
                        at = to as usize;
                    }
                }
                Step::Back { to } => {
                    self.poll().map_err(stopped)?;
                    at = to as usize;
                }
                Step::ForTest { left, to } => {
                    if *self.registers.num(left) == 0 {
                        at = to as usize;
                    }
                }
                Step::ForBack { index, left, step, to } => {
                    self.poll().map_err(stopped)?;
                    let by = *self.registers.num(step);
                    let index = self.registers.num(index);
                    *index = index.wrapping_add(by);
                    *self.registers.num(left) -= 1;
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
                    for (place, argument) in function.params.iter().zip(arguments) {
                        self.registers.store(*place, argument).map_err(|fault| (fault, number, 0))?;
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
                        for (place, result) in outputs.of(&function.tables.places).iter().zip(results) {
                            self.registers
                                .store(*place, result)
                                .map_err(|fault| (fault, number, caller.at))?;
                        }
                    }
                    self.bury(function, caller.at);
                    continue;
                }
                step => self.step(function, step).map_err(stopped)?,
            }
            self.bury(function, index);
        }
    }

    fn bury(&mut self, function: &Function, index: usize) {
        for dead in function.dead[index].of(&function.tables.dead) {
            match dead {
                Dead::Ten(ten) => drop(self.registers.ten(*ten).take()),
                Dead::Any(any) => *self.registers.any(*any) = Value::None,
            }
        }
    }

    /// Every step that goes on to the next one.
    fn step(&mut self, function: &Function, step: Step) -> Result<(), Fault> {
        let tables = &function.tables;
        let registers = &mut self.registers;
        match step {
            Step::Scalar { f, out, a, b } => {
                *registers.num(out) = f(registers.number(a), registers.number(b))?;
            }
            Step::Select { out, condition, a, b } => {
                let taken = if registers.number(condition) == 0 { b } else { a };
                *registers.num(out) = registers.number(taken);
            }
            Step::Item { out, kind, tensor } => {
                let item = aten::item(registers.tensor(tensor)?)?;
                *registers.num(out) = match (kind, item) {
                    (Kind::Int, Output::Int(value)) => value.cast_unsigned(),
                    (Kind::Int | Kind::Bool, Output::Bool(value)) => u64::from(value),
                    (Kind::Float, Output::Float(value)) => value.to_bits(),
                    (_, item) => {
                        let kind = Value::from(item).kind();
                        return Err(Fault::Type(format!("the element of the tensor is of type {kind}")));
                    }
                };
            }
            Step::Size { out, tensor, dimension } => {
                let dimension = registers.number(dimension).cast_signed();
                *registers.num(out) = aten::size(registers.tensor(tensor)?, dimension)?.cast_unsigned();
            }

            Step::Unary { f, out, a } => {
                let made = f(registers.tensor(a)?)?;
                *registers.ten(out) = Some(made);
            }
            Step::Binary { f, out, a, b } => {
                let made = f(registers.tensor(a)?, registers.tensor(b)?)?;
                *registers.ten(out) = Some(made);
            }
            Step::WithConst { f, out, a, constant } => {
                let made = f(registers.tensor(a)?, &tables.constants[constant as usize])?;
                *registers.ten(out) = Some(made);
            }
            Step::WithNumber { f, out, a, number, beside } => {
                let number = aten::number(registers.argument_of(number), beside)?;
                let made = f(registers.tensor(a)?, &number)?;
                *registers.ten(out) = Some(made);
            }
            Step::Ternary { f, out, a, b, c } => {
                let made = f(registers.tensor(a)?, registers.tensor(b)?, registers.tensor(c)?)?;
                *registers.ten(out) = Some(made);
            }
            Step::WithInts { f, out, a, ints } => {
                let (few, length) = registers.ints(ints.of(&tables.inputs));
                let made = f(registers.tensor(a)?, &few[..length])?;
                *registers.ten(out) = Some(made);
            }
            Step::Indexed { f, out, a, b, ints } => {
                let (few, length) = registers.ints(ints.of(&tables.inputs));
                let made = f(registers.tensor(a)?, registers.tensor(b)?, &few[..length])?;
                *registers.ten(out) = Some(made);
            }
            Step::Joined { f, out, tensors, dimension } => {
                let dimension = registers.number(dimension).cast_signed();
                let tensors: Result<Vec<_>, Fault> =
                    tensors.of(&tables.tensors).iter().map(|ten| registers.tensor(*ten)).collect();
                let made = f(&tensors?, dimension)?;
                *registers.ten(out) = Some(made);
            }
            Step::JoinedList { f, out, list, dimension } => {
                let dimension = registers.number(dimension).cast_signed();
                let items = list::items(registers.any(list))?;
                let tensors: Option<Vec<_>> = items.iter().map(Value::tensor).collect();
                let tensors =
                    tensors.ok_or_else(|| Fault::Type("the list has items that are no tensors".into()))?;
                let made = f(&tensors, dimension)?;
                *registers.ten(out) = Some(made);
            }
            Step::Grow { f, out, a, b } => {
                let grown = registers.take(a)?;
                let made = f(grown, registers.tensor(b)?)?;
                *registers.ten(out) = Some(made);
            }
            Step::GrowAt { out, a, dimension, index, b } => {
                let dimension = registers.number(dimension).cast_signed();
                let grown = registers.take(a)?;
                let made = sums::add_at(grown, dimension, registers.tensor(index)?, registers.tensor(b)?)?;
                *registers.ten(out) = Some(made);
            }
            Step::Operator { call } => {
                let operator = &tables.operators[call as usize];
                let mut outputs = std::mem::take(&mut self.outputs);
                let ran =
                    registers.fillings(&operator.holes, |fillings| operator.call.run(fillings, &mut outputs));
                if let Err(fault) = ran {
                    outputs.clear();
                    self.outputs = outputs;
                    return Err(fault);
                }
                for (place, output) in operator.outputs.iter().zip(outputs.drain(..)) {
                    registers.store_output(*place, output)?;
                }
                self.outputs = outputs;
            }

            Step::CopyNum { out, a } => *registers.num(out) = registers.number(a),
            Step::TakeTen { out, a } => {
                let taken = registers.ten(a).take();
                *registers.ten(out) = taken;
            }
            Step::CopyTen { out, a } => {
                let copy = registers.ten(a).as_ref().map(tch::Tensor::shallow_clone);
                *registers.ten(out) = copy;
            }
            Step::Move { source, place } => {
                let value = registers.fetch(&tables.sources[source as usize]);
                registers.store(tables.places[place as usize], value)?;
            }
            Step::ForStart { index, left, step, start, stop, by } => {
                let [start, stop, by] = [start, stop, by].map(|input| registers.number(input).cast_signed());
                *registers.num(index) = start.cast_unsigned();
                *registers.num(left) = rounds(start, stop, by)?;
                *registers.num(step) = by.cast_unsigned();
            }

            Step::List { op, out, list, index, item } => {
                let index = registers.number(index).cast_signed();
                let list = registers.fetch(&tables.sources[list as usize]);
                let made = match op {
                    ListStep::New => list,
                    op => list::step(op, list, index, registers.fetch(&tables.sources[item as usize]))?,
                };
                *registers.any(out) = made;
            }
            Step::ListGet { out, list, index } => {
                let index = registers.number(index).cast_signed();
                let item = list::get(registers.any(list), index)?;
                registers.store(tables.places[out as usize], item)?;
            }
            Step::ListPop { out, item, list, index } => {
                let index = registers.number(index).cast_signed();
                let list = registers.fetch(&tables.sources[list as usize]);
                let (list, popped) = list::pop(list, index)?;
                *registers.any(out) = list;
                registers.store(tables.places[item as usize], popped)?;
            }
            Step::ListLen { out, list } => {
                let length = list::items(registers.any(list))?.len();
                *registers.num(out) = length as u64;
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
                let made = list::slice(registers.any(list), range)?;
                *registers.any(out) = made;
            }
            Step::TupleNew { out, items } => {
                let items = items.of(&tables.sources).iter().map(|item| registers.fetch(item)).collect();
                *registers.any(out) = Value::tuple(items);
            }
            Step::TupleGet { out, tuple, index } => {
                let item = list::get(registers.any(tuple), i64::from(index))?;
                registers.store(tables.places[out as usize], item)?;
            }

            Step::Print { parts } => {
                let parts = self.collect(function, parts);
                self.outside(|host| host.print(&parts))?;
            }
            Step::Assert { condition, parts } => {
                if registers.number(condition) == 0 {
                    return Err(Fault::Assertion(self.collect(function, parts)));
                }
            }
            Step::Raise { class, parts } => {
                let class = tables.classes[class as usize].clone();
                return Err(Fault::Raised(class, self.collect(function, parts)));
            }
            Step::Python { callback, arguments, outputs } => {
                let arguments = self.collect(function, arguments);
                let results = self.outside(|host| host.call(callback, arguments))?;
                let places = outputs.of(&tables.places);
                if results.len() != places.len() {
                    let (wanted, given) = (places.len(), results.len());
                    return Err(Fault::Type(format!("{wanted} results are wanted and {given} given")));
                }
                for (place, result) in places.iter().zip(results) {
                    self.registers.store(*place, result)?;
                }
            }
            Step::Free
            | Step::Jump { .. }
            | Step::Unless { .. }
            | Step::Back { .. }
            | Step::ForTest { .. }
            | Step::ForBack { .. }
            | Step::Call { .. }
            | Step::Return { .. } => {}
        }
        Ok(())
    }

    fn collect(&mut self, function: &Function, sources: Slice) -> Vec<Value> {
        sources.of(&function.tables.sources).iter().map(|source| self.registers.fetch(source)).collect()
    }

    /// The host may use autograd.
    fn outside<T>(&mut self, ask: impl FnOnce(&mut dyn Host) -> Result<T, Fault>) -> Result<T, Fault> {
        self.mode = None;
        let answer = ask(self.host);
        self.mode = BelowAutograd::enter();
        answer
    }

    fn poll(&mut self) -> Result<(), Fault> {
        if self.patience.is_over() { self.outside(|host| host.poll()) } else { Ok(()) }
    }

    fn error(&self, fault: Fault, function: usize, at: usize) -> Error {
        const MOST: usize = 32;
        let callers = self.frames.iter().rev().map(|caller| (caller.function as usize, caller.at));
        let places = std::iter::once((function, at)).chain(callers).take(MOST);
        let trace = places.map(|(function, at)| self.plan.place(function, at)).collect();
        Error { fault, trace }
    }
}

impl Plan {
    fn place(&self, function: usize, at: usize) -> ErrorPlace {
        let function = &self.functions[function];
        let origin = &function.origins[function.origin[at] as usize];
        let file = origin.span.and_then(|span| self.files.get(span.file as usize).cloned());
        let (function, operation) = (function.name.clone(), origin.operation.clone());
        ErrorPlace { function, file, span: origin.span, operation }
    }
}

/// How many numbers `range(start, stop, step)` has.
fn rounds(start: i64, stop: i64, step: i64) -> Result<u64, Fault> {
    let distance = match step {
        0 => return Err(Fault::Value("range() arg 3 must not be zero".into())),
        1.. => i128::from(stop) - i128::from(start),
        _ => i128::from(start) - i128::from(stop),
    };
    let step = i128::from(step.unsigned_abs());
    Ok(u64::try_from((distance.max(0) + step - 1) / step).unwrap_or(u64::MAX))
}

/// Says about every twentieth of a second that it is over. The clock is asked as seldom as the rounds allow.
struct Patience {
    left: u32,
    interval: u32,
    since: Instant,
}

impl Default for Patience {
    fn default() -> Self {
        Self { left: 1, interval: 1, since: Instant::now() }
    }
}

impl Patience {
    const SHORT: Duration = Duration::from_millis(10);
    const LONG: Duration = Duration::from_millis(50);
    /// Rounds of a few nanoseconds need not feel the clock.
    const WIDEST: u32 = 256;

    fn is_over(&mut self) -> bool {
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
