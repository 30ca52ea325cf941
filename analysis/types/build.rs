//! The bundled stubs are part of the crate: a change in them rebuilds it.

fn main() {
    println!("cargo::rerun-if-changed=stubs");
}
