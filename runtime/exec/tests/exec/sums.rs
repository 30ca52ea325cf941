//! Additions are in place exactly when the memory has no other owner.

use super::{numbers, run, shown, tensor};
use ag_exec::Value;
use tch::{Kind, Tensor};

const HEAD: &str = r#"func @main(%x.0: f32[2] = argument "x", %i.1: i64[2] = argument "i") -> "#;

fn program(results: &str, body: &str) -> String {
    format!("{HEAD}({results}) {{\n{body}\n}}")
}

fn inputs() -> Vec<Value> {
    vec![tensor(&[1.0, 2.0]), Tensor::from_slice(&[1_i64, 1]).into()]
}

#[test]
fn shared_tensors_are_not_modified() {
    for (results, body, wanted) in [
        // A view of the operand exists.
        (
            "f32[1], f32[2]",
            "%2: f32[2] = aten.exp.default(%x.0)
             %3: f32[2] = aten.mul.Tensor(%2, 0)
             %4: f32[1] = aten.slice.Tensor(%3, 0, 0, 1, 1)
             %5: f32[2] = aten.add.Tensor(%3, %x.0, 1)
             return %4, %5",
            "[0.0], [1.0, 2.0]",
        ),
        // A list contains the operand.
        (
            "f32[2], f32[2]",
            "%2: f32[2] = aten.mul.Tensor(%x.0, 3)
             %3: list[f32[2]] = list.new(%2)
             %4: f32[2] = aten.add.Tensor(%x.0, %2, 1)
             %5: f32[2] = aten.index_add.default(%2, 0, %i.1, %x.0, 1)
             %6: f32[2] = list.get(%3, 0)
             %7: f32[2] = aten.add.Tensor(%4, %5, 1)
             return %6, %7",
            "[3.0, 6.0], [7.0, 17.0]",
        ),
        // Elements overlap in memory.
        (
            "f32[], f32[2]",
            "%2: f32[] = aten.sum.default(%x.0, none)
             %3: f32[2] = aten.expand.default(%2, [2], false)
             %4: f32[2] = aten.add.Tensor(%3, %x.0, 1)
             %5: f32[] = aten.sum.default(%x.0, none)
             return %5, %4",
            "[3.0], [4.0, 5.0]",
        ),
        // Different shapes and dtypes.
        (
            "f32[2], f32[2]",
            "%2: f32[1] = aten.slice.Tensor(%x.0, 0, 1, 2, 1)
             %3: f32[1] = aten.mul.Tensor(%2, 2)
             %4: f32[2] = aten.add.Tensor(%3, %x.0, 1)
             %5: i64[2] = aten.mul.Tensor(%i.1, 2)
             %6: f32[2] = aten.add.Tensor(%5, %x.0, 1)
             return %4, %6",
            "[5.0, 6.0], [3.0, 4.0]",
        ),
        // Repeated rows.
        (
            "f32[2], f32[2]",
            "%2: f32[2] = aten.mul.Tensor(%x.0, 0)
             %3: f32[2] = aten.index_add.default(%2, 0, %i.1, %x.0, 1)
             return %x.0, %3",
            "[1.0, 2.0], [0.0, 3.0]",
        ),
    ] {
        assert_eq!(shown(&program(results, body), inputs()), wanted, "{body}");
    }
}

/// Inputs owned by the caller, and memory not allocated by torch, are never overwritten.
#[test]
fn inputs_are_not_modified() {
    let body = "%2: f32[2] = aten.add.Tensor(%x.0, %x.0, 1)
         %3: f32[2] = aten.add.Tensor(%x.0, %2, 1)
         return %3, %2";
    let text = program("f32[2], f32[2]", body);
    let kept = Tensor::from_slice(&[1.0_f32, 2.0]);
    let given = vec![kept.shallow_clone().into(), inputs().remove(1)];
    assert_eq!(shown(&text, given), "[3.0, 6.0], [2.0, 4.0]");
    assert_eq!(numbers(&kept.into()), "[1.0, 2.0]");

    let memory = [1.0_f32, 2.0];
    let bytes = memory.as_ptr().cast::<u8>();
    #[allow(unsafe_code)]
    // SAFETY: the memory outlives the run, and nothing writes to it.
    let lent = unsafe { Tensor::f_from_blob(bytes, &[2], &[1], Kind::Float, tch::Device::Cpu).unwrap() };
    assert_eq!(shown(&text, vec![lent.into(), inputs().remove(1)]), "[3.0, 6.0], [2.0, 4.0]");
    assert_eq!(memory, [1.0, 2.0]);
}

#[test]
fn loop_accumulates_in_place() {
    let body = "%2: f32[2] = for(0, 3, 1, %x.0)
           body(%3: int, %4: f32[2]) {
             %5: f32[2] = aten.add.Tensor(%4, %x.0, 1)
             yield %5
           }
         return %2, %x.0";
    let results = run(&program("f32[2], f32[2]", body), inputs()).unwrap();
    assert_eq!(results.iter().map(numbers).collect::<Vec<_>>(), ["[4.0, 8.0]", "[1.0, 2.0]"]);
}
