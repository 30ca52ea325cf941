//! The index of one file, computed from its syntax: functions, imports, calls and roots. It is built in one walk over
//! the tree, which is then dropped. A file without roots needs no further work.

mod buffers;
mod compiled_modules;
mod fields;
mod hooks;
mod identity_decorators;
mod initial_uses;
mod keras_version;
mod model_calls;
mod operands;
mod plain;
mod recent;
mod replaceable;
mod self_nesting;
mod signature;
pub(crate) mod walk;
mod wrapped;

use ruff_index::IndexVec;
use ruff_python_ast::name::Name;
use ruff_python_ast::{Expr, ModModule, PySourceType, PythonVersion};
use ruff_python_parser::{ParseOptions, Parsed};
use ruff_text_size::{TextRange, TextSize};
use rustc_hash::FxHashMap;
use std::sync::Arc;

pub use fields::Field;
pub use keras_version::Version as KerasVersion;
pub use model_calls::ModelCall;
pub use recent::while_keeping_tree;
pub use signature::{Annotation, DefaultValue, ParameterKind, ParameterSyntax, Signature};

use crate::definitions::{Definitions, FunctionEntry};
use crate::ids::{ClassIndex, Code, FunctionIndex, RootIndex};
use crate::keras_classes;
use crate::lambdas::LambdaSyntax;
use crate::reexports;
use crate::roots;
use crate::roots::{Reference, RootSite};
use ag_db::Db;
use ag_db::{Document, source_type, text, with_text};
use ag_syntax::directives;
use ag_syntax::functions::{FunctionAst, FunctionPath};
use ag_syntax::imports::Imports;
use ag_syntax::nesting;

/// The builtins that AutoGraph overloads for Tensors or Datasets (autograph `SUPPORTED_BUILTINS`).
pub const OVERLOADED_BUILTINS: &[&str] =
    &["int", "float", "range", "enumerate", "zip", "map", "filter", "len", "sorted", "any", "all"];

/// Builtins for which the type engine has a less precise type than annotated source, in all dialects.
pub const REPLACED_BUILTINS: &[&str] = &["sum"];

/// The index of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FileIndex {
    pub definitions: Definitions,
    pub signatures: IndexVec<FunctionIndex, Signature>,
    pub imports: Imports,
    /// The code that contains calls, by the last part of the callee's name: `call` for `self.model.call(x)`. Sorted,
    /// without duplicates.
    pub calls: FxHashMap<Name, Vec<Code>>,
    /// The other names of functions, by the last part of the function's own name: `step` for `train`, after
    /// `step = jax.jit(train)`. For a function that returns a nested function, the names of its results: `step` for
    /// `make_step`, after `step = make_step(0.1)`. Sorted, without duplicates.
    pub other_names: FxHashMap<Name, Vec<Name>>,
    pub roots: IndexVec<RootIndex, RootSite>,
    /// Names of overloaded and replaced builtins that functions call: (function, range of the name).
    pub builtin_calls: Vec<(FunctionIndex, TextRange)>,
    /// The operands that annotated source wraps. An outer operand comes before the operands inside it.
    pub operands: Vec<(FunctionIndex, TextRange)>,
    /// The functions that are decorators which keep the type of a function, or return one. Annotated source of other
    /// files depends on them.
    pub decorator_kinds: identity_decorators::Kinds,
    /// The decorators that annotated source wraps (`index/identity_decorators.rs`), each with the name of its function.
    pub identity_decorators: Vec<(Name, TextRange)>,
    /// The expressions in loops that annotated source wraps (`index/self_nesting.rs`). An outer expression comes before
    /// the expressions inside it.
    pub self_nesting: Vec<TextRange>,
    /// The buffers of PyTorch modules that are Tensors (`index/buffers.rs`), each with its class.
    pub buffers: Vec<(ClassIndex, Name)>,
    /// The classes to which a decorator of flax or chex adds a method `replace`, which returns a changed copy.
    pub replaceable: Vec<ClassIndex>,
    /// The fields of classes with a generated constructor (`index/fields.rs`).
    pub fields: Vec<(ClassIndex, Vec<Field>)>,
    /// The lambdas that are arguments of calls, or that have a name.
    pub lambdas: Vec<LambdaSyntax>,
    /// The starts of the statements outside all functions, in order.
    pub statements: Vec<TextSize>,
    pub syntax_errors: Vec<(TextRange, String)>,
    /// Whether the file uses an API that exists only in Keras 2, the version in TensorFlow before 2.16.
    pub names_keras2: bool,
    /// Whether the file uses an API that exists only in Keras 3.
    pub names_keras3: bool,
    /// The calls that may trace a Keras model. Sorted, without duplicates.
    pub model_calls: Vec<ModelCall>,
    /// The functions in which every `compile` of a Keras model passes `run_eagerly=True`; the module, if this holds in the
    /// whole file.
    pub compile_eagerly: Vec<Code>,
    /// The decorated functions that a test defines and calls only where it expects an exception. They are not roots.
    pub expected_to_fail: Vec<FunctionIndex>,
    /// Whether the file calls `keras.Input` to build functional models.
    pub makes_keras_inputs: bool,
    /// Whether the file has a class whose only base class is a layer, model or metric of Keras.
    pub derives_from_keras: bool,
    /// The number of lambdas.
    pub lambda_count: usize,
    /// Whether the file may have comments for the checker: `# ag: ignore[AG501]`.
    pub may_have_directives: bool,
    /// Whether the file is blank, perhaps because it cannot be read.
    pub is_blank: bool,
    /// Whether the text is nested too deeply to walk its tree. If it is, all other fields are empty.
    pub too_deep: bool,
}

