//! Operators by name, compared with the functions that `tch` has for them: direct bindings and dispatched
//! calls.

use super::run;
use ag_exec::Value;
use ag_exec::aten::{Argument, Call, Output};
use ag_graph::ir::{Layout, MemoryFormat};
use tch::{Device, Kind, Tensor};

fn call(operator: &str, arguments: &[Argument<'_>]) -> Vec<Output> {
    let mut outputs = Vec::new();
    Call::prepare(operator, arguments)
        .and_then(|call| call.run(&[], &mut outputs))
        .unwrap_or_else(|error| panic!("{operator}: {}", error.message));
    outputs
}

fn one(operator: &str, arguments: &[Argument<'_>]) -> Tensor {
    match call(operator, arguments).pop() {
        Some(Output::Tensor(tensor)) => tensor,
        other => panic!("{operator} gives {other:?}"),
    }
}

fn same(found: &Tensor, wanted: &Tensor, what: &str) {
    assert_eq!(found.kind(), wanted.kind(), "{what}");
    assert_eq!(found.size(), wanted.size(), "{what}");
    assert!(found.allclose(wanted, 1e-6, 1e-6, true), "{what}: {found} {wanted}");
}

fn example() -> Tensor {
    Tensor::arange(12, (Kind::Float, Device::Cpu)).reshape([3, 4]) / 7.0 - 0.6
}

#[test]
fn dispatched_calls_match_tch() {
    let x = example();
    let y = x.f_cos().unwrap();
    let index = Tensor::from_slice(&[2_i64, 0]);
    let (tx, ty, int) = (Argument::tensor(&x), Argument::tensor(&y), Argument::int);
    let (no, yes, none, float) =
        (Argument::bool(false), Argument::bool(true), Argument::NONE, Argument::float);
    let list = Argument::list;
    let (mask, at, across) = (x.ge(0.0), index.reshape([1, 2]), y.tr());
    let image = Tensor::arange(2 * 3 * 25, (Kind::Float, Device::Cpu)).reshape([2, 3, 5, 5]) / 75.0;
    let weight = Tensor::ones([4, 3, 3, 3], (Kind::Float, Device::Cpu)) / 9.0;
    let cases: Vec<(&str, Vec<Argument<'_>>, Tensor)> = vec![
        ("aten.add.Tensor", vec![tx, ty, int(2)], &x + &y * 2.0),
        ("aten.add.Tensor", vec![tx, int(2), int(1)], &x + 2.0),
        ("aten.mul.Tensor", vec![tx, float(0.5)], &x * 0.5),
        ("aten.pow.Tensor_Scalar", vec![tx, int(2)], x.pow_tensor_scalar(2)),
        ("aten.sum.dim_IntList", vec![tx, list(1), int(1), yes, none], x.sum_dim_intlist(1_i64, true, None)),
        ("aten.sum.dim_IntList", vec![tx, int(0), no, none], x.sum_dim_intlist(0_i64, false, None)),
        ("aten.sum.default", vec![tx, Argument::dtype(ag_graph::ir::DType::F64)], x.sum(Kind::Double)),
        ("aten.mean.dim", vec![tx, list(2), int(0), int(1), no, none], x.mean(None)),
        ("aten.cat.default", vec![list(2), tx, ty, int(1)], Tensor::cat(&[&x, &y], 1)),
        ("aten.stack.default", vec![list(2), tx, ty, int(0)], Tensor::stack(&[&x, &y], 0)),
        ("aten.index.Tensor", vec![tx, list(2), none, Argument::tensor(&index)], x.index_select(1, &index)),
        ("aten.index_select.default", vec![tx, int(0), Argument::tensor(&index)], x.index_select(0, &index)),
        ("aten.slice.Tensor", vec![tx, int(1), none, int(-1), int(2)], x.slice(1, None, -1, 2)),
        ("aten.select.int", vec![tx, int(0), int(-1)], x.select(0, -1)),
        ("aten.view.default", vec![tx, list(2), int(2), int(-1)], x.view([2, -1])),
        ("aten.permute.default", vec![tx, list(2), int(1), int(0)], x.permute([1, 0])),
        ("aten.where.self", vec![Argument::tensor(&mask), tx, ty], x.where_self(&mask, &y)),
        ("aten.where.ScalarOther", vec![Argument::tensor(&mask), tx, float(0.0)], x.clamp_min(0.0)),
        ("aten._softmax.default", vec![tx, int(1), no], x.softmax(1, None)),
        ("aten._log_softmax.default", vec![tx, int(1), no], x.log_softmax(1, None)),
        ("aten.clamp.default", vec![tx, none, float(0.25)], x.clamp_max(0.25)),
        ("aten.gelu.default", vec![tx, Argument::str("tanh")], x.gelu("tanh")),
        ("aten.div.Tensor_mode", vec![tx, ty, Argument::str("floor")], x.divide_tensor_mode(&y, "floor")),
        ("aten.transpose.int", vec![tx, int(0), int(1)], x.transpose(0, 1)),
        ("aten.triu.default", vec![tx, int(0)], x.triu(0)),
        ("aten.flip.default", vec![tx, list(1), int(0)], x.flip([0])),
        ("aten.roll.default", vec![tx, list(1), int(1), list(1), int(1)], x.roll([1], [1])),
        ("aten.cumsum.default", vec![tx, int(1), none], x.cumsum(1, None)),
        ("aten.argmax.default", vec![tx, int(1), no], x.argmax(1, false)),
        ("aten.eq.Scalar", vec![tx, int(0)], x.eq(0)),
        ("aten.isnan.default", vec![tx], x.isnan()),
        (
            "aten.norm.ScalarOpt_dim",
            vec![tx, int(2), list(1), int(1), no],
            x.norm_scalaropt_dim(2, 1_i64, false),
        ),
        (
            "aten.convolution.default",
            vec![
                Argument::tensor(&image),
                Argument::tensor(&weight),
                none,
                list(2),
                int(1),
                int(1),
                list(2),
                int(1),
                int(1),
                list(2),
                int(1),
                int(1),
                no,
                list(2),
                int(0),
                int(0),
                int(1),
            ],
            image.conv2d(&weight, None::<&Tensor>, [1, 1], [1, 1], [1, 1], 1),
        ),
        (
            "aten.avg_pool2d.default",
            vec![Argument::tensor(&image), list(2), int(2), int(2)],
            image.avg_pool2d([2, 2], [2, 2], [0, 0], false, true, None::<i64>),
        ),
        (
            "aten.zeros.default",
            vec![list(2), int(2), int(3)],
            Tensor::zeros([2, 3], (Kind::Float, Device::Cpu)),
        ),
        (
            "aten.full.default",
            vec![
                list(1),
                int(3),
                float(1.5),
                Argument::dtype(ag_graph::ir::DType::F64),
                Argument::layout(Layout::Strided),
                Argument::device(ag_graph::ir::Device::Cpu),
                no,
            ],
            Tensor::full([3], 1.5, (Kind::Double, Device::Cpu)),
        ),
        ("aten.arange.default", vec![int(5)], Tensor::arange(5, (Kind::Int64, Device::Cpu))),
        ("aten.clone.default", vec![tx, Argument::memory_format(MemoryFormat::Contiguous)], x.copy()),
        (
            "aten._to_copy.default",
            vec![tx, Argument::dtype(ag_graph::ir::DType::I64)],
            x.to_kind(Kind::Int64),
        ),
        ("aten.bitwise_not.default", vec![Argument::tensor(&index)], index.bitwise_not()),
        (
            "aten.embedding.default",
            vec![tx, Argument::tensor(&index), int(-1), no, no],
            x.index_select(0, &index),
        ),
        (
            "aten.scatter.value",
            vec![tx, int(0), Argument::tensor(&at), float(9.0)],
            x.scatter_value(0, &at, 9.0),
        ),
        ("aten.matmul.default", vec![tx, Argument::tensor(&across)], x.matmul(&across)),
    ];
    for (operator, arguments, wanted) in &cases {
        same(&one(operator, arguments), wanted, operator);
    }
}

/// A number that is passed as a tensor promotes like a Python number: `int64 * 2.5` is float32, and `float16 * 2.5`
/// remains float16.
#[test]
fn numbers_as_tensors_promote_as_numbers() {
    let ints = Tensor::from_slice(&[1_i64, 2]);
    let halves = ints.to_kind(Kind::Half);
    let kind = |tensor: &Tensor, number| one("aten.mul.Tensor", &[Argument::tensor(tensor), number]).kind();
    assert_eq!(kind(&ints, Argument::int(2)), Kind::Int64);
    assert_eq!(kind(&ints, Argument::float(2.5)), Kind::Float);
    assert_eq!(kind(&halves, Argument::float(2.5)), Kind::Half);
    assert_eq!(kind(&ints, Argument::bool(true)), Kind::Int64);
}

#[test]
fn several_results_and_lists_of_them() {
    let x = example();
    let outputs = call("aten.max.dim", &[Argument::tensor(&x), Argument::int(1), Argument::bool(false)]);
    let [Output::Tensor(values), Output::Tensor(indices)] = &outputs[..] else { panic!("{outputs:?}") };
    let (wanted, at) = x.max_dim(1, false);
    same(values, &wanted, "max");
    same(indices, &at, "argmax");
    let outputs = call("aten.split.Tensor", &[Argument::tensor(&x), Argument::int(2), Argument::int(1)]);
    let [Output::List(parts)] = &outputs[..] else { panic!("{outputs:?}") };
    assert_eq!(parts.len(), 2);
    // The mask determines which results exist.
    let no = [Argument::list(3), Argument::bool(true), Argument::bool(false), Argument::bool(false)];
    let norm = x.native_layer_norm([4], None::<&Tensor>, None::<&Tensor>, 1e-5);
    let mut arguments = vec![
        Argument::tensor(&x),
        Argument::tensor(&x),
        Argument::list(1),
        Argument::int(4),
        Argument::tensor(&norm.1),
        Argument::tensor(&norm.2),
        Argument::NONE,
        Argument::NONE,
    ];
    arguments.extend(no);
    let outputs = call("aten.native_layer_norm_backward.default", &arguments);
    assert!(matches!(outputs[..], [Output::Tensor(_), Output::None, Output::None]), "{outputs:?}");
}

/// Each line compiles to a direct binding or a dispatched call, with values, numbers and lists from
/// registers.
#[test]
fn plans_match_tch() {
    let x = example();
    let y = x.cos();
    let index = Tensor::from_slice(&[1_i64, 3]);
    for (line, wanted) in [
        ("aten.add.Tensor(%x.0, %y.1, 1)", &x + &y),
        ("aten.add.Tensor(%x.0, %y.1, 3)", &x + &y * 3.0),
        ("aten.add.Tensor(%x.0, %n.3, 1)", &x + 2.0),
        ("aten.sub.Tensor(%x.0, %f.4, 1)", &x - 0.5),
        ("aten.rsub.Scalar(%x.0, %f.4, 1)", -(&x - 0.5)),
        ("aten.rsub.Scalar(%x.0, 2, 1)", 2.0 - &x),
        ("aten.div.Scalar(%i.2, 2)", &index / 2),
        ("aten.mul.Tensor(%i.2, %f.4)", &index * 0.5),
        ("aten.mul.Tensor(%i.2, 3)", &index * 3),
        ("aten.gt.Scalar(%i.2, 1.5)", index.gt(1.5)),
        ("aten.add.Tensor(%c.5, %n.3, 1)", x.gt(0.0) + 2),
        ("aten.add.Tensor(%c.5, 0.5, 1)", x.gt(0.0) + 0.5),
        ("aten.mul.Tensor(%x.0, %y.1)", &x * &y),
        ("aten.mul.Scalar(%x.0, %n.3)", &x * 2.0),
        ("aten.div.Tensor(%x.0, %f.4)", &x / 0.5),
        ("aten.pow.Tensor_Scalar(%x.0, %n.3)", x.pow_tensor_scalar(2)),
        ("aten.sigmoid.default(%x.0)", x.sigmoid()),
        ("aten.where.self(%c.5, %x.0, %y.1)", x.where_self(&x.gt(0.0), &y)),
        ("aten.select.int(%x.0, 0, %n.3)", x.select(0, 2)),
        ("aten.slice.Tensor(%x.0, 1, none, none, %n.3)", x.slice(1, None, None, 2)),
        ("aten.slice.Tensor(%x.0, 1, %n.3, none, 1)", x.slice(1, 2, None, 1)),
        ("aten.slice.Tensor(%x.0, 1, -3, -1, 1)", x.slice(1, -3, -1, 1)),
        ("aten.view.default(%x.0, [%n.3, -1])", x.view([2, -1])),
        ("aten.permute.default(%x.0, [1, 0])", x.permute([1, 0])),
        ("aten.unsqueeze.default(%x.0, -1)", x.unsqueeze(-1)),
        ("aten.expand.default(%x.0, [2, 3, 4], false)", x.expand([2, 3, 4], false)),
        ("aten.expand.default(%x.0, [2, 3, 4])", x.expand([2, 3, 4], false)),
        ("aten.sum.default(%x.0, none)", x.sum(None)),
        ("aten.sum.dim_IntList(%x.0, [0], true, none)", x.sum_dim_intlist(0_i64, true, None)),
        (
            "aten.sum.dim_IntList(%x.0, [-1], false, dtype:f64)",
            x.sum_dim_intlist(-1_i64, false, Kind::Double),
        ),
        ("aten.mean.dim(%x.0, [1], false, none)", x.mean_dim(1_i64, false, None)),
        ("aten.cat.default([%x.0, %y.1], 0)", Tensor::cat(&[&x, &y], 0)),
        ("aten.stack.default([%x.0, %y.1], %n.3)", Tensor::stack(&[&x, &y], 2)),
        ("aten.cat.default(%l.6, 1)", Tensor::cat(&[&x, &y], 1)),
        ("aten.stack.default(%l.6, 0)", Tensor::stack(&[&x, &y], 0)),
        ("aten.index.Tensor(%x.0, [none, %i.2])", x.index_select(1, &index)),
        ("aten.index_select.default(%x.0, 1, %i.2)", x.index_select(1, &index)),
        ("aten.full_like.default(%x.0, %f.4, none, none, none, none, none)", x.full_like(0.5)),
        ("aten.clamp.default(%x.0, %f.4, none)", x.clamp_min(0.5)),
        (
            "aten.addmm.default(%x.0, %x.0, %m.7, 1, 1)",
            x.addmm(&x, &Tensor::eye(4, (Kind::Float, Device::Cpu))),
        ),
        ("aten.repeat.default(%x.0, [%n.3, 1])", x.repeat([2, 1])),
        ("aten.gt.Scalar(%x.0, %f.4)", x.gt(0.5)),
        ("aten.gt.Tensor(%x.0, %y.1)", x.gt_tensor(&y)),
    ] {
        let program = format!(
            r#"
func @main(%x.0: f32[3,4] = argument "x", %y.1: f32[3,4] = argument "y", %i.2: i64[2] = argument "i", %n.3: int = argument "n", %f.4: float = argument "f", %c.5: bool[3,4] = argument "c", %l.6: list[f32[3,4]] = argument "l", %m.7: f32[4,4] = argument "m") -> (f32[*]) {{
  %8: f32[*] = {line}
  return %8
}}"#
        );
        let inputs = vec![
            x.shallow_clone().into(),
            y.shallow_clone().into(),
            index.shallow_clone().into(),
            Value::Int(2),
            Value::Float(0.5),
            x.gt(0.0).into(),
            Value::list(vec![x.shallow_clone().into(), y.shallow_clone().into()]),
            Tensor::eye(4, (Kind::Float, Device::Cpu)).into(),
        ];
        let results = run(&program, inputs).unwrap_or_else(|error| panic!("{line}: {error}"));
        same(results[0].tensor().expect("a tensor is returned"), &wanted, line);
    }
}

/// Inputs that require gradients, such as a model's parameters, produce results that do not.
#[test]
fn autograd_records_nothing() {
    let program = r#"
func @main(%w.0: f32[2] = capture 0) -> (f32[2], f32[1]) {
  %1: f32[2] = aten.mul.Tensor(%w.0, %w.0)
  %2: f32[1] = aten.slice.Tensor(%w.0, 0, 0, 1, 1)
  %3: f32[1] = aten.tanh.default(%2)
  return %1, %3
}"#;
    let w = Tensor::from_slice(&[1.0_f32, 2.0]).set_requires_grad(true);
    let results = run(program, vec![w.shallow_clone().into()]).unwrap();
    for result in &results {
        assert!(!result.tensor().unwrap().requires_grad());
    }
    assert!((&w * 2.0).requires_grad(), "the thread records again");
}
