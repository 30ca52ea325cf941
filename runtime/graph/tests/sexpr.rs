//! S-expressions: printed graphs are read back, and invalid ones are rejected with their line.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use ag_graph::emit::sexpr::{read, sexpr};
use ag_graph::ir::text::{parse, print};
use ag_graph::ir::verify::verify;

/// A graph with every kind of region, operand and outcome.
const GRAPH: &str = r#"graph 1
file 0 "rnn.py"
func @main(%x.0: f32[8,?] = argument "x[\"a\"]", %w.1: f32[4] = capture 0) -> (list[f32[4]], f32[4]) {
  %2: list[f32[4]] = list.new()
  %3: list[f32[4]] = for(0, 8, 1, %2) at 0:7:4-12:30
    body(%i.4: int, %5: list[f32[4]]) {
      %6: f32[4] = aten.select.int(%x.0, 0, %i.4)
      %7: bool = scalar.gt(%i.4, 2)
      %8: f32[4] = if(%7)
        then() {
          %9: f32[4] = aten.tanh.default(%6)
          yield %9
        }
        else() {
          print("early; (", %i.4, true, none)
          yield %6
        }
      %10: list[f32[4]] = list.append(%5, %8)
      yield %10
    }
    test(%11: list[f32[4]]) {
      %12: int = list.len(%11)
      %13: bool = scalar.lt(%12, 100)
      yield %13
    }
  %14: f32[4] = aten.mul.Scalar(%w.1, 0.5) nograd
  %15: int = call @down(3)
  return %3, write 1 %14
}
func @down(%n.0: int) -> (int) {
  %1: int = while(%n.0)
    cond(%2: int) {
      %3: bool = scalar.gt(%2, 0)
      yield %3
    }
    body(%4: int) {
      %5: int = scalar.sub(%4, 1)
      yield %5
    }
  %6: tuple[int, float, f32[*], bool[2]@cuda:1] = tuple.new(%1, -1.5e-5, none, none)
  %7: f64[s0,?] = aten.full.default([2, %1], inf, dtype:f64, layout:strided, device:cuda:1, none)
  raise "ValueError"("n is \"bad\"", [true, nan, -3])
  return %1
}
"#;

#[test]
fn a_graph_is_read_back() {
    let graph = parse(GRAPH).unwrap();
    verify(&graph).unwrap();
    let written = sexpr(&graph);
    let again = read(&written).unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!(print(&parse(&print(&again)).unwrap()), print(&parse(&print(&graph)).unwrap()));
    assert_eq!(sexpr(&read(&sexpr(&again)).unwrap()), sexpr(&again));
}

/// The example of the Snek paper (figure 6, see `runtime/README.md`): `x * (x * 1)`.
#[test]
fn the_form_of_a_graph() {
    let power = r#"graph 1
func @run(%x.0: int = argument "x") -> (int) {
  %1: int = scalar.mul(%x.0, 1)
  %2: int = scalar.mul(%x.0, %1)
  %3: int = if(%2)
    then() {
      yield %2
    }
    else() {
      yield 0
    }
  return %3
}
"#;
    let wanted = r#"(graph 1
  (def run ((x.0 int (argument "x"))) (int)
    (let* ((((x1 int)) (scalar.mul x.0 1))
           (((x2 int)) (scalar.mul x.0 x1))
           (((x3 int)) (if x2
             (lambda ()
               (let* ()
                 (values x2)))
             (lambda ()
               (let* ()
                 (values 0))))))
      (values x3))))
"#;
    assert_eq!(sexpr(&parse(power).unwrap()), wanted);
}

#[test]
fn invalid_texts_are_rejected_with_their_line() {
    let valid = sexpr(&parse(GRAPH).unwrap());
    let refused = [
        ("(graph 1", "(graph 2", "line 1: unsupported format version"),
        ("(call down", "(call up", "unknown function"),
        ("aten.tanh.default", "aten.tanh", "unknown operation `aten.tanh`"),
        ("(capture 0)", "", "expected a name, a type"),
        ("(write 1 ", "(write one ", "expected an index"),
        ("f32[8,?]", "f32[8", "found the end"),
        ("(tuple.new x5", "(tuple.new x99", "unknown operand `x99`"),
        ("((((x2 bool)) ", "((((x1 bool)) ", "`x1` is defined twice"),
        ("\"rnn.py\")", "\"rnn.py)", "a string does not end on its line"),
    ];
    for (text, instead, message) in refused {
        assert!(valid.contains(text), "{text} is not in\n{valid}");
        let error = read(&valid.replacen(text, instead, 1)).expect_err(instead).to_string();
        assert!(error.contains(message), "{instead}: {error}");
    }
    assert!(read("(graph 1").unwrap_err().message.contains("not closed"));
    assert!(read(")").unwrap_err().message.contains("unexpected `)`"));
    assert!(read("").unwrap_err().message.contains("found 0"));
    assert!(read(&"(".repeat(100_000)).unwrap_err().message.contains("nested deeper"));
}

/// Damaged texts are read or rejected. A graph that was read and is valid is printed, and read back.
#[test]
fn damaged_texts_are_read_or_rejected() {
    let (seed, valid) = (7, sexpr(&parse(GRAPH).unwrap()));
    let mut random = fastrand::Rng::with_seed(seed);
    let mut found = 0;
    for round in 0..4000 {
        let mut text: Vec<char> = valid.chars().collect();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(0..text.len());
            match random.u8(0..3) {
                0 => text[at] = *random.choice(&['(', ')', '0', '.', '"', 'x', '-', ';', '\u{e9}']).unwrap(),
                1 => drop(text.drain(at..(at + random.usize(1..30)).min(text.len()))),
                _ => text.insert(at, text[random.usize(0..text.len())]),
            }
        }
        let Ok(graph) = read(&text.into_iter().collect::<String>()) else { continue };
        if verify(&graph).is_ok() {
            found += 1;
            let again =
                read(&sexpr(&graph)).unwrap_or_else(|error| panic!("seed {seed}, round {round}: {error}"));
            assert_eq!(sexpr(&read(&sexpr(&again)).unwrap()), sexpr(&again), "seed {seed}, round {round}");
        }
    }
    assert!(found > 100, "{found} of the damaged texts are graphs");
}
