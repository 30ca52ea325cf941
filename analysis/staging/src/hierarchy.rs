//! The class hierarchy of the project, resolved by name.
//!
//! A type checker determines the bases of a class, but not the classes derived from it. The analysis needs these for
//! two purposes. A class derived from a layer of the project is itself a Keras layer. And a call on `self` may run a
//! method of a derived class:
//!
//! ```python
//! class Trainer:
//!     @tf.function
//!     def train(self, batch):
//!         return self.step(batch)      # stages the `step` of every class derived from `Trainer`
//! ```

use ruff_index::{IndexSlice, IndexVec};
use ruff_python_ast::name::Name;
use rustc_hash::{FxHashMap, FxHashSet};

use ag_db::Db;
use ag_db::Document;
use ag_index::ids::{ClassIndex, DocumentIndex};
use ag_index::index::{FileIndex, file_index};
use ag_index::keras_classes;
use ag_index::modules::{module_name, module_names};
use ag_index::roots::RootSite;
use ag_syntax::imports;

/// Longer chains of bases or re-exports are not followed.
const MAX_STEPS: usize = 8;

/// A class of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassId {
    pub document: DocumentIndex,
    pub class: ClassIndex,
}

/// The framework that defines a module or layer class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModuleFramework {
    Torch,
    Keras,
}

/// The classes of a project.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Hierarchy {
    bases: FxHashMap<ClassId, Vec<ClassId>>,
    derived: FxHashMap<ClassId, Vec<ClassId>>,
    /// Bases outside the project, by their dotted names.
    libraries: FxHashMap<ClassId, Vec<Name>>,
}

impl Hierarchy {
    pub fn of(db: &dyn Db, documents: &IndexSlice<DocumentIndex, Document>) -> Self {
        let modules = Modules::of(db, documents);
        let mut hierarchy = Self::default();
        for (document, index) in modules.indices.iter_enumerated() {
            for (class, entry) in index.definitions.classes.iter_enumerated() {
                let class = ClassId { document, class };
                for base in &entry.bases {
                    // `Stack[T]`
                    let base = base.split_once('[').map_or(&**base, |(base, _)| base.trim_end());
                    let known = if let Some(own) = modules.own(class, base) {
                        Some(own)
                    } else if let Some(name) = modules.imported(document, base) {
                        let imported = modules.find(&name, 0).filter(|base| *base != class);
                        hierarchy.libraries.entry(class).or_default().push(name);
                        imported
                    } else {
                        modules.starred_class(document, base, 0)
                    };
                    if let Some(base) = known {
                        hierarchy.bases.entry(class).or_default().push(base);
                        hierarchy.derived.entry(base).or_default().push(class);
                    }
                }
            }
        }
        hierarchy
    }

