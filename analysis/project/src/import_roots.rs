//! The import roots of a project: the folders to which module names are relative.

use ruff_db::system::{System, SystemPath, SystemPathBuf};

use crate::config::Settings;

/// The maximum number of import roots. Each of them slows down the resolution of every import.
const MAX_ROOTS: usize = 64;

/// Returns the import roots of a project, in this order: the configured roots, or `src/`; then, for every file, the
/// folder above its outermost package; last, the project's root. With the folders above packages, files that are given
/// explicitly can import their neighbors. The first root that contains a file determines its module name, so the
/// project's root comes last.
pub(crate) fn of(
    system: &dyn System,
    root: &SystemPath,
    settings: &Settings,
    files: &[SystemPathBuf],
    known: &[SystemPathBuf],
) -> Vec<SystemPathBuf> {
    let mut roots: Vec<SystemPathBuf> =
        known.iter().filter(|known| known.as_path() != root).cloned().collect();
    let mut add = |path: SystemPathBuf| {
        if roots.len() < MAX_ROOTS && !roots.contains(&path) && system.is_directory(&path) {
            roots.push(path);
        }
    };
    if settings.src.is_empty() {
        add(root.join("src"));
    }
    for path in &settings.src {
        add(SystemPath::absolute(path, root));
    }
    let mut last: Option<SystemPathBuf> = None;
    for file in files {
        let absolute = SystemPath::absolute(file, system.current_directory());
        let Some(mut folder) = absolute.parent() else { continue };
        if last.as_deref() == Some(folder) {
            continue;
        }
        last = Some(folder.to_path_buf());
        while system.is_file(&folder.join("__init__.py")) {
            match folder.parent() {
                Some(parent) => folder = parent,
                None => break,
            }
        }
        add(folder.to_path_buf());
    }
    add(root.to_path_buf());
    roots
}
