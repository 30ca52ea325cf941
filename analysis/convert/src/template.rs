//! Quoted code with holes (AutoGraph, appendix C), for passes defined outside this crate.
//!
//! ```
//! use ag_convert::template::{Filling, Template, parse, print};
//!
//! let source = "total = price * (1 + tax)\n";
//! let tree = parse(source)?;
//! let timed = Template::quote("start = clock()\nbody\nreport(clock() - start)\n")?;
//! let filled = timed.unquote(&[("body", Filling::Statements(tree))], |name| name == "start");
//! let (text, map) = print(source, &filled)?;
//! assert_eq!(text, "start_1 = clock()\ntotal = price * (1 + tax)\nreport(clock() - start_1)\n");
//! assert_eq!(map.generated(0.into()), [18.into()]);
//! # Ok::<(), ag_convert::template::SyntaxError>(())
//! ```

use std::cell::Cell;
use std::fmt::Write;

use ruff_python_ast::name::Name;
use ruff_python_ast::relocate::relocate_expr;
use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal};
use ruff_python_ast::visitor::transformer::{self, Transformer};
use ruff_python_ast::{self as ast, AnyNodeRef, Expr, PySourceType, PythonVersion, Stmt, Suite};
use ruff_python_parser::{ParseOptions, Parsed};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

use super::map::SourceMap;
use super::printer::{Printer, Source};
use ag_flow::Variables;

/// A syntax error in a source or a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} at byte {offset}")]
pub struct SyntaxError {
    pub message: String,
    pub offset: u32,
}

fn parse_module(text: &str) -> Result<Parsed<ast::ModModule>, SyntaxError> {
    let syntax_error = |message: String, offset: u32| SyntaxError { message, offset };
    if ag_syntax::nesting::is_too_deep(text) {
        return Err(syntax_error("the source is nested too deeply".to_owned(), 0));
    }
    let options = ParseOptions::from(PySourceType::Python).with_target_version(PythonVersion::latest());
    let parsed = ruff_python_parser::parse_unchecked(text, options).try_into_module();
    let parsed = parsed.ok_or_else(|| syntax_error("the source is not a module".to_owned(), 0))?;
    match parsed.errors().first() {
        Some(error) => Err(syntax_error(error.error.to_string(), error.start().to_u32())),
        None => Ok(parsed),
    }
}

/// Parses a source into its statements.
pub fn parse(text: &str) -> Result<Suite, SyntaxError> {
    Ok(parse_module(text)?.into_syntax().body)
}

/// Formats a tree as an outline. Each node has a line with its kind, its range and the first line of its text.
pub fn format(source: &str, statements: &[Stmt]) -> String {
    let mut outline = Outline { source, out: String::new(), depth: 0 };
    outline.visit_body(statements);
    outline.out
}

/// Prints a tree with its source map. Nodes that were parsed from `source` are copied from it.
pub fn print(source: &str, statements: &[Stmt]) -> Result<(String, SourceMap), SyntaxError> {
    let parsed = parse_module(source)?;
    let source = Source::new(source, parsed.tokens());
    let printed = Printer::new(&source).statements(statements, "");
    Ok((printed.text, printed.map))
}

/// The replacement for a hole.
#[derive(Clone, Debug)]
pub enum Filling {
    Expression(Expr),
    /// The statements that replace a hole in the position of an expression statement.
    Statements(Suite),
    /// The name that replaces a hole in the position of a name: of a function, parameter or variable.
    Name(Name),
}

/// Quoted code. Some of its names are holes.
#[derive(Clone, Debug)]
pub struct Template {
    body: Suite,
    /// The names that the code binds.
    bound: FxHashSet<Name>,
}

impl Template {
    /// Parses a template. It may contain statements and expressions, but no comprehensions or
    /// f-strings. The holes are named in the call of [`Self::unquote`].
    pub fn quote(text: &str) -> Result<Self, SyntaxError> {
        let mut body = parse(text)?;
        let bound = Variables::of_statements(&body).bound;
        let mark = Mark::default();
        mark.visit_body(&mut body);
        match mark.unsupported.get() {
            None => Ok(Self { body, bound }),
            Some(range) => Err(SyntaxError {
                message: format!("a template cannot contain `{}`", &text[range]),
                offset: range.start().to_u32(),
            }),
        }
    }

