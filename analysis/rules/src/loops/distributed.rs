//! Staged loops over a distributed dataset.

use super::carried::StagedLoop;
use ag_index::facts::Alternative;

/// Returns whether a loop iterates over a distributed dataset itself:
/// `for batch in strategy.experimental_distribute_dataset(dataset)`. A loop over `iter(…)` of the dataset is an
/// ordinary loop.
pub(super) fn iterates(staged: &StagedLoop) -> bool {
    let Some(iterable) = staged.iterable() else { return false };
    let fact = staged.ctx.python_fact(iterable);
    let datasets =
        fact.alternatives.iter().filter(|alternative| matches!(alternative, Alternative::Tensor { .. }));
    datasets.count() == 1 && fact.shown.starts_with("DistributedDataset")
}
