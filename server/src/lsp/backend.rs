//! The handlers that tower-lsp calls. Each passes its message on before it first waits, so that messages
//! reach the owner in the order of the wire.

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
use super::gate::Passed;
use super::graphs::Graphs;
use super::job::{Question, WhenStale};
use super::notebooks;
use super::options::EditorOptions;
use super::outbox::Outbox;
use super::owner::{Inbox, Message, Owner};
use super::process::Running;
use super::requests;
use super::snapshot::Snapshot;

const WATCHED: [&str; 6] =
    ["**/*.py", "**/*.pyi", "**/*.ipynb", "**/ag-lsp.toml", "**/.ag-lsp.toml", "**/pyproject.toml"];

pub(crate) struct Backend {
    pub(super) outbox: Outbox,
    passed: Passed,
    cwd: SystemPathBuf,
    started: OnceLock<(Client, Inbox)>,
    pub(super) running: Running,
    pub(super) graphs: Graphs,
}

impl Backend {
    pub(crate) fn new(outbox: Outbox, passed: Passed, cwd: SystemPathBuf) -> Self {
        let (running, graphs) = (Running::default(), Graphs::default());
        Self { outbox, passed, cwd, started: OnceLock::new(), running, graphs }
    }

    pub(super) fn client(&self) -> Option<&Client> {
        self.started.get().map(|(client, _)| client)
    }

    pub(super) fn tell(&self, happened: impl FnOnce(&mut Owner) + Send + 'static) {
        if let Some((_, inbox)) = self.started.get() {
            inbox.tell(happened);
        }
    }

    /// Has a worker answer a request; if the client cancels it, nobody waits for the answer.
    pub(super) async fn ask<P: Send + 'static, A: Send + 'static>(
        &self,
        answer: fn(&Snapshot, &P) -> Result<A>,
        params: P,
        when_stale: WhenStale,
    ) -> Result<A> {
        let (reply, answered) = oneshot::channel();
        let (_, inbox) = self.started.get().ok_or_else(Error::internal_error)?;
        let (inbox, outbox) = (inbox.clone(), self.outbox.clone());
        let question = Question { answer, params, when_stale, reply, inbox: inbox.clone(), outbox };
        inbox.send(Message::Ask(Box::new(question)));
        let answer = answered.await.unwrap_or_else(|_| Err(Error::internal_error()));
        self.outbox.emptied().await;
        answer
    }

    /// Asks the client to tell of changed files and settings.
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
                // An editor without such a section says nothing about it.
                if section.is_null() {
                    return;
                }
                match EditorOptions::read(&section) {
                    Ok(options) => inbox.tell(move |owner| owner.configure(options)),
                    Err(problem) => outbox.show(MessageType::ERROR, problem),
                }
            },
        );
    }
}

