//! The uses of a parameter before the body binds its name again:
//!
//! ```python
//! def scale(x, factor):
//!     n = len(x)            # a use
//!     x = np.asarray(x)     # the `x` on the right is one, too
//!     return x * factor     # another value
//! ```
//!
//! For the type engine the annotation of a parameter is the declared type of the variable, so a parameter that the body
//! binds to a value of another kind is declared more generally. At the uses before the new binding, the parameter still
//! has the type of the argument.

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, ExprContext, Stmt};
use ruff_text_size::{Ranged, TextRange, TextSize};

/// Returns the uses of a parameter before the body binds its name again; none if the body never does. Uses in nested
/// functions and lambdas, which run later, are excluded.
pub(super) fn of(def: &ast::StmtFunctionDef, parameter: &Name) -> Vec<TextRange> {
    let mut binding = FirstBinding { name: parameter, statement: None, is_in_loop: false, found: None };
    binding.visit_body(&def.body);
    let Some(until) = binding.found else { return Vec::new() };
    let mut uses = Uses { name: parameter, until, found: Vec::new() };
    uses.visit_body(&def.body);
    uses.found
}

/// Finds the offset up to which the name has its initial value: the end of the assignment that binds it, or the start
/// of another binding statement or of the outermost loop around the binding.
struct FirstBinding<'a> {
    name: &'a Name,
    /// The position that a binding in the current statement would determine: the start or end of the statement, or the
    /// start of the outermost loop around it.
    statement: Option<TextSize>,
    is_in_loop: bool,
    found: Option<TextSize>,
}

impl FirstBinding<'_> {
    fn bind(&mut self, name: &str) {
        if self.found.is_none() && name == self.name.as_str() {
            self.found = self.statement;
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for FirstBinding<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if self.found.is_some() {
            return;
        }
        let outer = (self.statement, self.is_in_loop);
        if !self.is_in_loop {
            let is_assignment =
                matches!(statement, Stmt::Assign(_) | Stmt::AnnAssign(_) | Stmt::AugAssign(_));
            self.statement = Some(if is_assignment { statement.end() } else { statement.start() });
            self.is_in_loop = matches!(statement, Stmt::For(_) | Stmt::While(_));
        }
        match statement {
            Stmt::FunctionDef(def) => self.bind(&def.name),
            Stmt::ClassDef(class) => self.bind(&class.name),
            Stmt::Global(node) => node.names.iter().for_each(|name| self.bind(name)),
            Stmt::Nonlocal(node) => node.names.iter().for_each(|name| self.bind(name)),
            _ => source_order::walk_stmt(self, statement),
        }
        (self.statement, self.is_in_loop) = outer;
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) if name.ctx != ExprContext::Load => self.bind(&name.id),
            Expr::Lambda(_) => {}
            _ => source_order::walk_expr(self, expression),
        }
    }

    // The targets of a comprehension are variables of the comprehension.
    fn visit_comprehension(&mut self, comprehension: &'a ast::Comprehension) {
        self.visit_expr(&comprehension.iter);
        comprehension.ifs.iter().for_each(|test| self.visit_expr(test));
    }

    fn visit_alias(&mut self, alias: &'a ast::Alias) {
        let bound = alias.asname.as_ref().unwrap_or(&alias.name);
        self.bind(bound.split('.').next().unwrap_or_default());
    }

    fn visit_except_handler(&mut self, handler: &'a ast::ExceptHandler) {
        let ast::ExceptHandler::ExceptHandler(node) = handler;
        node.name.iter().for_each(|name| self.bind(name));
        source_order::walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a ast::Pattern) {
        let bound = match pattern {
            ast::Pattern::MatchAs(node) => node.name.as_ref(),
            ast::Pattern::MatchStar(node) => node.name.as_ref(),
            ast::Pattern::MatchMapping(node) => node.rest.as_ref(),
            _ => None,
        };
        bound.into_iter().for_each(|name| self.bind(name));
        source_order::walk_pattern(self, pattern);
    }
}

struct Uses<'a> {
    name: &'a Name,
    until: TextSize,
    found: Vec<TextRange>,
}

impl Uses<'_> {
    /// Returns whether a comprehension binds the name: its expressions are skipped.
    fn hides(&self, generators: &[ast::Comprehension]) -> bool {
        let mut binding = FirstBinding {
            name: self.name,
            statement: Some(TextSize::default()),
            is_in_loop: false,
            found: None,
        };
        generators.iter().for_each(|generator| binding.visit_expr(&generator.target));
        binding.found.is_some()
    }
}

impl<'a> SourceOrderVisitor<'a> for Uses<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if statement.start() < self.until && !matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
            source_order::walk_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        let generators = match expression {
            Expr::Name(name) => {
                if name.ctx == ExprContext::Load && name.id == *self.name && name.end() <= self.until {
                    self.found.push(name.range());
                }
                return;
            }
            Expr::Lambda(_) | Expr::Generator(_) => return,
            Expr::ListComp(node) => &node.generators[..],
            Expr::SetComp(node) => &node.generators[..],
            Expr::DictComp(node) => &node.generators[..],
            _ => &[][..],
        };
        if !self.hides(generators) {
            source_order::walk_expr(self, expression);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::of;
    use ruff_python_ast::Stmt;

    /// Returns the texts of the lines with uses of `x` in the body of a function.
    fn lines(body: &str) -> Vec<String> {
        let text =
            format!("def f(x):\n{}", body.lines().map(|line| format!("    {line}\n")).collect::<String>());
        let parsed = ruff_python_parser::parse_module(&text).expect("valid code");
        let Some(Stmt::FunctionDef(def)) = parsed.suite().first() else { panic!("no function") };
        let line = |at: usize| text[..at].matches('\n').count();
        let all: Vec<&str> = text.lines().collect();
        of(def, &"x".into()).iter().map(|use_| all[line(use_.start().to_usize())].trim().to_owned()).collect()
    }

    #[test]
    fn uses_end_at_the_first_binding() {
        assert_eq!(lines("a = x.n\nx = np.sin(x)\nreturn x"), ["a = x.n", "x = np.sin(x)"]);
        assert_eq!(lines("if x:\n    x = float(x)\nreturn x"), ["if x:", "x = float(x)"]);
        assert_eq!(lines("return x + 1"), [""; 0]);
    }

    #[test]
    fn a_loop_around_the_binding_is_excluded() {
        assert_eq!(lines("y = x\nfor i in x:\n    y = x\n    x = float(y)"), ["y = x"]);
        assert_eq!(lines("y = x\nfor x in y: pass"), ["y = x"]);
    }

    #[test]
    fn inner_scopes_are_excluded() {
        assert_eq!(lines("y = [x for x in x]\ng = lambda: x\nz = x\nx = 1"), ["z = x"]);
        assert_eq!(lines("def g(): return x\ny = x\nimport x\nx"), ["y = x"]);
    }
}
