//! Compiles graphs that are written as text, and calls them from C programs.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::fs;
use std::path::Path;
use std::process::Command;

use ag_graph::ir::Graph;
use ag_graph::ir::text::parse;
use ag_library::{Library, LibraryError, Source};

const SOURCE: Source<'static> = Source { function: "decay", file: "model.py", line: 3 };

fn graph(function: &str) -> Graph {
    parse(&format!("graph 1\nfile 0 \"model.py\"\n{function}"))
        .unwrap_or_else(|error| panic!("{error}\n{function}"))
}

fn compiled(name: &str, function: &str, captures: &[&[f32]]) -> Result<Library, LibraryError> {
    let captures: Vec<Vec<u8>> =
        captures.iter().map(|items| items.iter().flat_map(|item| item.to_le_bytes()).collect()).collect();
    let captures: Vec<&[u8]> = captures.iter().map(|bytes| &bytes[..]).collect();
    Library::new(name, &graph(function), &captures, &["result".to_owned(), "steps".to_owned()], &SOURCE)
}

/// Writes the files of a function, and returns the names of its C files for the compiler.
fn write(folder: &Path, name: &str, library: &Library) {
    fs::write(folder.join(format!("{name}.so")), &library.object).unwrap();
    fs::write(folder.join(format!("{name}.h")), &library.header).unwrap();
}

/// Compiles a C program with these libraries, and returns what it prints.
fn run(folder: &Path, libraries: &[&str], main: &str) -> String {
    fs::write(folder.join("main.c"), main).unwrap();
    let mut command = Command::new("cc");
    command.current_dir(folder).args(["-std=c99", "-Wall", "-Wextra", "-Werror", "main.c"]);
    command.args(libraries.iter().map(|name| format!("./{name}.so"))).args(["-o", "main"]);
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let done = Command::new(folder.join("main")).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

/// `while x.sum() > limit: x, steps = x * rate, steps + 1`, where `rate` is captured.
const DECAY: &str = r#"
func @main(%x.0: f32[2,2] = argument "x", %limit.1: float = argument "limit", %rate.2: f32[2] = capture 0) -> (f32[2,2], int) {
  %3: f32[2,2], %4: int = while(%x.0, 0)
    cond(%5: f32[2,2], %6: int) {
      %7: f32[] = aten.sum.default(%5, none)
      %8: float = item(%7)
      %9: bool = scalar.gt(%8, %limit.1)
      yield %9
    }
    body(%10: f32[2,2], %11: int) {
      %12: f32[2,2] = aten.mul.Tensor(%10, %rate.2)
      %13: int = scalar.add(%11, 1)
      yield %12, %13
    }
  return %3, %4
}"#;

#[test]
fn a_c_program_calls_a_function() {
    let folder = tempfile::tempdir().unwrap();
    let library = compiled("decay", DECAY, &[&[0.5, 0.25]]).unwrap();
    write(folder.path(), "decay", &library);
    let main = r#"
#include <stdio.h>
#include "decay.h"

int main(void)
{
    const float x[4] = {8, 8, 8, 8};
    float result[4];
    int64_t steps;
    if (decay(x, 3.0, result, &steps) != 0) {
        printf("%s\n", decay_error());
        return 1;
    }
    printf("%g %g %g %g after %d\n", result[0], result[1], result[2], result[3], (int)steps);
    int code = decay(0, 3.0, result, &steps);
    printf("%d: %s\n", code, decay_error());
    return 0;
}"#;
    assert_eq!(
        run(folder.path(), &["decay"], main),
        "1 0.125 1 0.125 after 3\n1: argument `x` is a null pointer\n"
    );
}

/// Each library has its own model and its own names, although both are copies of one template.
#[test]
fn a_program_can_use_several_functions() {
    let folder = tempfile::tempdir().unwrap();
    for (name, factor) in
        [("twice", "2.0"), ("a_name_of_the_maximum_length_which_is_fifty_six_letters_", "3.0")]
    {
        let function = format!(
            "func @main(%x.0: f32[1] = argument \"x\") -> (f32[1]) {{\n  %1: f32[1] = aten.mul.Tensor(%x.0, {factor})\n  return %1\n}}"
        );
        match compiled(name, &function, &[]) {
            Ok(library) => write(folder.path(), name, &library),
            Err(error) => panic!("{error}"),
        }
    }
    let main = r#"
#include <stdio.h>
#include "twice.h"
#include "a_name_of_the_maximum_length_which_is_fifty_six_letters_.h"

int main(void)
{
    const float x[1] = {5};
    float a[1], b[1];
    int failed = twice(x, a) + a_name_of_the_maximum_length_which_is_fifty_six_letters_(x, b);
    printf("%d %g %g\n", failed, a[0], b[0]);
    return 0;
}"#;
    let names = ["twice", "a_name_of_the_maximum_length_which_is_fifty_six_letters_"];
    assert_eq!(run(folder.path(), &names, main), "0 10 15\n");
}

/// `x[index]`
#[test]
fn an_error_names_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let function = r#"
func @main(%x.0: f32[3] = argument "x", %index.1: int = argument "index") -> (f32[]) {
  %2: f32[] = aten.select.int(%x.0, 0, %index.1) at 0:7:4-7:12
  return %2
}"#;
    let library = compiled("item", function, &[]).unwrap();
    write(folder.path(), "item", &library);
    let main = r#"
#include <stdio.h>
#include "item.h"

int main(void)
{
    const float x[3] = {1, 2, 3};
    float result = 0;
    int code = item(x, -1, &result);
    printf("%d %g\n", code, result);
    code = item(x, 3, &result);
    printf("%d %s\n", code, item_error());
    return 0;
}"#;
    let printed = run(folder.path(), &["item"], main);
    assert!(
        printed.starts_with("0 3\n1 model.py:7: `aten.select.int` failed: an index is out of range"),
        "{printed}"
    );
}

/// The library needs the C library and libgcc_s only, and is small.
#[test]
fn a_library_needs_no_libtorch() {
    let library = compiled("decay", DECAY, &[&[0.5, 0.25]]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "decay", &library);
    let output = Command::new("readelf").args(["-dW"]).arg(folder.path().join("decay.so")).output().unwrap();
    let needed: Vec<String> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter(|line| line.contains("(NEEDED)"))
        .map(|line| line.split(['[', ']']).nth(1).unwrap_or_default().to_owned())
        .collect();
    assert!(!needed.is_empty());
    let allowed = |name: &String| {
        ["libc.", "libm.", "libgcc_s.", "ld-linux"].iter().any(|known| name.starts_with(known))
    };
    assert!(needed.iter().all(allowed), "{needed:?}");
    assert!(library.object.len() < 4 << 20, "{} bytes", library.object.len());
}

#[test]
fn an_operator_of_libtorch_is_an_error_at_its_line() {
    let function = r#"
func @main(%x.0: f32[3] = argument "x") -> (f32[3]) {
  %1: f32[3] = aten.mul.Tensor(%x.0, 2.0)
  %2: f32[3] = aten.erfinv.default(%1) at 0:9:4-9:12
  return %2
}"#;
    let Err(LibraryError::Unsupported(error)) = compiled("f", function, &[]) else {
        panic!("it is supported")
    };
    assert!(error.message.contains("erfinv"), "{error}");
    assert_eq!(error.span.unwrap().start.0, 9);
    assert!(matches!(compiled("not a name", DECAY, &[&[0.0; 2]]), Err(LibraryError::Name(_))));
    assert!(matches!(compiled("cut", DECAY, &[&[0.0]]), Err(LibraryError::Model(_))));
}
