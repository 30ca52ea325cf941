//! S-expressions, the exchange format of Snek (section 5.3). Reading a printed graph gives the same graph with
//! renumbered values:
//!
//! ```text
//! (graph 1
//!   (file 0 "model.py")
//!   (def main ((x.0 f32[4] (argument "x")) (w.1 f32[4] (capture 0))) (f32[4])
//!     (let* ((((x2 int)) (size x.0 0) (at 0 3 4 3 14))
//!            (((x3 f32[4])) (for 0 x2 1 x.0
//!              (lambda ((x4 int) (x5 f32[4]))
//!                (let* ((((x6 f32[4])) (aten.add.Tensor x5 w.1 1)))
//!                  (values x6))))))
//!       (values x3))))
//! ```
//!
//! A binding of a `let*` consists of the definitions of its values, an application, an optional source range, and an
//! optional `nograd`. The regions of an operation are lambdas after its operands. A value is `name.number`, or
//! `xnumber` if the user has no name for it.

mod print;
mod read;
mod tree;

pub use print::sexpr;
pub use read::read;

/// The version of the format.
const VERSION: i64 = 1;
