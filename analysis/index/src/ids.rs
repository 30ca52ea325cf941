//! Ids: the positions of documents, functions, classes, parameters and roots in their lists.

use ruff_index::newtype_index;

/// The position of a document in the project's list of documents.
#[newtype_index]
#[derive(PartialOrd, Ord)]
pub struct DocumentIndex;

/// The position of a function in [`crate::definitions::Definitions::functions`].
#[newtype_index]
#[derive(PartialOrd, Ord)]
pub struct FunctionIndex;

/// The position of a class in [`crate::definitions::Definitions::classes`].
#[newtype_index]
#[derive(PartialOrd, Ord)]
pub struct ClassIndex;

/// The position of a parameter in the signature of a function or lambda.
#[newtype_index]
#[derive(PartialOrd, Ord)]
pub struct ParameterIndex;

/// The position of a root site in [`crate::index::FileIndex::roots`].
#[newtype_index]
#[derive(PartialOrd, Ord)]
pub struct RootIndex;

/// Code that is analyzed as a unit: a function, or the module's own code. Functions come first in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    Function(FunctionIndex),
    /// The module's own code, outside all functions.
    Module,
}

impl Code {
    /// Returns the function, unless this is the module's own code.
    pub fn function(self) -> Option<FunctionIndex> {
        match self {
            Self::Function(function) => Some(function),
            Self::Module => None,
        }
    }
}

impl From<FunctionIndex> for Code {
    fn from(function: FunctionIndex) -> Self {
        Self::Function(function)
    }
}

impl From<Option<FunctionIndex>> for Code {
    fn from(function: Option<FunctionIndex>) -> Self {
        function.map_or(Self::Module, Self::Function)
    }
}
