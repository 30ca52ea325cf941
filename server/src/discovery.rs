//! File discovery: the files and folders that are given as arguments.

use ag_project::config::{Exclusion, Settings};
use ag_project::path_order;
use ignore::{DirEntry, WalkBuilder};
use ruff_db::system::{SystemPath, SystemPathBuf};

const EXTENSIONS: [&str; 3] = ["py", "pyi", "ipynb"];

/// A file to check.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) path: SystemPathBuf,
    /// The path for display: the argument itself, or the argument joined with the path below it.
    pub(crate) given: String,
}

/// A path that cannot be read.
pub(crate) struct Unreadable {
    pub(crate) path: SystemPathBuf,
    pub(crate) message: String,
}

/// Finds the files below `paths`, sorted. Git's ignore files and `exclude` apply to files found in folders,
/// but not to files given explicitly. Symbolic links are not followed, so there are no cycles.
pub(crate) fn discover(
    paths: &[String],
    cwd: &SystemPath,
    root: &SystemPath,
    settings: &Settings,
) -> (Vec<Input>, Vec<Unreadable>) {
    let (mut inputs, mut unreadable) = (Vec::new(), Vec::new());
    let exclusion = Exclusion::new(settings);
    for given in paths {
        let path = SystemPath::absolute(given, cwd);
        match std::fs::metadata(path.as_std_path()) {
            Err(error) => unreadable.push(Unreadable { path, message: error.to_string() }),
            Ok(metadata) if metadata.is_dir() => {
                for entry in walk(&path, root, exclusion.clone()) {
                    match entry {
                        Ok(entry) => inputs.extend(input(&entry, &path, given)),
                        Err(error) => {
                            unreadable.push(Unreadable { path: path.clone(), message: error.to_string() })
                        }
                    }
                }
            }
            Ok(_) => inputs.push(Input { path, given: given.clone() }),
        }
    }
    inputs.sort_by_cached_key(|input| (path_order(&input.path), input.given.clone()));
    inputs.dedup_by(|a, b| a.path == b.path);
    (inputs, unreadable)
}

/// Returns whether a folder has more than a few Python files, or so many files that they cannot be counted quickly.
pub(crate) fn is_large(folder: &SystemPath, root: &SystemPath, settings: &Settings) -> bool {
    const FEW: usize = 64;
    const MAX_VISITED: usize = 1_024;
    let mut entries = walk(folder, root, Exclusion::new(settings)).flatten();
    let python = |entry: &DirEntry| SystemPath::from_std_path(entry.path()).is_some_and(is_python);
    let found = entries.by_ref().take(MAX_VISITED).filter(python).take(FEW + 1).count();
    found > FEW || entries.next().is_some()
}

fn walk(folder: &SystemPath, root: &SystemPath, exclusion: Exclusion) -> ignore::Walk {
    let root = root.to_path_buf();
    WalkBuilder::new(folder.as_std_path())
        .require_git(false)
        .filter_entry(move |entry| {
            let Some(path) = SystemPath::from_std_path(entry.path()) else {
                return false;
            };
            entry.depth() == 0 || !exclusion.covers(path.strip_prefix(&root).unwrap_or(path))
        })
        .build()
}

/// Returns whether the file name has an extension of Python files.
pub(crate) fn is_python(path: &SystemPath) -> bool {
    path.extension().is_some_and(|extension| EXTENSIONS.contains(&extension))
}

fn input(entry: &DirEntry, folder: &SystemPath, given: &str) -> Option<Input> {
    let path = SystemPath::from_std_path(entry.path())?;
    let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
    if !is_file || !is_python(path) {
        return None;
    }
    let below = path.strip_prefix(folder).ok()?;
    let given = match given {
        "." | "./" => below.to_string(),
        _ => SystemPath::new(given).join(below).to_string(),
    };
    Some(Input { path: path.to_path_buf(), given })
}
