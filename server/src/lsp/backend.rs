//! The handlers that tower-lsp calls. Each sends its message to the owner before its first `await`, so that
//! messages arrive in the order in which the client sent them.

use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use ruff_db::system::SystemPathBuf;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::request::{RegisterCapability, WorkspaceConfiguration};
use tower_lsp::lsp_types::{
    CallHierarchyIncomingCall, CallHierarchyIncomingCallsParams, CallHierarchyItem,
    CallHierarchyOutgoingCall, CallHierarchyOutgoingCallsParams, CallHierarchyPrepareParams, CodeAction,
    CodeActionParams, CodeActionResponse, CodeLens, CodeLensParams, CompletionParams, CompletionResponse,
    ConfigurationItem, ConfigurationParams, DidChangeConfigurationParams, DidChangeTextDocumentParams,
    DidChangeWatchedFilesParams, DidChangeWatchedFilesRegistrationOptions, DidChangeWorkspaceFoldersParams,
    DidCloseTextDocumentParams, DidOpenTextDocumentParams, DidSaveTextDocumentParams,
    DocumentDiagnosticParams, DocumentDiagnosticReportResult, DocumentSymbolParams, DocumentSymbolResponse,
    ExecuteCommandParams, FileSystemWatcher, FoldingRange, FoldingRangeParams, GlobPattern,
    GotoDefinitionParams, GotoDefinitionResponse, Hover, HoverParams, InitializeParams, InitializeResult,
    InitializedParams, InlayHint, InlayHintParams, MessageType, Registration, RegistrationParams,
    SemanticTokensParams, SemanticTokensRangeParams, SemanticTokensRangeResult, SemanticTokensResult,
    ServerInfo, WorkspaceDiagnosticParams, WorkspaceDiagnosticReportResult,
};
use tower_lsp::{LanguageServer, async_trait};

use super::capabilities::{self, Client};
use super::commands;
use super::documents::path_of;
use super::graphs::Graphs;
use super::job::{RequestJob, WhenStale};
use super::middleware::ProtocolState;
use super::notebooks;
use super::options::EditorOptions;
use super::outbox::Outbox;
use super::owner::{Inbox, Message, Owner};
use super::process::RunningProcesses;
use super::requests;
use super::snapshot::Snapshot;
use super::timing::Timing;

const WATCHED: [&str; 6] =
    ["**/*.py", "**/*.pyi", "**/*.ipynb", "**/ag-lsp.toml", "**/.ag-lsp.toml", "**/pyproject.toml"];

pub(crate) struct Backend {
    pub(super) outbox: Outbox,
    protocol: ProtocolState,
    cwd: SystemPathBuf,
    timing: Timing,
    started: OnceLock<(Client, Inbox)>,
    pub(super) running: RunningProcesses,
    pub(super) graphs: Graphs,
}

impl Backend {
    pub(crate) fn new(outbox: Outbox, protocol: ProtocolState, cwd: SystemPathBuf, timing: Timing) -> Self {
        let (running, graphs) = (RunningProcesses::default(), Graphs::default());
        Self { outbox, protocol, cwd, timing, started: OnceLock::new(), running, graphs }
    }

    pub(super) fn client(&self) -> Option<&Client> {
        self.started.get().map(|(client, _)| client)
    }

    pub(super) fn update(&self, update: impl FnOnce(&mut Owner) + Send + 'static) {
        if let Some((_, inbox)) = self.started.get() {
            inbox.update(update);
        }
    }

    /// Answers a request on a worker thread. Dropping the future cancels the request.
    pub(super) async fn request<P: Send + 'static, A: Send + 'static>(
        &self,
        answer: fn(&Snapshot, &P) -> Result<A>,
        params: P,
        when_stale: WhenStale,
    ) -> Result<A> {
        let (reply, answered) = oneshot::channel();
        let (_, inbox) = self.started.get().ok_or_else(Error::internal_error)?;
        let (inbox, outbox) = (inbox.clone(), self.outbox.clone());
        let job = RequestJob { answer, params, when_stale, reply, inbox: inbox.clone(), outbox };
        inbox.send(Message::Request(Box::new(job)));
        let answer = answered.await.unwrap_or_else(|_| Err(Error::internal_error()));
        self.outbox.flushed().await;
        answer
    }

    /// Registers for notifications about changed files and settings.
    fn register(&self, client: &Client) {
        let files = client.watches_files.then(watched_files);
        let configuration = client.watches_configuration.then(|| Registration {
            id: "ag-lsp/configuration".to_owned(),
            method: "workspace/didChangeConfiguration".to_owned(),
            register_options: Some(json!({ "section": "ag-lsp" })),
        });
        let registrations: Vec<_> = files.into_iter().chain(configuration).collect();
        if !registrations.is_empty() {
            let params = RegistrationParams { registrations };
            self.outbox.request::<RegisterCapability>(params, |_| ());
        }
    }

