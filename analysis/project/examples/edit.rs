//! Measures the cost of an edit. `edit FILE VERSION...` opens FILE in an engine, and replaces its text by one VERSION
//! after the other. For each VERSION, it prints the findings of the file, and the CPU milliseconds until they are
//! known.

use std::time::Duration;

use ag_project::config::Settings;
use ag_project::{Engine, EngineError, Environment};
use ruff_db::system::{OsSystem, SystemPath, SystemPathBuf};
use rustix::time::{ClockId, clock_gettime};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut arguments = std::env::args().skip(1);
    let path = std::path::absolute(arguments.next().ok_or("missing argument FILE")?)?;
    let path = SystemPathBuf::from_path_buf(path).map_err(|_| "the path is not UTF-8")?;
    let texts = arguments.map(std::fs::read_to_string).collect::<Result<Vec<_>, _>>()?;
    // A single thread does all the work, so that its clock counts everything.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).stack_size(64 << 20).build()?;
    pool.install(|| {
        let mut engine = open(&path)?;
        analyze(&mut engine, &path);
        for text in texts {
            let start = cpu();
            engine.set_editor_text(&path, text);
            let findings = analyze(&mut engine, &path);
            let spent = cpu().saturating_sub(start);
            println!("{:.3} {}", spent.as_secs_f64() * 1e3, findings.join("; "));
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

/// Returns the messages of the file's findings.
fn analyze(engine: &mut Engine, path: &SystemPath) -> Vec<String> {
    engine.analyze(&|_, _| {});
    let findings = engine.document(path).map(|document| engine.findings(document));
    findings.into_iter().flatten().map(|finding| finding.message.replace('\n', " ")).collect()
}

/// Returns the time that this thread has spent on a processor.
fn cpu() -> Duration {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(spent.tv_sec.unsigned_abs(), u32::try_from(spent.tv_nsec).unwrap_or_default())
}
