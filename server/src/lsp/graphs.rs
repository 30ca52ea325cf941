//! Draws graphs of functions, on the user's command, in a separate process of the runtime. Editors that can show SVG
//! get the drawing. Other clients get a page for the browser, which is redrawn whenever its source is saved.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::request::ShowDocument;
use tower_lsp::lsp_types::{ExecuteCommandParams, MessageType, ShowDocumentParams, Url};

use super::backend::Backend;
use super::commands::GraphParams;
use super::job::WhenStale;
use super::process::failed;
use super::programs::build_command;
use super::requests::execute_command::read;
use super::requests::{self, graph_inputs};
use crate::program;

/// The maximum size of a drawing in bytes.
const MAX_SIZE: u64 = 64 << 20;
/// The number of lines of output that are kept for the error message.
const MAX_LINES: usize = 60;

/// The page reloads the drawing every second. An image can neither run scripts nor fetch anything.
const PAGE: &str = r#"<!doctype html>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src file:; script-src 'nonce-page'">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<img src="{drawing}" alt="{title}">
<script nonce="page">
setInterval(() => {
  const next = new Image();
  next.alt = document.title;
  next.onload = () => document.querySelector('img').replaceWith(next);
  if (!document.hidden) next.src = '{drawing}?' + Date.now();
}, 1000);
</script>
"#;

#[derive(Serialize)]
pub(crate) struct Graph {
    function: String,
    inputs: String,
    svg: Option<String>,
    /// The error output of the process, if it failed.
    failure: Option<String>,
}

/// The graphs that were requested in this session.
#[derive(Default)]
pub(crate) struct Graphs {
    state: Mutex<State>,
    /// Pages are drawn one at a time, so that the last save determines the page.
    drawing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    /// The inputs that were used last, by document and function.
    inputs: FxHashMap<(Url, String), String>,
    /// The graphs that are open in the browser, by document.
    pages: FxHashMap<Url, GraphParams>,
    /// The folder of the pages, which is deleted when the server exits.
    folder: Option<TempDir>,
}

