//! Conversion of a whole file: functions are converted in place, all other text is copied.

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_source_file::LineRanges;
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::Converter;
use super::build::{self, OPERATORS};
use super::entry::{self, Entry, FunctionInfo, Node};
use super::functions;
use super::map::{SourceMap, Span, SpanKind};
use super::options::{OperatorSet, View};
use super::printer::{Printed, Printer};
use super::reason::{self, Reason};
use super::standalone::{convert, convert_lambda};

/// A converted file.
#[derive(Clone, Debug)]
pub struct Module {
    pub text: String,
    pub map: SourceMap,
    /// The outermost functions, each with the reason if it was not converted.
    pub functions: Vec<(FunctionInfo, Option<Reason>)>,
}

impl Converter<'_> {
    /// Converts all functions of the file.
    pub fn module(&self) -> Module {
        let mut copier =
            Copier { source: self.text, out: String::new(), spans: Vec::new(), at: TextSize::default() };
        let import = self.import_position();
        let mut imported = self.options.view == View::Simplified;
        let mut functions = Vec::new();
        for entry in entry::collect(self.text, self.parsed.suite()) {
            if !entry.is_outermost || entry.info.range.start() < copier.at {
                continue;
            }
            let reason = self.reason(&entry);
            if reason.is_none() {
                if !imported && import <= entry.info.range.start() {
                    imported = true;
                    copier.copy_to(import);
                    copier.out.push_str(&self.import());
                }
                self.replace(&entry, &mut copier);
            }
            functions.push((entry.info, reason));
        }
        copier.copy_to(TextSize::of(self.text));
        Module { text: copier.out, map: SourceMap::new(copier.spans), functions }
    }

    /// Returns one function as it is in the converted file, including its decorators, but without indentation.
    pub fn function_in_place(
        &self,
        qualname: &str,
    ) -> Option<(FunctionInfo, Option<Reason>, String, SourceMap)> {
        let entry = entry::collect(self.text, self.parsed.suite())
            .into_iter()
            .find(|entry| entry.info.qualname == qualname)?;
        let reason = self.reason(&entry);
        let printed = match (&reason, entry.node) {
            (None, Node::Function(def)) => self.in_place(def, &entry, ""),
            (None, Node::Lambda(lambda)) => self.lambda_in_place(lambda, &entry),
            (Some(_), _) => Printer::new(&self.source).source_text(entry.info.range),
        };
        Some((entry.info, reason, printed.text, printed.map))
    }

    pub(super) fn reason(&self, entry: &Entry<'_>) -> Option<Reason> {
        self.error_in(entry.info.range).or_else(|| match entry.node {
            Node::Function(def) => reason::of_function(def, self.options.features),
            Node::Lambda(lambda) => reason::of_lambda(lambda, self.options.features),
        })
    }

    fn replace(&self, entry: &Entry<'_>, copier: &mut Copier<'_>) {
        match entry.node {
            Node::Function(def) => {
                let line = self.text.line_start(def.start());
                let prefix = &self.text[TextRange::new(line, def.start())];
                copier.copy_to(line);
                copier.add(self.in_place(def, entry, prefix));
                copier.at = self.text.full_line_end(def.end());
            }
            Node::Lambda(lambda) => {
                copier.copy_to(lambda.start());
                copier.add(self.lambda_in_place(lambda, entry));
                copier.at = lambda.end();
            }
        }
    }

    fn in_place(&self, def: &ast::StmtFunctionDef, entry: &Entry<'_>, prefix: &str) -> Printed {
        let mut def = def.clone();
        convert(&self.context(), &mut def, entry, true);
        if self.options.has_scopes() {
            functions::mark_converted(&mut def);
        }
        let start = def.start();
        Printer::new(&self.source).without_comments_above(start).statements(&[Stmt::FunctionDef(def)], prefix)
    }

    fn lambda_in_place(&self, lambda: &ast::ExprLambda, entry: &Entry<'_>) -> Printed {
        let mut lambda = lambda.clone();
        convert_lambda(&self.context(), &mut lambda, entry, true);
        let range = lambda.range;
        let mut expression = Expr::Lambda(lambda);
        if self.options.has_scopes() {
            expression = build::operator("autograph_artifact", vec![expression], range);
        }
        Printer::new(&self.source).expression_alone(&expression)
    }

    fn import(&self) -> String {
        let module = self.options.operators_module();
        match self.options.operator_set {
            OperatorSet::Snek => format!("from {module} import *\n"),
            _ => format!("import {module} as {OPERATORS}\n"),
        }
    }

    /// Returns the position of the import: after the docstring and `from __future__` imports.
    fn import_position(&self) -> TextSize {
        let is_first = |(position, statement): (usize, &Stmt)| match statement {
            Stmt::Expr(node) => position == 0 && node.value.is_string_literal_expr(),
            Stmt::ImportFrom(node) => node.module.as_deref() == Some("__future__"),
            _ => false,
        };
        let body = self.parsed.suite();
        let last = body
            .iter()
            .enumerate()
            .take_while(|&(position, statement)| is_first((position, statement)))
            .last();
        match last {
            Some((_, statement)) => self.text.full_line_end(statement.end()),
            None => body.first().map_or_else(TextSize::default, |first| self.text.line_start(first.start())),
        }
    }
}

/// Copies a text and replaces ranges of it.
struct Copier<'a> {
    source: &'a str,
    out: String,
    spans: Vec<Span>,
    at: TextSize,
}

impl Copier<'_> {
    fn copy_to(&mut self, end: TextSize) {
        if self.at >= end {
            return;
        }
        let original = TextRange::new(self.at, end);
        let start = TextSize::of(self.out.as_str());
        self.out.push_str(&self.source[original]);
        let generated = TextRange::at(start, original.len());
        self.spans.push(Span { generated, original, kind: SpanKind::Verbatim });
        self.at = end;
    }

    fn add(&mut self, printed: Printed) {
        let start = TextSize::of(self.out.as_str());
        self.out.push_str(&printed.text);
        let moved =
            printed.map.spans().iter().map(|span| Span { generated: span.generated + start, ..*span });
        self.spans.extend(moved);
    }
}
