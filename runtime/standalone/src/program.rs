//! The native program of a model, and calls of it.
#![allow(unsafe_code, reason = "a program reads and writes tensors by address")]

use std::ffi::c_void;
use std::sync::Arc;

use ag_graph::ir::arithmetic::Kind;
use ag_graph::ir::{Origin, Span};
use ag_native::{Element, Input, Memory, Output, Segment, lower};
use thiserror::Error;

use crate::Model;

/// The type of an argument or a result.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A contiguous tensor with these sizes.
    Tensor(Element, Vec<usize>),
    Number(Kind),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// The path of the argument in the call: `state["h"]`.
    pub path: Box<str>,
    /// `None` if the function does not use the argument.
    pub value: Option<Value>,
}

/// A part of a function that cannot run without libtorch.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{message}")]
pub struct Unsupported {
    pub message: String,
    pub span: Option<Span>,
}

/// A model, ready to run.
#[derive(Debug)]
pub struct Program<'m> {
    segment: Segment,
    /// The source of each input of the segment.
    sources: Vec<Source<'m>>,
    arguments: Vec<Argument>,
    results: Vec<Value>,
    files: Vec<Arc<str>>,
}

#[derive(Debug, Clone, Copy)]
enum Source<'m> {
    /// The index of an argument.
    Argument(usize),
    Capture(&'m [u8]),
}

/// Addresses of the arguments and the results of a call, in order. A number is an `int64_t`, a `double` or a `bool`.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    pub arguments: &'a [*const c_void],
    pub results: &'a [*mut c_void],
}

/// Why a call has no results.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CallError {
    #[error("argument `{0}` is a null pointer")]
    Argument(Box<str>),
    #[error("result {0} is a null pointer")]
    Result(usize),
    #[error("{0}")]
    Stopped(String),
}

impl<'m> Program<'m> {
    /// Lowers the graph of a model. Fails at the first operation that needs libtorch.
    pub fn new(model: &Model<'m>) -> Result<Self, Unsupported> {
        let graph = &model.graph;
        let unsupported = |message: String, span| Unsupported { message, span };
        let entry = graph.entry().ok_or_else(|| unsupported("the graph is empty".into(), None))?;
        let segment = lower::whole(entry).map_err(|found| match found {
            lower::Unsupported::Operation { name, span } => {
                let message = match &*name {
                    "if" | "while" | "for" => {
                        format!("the size or the type of a value of this `{name}` is unknown")
                    }
                    _ => format!("`{name}` with these operands needs libtorch"),
                };
                unsupported(message, span)
            }
            lower::Unsupported::Result(index) => {
                let ty = entry.results.get(index).map(ToString::to_string).unwrap_or_default();
                let message = format!("result {index} is of the type {ty}, which C functions cannot return");
                unsupported(message, None)
            }
        })?;
        let mut captures = model.captures.iter();
        let mut arguments = Vec::new();
        let mut sources = Vec::new();
        for (origin, param) in graph.origins.iter().zip(entry.params()) {
            let input = segment.inputs.iter().position(|(value, _)| value == param);
            let source = match origin {
                Origin::Argument(path) => {
                    let value = input.map(|input| match &segment.inputs[input].1 {
                        Input::Tensor(element, sizes, _) => Value::Tensor(*element, sizes.clone()),
                        Input::Number(kind) => Value::Number(*kind),
                    });
                    arguments.push(Argument { path: path.clone(), value });
                    Source::Argument(arguments.len() - 1)
                }
                Origin::Capture(number) => {
                    let missing = || unsupported(format!("capture {number} is missing"), None);
                    Source::Capture(captures.next().ok_or_else(missing)?)
                }
            };
            if let Some(input) = input {
                sources.push((input, source));
            }
        }
        sources.sort_unstable_by_key(|(input, _)| *input);
        let sources: Vec<_> = sources.into_iter().map(|(_, source)| source).collect();
        if sources.len() != segment.inputs.len() {
            return Err(unsupported("the graph uses a value that nothing defines".into(), None));
        }
        let results = segment.outputs.iter().enumerate().map(|(index, (_, output))| match output {
            Output::Tensor(tensor) => {
                let tensor = &segment.tensors[*tensor];
                Ok(Value::Tensor(tensor.element, tensor.sizes.clone()))
            }
            Output::Number(kind) => Ok(Value::Number(*kind)),
            Output::View(_) => Err(unsupported(format!("result {index} is a view"), None)),
            Output::List(_) => Err(unsupported(format!("result {index} is a list"), None)),
        });
        let results = results.collect::<Result<_, _>>()?;
        Ok(Self { segment, sources, arguments, results, files: graph.files.clone() })
    }

