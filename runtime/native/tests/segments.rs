//! Segments of graphs that are written as text: the nodes that they contain, and their results.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(unsafe_code, reason = "a segment reads and writes tensors by address")]

use ag_graph::ir::Graph;
use ag_graph::ir::text::parse;
use ag_graph::liveness::liveness;
use ag_native::{Layouts, Limits, Memory, Options, Output, Pass, Passes, Segment, lower};

fn graph(function: &str) -> Graph {
    parse(&format!("graph 1\nfile 0 \"model.py\"\n{function}"))
        .unwrap_or_else(|error| panic!("{error}\n{function}"))
}

/// Returns the segment that starts at the first node.
fn segment(function: &str) -> Option<Segment> {
    let graph = graph(function);
    let entry = graph.entry().unwrap();
    let life = liveness(entry);
    let options = Options { fewest: 1, passes: Passes::ALL, limits: Limits::for_threads(2) };
    lower::segment(entry, &entry.body.nodes, &life.nodes, &Layouts::default(), options)
}

/// Runs a segment whose inputs and results are tensors of `f32`.
fn run(function: &str, inputs: &[&[f32]]) -> Vec<Vec<f32>> {
    let segment = segment(function).unwrap();
    let inputs: Vec<u64> = inputs.iter().map(|input| input.as_ptr() as usize as u64).collect();
    let mut outputs: Vec<Vec<f32>> =
        segment.tensors.iter().map(|tensor| vec![0.0; tensor.sizes.iter().product()]).collect();
    let addresses: Vec<*mut u8> = outputs.iter_mut().map(|output| output.as_mut_ptr().cast()).collect();
    let mut memory = Memory::default();
    // SAFETY: the tests pass inputs of the sizes that they declare.
    unsafe { segment.run(&mut memory, &inputs, &addresses, &mut || true) }.unwrap();
    outputs
}

#[test]
fn a_segment_ends_before_an_unknown_operator() {
    let found = segment(
        r#"
func @main(%x.0: f32[3] = argument "x") -> (f32[3]) {
  %1: f32[3] = aten.mul.Tensor(%x.0, 2.0)
  %2: f32[3] = aten.tanh.default(%1)
  %3: f32[3] = aten.erfinv.default(%2)
  return %3
}"#,
    )
    .unwrap();
    assert_eq!(found.nodes, 2);
    assert_eq!(found.inputs.len(), 1);
    assert!(matches!(found.outputs[..], [(_, Output::Tensor(0))]));
}

#[test]
fn unknown_sizes_large_tensors_and_other_dtypes_are_left_to_libtorch() {
    for ty in ["f32[?]", "f32[1000,1000]", "f16[3]", "i8[3]", "f32[3]@cuda:0"] {
        let function = format!(
            "func @main(%x.0: {ty} = argument \"x\") -> ({ty}) {{\n  %1: {ty} = aten.mul.Tensor(%x.0, 2.0)\n  return %1\n}}"
        );
        assert!(segment(&function).is_none(), "{ty}");
    }
}

/// `for _ in range(3): a, b = b, a + b`
#[test]
fn a_loop_assigns_simultaneously() {
    let found = run(
        r#"
func @main(%a.0: f32[2] = argument "a", %b.1: f32[2] = argument "b") -> (f32[2], f32[2]) {
  %2: f32[2], %3: f32[2] = for(0, 3, 1, %a.0, %b.1)
    body(%i.4: int, %5: f32[2], %6: f32[2]) {
      %7: f32[2] = aten.add.Tensor(%5, %6, 1)
      yield %6, %7
    }
  return %2, %3
}"#,
        &[&[1.0, 10.0], &[1.0, 20.0]],
    );
    assert_eq!(found, [[3.0, 50.0], [5.0, 80.0]]);
}

