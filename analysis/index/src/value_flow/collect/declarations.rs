//! The types of variables, as code declares them: by annotations, and by `isinstance`.
//!
//! ```python
//! def merge(context: Context, leaf: Leaf | None) -> Tree: ...
//!
//! if isinstance(node, (Branch, Leaf)): ...
//! ```

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr};

use super::Collector;
use crate::index::last_name;
use crate::value_flow::{Declaration, Node};

/// Types that stand for their arguments: `Optional[Context]`.
const WRAPPERS: [&str; 4] = ["Optional", "Union", "Final", "ClassVar"];

impl<'a> Collector<'a> {
    /// Records the type in an annotation.
    pub(super) fn declare(&mut self, annotation: &Expr, to: Node) {
        let mut names = Names { found: Vec::new(), are_all: true };
        names.collect(annotation);
        self.add_declaration(names, to);
    }

    /// Records the classes of `isinstance(node, (Branch, Leaf))`. On paths on which the test fails, the variable has
    /// another type.
    pub(super) fn declare_tested(&mut self, call: &'a ast::ExprCall) {
        if let Expr::Name(function) = &*call.func
            && function.id == "isinstance"
            && let [Expr::Name(tested), classes] = &*call.arguments.args
        {
            let mut names = Names { found: Vec::new(), are_all: false };
            names.collect(classes);
            let to = self.lookup(&tested.id);
            self.add_declaration(names, to);
        }
    }

    fn add_declaration(&mut self, names: Names, to: Node) {
        if names.are_all || !names.found.is_empty() {
            let declaration = Declaration { to, classes: names.found, is_complete: names.are_all };
            self.flow.code.declarations.push(declaration);
        }
    }
}

/// The dotted names of classes in an expression.
struct Names {
    found: Vec<Name>,
    /// Whether the expression consists of these names and `None`.
    are_all: bool,
}

impl Names {
    fn collect(&mut self, expression: &Expr) {
        match expression {
            Expr::NoneLiteral(_) => {}
            Expr::BinOp(ast::ExprBinOp { left, op: ast::Operator::BitOr, right, .. }) => {
                self.collect(left);
                self.collect(right);
            }
            Expr::Subscript(subscript) => match last_name(&subscript.value).map(Name::as_str) {
                // The other arguments are not types.
                Some("Annotated") => match &*subscript.slice {
                    Expr::Tuple(tuple) => tuple.elts.first().into_iter().for_each(|it| self.collect(it)),
                    _ => self.are_all = false,
                },
                Some(name) if WRAPPERS.contains(&name) => self.collect(&subscript.slice),
                // `Optimizer[State]`
                _ => self.collect(&subscript.value),
            },
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|element| self.collect(element)),
            Expr::StringLiteral(literal) => self.add(Some(literal.value.to_str().to_owned())),
            _ => self.add(dotted(expression)),
        }
    }

    fn add(&mut self, name: Option<String>) {
        let is_dotted = |name: &String| {
            name.split('.')
                .all(|part| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_'))
        };
        match name.filter(is_dotted) {
            Some(name) => self.found.push(Name::new(name)),
            None => self.are_all = false,
        }
    }
}

/// Returns the text of `a.b.c`.
fn dotted(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Name(name) => Some(name.id.to_string()),
        Expr::Attribute(attribute) => Some(format!("{}.{}", dotted(&attribute.value)?, attribute.attr)),
        _ => None,
    }
}
