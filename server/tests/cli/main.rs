//! Command-line tests of the binary: output, written files, and exit codes.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod config;
mod convert;
mod discovery;
mod exit_codes;
mod explain;
mod fixes;
mod formats;
mod generated;
mod links;
mod pages;
mod project;
mod robustness;
mod runtime;
mod selection;
mod stages;
mod stdin;
mod suppression;
