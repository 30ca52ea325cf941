//! After an edit in a large project, the rest of the analysis follows when no further edit arrives.

use serde_json::json;

use super::*;

/// A function flows through a field to `jax.jit`: `abs` at first, and `step` after the edit.
const PAIR: &str = "\
import jax
from typing import Callable, NamedTuple

class Pair(NamedTuple):
    update: Callable

def make(f):
    return Pair(f)

def step(x):
    if x > 0:
        return x
    return -x

pair = make(abs)
run = jax.jit(pair.update)
";

#[test]
fn a_function_that_flows_to_jit_after_an_edit_is_found_later() {
    let workspace = Workspace::new(&[]);
    let uri = workspace.uri("m.py");
    let mut client = workspace.client_with(Timing::complete_later());
    let capabilities = json!({
        "textDocument": { "diagnostic": {} },
        "workspace": { "diagnostics": { "refreshSupport": true } },
    });
    client.initialize(capabilities, &[&workspace.path()], json!({}));
    client.open(&uri, PAIR);
    assert!(items(&mut client, &uri).is_empty());
    client.edit(&uri, 2, [14, 12, 14, 15], "step");
    // The client is asked to repeat requests when the analysis is complete.
    client.wait(|message| message["method"] == "workspace/diagnostic/refresh");
    assert_eq!(codes(&items(&mut client, &uri)), ["AG501"]);
    client.finish();
}

fn items(client: &mut Client, uri: &str) -> Vec<Value> {
    let report = client.request("textDocument/diagnostic", document(uri));
    report["items"].as_array().cloned().unwrap_or_default()
}
