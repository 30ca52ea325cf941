//! Tests of single passes: the graph before and after a pass.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use ag_graph::ir::text::{parse, print};
use ag_graph::ir::verify::verify;
use ag_graph::optimize::{Pass, optimize};

/// Returns the body of a function of `x: f32[2]`, `n: int` and `c: bool` after a pass.
fn body(pass: Pass, body: &str) -> Vec<String> {
    let text = format!(
        r#"graph 1
        func @main(%x.0: f32[2] = argument "x", %n.1: int = argument "n", %c.2: bool = argument "c") -> (f32[2]) {{
        {body}
        }}"#
    );
    let mut graph = parse(&text).unwrap();
    verify(&graph).unwrap();
    optimize(&mut graph, &[pass]);
    verify(&graph).unwrap_or_else(|fault| panic!("{fault}\n{}", print(&graph)));
    let after = print(&graph);
    after.lines().skip(2).map(|line| line.trim().to_owned()).filter(|line| line != "}").collect()
}

#[test]
fn constant_scalars_are_folded() {
    let known = [
        ("scalar.floordiv(-7, 2)", "-4"),
        ("scalar.mod(-7, 2)", "1"),
        ("scalar.pow(2, 10)", "1024"),
        ("scalar.add(%n.1, 0)", "%n.1"),
        ("scalar.mul(9223372036854775807, 2)", "%3"),
        ("scalar.floordiv(1, 0)", "%3"),
        ("scalar.pow(2, -1)", "%3"),
        ("scalar.neg(5)", "-5"),
        ("size(%x.0, -1)", "2"),
    ];
    for (node, wanted) in known {
        let text = format!(
            "%3: int = {node}
             %4: f32[2] = aten.mul.Tensor(%x.0, %3)
             return %4"
        );
        let found = body(Pass::ConstantFolding, &text);
        let product = found.iter().find(|line| line.contains("aten.mul")).unwrap();
        assert!(product.ends_with(&format!("(%x.0, {wanted})")), "{node}: {found:#?}");
    }
}

#[test]
fn constant_branches_and_empty_loops_are_folded() {
    let found = body(
        Pass::ConstantFolding,
        "%3: bool = scalar.lt(1, 2)
         %4: f32[2] = if(%3)
           then() {
             %5: f32[2] = aten.sin.default(%x.0)
             yield %5
           }
           else() {
             yield %x.0
           }
         %6: f32[2] = for(3, 3, 1, %4)
           body(%7: int, %8: f32[2]) {
             %9: f32[2] = aten.cos.default(%8)
             yield %9
           }
         return %6",
    );
    assert_eq!(found, ["%4: f32[2] = aten.sin.default(%x.0)", "return %4"]);
}

#[test]
fn identity_operators_are_removed() {
    let found = body(
        Pass::AlgebraicSimplification,
        "%3: f32[2] = aten.detach.default(%x.0)
         %4: f32[2] = aten.expand.default(%3, [2], false)
         %5: f32[2] = aten.mul.Tensor(%4, 1)
         %6: f32[1,2] = aten.view.default(%5, [1, 2])
         %7: f32[2] = aten.add.Tensor(%5, 0, 1)
         %8: f32[2] = aten.sub.Tensor(%7, %6, 1)
         return %8",
    );
    assert_eq!(
        found,
        [
            "%6: f32[1,2] = aten.view.default(%x.0, [1, 2])",
            "%7: f32[2] = aten.add.Tensor(%x.0, 0, 1)",
            "%8: f32[2] = aten.sub.Tensor(%7, %6, 1)",
            "return %8",
        ]
    );
}