#[test]
fn a_list_grows_in_a_loop_and_shrinks_in_another() {
    let found = run(
        r#"
func @main(%x.0: f32[] = argument "x") -> (f32[]) {
  %1: list[f32[]] = list.new()
  %2: list[f32[]], %3: f32[] = for(0, 4, 1, %1, %x.0)
    body(%i.4: int, %5: list[f32[]], %6: f32[]) {
      %7: list[f32[]] = list.append(%5, %6)
      %8: f32[] = aten.mul.Tensor(%6, 2.0)
      yield %7, %8
    }
  %9: list[f32[]], %10: f32[] = for(0, 4, 1, %2, %3)
    body(%i.11: int, %12: list[f32[]], %13: f32[]) {
      %14: list[f32[]], %15: f32[] = list.pop(%12, -1)
      %16: f32[] = aten.sub.Tensor(%13, %15, 1)
      yield %14, %16
    }
  return %10
}"#,
        &[&[3.0]],
    );
    // 48 - 24 - 12 - 6 - 3
    assert_eq!(found, [[3.0]]);
}

/// For `x[i] = 7 * i % 5`, `torch.topk(x, 2).indices` is `[7, 2]`. The segment selects the same two of the many equal
/// elements.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn equal_elements_do_not_stop_a_selection_from_many() {
    let x: Vec<f32> = (0..128).map(|i| (7 * i % 5) as f32).collect();
    let found = run(
        r#"
func @main(%x.0: f32[128] = argument "x") -> (f32[2], f32[2]) {
  %1: f32[2], %2: i64[2] = aten.topk.default(%x.0, 2, -1, true, true)
  %3: f32[2] = aten._to_copy.default(%2, dtype:f32, none, none, none, false, none)
  return %1, %3
}"#,
        &[&x],
    );
    assert_eq!(found, [[4.0, 4.0], [7.0, 2.0]]);
}

#[test]
fn products_in_every_layout() {
    let layouts = [("%x.0", "%y.1"), ("%tx", "%y.1"), ("%x.0", "%ty"), ("%tx", "%ty")];
    for ((a, b), size) in layouts.into_iter().flat_map(|layout| [1, 5, 9, 31].map(|size| (layout, size))) {
        let function = format!(
            r#"
func @main(%x.0: f32[N,N] = argument "x", %y.1: f32[N,N] = argument "y") -> (f32[N,N]) {{
  %2: f32[N,N] = aten.t.default(%x.0)
  %3: f32[N,N] = aten.t.default(%y.1)
  %4: f32[N,N] = aten.mm.default({a}, {b})
  return %4
}}"#
        )
        .replace('N', &size.to_string())
        .replace("%tx", "%2")
        .replace("%ty", "%3");
        let numbers = |start: i16| -> Vec<f32> {
            (0..size * size).map(|i| f32::from((i * 7 + start) % 11 - 5)).collect()
        };
        let (x, y, side) = (numbers(0), numbers(3), size as usize);
        let at = |m: &[f32], is_transposed: bool, i: usize, j: usize| {
            if is_transposed { m[j * side + i] } else { m[i * side + j] }
        };
        let mut expected = vec![0.0; side * side];
        for i in 0..side {
            for j in 0..side {
                for k in 0..side {
                    expected[i * side + j] += at(&x, a == "%tx", i, k) * at(&y, b == "%ty", k, j);
                }
            }
        }
        assert_eq!(run(&function, &[&x, &y]), [expected], "{a} @ {b}");
    }
}

