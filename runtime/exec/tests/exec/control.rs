//! Branches, loops, calls: values that move between registers.

use super::{plan, run, shown, tensor};
use ag_exec::{StandaloneHost, Value};

#[test]
fn a_loop_carries_tensors_and_numbers() {
    let program = r#"
func @main(%x.0: f32[2] = argument "x", %n.1: int = argument "n") -> (f32[2], int) {
  %2: f32[2], %3: int = for(0, %n.1, 1, %x.0, 0)
    body(%i.4: int, %5: f32[2], %6: int) {
      %7: f32[2] = aten.add.Tensor(%5, %x.0, 1)
      %8: int = scalar.add(%6, %i.4)
      yield %7, %8
    }
  return %2, %3
}"#;
    assert_eq!(shown(program, vec![tensor(&[1.0, 2.0]), Value::Int(4)]), "[5.0, 10.0], 6");
    assert_eq!(shown(program, vec![tensor(&[1.0, 2.0]), Value::Int(0)]), "[1.0, 2.0], 0");
    assert_eq!(shown(program, vec![tensor(&[1.0, 2.0]), Value::Int(-3)]), "[1.0, 2.0], 0");
}

/// `a, b = b, a` with tensors, scalars and lists is simultaneous.
#[test]
fn carried_values_may_be_swapped() {
    let program = r#"
func @main(%a.0: f32[1] = argument "a", %b.1: f32[1] = argument "b", %n.2: int = argument "n") -> (f32[1], f32[1], int, int, list[int], list[int]) {
  %3: list[int] = list.new(1)
  %4: list[int] = list.new(2)
  %5: f32[1], %6: f32[1], %7: int, %8: int, %9: list[int], %10: list[int] = for(0, %n.2, 1, %a.0, %b.1, 1, 2, %3, %4)
    body(%i.11: int, %12: f32[1], %13: f32[1], %14: int, %15: int, %16: list[int], %17: list[int]) {
      yield %13, %12, %15, %14, %17, %16
    }
  return %5, %6, %7, %8, %9, %10
}"#;
    let inputs = |n| vec![tensor(&[1.0]), tensor(&[2.0]), Value::Int(n)];
    assert_eq!(shown(program, inputs(1)), "[2.0], [1.0], 2, 1, [2], [1]");
    assert_eq!(shown(program, inputs(2)), "[1.0], [2.0], 1, 2, [1], [2]");
}

/// `a, b = a + b, a`, and one value returned twice.
#[test]
fn value_may_be_carried_twice() {
    let program = r#"
func @main(%x.0: f64[1] = argument "x") -> (f64[1], f64[1], f64[1]) {
  %1: f64[1], %2: f64[1], %3: f64[1] = for(0, 10, 1, %x.0, %x.0, %x.0)
    body(%i.4: int, %5: f64[1], %6: f64[1], %7: f64[1]) {
      %8: f64[1] = aten.add.Tensor(%5, %6, 1)
      yield %8, %5, %5
    }
  return %1, %2, %3
}"#;
    let x = tch::Tensor::from_slice(&[1.0_f64]);
    assert_eq!(shown(program, vec![x.into()]), "[144.0], [89.0], [89.0]");
}

#[test]
fn loop_conditions_run_before_each_iteration() {
    let program = r#"
func @main(%x.0: f32[] = argument "x") -> (f32[], int, int) {
  %1: f32[], %2: int = while(%x.0, 0)
    cond(%3: f32[], %4: int) {
      %5: bool[] = aten.gt.Scalar(%3, 1.0)
      %6: bool = item(%5)
      yield %6
    }
    body(%7: f32[], %8: int) {
      %9: f32[] = aten.div.Tensor(%7, 2.0)
      %10: int = scalar.add(%8, 1)
      yield %9, %10
    }
  %11: int = for(10, 0, -3, 0)
    body(%i.12: int, %13: int) {
      %14: int = scalar.add(%13, %i.12)
      yield %14
    }
    test(%15: int) {
      %16: bool = scalar.lt(%15, 15)
      yield %16
    }
  return %1, %2, %11
}"#;
    let x = tch::Tensor::from(100.0_f32);
    assert_eq!(shown(program, vec![x.into()]), "[0.78125], 7, 17");
}

/// Values that only one branch uses, defines or needs are neither lost nor leaked.
#[test]
fn branches_use_outer_values() {
    let program = r#"
func @main(%x.0: f32[1] = argument "x", %y.1: f32[1] = argument "y", %n.2: int = argument "n") -> (f32[1], f32[1]) {
  %a.3: f32[1] = aten.mul.Tensor(%x.0, 10.0)
  %b.4: f32[1] = aten.mul.Tensor(%y.1, 100.0)
  %5: bool = scalar.gt(%n.2, 0)
  %6: f32[1], %7: f32[1] = if(%5)
    then() {
      %8: bool = scalar.gt(%n.2, 1)
      %9: f32[1] = if(%8)
        then() {
          %10: f32[1] = aten.neg.default(%a.3)
          yield %10
        }
        else() {
          yield %x.0
        }
      %11: f32[1] = aten.add.Tensor(%9, %y.1, 1)
      yield %11, %9
    }
    else() {
      %12: f32[1] = aten.neg.default(%b.4)
      %13: f32[1] = aten.neg.default(%12)
      yield %13, %12
    }
  %14: f32[1] = aten.add.Tensor(%6, 0.5, 1)
  return %14, %7
}"#;
    let inputs = |n| vec![tensor(&[1.0]), tensor(&[2.0]), Value::Int(n)];
    assert_eq!(shown(program, inputs(2)), "[-7.5], [-10.0]");
    assert_eq!(shown(program, inputs(1)), "[3.5], [1.0]");
    assert_eq!(shown(program, inputs(0)), "[200.5], [-200.0]");
}

