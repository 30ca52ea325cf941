//! `Graph.gradient`: reverse mode on the graph; where it has no rule, torch's own derivative as Python captures it.

use std::cell::Cell;

use ag_graph::autodiff::{self, Formulas};
use ag_graph::ir::build::Circumstances;
use ag_graph::ir::{Function, Operand, Type, Value};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;

use super::graph::{Making, PyGraph};
use super::operand::{PyValue, object};

pub(super) fn gradient(
    py: Python<'_>,
    making: &mut Making,
    outputs: &[Value],
    seeds: &[Option<Operand>],
    inputs: &[Value],
    circumstances: &Circumstances,
    formula: &Bound<'_, PyAny>,
) -> PyResult<Vec<PyObject>> {
    let mut formulas = Captured { formula, raised: None };
    let gradients = autodiff::gradient(
        &mut making.builder,
        outputs,
        seeds,
        inputs,
        circumstances,
        &mut making.functions,
        &mut formulas,
    );
    let gradients = match (gradients, formulas.raised) {
        (_, Some(raised)) => return Err(raised),
        (Err(error), None) => {
            let place = error.span.map(|span| making.place(span));
            return Err(PyRuntimeError::new_err((error.message, place)));
        }
        (Ok(gradients), None) => gradients,
    };
    let typed = |value| making.value(value);
    gradients.iter().map(|gradient| object(py, gradient.as_ref().unwrap_or(&Operand::None), &typed)).collect()
}

/// Derivatives that a Python callable captures.
struct Captured<'a, 'py> {
    formula: &'a Bound<'py, PyAny>,
    /// What the callable raised; it goes on to the caller.
    raised: Option<PyErr>,
}

impl Captured<'_, '_> {
    fn ask(
        &self,
        op: &str,
        operands: &[Operand],
        tensors: &[Type],
        results: &[Type],
    ) -> PyResult<Option<Function>> {
        let py = self.formula.py();
        // The values of the operands are its tensors, in their order.
        let next = Cell::new(0);
        let typed = |value| {
            let index = next.replace(next.get() + 1);
            PyValue { value, ty: tensors.get(index).map_or_else(|| "int".to_owned(), ToString::to_string) }
        };
        let operands =
            operands.iter().map(|operand| object(py, operand, &typed)).collect::<PyResult<Vec<_>>>()?;
        if next.get() != tensors.len() {
            return Err(PyTypeError::new_err(format!(
                "the derivative of {op} with staged numbers is not known"
            )));
        }
        let types = |types: &[Type]| types.iter().map(ToString::to_string).collect::<Vec<_>>();
        let graph = self.formula.call1((op, operands, types(tensors), types(results)))?;
        if graph.is_none() {
            return Ok(None);
        }
        let graph = graph.downcast::<PyGraph>()?.borrow().made()?;
        Ok(graph.entry().cloned())
    }
}

impl Formulas for Captured<'_, '_> {
    fn formula(
        &mut self,
        op: &str,
        operands: &[Operand],
        tensors: &[Type],
        results: &[Type],
    ) -> Result<Function, String> {
        match self.ask(op, operands, tensors, results) {
            Ok(Some(function)) => Ok(function),
            Ok(None) => Err(format!("no derivative: {op}")),
            Err(raised) => {
                let message = raised.to_string();
                self.raised = Some(raised);
                Err(message)
            }
        }
    }
}
