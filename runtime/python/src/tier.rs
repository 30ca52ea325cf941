//! The tier: the setting that decides which operators run natively. Which loops are compiled to machine code.

use ag_exec::{LoopCompilation, Tier};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

const NAMES: [(&str, Tier); 3] = [("torch", Tier::Torch), ("native", Tier::Native), ("always", Tier::Always)];

/// Sets the tier. `"torch"`: every operator runs on libtorch. `"native"`: segments of small tensors run natively.
/// `"always"`: even single operators run natively, in functions that are traced from now on.
#[pyfunction]
pub(super) fn set_tier(name: &str) -> PyResult<()> {
    let Some((_, tier)) = NAMES.iter().find(|(known, _)| *known == name) else {
        return Err(PyValueError::new_err(format!("{name:?} is not \"torch\", \"native\" or \"always\"")));
    };
    ag_exec::set_tier(*tier);
    Ok(())
}

#[pyfunction]
pub(super) fn tier() -> &'static str {
    NAMES.iter().find(|(_, tier)| *tier == ag_exec::tier()).map_or("torch", |(name, _)| name)
}

const LOOPS: [(&str, LoopCompilation); 3] =
    [("never", LoopCompilation::Never), ("hot", LoopCompilation::Hot), ("always", LoopCompilation::Always)];

/// Sets which native loops are compiled to machine code from now on. `"hot"`: those with many iterations and small steps.
#[pyfunction]
pub(super) fn set_loop_compilation(name: &str) -> PyResult<()> {
    let Some((_, loops)) = LOOPS.iter().find(|(known, _)| *known == name) else {
        return Err(PyValueError::new_err(format!("{name:?} is not \"never\", \"hot\" or \"always\"")));
    };
    ag_exec::set_loop_compilation(*loops);
    Ok(())
}

/// Returns the number of loops that this process has compiled to machine code.
#[pyfunction]
pub(super) fn compiled_loops() -> usize {
    ag_exec::compiled_loops()
}
