//! Findings and stages of a document, with offsets into the file.

use ruff_db::files::File;
use ruff_db::system::SystemPath;
use ruff_python_ast::name::Name;
use ruff_text_size::{TextRange, TextSize};

use crate::config::{RuleTable, Settings};
use crate::db::Db;
use crate::diagnostic::{Anchor, Applicability, Diagnostic, Edit, Severity, Span, Step};
use crate::project::{Document, text};
use crate::rules::registry;
use crate::rules::run::{file_diagnostics, function_diagnostics};
use crate::staging::assumptions::{Source, Stage};
use crate::staging::construct::ConstructKind;
use crate::staging::facts::Binding;
use crate::staging::index::{FunctionId, file_index, tree};
use crate::staging::queries::constructs;
use crate::suppress;
use crate::syntax::functions::FunctionEntry;

/// A location in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    pub file: File,
    pub range: TextRange,
}

/// A step of a why-chain, or a secondary location of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Note {
    pub message: String,
    pub location: Option<Location>,
}

/// A fix; its edits are in the finding's file, sorted and without overlap.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FindingFix {
    pub message: String,
    pub applicability: Applicability,
    pub edits: Vec<Edit>,
}

/// A diagnostic with its location in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Finding {
    pub code: &'static str,
    pub name: &'static str,
    pub severity: Severity,
    pub message: String,
    pub location: Location,
    pub labels: Vec<Note>,
    pub why: Vec<Note>,
    pub help: Option<String>,
    pub fix: Option<FindingFix>,
}

