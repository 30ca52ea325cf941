//! The text of gradients, and the errors for operations without a derivative.

use ag_graph::autodiff::{Formulas, Functions, gradient};
use ag_graph::ir::build::{Builder, NodeAttrs};
use ag_graph::ir::text::{parse, print};
use ag_graph::ir::verify::verify;
use ag_graph::ir::{Function, Operand, Operator, Region, Type, Value};

use crate::helpers::{NoFormulas, differentiated};

/// A formula for every operator with one operand and one result: the gradient times the operand.
struct TimesOperand;

impl Formulas for TimesOperand {
    fn formula(&mut self, _: &Operator, _: &[Operand], _: &[Type], _: &[Type]) -> Result<Function, String> {
        let text = r#"graph 1
            func @formula(%x.0: f32[2] = argument "x", %g.1: f32[2] = argument "g") -> (f32[2]) {
              %2: f32[2] = aten.mul.Tensor(%g.1, %x.0)
              return %2
            }"#;
        Ok(parse(text).map_err(|error| error.to_string())?.functions.remove(0))
    }
}

fn same_lines(found: &str, wanted: &str) {
    let lines = |text: &str| text.lines().map(|line| line.trim_start().to_owned()).collect::<Vec<_>>();
    assert_eq!(lines(found), lines(wanted), "\n{found}");
}

/// `x ** 3`: the factors of each iteration are saved on a stack.
#[test]
fn gradient_of_a_loop() {
    let graph = differentiated(
        r#"graph 1
        func @main(%x.0: f32[] = argument "x") -> (f32[]) {
          %1: f32[] = for(0, 3, 1, %x.0)
            body(%2: int, %3: f32[]) {
              %4: f32[] = aten.mul.Tensor(%3, %x.0)
              yield %4
            }
          return %1
        }"#,
        &[0],
        &mut NoFormulas,
    )
    .unwrap();
    same_lines(&print(&graph), include_str!("loop.txt"));
}

/// The backward pass takes the same branch; the other branch contributes nothing.
#[test]
fn gradient_of_a_branch() {
    let graph = differentiated(
        r#"graph 1
        func @main(%x.0: f32[] = argument "x", %c.1: bool = argument "c") -> (f32[]) {
          %2: f32[] = if(%c.1)
            then() {
              %3: f32[] = aten.sin.default(%x.0)
              %4: f32[] = aten.exp.default(%3)
              %5: f32[] = aten.sin.default(%4)
              yield %5
            }
            else() {
              %6: f32[] = aten.mul.Tensor(%x.0, 2)
              yield %6
            }
          return %2
        }"#,
        &[0],
        &mut NoFormulas,
    )
    .unwrap();
    same_lines(&print(&graph), include_str!("branch.txt"));
}

#[test]
fn operator_without_a_rule_uses_the_formula() {
    let graph = differentiated(
        r#"graph 1
        func @main(%x.0: f32[2] = argument "x") -> (f32[]) {
          %1: f32[2] = aten.i0.default(%x.0)
          %2: f32[] = aten.sum.default(%1, none)
          return %2
        }"#,
        &[0],
        &mut TimesOperand,
    )
    .unwrap();
    same_lines(&print(&graph), include_str!("formula.txt"));
}

/// `no_grad`, `detach`, integers and scalars stop a gradient.
#[test]
fn gradient_stops_at_non_differentiable_nodes() {
    let ends = [
        "%1: f32[2] = aten.exp.default(%x.0) nograd",
        "%1: f32[2] = aten.detach.default(%x.0)",
        "%1: i64[2] = aten._to_copy.default(%x.0, dtype:i64, none, none, none, false, none)",
        "%1: f32[2] = aten.zeros_like.default(%x.0, none, none, none, none, none)",
    ];
    for end in ends {
        let text = format!(
            r#"graph 1
            func @main(%x.0: f32[2] = argument "x", %w.2: f32[2] = argument "w") -> (f32[]) {{
              {end}
              %3: f32[2] = aten.mul.Tensor(%1, %w.2)
              %4: f32[] = aten.sum.default(%3, none)
              return %4
            }}"#
        );
        let graph = differentiated(&text, &[0, 1], &mut NoFormulas).unwrap();
        let results = &graph.functions[0].body.results;
        assert_eq!(results[0], Operand::None, "{end}");
        assert_ne!(results[1], Operand::None, "{end}");
    }
}

#[test]
fn missing_derivative_is_reported_with_its_span() {
    let refused = [
        (
            "%1: f32[] = aten.i0.default(%x.0) at 0:3:4-3:9",
            "no derivative: aten.i0.default: torch has none",
            Some(3),
        ),
        ("%1: f32[] = python 4(%x.0) at 0:7:4-7:9", "no derivative: a call back into Python", Some(7)),
        (
            "%1: f32[2] = aten.expand.default(%x.0, [2], false)",
            "grad can be implicitly created only for scalar outputs",
            None,
        ),
    ];
    for (node, message, line) in refused {
        let text = format!(
            r#"graph 1
            file 0 "m.py"
            func @main(%x.0: f32[] = argument "x") -> (f32[*]) {{
              {node}
              return %1
            }}"#
        );
        let error = differentiated(&text, &[0], &mut NoFormulas).unwrap_err();
        assert_eq!(error.message, message);
        assert_eq!(error.span.map(|span| span.start.0), line, "{message}");
    }
}

/// After an error the function is unchanged, except that loops and branches may carry additional values.
#[test]
fn failed_gradient_leaves_the_function_unchanged() {
    let text = r#"graph 1
        func @main(%x.0: f32[] = argument "x") -> (f32[]) {
          %1: f32[] = aten.i0.default(%x.0)
          %2: f32[] = for(0, 3, 1, %1)
            body(%3: int, %4: f32[]) {
              %5: f32[] = aten.sin.default(%4)
              yield %5
            }
          return %2
        }"#;
    let mut graph = parse(text).unwrap();
    let function = graph.functions.remove(0);
    let output = function.body.results[0].value().unwrap();
    let mut builder = Builder::new("main");
    builder.values = function.values;
    builder.open[0] = Region { results: Vec::new(), ..function.body };
    let at = NodeAttrs::default();
    gradient(&mut builder, &[output], &[None], &[Value(0)], &at, &mut Functions::default(), &mut NoFormulas)
        .unwrap_err();
    assert_eq!(builder.open.len(), 1);
    graph.functions.push(builder.finish(vec![output.into()]));
    verify(&graph).unwrap();
}
