//! Values in registers, inputs and results of a plan: tensors, numbers, strings, lists, tuples, objects.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::aten;
use super::aten::Shared;

#[derive(Debug, Clone, Default)]
pub enum Value {
    /// Also represents an undefined tensor.
    #[default]
    None,
    Tensor(Shared),
    Int(i64),
    Float(f64),
    Bool(bool),
    Str(Arc<str>),
    /// Modified in place when it has one owner.
    List(Arc<Vec<Value>>),
    Tuple(Arc<Items>),
    /// An object of the host.
    Object(Object),
}

/// The items of a tuple. Tuples are dropped iteratively: the values that recursive calls save form tuples that are
/// nested as deep as the recursion, which may be deeper than the stack.
#[derive(Debug, Default)]
pub struct Items(Vec<Value>);

impl Deref for Items {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.0
    }
}

impl Drop for Items {
    fn drop(&mut self) {
        let mut waiting = std::mem::take(&mut self.0);
        while let Some(value) = waiting.pop() {
            match value {
                Value::Tuple(items) => {
                    waiting.extend(
                        Arc::into_inner(items)
                            .map(|mut items| std::mem::take(&mut items.0))
                            .unwrap_or_default(),
                    );
                }
                Value::List(items) => waiting.extend(Arc::into_inner(items).unwrap_or_default()),
                _ => {}
            }
        }
    }
}

/// An opaque object of the host.
#[derive(Clone)]
pub struct Object(pub Arc<dyn Any + Send + Sync>);

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("object")
    }
}

impl Value {
    pub fn list(items: Vec<Self>) -> Self {
        Self::List(Arc::new(items))
    }

    pub fn tuple(items: Vec<Self>) -> Self {
        Self::Tuple(Arc::new(Items(items)))
    }

    pub fn str(text: &str) -> Self {
        Self::Str(text.into())
    }

    pub fn tensor(&self) -> Option<&tch::Tensor> {
        if let Self::Tensor(tensor) = self { Some(tensor) } else { None }
    }

    /// Returns the name of the value's type in Python.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Tensor(_) => "Tensor",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Bool(_) => "bool",
            Self::Str(_) => "str",
            Self::List(_) => "list",
            Self::Tuple(_) => "tuple",
            Self::Object(_) => "object",
        }
    }
}

impl From<tch::Tensor> for Value {
    fn from(tensor: tch::Tensor) -> Self {
        Self::Tensor(tensor.into())
    }
}

impl From<aten::Output> for Value {
    fn from(output: aten::Output) -> Self {
        match output {
            aten::Output::None => Self::None,
            aten::Output::Tensor(tensor) => tensor.into(),
            aten::Output::Int(value) => Self::Int(value),
            aten::Output::Float(value) => Self::Float(value),
            aten::Output::Bool(value) => Self::Bool(value),
            aten::Output::List(items) => Self::list(items.into_iter().map(Self::from).collect()),
        }
    }
}

/// Formatted as Python's `print` does; libtorch formats the tensors.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items = |f: &mut fmt::Formatter<'_>, items: &[Self]| {
            for (index, item) in items.iter().enumerate() {
                f.write_str(if index > 0 { ", " } else { "" })?;
                match item {
                    Self::Str(text) => write!(f, "'{text}'")?,
                    item => item.fmt(f)?,
                }
            }
            Ok(())
        };
        match self {
            Self::None => f.write_str("None"),
            Self::Tensor(tensor) => match tensor.to_string(80) {
                Ok(text) => f.write_str(text.trim_end()),
                Err(_) => f.write_str("tensor"),
            },
            Self::Int(value) => value.fmt(f),
            Self::Float(value) if value.is_nan() => f.write_str("nan"),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Bool(value) => f.write_str(if *value { "True" } else { "False" }),
            Self::Str(text) => f.write_str(text),
            Self::List(list) => {
                f.write_str("[")?;
                items(f, list)?;
                f.write_str("]")
            }
            Self::Tuple(tuple) => {
                f.write_str("(")?;
                items(f, tuple)?;
                f.write_str(if tuple.len() == 1 { ",)" } else { ")" })
            }
            Self::Object(_) => f.write_str("<object>"),
        }
    }
}