/// A function and its decisions, for `ag-lsp stages`, inlay hints and hover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedFunction {
    pub qualname: Name,
    /// The name after `def`.
    pub name_range: TextRange,
    pub stage: Stage,
    pub parameters: Vec<StagedParameter>,
    pub constructs: Vec<StagedConstruct>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedParameter {
    pub name: Name,
    pub source: Source,
    pub binding: Binding,
    pub why: Vec<Note>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedConstruct {
    pub kind: ConstructKind,
    pub range: TextRange,
    /// The condition or iterable.
    pub test_range: TextRange,
    pub binding: Binding,
    pub why: Vec<Note>,
}

/// All findings of a document in source order: those of the engine and of the enabled rules, with suppressions
/// applied.
pub fn findings(db: &dyn Db, settings: &Settings, root: &SystemPath, document: Document) -> Vec<Finding> {
    let source = text(db, document);
    let file = document.file(db);
    let engine = |code: &str, range: TextRange, message: String| {
        let rule = registry::find(code)?;
        Some(Finding {
            code: rule.code,
            name: rule.name,
            severity: settings.rules.enabled(rule.code)?,
            message,
            location: Location { file, range },
            labels: Vec::new(),
            why: Vec::new(),
            help: None,
            fix: None,
        })
    };
    if let Some(error) = source.read_error() {
        return engine("AG901", TextRange::default(), error.to_string()).into_iter().collect();
    }
    let index = file_index(db, document);
    if index.too_deep {
        let message = "the file is nested too deeply to be checked".to_owned();
        return engine("AG904", TextRange::default(), message).into_iter().collect();
    }
    let mut found: Vec<Finding> = index
        .syntax_errors
        .iter()
        .filter_map(|(range, message)| engine("AG900", *range, message.clone()))
        .collect();
    let path = SystemPath::new(file.path(db).as_str());
    let rules = settings.rules_for(path.strip_prefix(root).unwrap_or(path));
    let stages = document.stages(db);
    if !stages.is_empty() || !index.roots.is_empty() {
        let mut diagnostics: Vec<&Diagnostic> = file_diagnostics(db, document).iter().collect();
        for path in stages.keys() {
            diagnostics.extend(function_diagnostics(db, FunctionId::new(db, document, path.clone())));
        }
        found.extend(diagnostics.into_iter().filter_map(|diagnostic| {
            let severity = severity(&rules, diagnostic)?;
            resolve(db, file, diagnostic, severity)
        }));
    }
    found.sort_by(|a, b| {
        let key =
            |finding: &Finding| (finding.location.range.start(), finding.code, finding.location.range.end());
        key(a).cmp(&key(b)).then_with(|| a.message.cmp(&b.message))
    });
    found.dedup();
    if suppress::may_occur(source.as_str())
        && let Some(parsed) = tree(db, document)
    {
        found = suppress::apply(found, file, source.as_str(), &parsed, &rules);
    }
    found
}

/// A configured severity wins; otherwise a rule may lower the severity when the finding is uncertain.
fn severity(rules: &RuleTable, diagnostic: &Diagnostic) -> Option<Severity> {
    let configured = rules.enabled(diagnostic.code)?;
    let own = registry::find(diagnostic.code)?.severity;
    Some(if configured == own { diagnostic.severity } else { configured })
}

/// Converts a diagnostic from function offsets to file offsets.
fn resolve(db: &dyn Db, file: File, diagnostic: &Diagnostic, severity: Severity) -> Option<Finding> {
    let location = locate(db, &diagnostic.span)?;
    if location.file != file {
        return None;
    }
    let base = location.range.start() - diagnostic.span.range.start();
    let note = |message: &str, span: Option<&Span>| Note {
        message: message.to_owned(),
        location: span.and_then(|span| locate(db, span)),
    };
    Some(Finding {
        code: diagnostic.code,
        name: diagnostic.name,
        severity,
        message: diagnostic.message.clone(),
        labels: diagnostic.labels.iter().map(|label| note(&label.message, Some(&label.span))).collect(),
        why: notes(db, &diagnostic.why),
        help: diagnostic.help.clone(),
        fix: diagnostic.fix.as_ref().map(|fix| {
            let mut edits: Vec<Edit> = fix
                .edits
                .iter()
                .map(|edit| Edit { range: edit.range + base, text: edit.text.clone() })
                .collect();
            edits.sort_by_key(|edit| (edit.range.start(), edit.range.end()));
            FindingFix { message: fix.message.clone(), applicability: fix.applicability, edits }
        }),
        location,
    })
}

pub(crate) fn notes(db: &dyn Db, why: &[Step]) -> Vec<Note> {
    why.iter()
        .map(|step| Note {
            message: step.message.clone(),
            location: step.span.as_ref().and_then(|span| locate(db, span)),
        })
        .collect()
}

/// The current location of a span in its file.
pub(crate) fn locate(db: &dyn Db, span: &Span) -> Option<Location> {
    let file = span.document.file(db);
    let index = file_index(db, span.document);
    let start = match &span.anchor {
        Anchor::File => TextSize::default(),
        Anchor::Statement(id) => *index.statements.get(*id as usize)?,
        Anchor::Function(path) => index.definitions.find(path)?.1.range.start(),
    };
    Some(Location { file, range: span.range + start })
}

/// The staged functions of a document in source order.
pub fn stages(db: &dyn Db, document: Document) -> Vec<StagedFunction> {
    let index = file_index(db, document);
    let stages = document.stages(db);
    let staged = |entry: &FunctionEntry| {
        let stage = stages.get(&entry.path)?;
        let function = FunctionId::new(db, document, entry.path.clone());
        let base = entry.range.start();
        Some(StagedFunction {
            qualname: entry.path.qualname.clone(),
            name_range: entry.name_range,
            stage: stage.clone(),
            parameters: stage
                .parameters
                .iter()
                .map(|parameter| StagedParameter {
                    name: parameter.name.clone(),
                    source: parameter.source,
                    binding: parameter.binding,
                    why: notes(db, &parameter.why),
                })
                .collect(),
            constructs: constructs(db, function)
                .iter()
                .map(|construct| StagedConstruct {
                    kind: construct.kind,
                    range: construct.range + base,
                    test_range: construct.test_range + base,
                    binding: construct.binding,
                    why: notes(db, &construct.why),
                })
                .collect(),
        })
    };
    index.definitions.functions.iter().filter_map(staged).collect()
}
