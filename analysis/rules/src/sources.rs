//! The texts and trees of other modules of the project. A rule reads them when it evaluates a function that its file
//! imports.

use std::cell::OnceCell;
use std::sync::Arc;

use ag_db::{Db, Document, with_text};
use ag_index::index::tree_of;
use ag_index::reexports;
use ruff_python_ast::ModModule;
use ruff_python_parser::Parsed;

use super::FileContext;
use ag_staging::queries;

/// The maximum number of modules that a file may use.
const MOST: usize = 32;

/// The modules that a file imports, and those that they import, in breadth-first order.
#[derive(Default)]
pub(crate) struct Sources {
    modules: OnceCell<Vec<(Document, OnceCell<Option<Source>>)>>,
}

struct Source {
    text: String,
    parsed: Arc<Parsed<ModModule>>,
}

impl Sources {
    fn modules(&self, db: &dyn Db, document: Document) -> &[(Document, OnceCell<Option<Source>>)] {
        self.modules.get_or_init(|| {
            let mut found = vec![document];
            let mut next = 0;
            while let Some(importer) = found.get(next).copied() {
                next += 1;
                for imported in reexports::imported_documents(db, importer) {
                    if found.len() <= MOST && !found.contains(&imported) {
                        found.push(imported);
                    }
                }
            }
            found.into_iter().skip(1).map(|module| (module, OnceCell::new())).collect()
        })
    }
}

/// The contexts of these modules.
pub(crate) struct Contexts<'a> {
    documents: Vec<Document>,
    contexts: Vec<OnceCell<Option<FileContext<'a>>>>,
    of: (&'a dyn Db, Document, &'a Sources),
}

impl<'a> Contexts<'a> {
    pub(crate) fn of(ctx: &FileContext<'a>) -> Self {
        let modules = ctx.sources.modules(ctx.db, ctx.document);
        Self {
            documents: modules.iter().map(|(document, _)| *document).collect(),
            contexts: modules.iter().map(|_| OnceCell::new()).collect(),
            of: (ctx.db, ctx.document, ctx.sources),
        }
    }

    /// No contexts, for a rule that reads only its own file.
    pub(crate) fn none(ctx: &FileContext<'a>) -> Self {
        Self { documents: Vec::new(), contexts: Vec::new(), of: (ctx.db, ctx.document, ctx.sources) }
    }

    /// Returns the number of modules.
    pub(crate) fn len(&self) -> usize {
        self.documents.len()
    }

    pub(crate) fn position(&self, document: Document) -> Option<usize> {
        self.documents.iter().position(|known| *known == document)
    }

    /// Returns the context of a module; `None` if the module cannot be parsed.
    pub(crate) fn get(&self, position: usize) -> Option<&FileContext<'a>> {
        let load = || {
            let (db, document, sources) = self.of;
            let (module, source) = sources.modules(db, document).get(position)?;
            let read = || {
                with_text(db, *module, |text| {
                    Some(Source { text: text.to_owned(), parsed: tree_of(db, *module, text)? })
                })
            };
            let source = source.get_or_init(read).as_ref()?;
            let imports = queries::imports(db, *module);
            Some(FileContext::new(db, *module, &source.text, &source.parsed, imports, sources))
        };
        self.contexts.get(position)?.get_or_init(load).as_ref()
    }
}
