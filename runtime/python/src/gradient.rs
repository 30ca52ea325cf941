//! `Graph.gradient`: reverse-mode differentiation. Operators without a rule use torch's own derivative,
//! captured by Python.

use std::cell::Cell;

use ag_graph::autodiff::{self, Formulas};
use ag_graph::ir::build::NodeAttrs;
use ag_graph::ir::{Function, Operand, Operator, Type, Value};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;

use super::graph::{GraphBuilder, PyGraph};
use super::operand::{PyValue, object};
use super::{operation, types};

pub(super) fn gradient(
    py: Python<'_>,
    building: &mut GraphBuilder,
    outputs: &[Value],
    seeds: &[Option<Operand>],
    inputs: &[Value],
    attrs: &NodeAttrs,
    formula: &Bound<'_, PyAny>,
) -> PyResult<Vec<PyObject>> {
    let mut formulas = Captured { formula, raised: None };
    let gradients = autodiff::gradient(
        &mut building.builder,
        outputs,
        seeds,
        inputs,
        attrs,
        &mut building.functions,
        &mut formulas,
    );
    let gradients = match (gradients, formulas.raised) {
        (_, Some(raised)) => return Err(raised),
        (Err(error), None) => {
            let location = error.span.map(|span| building.location(span));
            return Err(PyRuntimeError::new_err((error.message, location)));
        }
        (Ok(gradients), None) => gradients,
    };
    let typed = |value| building.value(value);
    gradients.iter().map(|gradient| object(py, gradient.as_ref().unwrap_or(&Operand::None), &typed)).collect()
}

/// The derivatives that a Python callable captures.
struct Captured<'a, 'py> {
    formula: &'a Bound<'py, PyAny>,
    /// An exception raised by the callable, passed on to the caller.
    raised: Option<PyErr>,
}

impl Captured<'_, '_> {
    /// Calls Python to capture the derivative of an operator. `None` if torch has none.
    fn capture_derivative(
        &self,
        operator: &Operator,
        operands: &[Operand],
        tensors: &[Type],
        results: &[Type],
    ) -> PyResult<Option<Function>> {
        let py = self.formula.py();
        // The tensors of the derivative's graph are the values among the operands, in the same order.
        let next = Cell::new(0);
        let typed = |value| {
            let index = next.replace(next.get() + 1);
            PyValue { value, ty: tensors.get(index).cloned().unwrap_or(Type::Int) }
        };
        let operands =
            operands.iter().map(|operand| object(py, operand, &typed)).collect::<PyResult<Vec<_>>>()?;
        if next.get() != tensors.len() {
            return Err(PyTypeError::new_err(format!("no derivative of {operator} with staged numbers")));
        }
        let types = |of: &[Type]| of.iter().map(|ty| types::object(py, ty)).collect::<PyResult<Vec<_>>>();
        let overload = operation::overload(py, operator)?;
        let graph = self.formula.call1((overload, operands, types(tensors)?, types(results)?))?;
        if graph.is_none() {
            return Ok(None);
        }
        let graph = graph.downcast::<PyGraph>()?.borrow().finished()?;
        Ok(graph.entry().cloned())
    }
}

impl Formulas for Captured<'_, '_> {
    fn formula(
        &mut self,
        operator: &Operator,
        operands: &[Operand],
        tensors: &[Type],
        results: &[Type],
    ) -> Result<Function, String> {
        match self.capture_derivative(operator, operands, tensors, results) {
            Ok(Some(function)) => Ok(function),
            Ok(None) => Err("torch has none".to_owned()),
            Err(raised) => {
                let message = raised.to_string();
                self.raised = Some(raised);
                Err(message)
            }
        }
    }
}
