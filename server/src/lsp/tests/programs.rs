//! Commands that execute the user's code: programs and graphs. A shell script that prints its arguments replaces Python.
//! The tests of the runtime cover the commands with the real runtime.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::*;

const PROGRAM: &str = "\
import autograph as ag
import torch

@ag.function
def step(x, n: int, rate: float = 0.5):
    return x * n

@ag.function
def wrong(x):
    return x

@ag.convert()
def endless(x):
    return x

if __name__ == \"__main__\":
    step(torch.zeros(32, 10), 3)
";

/// Pretends that the runtime is installed. A graph contains the arguments; a program prints two lines and fails.
const PYTHON: &str = r#"#!/bin/sh
[ "$1" = -c ] && exit 0
[ "$1" != -m ] && echo "one of $PWD" && echo two >&2 && exit 3
for word in "$@"; do
    case $word in --output=*) output=${word#--output=} ;; esac
    arguments="$arguments<text>$word</text>"
    last=$word
done
case $last in
    wrong) echo 'error: `x` is a list' >&2; echo '  File "m.py", line 10' >&2; exit 2 ;;
    endless) exec tail -f /dev/null ;;
esac
echo "<svg xmlns=\"http://www.w3.org/2000/svg\">$arguments</svg>" > "$output"
"#;

fn workspace() -> (Workspace, String) {
    let workspace =
        Workspace::new(&[("m.py", PROGRAM), ("ag-lsp.toml", "python = 'env'"), ("env/bin/python", PYTHON)]);
    workspace.write("env/pyvenv.cfg", "home = /nowhere\n");
    let python = workspace.path().join("env/bin/python");
    std::fs::set_permissions(python, std::fs::Permissions::from_mode(0o755)).unwrap();
    let uri = workspace.uri("m.py");
    (workspace, uri)
}

fn shows_progress() -> Value {
    json!({ "window": { "workDoneProgress": true, "showDocument": { "support": true } },
        "textDocument": { "diagnostic": {} } })
}

/// Returns the lines and titles of lenses.
fn lenses(client: &mut Client, uri: &str) -> Vec<(u64, String)> {
    let lenses = client.request("textDocument/codeLens", document(uri));
    let lens = |lens: &Value| {
        let title = lens["command"]["title"].as_str().unwrap().to_owned();
        (lens["range"]["start"]["line"].as_u64().unwrap(), title)
    };
    lenses
        .as_array()
        .unwrap()
        .iter()
        .map(lens)
        .filter(|(_, title)| !title.contains(' ') || title == "Show graph")
        .collect()
}

#[test]
fn lenses_are_above_programs_and_functions_of_the_runtime() {
    let (workspace, uri) = workspace();
    let mut client = workspace.start(pulls());
    client.open(&uri, PROGRAM);
    let graph = |line| (line, "Show graph".to_owned());
    assert_eq!(lenses(&mut client, &uri), [graph(4), graph(8), graph(12), (15, "Run".to_owned())]);
    // The first two scripts import the runtime through `m`, and have a main guard or a function `main`. The others are
    // not programs that use the runtime.
    for (text, expected) in [
        ("from m import step\nif '__main__' == __name__:\n    step(1)\n", Some(1)),
        ("import m\n\ndef main():\n    m.step(1)\n", Some(2)),
        ("import os\n\ndef main():\n    pass\n", None),
        ("import m\n\nif __name__ != '__main__':\n    pass\n", None),
        ("import m\n\ndef other():\n    def main():\n        pass\n", None),
    ] {
        let other = workspace.uri("other.py");
        client.open(&other, text);
        let lines: Vec<_> = lenses(&mut client, &other).into_iter().map(|(line, _)| line).collect();
        assert_eq!(lines, Vec::from_iter(expected), "{text}");
        client.close(&other);
    }
    client.finish();
}

#[test]
fn code_of_an_untrusted_workspace_is_not_run() {
    let (workspace, uri) = workspace();
    let mut client = workspace.start_with(pulls(), json!({ "trusted": false }));
    client.open(&uri, PROGRAM);
    assert_eq!(lenses(&mut client, &uri), []);
    let run = json!({ "command": "ag-lsp.run", "arguments": [{ "uri": uri }] });
    let graph = json!({ "uri": uri, "function": "step" });
    for (method, params) in [("workspace/executeCommand", run), ("ag-lsp/graph", graph)] {
        let id = client.send_request(method, params);
        let error = client.answer(id).unwrap_err();
        assert!(error["message"].as_str().unwrap().contains("untrusted"), "{error}");
    }
    client.finish();
}

