//! What the settings of a project say about staging.

use ag_index::dialect::Dialect;

/// The options of an analysis run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StagingOptions {
    /// The dialects that are looked for; none stands for all.
    pub dialects: Vec<Dialect>,
    /// Functions that are roots by configuration: `pkg.module.function`, `pkg.module.Class.method`.
    pub roots: Vec<String>,
    /// Every function is a root.
    pub all_roots: bool,
    /// Types are followed through a large project as through a small one.
    pub thorough: bool,
}
