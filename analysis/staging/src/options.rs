//! The settings that the staging analysis depends on.

use ag_index::dialect::Dialect;

/// The options of an analysis run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StagingOptions {
    /// The enabled dialects. If the list is empty, all are enabled.
    pub dialects: Vec<Dialect>,
    /// Functions that are roots by configuration: `pkg.module.function`, `pkg.module.Class.method`.
    pub roots: Vec<String>,
    /// Whether every function is a root.
    pub all_roots: bool,
    /// Whether types are inferred in all files, even of a large project.
    pub thorough: bool,
    /// Whether functions are followed as values, however large the project is.
    pub follows_values: bool,
    /// Whether types are inferred from the documents only. Then imports from other files of the project have unknown
    /// types.
    pub isolated: bool,
}