    fn pull_configuration(&self) {
        let Some((_, inbox)) = self.started.get() else { return };
        let (inbox, outbox) = (inbox.clone(), self.outbox.clone());
        let item = ConfigurationItem { scope_uri: None, section: Some("ag-lsp".to_owned()) };
        self.outbox.request::<WorkspaceConfiguration>(
            ConfigurationParams { items: vec![item] },
            move |answer| {
                let Some(section) = answer.ok().and_then(|sections| sections.into_iter().next()) else {
                    return;
                };
                // The editor's settings have no section `ag-lsp`.
                if section.is_null() {
                    return;
                }
                match EditorOptions::read(&section) {
                    Ok(options) => inbox.update(move |owner| owner.configure(options)),
                    Err(problem) => outbox.show(MessageType::ERROR, problem),
                }
            },
        );
    }
}

#[async_trait]
impl LanguageServer for Backend {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let content = self.protocol.text_document_content.load(Ordering::Relaxed);
        let client = Client::new(&params.capabilities, content, params.initialization_options.as_ref());
        let folders = match params.workspace_folders {
            Some(folders) if !folders.is_empty() => folders.into_iter().map(|folder| folder.uri).collect(),
            _ => params.root_uri.into_iter().collect::<Vec<_>>(),
        };
        let folders = folders.iter().filter_map(path_of).collect();
        let options = params.initialization_options.unwrap_or_default();
        let options = EditorOptions::read(&options).unwrap_or_else(|problem| {
            self.outbox.show(MessageType::ERROR, problem);
            EditorOptions::default()
        });
        let inbox = Owner::start(
            client.clone(),
            self.cwd.clone(),
            folders,
            options,
            self.outbox.clone(),
            self.timing,
        )
        .map_err(|error| Error { message: error.to_string().into(), ..Error::internal_error() })?;
        let capabilities = capabilities::server(&client);
        // tower-lsp rejects a second `initialize`.
        let _ = self.started.set((client, inbox));
        Ok(InitializeResult {
            capabilities,
            server_info: Some(ServerInfo {
                name: "ag-lsp".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
        })
    }

    async fn initialized(&self, _: InitializedParams) {
        let Some((client, _)) = self.started.get() else { return };
        self.register(client);
        if client.configuration {
            self.pull_configuration();
        }
        // Start indexing now instead of with the first document.
        self.update(|_| ());
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        self.update(move |owner| owner.open(params));
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        self.update(move |owner| owner.change(params));
    }

    async fn did_save(&self, params: DidSaveTextDocumentParams) {
        self.redraw(&params.text_document.uri).await;
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        self.graphs.close(&params.text_document.uri);
        self.update(move |owner| owner.close(&params));
    }

    async fn did_change_watched_files(&self, params: DidChangeWatchedFilesParams) {
        self.update(move |owner| owner.files_changed(params));
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        self.update(move |owner| owner.change_folders(params));
    }

    async fn diagnostic(&self, params: DocumentDiagnosticParams) -> Result<DocumentDiagnosticReportResult> {
        self.request(requests::diagnostic::answer, params, WhenStale::Retry).await
    }

    async fn workspace_diagnostic(
        &self,
        params: WorkspaceDiagnosticParams,
    ) -> Result<WorkspaceDiagnosticReportResult> {
        self.request(requests::workspace_diagnostic::answer, params, WhenStale::Retry).await
    }

    async fn hover(&self, params: HoverParams) -> Result<Option<Hover>> {
        self.request(requests::hover::answer, params, WhenStale::Fail).await
    }

    async fn inlay_hint(&self, params: InlayHintParams) -> Result<Option<Vec<InlayHint>>> {
        self.request(requests::inlay_hint::answer, params, WhenStale::Fail).await
    }

    async fn code_lens(&self, params: CodeLensParams) -> Result<Option<Vec<CodeLens>>> {
        self.request(requests::code_lens::answer, params, WhenStale::Retry).await
    }

    async fn code_action(&self, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
        self.request(requests::code_action::answer, params, WhenStale::Fail).await
    }

    async fn code_action_resolve(&self, params: CodeAction) -> Result<CodeAction> {
        self.request(requests::code_action::resolve, params, WhenStale::Fail).await
    }

    async fn document_symbol(&self, params: DocumentSymbolParams) -> Result<Option<DocumentSymbolResponse>> {
        self.request(requests::document_symbol::answer, params, WhenStale::Retry).await
    }

    async fn semantic_tokens_full(
        &self,
        params: SemanticTokensParams,
    ) -> Result<Option<SemanticTokensResult>> {
        self.request(requests::semantic_tokens::answer, params, WhenStale::Retry).await
    }

    async fn semantic_tokens_range(
        &self,
        params: SemanticTokensRangeParams,
    ) -> Result<Option<SemanticTokensRangeResult>> {
        self.request(requests::semantic_tokens::answer_range, params, WhenStale::Fail).await
    }

    async fn prepare_call_hierarchy(
        &self,
        params: CallHierarchyPrepareParams,
    ) -> Result<Option<Vec<CallHierarchyItem>>> {
        self.request(requests::call_hierarchy::prepare, params, WhenStale::Fail).await
    }

    async fn outgoing_calls(
        &self,
        params: CallHierarchyOutgoingCallsParams,
    ) -> Result<Option<Vec<CallHierarchyOutgoingCall>>> {
        self.request(requests::call_hierarchy::outgoing, params, WhenStale::Fail).await
    }

    async fn incoming_calls(
        &self,
        params: CallHierarchyIncomingCallsParams,
    ) -> Result<Option<Vec<CallHierarchyIncomingCall>>> {
        self.request(requests::call_hierarchy::incoming, params, WhenStale::Fail).await
    }

    async fn completion(&self, params: CompletionParams) -> Result<Option<CompletionResponse>> {
        self.request(requests::completion::answer, params, WhenStale::Fail).await
    }

    async fn goto_definition(&self, params: GotoDefinitionParams) -> Result<Option<GotoDefinitionResponse>> {
        self.request(requests::definition::answer, params, WhenStale::Fail).await
    }

    async fn folding_range(&self, params: FoldingRangeParams) -> Result<Option<Vec<FoldingRange>>> {
        self.request(requests::folding_range::answer, params, WhenStale::Retry).await
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<Value>> {
        match params.command.as_str() {
            commands::RUN => self.run(params).await,
            commands::SHOW_GRAPH => self.show_graph(params).await,
            _ => self.request(requests::execute_command::answer, params, WhenStale::Fail).await,
        }
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        match self.started.get() {
            Some((client, _)) if client.configuration => self.pull_configuration(),
            _ => match EditorOptions::read(&params.settings) {
                Ok(options) => self.update(move |owner| owner.configure(options)),
                Err(problem) => self.outbox.show(MessageType::ERROR, problem),
            },
        }
    }
}

fn watched_files() -> Registration {
    let watcher =
        |glob: &str| FileSystemWatcher { glob_pattern: GlobPattern::String(glob.to_owned()), kind: None };
    let watchers = WATCHED.map(watcher).to_vec();
    Registration {
        id: "ag-lsp/watch".to_owned(),
        method: "workspace/didChangeWatchedFiles".to_owned(),
        register_options: serde_json::to_value(DidChangeWatchedFilesRegistrationOptions { watchers }).ok(),
    }
}

/// Messages for which tower-lsp has no handler.
impl Backend {
    pub(crate) async fn converted_document(
        &self,
        params: requests::converted_document::Params,
    ) -> Result<Option<requests::converted_document::ConvertedDocument>> {
        let uri = params.text_document.uri.clone();
        self.update(move |owner| owner.track(uri));
        self.request(requests::converted_document::answer, params, WhenStale::Fail).await
    }

    pub(crate) async fn explain_staging(
        &self,
        params: requests::explain_staging::Params,
    ) -> Result<Option<requests::explain_staging::Explanation>> {
        self.request(requests::explain_staging::answer, params, WhenStale::Fail).await
    }

    pub(crate) async fn status(&self, params: requests::status::Params) -> Result<requests::status::Status> {
        self.request(requests::status::answer, params, WhenStale::Retry).await
    }

    pub(crate) async fn text_document_content(
        &self,
        params: requests::text_document_content::Params,
    ) -> Result<requests::text_document_content::Content> {
        let uri = params.uri.clone();
        self.update(move |owner| owner.track(uri));
        self.request(requests::text_document_content::answer, params, WhenStale::Retry).await
    }

    pub(crate) async fn did_open_notebook(&self, params: notebooks::DidOpen) {
        self.update(move |owner| owner.open_notebook(params));
    }

    pub(crate) async fn did_change_notebook(&self, params: notebooks::DidChange) {
        self.update(move |owner| owner.change_notebook(params));
    }

    pub(crate) async fn did_save_notebook(&self, _: Value) {}

    pub(crate) async fn did_close_notebook(&self, params: notebooks::DidClose) {
        self.update(move |owner| owner.close_notebook(&params));
    }
}
