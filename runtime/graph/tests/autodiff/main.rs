//! Gradients as graphs: their text, and what is rejected.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod helpers;
mod text;
