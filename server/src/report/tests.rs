//! Every format on one report: all severities, labels, a why-chain into another file, safe and unsafe fixes, multi-byte
//! characters, and an unreadable file.

use std::sync::Arc;

use ag_db::diagnostic::{Applicability, Severity};
use clap::ValueEnum;
use ruff_db::system::{SystemPath, SystemPathBuf};
use ruff_text_size::{TextRange, TextSize};

use super::*;

const MODEL: &str = "\
import tensorflow as tf

@tf.function
def f(größe, flag=True):
    größe += 1; y = 0 if flag else g(größe)
    if größe > 0:
        z = 1
    return z
";

const CALLER: &str = "from model import f\n\nf(1, flag=False)\n";

fn source(name: &str, text: &str) -> Arc<Source> {
    let path = SystemPathBuf::from(format!("/project/{name}"));
    Source::new(path, SystemPath::new("/project"), text.to_owned(), None)
}

/// Returns the location of the `index`-th occurrence of `words`.
fn location(source: &Arc<Source>, words: &str, index: usize) -> Location {
    let start = source.text().match_indices(words).nth(index).map_or(0, |(start, _)| start);
    let start = TextSize::try_from(start).unwrap();
    Location::new(source, TextRange::at(start, TextSize::of(words)))
}

fn related(message: &str, location: Option<Location>) -> RelatedMessage {
    RelatedMessage { message: message.to_owned(), location }
}

fn report() -> Report {
    let model = source("model.py", MODEL);
    let caller = source("caller.py", CALLER);
    let gone = source("gone, lost:100%.py", "");
    let line = location(&model, "    if größe", 0).range.start();
    let undefined = Violation {
        code: "AG101",
        name: "undefined-branch",
        severity: Severity::Error,
        message: "`z` is bound only when `größe > 0` holds".to_owned(),
        location: location(&model, "größe > 0", 0),
        labels: vec![related("bound here", Some(location(&model, "z", 0)))],
        why: vec![
            related("`größe` is a Tensor: a parameter of a tf.function", Some(location(&model, "größe", 0))),
            related("it is called with an `int` here", Some(location(&caller, "1", 0))),
        ],
        help: Some("bind it in both branches".to_owned()),
        fix: Some(Fix {
            message: "Define `z` before the `if`".to_owned(),
            applicability: Applicability::Unsafe,
            edits: vec![(Location::new(&model, TextRange::empty(line)), "    z = None\n".to_owned())],
        }),
    };
    let flag = Violation {
        code: "AG303",
        name: "python-flag",
        severity: Severity::Info,
        message: "`flag` is a Python bool".to_owned(),
        location: location(&model, "flag", 1),
        labels: Vec::new(),
        why: Vec::new(),
        help: None,
        fix: None,
    };
    let comment = Violation {
        code: "AG902",
        name: "unused-ignore",
        severity: Severity::Warning,
        message: "more than\none line".to_owned(),
        location: location(&caller, "import f\n\nf(1", 0),
        labels: Vec::new(),
        why: Vec::new(),
        help: None,
        fix: Some(Fix {
            message: "Remove it".to_owned(),
            applicability: Applicability::Safe,
            edits: vec![(location(&caller, ", flag=False", 0), String::new())],
        }),
    };
    let unreadable = Violation {
        code: "AG901",
        name: "io-error",
        severity: Severity::Error,
        message: "No such file".to_owned(),
        location: Location::new(&gone, TextRange::default()),
        labels: Vec::new(),
        why: Vec::new(),
        help: None,
        fix: None,
    };
    Report { violations: vec![comment, unreadable, flag, undefined] }
}

#[test]
fn formats() {
    for format in Format::value_variants() {
        let name = format.to_possible_value().unwrap().get_name().to_owned();
        let mut rendered = render(&report(), *format).unwrap();
        if *format == Format::Sarif {
            rendered = without_rules(&rendered);
        }
        let plain = anstream::adapter::strip_str(&rendered).to_string();
        insta::assert_snapshot!(name, plain);
    }
}

/// Removes the documentation of the rules, which may change.
fn without_rules(sarif: &str) -> String {
    let mut sarif: serde_json::Value = serde_json::from_str(sarif).unwrap();
    sarif["runs"][0]["tool"]["driver"]["rules"].take();
    for result in sarif["runs"][0]["results"].as_array_mut().unwrap() {
        result["ruleIndex"].take();
    }
    serde_json::to_string_pretty(&sarif).unwrap()
}

#[test]
fn nothing_found() {
    let nothing = Report { violations: Vec::new() };
    for format in [Format::Full, Format::Concise, Format::Grouped, Format::JsonLines, Format::Github] {
        assert_eq!(render(&nothing, format).unwrap(), "");
    }
    for format in [Format::Json, Format::Gitlab] {
        assert_eq!(render(&nothing, format).unwrap(), "[]\n");
    }
    insta::assert_snapshot!("nothing-junit", render(&nothing, Format::Junit).unwrap());
    insta::assert_snapshot!("nothing-sarif", render(&nothing, Format::Sarif).unwrap());
    insta::assert_snapshot!("nothing-rdjson", render(&nothing, Format::Rdjson).unwrap());
}

#[test]
fn summaries() {
    assert_eq!(
        summary(&report(), 2),
        "Fixed 2 findings. Found 2 errors, 1 warning, 1 note (1 fixable with --fix, 1 more with --unsafe-fixes).\n"
    );
    assert_eq!(summary(&Report { violations: Vec::new() }, 0), "All checks passed!\n");
}

#[test]
fn counts() {
    assert_eq!(
        statistics(&report(), Format::Full).unwrap(),
        "\
1  AG101  [-]  undefined-branch
1  AG303       python-flag
1  AG901       io-error
1  AG902  [*]  unused-ignore
"
    );
}

/// Moving a finding to another line must not make it a new one for GitLab.
#[test]
fn fingerprints_ignore_lines() {
    let fingerprints = |report: &Report| -> Vec<String> {
        let rendered: serde_json::Value =
            serde_json::from_str(&render(report, Format::Gitlab).unwrap()).unwrap();
        let items = rendered.as_array().unwrap();
        items.iter().map(|item| item["fingerprint"].as_str().unwrap().to_owned()).collect()
    };
    let mut moved = report();
    for violation in &mut moved.violations {
        violation.location = Location::new(&violation.location.source, TextRange::default());
    }
    assert_eq!(fingerprints(&report()), fingerprints(&moved));

    let mut twice = report();
    twice.violations.extend(report().violations);
    let mut distinct = fingerprints(&twice);
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 8);
}

/// A range of an older, longer text is clamped to the current text.
#[test]
fn ranges_are_clamped_to_the_text() {
    let source = source("a.py", "x\n");
    let location = Location::new(&source, TextRange::new(TextSize::new(1), TextSize::new(99)));
    assert_eq!((location.start().row, location.start().column), (1, 2));
    assert_eq!((location.end().row, location.end().column), (2, 1));
}
