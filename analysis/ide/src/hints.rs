//! Inlay hints: `staged` or `python` after a decision, and the assumed type of a parameter.

use ruff_text_size::{TextRange, TextSize};

use super::function::FunctionAnalysis;
use super::words;
use ag_db::Db;
use ag_db::Document;
use ag_db::finding::Note;
use ag_index::assumptions::Source;
use ag_index::facts::Binding;
use ag_staging::construct::ConstructKind;

/// The maximum length of a type. Longer types are truncated.
const MAX_TYPE: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintKind {
    /// On a decision that is evaluated in the graph, for all calls or for some.
    Staged,
    /// On a decision that Python evaluates.
    Python,
    /// The assumed type of a parameter.
    Assumed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The offset after which the hint is shown.
    pub offset: TextSize,
    pub kind: HintKind,
    pub label: String,
    pub summary: String,
    pub why: Vec<Note>,
}

/// Returns the hints of a range of a document, in source order.
pub fn hints(
    db: &dyn Db,
    document: Document,
    range: TextRange,
    wanted: &dyn Fn(HintKind) -> bool,
) -> Vec<Hint> {
    let mut hints = Vec::new();
    for function in FunctionAnalysis::all(db, document) {
        if function.entry.range.intersect(range).is_none() {
            continue;
        }
        if wanted(HintKind::Assumed) {
            hints.extend(parameters(&function));
        }
        hints.extend(decisions(&function).filter(|hint| wanted(hint.kind)));
    }
    hints.retain(|hint| range.contains_inclusive(hint.offset));
    hints.sort_by_key(|hint| hint.offset);
    hints
}

fn parameters(function: &FunctionAnalysis) -> Vec<Hint> {
    let assumed =
        |(syntax, parameter): (&ag_index::index::ParameterSyntax, &ag_index::assumptions::Parameter)| {
            let is_inferred =
                matches!(parameter.source, Source::CallSites | Source::Default | Source::Assumption);
            let shown = parameter.shown.as_deref()?;
            (is_inferred && !syntax.annotated).then(|| Hint {
                offset: syntax.name_range.end(),
                kind: HintKind::Assumed,
                label: format!(": {}", cut(shown)),
                summary: format!("`{}: {shown}` is assumed", parameter.name),
                why: function.notes(&parameter.why),
            })
        };
    function.signature.parameters.iter().zip(&function.stage.parameters).filter_map(assumed).collect()
}

/// Returns the hints for statements and conditional expressions. Operators in their tests get none, because these would
/// repeat the same hint.
fn decisions(function: &FunctionAnalysis) -> impl Iterator<Item = Hint> {
    function.constructs().iter().filter_map(|construct| {
        match construct.kind {
            ConstructKind::And | ConstructKind::Or | ConstructKind::Not | ConstructKind::CompareChain => {
                return None;
            }
            _ => {}
        }
        let kind = match construct.binding {
            Binding::Staged | Binding::Mixed => HintKind::Staged,
            Binding::Python => HintKind::Python,
            Binding::Unknown => return None,
        };
        Some(Hint {
            offset: construct.test_range.end() + function.base(),
            kind,
            label: words::binding(construct.binding, function.stage).to_owned(),
            summary: words::decision(construct, function.stage),
            why: function.notes(&construct.why),
        })
    })
}

fn cut(shown: &str) -> String {
    match shown.char_indices().nth(MAX_TYPE) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown.to_owned(),
    }
}
