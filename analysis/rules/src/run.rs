//! Runs the rules on a function or a file. All rules run, and the settings select the findings.

use super::context::{FileContext, FunctionContext};
use super::registry::RULES;
use super::sources::Sources;
use super::{Check, Rule, callers, evidence, jax, parameter_use, path_certainty, test_certainty};
use ag_db::Db;
use ag_db::diagnostic::{Anchor, Diagnostic, Severity};
use ag_db::{Document, with_text};
use ag_index::dialect::Dialect;
use ag_index::expected;
use ag_index::index::{FunctionId, file_index, tree_of};
use ag_staging::{queries, reached_from};

/// Returns the findings about one staged function. Their ranges are relative to its `def`.
#[salsa::tracked(returns(ref))]
pub fn function_diagnostics<'db>(db: &'db dyn Db, function: FunctionId<'db>) -> Vec<Diagnostic> {
    let Some(context) = FunctionContext::of(db, function) else { return Vec::new() };
    let stage = context.stage;
    for rule in rules_of(stage.dialect).filter(|rule| jax::applies(rule, stage)) {
        if let Check::Function(check) | Check::FileAndFunction(_, _, check) = rule.check {
            check(&context);
        }
    }
    let mut diagnostics = context.diagnostics.take();
    // If the argument of `torch.compile(model)` is a variable, its value may also be a function outside the project.
    let highest_by_value = match callers::is_reached_from_compiled_value(&context) {
        true => Severity::Info,
        false => Severity::Warning,
    };
    // Findings at the calls of the function are in other functions. Their severity is not changed.
    let is_own = |diagnostic: &Diagnostic| matches!(&diagnostic.span.anchor, Anchor::Function(path) if *path == context.path);
    for diagnostic in diagnostics.iter_mut().filter(|it| it.severity != Severity::Info && is_own(it)) {
        let rests_on_assumptions = || {
            stage.uncertain
                || parameter_use::depends_on_unconfirmed_tensor(&context, diagnostic)
                || evidence::rests_on_assumptions(&context, diagnostic)
        };
        let is_reached = evidence::is_reached(&context, diagnostic)
            || path_certainty::is_definitely_reached(&context, diagnostic.span.range);
        if !is_reached || !evidence::is_established(&context, diagnostic) && rests_on_assumptions() {
            diagnostic.severity = Severity::Info;
        } else {
            let highest = test_certainty::highest_severity(&context, diagnostic)
                .min(path_certainty::highest_severity(&context, diagnostic.span.range));
            diagnostic.severity = diagnostic.severity.min(highest);
            if stage.by_value {
                diagnostic.severity = diagnostic.severity.min(highest_by_value);
            }
            // An override runs only if an object of the derived class exists, which is not certain.
            if stage.is_override {
                diagnostic.severity = diagnostic.severity.min(Severity::Warning);
            }
        }
    }
    if let Some(root) = reached_from::step(db, stage) {
        for diagnostic in &mut diagnostics {
            diagnostic.why = diagnostic.why.iter().cloned().chain([root.clone()]).collect();
        }
    }
    diagnostics
}

/// Returns the findings about a file as a whole. They come from the rules whose condition the file's index satisfies.
#[salsa::tracked(returns(ref))]
pub fn file_diagnostics(db: &dyn Db, document: Document) -> Vec<Diagnostic> {
    let index = file_index(db, document);
    let checks: Vec<_> = RULES
        .iter()
        .filter_map(|rule| match rule.check {
            Check::File(applies, check) | Check::FileAndFunction(applies, check, _) if applies(index) => {
                Some(check)
            }
            Check::FileInProject(applies, check) if applies(db, document) => Some(check),
            _ => None,
        })
        .collect();
    if checks.is_empty() {
        return Vec::new();
    }
    with_text(db, document, |text| {
        let Some(parsed) = tree_of(db, document, text) else { return Vec::new() };
        let (imports, sources) = (queries::imports(db, document), Sources::default());
        let context = FileContext::new(db, document, text, &parsed, imports, &sources);
        checks.into_iter().for_each(|check| check(&context));
        let mut diagnostics = context.diagnostics.into_inner();
        if !diagnostics.is_empty() {
            // Code in `with pytest.raises(…)` is expected to raise an exception, so findings in it are dropped.
            let expecting = expected::expecting(parsed.suite());
            diagnostics.retain(|diagnostic| {
                !expecting.iter().any(|statement| statement.contains_range(diagnostic.span.range))
            });
        }
        diagnostics
    })
}

fn rules_of(dialect: Dialect) -> impl Iterator<Item = &'static Rule> {
    RULES.iter().copied().filter(move |rule| rule.dialects.contains(&dialect))
}
