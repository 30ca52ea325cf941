//! `textDocument/semanticTokens`: names of staged values, with the modifier `staged`. The language server for
//! Python highlights everything else.

use ag_ide::tokens;
use ag_ide::tokens::{Token, TokenKind};
use ruff_text_size::TextRange;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    SemanticToken, SemanticTokenModifier, SemanticTokenType, SemanticTokens, SemanticTokensLegend,
    SemanticTokensParams, SemanticTokensRangeParams, SemanticTokensRangeResult, SemanticTokensResult, Url,
};

use crate::lsp::documents::PartMapper;
use crate::lsp::snapshot::Snapshot;

/// Token types in the order of [`TokenKind`].
pub(crate) fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend {
        token_types: vec![
            SemanticTokenType::FUNCTION,
            SemanticTokenType::PARAMETER,
            SemanticTokenType::VARIABLE,
        ],
        token_modifiers: vec![SemanticTokenModifier::new("staged")],
    }
}

pub(crate) fn answer(
    snapshot: &Snapshot,
    params: &SemanticTokensParams,
) -> Result<Option<SemanticTokensResult>> {
    Ok(tokens(snapshot, &params.text_document.uri, |_| None).map(Into::into))
}

pub(crate) fn answer_range(
    snapshot: &Snapshot,
    params: &SemanticTokensRangeParams,
) -> Result<Option<SemanticTokensRangeResult>> {
    Ok(tokens(snapshot, &params.text_document.uri, |mapper| Some(mapper.text_range(params.range)))
        .map(Into::into))
}

fn tokens(
    snapshot: &Snapshot,
    uri: &Url,
    within: impl Fn(&PartMapper) -> Option<TextRange>,
) -> Option<SemanticTokens> {
    let context = snapshot.document(uri)?;
    let mapper = context.mapper()?;
    let within = within(&mapper).unwrap_or(mapper.extent());
    let tokens = tokens::tokens(context.engine.db(), context.document).into_iter();
    let own = tokens
        .filter(|token| within.contains_range(token.range) && mapper.extent().contains_range(token.range));
    Some(SemanticTokens { result_id: None, data: encode(own, &mapper) })
}

/// Encodes each position relative to the previous token.
fn encode(tokens: impl Iterator<Item = Token>, mapper: &PartMapper) -> Vec<SemanticToken> {
    let mut last = tower_lsp::lsp_types::Position::default();
    let mut encoded = Vec::new();
    for token in tokens {
        let range = mapper.range(token.range);
        let start = range.start;
        let same_line = start.line == last.line;
        encoded.push(SemanticToken {
            delta_line: start.line.saturating_sub(last.line),
            delta_start: if same_line {
                start.character.saturating_sub(last.character)
            } else {
                start.character
            },
            length: range.end.character.saturating_sub(start.character),
            token_type: match token.kind {
                TokenKind::Function => 0,
                TokenKind::Parameter => 1,
                TokenKind::Variable => 2,
            },
            token_modifiers_bitset: 1,
        });
        last = start;
    }
    encoded
}
