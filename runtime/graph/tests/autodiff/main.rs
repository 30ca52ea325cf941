//! Gradients as graphs: their text, and what is rejected.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod helpers;
mod text;
