//! Binding-time analysis of staged Python: text in, facts out.
//!
//! The crate answers every question as a pure function of its database ([`db`]): no IO of its own
//! (files are read through [`ruff_db::system::System`]), no async, no LSP types, no terminals.
//! Start reading at [`engine`], which strings the rooms together.

pub mod check;
pub mod config;
pub mod convert;
pub mod db;
pub mod diagnostic;
pub mod engine;
pub mod flow;
pub mod ide;
pub mod project;
pub mod rules;
pub mod staging;
pub mod suppress;
pub mod syntax;
