//! The dotted names under which a document is imported.

use ag_db::{Db, Document, Project};
use ruff_db::system::SystemPath;
use ruff_python_ast::name::Name;
use ruff_python_stdlib::identifiers::is_identifier;

/// Returns the dotted name of a document. Returns `None` for a file outside all import roots, and for a file whose path
/// is not a module name (`train-model.py`, a notebook).
#[salsa::tracked(returns(ref))]
pub fn module_name(db: &dyn Db, document: Document) -> Option<Name> {
    let path = document.file(db).path(db).as_system_path()?;
    Project::try_get(db)?
        .import_roots(db)
        .iter()
        .find_map(|root| path.strip_prefix(root).ok())
        .and_then(name_of)
}

/// Returns all names of a document, relative to each import root that contains it. [`module_name`] comes first. The
/// file `tests/helpers.py` is `helpers` for the other tests, and `tests.helpers` from the project's root.
pub fn module_names(db: &dyn Db, document: Document) -> Vec<Name> {
    let file = document.file(db);
    let Some((path, project)) = file.path(db).as_system_path().zip(Project::try_get(db)) else {
        return Vec::new();
    };
    let relative = project.import_roots(db).iter().filter_map(|root| path.strip_prefix(root).ok());
    relative.filter_map(name_of).collect()
}

/// Returns the document of a module; `own` if that is its module, or no module is given.
pub fn document_of(db: &dyn Db, own: Document, module: Option<&str>) -> Option<Document> {
    let Some(module) = module else { return Some(own) };
    let is_named = |document: &Document| module_names(db, *document).iter().any(|name| name == module);
    if is_named(&own) {
        return Some(own);
    }
    Project::try_get(db)?.documents(db).values().copied().find(is_named)
}

/// `package/models/net.py` -> `package.models.net`, `package/__init__.py` -> `package`.
fn name_of(relative: &SystemPath) -> Option<Name> {
    if !matches!(relative.extension(), Some("py" | "pyi")) {
        return None;
    }
    let folders = relative.parent().into_iter().flat_map(SystemPath::components);
    let mut parts: Vec<&str> = folders.map(|folder| folder.as_str()).collect();
    let stem = relative.file_stem()?;
    if stem != "__init__" {
        parts.push(stem);
    }
    (!parts.is_empty() && parts.iter().all(|part| is_identifier(part))).then(|| Name::new(parts.join(".")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_paths() {
        let name = |path: &str| name_of(SystemPath::new(path));
        assert_eq!(name("pkg/net.py").as_deref(), Some("pkg.net"));
        assert_eq!(name("pkg/__init__.pyi").as_deref(), Some("pkg"));
        assert_eq!(name("tools/run.py").as_deref(), Some("tools.run"));
        assert_eq!(name("train-model.py"), None);
        assert_eq!(name("notes.ipynb"), None);
    }
}
