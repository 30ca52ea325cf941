//! Disassembles a plan: one line per step, beside the source line that it comes from.

use std::fmt::Write as _;

use super::plan::{Dead, Function, Plan, ScalarInput, Slice, Source, Step};

impl Plan {
    /// Returns the text of the plan. `source` returns a line of a file, counted from one.
    pub fn listing(&self, source: &dyn Fn(&str, u32) -> Option<String>) -> String {
        let mut text = String::new();
        for function in &self.functions {
            let Function { scalars, tensors, objects, .. } = function;
            let _ =
                write!(text, "@{}: {scalars} scalars, {tensors} tensors, {objects} objects", function.name);
            if function.deferred > 0 {
                let _ = write!(text, " (deferred-products {})", function.deferred);
            }
            text.push('\n');
            let mut shown = None;
            for (index, step) in function.steps.iter().enumerate() {
                let origin = &function.origins[function.origin[index] as usize];
                let dead = function.dead[index].of(&function.tables.dead);
                let mut line = format!("{index:>5}  {}", function.step(step, &origin.operation));
                for dead in dead {
                    let _ = match dead {
                        Dead::Tensor(reg) => write!(line, " -t{}", reg.0),
                        Dead::Object(reg) => write!(line, " -a{}", reg.0),
                    };
                }
                let span = origin.span.filter(|_| origin.span != shown);
                if let Some(span) = span {
                    shown = origin.span;
                    if let Some(file) = self.files.get(span.file as usize) {
                        let code = source(file, span.start.0).unwrap_or_default();
                        line = format!("{line:<60} # {file}:{}  {}", span.start.0, code.trim());
                    }
                }
                let _ = writeln!(text, "{line}");
            }
        }
        text
    }
}

