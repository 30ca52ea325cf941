//! `ag-lsp run` and `ag-lsp graph` without the runtime: the error names the missing package and how to install it.
//! The tests of the runtime cover both commands with the runtime.

use crate::project::Project;

const PROGRAM: &str = "print('started')\n";

#[test]
fn errors_are_reported_before_anything_is_run() {
    let project = Project::new(&[("train.py", PROGRAM), ("bin/python", "no program")]);
    let cases: &[(&[&str], &str)] = &[
        (&["run", "missing.py"], "no such file: `missing.py`"),
        (
            &["run", "--python", "missing", "train.py"],
            "`missing` is not a Python interpreter or virtual environment",
        ),
        (&["run", "--python", ".", "train.py"], "does not start"),
        (&["graph", "train.py"], "`train.py` does not name a function; write FILE::QUALNAME"),
        (&["graph", "missing.py::step"], "no such file: `missing.py`"),
        (&["graph", "--output-format", "png", "train.py::step"], "invalid value 'png'"),
    ];
    for (arguments, message) in cases {
        let answer = project.run(arguments);
        assert_eq!(answer.code, Some(2), "{arguments:?}: {answer:?}");
        assert!(answer.stderr.contains(message), "{arguments:?}: {answer:?}");
        assert_eq!(answer.stdout, "");
    }
}

/// Creates an environment without packages.
#[test]
fn a_missing_runtime_is_an_error() {
    let project = Project::new(&[("train.py", PROGRAM)]);
    let status = std::process::Command::new("python3")
        .args(["-m", "venv", "--without-pip"])
        .arg(project.path(".venv"))
        .status()
        .expect("the tests need Python");
    assert!(status.success());
    for arguments in [&["run", "train.py"][..], &["graph", "train.py::step"]] {
        let mut command = project.command(arguments);
        command.env_remove("VIRTUAL_ENV").env_remove("CONDA_PREFIX").env_remove("PYTHONPATH");
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("the runtime is not installed"), "{stderr}");
        // The command installs from the checkout, because no registry has the package.
        assert!(stderr.contains("`runtime/setup && "), "{stderr}");
        assert!(stderr.contains("-m pip install ./runtime`"), "{stderr}");
        let repository = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert!(repository.join("runtime/setup").is_file());
        assert!(repository.join("runtime/pyproject.toml").is_file());
        assert!(output.stdout.is_empty());
    }
}