    /// Fills the holes. Any other name that the template binds is renamed if `is_taken` returns true for it.
    pub fn unquote(&self, holes: &[(&str, Filling)], is_taken: impl Fn(&str) -> bool) -> Suite {
        let mut names: FxHashMap<Name, Filling> =
            holes.iter().map(|(name, filling)| (Name::new(name), filling.clone())).collect();
        let mut renamed: Vec<&Name> =
            self.bound.iter().filter(|name| !names.contains_key(*name) && is_taken(name)).collect();
        renamed.sort_unstable();
        for name in renamed {
            let free = (1..)
                .map(|number| format!("{name}_{number}"))
                .find(|name| !is_taken(name) && !self.bound.contains(name.as_str()));
            names.extend(free.map(|free| (name.clone(), Filling::Name(Name::new(free)))));
        }
        let mut body = self.body.clone();
        Fill { names }.block(&mut body);
        body
    }
}

/// Marks all nodes of a template as synthesized: none of them comes from the source with which it is printed.
#[derive(Default)]
struct Mark {
    /// The first node for which the printer cannot generate text.
    unsupported: Cell<Option<TextRange>>,
}

impl Mark {
    fn reject(&self, range: TextRange) {
        self.unsupported.set(self.unsupported.get().or(Some(range)));
    }
}

impl Transformer for Mark {
    fn visit_stmt(&self, statement: &mut Stmt) {
        let range = statement.range();
        transformer::walk_stmt(self, statement);
        if !super::tree::mark_statement(statement) {
            self.reject(range);
        }
    }

    fn visit_expr(&self, expression: &mut Expr) {
        let range = expression.range();
        transformer::walk_expr(self, expression);
        // The range refers to the template, not to the source.
        relocate_expr(expression, TextRange::default());
        if !super::tree::mark_expression(expression) {
            self.reject(range);
        }
    }
}

struct Fill {
    names: FxHashMap<Name, Filling>,
}

impl Fill {
    fn block(&self, block: &mut Suite) {
        super::tree::rewrite(block, |mut statement, out| {
            if let Stmt::Expr(node) = &statement
                && let Expr::Name(hole) = &*node.value
                && let Some(Filling::Statements(filling)) = self.names.get(&hole.id)
            {
                out.extend(filling.iter().cloned());
                return;
            }
            self.visit_stmt(&mut statement);
            out.push(statement);
        });
    }

    fn rename(&self, identifier: &mut ast::Identifier) {
        if let Some(Filling::Name(name)) = self.names.get(&identifier.id) {
            identifier.id = name.clone();
        }
    }
}

impl Transformer for Fill {
    fn visit_stmt(&self, statement: &mut Stmt) {
        match statement {
            Stmt::FunctionDef(def) => {
                self.rename(&mut def.name);
                self.visit_parameters(&mut def.parameters);
                self.block(&mut def.body);
            }
            Stmt::Nonlocal(node) => node.names.iter_mut().for_each(|name| self.rename(name)),
            Stmt::Global(node) => node.names.iter_mut().for_each(|name| self.rename(name)),
            _ => {
                let blocks = super::tree::blocks(statement);
                let mut inner: Vec<Suite> = blocks.into_iter().map(std::mem::take).collect();
                transformer::walk_stmt(self, statement);
                inner.iter_mut().for_each(|block| self.block(block));
                for (slot, block) in super::tree::blocks(statement).into_iter().zip(inner) {
                    *slot = block;
                }
            }
        }
    }

    fn visit_parameter(&self, parameter: &mut ast::Parameter) {
        self.rename(&mut parameter.name);
    }

    fn visit_expr(&self, expression: &mut Expr) {
        if let Expr::Name(node) = expression {
            match self.names.get(&node.id) {
                Some(Filling::Expression(filling)) => *expression = filling.clone(),
                Some(Filling::Name(name)) => node.id = name.clone(),
                _ => {}
            }
            return;
        }
        transformer::walk_expr(self, expression);
    }
}

struct Outline<'s> {
    source: &'s str,
    out: String,
    depth: usize,
}

impl<'a> SourceOrderVisitor<'a> for Outline<'_> {
    fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
        let range: TextRange = node.range();
        let text = self.source.get(range.to_std_range()).unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        let (start, end) = (range.start().to_u32(), range.end().to_u32());
        let _ = writeln!(
            self.out,
            "{:indent$}{:?} {start}..{end} {first}",
            "",
            node.kind(),
            indent = 2 * self.depth
        );
        self.depth += 1;
        TraversalSignal::Traverse
    }

    fn leave_node(&mut self, _: AnyNodeRef<'a>) {
        self.depth -= 1;
    }
}