/// `logits = x @ weight` and `x.t() @ gradient` with few classes, in every layout.
#[test]
fn products_with_few_columns() {
    for (rows, inner, columns) in [
        (1, 40, 1),
        (17, 9, 1),
        (40, 10, 2),
        (33, 70, 3),
        (50, 100, 5),
        (37, 130, 7),
        (70, 200, 10),
        (26, 1100, 12),
        (1, 30, 45),
    ] {
        for (a, b) in [("%x.0", "%y.1"), ("%3", "%y.1"), ("%x.0", "%4"), ("%3", "%4")] {
            let sizes = |is_transposed: bool, m: usize, n: usize| if is_transposed { (n, m) } else { (m, n) };
            let ((xr, xc), (yr, yc)) = (sizes(a == "%3", rows, inner), sizes(b == "%4", inner, columns));
            let function = format!(
                r#"
func @main(%x.0: f32[{xr},{xc}] = argument "x", %y.1: f32[{yr},{yc}] = argument "y", %z.2: f32[{columns}] = argument "z") -> (f32[{rows},{columns}], f32[{rows},{columns}]) {{
  %3: f32[{xc},{xr}] = aten.t.default(%x.0)
  %4: f32[{yc},{yr}] = aten.t.default(%y.1)
  %5: f32[{rows},{columns}] = aten.mm.default({a}, {b})
  %6: f32[{rows},{columns}] = aten.addmm.default(%z.2, {a}, {b}, 1, 1)
  return %5, %6
}}"#
            );
            let numbers = |count: usize, start: usize| -> Vec<f32> {
                (0..count).map(|i| ((i * 7 + start) % 11) as f32 - 5.0).collect()
            };
            let (x, y, z) = (numbers(rows * inner, 0), numbers(inner * columns, 3), numbers(columns, 5));
            let mut product = vec![0.0; rows * columns];
            for i in 0..rows {
                for j in 0..columns {
                    for k in 0..inner {
                        let left = if a == "%3" { x[k * rows + i] } else { x[i * inner + k] };
                        let right = if b == "%4" { y[j * inner + k] } else { y[k * columns + j] };
                        product[i * columns + j] += left * right;
                    }
                }
            }
            let added: Vec<f32> =
                product.iter().enumerate().map(|(at, value)| value + z[at % columns]).collect();
            assert_eq!(run(&function, &[&x, &y, &z]), [product, added], "{rows} {inner} {columns} {a} @ {b}");
        }
    }
}

/// `gradient.sum(0)` and `gradient.mean(0)`, also of a part of the columns.
#[test]
fn sums_of_columns() {
    for (rows, columns) in [(1_usize, 1_usize), (3, 7), (10, 16), (5, 40), (33, 65)] {
        let part = columns.div_ceil(2);
        let function = format!(
            r#"
func @main(%x.0: f32[{rows},{columns}] = argument "x") -> (f32[{columns}], f32[{columns}], f32[{part}]) {{
  %1: f32[{columns}] = aten.sum.dim_IntList(%x.0, [0], false, none)
  %2: f32[{columns}] = aten.mean.dim(%x.0, [0], false, none)
  %3: f32[{rows},{part}] = aten.slice.Tensor(%x.0, 1, 0, {part}, 1)
  %4: f32[{part}] = aten.sum.dim_IntList(%3, [0], false, none)
  return %1, %2, %4
}}"#
        );
        let x: Vec<f32> = (0..rows * columns).map(|i| (i * 7 % 11) as f32 - 5.0).collect();
        let sum = |column: usize| (0..rows).map(|row| f64::from(x[row * columns + column])).sum::<f64>();
        let sums: Vec<f32> = (0..columns).map(|column| sum(column) as f32).collect();
        let means: Vec<f32> = (0..columns).map(|column| (sum(column) / rows as f64) as f32).collect();
        let parts = sums[..part].to_vec();
        assert_eq!(run(&function, &[&x]), [sums, means, parts], "{rows} {columns}");
    }
}