    /// Returns the classes reachable from a class along `edges`, in breadth-first order, without the class itself.
    fn reached<'a>(
        start: ClassId,
        edges: &'a FxHashMap<ClassId, Vec<ClassId>>,
    ) -> impl Iterator<Item = ClassId> + 'a {
        let mut seen = FxHashSet::from_iter([start]);
        let mut queue = vec![start];
        let mut at = 0;
        std::iter::from_fn(move || {
            while let Some(class) = queue.get(at).copied() {
                at += 1;
                queue.extend(edges.get(&class).into_iter().flatten().filter(|next| seen.insert(**next)));
                if class != start {
                    return Some(class);
                }
            }
            None
        })
    }

    /// Returns the classes that derive from a class; none if they are more than `most`.
    pub fn derived(&self, class: ClassId, most: usize) -> Vec<ClassId> {
        let derived: Vec<_> = Self::reached(class, &self.derived).take(most + 1).collect();
        if derived.len() > most { Vec::new() } else { derived }
    }

    /// Returns the class and its bases in the project, in the order in which attributes are looked up. If a class has
    /// several bases, the search is depth first.
    pub(crate) fn lookup_order(&self, class: ClassId) -> Vec<ClassId> {
        let mut order = vec![class];
        let mut queue: Vec<ClassId> = self.bases.get(&class).into_iter().flatten().rev().copied().collect();
        while let Some(base) = queue.pop() {
            if order.len() < 4 * MAX_STEPS && !order.contains(&base) {
                order.push(base);
                queue.extend(self.bases.get(&base).into_iter().flatten().rev());
            }
        }
        order
    }

    /// Returns whether the class is a protocol, so that its objects need not derive from it.
    pub(crate) fn is_protocol(&self, class: ClassId) -> bool {
        let libraries = self.libraries.get(&class).into_iter().flatten();
        libraries.into_iter().any(|base| base.rsplit('.').next() == Some("Protocol"))
    }

    /// Returns whether the class has a base outside the project.
    pub(crate) fn has_library_base(&self, class: ClassId) -> bool {
        let known = self.bases.get(&class).map_or(0, Vec::len);
        self.libraries.get(&class).is_some_and(|libraries| libraries.len() > known)
    }

    /// Returns whether a class derives from a module of Flax.
    pub(crate) fn is_flax_module(&self, class: ClassId) -> bool {
        let libraries = |class: &ClassId| self.libraries.get(class).into_iter().flatten();
        self.lookup_order(class).iter().flat_map(libraries).any(|base| base.starts_with("flax.linen."))
    }

    /// Returns the framework from whose modules, layers or models a class derives. If there are several, the first one
    /// in the order of attribute lookup is returned.
    pub(crate) fn framework(&self, class: ClassId) -> Option<ModuleFramework> {
        let libraries = |class: &ClassId| self.libraries.get(class).into_iter().flatten();
        self.lookup_order(class).iter().flat_map(libraries).find_map(|base| match base.split('.').next()? {
            "torch" | "lightning" | "pytorch_lightning" => Some(ModuleFramework::Torch),
            "keras" | "tf_keras" | "tensorflow" => Some(ModuleFramework::Keras),
            _ => None,
        })
    }

    /// Returns the Keras methods of classes whose Keras base is inherited through another file of the project.
    pub fn keras_roots(
        &self,
        db: &dyn Db,
        documents: &IndexSlice<DocumentIndex, Document>,
    ) -> Vec<(DocumentIndex, RootSite)> {
        let mut sites = Vec::new();
        let mut classes: Vec<_> = self.bases.keys().copied().collect();
        classes.sort_unstable();
        for class in classes {
            let around = std::iter::once(class).chain(Self::reached(class, &self.bases).take(MAX_STEPS));
            let Some(keras) = around
                .flat_map(|class| self.libraries.get(&class).into_iter().flatten())
                .find_map(|base| keras_classes::keras_class(base))
            else {
                continue;
            };
            let Some(document) = documents.get(class.document) else { continue };
            let index = file_index(db, *document);
            let methods = keras_classes::keras_methods(index, class.class, keras);
            sites.extend(methods.map(|site| (class.document, site)));
        }
        sites
    }
}

/// The documents by their module names.
pub(crate) struct Modules<'db> {
    pub(crate) indices: IndexVec<DocumentIndex, &'db FileIndex>,
    pub(crate) names: IndexVec<DocumentIndex, Option<Name>>,
    packages: IndexVec<DocumentIndex, bool>,
    pub(crate) positions: FxHashMap<Name, DocumentIndex>,
}

impl<'db> Modules<'db> {
    pub(crate) fn of(db: &'db dyn Db, documents: &IndexSlice<DocumentIndex, Document>) -> Self {
        let names: IndexVec<DocumentIndex, Option<Name>> = documents
            .iter()
            .map(|document| module_name(db, *document).as_ref().map(|name| imports::canonical(name)))
            .collect();
        let named = names.iter_enumerated().filter_map(|(position, name)| Some((name.clone()?, position)));
        let mut positions: FxHashMap<Name, DocumentIndex> = named.collect();
        for (position, document) in documents.iter_enumerated() {
            for name in module_names(db, *document) {
                positions.entry(imports::canonical(&name)).or_insert(position);
            }
        }
        let is_package = |document: &Document| document.file(db).path(db).as_str().ends_with("__init__.py");
        Self {
            indices: documents.iter().map(|document| &**file_index(db, *document)).collect(),
            packages: documents.iter().map(is_package).collect(),
            positions,
            names,
        }
    }

