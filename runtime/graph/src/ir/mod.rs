//! The graph: typed values in single assignment form, with nested regions for control flow.
//!
//! This room knows neither Python nor libtorch. An operator of ATen is a name with operands; what it computes is
//! known to the executor, its derivative to `autodiff`.
//!
//! - [`types`]: tensors with dtype, shape and device; scalars that are no tensors; lists; tuples
//! - [`operand`]: what a node is given: values and literals, in trees
//! - [`op`]: the operations
//! - [`arithmetic`]: what operations on registers give
//! - [`graph`]: nodes, regions, functions, and the source that they come from
//! - [`escape`]: values that may share their memory with what is outside
//! - [`build`]: making a function from its start to its end, regions within regions
//! - [`verify`]: what must be true of every graph
//! - [`text`]: graphs as text that is read back

pub mod arithmetic;
pub mod build;
pub mod escape;
pub mod graph;
pub mod op;
pub mod operand;
pub mod text;
pub mod types;
pub mod verify;

pub use build::Builder;
pub use graph::{Function, FunctionId, Graph, Node, Origin, Outcome, Region, Span, Value};
pub use op::{Op, Scalar};
pub use operand::Operand;
pub use types::{DType, Device, Dim, TensorType, Type};
