//! The Python module `autograph._runtime`. The Python package traces the user's code and records nodes
//! through this module; graphs are stored, differentiated and executed without Python.
//!
//! - [`graph`]: `Graph`, built node by node
//! - [`operation`]: `Op`, an operation; [`types`]: `Type`, the type of a value
//! - [`operand`]: converts Python arguments to operands; [`torch`]: torch's dtypes, devices and layouts
//! - [`callable`]: calls without frames in tracebacks; [`cached_call`]: calls that are like the last ones;
//!   [`trial`]: whether graphs or Python are faster; [`direct`]: how they run, [`built`]: what they return
//! - [`state_guards`]: the guards of a trace, with [`places`] of Python state and [`dict_guards`]; [`modes`]: when graphs run
//! - [`convert`]: converts the user's functions
//! - [`plan`]: `Plan`, which executes a graph, and `Saved` values; [`value`]: its inputs and results
//! - [`recorded`]: `Recorded`, calls that are nodes of torch's autograd
//! - [`passes`]: which passes run; [`tier`]: which operators run natively; [`products`]: which kernels compute products
//! - [`memory`]: inputs that share memory, and writes to inputs
//! - [`model`]: saved models; [`shared_library`]: graphs as shared libraries
//! - [`gradient`]: derivatives as nodes

mod built;
mod cached_call;
mod callable;
mod convert;
mod dict_guards;
mod direct;
mod gradient;
mod graph;
mod memory;
mod model;
mod modes;
mod operand;
mod operation;
mod passes;
mod places;
mod plan;
mod products;
mod recorded;
mod shared_library;
mod state_guards;
mod tier;
mod torch;
mod trial;
mod types;
mod value;

use pyo3::prelude::*;

#[pymodule]
fn _runtime(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<callable::PyCallable>()?;
    module.add_class::<cached_call::PyCachedCall>()?;
    module.add_class::<dict_guards::PyDictGuards>()?;
    module.add_class::<direct::PyDirect>()?;
    module.add_class::<state_guards::PyAbsentGuards>()?;
    module.add_class::<state_guards::PyStateGuards>()?;
    module.add_function(wrap_pyfunction!(modes::suspend_cached_calls, module)?)?;
    module.add_function(wrap_pyfunction!(modes::resume_cached_calls, module)?)?;
    module.add_function(wrap_pyfunction!(modes::set_eager, module)?)?;
    module.add_function(wrap_pyfunction!(modes::set_comparison, module)?)?;
    module.add_function(wrap_pyfunction!(modes::compares_with_python, module)?)?;
    module.add_function(wrap_pyfunction!(modes::begin_eager_block, module)?)?;
    module.add_function(wrap_pyfunction!(modes::end_eager_block, module)?)?;
    module.add_function(wrap_pyfunction!(modes::runs_eagerly, module)?)?;
    module.add_class::<graph::PyGraph>()?;
    module.add_class::<graph::PyRegion>()?;
    module.add_class::<operand::PyValue>()?;
    module.add_class::<operation::PyOp>()?;
    module.add_class::<types::PyType>()?;
    module.add_class::<types::PyTensorType>()?;
    module.add_class::<types::PyListType>()?;
    module.add_class::<types::PyTupleType>()?;
    module.add_function(wrap_pyfunction!(torch::dtype_names, module)?)?;
    module.add_function(wrap_pyfunction!(torch::ambient, module)?)?;
    module.add_function(wrap_pyfunction!(memory::share_storage, module)?)?;
    module.add_function(wrap_pyfunction!(memory::write, module)?)?;
    module.add_function(wrap_pyfunction!(passes::passes, module)?)?;
    module.add_function(wrap_pyfunction!(passes::disable_passes, module)?)?;
    module.add_function(wrap_pyfunction!(tier::set_tier, module)?)?;
    module.add_function(wrap_pyfunction!(tier::tier, module)?)?;
    module.add_function(wrap_pyfunction!(tier::set_loop_compilation, module)?)?;
    module.add_function(wrap_pyfunction!(tier::compiled_loops, module)?)?;
    module.add_function(wrap_pyfunction!(products::set_product_kernels, module)?)?;
    module.add_function(wrap_pyfunction!(products::product_kernels, module)?)?;
    module.add_function(wrap_pyfunction!(products::products_description, module)?)?;
    module.add_class::<plan::PyPlan>()?;
    module.add_class::<recorded::PyRecorded>()?;
    module.add_function(wrap_pyfunction!(recorded::run_recorded, module)?)?;
    module.add_function(wrap_pyfunction!(recorded::run_backward, module)?)?;
    module.add_class::<model::PyModel>()?;
    module.add_function(wrap_pyfunction!(convert::convert, module)?)
}
