//! End-to-end tests of `ag-lsp server`: the real binary over standard input and output.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod client;

use std::process::{Child, Command, Stdio};

use client::{Client, codes, uri};
use serde_json::json;

const MODEL: &str = "\
import jax

@jax.jit
def f(x):
    if x > 0:
        return x
    return -x
";

const PROGRAM: &str = "\
import autograph as ag

@ag.function
def step(x):
    return x

def main():
    step(1)

";

fn start(folder: &std::path::Path, arguments: &[&str]) -> (Child, Client) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_ag-lsp"))
        .arg("server")
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let client = Client::new(process.stdout.take().unwrap(), process.stdin.take().unwrap());
    (process, client)
}

#[test]
fn a_session() {
    let folder = tempfile::tempdir().unwrap();
    let (mut process, mut client) = start(folder.path(), &["--stdio"]);
    let capabilities = client.initialize(json!({}), &[folder.path()], json!({}));
    assert_eq!(capabilities["positionEncoding"], "utf-16");
    let uri = uri(&folder.path().join("m.py"));
    client.open(&uri, MODEL);
    assert_eq!(codes(&client.pushed(&uri, Some(1))), ["AG501"]);
    client.finish();
    assert_eq!(process.wait().unwrap().code(), Some(0));
}

#[test]
fn the_server_exits_when_its_input_ends() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = Command::new(env!("CARGO_BIN_EXE_ag-lsp"))
        .arg("server")
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    drop(process.stdin.take());
    assert_eq!(process.wait().unwrap().code(), Some(1));
}

#[test]
fn exit_without_shutdown_has_exit_code_1() {
    let folder = tempfile::tempdir().unwrap();
    let (mut process, mut client) = start(folder.path(), &[]);
    client.initialize(json!({}), &[], json!({}));
    client.exit_without_shutdown();
    assert_eq!(process.wait().unwrap().code(), Some(1));
}

/// Opening a workspace executes neither its modules nor an interpreter in it. The requests that an editor sends on its
/// own, including those for lenses with run commands, do not execute anything either.
#[cfg(unix)]
#[test]
fn nothing_of_the_workspace_is_executed() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("executed");
    let script = format!("#!/bin/sh\ntouch '{}'\n", marker.display());
    for name in ["python", "python3", "ag-run"] {
        let path = folder.path().join(".venv/bin").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    std::fs::write(folder.path().join(".venv/pyvenv.cfg"), "home = /nowhere\n").unwrap();
    let module = format!("open({:?}, 'w')\n{PROGRAM}{MODEL}", marker.display().to_string());
    std::fs::write(folder.path().join("conftest.py"), &module).unwrap();
    let (mut process, mut client) = start(folder.path(), &[]);
    client.initialize(json!({ "textDocument": { "diagnostic": {} } }), &[folder.path()], json!({}));
    let uri = uri(&folder.path().join("conftest.py"));
    client.open(&uri, &module);
    let params = json!({ "textDocument": { "uri": uri } });
    let report = client.request("textDocument/diagnostic", params);
    assert_eq!(codes(report["items"].as_array().unwrap()), ["AG501"]);
    let lenses = client.request("textDocument/codeLens", json!({ "textDocument": { "uri": uri } }));
    let titles: Vec<_> = lenses.as_array().unwrap().iter().map(|lens| &lens["command"]["title"]).collect();
    assert!(titles.contains(&&json!("Show graph")) && titles.contains(&&json!("Run")), "{titles:?}");
    client.notify("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
    client.finish();
    process.wait().unwrap();
    assert!(!marker.exists());
}
