//! The bundled stubs are part of the crate, so it is rebuilt when they change.

fn main() {
    println!("cargo::rerun-if-changed=stubs");
}
