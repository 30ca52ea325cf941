//! Builds the template of the shared libraries (`template/`), which `src/lib.rs` includes as bytes. It is a crate of its
//! own, since Cargo has no stable way to depend on the file of a `cdylib`.

use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::process::Command;

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..");
    for path in
        ["Cargo.lock", "runtime/library/template", "runtime/standalone", "runtime/native", "runtime/graph"]
    {
        println!("cargo::rerun-if-changed={}", root.join(path).display());
    }
    let target = PathBuf::from(env::var("OUT_DIR")?).join("target");
    let triple = env::var("TARGET")?;
    // The template is always optimized, and has no symbols but the exported ones.
    let status = Command::new(env::var("CARGO")?)
        .args([
            "rustc",
            "--locked",
            "--package",
            "ag-template",
            "--lib",
            "--release",
            "--crate-type",
            "cdylib",
        ])
        .args(["--target", &triple, "--manifest-path"])
        .arg(root.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .args(["--", "-C", "strip=symbols"])
        // Flags of this build, such as those of clippy, do not apply to the template.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTFLAGS")
        .status()?;
    if !status.success() {
        return Err("cargo cannot build the crate ag-template".into());
    }
    let template = target.join(triple).join("release/libag_template.so");
    println!("cargo::rustc-env=AG_TEMPLATE={}", template.display());
    Ok(())
}
