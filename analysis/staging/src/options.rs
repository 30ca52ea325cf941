//! The settings that the staging analysis depends on.

use ag_index::dialect::Dialect;

/// The options of an analysis run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StagingOptions {
    /// The enabled dialects; empty means all.
    pub dialects: Vec<Dialect>,
    /// Functions that are roots by configuration: `pkg.module.function`, `pkg.module.Class.method`.
    pub roots: Vec<String>,
    /// Every function is a root.
    pub all_roots: bool,
    /// Infer types in all files of a large project.
    pub thorough: bool,
    /// Follow functions as values, however large the project is.
    pub follows_values: bool,
    /// Infer types in the documents only: imports from other files of the project have unknown types.
    pub isolated: bool,
}
