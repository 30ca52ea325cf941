//! The classes of a file whose instances are not Tensors.

use ruff_python_ast::name::Name;

use ag_db::Db;
use ag_db::{Document, text};
use ag_index::index::file_index;

/// The classes of a file whose instances are certainly neither Tensors nor structures of Tensors: classes without
/// decorators whose base classes, if any, are `object` or other classes in this list.
#[salsa::tracked(returns(ref))]
pub fn plain_classes(db: &dyn Db, document: Document) -> Vec<Name> {
    let source = text(db, document);
    let mut plain: Vec<Name> = Vec::new();
    for class in &file_index(db, document).definitions.classes {
        let known = |base: &str| base == "object" || plain.iter().any(|class| class == base);
        let start = usize::from(class.range.start());
        let decorated = source.as_str().get(start..).is_none_or(|text| text.starts_with('@'));
        if !decorated && class.bases.iter().all(|base| known(base)) {
            plain.push(class.qualname.clone());
        }
    }
    plain
}
