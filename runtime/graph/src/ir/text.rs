//! The text format of graphs. Parsing a printed graph gives the same graph with renumbered values:
//!
//! ```text
//! graph 1
//! file 0 "model.py"
//! func @main(%x.0: f32[4] = argument "0", %w.1: f32[4] = capture 0) -> (f32[4]) {
//!   %2: int = size(%x.0, 0) at 0:3:4-3:14
//!   %3: f32[4] = for(0, %2, 1, %x.0)
//!     body(%4: int, %5: f32[4]) {
//!       %6: f32[4] = aten.add.Tensor(%5, %w.1, 1)
//!       yield %6
//!     }
//!   return %3
//! }
//! ```
//!
//! A value is `%name.number`, or `%number` if the user has no name for it.

mod lexer;
mod parse;
mod print;

pub use parse::{ParseError, parse, parse_type};
pub use print::{op_name, print};
pub(crate) use print::{plain_name, quoted};

/// The version of the text format.
const VERSION: i64 = 1;
