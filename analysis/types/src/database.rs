//! ty's salsa database. Cloning it gives a snapshot that another thread may query.

use std::sync::Arc;

use ag_db::SharedSystem;
use ruff_db::diagnostic::Diagnostic;
use ruff_db::files::{File, Files};
use ruff_db::system::System;
use ruff_db::vendored::VendoredFileSystem;
use salsa::{Durability, Setter};
use ty_module_resolver::ModuleGlobSet;
use ty_python_core::program::ProgramSettings;
use ty_python_core::{Program, ProgramFile};
use ty_python_semantic::lint::{LintRegistry, RuleSelection};
use ty_python_semantic::{AnalysisSettings, PythonVersionWithSource, default_lint_registry};

/// Python's version and the import search paths.
#[salsa::input(singleton)]
struct Settings {
    #[returns(ref)]
    values: ProgramSettings,
}

/// Returns the interned settings. This is a query because interning hashes all search paths.
#[salsa::tracked(returns(copy))]
fn program(db: &dyn ty_python_semantic::Db, settings: Settings) -> Program<'_> {
    Program::from_settings(db, settings.values(db))
}

#[salsa::db]
#[derive(Clone)]
pub(crate) struct Database {
    storage: salsa::Storage<Self>,
    files: Files,
    system: SharedSystem,
    lints: Arc<RuleSelection>,
    analysis: Arc<AnalysisSettings>,
}

impl Database {
    pub(crate) fn new(system: SharedSystem) -> Self {
        let db = Self {
            storage: salsa::Storage::new(None),
            files: Files::default(),
            system,
            lints: Arc::new(RuleSelection::from_registry(default_lint_registry())),
            analysis: Arc::default(),
        };
        let empty = ProgramSettings::empty(ty_vendored::file_system());
        let _ = Settings::builder(empty).durability(Durability::HIGH).new(&db);
        db
    }

    /// Sets Python's version and the import search paths.
    pub(crate) fn set_program(&mut self, settings: ProgramSettings) {
        settings.search_paths.try_register_static_roots(self);
        self.settings().set_values(self).with_durability(Durability::HIGH).to(settings);
    }

    /// Sets the modules whose contents are not inferred (globs, `!` for exceptions, the last match wins).
    pub(crate) fn replace_imports_with_any(&mut self, modules: impl IntoIterator<Item = String>) {
        let replaced = ModuleGlobSet::from_patterns(modules).unwrap_or_else(|_| ModuleGlobSet::empty());
        if self.analysis.replace_imports_with_any != replaced {
            let settings =
                AnalysisSettings { replace_imports_with_any: replaced, ..AnalysisSettings::default() };
            self.analysis = Arc::new(settings);
            // The settings are not a salsa input, so results that depend on them must be invalidated explicitly.
            salsa::Database::synthetic_write(self, Durability::HIGH);
        }
    }

    fn settings(&self) -> Settings {
        Settings::get(self)
    }
}

#[salsa::db]
impl salsa::Database for Database {}

#[salsa::db]
impl ruff_db::Db for Database {
    fn vendored(&self) -> &VendoredFileSystem {
        ty_vendored::file_system()
    }

    fn system(&self) -> &dyn System {
        &*self.system
    }

    fn files(&self) -> &Files {
        &self.files
    }
}

#[salsa::db]
impl ty_module_resolver::Db for Database {}

#[salsa::db]
impl ty_python_core::Db for Database {
    fn should_check_file(&self, _file: File) -> bool {
        false
    }
}

#[salsa::db]
impl ty_python_semantic::Db for Database {
    fn check_file(&self, _file: File) -> Vec<Diagnostic> {
        Vec::new()
    }

    fn program_file(&self, file: File) -> ProgramFile<'_> {
        program(self, self.settings()).program_file(self, file)
    }

    fn python_version_with_source(&self, _file: File) -> &PythonVersionWithSource {
        &self.settings().values(self).python_version
    }

    fn rule_selection(&self, _file: File) -> &RuleSelection {
        &self.lints
    }

    fn lint_registry(&self) -> &LintRegistry {
        default_lint_registry()
    }

    fn analysis_settings(&self, _file: File) -> &AnalysisSettings {
        &self.analysis
    }

    fn verbose(&self) -> bool {
        false
    }

    fn is_open_file(&self, _file: File) -> bool {
        false
    }

    fn dyn_clone(&self) -> Box<dyn ty_python_semantic::Db> {
        Box::new(self.clone())
    }
}
