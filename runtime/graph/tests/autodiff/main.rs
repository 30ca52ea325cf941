//! Gradients as graphs: their text, and the errors for operations without a derivative.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod helpers;
mod text;
