//! Measures the overhead of a plan: the same operators called through `tch` in a Rust loop, and as steps of a
//! plan.
//!
//!     cargo bench -p ag-exec --bench overhead

#![allow(clippy::unwrap_used, reason = "a panic fails the benchmark")]

use std::hint::black_box;
use std::time::Instant;

use ag_exec::aten::NoAutogradGuard;
use ag_exec::{Plan, StandaloneHost, Value, set_threads};
use ag_graph::ir::text::parse;
use tch::{Device, Kind, Tensor};

/// Batches are shorter than a scheduler time slice.
const ROUNDS: i64 = 50;
const BATCHES: usize = 2000;
/// Operators per iteration.
const CHAIN: usize = 10;

/// Runs the two batches in turn, `BATCHES` times, and returns the nanoseconds per operation of the fastest run of each.
fn least(count: usize, batches: [&dyn Fn(); 2]) -> [f64; 2] {
    let mut least = [f64::INFINITY; 2];
    for _ in 0..BATCHES {
        for (least, batch) in least.iter_mut().zip(batches) {
            let start = Instant::now();
            batch();
            *least = least.min(start.elapsed().as_nanos() as f64 / count as f64);
        }
    }
    least
}

/// Compiles a loop whose body is `line`, repeated `CHAIN` times. In `line`, `%a` stands for the result of the previous
/// repetition.
fn looped(line: &str, ty: &str) -> Plan {
    let mut body = String::new();
    for index in 0..CHAIN {
        let line = line.replace("%a", &format!("%{}", 10 + index));
        body.push_str(&format!("      %{}: {ty} = {line}\n", 11 + index));
    }
    let text = format!(
        "graph 1\nfunc @main(%0: {ty} = argument \"a\", %1: {ty} = argument \"b\", %2: int = argument \"n\") -> ({ty}) {{\n  \
         %5: float = scalar.truediv(999, 1000)\n  \
         %3: {ty} = for(0, %2, 1, %0)\n    body(%4: int, %10: {ty}) {{\n{body}      yield %{}\n    }}\n  return %3\n}}\n",
        10 + CHAIN
    );
    let graph = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Plan::compile(&graph).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn main() {
    set_threads(1);
    let count = ROUNDS as usize * CHAIN;
    println!("ns per operator, [64] of float32, one thread; the least of {BATCHES} batches of {count}\n");
    println!("| operator | tch in a loop | plan | overhead of the plan |");
    println!("|---|---|---|---|");
    let a = Tensor::linspace(0.1, 0.9, 64, (Kind::Float, Device::Cpu));
    let b = Tensor::full([64], 1e-3, (Kind::Float, Device::Cpu));
    type Direct = fn(&Tensor, &Tensor) -> Tensor;
    let operators: [(&str, &str, Direct); 6] = [
        ("add", "aten.add.Tensor(%a, %1, 1)", |a, b| a.f_add(b).unwrap()),
        ("tanh", "aten.tanh.default(%a)", |a, _| a.f_tanh().unwrap()),
        ("mul by a number", "aten.mul.Tensor(%a, 0.999)", |a, _| a.f_mul_scalar(0.999).unwrap()),
        ("slice", "aten.slice.Tensor(%a, 0, 0, 64, 1)", |a, _| a.f_slice(0, 0, 64, 1).unwrap()),
        ("erf, dispatched", "aten.erf.default(%a)", |a, _| a.f_erf().unwrap()),
        ("clamp, dispatched", "aten.clamp.default(%a, 0.1, 0.9)", |a, _| a.f_clamp(0.1, 0.9).unwrap()),
    ];
    for (name, line, direct) in operators {
        let plan = looped(line, "f32[64]");
        let run = || {
            let inputs = vec![a.shallow_clone().into(), b.shallow_clone().into(), Value::Int(ROUNDS)];
            plan.run(inputs, &mut StandaloneHost::default()).expect("it runs").remove(0)
        };
        let by_hand = || {
            let _mode = NoAutogradGuard::enter();
            (0..count).fold(a.shallow_clone(), |x, _| direct(&x, &b))
        };
        let found = run();
        assert!(found.tensor().is_some_and(|found| found.equal(&by_hand())), "{name}");
        let [hand, planned] = least(count, [&|| drop(black_box(by_hand())), &|| drop(black_box(run()))]);
        println!("| {name} | {hand:.0} | {planned:.0} | {:.0} |", planned - hand);
    }
    let plan = looped("scalar.add(%a, %1)", "int");
    let run = || {
        let inputs = vec![Value::Int(0), Value::Int(3), Value::Int(ROUNDS)];
        plan.run(inputs, &mut StandaloneHost::default()).expect("it runs").remove(0)
    };
    assert_eq!(run().to_string(), (3 * count).to_string());
    let [planned, _] = least(count, [&|| drop(black_box(run())), &|| {}]);
    println!("| int add in a register | - | {planned:.1} | {planned:.1} |");
}
