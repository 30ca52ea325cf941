//! The C header of a function.

use std::fmt::Write as _;

use ag_graph::ir::arithmetic::Kind;
use ag_native::Element;
use ag_standalone::{Argument, Value};

use crate::names::identifiers;

/// The source of a function.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    pub function: &'a str,
    pub file: &'a str,
    pub line: u32,
}

/// Returns the header. `paths` contains the path of each result.
pub(crate) fn header(
    name: &str,
    arguments: &[Argument],
    results: &[Value],
    paths: &[String],
    source: &Source<'_>,
) -> String {
    let result_path = |index: usize| paths.get(index).map_or("result", |path| &**path);
    let all = arguments.iter().map(|argument| &*argument.path);
    let mut names = identifiers(all.chain((0..results.len()).map(result_path)), &format!("{name}_run"));
    let result_names = names.split_off(arguments.len());

    let guard = format!("{}_H", name.to_ascii_uppercase());
    let comment = |text: &str| text.replace("*/", "* /").replace('\n', " ");
    let mut text = format!(
        "/* `{}` ({}:{}), compiled by ag.compile. Needs no library but libc, libm and libgcc_s. */\n",
        comment(source.function),
        comment(source.file),
        source.line
    );
    let _ = write!(
        text,
        "#ifndef {guard}\n#define {guard}\n\n#include <stdbool.h>\n#include <stdint.h>\n\n\
         #ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n\
         /* Runs the function on the addresses of its arguments and results, in order. Returns 0, or 1 after an error. */\n\
         int {name}_run(const void *const *arguments, void *const *results);\n\n\
         /* Returns a description of the last error of this thread, valid until the next call. */\n\
         const char *{name}_error(void);\n\n\
         #ifdef __cplusplus\n}}\n#endif\n\n"
    );

    text.push_str("/*\n * Runs the function. Returns 0, or 1 after an error. Several threads may call it at the same time.\n *\n");
    for (argument, name) in arguments.iter().zip(&names) {
        let what = argument.value.as_ref().map_or("not used, may be NULL".to_owned(), described);
        let _ = writeln!(text, " * {name}: {}{what}", renamed(&comment(&argument.path), name));
    }
    for (index, (result, name)) in results.iter().zip(&result_names).enumerate() {
        let path = renamed(&comment(result_path(index)), name);
        let _ = writeln!(text, " * {name} (written): {path}{}", described(result));
    }
    text.push_str(
        " *\n * Tensors are contiguous, with the last dimension innermost. A result must not overlap an argument or another\n \
         * result. After an error, the contents of results are undefined.\n */\n",
    );
    let mut parameters: Vec<String> = arguments
        .iter()
        .zip(&names)
        .map(|(argument, name)| match &argument.value {
            Some(Value::Tensor(element, _)) => format!("const {} *{name}", c_type(*element)),
            Some(Value::Number(kind)) => format!("{} {name}", c_number(*kind)),
            None => format!("const void *{name}"),
        })
        .collect();
    parameters.extend(results.iter().zip(&result_names).map(|(result, name)| match result {
        Value::Tensor(element, _) => format!("{} *{name}", c_type(*element)),
        Value::Number(kind) => format!("{} *{name}", c_number(*kind)),
    }));
    let addresses: Vec<String> = arguments
        .iter()
        .zip(&names)
        .map(|(argument, name)| match argument.value {
            Some(Value::Number(_)) => format!("&{name}"),
            _ => name.clone(),
        })
        .collect();
    let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    let _ = write!(
        text,
        "static inline int {name}({parameters})\n{{\n{}{}    return {name}_run({}, {});\n}}\n\n#endif\n",
        table("const void *const arguments", &addresses),
        table("void *const results", &result_names),
        if addresses.is_empty() { "0" } else { "arguments" },
        if result_names.is_empty() { "0" } else { "results" },
    );
    text
}

/// Returns the declaration of a table of addresses. C has no empty tables.
fn table(declared: &str, addresses: &[String]) -> String {
    if addresses.is_empty() {
        return String::new();
    }
    format!("    {declared}[] = {{{}}};\n", addresses.join(", "))
}

/// Returns the path for a comment, if the C name of the value differs from it; otherwise an empty text.
fn renamed(path: &str, name: &str) -> String {
    if path == name { String::new() } else { format!("`{path}`, ") }
}

fn described(value: &Value) -> String {
    match value {
        Value::Tensor(element, sizes) => {
            let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
            format!("{} [{}]", element.dtype().torch(), sizes.join(", "))
        }
        Value::Number(Kind::Bool) => "bool".into(),
        Value::Number(Kind::Int) => "int".into(),
        Value::Number(Kind::Float) => "float, a double in C".into(),
    }
}

fn c_type(element: Element) -> &'static str {
    match element {
        Element::F32 => "float",
        Element::F64 => "double",
        Element::I32 => "int32_t",
        Element::I64 => "int64_t",
        Element::Bool => "bool",
    }
}

fn c_number(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "bool",
        Kind::Int => "int64_t",
        Kind::Float => "double",
    }
}
