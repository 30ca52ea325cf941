//! Compares findings with recorded errors and graph breaks of PyTorch and JAX.
//!
//! The functions of the `errors*` modules run separately. `RULES` names the rule that each violates, or `None`. If the
//! library raised or broke its graph, the finding must be on the line that the library reports; a warning may be on
//! another line of the function, at the cause. A correct function must not have a finding of severity error.

use std::collections::BTreeMap;
use std::path::Path;

use ag_db::diagnostic::Severity;
use ag_index::index::file_index;
use ag_project::config::Settings;
use ag_project::{Engine, Environment};
use ag_rules::registry;
use ag_rules::selection::RuleTable;
use ruff_db::system::{OsSystem, SystemPathBuf};
use ruff_python_ast::{Expr, Stmt};
use ruff_source_file::LineIndex;
use serde_json::Value;

/// The maximum fraction of recorded faults without a finding. The analysis does not know shapes, and lambdas have no
/// inferred types.
const MAX_MISSED: f64 = 0.12;

struct Found {
    line: u64,
    code: &'static str,
    severity: Severity,
    message: String,
}

/// The findings in a module, and the first and last line of its functions.
struct Module {
    found: Vec<Found>,
    extents: BTreeMap<String, (u64, u64)>,
    /// `RULES`: the rule that each function violates.
    rules: BTreeMap<String, Option<String>>,
}

#[test]
fn torch_errors_are_found() {
    compare_with_recordings("torch");
}

#[test]
fn jax_errors_are_found() {
    compare_with_recordings("jax");
}

fn compare_with_recordings(library: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/recorded").join(library);
    let folder = SystemPathBuf::from_path_buf(folder.canonicalize().expect("it exists")).expect("UTF-8");
    let (mut faults, mut missed, mut false_errors) = (0, Vec::new(), Vec::new());
    for (name, module) in modules(&folder) {
        let recording =
            std::fs::read_to_string(folder.join(format!("{name}.json"))).expect("a committed recording");
        let recording: Value = serde_json::from_str(&recording).expect("a recording is JSON");
        let results = recording["errors"].as_array().expect("a list of results");
        assert!(!results.is_empty(), "{name} has no results");
        for result in results {
            let function = result["function"].as_str().expect("a function");
            let extent = module.extents.get(function);
            let within =
                |found: &&Found| extent.is_some_and(|(first, last)| (*first..=*last).contains(&found.line));
            let rule = module.rules.get(function).expect("RULES contains every function");
            match rule.as_deref().map(registry::find) {
                // The rule is not implemented.
                Some(None) => {}
                Some(Some(rule)) => {
                    faults += 1;
                    let line = result["line"].as_u64();
                    let is_found = module.found.iter().filter(|found| found.code == rule.code).any(|found| {
                        Some(found.line) == line || found.severity < Severity::Error && within(&found)
                    });
                    if !is_found {
                        missed.push(format!("{name}.{function}: {} on line {line:?}", rule.name));
                    }
                }
                None => false_errors.extend(
                    module.found.iter().filter(within).filter(|found| found.severity == Severity::Error).map(
                        |found| format!("{name}.{function}:{}: {} {}", found.line, found.code, found.message),
                    ),
                ),
            }
        }
    }
    let share = missed.len() as f64 / f64::from(faults.max(1));
    let missed = missed.join("\n");
    println!("{faults} recorded faults, missed:\n{missed}");
    assert!(faults > 0, "faults are recorded");
    assert!(false_errors.is_empty(), "errors in correct functions:\n{}", false_errors.join("\n"));
    assert!(share <= MAX_MISSED, "{:.0} % of {faults} recorded faults are missed:\n{missed}", share * 100.0);
}

fn modules(folder: &SystemPathBuf) -> BTreeMap<String, Module> {
    let names: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder exists")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(".py")?.to_owned()))
        .filter(|name| name.starts_with("errors"))
        .collect();
    let settings = Settings { rules: RuleTable::all(), ..Settings::default() };
    let mut engine =
        Engine::open(OsSystem::new(folder), folder, settings, Environment::default()).expect("opens");
    engine.add_files(names.iter().map(|name| folder.join(format!("{name}.py")))).expect("readable");
    engine.analyze(&|_, _| {});
    let mut modules = BTreeMap::new();
    for document in engine.documents() {
        let file = document.file(engine.db());
        let text = engine.text(file);
        let lines = LineIndex::from_source_text(text.as_str());
        let line = |offset| lines.line_index(offset).get() as u64;
        let definitions = &file_index(engine.db(), document).definitions;
        let extents = definitions.functions.iter().map(|entry| {
            (entry.path.qualname.to_string(), (line(entry.range.start()), line(entry.range.end())))
        });
        let found = engine.findings(document).into_iter().map(|finding| Found {
            line: line(finding.location.range.start()),
            code: finding.code,
            severity: finding.severity,
            message: finding.message,
        });
        let name = engine.path(file).file_stem().expect("a module").to_owned();
        let module =
            Module { extents: extents.collect(), found: found.collect(), rules: rules(text.as_str()) };
        modules.insert(name, module);
    }
    modules
}

/// Returns the rules that a module assigns: `RULES = {"function": "rule-name", "other": None, …}`.
fn rules(text: &str) -> BTreeMap<String, Option<String>> {
    let parsed = ruff_python_parser::parse_module(text).expect("a module is Python");
    let table = parsed.suite().iter().find_map(|statement| match statement {
        Stmt::Assign(assign) => match (assign.targets.as_slice(), &*assign.value) {
            ([Expr::Name(name)], Expr::Dict(dict)) if name.id == "RULES" => Some(dict),
            _ => None,
        },
        _ => None,
    });
    let string = |expression: &Expr| {
        expression.as_string_literal_expr().map(|literal| literal.value.to_str().to_owned())
    };
    table
        .expect("the module has RULES")
        .items
        .iter()
        .filter_map(|item| Some((string(item.key.as_ref()?)?, string(&item.value))))
        .collect()
}
