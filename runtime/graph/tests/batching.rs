//! Tests of loop batching: the nodes that replace a loop.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use ag_graph::batching::batch;
use ag_graph::ir::text::{parse, print};
use ag_graph::ir::verify::verify;
use ag_graph::ir::{Graph, Op};

/// Returns the body of a function of `x: f32[20,3]` and `w: f32[3,3]` after its loop has been batched. `None` if it cannot
/// be batched.
fn batched(body: &str) -> Option<Vec<String>> {
    let text = format!(
        r#"graph 1
        func @main(%x.0: f32[20,3] = argument "x", %w.1: f32[3,3] = argument "w") -> (f32[3]) {{
        {body}
        }}"#
    );
    let mut graph = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&graph).unwrap();
    replace_loop(&mut graph)?;
    verify(&graph).unwrap_or_else(|fault| panic!("{fault}\n{}", print(&graph)));
    let after = print(&graph);
    Some(after.lines().skip(2).map(|line| line.trim().to_owned()).filter(|line| line != "}").collect())
}

fn replace_loop(graph: &mut Graph) -> Option<()> {
    let function = &mut graph.functions[0];
    let at = function.body.nodes.iter().position(|node| node.op == Op::For)?;
    let node = function.body.nodes.remove(at);
    let loop_ = batch(&mut function.values, &node, &|_| false)?;
    function.body.nodes.splice(at..at, loop_.nodes);
    function.body.used_mut(&mut |value| {
        if let Some(place) = node.outputs.iter().position(|output| output == value) {
            *value = loop_.outputs[place];
        }
    });
    Some(())
}

#[test]
fn sums_over_independent_iterations() {
    let nodes = batched(
        "%2: f32[3] = aten.select.int(%x.0, 0, 0)
         %8: f32[3] = for(0, 20, 1, %2)
           body(%3: int, %4: f32[3]) {
             %5: f32[3] = aten.select.int(%x.0, 0, %3)
             %6: f32[3] = aten.tanh.default(%5)
             %7: f32[3] = aten.add.Tensor(%4, %6, 1)
             yield %7
           }
         return %8",
    );
    let expected = [
        "%2: f32[3] = aten.select.int(%x.0, 0, 0)",
        "%9: f32[20,3] = aten.slice.Tensor(%x.0, 0, 0, 20, 1)",
        "%10: f32[20,3] = aten.tanh.default(%9)",
        "%11: f32[3] = aten.sum.dim_IntList(%10, [0], false, none)",
        "%12: f32[3] = aten.add.Tensor(%2, %11, 1)",
        "return %12",
    ];
    assert_eq!(nodes.unwrap(), expected);
}

#[test]
fn products_with_one_factor_for_all_iterations_share_it() {
    let nodes = batched(
        "%2: f32[3] = aten.select.int(%x.0, 0, 0)
         %9: f32[3] = for(0, 20, 1, %2)
           body(%3: int, %4: f32[3]) {
             %5: f32[3] = aten.select.int(%x.0, 0, %3)
             %6: f32[1,3] = aten.unsqueeze.default(%5, 0)
             %7: f32[1,3] = aten.mm.default(%6, %w.1)
             %8: f32[3] = aten.squeeze.dim(%7, 0)
             yield %8
           }
         return %9",
    );
    let nodes = nodes.unwrap();
    let found: Vec<&str> = nodes.iter().filter_map(|line| line.split(" = ").nth(1)).collect();
    let expected = [
        "aten.select.int(%x.0, 0, 0)",
        "aten.slice.Tensor(%x.0, 0, 0, 20, 1)",
        "aten.unsqueeze.default(%10, 1)",
        "aten.reshape.default(%11, [20, 3])",
        "aten.mm.default(%12, %w.1)",
        "aten.view.default(%13, [20, 1, 3])",
        "aten.squeeze.dim(%14, 1)",
        "aten.select.int(%15, 0, 19)",
    ];
    assert_eq!(found, expected);
}

#[test]
fn nested_loops_carry_the_values_of_all_iterations() {
    let nodes = batched(
        "%2: f32[3] = aten.select.int(%x.0, 0, 0)
         %9: f32[3] = for(0, 20, 1, %2)
           body(%3: int, %4: f32[3]) {
             %8: f32[3] = for(0, 7, 1, %2)
               body(%5: int, %6: f32[3]) {
                 %10: f32[3] = aten.select.int(%x.0, 0, %3)
                 %7: f32[3] = aten.mul.Tensor(%6, %10)
                 yield %7
               }
             yield %8
           }
         return %9",
    );
    let nodes = nodes.unwrap();
    assert!(nodes.iter().any(|line| line.contains("aten.expand.default(%2, [20, 3], false)")), "{nodes:#?}");
    assert!(nodes.iter().any(|line| line.contains(": f32[20,3] = for(0, 7, 1, ")), "{nodes:#?}");
}

#[test]
fn loops_that_depend_on_earlier_iterations_are_not_batched() {
    let bodies = [
        // The previous result is used.
        "%5: f32[3] = aten.select.int(%x.0, 0, %3)
         %6: f32[3] = aten.mul.Tensor(%4, %5)
         yield %6",
        // The sum so far is used a second time.
        "%5: f32[3] = aten.select.int(%x.0, 0, %3)
         %6: f32[3] = aten.add.Tensor(%4, %5, 1)
         %7: f32[3] = aten.tanh.default(%6)
         yield %7",
        // An effect
        "%5: f32[3] = aten.select.int(%x.0, 0, %3)
         print(%5)
         yield %5",
        // An index beyond the slice
        "%5: int = scalar.add(%3, 1)
         %6: f32[3] = aten.select.int(%x.0, 0, %5)
         yield %6",
        // A condition on a tensor
        "%5: f32[3] = aten.select.int(%x.0, 0, %3)
         %6: f32[] = aten.sum.default(%5, none)
         %7: float = item(%6)
         %8: f32[3] = aten.mul.Tensor(%5, %7)
         yield %8",
        // Nothing depends on the iteration.
        "yield %2",
    ];
    for body in bodies {
        let text = format!(
            "%2: f32[3] = aten.select.int(%x.0, 0, 0)
             %9: f32[3] = for(0, 20, 1, %2)
               body(%3: int, %4: f32[3]) {{
                 {body}
               }}
             return %9"
        );
        assert_eq!(batched(&text), None, "{body}");
    }
}

#[test]
fn a_loop_that_is_not_batched_leaves_no_values() {
    let text = r#"graph 1
        func @main(%x.0: f32[20,3] = argument "x") -> () {
          for(0, 20, 1)
            body(%3: int) {
              %4: f32[3] = aten.select.int(%x.0, 0, %3)
              print(%4)
              yield
            }
          return
        }"#;
    let mut graph = parse(text).unwrap();
    let function = &mut graph.functions[0];
    let count = function.values.len();
    let node = function.body.nodes[0].clone();
    assert!(batch(&mut function.values, &node, &|_| false).is_none());
    assert_eq!(function.values.len(), count);
}
