//! The source map: what in converted text comes from where in the source.

use ruff_text_size::{TextRange, TextSize};
use serde::Serialize;

/// How a span of converted text came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SpanKind {
    /// Copied character by character, where it stood.
    Verbatim,
    /// Copied, but out of its place: it follows what it preceded, or stands twice.
    Moved,
    /// Made by the converter for the original span.
    Synthesized,
}

/// One span of converted text. Spans nest: the innermost one is the most exact. Offsets are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub generated: TextRange,
    pub original: TextRange,
    pub kind: SpanKind,
}

/// The spans of a converted text, in the order of their starts, outer ones first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceMap {
    spans: Vec<Span>,
}

/// Leaves out made spans within one that was made for the same original.
fn without_redundant(spans: Vec<Span>) -> Vec<Span> {
    let mut kept: Vec<Span> = Vec::with_capacity(spans.len());
    let mut around: Vec<Span> = Vec::new();
    for span in spans {
        while around.last().is_some_and(|outer| outer.generated.end() < span.generated.end()) {
            around.pop();
        }
        let is_known = around.last().is_some_and(|outer| {
            span.kind == SpanKind::Synthesized
                && outer.kind == SpanKind::Synthesized
                && outer.original == span.original
        });
        if !is_known {
            kept.push(span);
            around.push(span);
        }
    }
    kept
}

impl SourceMap {
    pub(super) fn new(mut spans: Vec<Span>) -> Self {
        spans.retain(|span| !span.generated.is_empty());
        // By start, the longest first: one number for both is compared faster than a pair.
        spans.sort_by_key(|span| {
            u64::from(span.generated.start().to_u32()) << 32 | u64::from(!span.generated.end().to_u32())
        });
        // What is copied after something that stood later in the source has moved.
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

    /// Where in the source the text at `offset` comes from: exactly if it was copied, else the start
    /// of what it stands for.
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

    /// Where the source at `offset` has gone: first where it was copied to, then what was made for it.
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