/// Logarithms of softmax over rows of at most 16 elements, with infinities and NaN.
#[test]
fn logarithms_of_softmax_over_short_rows() {
    for (rows, columns) in [(1, 1), (5, 3), (16, 10), (37, 16)] {
        let function = format!(
            r#"
func @main(%x.0: f32[{rows},{columns}] = argument "x") -> (f32[{rows},{columns}]) {{
  %1: f32[{rows},{columns}] = aten._log_softmax.default(%x.0, 1, false)
  return %1
}}"#
        );
        let mut x: Vec<f32> =
            (0..rows * columns).map(|i| (i * 7 % 11) as f32 * 9.0 + 1e6 * (i % 2) as f32).collect();
        if rows > 1 {
            x[..columns].fill(f32::NEG_INFINITY);
            x[columns] = f32::NAN;
            x[2 * columns] = f32::NEG_INFINITY;
        }
        let found = run(&function, &[&x]).remove(0);
        for (row, found) in x.chunks(columns).zip(found.chunks(columns)) {
            let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let total: f64 = row.iter().map(|x| f64::from(x - largest).exp()).sum();
            for (x, found) in row.iter().zip(found) {
                let expected = f64::from(x - largest) - total.ln();
                let is_close = (f64::from(*found) - expected).abs() <= 1e-6 * expected.abs().max(1.0);
                let is_same = f64::from(*found) == expected || found.is_nan() && expected.is_nan();
                assert!(is_close || is_same, "{rows} {columns}: {found} instead of {expected}");
            }
        }
    }
}

#[test]
fn dot_products_of_any_length() {
    for length in [1, 7, 8, 31, 32, 33, 70, 101] {
        let function = format!(
            r#"
func @main(%x.0: f32[{length}] = argument "x", %y.1: f32[{length}] = argument "y", %m.2: f32[5,{length}] = argument "m") -> (f32[], f32[5]) {{
  %3: f32[] = aten.dot.default(%x.0, %y.1)
  %4: f32[5] = aten.mv.default(%m.2, %y.1)
  return %3, %4
}}"#
        );
        let numbers = |count: i16| -> Vec<f32> { (0..count).map(|i| f32::from(i * 7 % 11 - 5)).collect() };
        let (x, y, m) = (numbers(length), numbers(length), numbers(5 * length));
        let dot = |x: &[f32]| x.iter().zip(&y).map(|(x, y)| x * y).sum::<f32>();
        let rows: Vec<f32> = m.chunks(y.len()).map(dot).collect();
        assert_eq!(run(&function, &[&x, &y, &m]), [vec![dot(&x)], rows], "{length}");
    }
}

#[test]
fn a_run_that_is_interrupted_stops() {
    let function = r#"
func @main(%x.0: f32[] = argument "x") -> (f32[]) {
  %1: f32[] = for(0, 1000000000000, 1, %x.0)
    body(%i.2: int, %3: f32[]) {
      %4: f32[] = aten.add.Tensor(%3, 1.0, 1)
      yield %4
    }
  return %1
}"#;
    let segment = segment(function).unwrap();
    let (x, mut out) = ([1.0_f32], [0.0_f32]);
    let mut polls = 0;
    let mut poll = || {
        polls += 1;
        polls < 100
    };
    let inputs = [x.as_ptr() as usize as u64];
    let mut memory = Memory::default();
    // SAFETY: the tensors have one element.
    let run = unsafe { segment.run(&mut memory, &inputs, &[out.as_mut_ptr().cast()], &mut poll) };
    assert!(run.is_err());
}

/// `rows = [row, row]; rows[0].append(x)`, and a loop that carries one list twice.
#[test]
fn a_list_that_is_used_twice_is_copied() {
    let found = run(
        r#"
func @main(%x.0: f32[] = argument "x") -> (f32[], f32[]) {
  %1: list[f32[]] = list.new(%x.0)
  %2: list[list[f32[]]] = list.new(%1, %1)
  %3: list[f32[]] = list.get(%2, 0)
  %4: f32[] = list.get(%3, 0)
  %5: list[f32[]] = list.new(%x.0)
  %6: list[f32[]], %7: list[f32[]] = for(0, 2, 1, %5, %5)
    body(%i.8: int, %9: list[f32[]], %10: list[f32[]]) {
      %11: list[f32[]] = list.append(%9, %x.0)
      yield %11, %11
    }
  %12: f32[] = list.get(%6, 2)
  %13: f32[] = list.get(%7, 2)
  %14: f32[] = aten.add.Tensor(%12, %13, 1)
  return %4, %14
}"#,
        &[&[3.0]],
    );
    assert_eq!(found, [[3.0], [6.0]]);
}

