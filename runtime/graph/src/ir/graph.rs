//! Graphs: functions that consist of nodes in nested regions. A region can use the values of enclosing regions;
//! each value has one definition.

use std::sync::Arc;

use super::op::Op;
use super::operand::Operand;
use super::types::Type;

/// A value of one function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);

impl Value {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

impl FunctionId {
    pub const ENTRY: Self = Self(0);

    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The source range of a node. `file` is an index into the files of the graph. Lines count from one, columns (in
/// characters) from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    pub file: u32,
    pub start: (u32, u32),
    pub end: (u32, u32),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub op: Op,
    pub operands: Vec<Operand>,
    pub outputs: Vec<Value>,
    pub regions: Vec<Region>,
    pub span: Option<Span>,
    /// Whether gradients were enabled at the node: `false` under `torch.no_grad()`.
    pub grad: bool,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Region {
    pub params: Vec<Value>,
    pub nodes: Vec<Node>,
    pub results: Vec<Operand>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ValueInfo {
    pub ty: Type,
    /// The user's name for the value.
    pub name: Option<Arc<str>>,
}

/// The origin of a parameter of the entry function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// An argument of the call, by its path: `0.weight`.
    Argument(Box<str>),
    /// A tensor or an attribute from outside the function, by number.
    Capture(u32),
}

/// The use of a result of the entry function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Return,
    /// The result is the new value of the capture or argument with this parameter index. A run writes either all new
    /// values or none.
    Write(u32),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    pub name: Box<str>,
    /// The body, whose parameters and results are those of the function.
    pub body: Region,
    pub results: Vec<Type>,
    pub values: Vec<ValueInfo>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Graph {
    /// The first function is the entry.
    pub functions: Vec<Function>,
    /// The origin of each parameter of the entry.
    pub origins: Vec<Origin>,
    /// The use of each result of the entry.
    pub outcomes: Vec<Outcome>,
    /// File names, indexed by `Span::file`.
    pub files: Vec<Arc<str>>,
}

impl Graph {
    pub fn entry(&self) -> Option<&Function> {
        self.functions.first()
    }

    pub fn function(&self, id: FunctionId) -> Option<&Function> {
        self.functions.get(id.index())
    }
}

impl Function {
    pub fn params(&self) -> &[Value] {
        &self.body.params
    }

    pub fn ty(&self, value: Value) -> &Type {
        &self.values[value.index()].ty
    }

    /// Returns the type of an operand. A list has the type of its first item.
    pub fn type_of(&self, operand: &Operand) -> Type {
        type_of(&self.values, operand)
    }
}

pub(crate) fn type_of(values: &[ValueInfo], operand: &Operand) -> Type {
    match operand {
        Operand::Value(value) => values.get(value.index()).map_or(Type::Any, |info| info.ty.clone()),
        Operand::None => Type::None,
        Operand::Int(_) => Type::Int,
        Operand::Float(_) => Type::Float,
        Operand::Bool(_) => Type::Bool,
        Operand::Str(_) => Type::Str,
        Operand::List(items) => Type::list(items.first().map_or(Type::Any, |item| type_of(values, item))),
        Operand::DType(_) | Operand::Device(_) | Operand::Layout(_) | Operand::MemoryFormat(_) => {
            Type::Object
        }
    }
}

impl Node {
    /// Visits the values that the node takes as operands, not those used inside its regions.
    pub fn used<'a>(&'a self, visit: &mut dyn FnMut(&'a Value)) {
        self.operands.iter().for_each(|operand| operand.values(visit));
    }

    /// Visits the values that the node takes as operands, and those that its regions use at any depth.
    pub fn used_at_any_depth<'a>(&'a self, visit: &mut dyn FnMut(&'a Value)) {
        self.used(visit);
        self.regions.iter().for_each(|region| region.used(visit));
    }

    /// Returns whether the node, or any node in its regions, has an effect.
    pub fn has_effect(&self) -> bool {
        self.op.has_effect() || self.regions.iter().any(|region| region.nodes.iter().any(Self::has_effect))
    }
}

impl Region {
    /// Visits every value used in the region at any depth, including values from outside.
    pub fn used<'a>(&'a self, visit: &mut dyn FnMut(&'a Value)) {
        for node in &self.nodes {
            node.used(visit);
            node.regions.iter().for_each(|region| region.used(visit));
        }
        self.results.iter().for_each(|operand| operand.values(visit));
    }

    /// Visits every value used in the region at any depth; the visitor can replace each use.
    pub fn used_mut(&mut self, visit: &mut dyn FnMut(&mut Value)) {
        for node in &mut self.nodes {
            node.operands.iter_mut().for_each(|operand| operand.values_mut(visit));
            node.regions.iter_mut().for_each(|region| region.used_mut(visit));
        }
        self.results.iter_mut().for_each(|operand| operand.values_mut(visit));
    }
}
