//! `tests/conversion/README.md`: pairs of source and converted code, compared exactly.
//!
//! `AG_BLESS=1` updates the converted code of each pair, for manual review.

use std::fmt::Write;

use ag_convert::{Converter, OperatorSet, Options, View};
use ruff_python_ast::PySourceType;

const SPEC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/conversion/README.md");
const SOURCE: &str = "```python\n";
const CONVERTED: &str = "```python converted\n";
const END: &str = "```\n";

fn convert(source: &str) -> String {
    let mut options = Options::default();
    let mut code = source;
    while let Some((key, rest)) = code.strip_prefix("# ").and_then(|rest| rest.split_once(": "))
        && let Some((value, rest)) = rest.split_once('\n')
    {
        match key {
            "view" if value == "simplified" => options.view = View::Simplified,
            "dialect" if value == "snek" => options.operator_set = OperatorSet::Snek,
            "pass" => options.until = Some(value.parse().expect("a pass")),
            "features" => assert!(options.features.enable(value), "{value}"),
            _ => break,
        }
        code = rest;
    }
    let converter = Converter::new(code, PySourceType::Python, &options).expect("shallow");
    assert_eq!(converter.errors().count(), 0, "{code}");
    converter.module().text
}

#[test]
fn converted_code_is_as_specified() {
    let spec = std::fs::read_to_string(SPEC).expect("the spec");
    let mut written = String::new();
    let mut pairs = 0;
    let mut rest = spec.as_str();
    while let Some((before, after)) = rest.split_once(SOURCE) {
        let (source, after) = after.split_once(END).expect("an end of the source");
        let (between, after) = after.split_once(CONVERTED).expect("converted code");
        assert_eq!(between.trim(), "", "only blank lines separate the blocks of a pair");
        let (_, after) = after.split_once(END).expect("an end of the converted code");
        let converted = convert(source);
        let _ = write!(written, "{before}{SOURCE}{source}{END}\n{CONVERTED}{converted}{END}");
        pairs += 1;
        rest = after;
    }
    written.push_str(rest);
    assert!(pairs > 10, "{pairs} pairs");
    if std::env::var_os("AG_BLESS").is_some() {
        std::fs::write(SPEC, &written).expect("the spec can be written");
    } else {
        assert_eq!(spec, written, "run with AG_BLESS=1 and review the changes");
    }
}

#[test]
fn verbatim_spans_of_the_source_map_have_equal_text() {
    let source = std::fs::read_to_string(SPEC).expect("the spec");
    for block in source.split(SOURCE).skip(1).filter_map(|rest| rest.split(END).next()) {
        let options = Options::default();
        let converter = Converter::new(block, PySourceType::Python, &options).expect("shallow");
        let module = converter.module();
        for span in module.map.spans() {
            let generated = &module.text[span.generated];
            if span.kind != ag_convert::SpanKind::Synthesized {
                assert_eq!(generated, &block[span.original], "{span:?}");
                let found = module.map.generated(span.original.start());
                assert!(found.contains(&span.generated.start()), "{span:?} {found:?}");
            }
        }
    }
}
