//! Sets the path (rpath) at which the installed extension finds the libraries of torch: it is in
//! `site-packages/autograph`, beside `site-packages/torch`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-cdylib=-Wl,-rpath,$ORIGIN/../torch/lib");
}
