//! Memory use of a long run, in a separate process.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use ag_exec::{Plan, StandaloneHost, Value};
use ag_graph::ir::text::parse;

/// A million iterations over tensors, scalars and a list of constant length take no more memory than a few.
#[test]
fn million_iterations_in_constant_memory() {
    let program = r#"graph 1
func @main(%x.0: f32[64] = argument "x", %n.1: int = argument "n") -> (f32[64], int, list[f32[64]]) {
  %2: list[f32[64]] = list.new(%x.0)
  %3: f32[64], %4: int, %5: list[f32[64]] = for(0, %n.1, 1, %x.0, 0, %2)
    body(%i.6: int, %7: f32[64], %8: int, %9: list[f32[64]]) {
      %10: f32[64] = aten.mul.Tensor(%7, 0.5)
      %11: f32[64] = aten.add.Tensor(%10, %x.0, 1)
      %12: list[f32[64]] = list.set(%9, 0, %11)
      %13: int = scalar.add(%8, 1)
      yield %11, %13, %12
    }
  return %3, %4, %5
}"#;
    let plan = Plan::compile(&parse(program).unwrap()).unwrap();
    let x = || tch::Tensor::ones([64], (tch::Kind::Float, tch::Device::Cpu));
    let rounds = |n| plan.run(vec![x().into(), Value::Int(n)], &mut StandaloneHost::default()).unwrap();
    rounds(1000);
    let before = resident();
    let results = rounds(1_000_000);
    assert!(resident() < before + 8 * 1024, "{} KiB before, {} after", before, resident());
    assert_eq!(results[1].to_string(), "1000000");
    let x = results[0].tensor().expect("a tensor is carried");
    assert!(x.allclose(&tch::Tensor::full_like(x, 2.0), 1e-6, 1e-6, false));
}

/// Resident memory of the process in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this test requires Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("of every process");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("in KiB")
}
