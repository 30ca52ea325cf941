//! The interface of the type oracle. The oracle infers facts about expressions from assumptions about functions.
//!
//! The oracle inserts the assumed types into a copy of each document, as annotations. This annotated source is not
//! visible through the interface; the oracle keeps it in a separate database.

use std::collections::BTreeMap;
use std::sync::Arc;

use ag_db::Document;
use ruff_db::files::FilePath;
use ruff_db::source::SourceText;
use ruff_index::IndexVec;
use ruff_python_ast::name::Name;

use crate::answers::ScopeTypes;
use crate::assumed::AssumedType;
use crate::ids::{ClassIndex, Code, DocumentIndex, ParameterIndex};
use crate::index::FileIndex;
use crate::lambdas::LambdaTypes;

/// A function of a document, or the module's own code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope {
    pub document: DocumentIndex,
    pub code: Code,
}

/// The assumptions about one function, or about the module's own code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assumption {
    /// The assumed types of its parameters; `None` for a parameter that gets no annotation.
    pub parameters: IndexVec<ParameterIndex, Option<AssumedType>>,
    /// The parameters whose annotations are replaced, because they do not hold: `n: int` of a jitted function is a
    /// tracer.
    pub replaced: Vec<ParameterIndex>,
    /// The types of arguments for parameters that the body binds to a value of another kind. They hold at the uses
    /// before that binding.
    pub initial: Vec<(ParameterIndex, AssumedType)>,
    pub returns: Option<AssumedType>,
    /// The types of the parameters of its lambdas.
    pub lambdas: Vec<LambdaTypes>,
    /// Whether AutoGraph converts the function, so that `range(t)`, `int(t)`, … are overloaded in it.
    pub converts: bool,
    /// The types of fields, by class and position: see `index/fields.rs`.
    pub fields: Vec<(ClassIndex, usize, AssumedType)>,
    /// The results of methods that classes of the file call but do not define, because derived classes do.
    pub missing_methods: Vec<(ClassIndex, Name, AssumedType)>,
}

/// Assumptions by document and code.
pub type Assumptions = BTreeMap<DocumentIndex, BTreeMap<Code, Assumption>>;

/// A document with its index.
#[derive(Clone)]
pub struct Source {
    pub document: Document,
    pub path: FilePath,
    pub index: Arc<FileIndex>,
    /// The text in an editor, if the document is open. Otherwise the text on disk is used.
    pub edited: Option<SourceText>,
}

/// A query for the types of some scopes under some assumptions.
pub struct Question<'a> {
    pub assumptions: &'a Assumptions,
    /// The user's texts of the documents with assumptions or with `methods`.
    pub texts: &'a BTreeMap<DocumentIndex, SourceText>,
    /// The queried scopes, sorted.
    pub scopes: &'a [Scope],
    /// The methods whose attributes are queried, all of one document: see [`Attributes`].
    pub methods: &'a [Scope],
    /// Whether all scopes and methods are functions of one document outside import cycles. If so, the oracle may omit
    /// code of that document on which these functions do not depend.
    pub acyclic: bool,
}

/// The attributes that a method sets on its receiver. The type of an attribute is the type with which other code reads
/// it, so it includes the values that other methods set. Each type is given in two forms: as the type engine displays
/// it, and as type expressions. The types are only compared with each other.
pub type Attributes = Vec<(Name, String, AssumedType)>;

/// The answer to a question.
#[derive(Default)]
pub struct Answer {
    /// The types of each scope of the question.
    pub types: Vec<Arc<ScopeTypes>>,
    /// The attributes of each method of the question; `None` if they cannot be inferred.
    pub attributes: Vec<Option<Attributes>>,
}

/// Infers types.
pub trait TypeOracle: Send {
    /// Sets the documents to which scopes and assumptions refer.
    fn set_sources(&mut self, sources: IndexVec<DocumentIndex, Source>);

    /// Replaces the text of one document.
    fn set_source(&mut self, document: DocumentIndex, source: Source);

    /// Limits inference to the modules of these documents: imports from other modules of the project have
    /// unknown types. `None` removes the limit.
    fn restrict(&mut self, documents: Option<&[DocumentIndex]>);

    /// Infers types. Deterministic: equal questions about equal sources have equal answers.
    fn ask(&mut self, question: &Question<'_>) -> Answer;

    /// Must be called when a file has been changed, created or deleted on disk.
    fn sync(&mut self, path: &FilePath);
}
