//! Operands of a node: values, literals, and lists of them. The arguments of ATen operators are trees of operands, in
//! schema order and including defaults: `index.Tensor(x, [none, i])`.

use super::graph::Value;
use super::types::{DType, Device, Layout, MemoryFormat};

#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    Value(Value),
    None,
    Int(i64),
    Float(f64),
    Bool(bool),
    Str(Box<str>),
    DType(DType),
    Device(Device),
    Layout(Layout),
    MemoryFormat(MemoryFormat),
    List(Vec<Operand>),
}

impl Operand {
    /// Returns the value, unless the operand is a literal or a list.
    pub fn value(&self) -> Option<Value> {
        if let Self::Value(value) = self { Some(*value) } else { None }
    }

    /// Visits every value of the tree, from left to right.
    pub fn values<'a>(&'a self, visit: &mut dyn FnMut(&'a Value)) {
        match self {
            Self::Value(value) => visit(value),
            Self::List(items) => items.iter().for_each(|item| item.values(visit)),
            _ => {}
        }
    }

    pub fn values_mut(&mut self, visit: &mut dyn FnMut(&mut Value)) {
        match self {
            Self::Value(value) => visit(value),
            Self::List(items) => items.iter_mut().for_each(|item| item.values_mut(visit)),
            _ => {}
        }
    }
}

impl From<Value> for Operand {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl From<i64> for Operand {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Operand {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<bool> for Operand {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<&str> for Operand {
    fn from(value: &str) -> Self {
        Self::Str(value.into())
    }
}

impl From<Vec<Operand>> for Operand {
    fn from(items: Vec<Operand>) -> Self {
        Self::List(items)
    }
}
