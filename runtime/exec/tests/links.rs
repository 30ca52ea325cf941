//! Shared libraries that programs built from this crate load.

use std::process::Command;

/// `torch-sys` is built with Python support, which the extension module needs. Other programs must not load libpython.
#[test]
fn no_program_needs_python() {
    let program = std::env::current_exe().expect("a test runs from a file");
    let output = Command::new("readelf").arg("-dW").arg(program).output().expect("binutils are installed");
    let needed: Vec<_> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter(|line| line.contains("(NEEDED)"))
        .map(str::to_owned)
        .collect();
    assert!(ag_exec::threads() > 0);
    assert!(needed.iter().any(|line| line.contains("libtorch_cpu.so")), "{needed:#?}");
    assert!(!needed.iter().any(|line| line.contains("python")), "{needed:#?}");
}
