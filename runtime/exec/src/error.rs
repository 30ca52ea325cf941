//! Errors of a run.

use std::fmt;
use std::sync::Arc;

use ag_graph::ir::Span;
use ag_graph::ir::arithmetic::ArithmeticError;

use super::aten::{AtenError, ErrorKind};
use super::value::Value;

/// A failure and its location in the source.
#[derive(Debug)]
pub struct Error {
    pub fault: Fault,
    /// The innermost location first, followed by its callers.
    pub trace: Vec<Location>,
}

/// A source location, or only the operation if the node has no span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub function: Arc<str>,
    pub file: Option<Arc<str>>,
    pub span: Option<Span>,
    /// The operation: `aten.mm.default`.
    pub operation: Arc<str>,
}

#[derive(Debug)]
pub enum Fault {
    /// An operator failed: the kind of exception and the first line of its message.
    Operator(AtenError),
    Index(String),
    ZeroDivision(&'static str),
    Value(String),
    Type(String),
    /// An input does not have the type of its parameter. Nothing has run.
    Input(String),
    Overflow(&'static str),
    Recursion(usize),
    Interrupted,
    Assertion(Vec<Value>),
    /// A Python exception, by the name of its class.
    Raised(Box<str>, Vec<Value>),
    /// The host returned an error.
    Host(Box<dyn std::error::Error + Send + Sync>),
}

impl Fault {
    /// Returns the corresponding Python exception class.
    pub fn class(&self) -> &str {
        match self {
            Self::Operator(error) => match error.kind {
                ErrorKind::Runtime => "RuntimeError",
                ErrorKind::Index => "IndexError",
                ErrorKind::Type => "TypeError",
                ErrorKind::Value => "ValueError",
                ErrorKind::NotImplemented => "NotImplementedError",
                ErrorKind::OutOfMemory => "MemoryError",
            },
            Self::Index(_) => "IndexError",
            Self::ZeroDivision(_) => "ZeroDivisionError",
            Self::Value(_) => "ValueError",
            Self::Type(_) | Self::Input(_) => "TypeError",
            Self::Overflow(_) => "OverflowError",
            Self::Recursion(_) => "RecursionError",
            Self::Interrupted => "KeyboardInterrupt",
            Self::Assertion(_) => "AssertionError",
            Self::Raised(class, _) => class,
            Self::Host(_) => "RuntimeError",
        }
    }
}

impl From<ArithmeticError> for Fault {
    fn from(error: ArithmeticError) -> Self {
        match error {
            ArithmeticError::ZeroDivision(message) => Self::ZeroDivision(message),
            ArithmeticError::Value(message) => Self::Value(message.into()),
            ArithmeticError::Overflow(message) => Self::Overflow(message),
        }
    }
}

impl From<AtenError> for Fault {
    fn from(error: AtenError) -> Self {
        Self::Operator(error)
    }
}

impl From<tch::TchError> for Fault {
    /// Drops the C++ backtrace from the message.
    fn from(error: tch::TchError) -> Self {
        let text = match error {
            tch::TchError::Torch(text) => text,
            error => error.to_string(),
        };
        let message = text.lines().next().unwrap_or_default().to_owned();
        let kind = if message.contains("out of range") { ErrorKind::Index } else { ErrorKind::Runtime };
        Self::Operator(AtenError { kind, message })
    }
}

/// Only the message, as in `str(exception)`.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operator(error) => f.write_str(&error.message),
            Self::Index(message) | Self::Value(message) | Self::Type(message) | Self::Input(message) => {
                f.write_str(message)
            }
            Self::ZeroDivision(message) | Self::Overflow(message) => f.write_str(message),
            Self::Recursion(depth) => write!(f, "maximum recursion depth of {depth} calls exceeded"),
            Self::Interrupted => Ok(()),
            Self::Assertion(parts) | Self::Raised(_, parts) => {
                for (index, part) in parts.iter().enumerate() {
                    write!(f, "{}{part}", if index > 0 { " " } else { "" })?;
                }
                Ok(())
            }
            Self::Host(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.fault.class())?;
        let message = self.fault.to_string();
        if !message.is_empty() {
            write!(f, ": {message}")?;
        }
        for place in &self.trace {
            write!(f, "\n  {place}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(file), Some(span)) = (&self.file, &self.span) {
            write!(f, "{file}:{}:{}: ", span.start.0, span.start.1 + 1)?;
        }
        write!(f, "{} in @{}", self.operation, self.function)
    }
}

impl std::error::Error for Error {}