#[salsa::tracked(returns(ref), no_eq)]
pub fn file_index(db: &dyn Db, document: Document) -> Arc<FileIndex> {
    let build = |text: &str, parsed: Option<&Parsed<ModModule>>| match parsed {
        Some(parsed) => FileIndex::build(db, document, text, parsed),
        None => FileIndex { too_deep: true, ..FileIndex::default() },
    };
    Arc::new(match document.open(db) {
        true => build(text(db, document).as_str(), open_tree(db, document).as_deref()),
        false => with_text(db, document, |text| {
            let source_type = source_type(db, document);
            let parsed = parse(text, source_type);
            let index = build(text, parsed.as_ref());
            recent::keep(text, source_type, parsed);
            index
        }),
    })
}

/// Returns the tree of a document; `None` if it is too deep to walk. The trees of open documents are cached.
pub fn tree(db: &dyn Db, document: Document) -> Option<Arc<Parsed<ModModule>>> {
    with_text(db, document, |text| tree_of(db, document, text))
}

/// Returns the tree of a document whose text is already loaded; `None` if it is too deep to walk.
pub fn tree_of(db: &dyn Db, document: Document, text: &str) -> Option<Arc<Parsed<ModModule>>> {
    if document.open(db) {
        return open_tree(db, document).clone();
    }
    let source_type = source_type(db, document);
    recent::of(text, source_type).or_else(|| parse(text, source_type).map(Arc::new))
}

/// Returns the tree of an open document. Few documents are edited at the same time, so a small cache suffices.
#[salsa::tracked(returns(ref), no_eq, lru = 16)]
fn open_tree(db: &dyn Db, document: Document) -> Option<Arc<Parsed<ModModule>>> {
    parse(text(db, document).as_str(), source_type(db, document)).map(Arc::new)
}

/// Parses a whole file; `None` if its tree is too deep to walk.
pub fn parse(text: &str, source_type: PySourceType) -> Option<Parsed<ModModule>> {
    if nesting::is_too_deep(text) {
        return None;
    }
    let options = ParseOptions::from(source_type).with_target_version(PythonVersion::latest());
    ruff_python_parser::parse_unchecked(text, options).try_into_module()
}

/// A function of a document, identified by its path. All per-function queries have it as their key.
#[salsa::interned(debug)]
pub struct FunctionId<'db> {
    #[returns(copy)]
    pub document: Document,
    #[returns(ref)]
    pub path: FunctionPath,
}

/// Returns the text of one function, from `def` to its end. This query does not depend on positions elsewhere in the
/// file, so per-function queries that read only this text are not repeated after edits of other functions.
#[salsa::tracked(returns(ref))]
pub fn function_slice<'db>(db: &'db dyn Db, function: FunctionId<'db>) -> Option<Arc<str>> {
    let document = function.document(db);
    let (_, entry) = file_index(db, document).definitions.find(function.path(db))?;
    let source = text(db, document);
    source.as_str().get(std::ops::Range::<usize>::from(entry.range)).map(Into::into)
}

#[salsa::tracked(returns(ref))]
pub fn function_ast<'db>(db: &'db dyn Db, function: FunctionId<'db>) -> Option<FunctionAst> {
    let slice = function_slice(db, function).clone()?;
    FunctionAst::parse(slice, source_type(db, function.document(db)))
}

impl FileIndex {
    /// Returns the version of Keras that the file needs.
    pub fn keras_version(&self) -> Option<KerasVersion> {
        match (self.names_keras2, self.names_keras3) {
            (true, _) => Some(KerasVersion::Two),
            (false, true) => Some(KerasVersion::Three),
            (false, false) => None,
        }
    }

    fn build(db: &dyn Db, document: Document, text: &str, parsed: &Parsed<ModModule>) -> Self {
        let definitions = Definitions::collect(text, parsed.suite());
        let mut imports = Imports::collect(parsed.suite());
        reexports::resolve(db, document, &mut imports);
        let index = Self {
            signatures: definitions.functions.iter().map(|_| Signature::default()).collect(),
            syntax_errors: parsed
                .errors()
                .iter()
                .map(|error| (error.location, error.error.to_string()))
                .collect(),
            definitions,
            imports,
            may_have_directives: directives::may_occur(text),
            is_blank: text.trim().is_empty(),
            ..Self::default()
        };
        let mut index = walk::fill(index, text, parsed.suite());
        index.decorator_kinds = identity_decorators::kinds(parsed.suite());
        index.identity_decorators =
            identity_decorators::of(parsed.suite(), &index.decorator_kinds, &|decorator| {
                identity_decorators::imported(db, document, &index.imports, decorator)
            });
        keras_classes::add_methods(&mut index);
        wrapped::mark(&mut index, parsed.suite());
        roots::name_features(&mut index, parsed.suite());
        roots::resolve_static_arguments(&mut index, parsed.suite());
        index.shrink();
        index
    }

