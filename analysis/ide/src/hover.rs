//! Hover: a decision and why it is staged, a value, a call, a function, a suppression comment.

use ruff_python_ast::Expr;
use ruff_text_size::{Ranged, TextLen, TextRange, TextSize};

use super::converted::converted;
use super::function::FunctionAnalysis;
use super::{library, words};
use ag_convert::View;
use ag_db::Db;
use ag_db::finding::Note;
use ag_db::{Document, source_type, text};
use ag_index::facts::{Binding, Fact};
use ag_index::index::file_index;
use ag_rules::Rule;
use ag_rules::suppress;
use ag_staging::binding;
use ag_staging::construct::{Construct, ConstructKind};

/// The maximum length of source text. Longer text is truncated.
const MAX_TEXT: usize = 60;
/// The maximum number of lines of converted code in a hover.
const MAX_LINES: usize = 40;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hover {
    pub range: TextRange,
    pub paragraphs: Vec<Paragraph>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Paragraph {
    /// Markdown.
    Text(String),
    /// Python.
    Code(String),
    /// The steps of a why-chain.
    Why(Vec<Note>),
}

pub fn hover(db: &dyn Db, document: Document, offset: TextSize) -> Option<Hover> {
    if let Some(hover) = suppression(db, document, offset) {
        return Some(hover);
    }
    let function = FunctionAnalysis::at(db, document, offset)?;
    if function.entry.name_range.contains_inclusive(offset) {
        let mut paragraphs = function_summary(&function);
        paragraphs.extend(code(db, document, &function));
        return Some(Hover { range: function.entry.name_range, paragraphs });
    }
    if let Some(hover) = parameter(&function, offset) {
        return Some(hover);
    }
    let offset = offset.checked_sub(function.base())?;
    let decision = decision_at(&function, offset);
    let expression = function.expression_at(offset);
    let mut paragraphs = Vec::new();
    let mut range = None;
    if let Some(expression) = expression
        && let Some(mut about) = value(&function, expression, offset)
    {
        paragraphs.append(&mut about);
        range = Some(expression.range());
    }
    if let Some(decision) = decision {
        paragraphs.push(Paragraph::Text(words::decision(decision, function.stage)));
        let why = Paragraph::Why(function.notes(&decision.why));
        if !paragraphs.contains(&why) {
            paragraphs.push(why);
        }
        range = range.or(Some(decision.test_range));
    }
    Some(Hover { range: range? + function.base(), paragraphs })
}

/// Returns the explanation of a whole function: how it is staged, and every decision with its why-chain.
pub fn explanation(db: &dyn Db, document: Document, offset: TextSize) -> Option<Hover> {
    let function = FunctionAnalysis::at(db, document, offset)?;
    let mut paragraphs = function_summary(&function);
    for construct in function.constructs() {
        let test = one_line(function.text(construct.test_range));
        let decision = words::decision(construct, function.stage);
        paragraphs.push(Paragraph::Text(format!("`{} {test}` — {decision}", construct.kind.as_str())));
        paragraphs.push(Paragraph::Why(function.notes(&construct.why)));
    }
    Some(Hover { range: function.entry.name_range, paragraphs })
}

fn function_summary(function: &FunctionAnalysis) -> Vec<Paragraph> {
    let name = &function.entry.path.qualname;
    let stage = words::stage(function.stage);
    let conversion = words::conversion(function.stage);
    let mut paragraphs = vec![Paragraph::Text(format!("`{name}` is {stage}. {conversion}"))];
    let count = |binding| function.constructs().iter().filter(|it| it.binding == binding).count();
    let counts: Vec<String> = [Binding::Staged, Binding::Python, Binding::Mixed, Binding::Unknown]
        .into_iter()
        .map(|binding| (binding, count(binding)))
        .filter(|(_, count)| *count > 0)
        .map(|(binding, count)| format!("{count} {}", words::binding(binding, function.stage)))
        .collect();
    if !counts.is_empty() {
        paragraphs.push(Paragraph::Text(format!("Decisions: {}.", counts.join(", "))));
    }
    let parameters: Vec<String> = function
        .stage
        .parameters
        .iter()
        .filter_map(|parameter| {
            let shown = parameter.shown.as_ref()?;
            Some(format!(
                "- `{}: {shown}` — {}",
                parameter.name,
                words::binding(parameter.binding, function.stage)
            ))
        })
        .collect();
    if !parameters.is_empty() {
        paragraphs.push(Paragraph::Text(parameters.join("\n")));
    }
    if let Some(location) = function.cause() {
        let message = match function.stage.root {
            Some(_) if function.stage.dialect.converts() => "staged here".to_owned(),
            Some(_) => "traced here".to_owned(),
            None => "called here".to_owned(),
        };
        paragraphs.push(Paragraph::Why(vec![Note { message, location: Some(location) }]));
    }
    paragraphs
}

/// Returns the converted code of a function in simplified form; `None` if the function is not converted.
fn code(db: &dyn Db, document: Document, function: &FunctionAnalysis) -> Option<Paragraph> {
    if !function.stage.converts {
        return None;
    }
    let converted = converted(db, document, Some(&function.entry.path.qualname), View::Simplified)?;
    let mut lines = converted.text.lines();
    let mut code = lines.by_ref().take(MAX_LINES).collect::<Vec<_>>().join("\n");
    if lines.next().is_some() {
        code.push_str("\n…");
    }
    Some(Paragraph::Code(code))
}

fn parameter(function: &FunctionAnalysis, offset: TextSize) -> Option<Hover> {
    let mut parameters = function.signature.parameters.iter_enumerated();
    let (position, syntax) = parameters.find(|(_, it)| it.name_range.contains_inclusive(offset))?;
    let parameter = function.stage.parameters.get(position)?;
    if parameter.why.is_empty() {
        return None;
    }
    let declaration = match &parameter.shown {
        Some(shown) => format!("{}: {shown}", parameter.name),
        None => parameter.name.to_string(),
    };
    let summary = format!("`{declaration}` — **{}**", words::binding(parameter.binding, function.stage));
    Some(Hover {
        range: syntax.name_range,
        paragraphs: vec![Paragraph::Text(summary), Paragraph::Why(function.notes(&parameter.why))],
    })
}

/// Returns the decision whose keyword or tested expression is at an offset. If there are several, the innermost one.
fn decision_at<'db>(function: &FunctionAnalysis<'db>, offset: TextSize) -> Option<&'db Construct> {
    let is_there = |construct: &&Construct| {
        let keyword = match construct.kind {
            ConstructKind::If | ConstructKind::While | ConstructKind::For | ConstructKind::Assert => {
                let word = function.text(construct.range).split_whitespace().next().unwrap_or_default();
                TextRange::at(construct.range.start(), word.text_len())
            }
            _ => construct.test_range,
        };
        keyword.contains_inclusive(offset) || construct.test_range.contains_inclusive(offset)
    };
    function.constructs().iter().filter(is_there).min_by_key(|construct| construct.test_range.len())
}

