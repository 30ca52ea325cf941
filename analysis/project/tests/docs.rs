//! Checks the documentation of the rules: each example has the rule's finding, and the code under "Use instead" has
//! neither this finding nor an error.

mod support;

use ag_db::diagnostic::Severity;
use ag_rules::registry::RULES;
use ag_rules::{Check, FixAvailability};

const SECTIONS: [&str; 9] = [
    "What it does",
    "Why is this bad?",
    "Example",
    "Use instead",
    "Fix safety",
    "What TensorFlow reports",
    "What Keras reports",
    "What torch reports",
    "What jax reports",
];

#[test]
fn pages_have_their_sections() {
    for rule in RULES {
        let sections: Vec<&str> =
            rule.docs.lines().filter_map(|line| line.trim().strip_prefix("## ")).collect();
        let known: Vec<&str> = SECTIONS.into_iter().filter(|section| sections.contains(section)).collect();
        assert_eq!(sections, known, "{}: unknown sections or wrong order", rule.code);
        assert!(sections.starts_with(&["What it does", "Why is this bad?"]), "{}", rule.code);
        assert_eq!(
            sections.contains(&"Fix safety"),
            rule.fix != FixAvailability::None,
            "{}: a rule with fixes documents their safety",
            rule.code
        );
        if !matches!(rule.check, Check::Engine) {
            assert!(sections.contains(&"Example") && sections.contains(&"Use instead"), "{}", rule.code);
        }
    }
}

#[test]
fn examples_trigger_their_rule() {
    let mut wrong = Vec::new();
    for (code, block) in blocks("Example") {
        if !block.findings.iter().any(|(_, finding)| finding.code == code) {
            wrong.push(format!("the example of {code} does not have the finding:\n{}", block.text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn replacements_have_no_errors() {
    let mut wrong = Vec::new();
    for (code, block) in blocks("Use instead") {
        for (line, finding) in &block.findings {
            if finding.code == code || finding.severity == Severity::Error {
                wrong.push(format!(
                    "{code}, line {line}: {}: {}\n{}",
                    finding.code, finding.message, block.text
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the checked code blocks of a section, over all rules.
fn blocks(section: &str) -> Vec<(&'static str, support::Checked)> {
    let mut files = Vec::new();
    let mut codes = Vec::new();
    for rule in RULES {
        // The text of a doc comment starts with the space after `///`.
        let page: Vec<&str> = rule.docs.lines().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
        for block in
            support::python_blocks(&page.join("\n")).into_iter().filter(|block| block.heading == section)
        {
            codes.push(rule.code);
            files.push((rule.code.to_owned(), block.text));
        }
    }
    assert!(!codes.is_empty(), "no page has a block under {section:?}");
    codes.into_iter().zip(support::check(files)).collect()
}