    /// For most files only the index is ever used, so its size matters.
    fn shrink(&mut self) {
        for codes in self.calls.values_mut() {
            codes.sort_unstable();
            codes.dedup();
            codes.shrink_to_fit();
        }
        self.calls.shrink_to_fit();
        for names in self.other_names.values_mut() {
            names.sort_unstable();
            names.dedup();
            names.shrink_to_fit();
        }
        self.other_names.shrink_to_fit();
        self.roots.raw.shrink_to_fit();
        self.builtin_calls.shrink_to_fit();
        self.operands.shrink_to_fit();
        self.self_nesting.shrink_to_fit();
        self.buffers.shrink_to_fit();
        self.replaceable.shrink_to_fit();
        self.fields.shrink_to_fit();
        self.identity_decorators.shrink_to_fit();
        self.lambdas.shrink_to_fit();
        self.statements.shrink_to_fit();
        for signature in &mut self.signatures {
            signature.parameters.raw.shrink_to_fit();
            signature.stores.shrink_to_fit();
            signature.decorators.shrink_to_fit();
        }
    }

    /// Returns the entry of a function; `None` for the module's own code.
    pub fn function(&self, code: Code) -> Option<&FunctionEntry> {
        self.definitions.functions.get(code.function()?)
    }

    /// Returns the signature of a function; `None` for the module's own code.
    pub fn signature(&self, code: Code) -> Option<&Signature> {
        self.signatures.get(code.function()?)
    }

    /// Returns the function or method of this file to which a reference in `scope` refers.
    pub fn lookup(&self, reference: &Reference, scope: Code) -> Option<FunctionIndex> {
        match reference {
            Reference::Name(name) => self.lookup_name(name, scope),
            Reference::SelfAttribute(name) => {
                let class = self.definitions.classes.get(self.class_around(scope)?)?;
                class.methods.iter().rev().copied().find(|method| self.short_name(*method) == name.as_str())
            }
            Reference::Result(name) => self.returned_function(self.lookup_name(name, scope)?),
            Reference::Other => None,
        }
    }

    /// Returns the `__call__` of a class of the file.
    pub fn call_method(&self, reference: &Reference) -> Option<FunctionIndex> {
        let Reference::Name(name) = reference else { return None };
        let class = self.definitions.classes.iter().find(|class| class.qualname == *name)?;
        class.methods.iter().rev().copied().find(|method| self.short_name(*method) == "__call__")
    }

    /// Returns the nested function that a function returns by name; `None` if there is none, or if it returns several.
    fn returned_function(&self, factory: FunctionIndex) -> Option<FunctionIndex> {
        let is_name = |text: &&Name| text.chars().all(|c| c.is_alphanumeric() || c == '_');
        let mut names = self.signatures.get(factory)?.returned.iter().filter(is_name);
        let name = names.next().filter(|first| names.all(|other| other == *first))?;
        let mut nested = self
            .definitions
            .functions
            .iter_enumerated()
            .rev()
            .filter(|(_, entry)| entry.parent == Some(factory) && entry.class.is_none());
        nested.find(|(function, _)| self.short_name(*function) == name.as_str()).map(|(function, _)| function)
    }

    /// Resolves a name by Python's scoping: first functions nested in the enclosing functions, then those of the
    /// module.
    fn lookup_name(&self, name: &str, scope: Code) -> Option<FunctionIndex> {
        let functions = &self.definitions.functions;
        let mut current = scope.function();
        loop {
            let found = functions.iter_enumerated().rev().find(|(function, entry)| {
                entry.parent == current && entry.class.is_none() && self.short_name(*function) == name
            });
            if let Some((function, _)) = found {
                return Some(function);
            }
            let around = current?;
            let parameters = self.signatures.get(around).map(|signature| &signature.parameters);
            if parameters.is_some_and(|parameters| parameters.iter().any(|known| known.name == name)) {
                return None;
            }
            current = functions[around].parent;
        }
    }

    /// Returns the class of which `scope` is a method. For code nested in a method, the class of that method.
    pub fn class_around(&self, scope: Code) -> Option<ClassIndex> {
        let mut current = scope.function();
        while let Some(entry) = self.definitions.functions.get(current?) {
            if entry.class.is_some() {
                return entry.class;
            }
            current = entry.parent;
        }
        None
    }

    /// Returns the last part of a function's qualified name.
    pub fn short_name(&self, function: FunctionIndex) -> &str {
        self.definitions.functions[function].path.name()
    }
}

/// Returns the last part of a callee's name: `c` for `a.b.c`, `f` for `f`; `None` for other callees, as in
/// `tf.function(f)(x)`.
pub fn last_name(callee: &Expr) -> Option<&Name> {
    match callee {
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(attribute) => Some(&attribute.attr.id),
        _ => None,
    }
}
