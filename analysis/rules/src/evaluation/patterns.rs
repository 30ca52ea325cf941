//! The statement `match`.
//!
//! ```python
//! match event:
//!     case Event(kind="jump", mark=mark) if mark > limit:
//!         rate = rate + mark
//! ```

use ag_staging::construct::ConstructKind;
use ruff_python_ast::{self as ast, Expr, Number, Pattern, Singleton, Stmt};
use ruff_text_size::Ranged;

use super::values::{Flow, Value};
use super::{Evaluated, Evaluation, Frame};
use crate::tracing::snippet;

impl<'a> Evaluation<'_, 'a> {
    pub(super) fn matched(
        &mut self,
        statement: &'a Stmt,
        node: &'a ast::StmtMatch,
        frame: &Frame<'a>,
    ) -> Evaluated<Flow<'a>> {
        let subject = self.value(&node.subject, frame)?;
        let literal = node.cases.iter().find(|case| case.pattern.is_match_value());
        if let Some(case) = literal {
            let text = format!("`{}`", snippet(self.ctx.text(&*node.subject)));
            self.undecided(case.pattern.range(), &text, &subject, "a `match`");
        }
        for (index, case) in node.cases.iter().enumerate() {
            let mut matches = if self.explores() {
                self.matches(&case.pattern, &subject, frame)?
            } else {
                matches_literal(&case.pattern, &subject).filter(|_| case.guard.is_none())
            };
            if let (Some(guard), true) = (&case.guard, matches != Some(false)) {
                let value = self.value(guard, frame)?;
                let truth = self.decide(guard, &value, ConstructKind::If);
                matches = matches.zip(truth).map(|(matches, truth)| matches && truth);
            }
            match matches {
                Some(true) => return self.block(&case.body, frame),
                Some(false) => {}
                None if self.explores() => {
                    let rest = node.cases.get(index..).unwrap_or_default();
                    let mut branches: Vec<&[Stmt]> = rest.iter().map(|case| case.body.as_slice()).collect();
                    branches.push(&[]);
                    return self.explore(statement, &branches, frame);
                }
                None => return Ok(self.skip(std::slice::from_ref(statement), frame)),
            }
        }
        Ok(Flow::Next)
    }

    /// Returns whether a value matches a pattern, and binds the names of the pattern; `None` if that is not known.
    fn matches(
        &mut self,
        pattern: &'a Pattern,
        subject: &Value<'a>,
        frame: &Frame<'a>,
    ) -> Evaluated<Option<bool>> {
        Ok(match pattern {
            Pattern::MatchValue(_) | Pattern::MatchOr(_) => matches_literal(pattern, subject),
            Pattern::MatchSingleton(node) => match (node.value, subject) {
                (_, Value::Unknown | Value::Tree) => None,
                (Singleton::None, subject) => Some(matches!(subject, Value::None)),
                (Singleton::True, subject) => subject.truth().filter(|_| matches!(subject, Value::Bool(_))),
                (Singleton::False, subject) => {
                    subject.truth().filter(|_| matches!(subject, Value::Bool(_))).map(|truth| !truth)
                }
            },
            Pattern::MatchAs(node) => {
                let matches = match &node.pattern {
                    Some(inner) => self.matches(inner, subject, frame)?,
                    None => Some(true),
                };
                if let Some(name) = &node.name {
                    frame.scope.set(name.as_str(), subject.clone());
                }
                matches
            }
            Pattern::MatchClass(node) => {
                let class = self.value(&node.cls, frame)?;
                let mut matches = self.is_instance(subject, &class);
                if matches == Some(false) {
                    return Ok(matches);
                }
                if !node.arguments.patterns.is_empty() {
                    matches = None;
                }
                for keyword in &node.arguments.keywords {
                    let value = self.attribute(subject, keyword.attr.as_str())?;
                    matches = both(matches, self.matches(&keyword.pattern, &value, frame)?);
                }
                matches
            }
            Pattern::MatchSequence(node) => match subject.elements() {
                Some(elements) if elements.len() == node.patterns.len() => {
                    let mut matches = Some(true);
                    for (pattern, element) in node.patterns.iter().zip(elements) {
                        matches = both(matches, self.matches(pattern, &element, frame)?);
                    }
                    matches
                }
                Some(_) if !node.patterns.iter().any(Pattern::is_match_star) => Some(false),
                _ => None,
            },
            Pattern::MatchMapping(_) | Pattern::MatchStar(_) => None,
        })
    }
}

fn both(first: Option<bool>, second: Option<bool>) -> Option<bool> {
    match (first, second) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// Returns whether a value matches a literal; `None` if that is not known.
fn matches_literal(pattern: &Pattern, subject: &Value) -> Option<bool> {
    match pattern {
        Pattern::MatchValue(node) => match (&*node.value, subject) {
            (Expr::StringLiteral(literal), Value::Text(text)) => Some(literal.value.to_str() == &**text),
            (
                Expr::NumberLiteral(ast::ExprNumberLiteral { value: Number::Int(literal), .. }),
                Value::Int(value),
            ) => Some(literal.as_i64() == Some(*value)),
            _ => None,
        },
        Pattern::MatchOr(node) => {
            let matches: Option<Vec<bool>> =
                node.patterns.iter().map(|pattern| matches_literal(pattern, subject)).collect();
            Some(matches?.contains(&true))
        }
        Pattern::MatchAs(node) if node.pattern.is_none() && node.name.is_none() => Some(true),
        _ => None,
    }
}
