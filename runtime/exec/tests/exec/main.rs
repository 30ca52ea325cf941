//! Graphs written as text, executed, and compared with the expected results.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod aten;
mod control;
mod faults;
mod lists;
mod scalars;
mod sums;
mod threads;

use ag_exec::{Error, Plan, StandaloneHost, Value};
use ag_graph::ir::text::parse;
use tch::Tensor;

/// Compiles a graph of these functions; the first is the entry.
fn plan(functions: &str) -> Plan {
    let graph = parse(&format!("graph 1\nfile 0 \"model.py\"\n{functions}"));
    Plan::compile(&graph.unwrap_or_else(|error| panic!("{error}\n{functions}")))
        .unwrap_or_else(|error| panic!("{error}\n{functions}"))
}

fn run(functions: &str, inputs: Vec<Value>) -> Result<Vec<Value>, Error> {
    plan(functions).run(inputs, &mut StandaloneHost::default())
}

/// The single result, as Python would print it.
fn shown(functions: &str, inputs: Vec<Value>) -> String {
    let results = run(functions, inputs).unwrap_or_else(|error| panic!("{error}\n{functions}"));
    let shown: Vec<String> = results.iter().map(numbers).collect();
    shown.join(", ")
}

/// The elements of a tensor, regardless of its shape.
fn numbers(value: &Value) -> String {
    match value {
        Value::Tensor(tensor) => {
            let flat = tensor.to_kind(tch::Kind::Double).flatten(0, -1);
            format!("{:?}", Vec::<f64>::try_from(flat).expect("a flat tensor is a vector"))
        }
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(numbers).collect();
            format!("[{}]", items.join(", "))
        }
        value => value.to_string(),
    }
}

fn tensor(values: &[f32]) -> Value {
    Tensor::from_slice(values).into()
}
