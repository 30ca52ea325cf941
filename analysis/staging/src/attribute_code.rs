//! The code of a method that determines which attributes it sets, and their types.
//!
//! ```python
//! def build(self, shape):
//!     units = shape[-1]                # yes: a value of `self.kernel`
//!     if units is None: return         # yes: decides whether the rest is reached
//!     message = f"{units} units"       # no
//!     self.kernel = add(units)         # yes
//! ```
//!
//! This is a backward slice by names. It contains the assignments of attributes, and the bindings of all names that
//! these assignments mention directly or indirectly. It also contains the code that decides whether these statements
//! are reached: jumps, the headers of enclosing statements, `while`, assertions, and calls, which may not return. An
//! edit outside this code changes no attribute.

use std::ops::Range;

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, ExprContext, Identifier, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashSet;

/// Returns the text of a method without its irrelevant statements. The ranges of `function` refer to `text`.
pub(crate) fn attribute_code(function: &ast::StmtFunctionDef, text: &str) -> String {
    let mut slice = Slice::default();
    let body = &function.body;
    loop {
        let known = slice.names.len();
        slice.irrelevant.clear();
        for statement in body {
            slice.visit(statement);
        }
        if slice.names.len() == known {
            break;
        }
    }
    let (mut at, end) = (function.name.start().to_usize(), function.end().to_usize());
    let mut code = String::with_capacity(end.saturating_sub(at));
    for range in slice.irrelevant {
        let lines = whole_lines(text, range);
        code.push_str(text.get(at..lines.start).unwrap_or_default());
        at = lines.end;
    }
    code + text.get(at..end).unwrap_or_default()
}

/// Returns the range of the lines of a statement; if these lines contain other code too, the range of the statement
/// itself.
fn whole_lines(text: &str, range: TextRange) -> Range<usize> {
    let is_space = |c: char| matches!(c, ' ' | '\t');
    let own = Range::<usize>::from(range);
    let (Some(before), Some(after)) = (text.get(..own.start), text.get(own.end..)) else { return own };
    let (before, rest) = (before.trim_end_matches(is_space), after.trim_start_matches(is_space));
    match before.ends_with('\n') && rest.starts_with('\n') {
        true => before.len()..own.end + (after.len() - rest.len()) + 1,
        false => own,
    }
}

#[derive(Default)]
struct Slice<'a> {
    /// The names on whose values the attributes depend.
    names: FxHashSet<&'a str>,
    /// The outermost irrelevant statements, in order.
    irrelevant: Vec<TextRange>,
}

impl<'a> Slice<'a> {
    /// Returns whether a statement is relevant. If it is, adds the names that it mentions to `names`.
    fn visit(&mut self, statement: &'a Stmt) -> bool {
        let is_definition = matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_));
        let mut parts = Parts { is_definition, ..Parts::default() };
        source_order::walk_stmt(&mut parts, statement);
        if let Stmt::FunctionDef(ast::StmtFunctionDef { name, .. })
        | Stmt::ClassDef(ast::StmtClassDef { name, .. }) = statement
        {
            parts.bound.push(name.as_str());
        }
        let start = self.irrelevant.len();
        let mut is_relevant = parts.sets_attribute
            || parts.bound.iter().any(|name| self.names.contains(name))
            || match statement {
                Stmt::Return(_) | Stmt::Raise(_) | Stmt::Break(_) | Stmt::Continue(_) => true,
                Stmt::While(_) | Stmt::Assert(_) => true,
                Stmt::Expr(node) => matches!(&*node.value, Expr::Call(_) | Expr::Await(_)),
                _ => false,
            };
        for child in parts.children {
            is_relevant |= self.visit(child);
        }
        if is_relevant {
            self.names.extend(parts.mentioned);
        } else {
            self.irrelevant.truncate(start);
            self.irrelevant.push(statement.range());
        }
        is_relevant
    }
}

/// The parts of a statement. A definition has no children: its whole content belongs to the statement, so that the
/// names that it declares `nonlocal` count as bound by it.
#[derive(Default)]
struct Parts<'a> {
    children: Vec<&'a Stmt>,
    mentioned: Vec<&'a str>,
    bound: Vec<&'a str>,
    sets_attribute: bool,
    is_definition: bool,
}

impl<'a> Parts<'a> {
    fn bind(&mut self, name: Option<&'a Identifier>) {
        if let Some(name) = name {
            self.bound.push(name.as_str());
            self.mentioned.push(name.as_str());
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for Parts<'a> {
    fn visit_body(&mut self, body: &'a [Stmt]) {
        body.iter().for_each(|statement| self.visit_stmt(statement));
    }

    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match self.is_definition {
            true => source_order::walk_stmt(self, statement),
            false => self.children.push(statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) => {
                self.mentioned.push(name.id.as_str());
                if name.ctx != ExprContext::Load {
                    self.bound.push(name.id.as_str());
                }
            }
            Expr::Attribute(attribute) if attribute.ctx != ExprContext::Load => self.sets_attribute = true,
            // `x[0] = 1` narrows `x[0]`.
            Expr::Subscript(subscript) if subscript.ctx != ExprContext::Load => {
                let mut root = &*subscript.value;
                while let Expr::Attribute(ast::ExprAttribute { value, .. })
                | Expr::Subscript(ast::ExprSubscript { value, .. }) = root
                {
                    root = value;
                }
                self.bound.extend(root.as_name_expr().map(|name| name.id.as_str()));
            }
            _ => {}
        }
        source_order::walk_expr(self, expression);
    }

    /// `import a.b` binds `a`.
    fn visit_alias(&mut self, alias: &'a ast::Alias) {
        let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
        let name = name.split('.').next().unwrap_or(name);
        self.bound.push(name);
        self.mentioned.push(name);
    }

    fn visit_except_handler(&mut self, handler: &'a ast::ExceptHandler) {
        let ast::ExceptHandler::ExceptHandler(node) = handler;
        self.bind(node.name.as_ref());
        source_order::walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a ast::Pattern) {
        match pattern {
            ast::Pattern::MatchAs(node) => self.bind(node.name.as_ref()),
            ast::Pattern::MatchStar(node) => self.bind(node.name.as_ref()),
            ast::Pattern::MatchMapping(node) => self.bind(node.rest.as_ref()),
            _ => {}
        }
        source_order::walk_pattern(self, pattern);
    }
}
