//! The face to Python: the module `autograph._runtime`. Python traces the user's code and says here what it met;
//! the graph is kept, differentiated and run without Python.
//!
//! - [`graph`]: `Graph`, made node by node
//! - [`operand`]: arguments of Python as operands
//! - [`callable`]: what is called without a frame in tracebacks
//! - [`convert`]: converted code of the user's functions
//! - [`plan`]: `Plan`, which runs, and `Saved` between the halves of a gradient; [`value`]: what goes into it and comes out
//! - [`model`]: saved models
//! - [`gradient`]: derivatives, as nodes

mod callable;
mod convert;
mod gradient;
mod graph;
mod model;
mod operand;
mod plan;
mod value;

use pyo3::prelude::*;

#[pymodule]
fn _runtime(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<callable::PyCallable>()?;
    module.add_class::<graph::PyGraph>()?;
    module.add_class::<graph::PyRegion>()?;
    module.add_class::<operand::PyValue>()?;
    module.add_class::<plan::PyPlan>()?;
    module.add_class::<model::PyModel>()?;
    module.add_function(wrap_pyfunction!(convert::convert, module)?)
}