impl Function {
    fn step(&self, step: &Step, operation: &str) -> String {
        let tables = &self.tables;
        let ints =
            |slice: Slice| slice.of(&tables.inputs).iter().copied().map(input).collect::<Vec<_>>().join(", ");
        match *step {
            Step::Scalar { out, a, b, .. } => format!("n{} = {operation}({}, {})", out.0, input(a), input(b)),
            Step::Select { out, condition, a, b } => {
                format!("n{} = {} if {} else {}", out.0, input(a), input(condition), input(b))
            }
            Step::Native { native, to } => {
                let segment = &tables.natives[native as usize].segment;
                let (length, passes) = (segment.len(), segment.fired.to_string());
                let passes = if passes.is_empty() { passes } else { format!(" ({passes})") };
                format!("native {length} steps{passes}, then {to}")
            }
            Step::Item { out, tensor, .. } => format!("n{} = item(t{})", out.0, tensor.0),
            Step::Size { out, tensor, dimension } => {
                format!("n{} = size(t{}, {})", out.0, tensor.0, input(dimension))
            }
            Step::Unary { out, a, .. } => format!("t{} = {operation}(t{})", out.0, a.0),
            Step::Binary { out, a, b, .. } => format!("t{} = {operation}(t{}, t{})", out.0, a.0, b.0),
            Step::WithConst { out, a, constant, .. } => {
                let number = tables.constants[constant as usize].f_double_value(&[]).unwrap_or(f64::NAN);
                format!("t{} = {operation}(t{}, {number})", out.0, a.0)
            }
            Step::WithScalar { out, a, number, .. } => {
                format!("t{} = {operation}(t{}, {})", out.0, a.0, input(number.input))
            }
            Step::Ternary { out, a, b, c, .. } => {
                format!("t{} = {operation}(t{}, t{}, t{})", out.0, a.0, b.0, c.0)
            }
            Step::WithInts { out, a, ints: slice, .. } => {
                format!("t{} = {operation}(t{}; {})", out.0, a.0, ints(slice))
            }
            Step::Indexed { out, a, b, ints: slice, .. } => {
                format!("t{} = {operation}(t{}, t{}; {})", out.0, a.0, b.0, ints(slice))
            }
            Step::Concat { out, tensors, dimension, .. } => {
                let tensors: Vec<_> =
                    tensors.of(&tables.tensors).iter().map(|reg| format!("t{}", reg.0)).collect();
                format!("t{} = {operation}([{}], {})", out.0, tensors.join(", "), input(dimension))
            }
            Step::ConcatList { out, list, dimension, .. } => {
                format!("t{} = {operation}(a{}, {})", out.0, list.0, input(dimension))
            }
            Step::AddInPlace { out, a, b, .. } => {
                format!("t{} = {operation}(take t{}, t{})", out.0, a.0, b.0)
            }
            Step::IndexAddInPlace { out, a, dimension, index, b } => {
                let dimension = input(dimension);
                format!("t{} = {operation}(take t{}, {dimension}, t{}, t{})", out.0, a.0, index.0, b.0)
            }
            Step::NewSum { out, total } => {
                format!("a{} = sum({})", out.0, source(&tables.sources[total as usize]))
            }
            Step::AddProduct { out, sum, a, b } => {
                format!("a{} = take a{} + t{} @ t{}, later", out.0, sum.0, a.0, b.0)
            }
            Step::FinishSum { out, sum } => format!("t{} = computed a{}", out.0, sum.0),
            Step::MaxPool { maxima, indices, a, .. } => {
                format!("t{}, t{} = {operation}(t{})", maxima.0, indices.0, a.0)
            }
            Step::Operator { call } => {
                let operator = &tables.operators[call as usize];
                let outputs: Vec<_> = operator.outputs.iter().map(|register| register.text()).collect();
                format!("{} = dispatch {operation}({})", outputs.join(", "), sources(&operator.holes))
            }
            Step::Release => "free".into(),
            Step::Jump { to } => format!("jump {to}"),
            Step::JumpIfFalse { condition, to } => format!("unless {} jump {to}", input(condition)),
            Step::JumpBack { to } => format!("back {to}"),
            Step::ForStart { index, start, stop, by, .. } => {
                format!("n{} = range({}, {}, {})", index.0, input(start), input(stop), input(by))
            }
            Step::ForTest { left, to } => format!("unless n{} jump {to}", left.0),
            Step::ForNext { index, to, .. } => format!("next n{} back {to}", index.0),
            Step::Call { function, arguments, outputs } => {
                let outputs: Vec<_> =
                    outputs.of(&tables.registers).iter().map(|register| register.text()).collect();
                let arguments = sources(arguments.of(&tables.sources));
                format!("{} = call {function}({arguments})", outputs.join(", "))
            }
            Step::Return { results } => format!("return {}", sources(results.of(&tables.sources))),
            Step::CopyScalar { out, a } => format!("n{} = {}", out.0, input(a)),
            Step::MoveTensor { out, a } => format!("t{} = take t{}", out.0, a.0),
            Step::CopyTensor { out, a } => format!("t{} = t{}", out.0, a.0),
            Step::Move { source: from, register } => {
                format!(
                    "{} = {}",
                    tables.registers[register as usize].text(),
                    source(&tables.sources[from as usize])
                )
            }
            Step::List { out, list, index, item, .. } => {
                let [list, item] = [list, item].map(|entry| source(&tables.sources[entry as usize]));
                format!("a{} = {operation}({list}, {}, {item})", out.0, input(index))
            }
            Step::ListGet { out, list, index } => {
                format!("{} = a{}[{}]", tables.registers[out as usize].text(), list.0, input(index))
            }
            Step::ListPop { out, item, list, index } => {
                let (item, list) =
                    (tables.registers[item as usize].text(), source(&tables.sources[list as usize]));
                format!("a{}, {item} = pop({list}, {})", out.0, input(index))
            }
            Step::ListLen { out, list } => format!("n{} = len(a{})", out.0, list.0),
            Step::ListSlice { out, list, bounds } => {
                format!("a{} = slice(a{}, {})", out.0, list.0, sources(bounds.of(&tables.sources)))
            }
            Step::TupleNew { out, items } => {
                format!("a{} = tuple({})", out.0, sources(items.of(&tables.sources)))
            }
            Step::TupleGet { out, tuple, index } => {
                format!("{} = a{}[{index}]", tables.registers[out as usize].text(), tuple.0)
            }
            Step::Print { parts } | Step::Raise { parts, .. } => {
                format!("{operation}({})", sources(parts.of(&tables.sources)))
            }
            Step::Assert { condition, parts } => {
                format!("assert {}, {}", input(condition), sources(parts.of(&tables.sources)))
            }
            Step::Python { callback, arguments, outputs } => {
                let outputs: Vec<_> =
                    outputs.of(&tables.registers).iter().map(|register| register.text()).collect();
                let arguments = sources(arguments.of(&tables.sources));
                format!("{} = python {callback}({arguments})", outputs.join(", "))
            }
        }
    }
}

impl super::plan::Register {
    fn text(self) -> String {
        match self {
            Self::Scalar(reg, _) => format!("n{}", reg.0),
            Self::Tensor(reg) => format!("t{}", reg.0),
            Self::Object(reg) => format!("a{}", reg.0),
        }
    }
}

fn input(input: ScalarInput) -> String {
    match input {
        ScalarInput::Const(bits) if bits.cast_signed().unsigned_abs() < 1 << 52 => {
            bits.cast_signed().to_string()
        }
        ScalarInput::Const(bits) if bits == i64::MAX.cast_unsigned() => "end".into(),
        ScalarInput::Const(bits) => f64::from_bits(bits).to_string(),
        ScalarInput::Register(reg) => format!("n{}", reg.0),
    }
}

fn sources(items: &[Source]) -> String {
    items.iter().map(source).collect::<Vec<_>>().join(", ")
}

fn source(from: &Source) -> String {
    match from {
        Source::Scalar(number) => input(number.input),
        Source::Tensor(reg, taken) => format!("{}t{}", if *taken { "take " } else { "" }, reg.0),
        Source::Object(reg, taken) => format!("{}a{}", if *taken { "take " } else { "" }, reg.0),
        Source::Const(value) => value.to_string(),
        Source::List(items) => format!("[{}]", sources(items)),
    }
}
