//! The text format: printed graphs parse back, and invalid graphs are rejected.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use ag_graph::ir::text::{parse, print};
use ag_graph::ir::verify::verify;

/// The dynamic RNN of the AutoGraph paper, §9, with a list, a scalar and every kind of region.
const RNN: &str = r#"graph 1
file 0 "rnn.py"
func @main(%inputs.0: f32[8,4,50] = argument "0", %state.1: f32[4,256] = argument "1", %lengths.2: i64[4] = argument "2", %w.3: f32[306,256] = capture 0) -> (f32[?,4,256], f32[4,256], f32[306,256]) {
  %4: i64[] = aten.max.default(%lengths.2) at 0:7:19-7:32
  %5: int = item(%4)
  %6: list[f32[4,256]] = list.new()
  %21: f32[4,256], %22: list[f32[4,256]] = for(0, %5, 1, %state.1, %6) at 0:7:4-12:30
    body(%i.7: int, %state.8: f32[4,256], %9: list[f32[4,256]]) {
      %10: f32[4,50] = aten.select.int(%inputs.0, 0, %i.7)
      %11: f32[4,306] = aten.cat.default([%10, %state.8], 1)
      %12: f32[4,256] = aten.mm.default(%11, %w.3)
      %13: bool = scalar.gt(%i.7, 2)
      %15: f32[4,256] = if(%13)
        then() {
          %14: f32[4,256] = aten.tanh.default(%12)
          yield %14
        }
        else() {
          print("early", %i.7)
          yield %12
        }
      %16: list[f32[4,256]] = list.append(%9, %15)
      yield %15, %16
    }
    test(%17: f32[4,256], %18: list[f32[4,256]]) {
      %19: int = list.len(%18)
      %20: bool = scalar.lt(%19, 100)
      yield %20
    }
  %23: f32[?,4,256] = aten.stack.default(%22, 0) nograd
  %24: f32[306,256] = aten.mul.Scalar(%w.3, 0.5)
  %25: int = call @down(3)
  return %23, %21, write 3 %24
}
func @down(%n.0: int) -> (int) {
  %5: int = while(%n.0)
    cond(%1: int) {
      %2: bool = scalar.gt(%1, 0)
      yield %2
    }
    body(%3: int) {
      %4: int = scalar.sub(%3, 1)
      yield %4
    }
  %6: tuple[int, float, f32[*], bool[2]@cuda:1] = tuple.new(%5, -1.5e-5, none, none)
  %7: f64[s0,?] = aten.full.default([2, %5], inf, dtype:f64, layout:strided, device:cuda:1, none)
  raise "ValueError"("n is \"bad\"", [true, nan, -3])
  return %5
}
"#;

#[test]
fn printed_graph_parses_back() {
    let graph = parse(RNN).unwrap();
    let text = print(&graph);
    same_lines(&text, RNN);
    verify(&graph).unwrap();
}

fn same_lines(found: &str, wanted: &str) {
    for (found, wanted) in found.lines().zip(wanted.lines()) {
        assert_eq!(found, wanted);
    }
    assert_eq!(found.lines().count(), wanted.lines().count());
}

/// Each row replaces one text of the graph, which makes the graph invalid.
#[test]
fn invalid_graphs_are_rejected() {
    let refused = [
        ("graph 1", "graph 2", "line 1: unsupported format version 2; expected 1"),
        ("yield %15, %16", "yield %15", "yielded value: expected 2, found 1"),
        ("yield %14", "yield %21", "used before it is defined"),
        ("scalar.gt(%i.7, 2)", "scalar.gt(%i.7)", "operands: expected 2, found 1"),
        ("aten.tanh.default(%12)", "aten.tanh(%12)", "unknown operation `aten.tanh`"),
        (
            "%20: bool = scalar.lt(%19, 100)\n      yield %20",
            "yield %19",
            "condition: expected bool, found int",
        ),
        ("call @down(3)", "call @up(3)", "unknown function @up"),
        ("call @down(3)", "call @down(3.5)", "argument: expected int, found float"),
        ("write 3 %24", "write 9 %24", "write to parameter 9"),
        ("= capture 0", "", "expected `=`"),
        ("item(%4)", "item(%21)", "used before it is defined"),
        ("%5: int = item(%4)", "%5: float = item(%4)", "argument: expected int, found float"),
        (
            "for(0, %5, 1, %state.1, %6)",
            "for(0, %5, 1, %lengths.2, %6)",
            "carried value: expected f32[4,256], found i64[4]",
        ),
    ];
    for (line, instead, message) in refused {
        assert!(RNN.contains(line), "{line}");
        let text = RNN.replacen(line, instead, 1);
        let found = match parse(&text) {
            Err(error) => error.to_string(),
            Ok(graph) => verify(&graph).expect_err(instead).to_string(),
        };
        assert!(found.contains(message), "{instead}: {found}");
    }
}

/// Damaged texts are parsed or rejected. A graph that was parsed prints, and parses back.
#[test]
fn damaged_texts_parse_or_are_rejected() {
    let seed = 20;
    let mut random = fastrand::Rng::with_seed(seed);
    let mut read = 0;
    for round in 0..4000 {
        let mut text: Vec<char> = RNN.chars().collect();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(0..text.len());
            match random.u8(0..3) {
                0 => {
                    text[at] =
                        *random.choice(&['%', '0', '(', '}', ',', '"', '[', 'x', '-', ':', '\u{e9}']).unwrap()
                }
                1 => drop(text.drain(at..(at + random.usize(1..30)).min(text.len()))),
                _ => text.insert(at, text[random.usize(0..text.len())]),
            }
        }
        let text: String = text.into_iter().collect();
        let Ok(graph) = parse(&text) else { continue };
        if verify(&graph).is_ok() {
            read += 1;
            let again = parse(&print(&graph))
                .unwrap_or_else(|error| panic!("seed {seed}, round {round}: {error}\n{text}"));
            assert_eq!(print(&parse(&print(&again)).unwrap()), print(&again), "seed {seed}, round {round}");
        }
    }
    assert!(read > 100, "{read} of the damaged texts are graphs");
}

#[test]
fn depth_is_bounded() {
    let deep = format!("graph 1\nfunc @main() -> () {{\n print({}", "[".repeat(100_000));
    assert!(parse(&deep).unwrap_err().message.contains("nested deeper"));
}
