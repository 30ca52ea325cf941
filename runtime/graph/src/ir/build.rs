//! Builds a function from its first node to its last. Regions are nested. A region that turns out not to be needed is
//! abandoned with its contents.

use std::sync::Arc;

use super::graph::{Function, Node, Region, Span, Value, ValueInfo, type_of};
use super::op::Op;
use super::operand::Operand;
use super::types::Type;

#[derive(Debug)]
pub struct Builder {
    name: Box<str>,
    /// The table of values. The values of abandoned regions remain in the table, unused.
    pub values: Vec<ValueInfo>,
    /// The open regions, outermost first. The first is the function body; never empty.
    pub open: Vec<Region>,
}

/// The attributes of a node other than its operation and operands.
#[derive(Debug, Clone, Default)]
pub struct NodeAttrs {
    pub span: Option<Span>,
    pub no_grad: bool,
}

impl Builder {
    pub fn new(name: &str) -> Self {
        Self { name: name.into(), values: Vec::new(), open: vec![Region::default()] }
    }

    pub fn value(&mut self, ty: Type, name: Option<&str>) -> Value {
        let value = Value(u32::try_from(self.values.len()).unwrap_or(u32::MAX));
        self.values.push(ValueInfo { ty, name: name.map(Arc::from) });
        value
    }

    pub fn ty(&self, value: Value) -> &Type {
        &self.values[value.index()].ty
    }

    pub fn type_of(&self, operand: &Operand) -> Type {
        type_of(&self.values, operand)
    }

    /// Adds a parameter to the function; any region may be open.
    pub fn parameter(&mut self, ty: Type, name: Option<&str>) -> Value {
        let value = self.value(ty, name);
        self.open[0].params.push(value);
        value
    }

    /// Appends a node to the innermost open region.
    pub fn emit(
        &mut self,
        op: Op,
        operands: Vec<Operand>,
        types: Vec<Type>,
        regions: Vec<Region>,
        attrs: &NodeAttrs,
    ) -> Vec<Value> {
        let outputs: Vec<Value> = types.into_iter().map(|ty| self.value(ty, None)).collect();
        let NodeAttrs { span, no_grad } = *attrs;
        let node = Node { op, operands, outputs: outputs.clone(), regions, span, grad: !no_grad };
        self.innermost().nodes.push(node);
        outputs
    }

    /// Appends a node with one result and no regions.
    pub fn one(&mut self, op: Op, operands: Vec<Operand>, ty: Type, attrs: &NodeAttrs) -> Value {
        self.emit(op, operands, vec![ty], Vec::new(), attrs)[0]
    }

    /// Opens a region and returns its parameters.
    pub fn open(&mut self, types: Vec<Type>) -> Vec<Value> {
        let params: Vec<Value> = types.into_iter().map(|ty| self.value(ty, None)).collect();
        self.open.push(Region { params: params.clone(), ..Region::default() });
        params
    }

    /// Closes the innermost region. `None` if only the function body is open.
    pub fn close(&mut self, results: Vec<Operand>) -> Option<Region> {
        if self.open.len() < 2 {
            return None;
        }
        let mut region = self.open.pop()?;
        region.results = results;
        Some(region)
    }

    /// Drops the innermost region. `false` if only the function body is open.
    pub fn abandon(&mut self) -> bool {
        self.open.len() > 1 && self.open.pop().is_some()
    }

    /// Finishes the function. Regions that are still open are dropped.
    pub fn finish(mut self, results: Vec<Operand>) -> Function {
        let types = results.iter().map(|operand| self.type_of(operand)).collect();
        self.open.truncate(1);
        let mut body = self.open.pop().unwrap_or_default();
        body.results = results;
        Function { name: self.name, body, results: types, values: self.values }
    }

    fn innermost(&mut self) -> &mut Region {
        let last = self.open.len() - 1;
        &mut self.open[last]
    }
}
