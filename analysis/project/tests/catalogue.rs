//! The catalogue of errors (`tests/conformance/catalogue`): the kinds of errors of each framework, and whether a rule
//! finds them.
//!
//! A kind with the verdict *found* has a finding of its rule in each of its programs: on the recorded line, or at the
//! cause elsewhere in the function. If a kind with the verdict *not yet* or *not visible* has one program, there is no
//! finding on its recorded line. Programs that the framework accepts have neither errors nor warnings. `AG_BLESS=1`
//! updates the table.

mod support;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use ag_db::diagnostic::Severity;
use serde::Deserialize;
use support::{Checked, check};

/// The minimum of found / (found + not yet) in each framework.
const MIN_FOUND: f64 = 0.85;
const TABLE: &str = "<!-- table -->\n";

#[derive(Deserialize)]
struct Entry {
    kind: String,
    source: String,
    message: String,
    verdict: Verdict,
    rule: Option<String>,
    why: Option<String>,
}

impl Entry {
    /// Returns whether the entry names this rule. It may name several rules, `AG503, AG509`, for an error with several
    /// causes.
    fn is_found_by(&self, code: &str) -> bool {
        self.rule.as_deref().is_some_and(|rules| rules.split(", ").any(|rule| rule == code))
    }
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    #[serde(rename = "found")]
    Found,
    #[serde(rename = "not yet")]
    NotYet,
    #[serde(rename = "not visible")]
    NotVisible,
    #[serde(rename = "not caused by program text")]
    NotProgramText,
}

#[derive(Deserialize)]
struct Recording {
    errors: Vec<Program>,
}

/// The recorded behavior of the framework for one function.
#[derive(Deserialize)]
struct Program {
    function: String,
    kind: Option<String>,
    raises: bool,
    #[serde(default)]
    message: String,
    line: Option<usize>,
}

/// A module of programs, and its findings.
struct Module {
    name: String,
    programs: Vec<Program>,
    checked: Checked,
}

#[test]
fn verdicts_agree_with_findings() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/catalogue");
    let mut wrong = Vec::new();
    let mut table =
        "| framework | kinds | found | not yet | not visible | not caused by program text | figure |\n\
         |---|---|---|---|---|---|---|\n"
            .to_owned();
    for list in sorted_files(&folder, "json") {
        let framework = stem(&list);
        let entries: Vec<Entry> = read(&list);
        let modules = modules(&folder.join(&framework));
        wrong
            .extend(disagreements(&entries, &modules).into_iter().map(|text| format!("{framework}: {text}")));
        let count = |verdict| entries.iter().filter(|entry| entry.verdict == verdict).count();
        let (found, not_yet) = (count(Verdict::Found), count(Verdict::NotYet));
        let share = found as f64 / (found + not_yet).max(1) as f64;
        let _ = writeln!(
            table,
            "| {framework} | {} | {found} | {not_yet} | {} | {} | {:.0} % |",
            entries.len(),
            count(Verdict::NotVisible),
            count(Verdict::NotProgramText),
            share * 100.0
        );
        if share < MIN_FOUND {
            wrong.push(format!("{framework}: {found} of {} visible kinds are found", found + not_yet));
        }
    }
    assert!(wrong.is_empty(), "{} disagreements:\n{}", wrong.len(), wrong.join("\n"));
    let readme = folder.join("README.md");
    let text = std::fs::read_to_string(&readme).expect("the catalogue has a README");
    let (before, _) = text.split_once(TABLE).expect("the README has a table");
    let written = format!("{before}{TABLE}{table}");
    if std::env::var_os("AG_BLESS").is_some() {
        std::fs::write(readme, written).expect("the README can be written");
    } else {
        assert_eq!(text, written, "run with AG_BLESS=1 and read what has changed");
    }
}

