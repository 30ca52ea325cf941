//! Converts the result of the fixpoint into a [`Stage`] per function, with a why-chain for every parameter.

use std::sync::Arc;

use ruff_index::{IndexSlice, IndexVec};
use rustc_hash::FxHashMap;

use crate::fixpoint::{Answers, Cause, Certainty, Contribution, Fixpoint, ParameterAssumption, Staged};
use ag_db::Db;
use ag_db::Document;
use ag_db::diagnostic::{Anchor, Span, Step, Why};
use ag_index::assumed::AssumedType;
use ag_index::assumptions::{Parameter, Source, Stage, Unconverted};
use ag_index::dialect::{Dialect, RootKind};
use ag_index::facts::Binding;
use ag_index::ids::DocumentIndex;
use ag_index::index::{DefaultValue, ParameterSyntax, file_index};
use ag_index::oracle::Scope;
use ag_index::scope_location::ScopeLocation;
use ag_syntax::functions::FunctionPath;
use ruff_python_ast::name::Name;

/// The maximum number of call sites in a why-chain.
const MAX_SITES: usize = 2;

/// Returns the stages of every document. Documents without staged functions have an empty map.
pub fn of_documents(
    db: &dyn Db,
    fixpoint: &Fixpoint,
    documents: &IndexSlice<DocumentIndex, Document>,
    answers: &Answers,
) -> IndexVec<DocumentIndex, (Document, FxHashMap<FunctionPath, Stage>)> {
    let mut all: IndexVec<_, _> =
        documents.iter().map(|document| (*document, FxHashMap::default())).collect();
    for scope in fixpoint.staged.keys() {
        if let Some((_, stages)) = all.get_mut(scope.document)
            && let Some((path, stage)) = of_scope(db, fixpoint, *scope, answers)
        {
            stages.insert(path, stage);
        }
    }
    all
}

/// Returns the path and the stage of one function; `None` if it is not staged.
pub fn of_scope(
    db: &dyn Db,
    fixpoint: &Fixpoint,
    scope: Scope,
    answers: &Answers,
) -> Option<(FunctionPath, Stage)> {
    let staged = fixpoint.staged.get(&scope)?;
    let document = fixpoint.document(scope);
    let index = file_index(db, document);
    let entry = index.function(scope.code)?;
    let signature = index.signature(scope.code)?;
    let assumptions = fixpoint.parameters.get(&scope).map(IndexVec::as_slice).unwrap_or_default();
    let typed = fixpoint.is_typed(db, scope);
    let facts = answers.get(&scope).map(|types| types.parameters.as_slice()).unwrap_or_default();
    let nothing = ParameterAssumption::default();
    let parameters = signature
        .parameters
        .iter_enumerated()
        .map(|(position, syntax)| {
            let assumption = assumptions.get(position).unwrap_or(&nothing);
            let location = Span {
                document,
                anchor: Anchor::Function(entry.path.clone()),
                range: syntax.name_range.checked_sub(entry.range.start()).unwrap_or(syntax.name_range),
            };
            let source = assumption.source.unwrap_or(Source::Unknown);
            let fact = facts.get(position).map(|fact| fact.in_dialect(staged.dialect));
            let binding = match source {
                Source::Receiver => Binding::Python,
                _ => fact.as_ref().map_or(Binding::Unknown, ag_index::facts::Fact::binding),
            };
            let shown = match source {
                Source::Annotation => fact.as_ref().map(|fact| fact.shown.clone()),
                _ => assumption.assumed.shown().map(Name::new),
            };
            let known = shown.as_deref();
            let why = why(db, fixpoint, staged, syntax, assumption, source, binding, known, location);
            // A default has no location.
            let is_bound =
                |site: &Contribution| site.bound && site.cause.location != ScopeLocation::default();
            let bound = assumption.sites.iter().any(is_bound);
            Parameter { name: syntax.name.clone(), source, binding, shown, bound, why }
        })
        .collect();
    let is_reached = staged.converts && staged.root.is_none();
    let as_it_is = fixpoint.called_unconverted.get(&scope).filter(|_| is_reached);
    // Nested functions are converted together with their enclosing function.
    let nested = entry.parent.is_some_and(|function| {
        let parent = Scope { document: scope.document, code: function.into() };
        entry.class.is_none() && fixpoint.staged.get(&parent).is_some_and(|parent| parent.converts)
    });
    let stage = Stage {
        dialect: staged.dialect,
        root: staged.root,
        mode: staged.mode,
        cause: Some(span(db, fixpoint, &staged.cause)),
        converts: staged.converts,
        uncertain: (staged.possible || staged.certainty == Certainty::Uncertain)
            && !fixpoint.is_staged_if_called(scope, staged),
        is_override: staged.certainty != Certainty::Certain,
        by_value: staged.possible,
        several_callees: staged.possible && !staged.sole_callees,
        also_unconverted: as_it_is.copied().filter(|_| !nested),
        unconverted: staged.unconverted.filter(|reason| match reason {
            Unconverted::Body | Unconverted::Caller => !runs_eagerly(fixpoint, staged),
            _ => true,
        }),
        typed,
        parameters,
        static_parameters: staged.static_parameters.clone(),
        options: staged.options.clone(),
    };
    Some((entry.path.clone(), stage))
}

