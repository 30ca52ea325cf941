//! The setting that decides which passes run: loop batching while graphs are built, those of the optimizer on graphs, those
//! on native programs, and those on plans.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use ag_graph::{batching, optimize};
use ag_native::Passes;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The optimizer passes that do not run, as bits.
static DISABLED: AtomicU32 = AtomicU32::new(0);

static BATCHES_LOOPS: AtomicBool = AtomicBool::new(true);

/// Returns the names of the passes in two lists, each in the order in which the passes run. The first list has the
/// optimizer's passes. The second one has loop batching and the passes on native programs and plans.
#[pyfunction]
pub(super) fn passes() -> (Vec<&'static str>, Vec<&'static str>) {
    let native = ag_native::Pass::ALL.iter().map(|pass| pass.name());
    let native = native.chain(ag_exec::Pass::ALL.iter().map(|pass| pass.name()));
    let native = std::iter::once(batching::NAME).chain(native).collect();
    (optimize::Pass::ALL.iter().map(|pass| pass.name()).collect(), native)
}

/// Sets the passes that do not run in functions that are traced from now on.
#[pyfunction]
pub(super) fn disable_passes(names: Vec<String>) -> PyResult<()> {
    let any = |name: &str| {
        let known = optimize::Pass::from_name(name).is_some() || lowering_pass(name).is_some();
        known.then(|| name.to_owned())
    };
    let names = named(&names, any)?;
    let is_disabled = |name: &str| names.iter().any(|disabled| disabled == name);
    let bits = optimize::Pass::ALL.iter().enumerate().filter(|(_, pass)| is_disabled(pass.name()));
    DISABLED.store(bits.fold(0, |bits, (index, _)| bits | 1 << index), Ordering::Relaxed);
    let native = ag_native::Pass::ALL.into_iter().filter(|pass| !is_disabled(pass.name()));
    ag_exec::set_native_passes(Passes::new(native));
    BATCHES_LOOPS.store(!is_disabled(batching::NAME), Ordering::Relaxed);
    ag_exec::set_passes(ag_exec::Pass::ALL.into_iter().filter(|pass| !is_disabled(pass.name())));
    Ok(())
}

/// Returns the optimizer passes that run.
pub(super) fn enabled_passes() -> Vec<optimize::Pass> {
    let disabled = DISABLED.load(Ordering::Relaxed);
    let passes = optimize::Pass::ALL.iter().enumerate();
    passes.filter(|(index, _)| disabled & (1 << index) == 0).map(|(_, pass)| *pass).collect()
}

/// Returns the mode of loop batching for a graph. If results must equal those of libtorch to the last bit, loops are not
/// batched.
pub(super) fn loop_batching(is_wanted: bool) -> batching::Mode {
    match BATCHES_LOOPS.load(Ordering::Relaxed) && ag_exec::tier() != ag_exec::Tier::Torch {
        false => batching::Mode::Ignore,
        true if is_wanted => batching::Mode::Batch,
        true => batching::Mode::Find,
    }
}

/// Loop batching, or a pass on native programs or on plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoweringPass {
    Batching,
    Native(ag_native::Pass),
    Plan(ag_exec::Pass),
}

pub(super) fn lowering_pass(name: &str) -> Option<LoweringPass> {
    let native = ag_native::Pass::from_name(name).map(LoweringPass::Native);
    let lowering = native.or_else(|| ag_exec::Pass::from_name(name).map(LoweringPass::Plan));
    lowering.or_else(|| (name == batching::NAME).then_some(LoweringPass::Batching))
}

/// Returns the passes with these names; an error for an unknown one.
pub(super) fn named<P>(names: &[String], find: impl Fn(&str) -> Option<P>) -> PyResult<Vec<P>> {
    names
        .iter()
        .map(|name| {
            find(name).ok_or_else(|| {
                let (optimizer, native) = passes();
                let known = [optimizer, native].concat().join(", ");
                PyValueError::new_err(format!("unknown pass {name:?}; expected some of {known}"))
            })
        })
        .collect()
}
