//! Fuzzing: no text makes the engine panic, hang, or return a range outside the text.
//!
//! Each case is a real program with random mutations. One engine checks several cases in a row, so every case is also
//! an edit. `AG_FUZZ_SEED` repeats a run; `AG_FUZZ_SECONDS` sets its duration.

mod conversion;
mod mutations;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use ag_project::config::Settings;
use ag_project::{Engine, Environment};
use ag_rules::selection::RuleTable;
use fastrand::Rng;
use ruff_db::system::{InMemorySystem, MemoryFileSystem, SystemPath};
use ruff_text_size::TextRange;

const SECONDS: u64 = 15;

/// A case that takes longer counts as a hang, even on a loaded machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The number of cases per engine.
const CASES: usize = 12;

#[test]
fn every_text_can_be_analyzed() {
    let seed = variable("AG_FUZZ_SEED").unwrap_or_else(|| fastrand::u64(..1_000_000));
    let time = Duration::from_secs(variable("AG_FUZZ_SECONDS").unwrap_or(SECONDS));
    println!("AG_FUZZ_SEED={seed}");
    let texts = programs();
    assert!(texts.len() > 50, "found too few programs");
    let mut rng = Rng::with_seed(seed);
    let start = Instant::now();
    let mut cases = 0;
    let mut inspector = Inspector::start();
    while start.elapsed() < time {
        let text = mutated(&texts, &mut rng);
        if let Err(reason) = inspector.inspect(&text) {
            let smallest = minimized(text);
            panic!("AG_FUZZ_SEED={seed}, case {cases}: {reason}\n--- minimized text:\n{smallest}\n---");
        }
        cases += 1;
        if cases % CASES == 0 {
            inspector = Inspector::start();
        }
    }
    println!("{cases} cases");
}

/// The paths through the bindings of `x` are not all followed.
#[test]
fn a_name_with_many_bindings_is_analyzed() {
    let line = "x, ".repeat(1000);
    let text = format!("import jax\n\n@jax.jit\ndef f(x):\n    {line} y = x\n    return x.run(y)\n");
    Inspector::start().inspect(&text).unwrap_or_else(|reason| panic!("{reason}"));
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Returns the Python programs of the repository.
fn programs() -> Vec<String> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let folders = [
        "examples",
        "conformance/recorded/tensorflow",
        "conformance/recorded/torch",
        "conformance/recorded/jax",
    ];
    let mut paths: Vec<_> = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(tests.join(folder)).expect("the folder exists"))
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "py"))
        .collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).expect("readable")).collect()
}

fn mutated(texts: &[String], rng: &mut Rng) -> String {
    let mut text = texts[rng.usize(..texts.len())].clone();
    for _ in 0..rng.usize(1..6) {
        text = mutations::MUTATIONS[rng.usize(..mutations::MUTATIONS.len())](&text, rng);
    }
    text
}

/// An engine in a separate thread, so that a hang is detected.
struct Inspector {
    texts: mpsc::Sender<String>,
    answers: mpsc::Receiver<Result<(), String>>,
}

impl Inspector {
    fn start() -> Self {
        let (texts, received) = mpsc::channel::<String>();
        let (answer, answers) = mpsc::channel();
        std::thread::spawn(move || {
            // The same stack size as in the command line: it suffices for every tree that the parser accepts.
            let pool = rayon::ThreadPoolBuilder::new().num_threads(2).stack_size(256 << 20).build();
            pool.expect("threads start").install(|| {
                let mut engine = open();
                for text in received {
                    let result = catch_unwind(AssertUnwindSafe(|| inspect(&mut engine, &text)));
                    let result = result.unwrap_or_else(|panic| {
                        engine = open();
                        let message = panic.downcast_ref::<String>().map(String::as_str);
                        Err(message.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned())
                    });
                    if answer.send(result).is_err() {
                        return;
                    }
                }
            });
        });
        Self { texts, answers }
    }

    fn inspect(&self, text: &str) -> Result<(), String> {
        self.texts.send(text.to_owned()).map_err(|_| "the inspector is gone".to_owned())?;
        let answer = self.answers.recv_timeout(TIMEOUT);
        answer.unwrap_or_else(|_| Err(format!("no answer within {} s", TIMEOUT.as_secs())))
    }
}

fn open() -> Engine {
    let settings = Settings { rules: RuleTable::all(), all_roots: true, ..Settings::default() };
    let root = SystemPath::new("/project");
    let system = InMemorySystem::from_memory_fs(MemoryFileSystem::with_current_directory(root));
    Engine::open(system, root, settings, Environment::default()).expect("opens")
}

/// Analyzes a text and checks that all ranges lie in the text, at character boundaries.
fn inspect(engine: &mut Engine, text: &str) -> Result<(), String> {
    let path = SystemPath::new("/project/case.py");
    engine.set_text(path, text.to_owned());
    engine.analyze(&|_, _| {});
    let document = engine.document(path).ok_or("the document is missing")?;
    let file = engine.file(document);
    let is_valid = |range: TextRange| text.get(std::ops::Range::<usize>::from(range)).is_some();
    for finding in engine.findings(document) {
        let notes = finding.labels.iter().chain(&finding.why).filter_map(|note| note.location.as_ref());
        let here = notes.filter(|location| location.file == file).map(|location| location.range);
        let edits = finding.fix.iter().flat_map(|fix| &fix.edits).map(|edit| edit.range);
        let mut ranges = here.chain(edits).chain([finding.location.range]);
        if let Some(range) = ranges.find(|range| !is_valid(*range)) {
            return Err(format!("{} has the invalid range {range:?}: {}", finding.code, finding.message));
        }
    }
    for function in engine.stages(document) {
        let constructs = function.constructs.iter().flat_map(|c| [c.range, c.test_range]);
        if let Some(range) = constructs.chain([function.name_range]).find(|range| !is_valid(*range)) {
            return Err(format!("{} has a construct with the invalid range {range:?}", function.qualname));
        }
    }
    Ok(())
}

/// Removes lines, then characters, while the text still fails in a fresh engine. Stops after a minute.
fn minimized(text: String) -> String {
    let start = Instant::now();
    let fails = |text: &str| start.elapsed() < TIMEOUT && Inspector::start().inspect(text).is_err();
    if !fails(&text) {
        return format!("(fails only after the preceding cases)\n{text}");
    }
    let mut smallest = text;
    for unit in [by_lines, by_characters] {
        let mut size = unit(&smallest).len() / 2;
        while size > 0 {
            let mut at = 0;
            while at < unit(&smallest).len() {
                let mut parts = unit(&smallest);
                parts.drain(at..(at + size).min(parts.len()));
                let smaller = parts.concat();
                if fails(&smaller) { smallest = smaller } else { at += size }
            }
            size /= 2;
        }
    }
    smallest
}

fn by_lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn by_characters(text: &str) -> Vec<&str> {
    text.split_inclusive(|_| true).collect()
}
