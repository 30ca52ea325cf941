//! Compares findings with recorded errors of TensorFlow.
//!
//! The functions of the `errors_*` modules run separately. `RULES` names the rule that each violates, or `None`.
//! If TensorFlow raised, the finding must be on the line that TensorFlow reports. A correct function must not have
//! a finding of severity error.

use std::collections::BTreeMap;
use std::path::Path;

use ag_db::diagnostic::Severity;
use ag_index::index::file_index;
use ag_project::config::Settings;
use ag_project::{Engine, Environment};
use ag_rules::registry;
use ag_rules::selection::RuleTable;
use ruff_db::system::{OsSystem, SystemPathBuf};
use ruff_source_file::LineIndex;
use serde_json::Value;

/// The maximum fraction of recorded faults without a finding. The analysis does not know shapes, and does not track
/// side effects of called functions.
const MAX_MISSED: f64 = 0.10;

struct Found {
    module: String,
    line: u64,
    code: &'static str,
    severity: Severity,
    message: String,
}

#[test]
fn recorded_faults_have_findings_and_correct_functions_have_none() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/recorded/tensorflow");
    let folder = SystemPathBuf::from_path_buf(folder.canonicalize().expect("it exists")).expect("UTF-8");
    let (found, functions) = found(&folder);
    let (mut faults, mut missed, mut false_errors) = (0, Vec::new(), Vec::new());
    for (module, result) in recordings(&folder) {
        let example = result["function"].as_str().unwrap_or_default();
        let error = result["error"]["line"].as_u64();
        let extent = functions.get(&(module.clone(), qualname(example))).copied();
        let within = |line: u64| extent.is_some_and(|(first, last)| (first..=last).contains(&line));
        match result["rule"].as_str() {
            // The rule is not implemented.
            Some(rule) if registry::find(rule).is_none() => {}
            Some(rule) => {
                faults += 1;
                let is_found = found.iter().any(|found| {
                    found.module == module
                        && found.code == rule
                        && error.map_or_else(|| within(found.line), |line| line == found.line)
                });
                if !is_found {
                    missed.push(format!("{module}.{example}: {rule} on line {error:?}"));
                }
            }
            None if result["error"].is_object() => {}
            None => {
                let wrong = found.iter().filter(|found| {
                    found.module == module && found.severity == Severity::Error && within(found.line)
                });
                false_errors.extend(wrong.map(|found| {
                    format!("{module}.{example}:{}: {} {}", found.line, found.code, found.message)
                }));
            }
        }
    }
    let share = missed.len() as f64 / f64::from(faults.max(1));
    let missed = missed.join("\n");
    println!("{faults} recorded faults, missed:\n{missed}");
    assert!(false_errors.is_empty(), "errors in correct functions:\n{}", false_errors.join("\n"));
    assert!(share <= MAX_MISSED, "{:.0} % of {faults} recorded faults are missed:\n{missed}", share * 100.0);
}

/// Returns the results of all `errors_*` recordings, each with its module.
fn recordings(folder: &SystemPathBuf) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for module in modules(folder) {
        let text =
            std::fs::read_to_string(folder.join(format!("{module}.json"))).expect("a committed recording");
        let recording: Value = serde_json::from_str(&text).expect("a recording is JSON");
        let results = recording["results"].as_array().cloned().unwrap_or_default();
        assert!(!results.is_empty(), "{module} has no results");
        all.extend(results.into_iter().map(|result| (module.clone(), result)));
    }
    all
}

fn modules(folder: &SystemPathBuf) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder exists")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(".py")?.to_owned()))
        .filter(|name| name.starts_with("errors_"))
        .collect();
    names.sort();
    names
}

/// The first and last line of each function, by module and name.
type Extents = BTreeMap<(String, String), (u64, u64)>;

fn found(folder: &SystemPathBuf) -> (Vec<Found>, Extents) {
    let settings = Settings { rules: RuleTable::all(), ..Settings::default() };
    let mut engine =
        Engine::open(OsSystem::new(folder), folder, settings, Environment::default()).expect("opens");
    let paths = modules(folder).into_iter().map(|module| folder.join(format!("{module}.py")));
    engine.add_files(paths).expect("readable");
    engine.analyze(&|_, _| {});
    let (mut all, mut functions) = (Vec::new(), Extents::new());
    for document in engine.documents() {
        let file = document.file(engine.db());
        let text = engine.text(file);
        let lines = LineIndex::from_source_text(text.as_str());
        let line = |offset| lines.line_index(offset).get() as u64;
        let module = engine.path(file).file_stem().unwrap_or_default().to_owned();
        for entry in &file_index(engine.db(), document).definitions.functions {
            let extent = (line(entry.range.start()), line(entry.range.end()));
            functions.insert((module.clone(), entry.path.qualname.to_string()), extent);
        }
        all.extend(engine.findings(document).into_iter().map(|finding| Found {
            module: module.clone(),
            line: line(finding.location.range.start()),
            code: finding.code,
            severity: finding.severity,
            message: finding.message,
        }));
    }
    (all, functions)
}

/// Maps the callee of an example to a function: `Meter(3).count` to `Meter.count`.
fn qualname(example: &str) -> String {
    let mut depth = 0;
    let outside = example.chars().filter(|character| {
        depth += i32::from(*character == '(');
        let keep = depth == 0;
        depth -= i32::from(*character == ')');
        keep
    });
    outside.collect()
}
