//! The index of one file, from syntax alone: its functions, imports, calls and roots. It is built in one walk
//! over the tree, which is dropped afterwards. A file without roots needs no further work.

mod plain;
mod signature;
mod walk;

use ruff_python_ast::name::Name;
use ruff_python_ast::{Expr, ModModule, PySourceType, PythonVersion};
use ruff_python_parser::{ParseOptions, Parsed};
use ruff_text_size::{TextRange, TextSize};
use rustc_hash::FxHashSet;
use std::sync::Arc;

pub use signature::{Annotation, DefaultValue, ParameterKind, ParameterSyntax, Signature};

use crate::lambdas::LambdaSyntax;
use crate::roots;
use crate::roots::{Reference, RootSite};
use ag_db::Db;
use ag_db::{Document, source_type, text};
use ag_syntax::functions::{Definitions, FunctionAst, FunctionPath};
use ag_syntax::imports::Imports;
use ag_syntax::nesting;

/// The scope of code outside all functions.
pub const MODULE: u32 = u32::MAX;

/// The builtins that AutoGraph overloads for Tensors or Datasets (autograph `SUPPORTED_BUILTINS`).
pub const OVERLOADED_BUILTINS: &[&str] =
    &["int", "float", "range", "enumerate", "zip", "map", "filter", "len", "sorted", "any", "all"];

/// The index of a file; lists run parallel to `definitions.functions`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FileIndex {
    pub definitions: Definitions,
    pub signatures: Vec<Signature>,
    pub imports: Imports,
    /// (function index or [`MODULE`], last name of the callee): `self.model.call(x)` -> `call`.
    pub calls: FxHashSet<(u32, Name)>,
    pub roots: Vec<RootSite>,
    /// Names of overloaded builtins that are called: (scope, range of the name).
    pub builtin_calls: Vec<(u32, TextRange)>,
    /// The lambdas that are arguments of calls, or have a name.
    pub lambdas: Vec<LambdaSyntax>,
    /// The starts of the statements outside all functions, in order.
    pub statements: Vec<TextSize>,
    pub syntax_errors: Vec<(TextRange, String)>,
    /// The file uses an API that exists only in Keras 2, the version of Keras in TensorFlow before 2.16.
    pub names_keras2: bool,
    /// The text is nested too deeply to walk its tree; all other fields are empty.
    pub too_deep: bool,
}

#[salsa::tracked(returns(ref), no_eq)]
pub fn file_index(db: &dyn Db, document: Document) -> Arc<FileIndex> {
    Arc::new(match tree(db, document) {
        Some(parsed) => FileIndex::build(text(db, document).as_str(), &parsed),
        None => FileIndex { too_deep: true, ..FileIndex::default() },
    })
}

/// The tree of a document; `None` if it is too deep to walk. Trees of open documents are cached.
pub fn tree(db: &dyn Db, document: Document) -> Option<Arc<Parsed<ModModule>>> {
    match document.open(db) {
        true => open_tree(db, document).clone(),
        false => parse(text(db, document).as_str(), source_type(db, document)).map(Arc::new),
    }
}

/// Few documents are edited at the same time, so a small cache suffices.
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

/// A function of a document, identified by its path: the key of all per-function queries.
#[salsa::interned(debug)]
pub struct FunctionId<'db> {
    #[returns(copy)]
    pub document: Document,
    #[returns(ref)]
    pub path: FunctionPath,
}

/// The text of one function, from `def` to its end. It is the firewall of the per-function queries: it does not
/// depend on positions elsewhere in the file.
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
    fn build(text: &str, parsed: &Parsed<ModModule>) -> Self {
        let definitions = Definitions::collect(text, parsed.suite());
        let imports = Imports::collect(parsed.suite());
        let index = Self {
            signatures: vec![Signature::default(); definitions.functions.len()],
            syntax_errors: parsed
                .errors()
                .iter()
                .map(|error| (error.location, error.error.to_string()))
                .collect(),
            definitions,
            imports,
            ..Self::default()
        };
        let mut index = walk::fill(index, parsed.suite());
        roots::add_methods(&mut index);
        roots::name_features(&mut index, parsed.suite());
        roots::name_static_parameters(&mut index, parsed.suite());
        index
    }

    /// The index of the function or method of this file that a reference in `scope` names.
    pub fn lookup(&self, reference: &Reference, scope: u32) -> Option<u32> {
        match reference {
            Reference::Name(name) => self.lookup_name(name, scope),
            Reference::SelfAttribute(name) => {
                let class = self.class_around(scope)?;
                let class = self.definitions.classes.get(class as usize)?;
                class.methods.iter().rev().copied().find(|method| {
                    self.definitions.functions[*method as usize].path.qualname.rsplit('.').next()
                        == Some(name.as_str())
                })
            }
            Reference::Other => None,
        }
    }

    /// Resolves a name by Python's scoping: functions nested in the enclosing functions, then the module's.
    fn lookup_name(&self, name: &str, scope: u32) -> Option<u32> {
        let mut current = scope;
        loop {
            let parent = (current != MODULE).then_some(current);
            let found = self.definitions.functions.iter().enumerate().rev().find(|(_, entry)| {
                entry.parent == parent
                    && entry.class.is_none()
                    && entry.path.qualname.rsplit('.').next() == Some(name)
            });
            if let Some((index, _)) = found {
                return Some(index as u32);
            }
            if current == MODULE {
                return None;
            }
            current = self.definitions.functions[current as usize].parent.unwrap_or(MODULE);
        }
    }

    /// The class that `scope` is a method of, or is nested in a method of.
    pub fn class_around(&self, scope: u32) -> Option<u32> {
        let mut current = scope;
        while current != MODULE {
            let entry = self.definitions.functions.get(current as usize)?;
            if entry.class.is_some() {
                return entry.class;
            }
            current = entry.parent.unwrap_or(MODULE);
        }
        None
    }

    /// The last part of a function's qualified name.
    pub fn short_name(&self, function: u32) -> &str {
        self.definitions
            .functions
            .get(function as usize)
            .and_then(|entry| entry.path.qualname.rsplit('.').next())
            .unwrap_or_default()
    }
}

/// `a.b.c` -> `c`; `f` -> `f`; `tf.function(f)(x)` -> nothing.
pub fn last_name(callee: &Expr) -> Option<&Name> {
    match callee {
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(attribute) => Some(&attribute.attr.id),
        _ => None,
    }
}
