//! Where imports are looked for: the project's own roots, the bundled models, the installed packages.

use ruff_db::system::{System, SystemPath, SystemPathBuf};
use ruff_db::vendored::VendoredFileSystem;
use ty_module_resolver::{SearchPathSettings, SearchPathSettingsError};
use ty_python_core::platform::PythonPlatform;
use ty_python_core::program::{FallibleStrategy, ProgramSettings};
use ty_site_packages::{PythonVersionSource, PythonVersionWithSource};

use super::environment::Environment;
use crate::config::Settings;
use crate::db::Database;
use crate::staging::stubs;

/// More import roots than this slow every import down.
const MAX_ROOTS: usize = 64;

/// The import roots of a project: configured ones, or the root and `src/`; and for every file the
/// folder above its outermost package, so that files given by hand find their neighbours. The first root
/// that a file lies in names its module: the project's root comes last.
pub(super) fn roots(
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

pub(super) fn program(
    db: &Database,
    roots: &[SystemPathBuf],
    environment: &Environment,
) -> Result<ProgramSettings, SearchPathSettingsError> {
    use ruff_db::Db as _;
    let system = db.system();
    let vendored: &VendoredFileSystem = db.vendored();
    // A library that is installed and typed speaks for itself; else our model of it comes first.
    let mut packages: Vec<SystemPathBuf> = stubs::models()
        .into_iter()
        .filter(|model| *model != stubs::GHOST && !is_typed(system, environment, model))
        .map(stubs::root_of)
        .collect();
    packages.extend(environment.site_packages.iter().cloned());
    let search_paths = SearchPathSettings {
        extra_paths: vec![stubs::root_of(stubs::GHOST)],
        src_roots: roots.to_vec(),
        site_packages_paths: packages,
        ..SearchPathSettings::empty()
    }
    .to_search_paths(system, vendored, &FallibleStrategy)?;
    Ok(ProgramSettings {
        python_version: PythonVersionWithSource {
            version: environment.python_version,
            source: PythonVersionSource::default(),
        },
        python_platform: PythonPlatform::All,
        search_paths,
    })
}

/// The top-level packages and modules of the project's own files, sorted.
pub(super) fn packages(engine: &super::Engine) -> Vec<String> {
    let mut packages: Vec<String> = engine
        .documents()
        .iter()
        .filter_map(|document| {
            let path = engine.path(document.file(engine.db()));
            let relative = engine.import_roots.iter().find_map(|root| path.strip_prefix(root).ok())?;
            let first = relative.components().next()?;
            Some(first.as_str().trim_end_matches(".py").to_owned())
        })
        .filter(|package| package.chars().all(|c| c.is_alphanumeric() || c == '_'))
        .collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

/// Installed with type information (PEP 561).
fn is_typed(system: &dyn System, environment: &Environment, package: &str) -> bool {
    environment.site_packages.iter().any(|folder| {
        system.is_file(&folder.join(package).join("py.typed"))
            || system.is_directory(&folder.join(format!("{package}-stubs")))
    })
}
