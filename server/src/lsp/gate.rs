//! Around tower-lsp's service: what the protocol has and tower-lsp's types do not. The client's wish for
//! documents of ours is read, the answer to `initialize` is completed, and `exit` is noticed.

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

/// What passes the gate besides messages.
#[derive(Clone, Default)]
pub(crate) struct Passed {
    /// The client shows documents that only the server has.
    pub(crate) text_document_content: Arc<AtomicBool>,
    pub(crate) shutdown: Arc<AtomicBool>,
    pub(crate) exit: Arc<Notify>,
}

pub(crate) struct Gate<S> {
    pub(crate) inner: S,
    pub(crate) passed: Passed,
}

impl<S> Service<Request> for Gate<S>
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
        if let Some(error) = wire::error_of(request.method()) {
            return Box::pin(async { Ok(Some(Response::from_error(Id::Null, error))) });
        }
        let request = as_understood(request);
        let content = match request.method() {
            "initialize" => {
                let wanted = "/capabilities/workspace/textDocumentContent";
                let content = request.params().and_then(|params| params.pointer(wanted));
                Some(content.is_some_and(|content| !content.is_null()))
            }
            "shutdown" => {
                self.passed.shutdown.store(true, Ordering::Relaxed);
                None
            }
            "exit" => {
                self.passed.exit.notify_one();
                None
            }
            _ => None,
        };
        if let Some(content) = content {
            self.passed.text_document_content.store(content, Ordering::Relaxed);
        }
        let answer = self.inner.call(request);
        let Some(content) = content else { return Box::pin(answer) };
        Box::pin(async move {
            let (id, mut body) = match answer.await? {
                Some(response) => response.into_parts(),
                None => return Ok(None),
            };
            if let Ok(Value::Object(result)) = &mut body
                && let Some(offered) = result.get_mut("capabilities")
            {
                merge(offered, capabilities::unspoken(content));
            }
            Ok(Some(Response::from_parts(id, body)))
        })
    }
}

/// The message in the words of tower-lsp. It refuses `"params": null` where the method has no parameters, and reads
/// the capability `workspace.diagnostics` under the name `diagnostic`.
fn as_understood(request: Request) -> Request {
    let (method, id, mut params) = request.into_parts();
    params = params.filter(|params| !params.is_null());
    if method == "initialize"
        && let Some(workspace) =
            params.as_mut().and_then(|params| params.pointer_mut("/capabilities/workspace"))
        && let Some(diagnostics) = workspace.get("diagnostics").cloned()
    {
        workspace["diagnostic"] = diagnostics;
    }
    let mut understood = Request::build(method);
    if let Some(id) = id {
        understood = understood.id(id);
    }
    if let Some(params) = params {
        understood = understood.params(params);
    }
    understood.finish()
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
    fn no_parameters_may_be_said_in_two_ways() {
        let said = Request::build("shutdown").id(1).params(Value::Null).finish();
        assert_eq!(as_understood(said), Request::build("shutdown").id(1).finish());
        let said = Request::build("exit").params(Value::Null).finish();
        assert_eq!(as_understood(said), Request::build("exit").finish());
    }

    #[test]
    fn refreshing_of_diagnostics_is_understood() {
        let capabilities = json!({ "workspace": { "diagnostics": { "refreshSupport": true } } });
        let said =
            Request::build("initialize").id(1).params(json!({ "capabilities": capabilities })).finish();
        let understood = as_understood(said).into_parts().2.unwrap_or_default();
        let understood: tower_lsp::lsp_types::InitializeParams = serde_json::from_value(understood).unwrap();
        let refreshes = understood.capabilities.workspace.and_then(|workspace| workspace.diagnostic);
        assert_eq!(refreshes.and_then(|it| it.refresh_support), Some(true));
    }

    #[test]
    fn merging_keeps_what_is_there() {
        let mut capabilities = json!({ "workspace": { "a": 1 }, "b": 2 });
        merge(&mut capabilities, json!({ "workspace": { "c": 3 } }));
        assert_eq!(capabilities, json!({ "workspace": { "a": 1, "c": 3 }, "b": 2 }));
    }
}
