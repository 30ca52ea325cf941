//! The variables of comprehensions and lambdas. Definitions in the function do not reach them.
//!
//! ```python
//! x = 1
//! [x for x in xs]    # the element is the x of the comprehension; xs is evaluated in the function
//! ```

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::scope;

/// The comprehensions and lambdas of one function that bind names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct InnerScopes(Vec<InnerScope>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct InnerScope {
    range: TextRange,
    /// The part that is evaluated in the enclosing function: the iterable of the first clause.
    outside: Option<TextRange>,
    names: Vec<Name>,
}

impl InnerScopes {
    pub(super) fn build(def: &ast::StmtFunctionDef) -> Self {
        let mut scopes = Self::default();
        scopes.visit_body(&def.body);
        scopes
    }

    /// Returns whether `name` at `range` is a variable of an enclosing comprehension or lambda.
    pub(super) fn bind(&self, range: TextRange, name: &str) -> bool {
        self.0.iter().any(|inner| {
            inner.range.contains_range(range)
                && inner.outside.is_none_or(|outside| !outside.contains_range(range))
                && inner.names.iter().any(|bound| bound == name)
        })
    }

    fn comprehension(&mut self, range: TextRange, generators: &[ast::Comprehension]) {
        let mut targets = Targets(Vec::new());
        for generator in generators {
            targets.visit_expr(&generator.target);
        }
        let outside = generators.first().map(|first| first.iter.range());
        self.0.push(InnerScope { range, outside, names: targets.0 });
    }
}

impl<'a> SourceOrderVisitor<'a> for InnerScopes {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if !matches!(statement, Stmt::FunctionDef(_)) {
            source_order::walk_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::ListComp(node) => self.comprehension(node.range, &node.generators),
            Expr::SetComp(node) => self.comprehension(node.range, &node.generators),
            Expr::Generator(node) => self.comprehension(node.range, &node.generators),
            Expr::DictComp(node) => self.comprehension(node.range, &node.generators),
            Expr::Lambda(node) => {
                let names = node
                    .parameters
                    .iter()
                    .flat_map(|parameters| scope::parameters(parameters))
                    .cloned()
                    .collect();
                self.0.push(InnerScope { range: node.body.range(), outside: None, names });
            }
            _ => {}
        }
        source_order::walk_expr(self, expression);
    }
}

struct Targets(Vec<Name>);

impl<'a> SourceOrderVisitor<'a> for Targets {
    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Name(name) = expression
            && name.ctx.is_store()
        {
            self.0.push(name.id.clone());
        }
        source_order::walk_expr(self, expression);
    }
}
