//! What the client asks: a file per request. Each is a function of a snapshot and the parameters.

pub(crate) mod diagnostic;
pub(crate) mod workspace_diagnostic;
