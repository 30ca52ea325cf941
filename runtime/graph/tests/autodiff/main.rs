//! Gradients as graphs: their text, and what is rejected.

mod helpers;
mod text;
