//! Files outside import cycles: no file that they import, directly or indirectly, imports them.
//!
//! The check is conservative: it compares only the last parts of module names, so some files count as imported although
//! they are not.

use ag_db::{Db, Document};
use ag_index::assumed::AssumedType;
use ag_index::ids::DocumentIndex;
use ag_index::index::file_index;
use ag_index::oracle::{Assumption, Assumptions};
use ag_index::type_expression::TypeExpression;
use ruff_index::IndexSlice;
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns whether a document is outside import cycles. The modules of assumed types count as imported, because
/// annotated source imports them.
pub(crate) fn is_outside(
    db: &dyn Db,
    documents: &IndexSlice<DocumentIndex, Document>,
    document: DocumentIndex,
    assumptions: &Assumptions,
) -> bool {
    if documents.len() == 1 {
        return true;
    }
    let mut by_name: FxHashMap<&str, Vec<DocumentIndex>> = FxHashMap::default();
    for (position, document) in documents.iter_enumerated() {
        by_name.entry(last_name(db, *document)).or_default().push(position);
    }
    let mut seen = FxHashSet::from_iter([document]);
    let mut queue = vec![document];
    while let Some(current) = queue.pop() {
        let Some(imports) = documents.get(current).map(|it| &file_index(db, *it).imports) else {
            continue;
        };
        let assumed = assumptions.get(&current).into_iter().flat_map(|functions| functions.values());
        let mut names: FxHashSet<&str> = FxHashSet::default();
        assumed.for_each(|assumption| add_modules(assumption, &mut names));
        for name in imports.dotted_names() {
            // `from . import *` imports the package itself, whatever its name is.
            if name.bytes().all(|byte| byte == b'.') {
                return false;
            }
            names.extend(name.split('.'));
        }
        for next in names.iter().filter_map(|name| by_name.get(*name)).flatten() {
            if *next == document && current != document {
                return false;
            }
            if seen.insert(*next) {
                queue.push(*next);
            }
        }
    }
    true
}

/// `package/module.py` -> `module`, `package/__init__.py` -> `package`.
fn last_name(db: &dyn Db, document: Document) -> &str {
    let path = document.file(db).path(db).as_str();
    let mut parts = path.rsplit(['/', '\\']);
    let stem = parts.next().map(|file| file.rsplit_once('.').map_or(file, |(stem, _)| stem));
    match stem {
        Some("__init__") => parts.next().unwrap_or_default(),
        stem => stem.unwrap_or_default(),
    }
}

/// Adds the parts of the module paths of assumed classes: `model` and `layers` for `model.layers.Gate`.
fn add_modules<'a>(assumption: &'a Assumption, names: &mut FxHashSet<&'a str>) {
    let types = assumption.parameters.iter().flatten().chain(&assumption.returns);
    for alternative in types.flat_map(AssumedType::alternatives) {
        alternative.visit(&mut |part| {
            if let TypeExpression::Class(class) = part {
                names.extend(class.module.split(['.', '/', '\\']));
            }
        });
    }
}