    /// Returns a base class that the same file defines before the class.
    fn own(&self, class: ClassId, base: &str) -> Option<ClassId> {
        let classes = &self.indices.get(class.document)?.definitions.classes;
        let mut before = classes.iter_enumerated().take(class.class.as_usize()).rev();
        let (found, _) = before.find(|(_, known)| known.qualname == base)?;
        Some(ClassId { document: class.document, class: found })
    }

    /// Returns the class of the project that a name refers to at the end of a file: a class that the file defines or
    /// imports, also with `from .layers import *`.
    pub(crate) fn class_named(&self, document: DocumentIndex, name: &str, steps: usize) -> Option<ClassId> {
        if let Some(own) = self.defined(document, name) {
            return Some(own);
        }
        match self.imported(document, name) {
            Some(dotted) => self.find(&dotted, steps),
            None => self.starred_class(document, name, steps),
        }
    }

    /// Returns the last class with this name that a file defines.
    fn defined(&self, document: DocumentIndex, qualname: &str) -> Option<ClassId> {
        let classes = &self.indices.get(document)?.definitions.classes;
        let (class, _) = classes.iter_enumerated().rev().find(|(_, class)| class.qualname == qualname)?;
        Some(ClassId { document, class })
    }

    /// Returns the dotted name of a class that the file imports.
    pub(crate) fn imported(&self, document: DocumentIndex, base: &str) -> Option<Name> {
        let (head, tail) = base.split_once('.').map_or((base, None), |(head, tail)| (head, Some(tail)));
        let imports = &self.indices.get(document)?.imports;
        let name = imports.get(head)?;
        let name = tail.map_or_else(|| name.clone(), |tail| imports.canonical(&format!("{name}.{tail}")));
        Some(imports::canonical(&self.absolute(document, &name)?))
    }

    /// Resolves a relative name: `..layers.Base` in `package.models.net` -> `package.layers.Base`.
    pub(crate) fn absolute(&self, document: DocumentIndex, name: &str) -> Option<Name> {
        let relative = name.trim_start_matches('.');
        let level = name.len() - relative.len();
        if level == 0 {
            return Some(Name::new(name));
        }
        let mut package = self.names.get(document)?.as_deref()?;
        let up = level - usize::from(*self.packages.get(document)?);
        for _ in 0..up {
            package = package.rsplit_once('.')?.0;
        }
        Some(Name::new(format!("{package}.{relative}")))
    }

    /// Returns the class that a dotted name refers to, directly or through re-exports.
    fn find(&self, dotted: &str, steps: usize) -> Option<ClassId> {
        if steps > MAX_STEPS {
            return None;
        }
        dotted.rmatch_indices('.').find_map(|(at, _)| {
            let (module, qualname) = (&dotted[..at], &dotted[at + 1..]);
            let document = *self.positions.get(module)?;
            self.class_named(document, qualname, steps + 1)
        })
    }

    /// Returns the class that a file imports by `from .layers import *`.
    fn starred_class(&self, document: DocumentIndex, name: &str, steps: usize) -> Option<ClassId> {
        self.starred(document).into_iter().find_map(|other| {
            self.defined(other, name).or_else(|| self.find(&self.imported(other, name)?, steps + 1))
        })
    }

    /// Returns the documents that a file imports by `from module import *`, directly or through others. The file itself
    /// comes first.
    pub(crate) fn starred(&self, document: DocumentIndex) -> Vec<DocumentIndex> {
        let mut found = vec![document];
        let mut at = 0;
        while let Some(next) = found.get(at).copied() {
            at += 1;
            for module in self.indices[next].imports.stars() {
                let absolute = self.absolute(next, module).map(|name| imports::canonical(&name));
                let other = absolute.and_then(|name| self.positions.get(&name).copied());
                found.extend(other.filter(|other| !found.contains(other)));
            }
        }
        found.remove(0);
        found
    }
}
