//! The dotted name under which a document is imported.

use ag_db::{Db, Document, Project};
use ruff_db::system::{SystemPath, SystemPathBuf};
use ruff_python_ast::name::Name;
use ruff_python_stdlib::identifiers::is_identifier;

/// The dotted name of a document; `None` for a file outside all import roots, and for one whose path is not a
/// module name (`train-model.py`, a notebook).
#[salsa::tracked(returns(ref))]
pub fn module_name(db: &dyn Db, document: Document) -> Option<Name> {
    let path = document.file(db).path(db).as_system_path()?;
    name_of(path, Project::try_get(db)?.import_roots(db))
}

/// `package/models/net.py` -> `package.models.net`, `package/__init__.py` -> `package`; relative to the first
/// root that contains the file.
fn name_of(path: &SystemPath, roots: &[SystemPathBuf]) -> Option<Name> {
    let relative = roots.iter().find_map(|root| path.strip_prefix(root).ok())?;
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
    fn names_count_from_the_first_root_that_contains_the_file() {
        let roots = [SystemPathBuf::from("/project/src"), SystemPathBuf::from("/project")];
        let name = |path: &str| name_of(SystemPath::new(path), &roots);
        assert_eq!(name("/project/src/pkg/net.py").as_deref(), Some("pkg.net"));
        assert_eq!(name("/project/src/pkg/__init__.pyi").as_deref(), Some("pkg"));
        assert_eq!(name("/project/tools/run.py").as_deref(), Some("tools.run"));
        assert_eq!(name("/project/src/train-model.py"), None);
        assert_eq!(name("/project/src/notes.ipynb"), None);
        assert_eq!(name("/elsewhere/net.py"), None);
    }
}
