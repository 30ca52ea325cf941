//! The recorded names of the real libraries, one file per package.
//!
//! The first line is `# PACKAGE VERSION`. A line that is not indented is an owner (a module, a class,
//! a function with `()`), and the indented lines after it are its names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ruff_python_ast::{Expr, Stmt, StmtAssign, StmtClassDef, StmtFunctionDef};
use ruff_python_parser::parse_module;

use crate::modelled::{self, Name};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/conformance/models");

/// The package `autograph` is part of this repository: its source is read instead of a record.
const RUNTIME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../runtime/python/autograph");

#[derive(Default)]
pub(crate) struct Recorded {
    versions: BTreeMap<String, String>,
    names: BTreeMap<String, BTreeSet<String>>,
}

impl Recorded {
    pub(crate) fn read() -> Self {
        let mut recorded = Self::default();
        for entry in Path::new(FOLDER).read_dir().expect(FOLDER) {
            let path = entry.expect(FOLDER).path();
            if path.extension().is_some_and(|name| name == "names") {
                recorded.add(&std::fs::read_to_string(&path).expect(FOLDER));
            }
        }
        recorded
    }

    pub(crate) fn runtime() -> Self {
        let mut recorded = Self::default();
        recorded.add_runtime();
        recorded
    }

    /// The names of the package `autograph`: its `__all__`, the parameters of its functions, and the members of its classes.
    pub(crate) fn add_runtime(&mut self) {
        self.add("# autograph (runtime/python/autograph)\nautograph\n    autograph");
        let mut folders = vec![PathBuf::from(RUNTIME)];
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir().expect(RUNTIME) {
                let path = entry.expect(RUNTIME).path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|name| name == "py") {
                    self.add_source(&path);
                }
            }
        }
    }

    fn add_source(&mut self, path: &Path) {
        let text = std::fs::read_to_string(path).expect(RUNTIME);
        let module = parse_module(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for statement in module.suite() {
            match statement {
                Stmt::FunctionDef(function) => self.add_function("autograph", function),
                Stmt::ClassDef(class) => self.add_class(class),
                Stmt::Assign(assign) if path == Path::new(RUNTIME).join("__init__.py") => {
                    self.names.entry("autograph".into()).or_default().extend(exported(assign));
                }
                _ => {}
            }
        }
    }

    fn add_function(&mut self, owner: &str, function: &StmtFunctionDef) {
        let parameters = modelled::keywords(function).map(|parameter| parameter.name.to_string());
        self.names.entry(format!("{owner}.{}()", function.name)).or_default().extend(parameters);
    }

    /// The methods and properties of a class.
    fn add_class(&mut self, class: &StmtClassDef) {
        let owner = format!("autograph.{}", class.name);
        for method in class.body.iter().filter_map(Stmt::as_function_def_stmt) {
            self.names.entry(owner.clone()).or_default().insert(method.name.to_string());
            self.add_function(&owner, method);
        }
    }

    fn add(&mut self, text: &str) {
        let mut owner = "";
        for line in text.lines() {
            if let Some(version) = line.strip_prefix("# ") {
                let package = version.split(' ').next().unwrap_or_default();
                self.versions.insert(package.to_owned(), version.to_owned());
            } else if let Some(names) = line.strip_prefix("    ") {
                let names = names.split(' ').map(str::to_owned);
                self.names.entry(owner.to_owned()).or_default().extend(names);
            } else {
                owner = line;
            }
        }
    }

    pub(crate) fn has(&self, name: &Name) -> bool {
        self.names.get(&name.owner).is_some_and(|names| names.contains(&name.name))
    }

    /// Returns the package of an owner with its version: `torch 2.11.0`.
    pub(crate) fn version(&self, owner: &str) -> Option<&str> {
        self.versions.get(owner.split(['.', '(']).next()?).map(String::as_str)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = (String, String)> {
        self.names.iter().flat_map(|(owner, names)| names.iter().map(|name| (owner.clone(), name.clone())))
    }
}

/// Returns the strings in `__all__ = [...]`.
fn exported(assign: &StmtAssign) -> Vec<String> {
    let is_all =
        assign.targets.iter().any(|name| name.as_name_expr().is_some_and(|name| name.id == "__all__"));
    let Expr::List(names) = &*assign.value else { return Vec::new() };
    let names = names.elts.iter().filter_map(|name| name.as_string_literal_expr());
    if is_all { names.map(|name| name.value.to_str().to_owned()).collect() } else { Vec::new() }
}
