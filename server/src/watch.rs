//! `--watch`: checks again whenever a file changes.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::Context;
use notify::{RecursiveMode, Watcher};
use ruff_db::system::SystemPath;

use crate::cli::ExitStatus;
use crate::printer;
use crate::session::Session;

/// Editors write a file in several steps; changes within this time are one change.
const DEBOUNCE: Duration = Duration::from_millis(100);

/// Runs `check`, then waits for changes below `paths`, in an endless loop. Changed texts are set in the
/// session; anything else (files that come or go, configuration) opens a new one.
pub(crate) fn watch(
    paths: &[String],
    open: impl Fn() -> anyhow::Result<Session>,
    mut check: impl FnMut(&mut Session) -> anyhow::Result<()>,
) -> anyhow::Result<ExitStatus> {
    let (sender, changes) = mpsc::channel();
    let mut watcher = notify::recommended_watcher(move |event| {
        // The receiver lives as long as the process.
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

/// The Python and configuration files that an event is about.
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

/// Sets the texts of changed files; `false` if that is not all that has changed.
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