#[test]
fn inputs_with_offsets_beyond_32_bits_are_left_to_libtorch() {
    let function = r#"
func @main(%x.0: f32[70000,70000] = argument "x") -> (f32[]) {
  %1: f32[70000] = aten.select.int(%x.0, 0, 69999)
  %2: f32[] = aten.select.int(%1, 0, 5)
  %3: f32[] = aten.mul.Tensor(%2, 2.0)
  return %3
}"#;
    assert!(segment(function).is_none());
}

/// A list `[None] * 2` of which one item is set.
const GAPS: &str = r#"
func @main(%x.0: f32[] = argument "x") -> (f32[]) {
  %1: list[f32[]] = list.filled(2, none)
  %2: list[f32[]] = list.set(%1, 1, %x.0)
  %3: f32[] = list.get(%2, INDEX)
  %4: f32[] = aten.mul.Tensor(%3, 2.0)
  return %4
}"#;

#[test]
fn an_item_that_is_missing_stops_the_run() {
    assert_eq!(run(&GAPS.replace("INDEX", "-1"), &[&[3.0]]), [[6.0]]);
    let segment = segment(&GAPS.replace("INDEX", "0")).unwrap();
    let (x, mut out) = ([3.0_f32], [0.0_f32]);
    let inputs = [x.as_ptr() as usize as u64];
    let mut memory = Memory::default();
    // SAFETY: the tensors have one element.
    let run = unsafe { segment.run(&mut memory, &inputs, &[out.as_mut_ptr().cast()], &mut || true) };
    assert!(run.is_err());
}

/// `q = q - a * x` in a loop over a list is one step. It reads the item from the list's memory and overwrites `q`.
#[test]
fn a_multiply_add_in_a_loop_is_one_step() {
    let function = r#"
func @main(%x.0: f32[80] = argument "x", %q.1: f32[80] = argument "q", %a.2: f32[] = argument "a") -> (f32[80]) {
  %3: list[f32[80]] = list.new(%x.0, %x.0)
  %4: f32[80] = for(0, 2, 1, %q.1)
    body(%i.5: int, %6: f32[80]) {
      %7: f32[80] = list.get(%3, %i.5)
      %8: f32[80] = aten.mul.Tensor(%a.2, %7)
      %9: f32[80] = aten.sub.Tensor(%6, %8, 1)
      yield %9
    }
  return %4
}"#;
    let fired = segment(function).unwrap().fired;
    assert_eq!(fired.to_string(), "borrowed-items 1, multiply-add 1, in-place-results 1");
    assert_eq!(run(function, &[&[3.0; 80], &[1.0; 80], &[2.0]]), [[-11.0; 80]]);
}

/// `a, b = b, a - 2 * b`: `b` is read before it is written, and `a` after it.
#[test]
fn memory_that_is_still_read_is_not_overwritten() {
    let function = r#"
func @main(%a.0: f32[80] = argument "a", %b.1: f32[80] = argument "b") -> (f32[80], f32[80]) {
  %2: f32[80], %3: f32[80] = for(0, 3, 1, %a.0, %b.1)
    body(%i.4: int, %5: f32[80], %6: f32[80]) {
      %7: f32[80] = aten.sub.Tensor(%5, %6, 2)
      yield %6, %7
    }
  return %2, %3
}"#;
    assert_eq!(run(function, &[&[5.0; 80], &[1.0; 80]]), [[-5.0; 80], [13.0; 80]]);
}

