//! The modules of a program: the file itself, and the files of the project that it imports.
//!
//! The evaluation runs code of one module at a time. Names, texts and ranges are those of that module.

use std::rc::Rc;

use ag_db::{Db, Document, Project, text};
use ag_index::dialect::RootKind;
use ag_index::index::{FileIndex, file_index};
use ag_index::reexports;
use ruff_python_ast as ast;

use super::values::{Scope, Value, Variables};
use super::{Evaluated, Evaluation, Frame};
use crate::FileContext;

/// In a larger project, a program is evaluated without the files that it imports.
pub(super) const MOST_FILES: usize = 64;

#[derive(Clone)]
pub(super) struct Module<'c, 'a> {
    pub ctx: &'c FileContext<'a>,
    pub scope: Scope<'a>,
}

/// Returns the files whose programs may run compiled code of a document: the document itself, and those that import it.
#[salsa::tracked(returns(ref))]
pub(crate) fn programs(db: &dyn Db, document: Document) -> Vec<Document> {
    let own = || if is_program(file_index(db, document)) { vec![document] } else { Vec::new() };
    let documents = Project::try_get(db).map(|project| project.documents(db));
    let Some(documents) = documents.filter(|it| it.len() <= MOST_FILES) else { return own() };
    let compiles = |document: &Document| is_program(file_index(db, *document));
    let is_started = |other: Document| {
        let imported = imported(db, other);
        // `main.py` may import the module that compiles.
        let starts = || text(db, other).as_str().contains("__main__") && imported.iter().any(compiles);
        compiles(&other) || starts() || is_decorated(db, other)
    };
    let mut others: Vec<Document> = documents
        .values()
        .copied()
        .filter(|other| *other != document && imported(db, *other).contains(&document) && is_started(*other))
        .collect();
    if is_started(document) {
        others.insert(0, document);
    }
    others
}

/// Returns the documents that a document imports, directly or through others.
#[salsa::tracked(returns(ref))]
pub(super) fn imported(db: &dyn Db, document: Document) -> Vec<Document> {
    let mut found = vec![document];
    let mut next = 0;
    while let Some(importer) = found.get(next).copied() {
        next += 1;
        for other in reexports::imported_documents(db, importer) {
            if !found.contains(&other) {
                found.push(other);
            }
        }
    }
    found.remove(0);
    found
}

/// Returns whether a file compiles, exports or traces functions.
fn is_program(index: &FileIndex) -> bool {
    let is_called = |name: &&str| index.calls.contains_key(*name);
    // `re.compile` is no reason.
    let compiles = is_called(&"compile") && !index.imports.uses("re");
    index.imports.uses("torch")
        && (compiles
            || ["export", "script", "symbolic_trace", "trace", "while_loop"].iter().any(is_called)
            || index.roots.iter().any(|site| site.kind == RootKind::TorchCompile)
            || transforms_functions(index))
}

/// Returns whether a file transforms functions by `torch.func`: see `functional.rs`.
fn transforms_functions(index: &FileIndex) -> bool {
    const TRANSFORMS: [&str; 7] =
        ["functional_call", "grad_and_value", "hessian", "jacfwd", "jacrev", "vjp", "vmap"];
    // `torch.autograd.grad` is another function.
    let imports =
        || index.imports.dotted_names().any(|name| matches!(name, "torch.func.grad" | "torch.func.jvp"));
    TRANSFORMS.iter().any(|name| index.calls.contains_key(*name))
        || ["grad", "jvp"].iter().any(|name| index.calls.contains_key(*name)) && imports()
}

/// Returns whether a file imports a module that may define a decorator which compiles:
/// `strict = partial(torch.compile, fullgraph=True)`.
fn is_decorated(db: &dyn Db, document: Document) -> bool {
    let refers = |other: &Document| text(db, *other).as_str().contains("torch.compile,");
    file_index(db, document).imports.uses("torch")
        && reexports::imported_documents(db, document).iter().any(refers)
}

/// Returns whether the evaluation of a program includes the files that it imports.
pub(super) fn follows_imports(ctx: &FileContext) -> bool {
    Project::try_get(ctx.db).is_some_and(|it| it.documents(ctx.db).len() <= MOST_FILES)
}

impl<'c, 'a> Evaluation<'c, 'a> {
    /// Runs code of the module to which a scope belongs.
    pub(super) fn within<T>(&mut self, scope: &Scope<'a>, run: impl FnOnce(&mut Self) -> T) -> T {
        let mut root = scope;
        while let Some(parent) = &root.parent {
            root = parent;
        }
        let module = self.modules.iter().find(|module| Rc::ptr_eq(&module.scope, root)).cloned();
        let Some(module) = module.filter(|module| !Rc::ptr_eq(&module.scope, &self.module)) else {
            return run(self);
        };
        let outer =
            (std::mem::replace(&mut self.ctx, module.ctx), std::mem::replace(&mut self.module, module.scope));
        let result = run(self);
        (self.ctx, self.module) = outer;
        result
    }

    /// Returns the module that defines a class.
    pub(super) fn module_of(&self, class: &ast::StmtClassDef) -> Module<'c, 'a> {
        let owner = self.owners.get(&std::ptr::from_ref(class)).and_then(|index| self.modules.get(*index));
        owner.cloned().unwrap_or_else(|| Module { ctx: self.ctx, scope: self.module.clone() })
    }

    /// Records that the current module defines a class.
    pub(super) fn own(&mut self, class: &'a ast::StmtClassDef) {
        let index = self.modules.iter().position(|module| Rc::ptr_eq(&module.scope, &self.module));
        if let Some(index) = index {
            self.owners.insert(class, index);
        }
    }

    /// Evaluates the modules that the current module imports.
    pub(super) fn load_imports(&mut self) -> Evaluated<()> {
        if !follows_imports(self.ctx) {
            return Ok(());
        }
        for document in reexports::imported_documents(self.ctx.db, self.ctx.document) {
            self.load(document)?;
        }
        Ok(())
    }

    fn load(&mut self, document: Document) -> Evaluated<()> {
        let is_loaded = self.modules.iter().any(|module| module.ctx.document == document);
        let context = || self.contexts.get(self.contexts.position(document)?);
        // The file may have been deleted.
        let is_blank = file_index(self.ctx.db, document).is_blank;
        let Some(ctx) = context().filter(|_| !is_loaded && !is_blank) else { return Ok(()) };
        let scope: Scope<'a> = Rc::new(Variables::default());
        scope.set("__name__", Value::Text("module".into()));
        self.modules.push(Module { ctx, scope: scope.clone() });
        self.within(&scope, |evaluation| {
            evaluation.load_imports()?;
            let frame = Frame { scope: scope.clone(), receiver: None };
            evaluation.block(ctx.parsed.suite(), &frame).map(drop)
        })
    }

    /// Returns the value of a name that the current module imports from the project: `seg.losses.dice`.
    pub(super) fn imported(&self, dotted: &str) -> Option<Value<'a>> {
        self.imported_into(self.ctx, dotted)
    }

    pub(super) fn imported_into(&self, ctx: &FileContext<'a>, dotted: &str) -> Option<Value<'a>> {
        if self.modules.len() == 1 {
            return None;
        }
        let (document, name) = reexports::definition(ctx.db, ctx.document, dotted)?;
        let module = self.modules.iter().find(|module| module.ctx.document == document)?;
        Some(module.scope.get(&name)).filter(|value| !matches!(value, Value::Unknown))
    }
}
