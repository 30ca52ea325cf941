//! Compares executed gradients with finite differences.

use ag_exec::{Plan, StandaloneHost, Value, set_threads};
use ag_graph::ir::text::{parse, print};
use ag_graph::ir::{Graph, Type};
use ag_graph::optimize::{Pass, optimize};
use tch::{Kind, Tensor};

use crate::helpers::{NoFormulas, gradients};
use crate::squared_gradient;

const STEP: f64 = 1e-5;
const TOLERANCE: f64 = 2e-6;

/// Compares the gradient of a program with finite differences. With `order` 2, compares the gradient of the sum of the
/// squares of the program's gradient. The error describes a difference.
///
/// The program's first result must be one number. The gradient is with respect to all floating-point parameters.
pub(crate) fn compare(text: &str, order: u32, arguments: &[Value]) -> Result<(), String> {
    set_threads(1);
    let parsed = parse(text).map_err(|error| format!("{error}\n{text}"))?;
    let inputs: Vec<usize> = (0..arguments.len()).filter(|index| is_input(&parsed, *index)).collect();
    let function = match order {
        1 => parsed,
        _ => squared_gradient(text, &inputs, &mut NoFormulas).map_err(|error| error.to_string())?,
    };
    let gradient =
        gradients(function.clone(), &inputs, &mut NoFormulas).map_err(|error| error.to_string())?;
    let (value, gradient_program) = (Program::new(function)?, Program::new(gradient)?);
    let found = gradient_program.run(arguments)?;
    let mut optimized = gradient_program.graph.clone();
    optimize(&mut optimized, Pass::ALL);
    same(&found, &Program::new(optimized)?.run(arguments)?)?;
    for (index, input) in inputs.iter().enumerate() {
        let base = arguments[*input].tensor().ok_or("an input is not a tensor")?;
        let wanted = differences(base, |moved| {
            let mut arguments = arguments.to_vec();
            arguments[*input] = moved.into();
            number(&value.run(&arguments)?)
        })?;
        let found = match found[index].tensor() {
            Some(found) if found.size() == base.size() && found.kind() == base.kind() => found.copy(),
            Some(found) => {
                return Err(format!(
                    "the gradient of {base:?} is {found:?}\n{}",
                    print(&gradient_program.graph)
                ));
            }
            None => wanted.zeros_like(),
        };
        let scale = wanted.abs().maximum(&found.abs()) + 1.0;
        let error = ((&found - &wanted).abs() / scale).max().double_value(&[]);
        if error.is_nan() || error > TOLERANCE {
            let (found, wanted) =
                (found.to_string(60).unwrap_or_default(), wanted.to_string(60).unwrap_or_default());
            return Err(format!("input {input}: {found}expected {wanted}{}", print(&gradient_program.graph)));
        }
    }
    Ok(())
}

struct Program {
    graph: Graph,
    plan: Plan,
}

impl Program {
    fn new(graph: Graph) -> Result<Self, String> {
        match Plan::compile(&graph) {
            Ok(plan) => Ok(Self { graph, plan }),
            Err(error) => Err(format!("{error}\n{}", print(&graph))),
        }
    }

    fn run(&self, arguments: &[Value]) -> Result<Vec<Value>, String> {
        let results = self.plan.run(arguments.to_vec(), &mut StandaloneHost::default());
        results.map_err(|error| format!("{:?}\n{}", error.fault, print(&self.graph)))
    }
}

fn is_input(graph: &Graph, index: usize) -> bool {
    let function = &graph.functions[0];
    matches!(function.ty(function.params()[index]), Type::Tensor(tensor) if tensor.dtype.is_floating())
}

fn number(results: &[Value]) -> Result<f64, String> {
    results
        .first()
        .and_then(Value::tensor)
        .map(|loss| loss.double_value(&[]))
        .ok_or("the graph has no result".into())
}

/// Checks that passes have preserved the results, up to rounding: passes may change the order of summation.
fn same(plain: &[Value], optimized: &[Value]) -> Result<(), String> {
    for (plain, optimized) in plain.iter().zip(optimized) {
        let is_same = match (plain.tensor(), optimized.tensor()) {
            (Some(plain), Some(optimized)) => optimized.allclose(plain, 1e-12, 1e-12, true),
            (None, None) => true,
            _ => false,
        };
        if !is_same {
            return Err(format!("optimized, {plain:?} is {optimized:?}"));
        }
    }
    Ok(())
}

/// Returns the derivative for each element, computed by central differences.
fn differences(
    base: &Tensor,
    mut function: impl FnMut(Tensor) -> Result<f64, String>,
) -> Result<Tensor, String> {
    let size = base.size();
    let flat = base.reshape([-1]);
    let mut derivatives = Vec::new();
    for element in 0..flat.size()[0] {
        let mut side = |step: f64| {
            let moved = flat.copy();
            let _ = moved.get(element).fill_(flat.double_value(&[element]) + step);
            function(moved.reshape(&size))
        };
        derivatives.push((side(STEP)? - side(-STEP)?) / (2.0 * STEP));
    }
    Ok(Tensor::from_slice(&derivatives).to_kind(Kind::Double).reshape(&size))
}