fn disagreements(entries: &[Entry], modules: &[Module]) -> Vec<String> {
    let mut programs: BTreeMap<&str, Vec<(&Module, &Program)>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for module in modules {
        for program in &module.programs {
            let name = format!("{}.{}", module.name, program.function);
            match &program.kind {
                Some(kind) if !entries.iter().any(|entry| entry.kind == *kind) => {
                    wrong.push(format!("{name}: the kind {kind} is not in the list"));
                }
                Some(_) if !program.raises => wrong.push(format!("{name}: the framework accepts it")),
                Some(kind) => programs.entry(kind).or_default().push((module, program)),
                None if program.raises => wrong.push(format!("{name}: the framework rejects it")),
                None => {}
            }
        }
        wrong.extend(false_alarms(module));
    }
    for entry in entries {
        let kind = &entry.kind;
        let of_kind = programs.get(kind.as_str()).map_or(&[][..], Vec::as_slice);
        if entry.verdict == Verdict::Found && entry.rule.is_none()
            || matches!(entry.verdict, Verdict::NotVisible | Verdict::NotProgramText) && entry.why.is_none()
        {
            wrong.push(format!(
                "{kind} ({}): the entry has no rule, or no reason for its verdict",
                entry.source
            ));
        }
        if matches!(entry.verdict, Verdict::Found | Verdict::NotYet) && of_kind.is_empty() {
            wrong.push(format!("{kind}: no program"));
        }
        for (module, program) in of_kind {
            let name = format!("{}.{}", module.name, program.function);
            if !matches(&program.message, &entry.message) {
                wrong
                    .push(format!("{name}: the recorded message is not of kind {kind}: {}", program.message));
            }
            let codes = codes(module, program);
            match entry.verdict {
                Verdict::Found if !codes.iter().any(|(_, code)| entry.is_found_by(code)) => {
                    wrong.push(format!("{name}: {kind} has no finding of {:?}, only {codes:?}", entry.rule));
                }
                Verdict::NotYet | Verdict::NotVisible
                    if of_kind.len() == 1 && codes.iter().any(|(line, _)| Some(*line) == program.line) =>
                {
                    wrong.push(format!(
                        "{name}: {kind} has a finding on its recorded line: {codes:?}, but its verdict is {:?}",
                        entry.verdict
                    ));
                }
                _ => {}
            }
        }
    }
    wrong
}

/// Returns the errors and warnings in functions that the framework accepts.
fn false_alarms(module: &Module) -> Vec<String> {
    let accepted = module.programs.iter().filter(|program| !program.raises);
    accepted
        .flat_map(|program| {
            let codes = codes(module, program).into_iter();
            codes.map(|(line, code)| format!("{}.{}:{line}: {code}", module.name, program.function))
        })
        .collect()
}

/// Returns the errors and warnings in the function or class of a program, with their lines.
fn codes(module: &Module, program: &Program) -> Vec<(usize, &'static str)> {
    let starts = starts(&module.checked.text);
    let found = module.checked.findings.iter().filter(|(line, finding)| {
        let function = starts.range(..=line).next_back();
        finding.severity > Severity::Info && function.is_some_and(|(_, name)| *name == program.function)
    });
    found.map(|(line, finding)| (*line, finding.code)).collect()
}

/// Returns the first lines, including decorators, of the top-level functions and classes of a module.
fn starts(text: &str) -> BTreeMap<usize, String> {
    let mut starts = BTreeMap::new();
    let mut decorated = None;
    for (index, line) in text.lines().enumerate() {
        if line.starts_with('@') {
            decorated.get_or_insert(index + 1);
        }
        let name = line.strip_prefix("def ").or_else(|| line.strip_prefix("class "));
        if let Some(name) = name {
            let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
            let name = &name[..end.unwrap_or(name.len())];
            starts.insert(decorated.take().unwrap_or(index + 1), name.to_owned());
        }
    }
    starts
}

/// Returns whether a recorded message, which may be truncated, contains the longest literal part of `pattern`. The
/// pattern is a message with placeholders in braces.
fn matches(recorded: &str, pattern: &str) -> bool {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut literals = Vec::new();
    let mut rest = pattern;
    while let Some((literal, after)) = rest.split_once('{') {
        literals.push(words(literal));
        rest = after.split_once('}').map_or("", |(_, after)| after);
    }
    literals.push(words(rest));
    let longest = literals.into_iter().max_by_key(String::len).unwrap_or_default();
    let start: String = longest.chars().take(60).collect();
    words(recorded).contains(start.trim_end())
}

fn modules(folder: &Path) -> Vec<Module> {
    let paths = sorted_files(folder, "py");
    let texts =
        paths.iter().map(|path| (stem(path), std::fs::read_to_string(path).expect("a module is readable")));
    let programs = paths.iter().map(|path| read::<Recording>(&path.with_extension("json")).errors);
    let modules = check(texts).into_iter().zip(programs);
    modules.map(|(checked, programs)| Module { name: checked.title.clone(), programs, checked }).collect()
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> T {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn stem(path: &Path) -> String {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned()
}

fn sorted_files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    paths.sort();
    paths
}