/// An item that is used after its list has changed: `x = l[0]; l[0] = y; l.append(x); l.pop(0); x + l[0] + l[-1]`.
#[test]
fn an_item_keeps_its_elements_when_its_list_changes() {
    let function = r#"
func @main(%x.0: f32[80] = argument "x", %y.1: f32[80] = argument "y") -> (f32[80]) {
  %2: list[f32[80]] = list.new(%x.0, %y.1)
  %3: list[f32[80]], %4: f32[80] = for(0, 1, 1, %2, %x.0)
    body(%i.5: int, %6: list[f32[80]], %7: f32[80]) {
      %8: f32[80] = list.get(%6, 0)
      %9: list[f32[80]] = list.set(%6, 0, %y.1)
      %10: list[f32[80]] = list.append(%9, %8)
      %11: list[f32[80]], %12: f32[80] = list.pop(%10, 0)
      %13: f32[80] = list.get(%11, 0)
      %14: f32[80] = list.get(%11, 1)
      %15: f32[80] = aten.add.Tensor(%13, %14, 1)
      %16: f32[80] = aten.add.Tensor(%15, %8, 1)
      yield %11, %16
    }
  return %4
}"#;
    assert_eq!(segment(function).unwrap().fired.of(Pass::BorrowedItems), 3);
    assert_eq!(run(function, &[&[10.0; 80], &[1.0; 80]]), [[21.0; 80]]);
}

/// `torch.cat(l, 1)`, `torch.stack(l, 1)` and `torch.stack(l, -1)`, of a list that a loop makes.
#[test]
fn items_are_joined_along_any_dimension() {
    for (operator, sizes, expected) in [
        ("cat.default(%1, 1)", "2,4", [1.0, 2.0, 2.0, 4.0, 3.0, 4.0, 6.0, 8.0]),
        ("stack.default(%1, 1)", "2,2,2", [1.0, 2.0, 2.0, 4.0, 3.0, 4.0, 6.0, 8.0]),
        ("stack.default(%1, -1)", "2,2,2", [1.0, 2.0, 2.0, 4.0, 3.0, 6.0, 4.0, 8.0]),
    ] {
        let function = format!(
            r#"
func @main(%x.0: f32[2,2] = argument "x") -> (f32[{sizes}]) {{
  %3: list[f32[2,2]] = list.new()
  %1: list[f32[2,2]], %4: f32[2,2] = for(0, 2, 1, %3, %x.0)
    body(%i.5: int, %6: list[f32[2,2]], %7: f32[2,2]) {{
      %8: list[f32[2,2]] = list.append(%6, %7)
      %9: f32[2,2] = aten.mul.Tensor(%7, 2.0)
      yield %8, %9
    }}
  %2: f32[{sizes}] = aten.{operator}
  return %2
}}"#
        );
        assert_eq!(run(&function, &[&[1.0, 2.0, 3.0, 4.0]]), [expected], "{operator}");
    }
}

/// `x[i] = y` in a loop writes to the memory of `x`. If the old `x` is used again, or is also the source, it is copied.
#[test]
fn a_loop_writes_parts_in_place() {
    let function = |source: &str, old: &str| {
        format!(
            r#"
func @main(%x.0: f32[3] = argument "x") -> (f32[3], f32[3]) {{
  %1: f32[3], %2: f32[3] = for(0, 3, 1, %x.0, %x.0)
    body(%i.3: int, %4: f32[3], %5: f32[3]) {{
      %6: f32[] = aten.select.int(%4, 0, %i.3)
      %7: f32[] = aten.mul.Tensor(%6, 10.0)
      {source}
      yield %8, {old}
    }}
  return %1, %2
}}"#
        )
    };
    let put = "%8: f32[3] = aten.select_scatter.default(%4, %7, 0, %i.3)";
    let x = [1.0, 2.0, 3.0];
    assert_eq!(segment(&function(put, "%5")).unwrap().fired.of(Pass::InPlaceResults), 1);
    for (old, expected) in [("%5", x), ("%4", [10.0, 20.0, 3.0])] {
        assert_eq!(run(&function(put, old), &[&x]), [[10.0, 20.0, 30.0], expected]);
    }
    let twice = r#"%9: i64[3] = aten.zeros.default([3], dtype:i64, none, device:cpu, none)
      %8: f32[3] = aten.scatter_add.default(%4, 0, %9, %4)"#;
    assert_eq!(run(&function(twice, "%5"), &[&x]), [[43.0, 2.0, 3.0], x]);
}
