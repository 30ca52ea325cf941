//! An edit re-runs only the queries it affects, and results do not depend on earlier edits.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use ag_db::finding::Finding;
use ag_index::index::FunctionId;
use ag_project::config::Settings;
use ag_project::{Engine, Environment};
use ag_rules::selection::RuleTable;
use ag_staging::analysis::Completeness;
use ag_staging::staged::StagedFunction;
use fastrand::Rng;
use ruff_db::system::{InMemorySystem, MemoryFileSystem, SystemPath, SystemPathBuf};
use salsa::EventKind;
use salsa::plumbing::FromId;

/// The queries whose executions are recorded. Each takes one function. The queries for the text and the types of a
/// function are not recorded: they may re-run, but if their value does not change, no dependent query re-runs.
const QUERIES: [&str; 6] = ["function_ast", "stage", "flow", "facts", "constructs", "function_diagnostics"];

const MODEL: &str = "\
import tensorflow as tf
from data import scale

LIMIT = 10.0

@tf.function
def g(x):
    if tf.reduce_sum(x) > LIMIT:
        x = x - 1.0
    return x

class Model(tf.Module):
    def __init__(self):
        self.rate = 0.1

    @tf.function
    def f(self, x, flag=False):
        if x > 0.0:
            y = x * self.rate
        if flag:
            x = helper(x)
        return x

def helper(x):
    while x > 1.0:
        x = x / 2.0
    return x

def eager(x):
    return [value + 1 for value in x]
";

const DATA: &str = "\
import tensorflow as tf
from model import Model

def scale(x):
    return x / 255.0

def main():
    model = Model()
    model.f(tf.constant(1.0), True)
";

/// A file in which functions of this file and of `rules.py` are staged because they flow to calls as values.
const VALUES: &str = "\
import jax
import jax.numpy as jnp
from rules import RULES, Pair, clip

def make(rate):
    def update(grads):
        x = grads
        if jnp.sum(x) > 0:
            x = x * rate
        return x
    return Pair(update, RULES)

def run(stage, fn, x):
    return stage(fn)(x)

def eager(x):
    pair = make(0.1)
    run(jax.jit, lambda y: pair.first(y), x)
    return run(jax.jit, clip, x)

class Chain:
    def __init__(self, *steps):
        self.steps = steps

    def __call__(self, x):
        for step in self.steps:
            x = step(x)
        return x