/// Gradients of slices that together cover the tensor become one `cat`; if they leave gaps, they are added. The
/// gradient of a table becomes an `index_add`, unless there are more indices than rows.
#[test]
fn gradients_of_slices_and_rows_are_accumulated() {
    let text = r#"graph 1
        func @main(%a.0: f32[2,3] = argument "a", %b.1: f32[2,1] = argument "b", %t.2: f32[5,4] = argument "t",
                   %g.3: f32[3,4] = argument "g", %i.4: i64[3] = argument "i", %h.5: f32[9,4] = argument "h",
                   %j.6: i64[9] = argument "j") -> (f32[2,4], f32[2,4], f32[5,4]) {
        %7: f32[2,4] = aten.slice_backward.default(%a.0, [2, 4], 1, 1, 9223372036854775807, 1)
        %8: f32[2,4] = aten.slice_backward.default(%b.1, [2, 4], -1, 0, -3, 1)
        %9: f32[2,4] = aten.slice_backward.default(%b.1, [2, 4], 1, 1, 2, 1)
        %10: f32[2,4] = aten.add.Tensor(%7, %8, 1)
        %11: f32[2,4] = aten.add.Tensor(%8, %9, 1)
        %12: f32[5,4] = aten.embedding_dense_backward.default(%g.3, %i.4, 5, -1, false)
        %13: f32[5,4] = aten.embedding_dense_backward.default(%h.5, %j.6, 5, -1, false)
        %14: f32[5,4] = aten.add.Tensor(%12, %t.2, 1)
        %15: f32[5,4] = aten.add.Tensor(%14, %13, 1)
        return %10, %11, %15
        }"#;
    let mut graph = parse(text).unwrap();
    verify(&graph).unwrap();
    optimize(&mut graph, &[Pass::GradientAccumulation]);
    verify(&graph).unwrap();
    let after = print(&graph);
    for line in [
        "%10: f32[2,4] = aten.cat.default([%b.1, %a.0], 1)",
        "%11: f32[2,4] = aten.add.Tensor(%8, %9, 1)",
        "%14: f32[5,4] = aten.index_add.default(%t.2, 0, %i.4, %g.3, 1)",
        "%15: f32[5,4] = aten.add.Tensor(%14, %13, 1)",
    ] {
        assert!(after.contains(line), "{line}\n{after}");
    }
}

/// A branch can reuse nodes before it, but nodes after it cannot reuse nodes of the branch. Random numbers
/// are never merged.
#[test]
fn common_subexpressions_are_merged() {
    let found = body(
        Pass::CommonSubexpressionElimination,
        "%3: f32[2] = aten.sin.default(%x.0)
         %4: f32[2] = aten.rand_like.default(%x.0, none, none, none, none, none)
         %5: f32[2] = aten.rand_like.default(%x.0, none, none, none, none, none)
         %6: f32[2] = if(%c.2)
           then() {
             %7: f32[2] = aten.sin.default(%x.0)
             %8: f32[2] = aten.cos.default(%7)
             yield %8
           }
           else() {
             yield %5
           }
         %9: f32[2] = aten.cos.default(%3)
         %10: f32[2] = aten.cos.default(%3)
         %11: f32[2] = aten.mul.Tensor(%9, %10)
         %12: f32[2] = aten.mul.Tensor(%11, %6)
         return %12",
    );
    let sines = found.iter().filter(|line| line.contains("aten.sin")).count();
    let cosines = found.iter().filter(|line| line.contains("aten.cos")).count();
    let random = found.iter().filter(|line| line.contains("aten.rand_like")).count();
    assert_eq!((sines, cosines, random), (1, 2, 2), "{found:#?}");
}