#[async_trait]
impl LanguageServer for Backend {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let content = self.passed.text_document_content.load(Ordering::Relaxed);
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
        let inbox = Owner::start(client.clone(), self.cwd.clone(), folders, options, self.outbox.clone())
            .map_err(|error| Error { message: error.to_string().into(), ..Error::internal_error() })?;
        let offered = capabilities::server(&client);
        // A second `initialize` is refused before it comes here.
        let _ = self.started.set((client, inbox));
        Ok(InitializeResult {
            capabilities: offered,
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
        // Indexing starts now, not with the first document.
        self.tell(|_| ());
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        self.tell(move |owner| owner.open(params));
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        self.tell(move |owner| owner.change(params));
    }

    async fn did_save(&self, params: DidSaveTextDocumentParams) {
        self.draw_anew(&params.text_document.uri).await;
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        self.graphs.close(&params.text_document.uri);
        self.tell(move |owner| owner.close(&params));
    }

    async fn did_change_watched_files(&self, params: DidChangeWatchedFilesParams) {
        self.tell(move |owner| owner.watched(params));
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        self.tell(move |owner| owner.change_folders(params));
    }

    async fn diagnostic(&self, params: DocumentDiagnosticParams) -> Result<DocumentDiagnosticReportResult> {
        self.ask(requests::diagnostic::answer, params, WhenStale::Again).await
    }

    async fn workspace_diagnostic(
        &self,
        params: WorkspaceDiagnosticParams,
    ) -> Result<WorkspaceDiagnosticReportResult> {
        self.ask(requests::workspace_diagnostic::answer, params, WhenStale::Again).await
    }

    async fn hover(&self, params: HoverParams) -> Result<Option<Hover>> {
        self.ask(requests::hover::answer, params, WhenStale::Refuse).await
    }

    async fn inlay_hint(&self, params: InlayHintParams) -> Result<Option<Vec<InlayHint>>> {
        self.ask(requests::inlay_hint::answer, params, WhenStale::Refuse).await
    }

    async fn code_lens(&self, params: CodeLensParams) -> Result<Option<Vec<CodeLens>>> {
        self.ask(requests::code_lens::answer, params, WhenStale::Again).await
    }

    async fn code_action(&self, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
        self.ask(requests::code_action::answer, params, WhenStale::Refuse).await
    }

    async fn code_action_resolve(&self, params: CodeAction) -> Result<CodeAction> {
        self.ask(requests::code_action::resolve, params, WhenStale::Refuse).await
    }

    async fn document_symbol(&self, params: DocumentSymbolParams) -> Result<Option<DocumentSymbolResponse>> {
        self.ask(requests::document_symbol::answer, params, WhenStale::Again).await
    }

    async fn semantic_tokens_full(
        &self,
        params: SemanticTokensParams,
    ) -> Result<Option<SemanticTokensResult>> {
        self.ask(requests::semantic_tokens::answer, params, WhenStale::Again).await
    }

    async fn semantic_tokens_range(
        &self,
        params: SemanticTokensRangeParams,
    ) -> Result<Option<SemanticTokensRangeResult>> {
        self.ask(requests::semantic_tokens::answer_range, params, WhenStale::Refuse).await
    }

    async fn prepare_call_hierarchy(
        &self,
        params: CallHierarchyPrepareParams,
    ) -> Result<Option<Vec<CallHierarchyItem>>> {
        self.ask(requests::call_hierarchy::prepare, params, WhenStale::Refuse).await
    }

    async fn outgoing_calls(
        &self,
        params: CallHierarchyOutgoingCallsParams,
    ) -> Result<Option<Vec<CallHierarchyOutgoingCall>>> {
        self.ask(requests::call_hierarchy::outgoing, params, WhenStale::Refuse).await
    }

    async fn incoming_calls(
        &self,
        params: CallHierarchyIncomingCallsParams,
    ) -> Result<Option<Vec<CallHierarchyIncomingCall>>> {
        self.ask(requests::call_hierarchy::incoming, params, WhenStale::Refuse).await
    }

    async fn completion(&self, params: CompletionParams) -> Result<Option<CompletionResponse>> {
        self.ask(requests::completion::answer, params, WhenStale::Refuse).await
    }

    async fn goto_definition(&self, params: GotoDefinitionParams) -> Result<Option<GotoDefinitionResponse>> {
        self.ask(requests::definition::answer, params, WhenStale::Refuse).await
    }

    async fn folding_range(&self, params: FoldingRangeParams) -> Result<Option<Vec<FoldingRange>>> {
        self.ask(requests::folding_range::answer, params, WhenStale::Again).await
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<Value>> {
        match params.command.as_str() {
            commands::RUN => self.run(params).await,
            commands::SHOW_GRAPH => self.show_graph(params).await,
            _ => self.ask(requests::execute_command::answer, params, WhenStale::Refuse).await,
        }
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        match self.started.get() {
            Some((client, _)) if client.configuration => self.pull_configuration(),
            _ => match EditorOptions::read(&params.settings) {
                Ok(options) => self.tell(move |owner| owner.configure(options)),
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

/// Messages that tower-lsp has no handlers for.
impl Backend {
    pub(crate) async fn converted_document(
        &self,
        params: requests::converted_document::Params,
    ) -> Result<Option<requests::converted_document::ConvertedDocument>> {
        let uri = params.text_document.uri.clone();
        self.tell(move |owner| owner.follow(uri));
        self.ask(requests::converted_document::answer, params, WhenStale::Refuse).await
    }

    pub(crate) async fn explain_staging(
        &self,
        params: requests::explain_staging::Params,
    ) -> Result<Option<requests::explain_staging::Explanation>> {
        self.ask(requests::explain_staging::answer, params, WhenStale::Refuse).await
    }

    pub(crate) async fn status(&self, params: requests::status::Params) -> Result<requests::status::Status> {
        self.ask(requests::status::answer, params, WhenStale::Again).await
    }

    pub(crate) async fn text_document_content(
        &self,
        params: requests::text_document_content::Params,
    ) -> Result<requests::text_document_content::Content> {
        let uri = params.uri.clone();
        self.tell(move |owner| owner.follow(uri));
        self.ask(requests::text_document_content::answer, params, WhenStale::Again).await
    }

    pub(crate) async fn did_open_notebook(&self, params: notebooks::DidOpen) {
        self.tell(move |owner| owner.open_notebook(params));
    }

    pub(crate) async fn did_change_notebook(&self, params: notebooks::DidChange) {
        self.tell(move |owner| owner.change_notebook(params));
    }

    pub(crate) async fn did_save_notebook(&self, _: Value) {}

    pub(crate) async fn did_close_notebook(&self, params: notebooks::DidClose) {
        self.tell(move |owner| owner.close_notebook(&params));
    }
}
