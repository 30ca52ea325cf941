//! Compares binding times with recordings of the real frameworks.
//!
//! A contradiction is a construct that is classified as staged but only ran in Python, or vice versa. *Mixed* is
//! compatible with both. The fraction of unknown constructs is bounded.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ag_index::dialect::Dialect;
use ag_project::config::Settings;
use ag_project::{Engine, Environment};
use ruff_db::system::{OsSystem, SystemPathBuf};
use ruff_source_file::LineIndex;
use serde_json::Value;

/// The maximum fraction of recorded constructs that may be unknown.
const MAX_UNKNOWN: f64 = 0.05;

#[test]
fn tensorflow() {
    compare("tensorflow", Dialect::Tensorflow, 150);
}

#[test]
fn torch() {
    compare("torch", Dialect::Torch, 40);
}

#[test]
fn jax() {
    compare("jax", Dialect::Jax, 40);
}

/// Module, kind, line, column.
type Key = (String, String, u64, u64);

struct Recorded {
    function: String,
    verdict: String,
}

fn compare(folder: &str, dialect: Dialect, least_functions: usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/recorded").join(folder);
    let recorded = recordings(&folder);
    let computed = verdicts(&folder, dialect);
    let functions: BTreeSet<_> =
        recorded.iter().map(|((module, ..), recorded)| (module, &recorded.function)).collect();
    assert!(functions.len() >= least_functions, "only {} recorded functions", functions.len());

    let (mut agree, mut mixed, mut unknown, mut contradictions) = (0, 0, Vec::new(), Vec::new());
    for (key, Recorded { function, verdict }) in &recorded {
        let (module, kind, line, column) = key;
        let binding = computed.get(key).map_or("absent", String::as_str);
        let row = format!(
            "{module}.py:{line}:{column} {kind} in {function}: recorded {verdict}, computed {binding}"
        );
        match (verdict.as_str(), binding) {
            (recorded, binding) if recorded == binding => agree += 1,
            ("mixed", _) | (_, "mixed") => mixed += 1,
            (_, "unknown" | "absent") => unknown.push(row),
            _ => contradictions.push(row),
        }
    }
    let total = recorded.len();
    println!(
        "{}: {total} constructs in {} functions, {agree} agree, {mixed} mixed in either, {} unknown, {} contradict",
        folder.file_name().and_then(|name| name.to_str()).unwrap_or_default(),
        functions.len(),
        unknown.len(),
        contradictions.len()
    );
    let share = unknown.len() as f64 / total as f64;
    let (unknown, contradictions) = (unknown.join("\n"), contradictions.join("\n"));
    println!("{unknown}");
    assert!(contradictions.is_empty(), "contradictions:\n{contradictions}\nunknown:\n{unknown}");
    assert!(share <= MAX_UNKNOWN, "{:.1} % unknown:\n{unknown}", share * 100.0);
}

fn recordings(folder: &Path) -> BTreeMap<Key, Recorded> {
    let mut all = BTreeMap::new();
    for path in files(folder, "json") {
        let text = std::fs::read_to_string(&path).expect("a committed recording");
        let recording: Value = serde_json::from_str(&text).expect("a recording is JSON");
        // TensorFlow's recordings are grouped by example.
        let groups = recording["results"].as_array().cloned().unwrap_or_else(|| vec![recording.clone()]);
        let constructs =
            groups.iter().flat_map(|group| group["constructs"].as_array().cloned().unwrap_or_default());
        for construct in constructs {
            let field = |name: &str| construct[name].as_str().unwrap_or_default().to_owned();
            let number = |name: &str| construct[name].as_u64().expect("a position");
            let key = (stem(&path), field("kind"), number("line"), number("col") + 1);
            // A Python number in eager JAX can be a tracer under jit.
            let under_jit = field("under_jit");
            let verdict = if under_jit == "staged" { under_jit } else { field("verdict") };
            all.insert(key, Recorded { function: field("function"), verdict });
        }
    }
    all
}

fn verdicts(folder: &Path, dialect: Dialect) -> BTreeMap<Key, String> {
    let folder = folder.canonicalize().expect("the folder exists");
    let folder = SystemPathBuf::from_path_buf(folder).expect("UTF-8");
    let settings = Settings { all_roots: true, dialects: vec![dialect], ..Settings::default() };
    let mut engine =
        Engine::open(OsSystem::new(&folder), &folder, settings, Environment::default()).expect("opens");
    let paths = files(folder.as_std_path(), "py").into_iter();
    engine.add_files(paths.filter_map(|path| SystemPathBuf::from_path_buf(path).ok())).expect("readable");
    engine.analyze(&|_, _| {});
    let mut all = BTreeMap::new();
    for document in engine.documents() {
        let file = document.file(engine.db());
        let text = engine.text(file);
        let lines = LineIndex::from_source_text(text.as_str());
        let module = stem(Path::new(engine.path(file).as_str()));
        for construct in engine.stages(document).iter().flat_map(|function| &function.constructs) {
            let position = lines.line_column(construct.range.start(), text.as_str());
            all.insert(
                (
                    module.clone(),
                    construct.kind.as_str().to_owned(),
                    position.line.get() as u64,
                    position.column.get() as u64,
                ),
                construct.binding.as_str().to_owned(),
            );
        }
    }
    all
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder exists")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    files
}

fn stem(path: &Path) -> String {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned()
}