impl Graphs {
    fn with<T>(&self, access: impl FnOnce(&mut State) -> T) -> T {
        access(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn last_inputs(&self, uri: &Url, function: &str) -> Option<String> {
        self.with(|state| state.inputs.get(&(uri.clone(), function.to_owned())).cloned())
    }

    /// Stops redrawing the page of a closed source.
    pub(crate) fn close(&self, uri: &Url) {
        self.with(|state| state.pages.remove(uri));
    }

    fn folder(&self) -> std::io::Result<PathBuf> {
        self.with(|state| {
            let folder = match state.folder.take() {
                Some(folder) => folder,
                None => tempfile::Builder::new().prefix("ag-lsp-").tempdir()?,
            };
            Ok(state.folder.insert(folder).path().to_path_buf())
        })
    }
}

impl Backend {
    /// Answers `ag-lsp/graphInputs`: the inputs that were used last, else proposed ones.
    pub(crate) async fn graph_inputs(
        &self,
        params: graph_inputs::Params,
    ) -> Result<Option<graph_inputs::Inputs>> {
        let uri = params.text_document.uri.clone();
        let mut proposed = self.request(graph_inputs::answer, params, WhenStale::Retry).await?;
        if let Some(proposed) = &mut proposed
            && let Some(used) = self.graphs.last_inputs(&uri, &proposed.function)
        {
            proposed.inputs = used;
        }
        Ok(proposed)
    }

    /// Answers `ag-lsp/graph`: draws the graph of a function.
    pub(crate) async fn graph(&self, mut params: GraphParams) -> Result<Option<Graph>> {
        params.inputs = params.inputs.or_else(|| self.graphs.last_inputs(&params.uri, &params.function));
        let uri = params.uri.clone();
        let request = self.request(requests::graph::answer, params, WhenStale::Retry).await?;
        let (function, inputs) = (request.function.clone(), request.inputs.clone());
        let key = (uri, function.clone());
        self.graphs.with(|state| state.inputs.insert(key, inputs.clone()));
        let folder = tempfile::tempdir().map_err(|error| failed(error.to_string()))?;
        let drawing = folder.path().join("graph.svg");
        let (title, output) = (format!("Staging {function}"), drawing.clone());
        let build = move || {
            let graph = program::Graph {
                python: request.python.as_deref(),
                file: &request.file.path,
                qualname: request.function.as_ref(),
                inputs: &requests::graph::split(&request.inputs),
                passes: None,
                format: "svg",
                output: Some(&output),
            };
            let mut command = graph.command()?;
            command.current_dir(&request.file.folder);
            Ok(command)
        };
        let command = build_command(build).await?;
        let lines = Mutex::new(Vec::new());
        let on_line = |line: &str| {
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            lines.push(line.to_owned());
            if lines.len() > 2 * MAX_LINES {
                lines.drain(..MAX_LINES);
            }
        };
        let Some(status) = self.run_process(command, title, on_line).await? else { return Ok(None) };
        let lines = lines.into_inner().unwrap_or_else(PoisonError::into_inner);
        let failure = match lines[lines.len().saturating_sub(MAX_LINES)..].join("\n").trim() {
            _ if status.success() => None,
            "" => Some(format!("the process that draws the graph failed without output: {status}")),
            output => Some(output.to_owned()),
        };
        let svg = match failure {
            None => Some(contents(&drawing).map_err(|error| failed(error.to_string()))?),
            Some(_) => None,
        };
        Ok(Some(Graph { function, inputs, svg, failure }))
    }

    /// Runs the command `ag-lsp.showGraph`, for clients that cannot show a drawing.
    pub(super) async fn show_graph(&self, params: ExecuteCommandParams) -> Result<Option<Value>> {
        let of: GraphParams = read(params.arguments.into_iter().next().unwrap_or_default())?;
        let Some((page, graph)) = self.page(&of).await? else { return Ok(None) };
        if self.client().is_some_and(|client| client.shows_documents) {
            let params = ShowDocumentParams {
                uri: page.clone(),
                external: Some(true),
                take_focus: None,
                selection: None,
            };
            self.outbox.request::<ShowDocument>(params, |_| ());
        } else {
            self.outbox.show(MessageType::INFO, format!("The graph of `{}` is in {page}", graph.function));
        }
        self.graphs.with(|state| state.pages.insert(of.uri.clone(), GraphParams { inputs: None, ..of }));
        Ok(Some(json!({ "uri": page, "function": graph.function, "inputs": graph.inputs })))
    }

    /// Redraws the page of a source that was saved.
    pub(super) async fn redraw(&self, uri: &Url) {
        if let Some(of) = self.graphs.with(|state| state.pages.get(uri).cloned())
            && let Err(error) = self.page(&of).await
        {
            self.outbox.show(MessageType::ERROR, error.message.into_owned());
        }
    }

    /// Draws a graph into its page. `None` if the client has cancelled the drawing, or if the drawing failed and the
    /// user was notified.
    async fn page(&self, of: &GraphParams) -> Result<Option<(Url, Graph)>> {
        let _guard = self.graphs.drawing.lock().await;
        let Some(graph) = self.graph(of.clone()).await? else { return Ok(None) };
        let Some(svg) = &graph.svg else {
            self.outbox.show(MessageType::ERROR, graph.failure.unwrap_or_default());
            return Ok(None);
        };
        let folder = self.graphs.folder().map_err(|error| failed(error.to_string()))?;
        let page =
            write_page(&folder, &of.uri, &graph.function, svg).map_err(|error| failed(error.to_string()))?;
        Ok(Url::from_file_path(page).ok().map(|page| (page, graph)))
    }
}

fn contents(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(MAX_SIZE).read_to_string(&mut text)?;
    if text.len() as u64 == MAX_SIZE {
        return Err(std::io::Error::other("the graph is too large to be drawn"));
    }
    Ok(text)
}

/// Writes the drawing and its page. The drawing is replaced atomically, because an open page may be loading it.
fn write_page(folder: &Path, source: &Url, function: &str, svg: &str) -> std::io::Result<PathBuf> {
    use std::hash::{BuildHasher, BuildHasherDefault};
    let name = BuildHasherDefault::<rustc_hash::FxHasher>::default().hash_one((source, function));
    let drawing = format!("{name:x}.svg");
    let page = folder.join(format!("{name:x}.html"));
    let temporary = folder.join(format!("{name:x}.new"));
    std::fs::write(&temporary, svg)?;
    std::fs::rename(temporary, folder.join(&drawing))?;
    let title = function.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    std::fs::write(&page, PAGE.replace("{drawing}", &drawing).replace("{title}", &title))?;
    Ok(page)
}
