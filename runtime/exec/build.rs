//! Compiles the C interface to torch's dispatcher, and sets the path where programs find torch's libraries.

use std::env;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/aten/dispatch.cpp");
    let Ok(libraries) = env::var("DEP_TCH_LIBTORCH_LIB") else {
        println!(
            "cargo::error=cannot find libtorch: torch-sys has not set its path; run runtime/setup first"
        );
        return;
    };
    let abi = env::var("LIBTORCH_CXX11_ABI").unwrap_or_else(|_| "1".into());
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .warnings(false)
        .define("_GLIBCXX_USE_CXX11_ABI", abi.as_str())
        .include(Path::new(&libraries).with_file_name("include"))
        .file("src/aten/dispatch.cpp")
        .compile("ag_dispatch");
    println!("cargo::rustc-link-arg=-Wl,-rpath,{libraries}");
}