#[test]
fn inputs_are_proposed_from_calls_and_annotations() {
    let workspace = Workspace::new(&[]);
    let uri = workspace.uri("m.py");
    let mut client = workspace.start(pulls());
    for (parameters, call, inputs) in [
        ("x, n", "", "x=f32[2,3] n=f32[2,3]"),
        ("x, n: int, a: float, b: bool, s: str, k=1", "", "x=f32[2,3] n=1 a=1.0 b=True s=''"),
        ("x, *, n", "f(torch.zeros(32, 10), n=-3)", "x=f32[32,10] n=-3"),
        ("x, *rest, **more", "f(torch.zeros((4,)), 1, k=2)", "x=f32[4]"),
        ("x", "batch = 8\ndata = torch.rand(batch, 2, dtype=torch.float64)\nf(data)", "x=f64[8,2]"),
        ("x", "f(torch.tensor([[1, 2, 3], [4, 5, 6.5]]))", "x=f32[2,3]"),
        ("x", "f(torch.tensor(27))", "x=i64[]"),
        ("x, y", "f(torch.randint(0, 9, (7,)), torch.arange(5))", "x=i64[7] y=i64[5]"),
        ("x, y", "f(torch.full((2, 2), 1.5), torch.eye(3))", "x=f32[2,2] y=f32[3,3]"),
        ("x", "f(load())\nf((1, 'a b'))", "x=(1, 'a b')"),
        ("x", "a = 1\na = 2\nf(a)", "x=f32[2,3]"),
        ("x", "a = b\nb = a\nf(a)", "x=f32[2,3]"),
    ] {
        let text = format!(
            "import torch\nimport autograph as ag\n\n@ag.function\ndef f({parameters}):\n    pass\n\n{call}\n"
        );
        client.open(&uri, &text);
        let params = at(&uri, &text.replace("pass", "▮pass"));
        let expected = json!({ "function": "f", "inputs": inputs });
        assert_eq!(client.request("ag-lsp/graphInputs", params), expected, "{text}");
        client.close(&uri);
    }
    client.finish();
}

#[test]
fn proposed_inputs_of_methods_omit_self() {
    let workspace = Workspace::new(&[]);
    let uri = workspace.uri("m.py");
    let mut client = workspace.start(pulls());
    client.open(
        &uri,
        "import autograph as ag\n\nclass M:\n    @ag.function\n    def call(self, x: int):\n        pass\n",
    );
    let params = json!({ "textDocument": { "uri": uri }, "function": "M.call" });
    let inputs = client.request("ag-lsp/graphInputs", params);
    assert_eq!(inputs, json!({ "function": "M.call", "inputs": "x=1" }));
    let params = json!({ "textDocument": { "uri": uri }, "function": "M" });
    assert_eq!(client.request("ag-lsp/graphInputs", params), json!(null));
    client.finish();
}

#[test]
fn a_graph_is_drawn_for_given_inputs() {
    let (workspace, uri) = workspace();
    let mut client = workspace.start(pulls());
    client.open(&uri, PROGRAM);
    let drawn = client.request("ag-lsp/graph", json!({ "uri": uri, "function": "step" }));
    assert_eq!((&drawn["inputs"], &drawn["failure"]), (&json!("x=f32[32,10] n=3"), &json!(null)));
    let svg = drawn["svg"].as_str().unwrap();
    for word in ["autograph.graph", "--format", "svg", "--input=x=f32[32,10]", "--input=n=3", "step"] {
        assert!(svg.contains(&format!("<text>{word}</text>")), "no `{word}` in {svg}");
    }
    // The inputs that were used last are proposed again.
    let given = json!({ "uri": uri, "function": "step", "inputs": "x=f32[7] n='a b'" });
    let drawn = client.request("ag-lsp/graph", given);
    assert!(drawn["svg"].as_str().unwrap().contains("<text>--input=n='a b'</text>"), "{drawn}");
    let params = json!({ "textDocument": { "uri": uri }, "function": "step" });
    assert_eq!(client.request("ag-lsp/graphInputs", params)["inputs"], "x=f32[7] n='a b'");
    client.finish();
}