/// Returns whether a function runs eagerly. If eager code calls `tf.while_loop`, the body and the functions that the
/// body calls run eagerly.
fn runs_eagerly<'f>(fixpoint: &'f Fixpoint, mut staged: &'f Staged) -> bool {
    const MAX_CALLERS: usize = 16;
    for _ in 0..MAX_CALLERS {
        let caller = fixpoint.staged.get(&staged.cause.scope);
        match (caller, staged.root) {
            (None, Some(_)) => return staged.unconverted == Some(Unconverted::Body),
            (Some(caller), None) => staged = caller,
            // A loop in the body of a loop.
            (Some(caller), Some(_)) if staged.unconverted == Some(Unconverted::Body) => staged = caller,
            _ => return false,
        }
    }
    false
}

fn span(db: &dyn Db, fixpoint: &Fixpoint, cause: &Cause) -> Span {
    let document = fixpoint.document(cause.scope);
    let anchor = match file_index(db, document).function(cause.scope.code) {
        Some(entry) => Anchor::Function(entry.path.clone()),
        None => Anchor::Statement(cause.location.statement),
    };
    Span { document, anchor, range: cause.location.range }
}

#[expect(clippy::too_many_arguments, reason = "the steps of a why-chain depend on all of these")]
fn why(
    db: &dyn Db,
    fixpoint: &Fixpoint,
    staged: &Staged,
    syntax: &ParameterSyntax,
    assumption: &ParameterAssumption,
    source: Source,
    binding: Binding,
    shown: Option<&str>,
    location: Span,
) -> Why {
    let name = &syntax.name;
    let what = description(staged.dialect, binding, shown);
    let step = |message: String, span: Option<Span>| Step { message, span };
    let mut steps = Vec::new();
    match source {
        Source::Receiver | Source::Unknown => {}
        Source::Annotation => {
            let annotated = match shown {
                Some(shown) => format!("`{name}` is annotated `{shown}`"),
                None => format!("`{name}` is annotated"),
            };
            steps.push(step(format!("{annotated}: {what}"), Some(location)));
        }
        Source::Default => {
            let default = match &syntax.default {
                DefaultValue::Bool(true) => "default `True`".to_owned(),
                DefaultValue::Bool(false) => "default `False`".to_owned(),
                DefaultValue::None => "default `None`".to_owned(),
                _ => format!("its default is {}", article(shown)),
            };
            steps.push(step(format!("`{name}` is {what}: {default}"), Some(location)));
        }
        Source::CallSites => {
            steps.push(step(format!("parameter `{name}` is {what}"), Some(location)));
            for site in distinct(&assumption.sites) {
                let omitted = site.cause.location == ScopeLocation::default();
                let span = (!omitted).then(|| span(db, fixpoint, &site.cause));
                let given = site.assumed.shown();
                let given = article(given.as_deref());
                let message =
                    if omitted { format!("its default is {given}") } else { format!("called with {given}") };
                steps.push(step(message, span));
            }
        }
        Source::Assumption => {
            let root = root_name(staged.root);
            steps.push(step(
                format!(
                    "parameter `{name}` of {root} has no annotation, no default and no known call: assumed to be {}",
                    staged.dialect.traced_value()
                ),
                Some(location),
            ));
        }
    }
    Arc::from(steps)
}

/// Returns one call site for each argument type: the first in source order.
fn distinct(sites: &[Contribution]) -> Vec<&Contribution> {
    let mut seen: Vec<&AssumedType> = Vec::new();
    let mut distinct = Vec::new();
    for site in sites {
        if !site.assumed.is_empty() && !seen.contains(&&site.assumed) && distinct.len() < MAX_SITES {
            seen.push(&site.assumed);
            distinct.push(site);
        }
    }
    distinct
}

/// Describes a value in messages: `a Tensor`, `a tracer`, `a Python bool`.
pub fn description(dialect: Dialect, binding: Binding, shown: Option<&str>) -> String {
    let traced = dialect.traced_value();
    match binding {
        Binding::Staged => traced.to_owned(),
        Binding::Mixed => match shown {
            Some(shown) => format!("sometimes {traced}, sometimes not (`{shown}`)"),
            None => format!("sometimes {traced}, sometimes not"),
        },
        Binding::Unknown => "a value of unknown type".to_owned(),
        Binding::Python => match shown {
            None => "a Python value".to_owned(),
            Some("None") => "None".to_owned(),
            Some(shown @ ("bool" | "int" | "float" | "str")) => format!("a Python {shown}"),
            Some(shown) => format!("a Python value (`{shown}`)"),
        },
    }
}

fn article(shown: Option<&str>) -> String {
    match shown {
        None => "a value of unknown type".to_owned(),
        Some("None") => "None".to_owned(),
        Some(shown) => format!("`{shown}`"),
    }
}

/// Describes a root in messages: `a tf.function`, `a torch.compile'd function`.
pub fn root_name(root: Option<RootKind>) -> &'static str {
    match root {
        Some(RootKind::Function) => "a tf.function",
        Some(RootKind::Convert) => "a converted function",
        Some(RootKind::DatasetCallback) => "a Dataset callback",
        Some(RootKind::ControlFlowBody) => "a control flow body",
        Some(RootKind::KerasMethod) => "a Keras method",
        Some(RootKind::KerasFunction) => "a function passed to Keras",
        Some(RootKind::TorchCompile) => "a torch.compile'd function",
        Some(RootKind::TorchExport) => "an exported function",
        Some(RootKind::TorchScript) => "a TorchScript function",
        Some(RootKind::TorchTrace) => "a traced function",
        Some(RootKind::JaxJit) => "a jitted function",
        Some(RootKind::TorchFx) => "a symbolically traced function",
        Some(RootKind::JaxVmap | RootKind::TorchVmap) => "a mapped function",
        Some(RootKind::JaxGrad) => "a differentiated function",
        Some(RootKind::Qjit) => "a qjit function",
        Some(RootKind::Configured) => "a root",
        None => "a staged function",
    }
}
