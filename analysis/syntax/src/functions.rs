//! Functions: their path in the file, the slice of their text, and whether they are generators.

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, ModModule, PySourceType, Stmt};
use ruff_python_parser::{ParseOptions, Parsed};
use ruff_text_size::{Ranged, TextRange, TextSize};
use std::sync::Arc;

use super::expressions;

/// Identifies a function in its file: `Model.call`, `train.step`. Edits elsewhere in the file do not change it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionPath {
    /// The names of the enclosing classes and functions and of the function itself, joined with dots, without
    /// `<locals>`.
    pub qualname: Name,
    /// The index among the functions of the file with the same qualified name, in source order.
    pub occurrence: u16,
}

impl FunctionPath {
    /// Returns the last part of the qualified name.
    pub fn name(&self) -> &str {
        self.qualname.rsplit('.').next().unwrap_or_default()
    }
}

/// The slice of one function, parsed separately. It does not depend on the function's position in the file.
#[derive(Debug)]
pub struct FunctionAst {
    pub text: Arc<str>,
    parsed: Parsed<ModModule>,
    pub expression_count: u32,
}

impl PartialEq for FunctionAst {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
impl Eq for FunctionAst {}

impl FunctionAst {
    /// Parses a slice; `None` if error recovery finds no `def` in it.
    pub fn parse(text: Arc<str>, source_type: PySourceType) -> Option<Self> {
        let options =
            ParseOptions::from(source_type).with_target_version(ruff_python_ast::PythonVersion::latest());
        let parsed = ruff_python_parser::parse_unchecked(&text, options).try_into_module()?;
        let expression_count = match parsed.suite().first() {
            Some(Stmt::FunctionDef(def)) => expressions::assign_ids(def),
            _ => return None,
        };
        Some(Self { text, parsed, expression_count })
    }

    /// Returns the function. Ranges are relative to its `def`.
    pub fn def(&self) -> &ast::StmtFunctionDef {
        match self.parsed.suite().first() {
            Some(Stmt::FunctionDef(def)) => def,
            _ => unreachable!("checked by `parse`"),
        }
    }

    pub fn parsed(&self) -> &Parsed<ModModule> {
        &self.parsed
    }
}

/// Returns the offset of `def` or `async def`. Decorators precede it and belong to the enclosing scope.
pub fn keyword_start(text: &str, def: &ast::StmtFunctionDef) -> TextSize {
    let decorators = def.decorator_list.last().map(Ranged::end);
    decorators.and_then(|end| keyword_between(text, end, def.name.start())).unwrap_or(def.start())
}

/// Returns the offset of `def` or `async def`, which is between the end of the last decorator and the name. All other
/// text between them is whitespace and comments.
pub fn keyword_between(text: &str, decorators: TextSize, name: TextSize) -> Option<TextSize> {
    let mut offset = decorators;
    for line in text[TextRange::new(decorators, name)].split_inclusive('\n') {
        let code = line.trim_start();
        if code.starts_with("async") || code.starts_with("def") {
            return Some(offset + TextSize::of(&line[..line.len() - code.len()]));
        }
        offset += TextSize::of(line);
    }
    None
}

/// Returns whether a call of the function returns a generator.
pub fn is_generator(def: &ast::StmtFunctionDef) -> bool {
    struct Yields(bool);
    impl<'a> SourceOrderVisitor<'a> for Yields {
        fn visit_stmt(&mut self, statement: &'a Stmt) {
            if !matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
                source_order::walk_stmt(self, statement);
            }
        }

        fn visit_expr(&mut self, expression: &'a Expr) {
            match expression {
                Expr::Yield(_) | Expr::YieldFrom(_) => self.0 = true,
                Expr::Lambda(_) => {}
                _ => source_order::walk_expr(self, expression),
            }
        }
    }
    let mut yields = Yields(false);
    yields.visit_body(&def.body);
    yields.0
}