    /// Returns the arguments, in order.
    pub fn arguments(&self) -> &[Argument] {
        &self.arguments
    }

    /// Returns the types of the results, in order.
    pub fn results(&self) -> &[Value] {
        &self.results
    }

    /// Runs the program. After an error, the contents of the results are undefined.
    ///
    /// # Safety
    /// Each address that is not null must be valid for the type of its argument or result, and aligned for its
    /// elements. No result may overlap an argument or another result.
    pub unsafe fn call(&self, call: Call<'_>, memory: &mut Memory) -> Result<(), CallError> {
        let mut inputs = Vec::with_capacity(self.sources.len());
        for (source, (_, input)) in self.sources.iter().zip(&self.segment.inputs) {
            let address = match source {
                Source::Capture(bytes) => bytes.as_ptr().cast(),
                Source::Argument(index) => {
                    let address = call.arguments.get(*index).copied().filter(|address| !address.is_null());
                    address.ok_or_else(|| CallError::Argument(self.arguments[*index].path.clone()))?
                }
            };
            inputs.push(match input {
                Input::Tensor(..) => address as usize as u64,
                // SAFETY: the caller guarantees that the address is valid for the number.
                Input::Number(Kind::Bool) => unsafe { u64::from(address.cast::<u8>().read() != 0) },
                // SAFETY: as above.
                Input::Number(_) => unsafe { address.cast::<u64>().read() },
            });
        }
        let outputs = &self.segment.outputs;
        if let Some(null) = (0..outputs.len()).find(|at| call.results.get(*at).is_none_or(|to| to.is_null()))
        {
            return Err(CallError::Result(null));
        }
        let outputs = outputs.iter().map(|(_, output)| output).zip(call.results);
        let is_tensor = |output: &Output| matches!(output, Output::Tensor(_));
        let tensors: Vec<*mut u8> =
            outputs.clone().filter(|(output, _)| is_tensor(output)).map(|(_, to)| to.cast()).collect();
        // SAFETY: the caller guarantees the addresses.
        let run = unsafe { self.segment.run(memory, &inputs, &tensors, &mut || true) };
        let Ok(numbers) = run else {
            // SAFETY: as above.
            return Err(CallError::Stopped(unsafe { self.stopped(memory, &inputs, &tensors) }));
        };
        let numbers = numbers.iter();
        for ((output, to), number) in outputs.filter(|(output, _)| !is_tensor(output)).zip(numbers) {
            let is_bool = matches!(output, Output::Number(Kind::Bool));
            // SAFETY: the caller guarantees that the address is valid for the number.
            unsafe {
                if is_bool {
                    to.cast::<u8>().write(u8::from(*number != 0));
                } else {
                    to.cast::<u64>().write(*number);
                }
            }
        }
        Ok(())
    }

    /// Describes where a run stops.
    ///
    /// # Safety
    /// As for `call`.
    unsafe fn stopped(&self, memory: &mut Memory, inputs: &[u64], tensors: &[*mut u8]) -> String {
        // SAFETY: the caller guarantees the addresses.
        let Some(failure) = (unsafe { self.segment.stopped_at(memory, inputs, tensors) }) else {
            return "the function failed".into();
        };
        let span = failure.span;
        let file = span.and_then(|span| Some((self.files.get(span.file as usize)?, span.start.0)));
        let line = file.map(|(file, line)| format!("{file}:{line}: ")).unwrap_or_default();
        if failure.raises {
            return format!("{line}{}", failure.operation);
        }
        let causes = "an index is out of range, an integer is divided by zero, or a number does not fit";
        format!("{line}`{}` failed: {causes}", failure.operation)
    }
}
