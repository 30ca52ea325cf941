//! Graphs written as text, executed, and compared with the expected results.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod aten;
mod control;
mod faults;
mod lists;
mod scalars;
mod sums;
mod threads;

use ag_exec::{Error, Plan, StandaloneHost, Tier, Value};
use ag_graph::ir::text::parse;
use tch::Tensor;

/// Compiles a graph of these functions; the first is the entry.
fn plan(functions: &str) -> Plan {
    plan_for(functions, Tier::Always)
}

fn plan_for(functions: &str, tier: Tier) -> Plan {
    let graph = parse(&format!("graph 1\nfile 0 \"model.py\"\n{functions}"));
    Plan::compile_for(&graph.unwrap_or_else(|error| panic!("{error}\n{functions}")), tier)
        .unwrap_or_else(|error| panic!("{error}\n{functions}"))
}

/// Runs with and without the native tier, and asserts that the outcomes are equal. Returns the outcome.
fn run(functions: &str, inputs: Vec<Value>) -> Result<Vec<Value>, Error> {
    let copies = inputs.iter().map(copy).collect();
    let native = plan(functions).run(inputs, &mut StandaloneHost::default());
    let torch = plan_for(functions, Tier::Torch).run(copies, &mut StandaloneHost::default());
    match (&native, &torch) {
        (Ok(native), Ok(torch)) => {
            let shown = |results: &[Value]| results.iter().map(numbers).collect::<Vec<_>>();
            assert_eq!(shown(native), shown(torch), "{functions}");
        }
        (Err(native), Err(torch)) => assert_eq!(native.to_string(), torch.to_string(), "{functions}"),
        _ => panic!("the tiers differ: {native:?}, {torch:?}\n{functions}"),
    }
    native
}

fn copy(value: &Value) -> Value {
    match value {
        Value::Tensor(tensor) => tensor.copy().into(),
        Value::List(items) => Value::list(items.iter().map(copy).collect()),
        value => value.clone(),
    }
}

/// Returns the results as Python would print them, separated by commas.
fn shown(functions: &str, inputs: Vec<Value>) -> String {
    let results = run(functions, inputs).unwrap_or_else(|error| panic!("{error}\n{functions}"));
    let shown: Vec<String> = results.iter().map(numbers).collect();
    shown.join(", ")
}

/// Returns a value as text: of a tensor, the elements without its shape.
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
