//! Which files are not looked back into: no file that they import, however far, imports them.
//!
//! Modules are told apart by their last names, so more files are taken to import another than do.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Engine;
use crate::project::Document;
use crate::staging::fixpoint::Assumptions;
use crate::staging::ghost::Assumption;
use crate::staging::index::file_index;

impl Engine {
    /// Whether the types in a document depend on no file that depends on the document. Ghost views import,
    /// too, what is assumed.
    pub(super) fn is_secluded(
        &self,
        documents: &[Document],
        document: u32,
        assumptions: &Assumptions,
    ) -> bool {
        if documents.len() == 1 {
            return true;
        }
        let mut by_name: FxHashMap<String, Vec<u32>> = FxHashMap::default();
        for (number, document) in documents.iter().enumerate() {
            by_name.entry(self.module_word(*document)).or_default().push(number as u32);
        }
        let mut seen = FxHashSet::from_iter([document]);
        let mut queue = vec![document];
        while let Some(current) = queue.pop() {
            let Some(imports) = documents.get(current as usize).map(|it| &file_index(&self.db, *it).imports)
            else {
                continue;
            };
            let assumed = assumptions.get(&current).into_iter().flat_map(|functions| functions.values());
            let mut words: FxHashSet<&str> = assumed.flat_map(modules).collect();
            for name in imports.dotted_names() {
                // `from . import *`: the package itself, whatever its name.
                if name.bytes().all(|byte| byte == b'.') {
                    return false;
                }
                words.extend(name.split('.'));
            }
            for next in words.iter().filter_map(|word| by_name.get(*word)).flatten() {
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
    fn module_word(&self, document: Document) -> String {
        let path = self.path(self.file(document));
        let word = match path.file_stem() {
            Some("__init__") => path.parent().and_then(|folder| folder.file_name()),
            stem => stem,
        };
        word.unwrap_or_default().to_owned()
    }
}

/// The words of the modules whose classes are assumed: `{model.layers:Gate}` -> `model`, `layers`.
fn modules(assumption: &Assumption) -> impl Iterator<Item = &str> {
    let types = assumption.parameters.iter().flatten().chain(&assumption.returns);
    let classes = types.flat_map(|assumed| assumed.alternatives()).flat_map(|name| name.split('{').skip(1));
    classes.filter_map(|class| class.split(':').next()).flat_map(|module| module.split(['.', '/', '\\']))
}
