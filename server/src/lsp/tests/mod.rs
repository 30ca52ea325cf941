//! Runs the server and a client in one process, connected by a pipe.

mod actions;
#[path = "../../../tests/server/client.rs"]
mod client;
mod converted;
mod documents;
mod features;
mod loading;
#[cfg(unix)]
mod programs;
mod quick_runs;
mod random_edits;
mod robustness;
mod workspace;

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use ruff_db::system::SystemPathBuf;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::runtime::{Handle, Runtime};

pub(super) use super::Timing;

pub(super) use client::{Client, codes, uri};

/// `y` is bound in only one branch of a staged `if`: AG101.
pub(super) const MODEL: &str = "\
import tensorflow as tf

@tf.function
def f(x):
    if tf.reduce_sum(x) > 0:
        y = x * 2
    return y
";

/// One end of a pipe, with blocking reads and writes.
struct Blocking<T>(T, Handle);

impl<T: AsyncRead + Unpin> Read for Blocking<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1.block_on(self.0.read(buffer))
    }
}

impl<T: AsyncWrite + Unpin> Write for Blocking<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.block_on(self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.1.block_on(self.0.flush())
    }
}

/// A temporary workspace folder, and the servers started in it.
pub(super) struct Workspace {
    folder: tempfile::TempDir,
    runtime: Runtime,
}

impl Workspace {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_io().build().unwrap();
        let workspace = Self { folder: tempfile::tempdir().unwrap(), runtime };
        for (name, text) in files {
            workspace.write(name, text);
        }
        workspace
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(super) fn uri(&self, name: &str) -> String {
        uri(&self.path().join(name))
    }

    /// Returns a client of a new server, before `initialize`.
    pub(super) fn client(&self) -> Client {
        self.client_with(Timing::always_wait())
    }

    pub(super) fn client_with(&self, timing: Timing) -> Client {
        let (client_end, server_end) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(server_end);
        let cwd = SystemPathBuf::from_path_buf(self.path()).unwrap();
        self.runtime.spawn(async move { super::serve(input, output, cwd, timing).await });
        let (input, output) = tokio::io::split(client_end);
        let handle = self.runtime.handle();
        Client::new(Blocking(input, handle.clone()), Blocking(output, handle.clone()))
    }

    /// Returns an initialized client with the folder as its workspace.
    pub(super) fn start(&self, capabilities: Value) -> Client {
        self.start_with(capabilities, json!({}))
    }

    pub(super) fn start_with(&self, capabilities: Value, options: Value) -> Client {
        let mut client = self.client();
        client.initialize(capabilities, &[&self.path()], options);
        client
    }
}

/// Returns the capabilities of a client that pulls diagnostics.
pub(super) fn pulls() -> Value {
    json!({ "textDocument": { "diagnostic": {} } })
}

pub(super) fn document(uri: &str) -> Value {
    json!({ "textDocument": { "uri": uri } })
}

/// Returns the parameters of a request at the position of `▮` in `marked`.
pub(super) fn at(uri: &str, marked: &str) -> Value {
    let before = marked.split('▮').next().unwrap();
    let line = before.matches('\n').count();
    let column = before.rsplit('\n').next().unwrap().encode_utf16().count();
    json!({ "textDocument": { "uri": uri }, "position": { "line": line, "character": column } })
}

pub(super) fn everything() -> Value {
    json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 100_000, "character": 0 } })
}

/// Applies the edits of an action to an ASCII text.
pub(super) fn apply(text: &str, edits: &Value) -> String {
    let mut out = text.to_owned();
    let offset = |position: &Value| {
        let line = position["line"].as_u64().unwrap() as usize;
        let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
        start + position["character"].as_u64().unwrap() as usize
    };
    for edit in edits.as_array().unwrap().iter().rev() {
        let (start, end) = (offset(&edit["range"]["start"]), offset(&edit["range"]["end"]));
        out.replace_range(start..end, edit["newText"].as_str().unwrap());
    }
    out
}

pub(super) fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/examples");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut examples: Vec<_> = entries.filter(|path| path.extension().is_some_and(|it| it == "py")).collect();
    examples.sort();
    examples
}
