//! Saved models run without Python. `ag-run` rejects invalid arguments with a message of one line.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::path::Path;
use std::process::{Command, Output};

use ag_exec::saved::SavedModel;
use ag_graph::ir::text::parse;
use tch::{Device, Kind, Tensor};

const MODEL: &str = r#"graph 1
func @main(%x.0: f32[?,2] = argument "x", %w.1: f32[2,3] = capture 7, %n.2: int = argument "n") -> (f32[?,3], f32[2,3]) {
  %3: f32[?,3] = aten.mm.default(%x.0, %w.1)
  %4: f32[?,3] = for(0, %n.2, 1, %3)
    body(%i.5: int, %6: f32[?,3]) {
      %7: f32[?,3] = aten.mul.Tensor(%6, 2)
      yield %7
    }
  %8: f32[2,3] = aten.neg.default(%w.1)
  return %4, write 1 %8
}
"#;

fn saved(folder: &Path) {
    let weight = Tensor::arange(6, (Kind::Float, Device::Cpu)).reshape([2, 3]);
    let model = SavedModel::new(parse(MODEL).unwrap(), vec![(7, weight.set_requires_grad(true))]).unwrap();
    model.save(folder).unwrap();
}

fn ag_run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ag-run"));
    command.current_dir(folder).arg("model").args(arguments).output().expect("it starts")
}

fn refusal(folder: &Path, arguments: &[&str]) -> String {
    let output = ag_run(folder, arguments);
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!text.contains("panicked"), "{text}");
    text
}

#[test]
fn a_saved_model_runs_from_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    saved(&folder.path().join("model"));
    Tensor::ones([1, 2], (Kind::Float, Device::Cpu)).write_npy(folder.path().join("x.npy")).unwrap();
    let output = ag_run(folder.path(), &["--input", "x.npy", "--input", "n=3", "--output", "y.npy"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let y = Tensor::read_npy(folder.path().join("y.npy")).unwrap();
    assert_eq!(Vec::<f32>::try_from(y.flatten(0, -1)).unwrap(), [24.0, 40.0, 56.0]);
    let output = ag_run(folder.path(), &["--input", "x=x.npy", "--input", "0", "--output", "y.safetensors"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let results = Tensor::read_safetensors(folder.path().join("y.safetensors")).unwrap();
    assert_eq!(results.len(), 1);
}

#[test]
fn errors_are_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    saved(&path.join("model"));
    Tensor::ones([1, 3], (Kind::Float, Device::Cpu)).write_npy(path.join("x.npy")).unwrap();
    let fails_with = |arguments: &[&str], message: &str| {
        let text = refusal(path, arguments);
        assert!(text.contains(message) && text.lines().count() == 1, "{text}");
    };
    fails_with(&["--input", "x.npy", "--input", "1"], "`x` has shape [1, 3], which does not match f32[?,2]");
    fails_with(&["--input", "x.npy"], "argument \"n\" is missing: int");
    fails_with(&["--input", "none.npy"], "none.npy");
    fails_with(&["--input", "x.npy", "--input", "1", "--input", "2"], "the model takes 2 arguments");
    if tch::Cuda::device_count() == 0 {
        fails_with(&["--device", "cuda:3"], "device cuda:3 is not available");
    }
}

/// Random bytes are changed, removed or inserted in one of the two files: the model is either loaded and compiled, or
/// rejected with a message.
#[test]
fn damaged_models_run_or_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    saved(folder.path());
    let mut random = fastrand::Rng::with_seed(5);
    let mut refused = 0;
    for file in ["graph.txt", "captures.safetensors"] {
        let whole = std::fs::read(folder.path().join(file)).unwrap();
        for _ in 0..300 {
            let mut bytes = whole.clone();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(0..bytes.len());
                match random.u8(0..3) {
                    0 => bytes[at] = random.u8(..),
                    1 => drop(bytes.drain(at..(at + random.usize(1..9)).min(bytes.len()))),
                    _ => bytes.insert(at, random.u8(..)),
                }
            }
            std::fs::write(folder.path().join(file), &bytes).unwrap();
            let loaded = SavedModel::load(folder.path());
            match loaded.and_then(|saved| saved.plan().map(drop)) {
                Ok(()) => {}
                Err(error) => {
                    refused += 1;
                    assert!(!error.to_string().is_empty());
                }
            }
        }
        std::fs::write(folder.path().join(file), &whole).unwrap();
    }
    assert!(refused > 200, "{refused} of 600");
    assert!(SavedModel::load(folder.path()).is_ok());
}
