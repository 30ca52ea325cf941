//! Syntax that AutoGraph cannot convert. If it occurs once, the whole function is not converted.
//!
//! AutoGraph rewrites a function together with its nested functions, so occurrences in nested functions
//! count:
//!
//! ```python
//! @tf.function
//! def f(x):
//!     def g(): yield x    # f is not converted
//! ```
//!
//! This module depends on syntax and imports only.

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::edits;
use super::functions::{FunctionAst, FunctionPath};
use super::imports::Imports;

/// A kind of syntax that AutoGraph rejects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unsupported {
    /// `for …: … else: …`
    ForElse,
    /// `while …: … else: …`
    WhileElse,
    Yield,
    /// `self.__limit`
    MangledName,
    /// `(y := f(x))`
    Walrus,
    Match,
    /// The function itself is `async def`. Nested `async def` functions are supported.
    Async,
    /// A method or nested function is indented with both tabs and spaces.
    MixedIndentation,
    /// A call of `set_loop_options` that is not the first statement of a loop.
    LoopOptions,
    /// `a = b = value`, with the optional feature `LISTS`.
    ChainedAssignment,
    /// `assert test, message` with a computed message, with the optional feature `ASSERT_STATEMENTS`.
    AssertMessage,
}

/// Returns the unsupported syntax of a function, in source order. `features` lists the enabled optional
/// features of AutoGraph.
pub fn find(
    path: &FunctionPath,
    function: &FunctionAst,
    imports: &Imports,
    features: &[Name],
) -> Vec<(Unsupported, TextRange)> {
    let def = function.def();
    let is_enabled = |feature: &str| features.iter().any(|name| name == feature || name == "ALL");
    let mut search = Search {
        text: &function.text,
        imports,
        is_indented: path.qualname.contains('.'),
        lists: is_enabled("LISTS"),
        asserts: is_enabled("ASSERT_STATEMENTS"),
        loop_starts: Vec::new(),
        found: Vec::new(),
    };
    if def.is_async {
        search.found.push((Unsupported::Async, def.name.range()));
    }
    search.block(&def.body);
    search.found.sort_by_key(|(_, range)| range.start());
    search.found
}

struct Search<'a> {
    text: &'a str,
    imports: &'a Imports,
    /// Whether the function is a method or a nested function. AutoGraph dedents the text of such a function before it
    /// converts it.
    is_indented: bool,
    lists: bool,
    asserts: bool,
    /// The first statement of each loop body that has been visited.
    loop_starts: Vec<TextRange>,
    found: Vec<(Unsupported, TextRange)>,
}

impl<'a> Search<'a> {
    fn add(&mut self, what: Unsupported, node: impl Ranged) {
        self.found.push((what, node.range()));
    }

    fn block(&mut self, body: &'a [Stmt]) {
        if let Some(first) = body.first().filter(|_| self.is_indented) {
            let indentation = edits::indentation(self.text, first.start()).unwrap_or_default();
            if indentation.contains(' ') && indentation.contains('\t') {
                self.add(Unsupported::MixedIndentation, first);
            }
        }
        source_order::walk_body(self, body);
    }

    fn add_loop_start(&mut self, body: &[Stmt]) {
        self.loop_starts.extend(body.first().map(Ranged::range));
    }
}

impl<'a> SourceOrderVisitor<'a> for Search<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::For(node) => {
                if let Some(first) = node.orelse.first() {
                    self.add(
                        Unsupported::ForElse,
                        TextRange::new(else_keyword(self.text, first), first.start()),
                    );
                }
                self.add_loop_start(&node.body);
            }
            Stmt::While(node) => {
                if let Some(first) = node.orelse.first() {
                    self.add(
                        Unsupported::WhileElse,
                        TextRange::new(else_keyword(self.text, first), first.start()),
                    );
                }
                self.add_loop_start(&node.body);
            }
            Stmt::Match(node) => self.add(Unsupported::Match, node.subject.as_ref()),
            Stmt::Assign(node) if self.lists && node.targets.len() > 1 => {
                self.add(Unsupported::ChainedAssignment, node);
            }
            Stmt::Assert(node) if self.asserts => {
                if let Some(message) = node.msg.as_deref()
                    && !message.is_literal_expr()
                {
                    self.add(Unsupported::AssertMessage, message);
                }
            }
            Stmt::Expr(node) => {
                if let Expr::Call(call) = node.value.as_ref()
                    && self.imports.resolve(&call.func).is_some_and(|name| {
                        name == "tensorflow.autograph.set_loop_options"
                            || name == "autograph.set_loop_options"
                    })
                    && !self.loop_starts.contains(&node.range())
                {
                    self.add(Unsupported::LoopOptions, node);
                }
            }
            _ => {}
        }
        source_order::walk_stmt(self, statement);
    }

    fn visit_body(&mut self, body: &'a [Stmt]) {
        self.block(body);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Yield(_) | Expr::YieldFrom(_) => self.add(Unsupported::Yield, expression),
            Expr::Named(_) => self.add(Unsupported::Walrus, expression),
            Expr::Attribute(ast::ExprAttribute { attr, .. })
                if attr.starts_with("__") && !attr.ends_with("__") =>
            {
                self.add(Unsupported::MangledName, expression);
            }
            _ => {}
        }
        source_order::walk_expr(self, expression);
    }

    fn visit_annotation(&mut self, _annotation: &'a Expr) {}
}

/// Returns the offset of the `else` keyword of a loop, given the first statement of the `else` block.
fn else_keyword(text: &str, first: &Stmt) -> TextSize {
    let before = text.get(..first.start().to_usize()).unwrap_or_default();
    let mut end = before.len();
    // Only a colon, whitespace and comments separate the keyword from the statement.
    while let Some(at) = before.get(..end).and_then(|rest| rest.rfind("else")) {
        let line = before.get(..at).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
        if line.trim().is_empty() {
            return TextSize::try_from(at).unwrap_or(first.start());
        }
        end = at;
    }
    first.start()
}
