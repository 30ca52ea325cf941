//! What the converter promises, by example.

use ruff_python_ast::PySourceType;

use super::{Converter, Options, View};

fn convert(text: &str, options: &Options) -> String {
    Converter::new(text, PySourceType::Python, options).expect("shallow").module().text
}

#[test]
fn an_if_in_full_and_simplified() {
    let text = "def f(x):\n    # which way\n    if x > 0:\n        y = x  # kept\n    return y\n";
    let full = convert(text, &Options::default());
    let simplified = convert(text, &Options { view: View::Simplified, ..Options::default() });
    insta::assert_snapshot!(format!("{full}\n{simplified}"));
}
