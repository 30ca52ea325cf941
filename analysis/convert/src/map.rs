//! The source map: relates ranges of converted text to ranges of the source.

use ruff_text_size::{TextRange, TextSize};
use serde::Serialize;

/// The origin of a span of converted text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SpanKind {
    /// The text is copied unchanged, in source order.
    Verbatim,
    /// The text is copied, but reordered or duplicated.
    Moved,
    /// The converter has generated the text for the original span.
    Synthesized,
}

impl SpanKind {
    /// Returns the name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Verbatim => "verbatim",
            Self::Moved => "moved",
            Self::Synthesized => "synthesized",
        }
    }
}

/// A span of converted text. Spans nest, and the innermost is the most precise. Offsets are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub generated: TextRange,
    pub original: TextRange,
    pub kind: SpanKind,
}

/// The spans of a converted text, ordered by start, outer spans first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceMap {
    spans: Vec<Span>,
}

/// Removes synthesized spans that are inside a synthesized span with the same original range.
fn without_redundant(spans: Vec<Span>) -> Vec<Span> {
    let mut kept: Vec<Span> = Vec::with_capacity(spans.len());
    let mut enclosing: Vec<Span> = Vec::new();
    for span in spans {
        while enclosing.last().is_some_and(|outer| outer.generated.end() < span.generated.end()) {
            enclosing.pop();
        }
        let is_redundant = enclosing.last().is_some_and(|outer| {
            span.kind == SpanKind::Synthesized
                && outer.kind == SpanKind::Synthesized
                && outer.original == span.original
        });
        if !is_redundant {
            kept.push(span);
            enclosing.push(span);
        }
    }
    kept
}

impl SourceMap {
    /// Returns the same map after a text of length `by` is inserted before the converted text.
    #[must_use]
    pub fn shifted(mut self, by: TextSize) -> Self {
        for span in &mut self.spans {
            span.generated += by;
        }
        self
    }

    pub(super) fn new(mut spans: Vec<Span>) -> Self {
        spans.retain(|span| !span.generated.is_empty());
        // Sorted by start. Of several spans with the same start, the longest comes first. A single integer as the key
        // compares faster than a pair.
        spans.sort_by_key(|span| {
            u64::from(span.generated.start().to_u32()) << 32 | u64::from(!span.generated.end().to_u32())
        });
        // If copied text follows text from a later part of the source, it has been moved.
        let mut furthest = TextSize::default();
        for span in &mut spans {
            if span.kind == SpanKind::Verbatim {
                if span.original.start() < furthest {
                    span.kind = SpanKind::Moved;
                }
                furthest = furthest.max(span.original.end());
            }
        }
        Self { spans: without_redundant(spans) }
    }

    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Returns the offset in the source for an offset in converted text. It is exact for copied text; otherwise it is
    /// the start of the original span.
    pub fn original(&self, offset: TextSize) -> Option<TextSize> {
        let before = self.spans.partition_point(|span| span.generated.start() <= offset);
        let containing =
            self.spans[..before].iter().rev().filter(|span| span.generated.contains_inclusive(offset));
        let span = containing.min_by_key(|span| span.generated.len())?;
        Some(match span.kind {
            SpanKind::Synthesized => span.original.start(),
            _ => span.original.start() + (offset - span.generated.start()),
        })
    }

    /// Returns the offsets in converted text for an offset in the source: the offset of each copy, then the offset of
    /// the innermost synthesized span.
    pub fn generated(&self, offset: TextSize) -> Vec<TextSize> {
        let containing = || self.spans.iter().filter(|span| span.original.contains(offset));
        let copied = containing()
            .filter(|span| span.kind != SpanKind::Synthesized)
            .map(|span| span.generated.start() + (offset - span.original.start()));
        let smallest = containing()
            .filter(|span| span.kind == SpanKind::Synthesized)
            .min_by_key(|span| (span.original.len(), span.generated.start()))
            .map(|span| span.generated.start());
        copied.chain(smallest).collect()
    }
}
