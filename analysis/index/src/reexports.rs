//! Frameworks that a file imports from a module of the project: `from package.common import jax, jnp`, or
//! `from package.common import *`.
//!
//! The index of a file depends on the imports of such a module, and on the decorators that it imports
//! (`index/identity_decorators.rs`), but on nothing else of other files.
//!
//! Rules also follow imports of other names, to the document that defines them ([`definition`]).

use ag_db::{Db, Document, Project};
use ag_syntax::imports::{Imports, canonical};
use ruff_python_ast::name::Name;
use rustc_hash::FxHashMap;

use crate::index::{file_index, tree};
use crate::modules::{module_name, module_names};

/// The usual names of frameworks, of their modules, and of functions such as `jax.jit`. Imports of other names are not
/// followed.
const USUAL: &[&str] = &[
    "jax",
    "jnp",
    "lax",
    "np",
    "numpy",
    "jit",
    "vmap",
    "pmap",
    "grad",
    "value_and_grad",
    "nn",
    "nnx",
    "eqx",
    "hk",
    "tf",
    "tensorflow",
    "keras",
    "layers",
    "torch",
    "F",
];
const FRAMEWORKS: &[&str] =
    &["jax", "numpy", "flax", "equinox", "haiku", "tensorflow", "keras", "tf_keras", "torch", "pennylane"];
const MAX_STEPS: usize = 4;

/// Returns the imports of a document as they are written: without resolving frameworks that it imports through the
/// project.
#[salsa::tracked(returns(ref))]
fn written_imports(db: &dyn Db, document: Document) -> Imports {
    tree(db, document).map(|parsed| Imports::collect(parsed.suite())).unwrap_or_default()
}

/// Resolves names in `imports` that refer to frameworks through modules of the project.
pub(crate) fn resolve(db: &dyn Db, document: Document, imports: &mut Imports) {
    let mut candidates: Vec<(Name, Name)> = imports
        .names()
        .filter(|(_, dotted)| is_candidate(dotted))
        .map(|(local, dotted)| (local.clone(), dotted.clone()))
        .collect();
    candidates.sort_unstable();
    for (local, dotted) in candidates {
        if let Some(framework) = imported(db, document, &dotted) {
            imports.replace(local, framework);
        }
    }
    add_starred(db, document, imports);
}

/// Adds the frameworks that a file gets by `from .common import *`.
fn add_starred(db: &dyn Db, document: Document, imports: &mut Imports) {
    let mut modules: Vec<(Document, Name)> =
        imports.stars().iter().map(|module| (document, module.clone())).collect();
    let mut seen = vec![document];
    while let Some((importer, module)) = modules.pop() {
        let found = absolute(db, importer, &module).and_then(|module| find(db, &module));
        let Some(other) = found.filter(|other| !seen.contains(other)) else { continue };
        seen.push(other);
        let written = written_imports(db, other);
        modules.extend(written.stars().iter().map(|module| (other, module.clone())));
        for (local, dotted) in written.names() {
            if is_framework(dotted) && !is_of_project(db, dotted) && !local.starts_with('_') {
                imports.add_starred(local.clone(), canonical(dotted));
            }
        }
    }
}

fn is_candidate(dotted: &str) -> bool {
    dotted.rsplit_once('.').is_some_and(|(module, name)| !module.is_empty() && USUAL.contains(&name))
        && !is_framework(dotted)
}

fn is_framework(dotted: &str) -> bool {
    dotted.split('.').next().is_some_and(|package| FRAMEWORKS.contains(&package))
}

/// Returns whether the project contains the package of a name: it is the framework itself.
fn is_of_project(db: &dyn Db, dotted: &str) -> bool {
    dotted.split('.').next().is_some_and(|package| find(db, package).is_some())
}

/// Follows an imported name through modules of the project. Returns the framework's own name for it.
fn imported(db: &dyn Db, document: Document, dotted: &str) -> Option<Name> {
    let (mut document, mut dotted) = (document, Name::new(dotted));
    for _ in 0..MAX_STEPS {
        let dotted_now = absolute(db, document, &dotted)?;
        let (module, name) = dotted_now.rsplit_once('.')?;
        document = find(db, module)?;
        dotted = written_imports(db, document).get(name)?.clone();
        if is_framework(&dotted) {
            return Some(canonical(&dotted));
        }
    }
    None
}

/// Returns the document of the project that defines an imported name, and the name there. Modules that import the name
/// from other modules are followed: `from package import Net` with `from .net import Net` in `package/__init__.py`.
pub fn definition(db: &dyn Db, document: Document, dotted: &str) -> Option<(Document, Name)> {
    let (mut importer, mut dotted) = (document, Name::new(dotted));
    for _ in 0..MAX_STEPS {
        let absolute = absolute(db, importer, &dotted)?;
        let (module, name) = absolute.rsplit_once('.')?;
        let found = find(db, module)?;
        match file_index(db, found).imports.get(name) {
            None => return Some((found, Name::new(name))),
            Some(other) => (importer, dotted) = (found, other.clone()),
        }
    }
    None
}

/// Does the same as [`definition`], without the indices of files.
pub(crate) fn written_definition(db: &dyn Db, document: Document, dotted: &str) -> Option<(Document, Name)> {
    let (mut importer, mut dotted) = (document, Name::new(dotted));
    for _ in 0..MAX_STEPS {
        let absolute = absolute(db, importer, &dotted)?;
        let (module, name) = absolute.rsplit_once('.')?;
        let found = find(db, module).filter(|found| *found != document)?;
        match written_imports(db, found).get(name) {
            None => return Some((found, Name::new(name))),
            Some(other) => (importer, dotted) = (found, other.clone()),
        }
    }
    None
}

/// Returns the documents of the project from which a document imports modules or names, in the order of their names.
pub fn imported_documents(db: &dyn Db, document: Document) -> Vec<Document> {
    let mut names: Vec<Name> = file_index(db, document)
        .imports
        .dotted_names()
        .filter_map(|dotted| absolute(db, document, dotted))
        .collect();
    names.sort_unstable();
    names.dedup();
    let module = |name: &Name| find(db, name).or_else(|| find(db, name.rsplit_once('.')?.0));
    names.iter().filter_map(module).filter(|found| *found != document).collect()
}

fn find(db: &dyn Db, module: &str) -> Option<Document> {
    by_module(db, Project::try_get(db)?).get(module).copied()
}

/// Returns the documents of a project by their module names.
#[salsa::tracked(returns(ref))]
fn by_module(db: &dyn Db, project: Project) -> FxHashMap<Name, Document> {
    let mut documents: FxHashMap<Name, Document> = FxHashMap::default();
    let named = |document: &Document| Some((Name::new(module_name(db, *document).as_deref()?), *document));
    documents.extend(project.documents(db).values().filter_map(named));
    for document in project.documents(db).values() {
        for name in module_names(db, *document) {
            documents.entry(name).or_insert(*document);
        }
    }
    documents
}

/// Resolves a relative name: `..common.jax` in `package.models.net` -> `package.common.jax`.
fn absolute(db: &dyn Db, document: Document, dotted: &str) -> Option<Name> {
    let relative = dotted.trim_start_matches('.');
    let level = dotted.len() - relative.len();
    if level == 0 {
        return Some(Name::new(dotted));
    }
    let is_package = document.file(db).path(db).as_str().ends_with("__init__.py");
    let mut package = module_name(db, document).as_deref()?;
    for _ in usize::from(is_package)..level {
        package = package.rsplit_once('.')?.0;
    }
    Some(Name::new(format!("{package}.{relative}")))
}
