//! The graph: typed values in single assignment form, with nested regions for control flow.
//!
//! This module depends on neither Python nor libtorch. An ATen operator is a name with operands; the crate `ag-exec`
//! executes it, and `autodiff` contains its derivative.
//!
//! - [`types`]: tensors with dtype, shape and device; scalars; lists; tuples
//! - [`operand`]: values and literals, in trees
//! - [`op`]: the operations; [`operator`]: those of libraries
//! - [`arithmetic`]: scalar operations
//! - [`graph`]: nodes, regions, functions, source spans
//! - [`escape`]: the values that the caller can observe
//! - [`build`]: builds a function with nested regions
//! - [`verify`]: the invariants of a graph
//! - [`text`]: prints and parses graphs

pub mod arithmetic;
pub mod build;
pub mod escape;
pub mod graph;
pub mod op;
pub mod operand;
pub mod operator;
pub mod text;
pub mod types;
pub mod verify;

pub use build::Builder;
pub use graph::{Function, FunctionId, Graph, Node, Origin, Outcome, Region, Span, Value};
pub use op::{Op, Scalar};
pub use operand::Operand;
pub use operator::Operator;
pub use types::{DType, Device, Dim, Layout, MemoryFormat, TensorType, Type};
