//! A strict client for tests: when it finishes, the test must have consumed every message from the server.
#![allow(dead_code, unreachable_pub, reason = "each test crate uses a part of this module")]

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// The time after which a server that does not answer is assumed to hang.
const TIMEOUT: Duration = Duration::from_secs(600);

pub struct Client {
    output: Box<dyn Write + Send>,
    incoming: Receiver<Value>,
    /// Received but not yet consumed.
    unread: VecDeque<Value>,
    requests: i64,
    /// The response to `workspace/configuration`.
    pub settings: Value,
    is_over: bool,
}

impl Client {
    pub fn new(input: impl Read + Send + 'static, output: impl Write + Send + 'static) -> Self {
        let (sender, incoming) = channel();
        std::thread::spawn(move || {
            let mut input = BufReader::new(input);
            while let Some(message) = read(&mut input) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        Self {
            output: Box::new(output),
            incoming,
            unread: VecDeque::new(),
            requests: 0,
            settings: Value::Null,
            is_over: false,
        }
    }

    /// Sends `initialize` and `initialized`. Returns the server's capabilities.
    pub fn initialize(&mut self, capabilities: Value, folders: &[&std::path::Path], options: Value) -> Value {
        let folder = |path: &&std::path::Path| json!({ "uri": uri(path), "name": "folder" });
        let result = self.request(
            "initialize",
            json!({
                "processId": null,
                "rootUri": null,
                "capabilities": capabilities,
                "workspaceFolders": folders.iter().map(folder).collect::<Vec<_>>(),
                "initializationOptions": options,
            }),
        );
        self.notify("initialized", json!({}));
        result["capabilities"].clone()
    }

    pub fn send(&mut self, message: &Value) {
        self.send_raw(message.to_string().as_bytes());
    }

    /// Sends a message whose body may be invalid JSON.
    pub fn send_raw(&mut self, body: &[u8]) {
        let header = format!("Content-Length: {}\r\n\r\n", body.len());
        // A dead server is detected by the missing response.
        let _ = self.output.write_all(header.as_bytes()).and_then(|()| self.output.write_all(body));
        let _ = self.output.flush();
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        let mut notification = json!({ "jsonrpc": "2.0", "method": method });
        if !params.is_null() {
            notification["params"] = params;
        }
        self.send(&notification);
    }

    /// Sends a request and returns its id.
    pub fn send_request(&mut self, method: &str, params: Value) -> i64 {
        self.requests += 1;
        let mut request = json!({ "jsonrpc": "2.0", "id": self.requests, "method": method });
        if !params.is_null() {
            request["params"] = params;
        }
        self.send(&request);
        self.requests
    }

    /// Waits for the response to a request: `result` or `error`.
    pub fn answer(&mut self, id: i64) -> Result<Value, Value> {
        let answer = self.wait(|message| message.get("method").is_none() && message["id"] == id);
        match answer.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(answer["result"].clone()),
        }
    }

    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send_request(method, params);
        self.answer(id).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Returns the parameters of the next notification of this kind.
    pub fn notification(&mut self, method: &str) -> Value {
        self.wait(|message| message["method"] == method)["params"].clone()
    }

    /// Returns the diagnostics that are pushed for a version of a document.
    pub fn pushed(&mut self, uri: &str, version: Option<i64>) -> Vec<Value> {
        let message = self.wait(|message| {
            message["method"] == "textDocument/publishDiagnostics"
                && message["params"]["uri"] == uri
                && message["params"]["version"].as_i64() == version
        });
        message["params"]["diagnostics"].as_array().cloned().unwrap_or_default()
    }

    /// Waits for the first message that satisfies the predicate. The others stay unread.
    pub fn wait(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.unread.iter().position(&is_wanted) {
            return self.unread.remove(at).unwrap();
        }
        loop {
            let message = self.next();
            if is_wanted(&message) {
                return message;
            }
            self.unread.push_back(message);
        }
    }

    /// Waits until the pushed diagnostics of a document have these codes. Diagnostics of earlier states may precede
    /// them, because the client's responses may arrive after later edits.
    pub fn pushed_eventually(&mut self, uri: &str, version: Option<i64>, expected: &[&str]) {
        while codes(&self.pushed(uri, version)) != expected {}
    }

    /// Discards the messages with this method that the server has sent so far.
    pub fn skip(&mut self, method: &str) {
        // A response can overtake at most one other message, so two round trips suffice.
        for _ in 0..2 {
            self.request("ag-lsp/status", json!({}));
        }
        self.unread.retain(|message| message["method"] != method);
    }

    /// Returns the next message. Answers the server's requests.
    fn next(&mut self) -> Value {
        loop {
            let message = self.incoming.recv_timeout(TIMEOUT).expect("the server answers");
            let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else {
                return message;
            };
            let result = match method {
                "workspace/configuration" => json!([self.settings]),
                _ => Value::Null,
            };
            let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
            self.send(&answer);
            if method != "workspace/configuration" && method != "window/workDoneProgress/create" {
                return message;
            }
        }
    }

    pub fn open(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "python", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Replaces a range, given as line and column of its start and its end.
    pub fn edit(
        &mut self,
        uri: &str,
        version: i64,
        [line, column, to_line, to_column]: [u32; 4],
        text: &str,
    ) {
        let range = json!({
            "start": { "line": line, "character": column },
            "end": { "line": to_line, "character": to_column },
        });
        self.notify(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": uri, "version": version },
                "contentChanges": [{ "range": range, "text": text }],
            }),
        );
    }

    pub fn replace(&mut self, uri: &str, version: i64, text: &str) {
        self.notify(
            "textDocument/didChange",
            json!({ "textDocument": { "uri": uri, "version": version }, "contentChanges": [{ "text": text }] }),
        );
    }

    pub fn close(&mut self, uri: &str) {
        self.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    }

    /// Sends `exit` without `shutdown`.
    pub fn exit_without_shutdown(mut self) {
        self.notify("exit", Value::Null);
        self.is_over = true;
    }

    /// Shuts the server down. Fails if any message is unread.
    pub fn finish(mut self) {
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        self.is_over = true;
        while let Ok(message) = self.incoming.recv_timeout(TIMEOUT) {
            self.unread.push_back(message);
        }
        assert!(self.unread.is_empty(), "unread messages: {:#?}", self.unread);
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        assert!(self.is_over || std::thread::panicking(), "call `finish` or `exit_without_shutdown`");
    }
}

fn read(input: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if input.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            header => {
                if let Some(value) = header.strip_prefix("Content-Length: ") {
                    length = value.parse().ok()?;
                }
            }
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body).ok()?;
    Some(serde_json::from_slice(&body).expect("the server sends JSON"))
}

pub fn uri(path: &std::path::Path) -> String {
    format!("file://{}", path.display())
}

/// Returns the codes of diagnostics.
pub fn codes(diagnostics: &[Value]) -> Vec<&str> {
    diagnostics.iter().filter_map(|diagnostic| diagnostic["code"].as_str()).collect()
}
