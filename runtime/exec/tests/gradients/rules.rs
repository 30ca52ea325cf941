//! Checks every rule. Each line of `rules.txt` is a test case: `result type(s) = operator(%name: type, literals…)`.
//!
//! The name of an operand determines its random values: `%p…` floats above zero, `%q…` above one, `%i3…` integers below
//! three; all others are floats around zero, or booleans, depending on their type.

use std::fmt::Write as _;

use ag_exec::Value;
use ag_graph::ir::Type;
use ag_graph::ir::text::parse_type;
use tch::{Kind, Tensor};

use crate::differences::compare;

const RULES: &str = include_str!("rules.txt");

/// Operators whose derivative is one kernel of torch. The graph crate has no rule for the kernel itself, so these tests
/// have no second derivative.
const WITHOUT_SECOND_DERIVATIVE: &[&str] = &[
    "_adaptive_avg_pool2d",
    "adaptive_max_pool2d",
    "avg_pool2d",
    "binary_cross_entropy",
    "convolution",
    "elu",
    "embedding",
    "gelu",
    "hardsigmoid",
    "hardswish",
    "huber_loss",
    "leaky_relu",
    "lgamma",
    "log_sigmoid_forward",
    "max_pool2d_with_indices",
    "mish",
    "native_batch_norm",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit_functional",
    "native_group_norm",
    "native_layer_norm",
    "silu",
    "smooth_l1_loss",
];

#[test]
fn rules_match_finite_differences() {
    let seed = 5;
    let mut random = fastrand::Rng::with_seed(seed);
    let mut failed = Vec::new();
    let mut compared = 0;
    for row in RULES.lines().filter(|row| !row.is_empty()) {
        let (program, operands) = program(row);
        let arguments: Vec<Value> =
            operands.iter().map(|(name, ty)| argument(&mut random, name, ty)).collect();
        let name = row.split("aten.").nth(1).and_then(|rest| rest.split('.').next()).unwrap();
        for order in [1, 2] {
            if order == 2 && WITHOUT_SECOND_DERIVATIVE.contains(&name) {
                continue;
            }
            for program in [&program, &relaxed(&program)] {
                compared += 1;
                if let Err(message) = compare(program, order, &arguments) {
                    failed.push(format!("{row}, order {order}: {message}"));
                }
            }
        }
    }
    assert!(failed.is_empty(), "seed {seed}: {} of {compared}:\n{}", failed.len(), failed.join("\n"));
    assert!(compared > 400, "{compared}");
}

/// Returns the text of a function that sums the sines of the operator's first result, and the names and types of its
/// parameters.
fn program(row: &str) -> (String, Vec<(String, Type)>) {
    let (types, call) = row.split_once(" = ").unwrap();
    let mut params = Vec::new();
    let mut stripped = String::new();
    let mut rest = call;
    while let Some((before, after)) = rest.split_once(": ") {
        let (head, name) = before.rsplit_once('%').unwrap();
        let end = after.find(']').unwrap() + 1;
        params.push((name.to_owned(), after[..end].to_owned()));
        stripped.push_str(&format!("{head}%{name}"));
        rest = &after[end..];
    }
    stripped.push_str(rest);
    let results: Vec<&str> = types.split(", ").collect();
    let outputs: Vec<String> =
        results.iter().enumerate().map(|(index, ty)| format!("%result{index}: {ty}")).collect();
    let declared: Vec<String> =
        params.iter().map(|(name, ty)| format!("%{name}: {ty} = argument {name:?}")).collect();
    let text = format!(
        "graph 1\nfunc @main({}) -> (f64[]) {{\n  {} = {stripped}\n  %sine: {} = aten.sin.default(%result0)\n  \
         %sum: f64[] = aten.sum.default(%sine, none)\n  return %sum\n}}\n",
        declared.join(", "),
        outputs.join(", "),
        results[0],
    );
    let params = params.into_iter().map(|(name, ty)| (name, parse_type(&ty).unwrap())).collect();
    (text, params)
}

/// Returns the same program with sizes that are only known at run time.
fn relaxed(program: &str) -> String {
    let mut relaxed = String::new();
    let mut rest = program;
    while let Some((before, after)) = rest.split_once("64[") {
        let (dims, after) = after.split_once(']').unwrap();
        let dims: Vec<&str> = dims.split(',').map(|dim| if dim.is_empty() { "" } else { "?" }).collect();
        let _ = write!(relaxed, "{before}64[{}]", dims.join(","));
        rest = after;
    }
    relaxed + rest
}

fn argument(random: &mut fastrand::Rng, name: &str, ty: &Type) -> Value {
    let tensor = ty.tensor().unwrap();
    let sizes: Vec<i64> = tensor.sizes().unwrap().into_iter().map(|size| size as i64).collect();
    let count = sizes.iter().product::<i64>() as usize;
    if let Some(bound) = name.strip_prefix('i') {
        let digits: String = bound.chars().take_while(char::is_ascii_digit).collect();
        let bound = digits.parse().unwrap();
        let numbers: Vec<i64> = (0..count).map(|_| random.i64(0..bound)).collect();
        return Tensor::from_slice(&numbers).reshape(sizes).into();
    }
    if name.starts_with('b') && tensor.dtype.torch() == "bool" {
        let truths: Vec<i64> = (0..count).map(|_| random.i64(0..2)).collect();
        return Tensor::from_slice(&truths).reshape(sizes).to_kind(Kind::Bool).into();
    }
    let (low, high) = match name.as_bytes()[0] {
        b'p' => (0.15, 0.9),
        b'q' => (1.2, 2.0),
        _ => (-0.95, 0.95),
    };
    let numbers: Vec<f64> = (0..count).map(|_| low + (high - low) * random.f64()).collect();
    Tensor::from_slice(&numbers).reshape(sizes).into()
}
