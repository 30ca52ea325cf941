//! Runs the rules on a function or a file. All rules run, and the settings select the findings.

use std::cell::{OnceCell, RefCell};

use super::context::{FileContext, FunctionContext};
use super::registry::RULES;
use super::{Check, Rule, parameter_use, path_certainty, test_certainty};
use ag_db::Db;
use ag_db::diagnostic::{Diagnostic, Severity};
use ag_db::{Document, with_text};
use ag_index::dialect::Dialect;
use ag_index::expected;
use ag_index::index::{FunctionId, file_index, function_ast, tree_of};
use ag_staging::{decisions, queries, reached_from};

/// Returns the findings about one staged function. Their ranges are relative to its `def`.
#[salsa::tracked(returns(ref))]
pub fn function_diagnostics<'db>(db: &'db dyn Db, function: FunctionId<'db>) -> Vec<Diagnostic> {
    let (Some(ast), Some(stage), Some(flow)) =
        (function_ast(db, function), queries::stage(db, function), queries::flow(db, function))
    else {
        return Vec::new();
    };
    let document = function.document(db);
    let context = FunctionContext {
        db,
        document,
        path: function.path(db).clone(),
        ast,
        flow,
        stage,
        constructs: queries::constructs(db, function),
        nodes: decisions::nodes(ast.def()).into_iter().map(|(node, _)| node).collect(),
        facts: queries::facts(db, function),
        types: queries::types(db, function),
        imports: queries::imports(db, document),
        diagnostics: RefCell::default(),
    };
    for rule in rules_of(stage.dialect) {
        if let Check::Function(check) = rule.check {
            check(&context);
        }
    }
    let mut diagnostics = context.diagnostics.take();
    for diagnostic in diagnostics.iter_mut().filter(|diagnostic| diagnostic.severity != Severity::Info) {
        if stage.uncertain
            || !path_certainty::is_definitely_reached(&context, diagnostic.span.range)
            || parameter_use::depends_on_unconfirmed_tensor(&context, diagnostic)
        {
            diagnostic.severity = Severity::Info;
        } else {
            let highest = test_certainty::highest_severity(&context, diagnostic);
            diagnostic.severity = diagnostic.severity.min(highest);
            if stage.by_value {
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
            Check::File(applies, check) if applies(index) => Some(check),
            _ => None,
        })
        .collect();
    if checks.is_empty() {
        return Vec::new();
    }
    with_text(db, document, |text| {
        let Some(parsed) = tree_of(db, document, text) else { return Vec::new() };
        let context = FileContext {
            document,
            text,
            parsed: &parsed,
            imports: queries::imports(db, document),
            diagnostics: RefCell::default(),
            program: OnceCell::new(),
        };
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