/// Nodes that may raise stay in the loop, which may run zero iterations.
#[test]
fn loop_invariant_nodes_are_hoisted() {
    let found = body(
        Pass::LoopInvariantCodeMotion,
        "%3: f32[2] = for(0, %n.1, 1, %x.0)
           body(%4: int, %5: f32[2]) {
             %6: f32[2] = for(0, %n.1, 1, %5)
               body(%7: int, %8: f32[2]) {
                 %9: f32[2] = aten.sin.default(%x.0)
                 %10: f32[2] = aten.cos.default(%5)
                 %11: int = scalar.floordiv(1, %n.1)
                 %12: f32[2] = aten.mul.Tensor(%9, %10)
                 %13: f32[2] = aten.mul.Tensor(%12, %11)
                 %14: f32[2] = aten.mul.Tensor(%13, %7)
                 yield %14
               }
             yield %6
           }
         return %3",
    );
    let starts: Vec<&str> = found.iter().map(|line| line.split(" = ").last().unwrap_or(line)).collect();
    assert_eq!(starts[0], "aten.sin.default(%x.0)");
    assert_eq!(starts[1], "for(0, %n.1, 1, %x.0)");
    assert!(starts[3].starts_with("aten.cos.default"), "{starts:#?}");
    assert!(starts[4].starts_with("aten.mul.Tensor"), "{starts:#?}");
    assert_eq!(starts[5], "for(0, %n.1, 1, %4)");
    assert_eq!(starts[7], "scalar.floordiv(1, %n.1)");
}

