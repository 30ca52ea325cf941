//! What an edit costs: `edit FILE LINE [EDITS]` opens a file in an engine, then types a statement before
//! LINE again and again, and prints the CPU milliseconds that each edit takes until the file's findings
//! are known again, in the order of the edits.

use std::time::Duration;

use ag_analysis::config::Settings;
use ag_analysis::engine::{Engine, EngineError, Environment};
use ruff_db::system::{OsSystem, SystemPath, SystemPathBuf};
use rustix::time::{ClockId, clock_gettime};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut arguments = std::env::args().skip(1);
    let path = SystemPathBuf::from(arguments.next().ok_or("a file is needed")?.as_str());
    let line: usize = arguments.next().ok_or("a line is needed")?.parse()?;
    let edits: usize = arguments.next().map_or(Ok(20), |edits| edits.parse())?;
    let text = std::fs::read_to_string(path.as_std_path())?;
    // One thread does all the work, so that its clock counts all of it.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).stack_size(64 << 20).build()?;
    pool.install(|| {
        let mut engine = open(&path)?;
        let mut ask = |text: String| {
            engine.set_text(&path, text);
            engine.settle(&|_, _| {});
            engine.document(&path).map_or(0, |document| engine.findings(document).len())
        };
        ask(text.clone());
        for edit in 0..edits {
            let edited = typed(&text, line, edit);
            let start = cpu();
            let findings = ask(edited);
            let spent = cpu().saturating_sub(start);
            println!("{:.3} {findings}", spent.as_secs_f64() * 1e3);
        }
        Ok(())
    })
}

fn open(path: &SystemPath) -> Result<Engine, EngineError> {
    let root = path.parent().unwrap_or(path);
    let mut engine = Engine::open(OsSystem::new(root), root, Settings::default(), Environment::default())?;
    engine.add_files([path.to_path_buf()])?;
    Ok(engine)
}

/// The text with one more statement, another one each time, indented like the line that it precedes.
fn typed(text: &str, line: usize, edit: usize) -> String {
    let lines = text.split_inclusive('\n').enumerate();
    let edited = lines.map(|(number, content)| {
        let indentation = &content[..content.len() - content.trim_start().len()];
        let statement =
            if number + 1 == line { format!("{indentation}typed = {edit}\n") } else { String::new() };
        statement + content
    });
    edited.collect()
}

/// The time that this thread has spent on a processor.
fn cpu() -> Duration {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(spent.tv_sec.unsigned_abs(), u32::try_from(spent.tv_nsec).unwrap_or_default())
}
