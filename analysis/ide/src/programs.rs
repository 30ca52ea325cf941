//! Detects programs of the runtime: scripts with an entry point that a user can run.
//!
//! ```python
//! from model import step           # which imports autograph
//! if __name__ == "__main__":       # or: def main():
//! ```

use ruff_db::files::system_path_to_file;
use ruff_db::system::SystemPath;
use ruff_python_ast::{self as ast, CmpOp, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use ag_db::Db;
use ag_db::{Document, Project};
use ag_index::index::{file_index, tree};
use ag_syntax::imports::Imports;

const RUNTIME: &str = "autograph";

/// Returns the range of the entry point, if the document is a program that uses the runtime; `None` for other
/// documents.
pub fn start(db: &dyn Db, document: Document) -> Option<TextRange> {
    let parsed = tree(db, document)?;
    let guard = parsed.suite().iter().find_map(|statement| match statement {
        Stmt::If(conditional) if tests_main(&conditional.test) => Some(conditional.test.range()),
        _ => None,
    });
    let main = || {
        parsed.suite().iter().find_map(|statement| match statement {
            Stmt::FunctionDef(def) if def.name.as_str() == "main" => Some(def.name.range()),
            _ => None,
        })
    };
    guard.or_else(main).filter(|_| uses_runtime(db, document))
}

/// Returns whether a test is `__name__ == "__main__"`, in either order.
fn tests_main(test: &Expr) -> bool {
    let Expr::Compare(ast::ExprCompare { left, ops, comparators, .. }) = test else { return false };
    let ([CmpOp::Eq], [right]) = (&ops[..], &comparators[..]) else { return false };
    let is_name = |expression: &Expr| expression.as_name_expr().is_some_and(|name| name.id == "__name__");
    let is_main = |expression: &Expr| {
        expression.as_string_literal_expr().is_some_and(|literal| literal.value.to_str() == "__main__")
    };
    (is_name(left) && is_main(right)) || (is_main(left) && is_name(right))
}

/// Returns whether the document, or a module of the project that it imports, imports the runtime.
fn uses_runtime(db: &dyn Db, document: Document) -> bool {
    let imports = &file_index(db, document).imports;
    imports.uses(RUNTIME)
        || imported(db, document, imports)
            .into_iter()
            .any(|other| file_index(db, other).imports.uses(RUNTIME))
}

/// Returns the documents of the project that the imports name. They are in the same folder, or below the root.
fn imported(db: &dyn Db, document: Document, imports: &Imports) -> Vec<Document> {
    let Some(project) = Project::try_get(db) else { return Vec::new() };
    let beside = document.file(db).path(db).as_system_path().and_then(SystemPath::parent);
    let folders = [beside, Some(project.root(db).as_path())];
    let mut found = Vec::new();
    for name in imports.dotted_names() {
        let module = name.trim_start_matches('.').replace('.', "/");
        // `step` in `from model import step` may be a module or a member of one.
        let package = module.rsplit_once('/').map(|(package, _)| package);
        for path in [Some(module.as_str()), package].into_iter().flatten() {
            for folder in folders.into_iter().flatten() {
                let file = system_path_to_file(db, folder.join(format!("{path}.py"))).ok();
                found.extend(file.and_then(|file| project.documents(db).get(&file).copied()));
            }
        }
    }
    found
}