#[test]
fn failures_of_graphs_are_reported() {
    let (workspace, uri) = workspace();
    let mut client = workspace.start(pulls());
    client.open(&uri, PROGRAM);
    let drawn = client.request("ag-lsp/graph", json!({ "uri": uri, "function": "wrong" }));
    let failure = "error: `x` is a list\n  File \"m.py\", line 10";
    assert_eq!((&drawn["svg"], &drawn["failure"]), (&json!(null), &json!(failure)));
    let command =
        json!({ "command": "ag-lsp.showGraph", "arguments": [{ "uri": uri, "function": "wrong" }] });
    assert_eq!(client.request("workspace/executeCommand", command), json!(null));
    assert_eq!(client.notification("window/showMessage")["message"], failure);
    let refused = |client: &mut Client, params: Value| {
        let id = client.send_request("ag-lsp/graph", params);
        client.answer(id).unwrap_err()["message"].as_str().unwrap().to_owned()
    };
    assert!(refused(&mut client, json!({ "uri": uri, "function": "none" })).contains("`none`"));
    let python = json!({ "uri": uri, "function": "step", "python": "/nowhere" });
    assert!(refused(&mut client, python).contains("`/nowhere` is not a Python interpreter"));
    client.edit(&uri, 2, [0, 0, 0, 0], "\n");
    assert!(refused(&mut client, json!({ "uri": uri, "function": "step" })).contains("save it first"));
    client.finish();
}

#[test]
fn drawing_a_graph_can_be_cancelled() {
    let (workspace, uri) = workspace();
    let mut client = workspace.start(shows_progress());
    client.open(&uri, PROGRAM);
    let pending = client.send_request("ag-lsp/graph", json!({ "uri": uri, "function": "endless" }));
    let begin = client.notification("$/progress");
    assert_eq!(begin["value"], json!({ "kind": "begin", "title": "Staging endless", "cancellable": true }));
    client.notify("window/workDoneProgress/cancel", json!({ "token": "another" }));
    client.notify("window/workDoneProgress/cancel", json!({ "token": begin["token"] }));
    assert_eq!(client.answer(pending), Ok(json!(null)));
    assert_eq!(client.notification("$/progress")["value"]["kind"], "end");
    // Cancelling the request kills the process too.
    let pending = client.send_request("ag-lsp/graph", json!({ "uri": uri, "function": "endless" }));
    assert_eq!(client.notification("$/progress")["value"]["kind"], "begin");
    client.notify("$/cancelRequest", json!({ "id": pending }));
    assert_eq!(client.answer(pending).unwrap_err()["code"], -32800);
    assert_eq!(client.notification("$/progress")["value"]["kind"], "end");
    client.finish();
}

#[test]
fn the_browser_page_is_redrawn_on_save() {
    let (workspace, uri) = workspace();
    let mut client = workspace.start(shows_progress());
    client.open(&uri, PROGRAM);
    let argument = json!({ "uri": uri, "function": "step", "inputs": "x=f32[1] n=1" });
    let command = json!({ "command": "ag-lsp.showGraph", "arguments": [argument] });
    let shown = client.request("workspace/executeCommand", command);
    let opened = client.wait(|message| message["method"] == "window/showDocument");
    assert_eq!(opened["params"], json!({ "uri": shown["uri"], "external": true }));
    let page = PathBuf::from(shown["uri"].as_str().unwrap().strip_prefix("file://").unwrap());
    let drawing = page.with_extension("svg");
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.contains(drawing.file_name().unwrap().to_str().unwrap()), "{text}");
    assert!(std::fs::read_to_string(&drawing).unwrap().contains("--input=n=1"));

    let is_end = |message: &Value| message["params"]["value"]["kind"] == "end";
    client.wait(is_end);
    std::fs::remove_file(&drawing).unwrap();
    client.notify("textDocument/didSave", document(&uri));
    client.wait(is_end);
    // Pages are drawn one at a time, so after this response the saved page is written.
    let argument = json!({ "uri": uri, "function": "wrong" });
    client.request(
        "workspace/executeCommand",
        json!({ "command": "ag-lsp.showGraph", "arguments": [argument] }),
    );
    assert!(std::fs::read_to_string(&drawing).unwrap().contains("--input=n=1"));
    client.wait(is_end);

    client.close(&uri);
    client.notify("textDocument/didSave", document(&uri));
    client.skip("$/progress");
    client.skip("window/showMessage");
    client.finish();
}

#[test]
fn the_output_of_a_program_is_logged() {
    let (workspace, uri) = workspace();
    let mut client = workspace.start(pulls());
    client.open(&uri, PROGRAM);
    let command = json!({ "command": "ag-lsp.run", "arguments": [{ "uri": uri }] });
    assert_eq!(client.request("workspace/executeCommand", command), json!(3));
    let mut lines =
        [0, 1].map(|_| client.notification("window/logMessage")["message"].as_str().unwrap().to_owned());
    lines.sort();
    assert_eq!(lines, [format!("one of {}", workspace.path().display()), "two".to_owned()]);
    let ended = client.notification("window/showMessage");
    assert!(ended["message"].as_str().unwrap().contains("`m.py` failed"), "{ended}");
    client.finish();
}
