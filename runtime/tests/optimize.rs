//! Each pass alone, before and after.

use ag_runtime::exec::{Alone, Plan};
use ag_runtime::ir::text::{parse, print};
use ag_runtime::ir::verify::verify;
use ag_runtime::optimize::{Pass, optimize};

/// The body of a function of `x: f32[2]`, `n: int` and `c: bool` after a pass.
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
fn registers_that_are_known_are_computed() {
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
        let found = body(Pass::Constants, &text);
        let product = found.iter().find(|line| line.contains("aten.mul")).unwrap();
        assert!(product.ends_with(&format!("(%x.0, {wanted})")), "{node}: {found:#?}");
    }
}

#[test]
fn branches_and_loops_that_are_known_are_opened() {
    let found = body(
        Pass::Constants,
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
fn what_changes_nothing_goes() {
    let found = body(
        Pass::Identities,
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

/// A branch sees what was computed before it, and nothing after it sees what is in the branch. Random numbers are
/// never the same.
#[test]
fn what_is_computed_twice_is_computed_once() {
    let found = body(
        Pass::Common,
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

/// What may raise stays in the loop, which may have no rounds.
#[test]
fn what_is_the_same_in_every_round_leaves_the_loop() {
    let found = body(
        Pass::Invariants,
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

/// Effects stay, and what may raise.
#[test]
fn what_nobody_uses_goes() {
    let found = body(
        Pass::Dead,
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

/// A layer with few columns, forward and what its weights' gradient is: one product is turned round, a small one not.
#[test]
fn skinny_products_are_turned_round() {
    let text = r#"graph 1
        func @main(%x.0: f32[200,784] = argument "x", %w.1: f32[784,10] = capture 0, %b.2: f32[10] = capture 1, %s.3: f32[20,10] = argument "s") -> (f32[200,10], f32[20,10]) {
          %4: f32[200,10] = aten.addmm.default(%b.2, %x.0, %w.1, 1, 1)
          %5: f32[10,10] = aten.zeros.default([10, 10], dtype:f32, none, none, none)
          %6: f32[20,10] = aten.mm.default(%s.3, %5)
          return %4, %6
        }"#;
    let mut graph = parse(text).unwrap();
    optimize(&mut graph, &[Pass::Products]);
    verify(&graph).unwrap();
    let after = print(&graph);
    let calls: Vec<&str> =
        after.lines().filter_map(|line| line.split_once(" = aten.").map(|(_, call)| call)).collect();
    assert_eq!(
        calls,
        [
            "t.default(%w.1)",
            "t.default(%x.0)",
            "unsqueeze.default(%b.2, 1)",
            "addmm.default(%9, %7, %8, 1, 1)",
            "t.default(%10)",
            "clone.default(%11, memory:contiguous_format)",
            "zeros.default([10, 10], dtype:f32, none, none, none)",
            "mm.default(%s.3, %5)",
        ]
    );
}

#[test]
fn a_product_that_is_turned_round_is_the_same() {
    let text = r#"graph 1
        func @main(%x.0: f32[100,128] = argument "x", %w.1: f32[128,7] = argument "w", %b.2: f32[7] = argument "b") -> (f32[100,7]) {
          %3: f32[100,7] = aten.addmm.default(%b.2, %x.0, %w.1, 0.5, 2)
          return %3
        }"#;
    let plain = parse(text).unwrap();
    let mut turned = plain.clone();
    optimize(&mut turned, &[Pass::Products]);
    assert_ne!(print(&plain), print(&turned));
    let draw = |sizes: &[i64]| {
        let mut random = fastrand::Rng::with_seed(3);
        let numbers: Vec<f32> = (0..sizes.iter().product()).map(|_: i64| random.f32() - 0.5).collect();
        tch::Tensor::from_slice(&numbers).reshape(sizes)
    };
    let arguments = [draw(&[100, 128]), draw(&[128, 7]), draw(&[7])];
    let results = [plain, turned].map(|graph| {
        let arguments = arguments.iter().map(|tensor| tensor.shallow_clone().into()).collect();
        let results = Plan::compile(&graph).unwrap().run(arguments, &mut Alone::default()).unwrap();
        results[0].tensor().unwrap().copy()
    });
    assert!(results[1].is_contiguous());
    assert!(results[0].allclose(&results[1], 1e-5, 1e-5, false));
}

/// A tensor that is returned is another than every other one that is, and than every argument: it may be changed in
/// place outside.
#[test]
fn what_is_returned_stays_apart() {
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
    optimize(&mut graph, &[Pass::Identities, Pass::Common, Pass::Invariants]);
    assert_eq!(print(&graph), before);
}
