//! Binding-time analysis.
