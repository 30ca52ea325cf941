//! The modes in which a call of a staged function does not run its own graph: during tracing and profiling, when Python
//! repeats a run, in a function with a fallback, and while all functions run eagerly.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::GILOnceCell;
use pyo3::types::{PyDict, PyInt};

use super::torch::ambient;

thread_local! {
    /// The number of blocks of this thread in which calls do not run graphs.
    static BLOCKS: Cell<u32> = const { Cell::new(0) };
    /// The number of blocks of this thread in which staged functions run eagerly.
    static EAGER_BLOCKS: Cell<u32> = const { Cell::new(0) };
}

static EAGERLY: AtomicBool = AtomicBool::new(false);

/// Begins a block of this thread in which cached calls do not run.
#[pyfunction]
pub(super) fn suspend_cached_calls() {
    BLOCKS.set(BLOCKS.get().saturating_add(1));
}

/// Ends such a block.
#[pyfunction]
pub(super) fn resume_cached_calls() {
    BLOCKS.set(BLOCKS.get().saturating_sub(1));
}

/// Sets whether all threads run functions eagerly.
#[pyfunction]
pub(super) fn set_eager(eagerly: bool) {
    EAGERLY.store(eagerly, Ordering::Relaxed);
}

/// Whether Python may run calls of which a graph is valid, because Python is faster.
static COMPARES: AtomicBool = AtomicBool::new(true);

#[pyfunction]
pub(super) fn set_comparison(mode: bool) {
    COMPARES.store(mode, Ordering::Relaxed);
}

/// Returns whether Python may run calls only because it is faster.
#[pyfunction]
pub(super) fn compares_with_python() -> bool {
    COMPARES.load(Ordering::Relaxed)
}

/// Begins a block of this thread in which staged functions run eagerly.
#[pyfunction]
pub(super) fn begin_eager_block() {
    EAGER_BLOCKS.set(EAGER_BLOCKS.get().saturating_add(1));
}

/// Ends such a block.
#[pyfunction]
pub(super) fn end_eager_block() {
    EAGER_BLOCKS.set(EAGER_BLOCKS.get().saturating_sub(1));
}

/// A block of this thread in which staged functions run eagerly. It ends when this value is dropped.
pub(super) struct EagerBlock;

impl EagerBlock {
    pub(super) fn new() -> Self {
        begin_eager_block();
        Self
    }
}

impl Drop for EagerBlock {
    fn drop(&mut self) {
        end_eager_block();
    }
}

/// Returns whether staged functions run eagerly in this thread.
#[pyfunction]
pub(super) fn runs_eagerly() -> bool {
    EAGERLY.load(Ordering::Relaxed) || EAGER_BLOCKS.get() != 0
}

/// Returns whether code of this thread is being traced, profiled or repeated, or has a fallback.
pub(super) fn is_suspended() -> bool {
    BLOCKS.get() != 0
}

/// Returns whether a call of a staged function runs its graph now.
pub(super) fn runs_graphs() -> bool {
    !is_suspended() && !runs_eagerly()
}

/// What `autograph.tracing.ambient` reads.
struct Surroundings {
    /// The state of torch.distributed; None if torch was built without it.
    world: Option<PyObject>,
    /// The variables of `torch.autograd.forward_ad`.
    forward_ad: Py<PyDict>,
    /// `ambient.key`
    key: PyObject,
}

static SURROUNDINGS: GILOnceCell<Surroundings> = GILOnceCell::new();

impl Surroundings {
    fn get(py: Python<'_>) -> PyResult<&'static Self> {
        SURROUNDINGS.get_or_try_init(py, || {
            let module = py.import("autograph.tracing.ambient")?;
            let world = module.getattr("_WORLD")?;
            Ok(Self {
                world: (!world.is_none()).then(|| world.unbind()),
                forward_ad: module.getattr("forward_ad")?.getattr("__dict__")?.extract()?,
                key: module.getattr("key")?.unbind(),
            })
        })
    }

    /// Returns whether there are no processes and no forward derivatives, so that the key is a number.
    fn are_plain(&self, py: Python<'_>) -> PyResult<bool> {
        if let Some(world) = &self.world
            && !world.bind(py).getattr(intern!(py, "default_pg"))?.is_none()
        {
            return Ok(false);
        }
        let level = self.forward_ad.bind(py).get_item(intern!(py, "_current_level"))?;
        level.map_or(Ok(false), |level| level.lt(0))
    }
}

/// The settings of torch in which a trace is valid: a value of `ambient.key()`.
pub(super) struct Settings {
    key: PyObject,
    /// The key, if it is a number.
    number: Option<u64>,
}

impl Settings {
    pub(super) fn new(key: Bound<'_, PyAny>) -> Self {
        let number = if key.is_exact_instance_of::<PyInt>() { key.extract().ok() } else { None };
        Self { key: key.unbind(), number }
    }

    pub(super) fn object(&self) -> &PyObject {
        &self.key
    }

    /// Returns whether these are the current settings.
    pub(super) fn hold(&self, py: Python<'_>) -> PyResult<bool> {
        let surroundings = Surroundings::get(py)?;
        match self.number {
            Some(number) => Ok(number & 1 == 0 && number == ambient() && surroundings.are_plain(py)?),
            None => surroundings.key.bind(py).call0()?.eq(&self.key),
        }
    }
}
