//! The binary from outside: what it prints, what it writes, and what it exits with.

mod config;
mod convert;
mod discovery;
mod exit_codes;
mod explain;
mod fixes;
mod formats;
mod generated;
mod links;
mod project;
mod robustness;
mod runtime;
mod selection;
mod stages;
mod stdin;
mod suppression;
