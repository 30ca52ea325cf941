//! The interface of the type oracle: assumptions about functions in, facts about their expressions out.
//!
//! The oracle sees a document with the assumed types of its functions written in as annotations. That
//! annotated source stays behind this interface, in a database of the oracle's own.

use std::collections::BTreeMap;
use std::sync::Arc;

use ag_db::Document;
use ruff_db::files::FilePath;
use ruff_db::source::SourceText;

use crate::answers::ScopeTypes;
use crate::assumed::AssumedType;
use crate::index::FileIndex;
use crate::lambdas::LambdaTypes;

/// A function of a document by its position in the file index, or the module's own code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope {
    /// Position in the list of documents.
    pub document: u32,
    pub function: u32,
}

/// What is assumed of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assumption {
    /// By parameter position; `None` where nothing is inserted.
    pub parameters: Vec<Option<AssumedType>>,
    pub returns: Option<AssumedType>,
    /// What its lambdas are called with.
    pub lambdas: Vec<LambdaTypes>,
    /// AutoGraph converts the function: `range(t)`, `int(t)`, … are overloaded in it.
    pub converts: bool,
}

/// What is assumed, by document and function.
pub type Assumptions = BTreeMap<u32, BTreeMap<u32, Assumption>>;

/// A document with its text and index.
#[derive(Clone)]
pub struct Source {
    pub document: Document,
    pub path: FilePath,
    pub text: SourceText,
    pub index: Arc<FileIndex>,
    /// The text is an editor's, and may differ from that on disk.
    pub edited: bool,
}

/// The types of some scopes under some assumptions.
pub struct Question<'a> {
    pub assumptions: &'a Assumptions,
    /// In order.
    pub scopes: &'a [Scope],
    /// All scopes are functions of one document, and no file that this document imports, directly or not,
    /// imports it. So the oracle need not annotate what these functions cannot see.
    pub acyclic: bool,
}

/// Infers types.
pub trait TypeOracle: Send {
    /// Sets the documents; scopes and assumptions refer to them by position.
    fn set_sources(&mut self, sources: Vec<Source>);

    /// Looks only into the modules of these documents; what is imported from any other module of the project
    /// is of unknown type. `None` looks into all.
    fn restrict(&mut self, documents: Option<&[u32]>);

    /// The types of the scopes, one answer each. Equal questions about equal sources have equal answers.
    fn ask(&mut self, question: &Question<'_>) -> Vec<Arc<ScopeTypes>>;

    /// A file has changed on disk, has been created or deleted.
    fn sync(&mut self, path: &FilePath);
}
