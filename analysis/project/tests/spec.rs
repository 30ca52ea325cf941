//! Checks the specification in `tests/spec/*.md`.
//!
//! Each Python block is a separate file, checked with all rules. Comments state the expected findings and binding times:
//!
//! ```python
//! if x > 0:        # error: [AG101] "bound only when"   (optional: part of the message)
//! if flag:         # python
//! ```
//!
//! The findings must match the comments exactly.

mod support;

use std::path::Path;

use support::Checked;

#[test]
fn findings_match_the_comments() {
    let mut wrong = Vec::new();
    for block in checked() {
        compare(&block, &mut wrong);
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

/// A fix removes its finding and produces valid Python.
#[test]
fn fixes_remove_their_finding() {
    let mut fixed = Vec::new();
    for block in checked() {
        for (line, finding) in &block.findings {
            let Some(fix) = &finding.fix else { continue };
            let mut text = block.text.clone();
            for edit in fix.edits.iter().rev() {
                text.replace_range(std::ops::Range::<usize>::from(edit.range), &edit.text);
            }
            let title = format!("{}, line {line}: {}", block.title, fix.message);
            fixed.push((title, text, finding.code, count(&block, finding.code)));
        }
    }
    let repaired = support::check(fixed.iter().map(|(title, text, ..)| (title.clone(), text.clone())));
    for (block, (title, text, code, before)) in repaired.iter().zip(&fixed) {
        let found = count(block, "AG900");
        assert_eq!(found, 0, "{title}: the fixed text is not valid Python:\n{text}");
        assert!(count(block, code) < *before, "{title}: {code} is still found:\n{text}");
    }
}

/// Checks the blocks in small groups, because a large project is not analyzed completely.
fn checked() -> Vec<Checked> {
    const GROUP_SIZE: usize = 60;
    spec().chunks(GROUP_SIZE).flat_map(|blocks| support::check(blocks.to_vec())).collect()
}

fn count(block: &Checked, code: &str) -> usize {
    block.findings.iter().filter(|(_, finding)| finding.code == code).count()
}

fn spec() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/spec");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder exists")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let markdown = std::fs::read_to_string(&path).expect("a committed page");
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        for block in support::python_blocks(&markdown) {
            files.push((format!("{name}:{} ({})", block.line, block.heading), block.text));
        }
    }
    assert!(!files.is_empty(), "the specification has blocks");
    files
}

/// The expectation in a comment.
enum Expected<'a> {
    Finding { severity: &'a str, code: &'a str, message: Option<&'a str> },
    Binding(&'a str),
}

fn expectations(line: &str) -> Vec<Expected<'_>> {
    let comments = line.split('#').skip(1).map(str::trim);
    comments
        .filter_map(|comment| {
            let first = comment.split([',', ' ', ':']).next()?;
            match first {
                "staged" | "python" | "mixed" if first.len() == comment.len() => {
                    Some(Expected::Binding(first))
                }
                "error" | "warning" | "info" => {
                    let (code, rest) = comment.strip_prefix(first)?.strip_prefix(": [")?.split_once(']')?;
                    let message = rest.trim().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
                    Some(Expected::Finding { severity: first, code, message })
                }
                _ => None,
            }
        })
        .collect()
}

fn compare(block: &Checked, wrong: &mut Vec<String>) {
    let mut found: Vec<_> = block.findings.iter().collect();
    for (index, text) in block.text.lines().enumerate() {
        let line = index + 1;
        let mut report =
            |what: String| wrong.push(format!("{}, line {line}: {what}\n    {}", block.title, text.trim()));
        for expected in expectations(text) {
            match expected {
                Expected::Finding { severity, code, message } => {
                    let position = found.iter().position(|(at, finding)| {
                        *at == line
                            && finding.code == code
                            && finding.severity.as_str() == severity
                            && message.is_none_or(|message| finding.message.contains(message))
                    });
                    match position {
                        Some(position) => drop(found.remove(position)),
                        None => report(format!("no such {severity} {code} {}", message.unwrap_or_default())),
                    }
                }
                Expected::Binding(binding) => {
                    let construct = block.constructs.iter().find(|(at, _)| *at == line);
                    let found = construct.map_or("no construct", |(_, construct)| construct.binding.as_str());
                    if found != binding {
                        report(format!("is {found}, not {binding}"));
                    }
                }
            }
        }
    }
    for (line, finding) in found {
        let text = block.text.lines().nth(line - 1).unwrap_or_default().trim();
        let severity = finding.severity.as_str();
        wrong.push(format!(
            "{}, line {line}: unexpected {severity} {}: {}\n    {text}",
            block.title, finding.code, finding.message
        ));
    }
}
