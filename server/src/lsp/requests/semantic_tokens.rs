//! `textDocument/semanticTokens`: names of staged values, with the modifier `staged`. The rest of the
//! language is another server's to colour.

use ag_ide::tokens;
use ag_ide::tokens::{Token, TokenKind};
use ruff_text_size::TextRange;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    SemanticToken, SemanticTokenModifier, SemanticTokenType, SemanticTokens, SemanticTokensLegend,
    SemanticTokensParams, SemanticTokensRangeParams, SemanticTokensRangeResult, SemanticTokensResult, Url,
};

use crate::lsp::documents::Face;
use crate::lsp::snapshot::Snapshot;

/// In the order of [`TokenKind`].
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
    Ok(tokens(snapshot, &params.text_document.uri, |face| Some(face.text_range(params.range)))
        .map(Into::into))
}

fn tokens(
    snapshot: &Snapshot,
    uri: &Url,
    within: impl Fn(&Face) -> Option<TextRange>,
) -> Option<SemanticTokens> {
    let spot = snapshot.at(uri)?;
    let face = spot.face()?;
    let within = within(&face).unwrap_or(face.extent());
    let tokens = tokens::tokens(spot.engine.db(), spot.document).into_iter();
    let own = tokens
        .filter(|token| within.contains_range(token.range) && face.extent().contains_range(token.range));
    Some(SemanticTokens { result_id: None, data: encode(own, &face) })
}

/// Each token counts from the one before.
fn encode(tokens: impl Iterator<Item = Token>, face: &Face) -> Vec<SemanticToken> {
    let mut last = tower_lsp::lsp_types::Position::default();
    let mut encoded = Vec::new();
    for token in tokens {
        let range = face.range(token.range);
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