/// Returns the facts about a value. For a called function, returns the meaning of the call.
fn value(function: &FunctionAnalysis, expression: &Expr, offset: TextSize) -> Option<Vec<Paragraph>> {
    let code = one_line(function.text(expression.range()));
    let called = function.expressions().into_iter().find_map(|outer| match outer {
        Expr::Call(call) if call.func.range() == expression.range() => Some(call),
        Expr::Call(call)
            if expression.range().contains_range(call.range()) && call.func.range().contains(offset) =>
        {
            Some(call)
        }
        _ => None,
    });
    if let Some(call) = called {
        let meaning = match call.func.as_ref() {
            Expr::Name(name) => library::builtin(&name.id, function.stage),
            _ => None,
        };
        let callee = function.fact(&call.func).and_then(Fact::callee);
        let meaning = meaning.or_else(|| library::function(callee?.module.as_deref()?, &callee?.qualname));
        return meaning.map(|meaning| vec![Paragraph::Text(format!("`{code}(…)` — {meaning}"))]);
    }
    let fact = function.fact(expression)?;
    let binding = binding::of_test(expression, &|it| function.fact(it));
    if binding == Binding::Unknown
        || fact.never
        || matches!(
            expression,
            Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::BooleanLiteral(_) | Expr::NoneLiteral(_)
        )
    {
        return None;
    }
    let summary = format!("`{code}: {}` — **{}**", fact.shown, words::binding(binding, function.stage));
    Some(vec![Paragraph::Text(summary), Paragraph::Why(function.why(expression))])
}

/// Returns the rules that a suppression comment names.
fn suppression(db: &dyn Db, document: Document, offset: TextSize) -> Option<Hover> {
    if !file_index(db, document).may_have_directives {
        return None;
    }
    let source = text(db, document);
    let (range, rules) = suppress::directive_at(source.as_str(), source_type(db, document), offset)?;
    let mut paragraphs: Vec<Paragraph> = rules
        .into_iter()
        .map(|rule| {
            let summary = format!("**{}** `{}` — {}.", rule.code, rule.name, rule.summary);
            Paragraph::Text(format!("{summary}\n\n{}", docs(rule)))
        })
        .collect();
    if paragraphs.is_empty() {
        paragraphs.push(Paragraph::Text("Suppresses all findings here.".to_owned()));
    }
    Some(Hover { range, paragraphs })
}

/// Returns the doc comment of a rule, without the space with which each of its lines starts.
fn docs(rule: &Rule) -> String {
    let lines = rule.docs.lines().map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

fn one_line(code: &str) -> String {
    let words = code.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(MAX_TEXT) {
        Some((cut, _)) => format!("{}…", &words[..cut]),
        None => words,
    }
}
