//! ty's search paths for imports: the project's own roots, the models of libraries, the installed packages.

use ruff_db::system::{System, SystemPathBuf};
use ruff_db::vendored::VendoredFileSystem;
use ty_module_resolver::{SearchPathSettings, SearchPathSettingsError};
use ty_python_core::platform::PythonPlatform;
use ty_python_core::program::{FallibleStrategy, ProgramSettings};
use ty_site_packages::{PythonVersionSource, PythonVersionWithSource};

use crate::database::Database;
use crate::environment::Environment;
use crate::stubs;

pub(super) fn program(
    db: &Database,
    roots: &[SystemPathBuf],
    environment: &Environment,
) -> Result<ProgramSettings, SearchPathSettingsError> {
    use ruff_db::Db as _;
    let system = db.system();
    let vendored: &VendoredFileSystem = db.vendored();
    // An installed library with type information is used directly; otherwise its bundled model takes precedence.
    let mut packages: Vec<SystemPathBuf> = stubs::models()
        .into_iter()
        .filter(|model| *model != stubs::ANNOTATIONS && !is_typed(system, environment, model))
        .map(stubs::root_of)
        .collect();
    packages.extend(environment.site_packages.iter().cloned());
    let search_paths = SearchPathSettings {
        extra_paths: vec![stubs::root_of(stubs::ANNOTATIONS)],
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

/// Returns whether a package is installed with type information (PEP 561).
fn is_typed(system: &dyn System, environment: &Environment, package: &str) -> bool {
    environment.site_packages.iter().any(|folder| {
        system.is_file(&folder.join(package).join("py.typed"))
            || system.is_directory(&folder.join(format!("{package}-stubs")))
    })
}
