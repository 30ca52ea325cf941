//! `--watch`: repeats the check after every change.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::Context;
use notify::{RecursiveMode, Watcher};
use ruff_db::system::SystemPath;

use crate::cli::ExitStatus;
use crate::printer;
use crate::session::Session;

/// Waits this long for further events, because editors write a file in several steps.
const DEBOUNCE: Duration = Duration::from_millis(100);

/// Runs `check`, then waits for changes below `paths`, and repeats forever. Changed texts are updated in
/// the session. Any other change (new or deleted files, configuration) opens a new session.
pub(crate) fn watch(
    paths: &[String],
    open: impl Fn() -> anyhow::Result<Session>,
    mut check: impl FnMut(&mut Session) -> anyhow::Result<()>,
) -> anyhow::Result<ExitStatus> {
    let (sender, changes) = mpsc::channel();
    let mut watcher = notify::recommended_watcher(move |event| {
        // Fails only while the process exits.
        let _ = sender.send(event);
    })
    .context("cannot watch files")?;
    let here = [".".to_owned()];
    for path in if paths.is_empty() { &here[..] } else { paths } {
        watcher
            .watch(Path::new(path), RecursiveMode::Recursive)
            .with_context(|| format!("cannot watch `{path}`"))?;
    }
    let mut session = open()?;
    check(&mut session)?;
    loop {
        let first = changes.recv().context("file watching has stopped")?;
        let mut changed = relevant(first);
        while let Ok(event) = changes.recv_timeout(DEBOUNCE) {
            changed.extend(relevant(event));
        }
        changed.sort();
        changed.dedup();
        if changed.is_empty() {
            continue;
        }
        if update(&mut session, &changed) {
            session.analyze();
        } else {
            match open() {
                Ok(opened) => session = opened,
                Err(error) => {
                    printer::error(&format!("{error:#}"));
                    continue;
                }
            }
        }
        check(&mut session)?;
    }
}

/// Returns the Python and configuration files that an event refers to.
fn relevant(event: notify::Result<notify::Event>) -> Vec<PathBuf> {
    let Ok(event) = event else {
        return Vec::new();
    };
    let matters = |path: &PathBuf| {
        path.extension()
            .is_some_and(|extension| ["py", "pyi", "ipynb", "toml"].iter().any(|known| extension == *known))
    };
    if event.kind.is_access() { Vec::new() } else { event.paths.into_iter().filter(matters).collect() }
}

/// Updates the texts of changed files. Returns `false` if there are other changes.
fn update(session: &mut Session, changed: &[PathBuf]) -> bool {
    changed.iter().all(|path| {
        let Some(path) = SystemPath::from_std_path(path) else {
            return false;
        };
        let path = SystemPath::absolute(path, &session.cwd);
        if !session.inputs.contains_key(&path) || path.extension() == Some("ipynb") {
            return false;
        }
        match std::fs::read_to_string(path.as_std_path()) {
            Ok(text) => session.engine.set_text(&path, text),
            Err(_) => return false,
        }
        true
    })
}
