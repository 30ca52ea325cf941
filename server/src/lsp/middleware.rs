//! Wraps tower-lsp's service to support what its types lack: the capability `textDocumentContent` is read,
//! the response to `initialize` is completed, and `exit` is reported.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use serde_json::Value;
use tokio::sync::Notify;
use tower::Service;
use tower_lsp::jsonrpc::{Id, Request, Response};

use super::{capabilities, wire};

/// State of the connection that tower-lsp does not expose.
#[derive(Clone, Default)]
pub(crate) struct ProtocolState {
    /// The client can show virtual documents.
    pub(crate) text_document_content: Arc<AtomicBool>,
    pub(crate) shutdown: Arc<AtomicBool>,
    pub(crate) exit: Arc<Notify>,
}

pub(crate) struct Middleware<S> {
    pub(crate) inner: S,
    pub(crate) protocol: ProtocolState,
}

impl<S> Service<Request> for Middleware<S>
where
    S: Service<Request, Response = Option<Response>>,
    S::Future: Send + 'static,
    S::Error: 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if let Some(error) = wire::placeholder_error(request.method()) {
            return Box::pin(async { Ok(Some(Response::from_error(Id::Null, error))) });
        }
        let request = normalize(request);
        let content = match request.method() {
            "initialize" => {
                let capability = "/capabilities/workspace/textDocumentContent";
                let content = request.params().and_then(|params| params.pointer(capability));
                Some(content.is_some_and(|content| !content.is_null()))
            }
            "shutdown" => {
                self.protocol.shutdown.store(true, Ordering::Relaxed);
                None
            }
            "exit" => {
                self.protocol.exit.notify_one();
                None
            }
            _ => None,
        };
        if let Some(content) = content {
            self.protocol.text_document_content.store(content, Ordering::Relaxed);
        }
        let answer = self.inner.call(request);
        let Some(content) = content else { return Box::pin(answer) };
        Box::pin(async move {
            let (id, mut body) = match answer.await? {
                Some(response) => response.into_parts(),
                None => return Ok(None),
            };
            if let Ok(Value::Object(result)) = &mut body
                && let Some(capabilities) = result.get_mut("capabilities")
            {
                merge(capabilities, capabilities::extra_capabilities(content));
            }
            Ok(Some(Response::from_parts(id, body)))
        })
    }
}

/// Rewrites a message into the form that tower-lsp expects. tower-lsp rejects `"params": null` for methods without
/// parameters, and reads the capability `workspace.diagnostics` under the name `diagnostic`.
fn normalize(request: Request) -> Request {
    let (method, id, mut params) = request.into_parts();
    params = params.filter(|params| !params.is_null());
    if method == "initialize"
        && let Some(workspace) =
            params.as_mut().and_then(|params| params.pointer_mut("/capabilities/workspace"))
        && let Some(diagnostics) = workspace.get("diagnostics").cloned()
    {
        workspace["diagnostic"] = diagnostics;
    }
    let mut normalized = Request::build(method);
    if let Some(id) = id {
        normalized = normalized.id(id);
    }
    if let Some(params) = params {
        normalized = normalized.params(params);
    }
    normalized.finish()
}

fn merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_parameters_are_dropped() {
        let request = Request::build("shutdown").id(1).params(Value::Null).finish();
        assert_eq!(normalize(request), Request::build("shutdown").id(1).finish());
        let request = Request::build("exit").params(Value::Null).finish();
        assert_eq!(normalize(request), Request::build("exit").finish());
    }

    #[test]
    fn the_capability_of_workspace_diagnostics_is_renamed() {
        let capabilities = json!({ "workspace": { "diagnostics": { "refreshSupport": true } } });
        let request =
            Request::build("initialize").id(1).params(json!({ "capabilities": capabilities })).finish();
        let normalized = normalize(request).into_parts().2.unwrap_or_default();
        let normalized: tower_lsp::lsp_types::InitializeParams = serde_json::from_value(normalized).unwrap();
        let refreshes = normalized.capabilities.workspace.and_then(|workspace| workspace.diagnostic);
        assert_eq!(refreshes.and_then(|it| it.refresh_support), Some(true));
    }

    #[test]
    fn merging_keeps_existing_fields() {
        let mut capabilities = json!({ "workspace": { "a": 1 }, "b": 2 });
        merge(&mut capabilities, json!({ "workspace": { "c": 3 } }));
        assert_eq!(capabilities, json!({ "workspace": { "a": 1, "c": 3 }, "b": 2 }));
    }
}