/// A branch in a loop. The last use of a value that the iteration defines is in one branch.
#[test]
fn branches_within_loops() {
    let program = r#"
func @main(%x.0: f32[1] = argument "x") -> (f32[1], list[f32[1]]) {
  %1: list[f32[1]] = list.new()
  %2: f32[1], %3: list[f32[1]] = for(0, 6, 1, %x.0, %1)
    body(%i.4: int, %5: f32[1], %6: list[f32[1]]) {
      %7: f32[1] = aten.add.Tensor(%5, %x.0, 1)
      %8: int = scalar.mod(%i.4, 2)
      %9: bool = scalar.eq(%8, 0)
      %10: f32[1], %11: list[f32[1]] = if(%9)
        then() {
          %12: list[f32[1]] = list.append(%6, %7)
          yield %5, %12
        }
        else() {
          yield %7, %6
        }
      yield %10, %11
    }
  return %2, %3
}"#;
    assert_eq!(shown(program, vec![tensor(&[1.0])]), "[4.0], [[2.0], [3.0], [4.0]]");
}

/// A value that is undefined on the path taken raises an error only when it is used.
#[test]
fn undefined_tensor_raises_when_used() {
    let program = r#"
func @main(%x.0: f32[1] = argument "x", %c.1: bool = argument "c") -> (f32[1]) {
  %2: f32[1] = if(%c.1)
    then() {
      yield %x.0
    }
    else() {
      yield none
    }
  %3: f32[1] = aten.neg.default(%2) at 0:7:4-7:9
  return %3
}"#;
    assert_eq!(shown(program, vec![tensor(&[1.0]), Value::Bool(true)]), "[-1.0]");
    let error = run(program, vec![tensor(&[1.0]), Value::Bool(false)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "TypeError: a tensor is used that is undefined on the path taken\n  \
         model.py:7:5: aten.neg.default in @main"
    );
}

#[test]
fn functions_call_each_other_and_themselves() {
    let program = r#"
func @main(%x.0: f32[1] = argument "x", %n.1: int = argument "n") -> (f32[1], int) {
  %2: f32[1], %3: int = call @down(%x.0, %n.1)
  return %2, %3
}
func @down(%x.0: f32[1], %n.1: int) -> (f32[1], int) {
  %2: bool = scalar.le(%n.1, 0)
  %3: f32[1], %4: int = if(%2)
    then() {
      yield %x.0, 0
    }
    else() {
      %5: int = scalar.sub(%n.1, 1)
      %6: f32[1], %7: int = call @down(%x.0, %5)
      %8: f32[1] = aten.add.Tensor(%6, %x.0, 1)
      %9: int = scalar.add(%7, %n.1)
      yield %8, %9
    }
  return %3, %4
}"#;
    assert_eq!(shown(program, vec![tensor(&[1.0]), Value::Int(4)]), "[5.0], 10");
    // Recursion in Python or on the stack of the thread could not be this deep.
    assert_eq!(shown(program, vec![tensor(&[1.0]), Value::Int(50_000)]), "[50001.0], 1250025000");
    let mut plan = plan(program);
    plan.recursion_limit = 1000;
    let error = plan.run(vec![tensor(&[1.0]), Value::Int(2000)], &mut StandaloneHost::default()).unwrap_err();
    assert_eq!(error.fault.class(), "RecursionError");
    assert_eq!(error.fault.to_string(), "maximum recursion depth of 1000 calls exceeded");
}

/// Values saved by nested calls are dropped without recursion.
#[test]
fn a_deep_tuple_is_dropped() {
    let program = r#"
func @main(%n.0: int = argument "n") -> (int) {
  %1: any = call @nested(%n.0)
  %2: int = tuple.get 1(%1)
  return %2
}
func @nested(%n.0: int) -> (any) {
  %1: bool = scalar.le(%n.0, 0)
  %2: any = if(%1)
    then() {
      %3: any = tuple.new(none, 0)
      yield %3
    }
    else() {
      %4: int = scalar.sub(%n.0, 1)
      %5: any = call @nested(%4)
      %6: any = tuple.new(%5, %n.0)
      yield %6
    }
  return %2
}"#;
    assert_eq!(shown(program, vec![Value::Int(90_000)]), "90000");
}
