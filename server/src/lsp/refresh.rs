//! Refresh requests: the client repeats its earlier requests.

use tower_lsp::lsp_types::request::{
    CodeLensRefresh, InlayHintRefreshRequest, SemanticTokensRefresh, WorkspaceDiagnosticRefresh,
};

use super::owner::Owner;

impl Owner {
    /// Requests a refresh after changes that the client cannot relate to its documents.
    pub(super) fn refresh(&self) {
        let refresh = self.client.refresh;
        if refresh.diagnostics && self.client.pulls_diagnostics {
            self.outbox.request::<WorkspaceDiagnosticRefresh>((), |_| ());
        }
        if refresh.inlay_hints {
            self.outbox.request::<InlayHintRefreshRequest>((), |_| ());
        }
        if refresh.code_lenses {
            self.outbox.request::<CodeLensRefresh>((), |_| ());
        }
        if refresh.semantic_tokens {
            self.outbox.request::<SemanticTokensRefresh>((), |_| ());
        }
    }
}
