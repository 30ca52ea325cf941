//! Where the libraries of torch are found when a program starts.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let Ok(libraries) = env::var("DEP_TCH_LIBTORCH_LIB") else {
        println!("cargo::error=torch-sys does not say where libtorch is; run runtime/setup first");
        return;
    };
    if env::var_os("CARGO_FEATURE_PYTHON").is_some() {
        // Installed, the extension lies beside torch: site-packages/autograph, site-packages/torch.
        println!("cargo::rustc-link-arg-cdylib=-Wl,-rpath,$ORIGIN/../torch/lib");
        println!("cargo::rustc-link-arg-bins=-Wl,-rpath,{libraries}");
    } else {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{libraries}");
    }
}