/// Nodes with effects, and nodes that may raise, are kept.
#[test]
fn dead_code_is_removed() {
    let found = body(
        Pass::DeadCodeElimination,
        "%3: f32[2] = aten.sin.default(%x.0)
         %4: list[f32[2]] = list.new()
         %5: f32[2], %6: list[f32[2]], %7: int = for(0, %n.1, 1, %x.0, %4, 0)
           body(%8: int, %9: f32[2], %10: list[f32[2]], %11: int) {
             %12: f32[2], %13: f32[2] = if(%c.2)
               then() {
                 %14: f32[2] = aten.cos.default(%9)
                 yield %14, %9
               }
               else() {
                 yield %9, %9
               }
             %15: list[f32[2]] = list.append(%10, %13)
             %16: int = scalar.add(%11, 1)
             yield %12, %15, %16
           }
         print(\"here\")
         %17: int = scalar.floordiv(1, %n.1)
         %18: int = scalar.floordiv(1, 2)
         return %5",
    );
    assert_eq!(
        found,
        [
            "%14: f32[2] = for(0, %n.1, 1, %x.0)",
            "body(%5: int, %6: f32[2]) {",
            "%10: f32[2] = if(%c.2)",
            "then() {",
            "%9: f32[2] = aten.cos.default(%6)",
            "yield %9",
            "else() {",
            "yield %6",
            "yield %10",
            "print(\"here\")",
            "%17: int = scalar.floordiv(1, %n.1)",
            "return %14",
        ]
    );
}

/// A returned tensor is distinct from every other returned tensor and from every argument: the caller may
/// modify it in place.
#[test]
fn returned_tensors_stay_distinct() {
    let lines = "%3: f32[2] = aten.detach.default(%x.0)
         %4: list[f32[2]] = list.new()
         %5: list[f32[2]] = for(0, %n.1, 1, %4)
           body(%6: int, %7: list[f32[2]]) {
             %8: f32[2] = aten.sin.default(%x.0)
             %9: list[f32[2]] = list.append(%7, %8)
             yield %9
           }
         %10: f32[2] = aten.sin.default(%x.0)
         %11: f32[2] = aten.sin.default(%x.0)
         %12: f32[1,2] = aten.unsqueeze.default(%10, 0)
         %13: tuple[f32[2], list[f32[2]], f32[2], f32[1,2]] = tuple.new(%3, %5, %11, %12)
         return %13";
    let text = format!(
        "graph 1\nfunc @main(%x.0: f32[2] = argument \"x\", %n.1: int = argument \"n\") \
         -> (tuple[f32[2], list[f32[2]], f32[2], f32[1,2]]) {{\n{lines}\n}}"
    );
    let mut graph = parse(&text).unwrap();
    let before = print(&graph);
    optimize(
        &mut graph,
        &[Pass::AlgebraicSimplification, Pass::CommonSubexpressionElimination, Pass::LoopInvariantCodeMotion],
    );
    assert_eq!(print(&graph), before);
}

#[test]
fn collectives_start_as_soon_as_their_operands_are_known() {
    let found = body(
        Pass::EarlyCollectives,
        "%3: f32[2] = aten.sin.default(%x.0)
         %4: f32[2] = aten.cos.default(%x.0)
         %5: f32[2] = aten.exp.default(%4)
         %6: f32[2] = start 0(%4)
         %7: f32[2] = start 1(%3)
         %8: f32[2] = aten.add.Tensor(%5, 1)
         return %8",
    );
    let order: Vec<&str> = found.iter().map(|line| &line[..2]).collect();
    assert_eq!(order, ["%4", "%6", "%3", "%7", "%5", "%8", "re"], "{found:#?}");
}

#[test]
fn collectives_stay_behind_effects_and_exceptions() {
    for node in ["print(%x.0)", "assert(%c.2)", "python 1(%x.0)", "%9: int = scalar.mod(1, %n.1)"] {
        let operation = node.rsplit(" = ").next().unwrap();
        let text = format!(
            "%3: f32[2] = aten.sin.default(%x.0)
             {node}
             %4: f32[2] = aten.cos.default(%x.0)
             %5: f32[2] = start 0(%x.0)
             return %4"
        );
        let found = body(Pass::EarlyCollectives, &text);
        let place = |text: &str| found.iter().position(|line| line.contains(text)).unwrap();
        assert!(place("sin") < place(operation) && place(operation) < place("start"), "{found:#?}");
        assert!(place("start") < place("cos"), "{found:#?}");
    }
}

#[test]
fn collectives_in_loops_start_early() {
    let found = body(
        Pass::EarlyCollectives,
        "%3: f32[2] = for(0, %n.1, 1, %x.0)
           body(%4: int, %5: f32[2]) {
             %6: f32[2] = aten.sin.default(%5)
             %7: f32[2] = start 0(%5)
             yield %6
           }
         return %3",
    );
    let place = |text: &str| found.iter().position(|line| line.contains(text)).unwrap();
    assert!(place("start") < place("sin"), "{found:#?}");
}

/// The gradient of `x[i]` in a loop is added to a part of the sum.
#[test]
fn the_gradient_of_a_part_is_added_to_the_part() {
    let text = r#"graph 1
        func @main(%t.0: f32[5,4] = argument "t", %a.1: f32[4] = argument "a", %b.2: f32[5,2] = argument "b",
                   %i.3: int = argument "i") -> (f32[5,4], f32[5,4]) {
        %4: f32[5,4] = aten.select_backward.default(%a.1, [5, 4], 0, %i.3)
        %5: f32[5,4] = aten.add.Tensor(%t.0, %4, 1)
        %6: f32[5,4] = aten.slice_backward.default(%b.2, [5, 4], 1, 1, 3, 1)
        %7: f32[5,4] = aten.add.Tensor(%6, %5, 1)
        return %5, %7
        }"#;
    let mut graph = parse(text).unwrap();
    verify(&graph).unwrap();
    optimize(&mut graph, &[Pass::GradientAccumulation, Pass::DeadCodeElimination]);
    verify(&graph).unwrap();
    let after = print(&graph);
    for line in [
        "%8: f32[4] = aten.select.int(%t.0, 0, %i.3)",
        "%9: f32[4] = aten.add.Tensor(%8, %a.1, 1)",
        "%10: f32[5,4] = aten.select_scatter.default(%t.0, %9, 0, %i.3)",
        "%11: f32[5,2] = aten.slice.Tensor(%10, 1, 1, 3, 1)",
        "%12: f32[5,2] = aten.add.Tensor(%11, %b.2, 1)",
        "%13: f32[5,4] = aten.slice_scatter.default(%10, %12, 1, 1, 3, 1)",
        "return %10, %13",
    ] {
        assert!(after.contains(line), "{line}\n{after}");
    }
    assert!(!after.contains("_backward"), "{after}");
}
