//! What registers hold and what goes in and out of a plan: tensors that are shared, numbers, texts, lists.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::aten;
use super::aten::Shared;

#[derive(Debug, Clone, Default)]
pub enum Value {
    /// Also a tensor that is not there.
    #[default]
    None,
    Tensor(Shared),
    Int(i64),
    Float(f64),
    Bool(bool),
    Str(Arc<str>),
    /// Changed in place where this is the only one that holds it.
    List(Arc<Vec<Value>>),
    Tuple(Arc<Items>),
    /// The host's own.
    Object(Object),
}

/// The items of a tuple. What calls keep lies in tuples as deep within each other as the calls were, deeper than the
/// stack: it is dropped one by one.
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

/// Something that only the host looks into.
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

    /// What Python calls its type.
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

/// As Python's `print` writes it, but for tensors, which are written as libtorch does.
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
