//! The client's capabilities, resolved once, and the server's.

use serde_json::{Value, json};
use tower_lsp::lsp_types::{
    CallHierarchyServerCapability, ClientCapabilities, CodeActionKind, CodeActionOptions,
    CodeActionProviderCapability, CodeLensOptions, CompletionOptions, DiagnosticOptions,
    DiagnosticServerCapabilities, ExecuteCommandOptions, FoldingRangeProviderCapability,
    HoverProviderCapability, MarkupKind, OneOf, SaveOptions, SemanticTokensFullOptions,
    SemanticTokensOptions, SemanticTokensServerCapabilities, ServerCapabilities, TextDocumentSyncCapability,
    TextDocumentSyncKind, TextDocumentSyncOptions, TextDocumentSyncSaveOptions,
    WorkspaceFoldersServerCapabilities, WorkspaceServerCapabilities,
};

use super::commands;
use super::position::Encoding;
use super::requests::semantic_tokens;

/// The client capabilities that the server uses.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) encoding: Encoding,
    /// The client uses pull diagnostics.
    pub(crate) pulls_diagnostics: bool,
    pub(crate) related_information: bool,
    pub(crate) code_description: bool,
    pub(crate) markdown: bool,
    pub(crate) resolves_edits: bool,
    pub(crate) configuration: bool,
    pub(crate) watches_files: bool,
    /// The client supports registration for changes of its settings.
    pub(crate) watches_configuration: bool,
    pub(crate) progress: bool,
    pub(crate) shows_documents: bool,
    /// The user trusts the workspace, so commands may run its code. Editors with workspace trust report it in the
    /// initialization option `trusted`.
    pub(crate) trusted: bool,
    pub(crate) refresh: Refresh,
    /// `workspace/textDocumentContent`, from version 3.18 of the protocol.
    pub(crate) text_document_content: bool,
}

/// The refresh requests that the client supports.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Refresh {
    pub(crate) diagnostics: bool,
    pub(crate) inlay_hints: bool,
    pub(crate) code_lenses: bool,
    pub(crate) semantic_tokens: bool,
}

impl Client {
    pub(crate) fn new(
        capabilities: &ClientCapabilities,
        text_document_content: bool,
        options: Option<&Value>,
    ) -> Self {
        let document = capabilities.text_document.as_ref();
        let workspace = capabilities.workspace.as_ref();
        let window = capabilities.window.as_ref();
        let published = document.and_then(|document| document.publish_diagnostics.as_ref());
        let encodings = capabilities.general.as_ref().and_then(|general| general.position_encodings.as_ref());
        let formats = document
            .and_then(|document| document.hover.as_ref())
            .and_then(|hover| hover.content_format.as_deref());
        let resolved = document
            .and_then(|document| document.code_action.as_ref())
            .and_then(|action| action.resolve_support.as_ref());
        Self {
            encoding: Encoding::negotiate(encodings.map_or(&[], Vec::as_slice)),
            pulls_diagnostics: document.is_some_and(|document| document.diagnostic.is_some()),
            related_information: published.and_then(|it| it.related_information).unwrap_or(false),
            code_description: published.and_then(|it| it.code_description_support).unwrap_or(false),
            markdown: formats.is_some_and(|formats| formats.contains(&MarkupKind::Markdown)),
            resolves_edits: resolved.is_some_and(|it| it.properties.iter().any(|name| name == "edit")),
            configuration: workspace.and_then(|workspace| workspace.configuration).unwrap_or(false),
            watches_files: workspace
                .and_then(|workspace| workspace.did_change_watched_files.as_ref())
                .and_then(|watched| watched.dynamic_registration)
                .unwrap_or(false),
            watches_configuration: workspace
                .and_then(|workspace| workspace.did_change_configuration.as_ref())
                .and_then(|changed| changed.dynamic_registration)
                .unwrap_or(false),
            progress: window.and_then(|window| window.work_done_progress).unwrap_or(false),
            shows_documents: window
                .and_then(|window| window.show_document.as_ref())
                .is_some_and(|show| show.support),
            trusted: options.and_then(|options| options.get("trusted")?.as_bool()).unwrap_or(true),
            refresh: Refresh {
                diagnostics: workspace
                    .and_then(|workspace| workspace.diagnostic.as_ref())
                    .and_then(|it| it.refresh_support)
                    .unwrap_or(false),
                inlay_hints: workspace
                    .and_then(|workspace| workspace.inlay_hint.as_ref())
                    .and_then(|it| it.refresh_support)
                    .unwrap_or(false),
                code_lenses: workspace
                    .and_then(|workspace| workspace.code_lens.as_ref())
                    .and_then(|it| it.refresh_support)
                    .unwrap_or(false),
                semantic_tokens: workspace
                    .and_then(|workspace| workspace.semantic_tokens.as_ref())
                    .and_then(|it| it.refresh_support)
                    .unwrap_or(false),
            },
            text_document_content,
        }
    }
}

/// The kind of the code action that applies all safe fixes of a document.
pub(crate) const FIX_ALL: CodeActionKind = CodeActionKind::new("source.fixAll.ag-lsp");

/// The URI schemes of the server's virtual documents.
pub(crate) const SCHEMES: [&str; 2] = ["ag-converted", "ag-rule"];

/// Returns the server capabilities that are announced to this client.
pub(crate) fn server(client: &Client) -> ServerCapabilities {
    ServerCapabilities {
        position_encoding: Some(client.encoding.kind()),
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions { include_text: Some(false) })),
            ..TextDocumentSyncOptions::default()
        })),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        inlay_hint_provider: Some(OneOf::Left(true)),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false) }),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX, FIX_ALL, commands::VIEW]),
            resolve_provider: Some(true),
            ..CodeActionOptions::default()
        })),
        definition_provider: Some(OneOf::Left(true)),
        folding_range_provider: Some(FoldingRangeProviderCapability::Simple(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        semantic_tokens_provider: Some(SemanticTokensServerCapabilities::SemanticTokensOptions(
            SemanticTokensOptions {
                legend: semantic_tokens::legend(),
                range: Some(true),
                full: Some(SemanticTokensFullOptions::Bool(true)),
                ..SemanticTokensOptions::default()
            },
        )),
        call_hierarchy_provider: Some(CallHierarchyServerCapability::Simple(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(vec!["[".to_owned(), ",".to_owned()]),
            ..CompletionOptions::default()
        }),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: commands::ALL.map(str::to_owned).to_vec(),
            ..ExecuteCommandOptions::default()
        }),
        diagnostic_provider: Some(DiagnosticServerCapabilities::Options(DiagnosticOptions {
            identifier: Some("ag-lsp".to_owned()),
            inter_file_dependencies: true,
            workspace_diagnostics: true,
            ..DiagnosticOptions::default()
        })),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(OneOf::Left(true)),
            }),
            file_operations: None,
        }),
        ..ServerCapabilities::default()
    }
}

/// Returns the server capabilities that [`ServerCapabilities`] has no fields for.
pub(crate) fn extra_capabilities(text_document_content: bool) -> Value {
    let mut capabilities = json!({
        "notebookDocumentSync": {
            "notebookSelector": [{ "notebook": "*", "cells": [{ "language": "python" }] }],
            "save": false,
        },
    });
    if text_document_content {
        capabilities["workspace"] = json!({ "textDocumentContent": { "schemes": SCHEMES } });
    }
    capabilities
}
