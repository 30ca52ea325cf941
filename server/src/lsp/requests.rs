//! The client's requests, one file each. A response is a function of a snapshot and the parameters.

pub(crate) mod call_hierarchy;
pub(crate) mod code_action;
pub(crate) mod code_lens;
pub(crate) mod completion;
pub(crate) mod converted_document;
pub(crate) mod definition;
pub(crate) mod diagnostic;
pub(crate) mod document_symbol;
pub(crate) mod execute_command;
pub(crate) mod explain_staging;
pub(crate) mod folding_range;
pub(crate) mod graph;
pub(crate) mod graph_inputs;
pub(crate) mod hover;
pub(crate) mod inlay_hint;
pub(crate) mod run;
pub(crate) mod semantic_tokens;
pub(crate) mod status;
pub(crate) mod text_document_content;
pub(crate) mod workspace_diagnostic;
