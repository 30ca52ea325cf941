//! First and second gradients of functions that call each other and themselves.

use ag_exec::Value;
use ag_graph::ir::text::print;
use ag_graph::ir::{Op, Region};
use tch::Tensor;

use crate::differences::compare;
use crate::helpers::{NoFormulas, differentiated};
use crate::squared_gradient;

fn row(values: &[f64]) -> Value {
    Tensor::from_slice(values).into()
}

fn agrees(text: &str, arguments: &[Value]) {
    for order in [1, 2] {
        if let Err(message) = compare(text, order, arguments) {
            panic!("order {order}: {message}\nof\n{text}");
        }
    }
}

/// `down(n) = sin(down(n - 1) * w) + x`, where `down(0) = x`.
const CHAIN: &str = r#"graph 1
    func @main(%x.0: f64[2] = argument "x", %w.1: f64[2] = argument "w", %n.2: int = argument "n") -> (f64[]) {
      %3: f64[2] = call @down(%x.0, %w.1, %n.2)
      %4: f64[] = aten.sum.default(%3, none)
      return %4
    }
    func @down(%x.0: f64[2], %w.1: f64[2], %n.2: int) -> (f64[2]) {
      %3: bool = scalar.le(%n.2, 0)
      %4: f64[2] = if(%3)
        then() {
          yield %x.0
        }
        else() {
          %5: int = scalar.sub(%n.2, 1)
          %6: f64[2] = call @down(%x.0, %w.1, %5)
          %7: f64[2] = aten.mul.Tensor(%6, %w.1)
          %8: f64[2] = aten.sin.default(%7)
          %9: f64[2] = aten.add.Tensor(%8, %x.0, 1)
          yield %9
        }
      return %4
    }"#;

#[test]
fn gradient_of_a_recursion() {
    for depth in [0, 1, 4] {
        agrees(CHAIN, &[row(&[0.3, -0.7]), row(&[0.9, 1.2]), Value::Int(depth)]);
    }
}

/// Fibonacci numbers: an inner node runs a loop over two calls, and a leaf takes its value from a list.
#[test]
fn gradient_of_calls_in_loops() {
    let text = r#"graph 1
        func @main(%x.0: f64[2] = argument "x", %y.1: f64[2] = argument "y", %n.2: int = argument "n") -> (f64[]) {
          %3: list[f64[2]] = list.new(%x.0, %y.1)
          %4: f64[2], %5: list[f64[2]] = call @tree(%3, %n.2)
          %6: f64[2] = list.get(%5, -1)
          %7: f64[2] = aten.mul.Tensor(%4, %6)
          %8: f64[] = aten.sum.default(%7, none)
          return %8
        }
        func @tree(%0: list[f64[2]], %n.1: int) -> (f64[2], list[f64[2]]) {
          %2: bool = scalar.lt(%n.1, 2)
          %3: f64[2], %4: list[f64[2]] = if(%2)
            then() {
              %5: f64[2] = list.get(%0, %n.1)
              %6: f64[2] = aten.exp.default(%5)
              yield %6, %0
            }
            else() {
              %7: f64[2] = list.get(%0, 0)
              %8: f64[2], %9: list[f64[2]] = for(1, 3, 1, %7, %0)
                body(%10: int, %11: f64[2], %12: list[f64[2]]) {
                  %13: int = scalar.sub(%n.1, %10)
                  %14: f64[2], %15: list[f64[2]] = call @tree(%12, %13)
                  %16: f64[2] = aten.mul.Tensor(%11, %14)
                  %17: f64[2] = aten.tanh.default(%16)
                  %18: list[f64[2]] = list.append(%15, %17)
                  yield %17, %18
                }
              yield %8, %9
            }
          return %3, %4
        }"#;
    for depth in [1, 2, 4] {
        agrees(text, &[row(&[0.3, -0.7]), row(&[0.9, 0.2]), Value::Int(depth)]);
    }
}

/// Two mutually recursive functions, one of which passes its parameter to a non-differentiable operand.
#[test]
fn gradient_of_mutual_recursion() {
    let text = r#"graph 1
        func @main(%x.0: f64[2] = argument "x", %n.1: int = argument "n") -> (f64[]) {
          %2: f64[2] = call @even(%x.0, %n.1)
          %3: f64[] = aten.sum.default(%2, none)
          return %3
        }
        func @even(%x.0: f64[2], %n.1: int) -> (f64[2]) {
          %2: bool = scalar.le(%n.1, 0)
          %3: f64[2] = if(%2)
            then() {
              yield %x.0
            }
            else() {
              %4: int = scalar.sub(%n.1, 1)
              %5: f64[2] = aten.detach.default(%x.0)
              %6: f64[2] = call @odd(%x.0, %5, %4)
              yield %6
            }
          return %3
        }
        func @odd(%x.0: f64[2], %y.1: f64[2], %n.2: int) -> (f64[2]) {
          %3: f64[2] = aten.sin.default(%x.0)
          %4: f64[2] = call @even(%3, %n.2)
          %5: f64[2] = aten.mul.Tensor(%4, %x.0)
          return %5
        }"#;
    agrees(text, &[row(&[0.3, -0.7]), Value::Int(5)]);
}

/// Each level of a recursion is computed once: the forward function returns the saved values.
#[test]
fn forward_function_saves_values() {
    let graph = differentiated(CHAIN, &[0, 1], &mut NoFormulas).unwrap();
    let names: Vec<&str> = graph.functions.iter().map(|function| &*function.name).collect();
    assert_eq!(names, ["main", "down", "down.forward", "down.backward"], "{}", print(&graph));
    let backward = &graph.functions[3];
    assert_eq!(calls(&backward.body), [3], "{}", print(&graph));
    assert_eq!(calls(&graph.functions[0].body), [2, 3], "{}", print(&graph));
}

fn calls(region: &Region) -> Vec<u32> {
    let inner = region.nodes.iter().flat_map(|node| {
        let own = if let Op::Call(id) = node.op { Some(id.0) } else { None };
        own.into_iter().chain(node.regions.iter().flat_map(calls))
    });
    inner.collect()
}

/// A second derivative recomputes the function, which would draw other random numbers.
#[test]
fn random_functions_have_no_second_derivative() {
    let text = r#"graph 1
        func @main(%x.0: f64[2] = argument "x") -> (f64[]) {
          %1: f64[2] = call @noisy(%x.0)
          %2: f64[] = aten.sum.default(%1, none)
          return %2
        }
        func @noisy(%x.0: f64[2]) -> (f64[2]) {
          %1: f64[2] = aten.rand_like.default(%x.0, none, none, none, none, none)
          %2: f64[2] = aten.mul.Tensor(%x.0, %1)
          return %2
        }"#;
    differentiated(text, &[0], &mut NoFormulas).unwrap();
    let error = squared_gradient(text, &[0], &mut NoFormulas).unwrap_err();
    let message = "no second derivative: @noisy draws random numbers or calls back into Python";
    assert_eq!(error.message, message);
}