@jax.jit
def train(x):
    chain = Chain(make(1.0).first, RULES[\"half\"])
    return chain(x)
";

const RULES: &str = "\
from typing import Callable, NamedTuple
import jax.numpy as jnp

class Pair(NamedTuple):
    first: Callable
    second: dict

def half(x):
    while jnp.sum(x) > 1:
        x = x / 2
    return x

def clip(x):
    if jnp.max(x) > 1:
        return x / jnp.max(x)
    return x

RULES = {\"half\": half}
RULES[\"clip\"] = clip
";

/// A file without cyclic imports.
const LAYERS: &str = "\
import tensorflow as tf

SCALES = {\"small\": 0.5}

class Gate(tf.keras.layers.Layer):
    \"\"\"Scales its input.\"\"\"

    def __init__(self, units, rate=0.1):
        super().__init__()
        self.units = units
        self.rate = rate
        self.norm = None

    def build(self, shape):
        self.norm = tf.Variable(1.0)
        self.inner = Inner()

    @property
    def factor(self):
        return self.norm * self.rate

    def call(self, x, training=False):
        if self.rate > 0.0:
            x = x * self.factor
        if self.norm > 0.0:
            y = self.inner(x)
        return x

class Inner(tf.keras.layers.Layer):
    def call(self, x):
        if x > 0.0:
            self.last = x
        return x

class Loop:
    def __init__(self, gate):
        self.gate = gate
        self.steps = 0

    def __call__(self, x):
        return self.gate(x)

@tf.function
def step(x, loop=Loop(Gate(3))):
    y = loop(x)
    if y > 0.0:
        z = total(y)
    if loop.steps > SCALES[\"small\"]:
        x = x + 1.0
    return x

def total(x):
    def inner(value):
        return tf.reduce_sum(value)
    return inner(x)

def main():
    global COUNT
    COUNT = tf.constant(1)
    step(tf.constant(1.0))
    Gate(4)(COUNT)
";

/// The number of sequences of random edits, and the number of edits in each.
const SEQUENCES: usize = 3;
const EDITS: usize = 12;

/// An engine that records the executed queries per function: `flow(Model.f)`.
struct Watched {
    engine: Engine,
    executed: Arc<Mutex<Vec<(String, salsa::Id)>>>,
}

impl Watched {
    fn open(files: &[(&str, &str)]) -> Self {
        let executed = Arc::<Mutex<Vec<_>>>::default();
        let noted = Arc::clone(&executed);
        let listener = move |event: &salsa::Event| {
            if let EventKind::WillExecute { database_key } = event.kind {
                let shown = format!("{database_key:?}");
                let query = shown.split('(').next().unwrap_or_default().to_owned();
                noted.lock().expect("not poisoned").push((query, database_key.key_index()));
            }
        };
        let mut engine = open(files, Some(Box::new(listener)));
        // Open all files in the editor, because opening a file invalidates its dependents once.
        for (name, text) in files {
            engine.set_editor_text(&root().join(*name), (*text).to_owned());
        }
        analyze(&mut engine);
        Self { engine, executed }
    }

    /// Applies an edit, runs the analysis, and returns the executed [`QUERIES`].
    fn edit(&mut self, file: &str, from: &str, to: &str) -> BTreeSet<String> {
        let path = root().join(file);
        let document = self.engine.document(&path).expect("the file is known");
        let text = self.engine.text(self.engine.file(document)).as_str().to_owned();
        assert!(text.contains(from), "{from:?} is in {file}");
        self.executed.lock().expect("not poisoned").clear();
        self.engine.set_editor_text(&path, text.replacen(from, to, 1));
        analyze(&mut self.engine);
        let executed = self.executed.lock().expect("not poisoned");
        let about_functions = executed.iter().filter(|(query, _)| QUERIES.contains(&query.as_str()));
        let db = self.engine.db();
        about_functions
            .map(|(query, id)| format!("{query}({})", FunctionId::from_id(*id).path(db).qualname))
            .collect()
    }
}

fn root() -> &'static SystemPath {
    SystemPath::new("/project")
}

fn open(files: &[(&str, impl AsRef<str>)], listener: Option<ag_db::QueryListener>) -> Engine {
    let memory = MemoryFileSystem::with_current_directory(root());
    for (name, text) in files {
        memory.write_file_all(root().join(*name), text.as_ref()).expect("memory is writable");
    }
    let settings = Settings { rules: RuleTable::all(), ..Settings::default() };
    let system = InMemorySystem::from_memory_fs(memory);
    let mut engine = Engine::open_with_listener(system, root(), settings, Environment::default(), listener)
        .expect("the engine opens");
    engine.add_files(files.iter().map(|(name, _)| root().join(*name))).expect("the files are readable");
    engine
}

/// Analyzes the current texts and returns all results, by path.
fn analyze(engine: &mut Engine) -> Vec<(SystemPathBuf, Vec<Finding>, Vec<StagedFunction>)> {
    engine.analyze(&|_, _| {});
    results(engine)
}

/// Returns all results of the last run, by path.
fn results(engine: &Engine) -> Vec<(SystemPathBuf, Vec<Finding>, Vec<StagedFunction>)> {
    let documents = engine.documents().into_iter();
    let findings =
        |document| (engine.path(engine.file(document)), engine.findings(document), engine.stages(document));
    documents.map(findings).collect()
}

fn no_queries() -> BTreeSet<String> {
    BTreeSet::new()
}

/// Returns the executed queries about a function.
fn queries_of(function: &str, executed: &BTreeSet<String>) -> Vec<String> {
    executed.iter().filter(|query| query.ends_with(&format!("({function})"))).cloned().collect()
}

#[test]
fn an_edit_in_one_function_re_runs_that_function() {
    let mut watched = Watched::open(&[("model.py", MODEL), ("data.py", DATA)]);
    let executed = watched.edit("model.py", "x = x - 1.0", "x = x - 2.0 * x");
    assert!(executed.contains("flow(g)") && executed.contains("function_diagnostics(g)"), "{executed:?}");
    assert_eq!(executed.iter().filter(|query| !query.ends_with("(g)")).count(), 0, "{executed:?}");
}

/// Edits above `Model.f` move the function, its decorator, and the locations in its why-chains.
#[test]
fn text_above_a_function_re_runs_nothing() {
    let mut watched = Watched::open(&[("model.py", MODEL), ("data.py", DATA)]);
    assert_eq!(
        watched.edit("model.py", "@tf.function\ndef g", "# A comment.\n\n@tf.function\ndef g"),
        no_queries()
    );
    assert_eq!(
        watched.edit("model.py", "    @tf.function\n", "\n    # Another.\n    @tf.function\n"),
        no_queries()
    );
    assert_eq!(watched.edit("data.py", "\ndef main", "# Above a call of `f`.\n\ndef main"), no_queries());
}

#[test]
fn an_edit_in_unstaged_code_re_runs_nothing() {
    let mut watched = Watched::open(&[("model.py", MODEL), ("data.py", DATA)]);
    assert_eq!(watched.edit("model.py", "value + 1", "value + 2"), no_queries());
}

/// If the flag is a Tensor, its `if` is staged, so the findings in `f` change.
#[test]
fn another_type_at_a_call_in_another_file_re_runs_the_callee() {
    let mut watched = Watched::open(&[("model.py", MODEL), ("data.py", DATA)]);
    let executed = watched.edit("data.py", "True", "tf.constant(True)");
    let f = queries_of("Model.f", &executed);
    assert!(
        f.contains(&"stage(Model.f)".to_owned()) && f.contains(&"facts(Model.f)".to_owned()),
        "{executed:?}"
    );
    assert!(!f.contains(&"flow(Model.f)".to_owned()), "its text is the same: {executed:?}");
    assert_eq!(queries_of("g", &executed), ["stage(g)"], "re-evaluated with an equal result");
}

/// An attribute that one method assigns affects the methods that read it.
#[test]
fn another_attribute_type_re_runs_its_readers() {
    let mut watched = Watched::open(&[("model.py", MODEL), ("data.py", DATA)]);
    let executed = watched.edit("model.py", "self.rate = 0.1", "self.rate = tf.Variable(0.1)");
    assert!(executed.contains("facts(Model.f)"), "{executed:?}");
}

#[test]
fn findings_do_not_depend_on_earlier_edits() {
    let seed = std::env::var("AG_FUZZ_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    println!("AG_FUZZ_SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    let (mut compared, mut partial) = (0, 0);
    let projects: [&[(&str, &str)]; 3] = [
        &[("model.py", MODEL), ("data.py", DATA)],
        &[("layers.py", LAYERS)],
        &[("values.py", VALUES), ("rules.py", RULES)],
    ];
    for project in projects.repeat(SEQUENCES) {
        let mut texts: Vec<(&str, String)> =
            project.iter().map(|(name, text)| (*name, (*text).to_owned())).collect();
        let mut edited = open(&texts, None);
        analyze(&mut edited);
        for _ in 0..EDITS {
            let file = rng.usize(..texts.len());
            let (name, text) = &mut texts[file];
            *text = changed(text, &mut rng);
            edited.set_text(&root().join(*name), text.clone());
            match rng.u8(..8) {
                // Some edits arrive before the previous one is analyzed.
                0 | 1 => continue,
                // Others arrive after a quick run, before the complete analysis.
                2..5 => {
                    let outcome = edited.prepare_run().run(Completeness::Quick, &|_, _| {});
                    edited.publish(outcome);
                    if !edited.is_complete() {
                        partial += 1;
                        if rng.bool() {
                            continue;
                        }
                        edited.analyze(&|_, _| {});
                    }
                }
                _ => edited.analyze(&|_, _| {}),
            }
            let fresh = analyze(&mut open(&texts, None));
            assert_eq!(results(&edited), fresh, "AG_FUZZ_SEED={seed}, in\n{texts:#?}");
            compared += 1;
        }
    }
    println!("{compared} states, {partial} after quick runs");
    assert!(partial > 0);
}

/// The edit cancels the run, or arrives after the run has ended. In both cases the results of the run are dropped.
#[test]
fn results_after_an_edit_during_a_run_are_those_of_the_new_text() {
    for number in 0..10 {
        let mut texts = vec![("model.py", MODEL.to_owned()), ("layers.py", LAYERS.to_owned())];
        let mut engine = open(&texts, None);
        analyze(&mut engine);
        texts[1].1 = format!("{LAYERS}\nLAST = {number}\n");
        engine.set_editor_text(&root().join("layers.py"), texts[1].1.clone());
        let run = engine.prepare_run();
        let (started, start) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let progress = |_, _| {
                let _ = started.send(());
            };
            ag_db::Cancelled::catch(AssertUnwindSafe(|| run.run(Completeness::Complete, &progress))).is_err()
        });
        start.recv().expect("the run has begun");
        texts[0].1 = MODEL.replace("LIMIT = 10.0", &format!("LIMIT = tf.constant({number}.0)"));
        engine.set_editor_text(&root().join("model.py"), texts[0].1.clone());
        thread.join().expect("only a cancellation unwinds");
        assert_eq!(analyze(&mut engine), analyze(&mut open(&texts, None)));
    }
}

/// Deletes, duplicates or moves a line, or replaces a word.
fn changed(text: &str, rng: &mut Rng) -> String {
    const STATEMENTS: [&str; 18] = [
        "x = tf.constant(True)",
        "# Words.",
        "self.rate = tf.constant(2.0)",
        "if x > 2.0: z = g(x)",
        "return helper(x)",
        "flag = (",
        "scale(x)",
        "import data",
        "self.norm = tf.Variable(2.0)",
        "y = self(x)",
        "y = Gate(x).inner(x)",
        "z = Loop(self).gate.norm",
        "rate = tf.constant(3.0)",
        "self.rate = rate",
        "units = 3 if x is None else tf.constant(1)",
        "assert self.norm is not None",
        "while True: pass",
        "exit()",
    ];
    let mut lines: Vec<String> = text.lines().map(ToOwned::to_owned).collect();
    let at = rng.usize(..lines.len().max(1)).min(lines.len().saturating_sub(1));
    let Some(line) = lines.get(at).cloned() else { return MODEL.to_owned() };
    let indentation = " ".repeat(line.len() - line.trim_start().len());
    match rng.u8(..6) {
        0 => {
            lines.remove(at);
        }
        1 => lines.insert(at, line),
        2 | 3 => lines.insert(at, indentation + STATEMENTS[rng.usize(..STATEMENTS.len())]),
        _ => {
            let words: Vec<&str> =
                text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
            let (from, to) = (words[rng.usize(..words.len())], words[rng.usize(..words.len())]);
            return text.replacen(from, to, 1 + rng.usize(..3));
        }
    }
    lines.join("\n") + "\n"
}

/// The watcher reports a deletion after the file exists again: the text is the new one, but imports of the file do not
/// resolve until its creation is reported.
#[test]
fn a_file_that_is_deleted_and_created_again_is_analyzed_again() {
    // Only the types show that the result is a Tensor.
    const LIB: &str = "\
import torch
from elsewhere import computed

def double(x) -> torch.Tensor:
    return computed(x)
";
    let memory = MemoryFileSystem::with_current_directory(root());
    let (lib, main) = (root().join("lib.py"), root().join("m.py"));
    let text = "import torch\nfrom lib import double\n\n@torch.compile\ndef f(x: torch.Tensor):\n    if double(x) > 0:\n        return x\n    return -x\n";
    for (path, text) in [(&lib, LIB), (&main, text)] {
        memory.write_file_all(path, text).expect("a new file");
    }
    let system = InMemorySystem::from_memory_fs(memory.clone());
    let mut engine =
        Engine::open(system, root(), Settings::default(), Environment::default()).expect("a project");
    engine.add_files([lib.clone(), main.clone()]).expect("readable");
    let mut codes = |change: &dyn Fn(&mut Engine)| {
        change(&mut engine);
        engine.analyze(&|_, _| {});
        let document = engine.document(&main).expect("a document");
        engine.findings(document).iter().map(|finding| finding.code).collect::<Vec<_>>()
    };
    let reload = |engine: &mut Engine| engine.reload(std::slice::from_ref(&lib), |_| true).expect("readable");
    assert_eq!(codes(&|_| {}), ["AG511"]);
    let deleted_for_the_watcher = |engine: &mut Engine| {
        memory.remove_file(&lib).expect("a file");
        reload(engine);
        memory.write_file(&lib, LIB).expect("a folder");
    };
    assert!(codes(&deleted_for_the_watcher).is_empty());
    assert_eq!(codes(&|engine| reload(engine)), ["AG511"]);
}
