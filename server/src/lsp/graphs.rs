//! Graphs of functions, drawn by the runtime in a process of its own because the user asks for one: as SVG for editors
//! that can show it, else as a page for the browser, which is drawn anew whenever its source is saved.

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
use super::commands::GraphOf;
use super::job::WhenStale;
use super::process::failed;
use super::programs::prepared;
use super::requests::execute_command::read;
use super::requests::{self, graph_inputs};
use crate::program;

/// A larger drawing is not for people.
const LARGEST: u64 = 64 << 20;
/// Of what is said where a graph cannot be made: the end of it.
const LINES: usize = 60;

/// The page loads the drawing again and again; as an image it can neither run nor fetch anything.
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
    /// Why there is none: what the program or the runtime said.
    failure: Option<String>,
}

/// What is remembered of the graphs that were asked for.
#[derive(Default)]
pub(crate) struct Graphs {
    known: Mutex<Known>,
    /// Pages are drawn one after the other: what was saved last is shown at last.
    drawing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Known {
    /// By document and function.
    inputs: FxHashMap<(Url, String), String>,
    /// The graph of a document that the browser shows.
    pages: FxHashMap<Url, GraphOf>,
    /// Removed with the server.
    folder: Option<TempDir>,
}

impl Graphs {
    fn with<T>(&self, look: impl FnOnce(&mut Known) -> T) -> T {
        look(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn last_inputs(&self, uri: &Url, function: &str) -> Option<String> {
        self.with(|known| known.inputs.get(&(uri.clone(), function.to_owned())).cloned())
    }

    /// A page is not drawn anew once its source is closed.
    pub(crate) fn close(&self, uri: &Url) {
        self.with(|known| known.pages.remove(uri));
    }

    fn folder(&self) -> std::io::Result<PathBuf> {
        self.with(|known| {
            let folder = match known.folder.take() {
                Some(folder) => folder,
                None => tempfile::Builder::new().prefix("ag-lsp-").tempdir()?,
            };
            Ok(known.folder.insert(folder).path().to_path_buf())
        })
    }
}

impl Backend {
    /// `ag-lsp/graphInputs`: those used last, else a proposal.
    pub(crate) async fn graph_inputs(
        &self,
        params: graph_inputs::Params,
    ) -> Result<Option<graph_inputs::Inputs>> {
        let uri = params.text_document.uri.clone();
        let mut proposed = self.ask(graph_inputs::answer, params, WhenStale::Again).await?;
        if let Some(proposed) = &mut proposed
            && let Some(used) = self.graphs.last_inputs(&uri, &proposed.function)
        {
            proposed.inputs = used;
        }
        Ok(proposed)
    }

    /// `ag-lsp/graph`
    pub(crate) async fn graph(&self, mut of: GraphOf) -> Result<Option<Graph>> {
        of.inputs = of.inputs.or_else(|| self.graphs.last_inputs(&of.uri, &of.function));
        let uri = of.uri.clone();
        let plan = self.ask(requests::graph::answer, of, WhenStale::Again).await?;
        let (function, inputs) = (plan.function.clone(), plan.inputs.clone());
        let key = (uri, function.clone());
        self.graphs.with(|known| known.inputs.insert(key, inputs.clone()));
        let folder = tempfile::tempdir().map_err(|error| failed(error.to_string()))?;
        let drawing = folder.path().join("graph.svg");
        let (title, output) = (format!("Staging {function}"), drawing.clone());
        let make = move || {
            let graph = program::Graph {
                python: plan.python.as_deref(),
                file: &plan.file.path,
                qualname: plan.function.as_ref(),
                inputs: &requests::graph::split(&plan.inputs),
                passes: None,
                format: "svg",
                output: Some(&output),
            };
            let mut command = graph.command()?;
            command.current_dir(&plan.file.folder);
            Ok(command)
        };
        let command = prepared(make).await?;
        let said = Mutex::new(Vec::new());
        let heard = |line: &str| {
            let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
            said.push(line.to_owned());
            if said.len() > 2 * LINES {
                said.drain(..LINES);
            }
        };
        let Some(status) = self.run_process(command, title, heard).await? else { return Ok(None) };
        let said = said.into_inner().unwrap_or_else(PoisonError::into_inner);
        let failure = match said[said.len().saturating_sub(LINES)..].join("\n").trim() {
            _ if status.success() => None,
            "" => Some(format!("the process that makes the graph ended without a word: {status}")),
            said => Some(said.to_owned()),
        };
        let svg = match failure {
            None => Some(contents(&drawing).map_err(|error| failed(error.to_string()))?),
            Some(_) => None,
        };
        Ok(Some(Graph { function, inputs, svg, failure }))
    }

    /// `ag-lsp.showGraph`, for clients that cannot show a drawing.
    pub(super) async fn show_graph(&self, params: ExecuteCommandParams) -> Result<Option<Value>> {
        let of: GraphOf = read(params.arguments.into_iter().next().unwrap_or_default())?;
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
        self.graphs.with(|known| known.pages.insert(of.uri.clone(), GraphOf { inputs: None, ..of }));
        Ok(Some(json!({ "uri": page, "function": graph.function, "inputs": graph.inputs })))
    }

    /// The source of a page was saved.
    pub(super) async fn draw_anew(&self, uri: &Url) {
        if let Some(of) = self.graphs.with(|known| known.pages.get(uri).cloned())
            && let Err(error) = self.page(&of).await
        {
            self.outbox.show(MessageType::ERROR, error.message.into_owned());
        }
    }

    /// Draws a graph into its page; `None` if that was cancelled, or failed, which is then said.
    async fn page(&self, of: &GraphOf) -> Result<Option<(Url, Graph)>> {
        let _turn = self.graphs.drawing.lock().await;
        let Some(graph) = self.graph(of.clone()).await? else { return Ok(None) };
        let Some(svg) = &graph.svg else {
            self.outbox.show(MessageType::ERROR, graph.failure.unwrap_or_default());
            return Ok(None);
        };
        let folder = self.graphs.folder().map_err(|error| failed(error.to_string()))?;
        let page =
            written(&folder, &of.uri, &graph.function, svg).map_err(|error| failed(error.to_string()))?;
        Ok(Url::from_file_path(page).ok().map(|page| (page, graph)))
    }
}

fn contents(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(LARGEST).read_to_string(&mut text)?;
    if text.len() as u64 == LARGEST {
        return Err(std::io::Error::other("the graph is too large to be drawn"));
    }
    Ok(text)
}

/// Writes drawing and page; a page that is open finds the new drawing in its old place.
fn written(folder: &Path, source: &Url, function: &str, svg: &str) -> std::io::Result<PathBuf> {
    use std::hash::{BuildHasher, BuildHasherDefault};
    let name = BuildHasherDefault::<rustc_hash::FxHasher>::default().hash_one((source, function));
    let drawing = format!("{name:x}.svg");
    let page = folder.join(format!("{name:x}.html"));
    let unfinished = folder.join(format!("{name:x}.new"));
    std::fs::write(&unfinished, svg)?;
    std::fs::rename(unfinished, folder.join(&drawing))?;
    let title = function.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    std::fs::write(&page, PAGE.replace("{drawing}", &drawing).replace("{title}", &title))?;
    Ok(page)
}
