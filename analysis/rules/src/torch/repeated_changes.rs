//! Statements outside of staged code that change attributes repeatedly.
//!
//! ```python
//! class Schedule:
//!     epoch = 0
//!
//!     @classmethod
//!     def advance(cls):
//!         cls.epoch += 1              # an attribute of a class
//!
//! for epoch in range(10):
//!     model.epoch = epoch             # an attribute of an object
//! ```

use ruff_python_ast::name::Name;
use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::{Expr, Stmt};

use ag_db::{Db, Document};
use ag_index::index::{FunctionId, tree};
use ag_staging::queries;
use ag_syntax::expressions::is_scalar_literal;
use ag_syntax::functions::FunctionPath;

/// What has the attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A class, which binds the attribute to a number or a string.
    Class(Name),
    /// An object that is not the receiver of the method.
    Object,
}

/// A statement that changes an attribute repeatedly: `+=` in a function or loop, or an assignment in a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    owner: Owner,
    pub(super) attribute: Name,
    /// The qualified name of the function with the statement; empty for the code of the module.
    function: String,
}

/// Returns a statement of a file that changes this attribute repeatedly, outside of staged code.
pub(super) fn find<'db>(
    db: &'db dyn Db,
    document: Document,
    owner: &Owner,
    attribute: &Name,
) -> Option<&'db Change> {
    changes(db, document).iter().find(|change| {
        change.owner == *owner && change.attribute == *attribute && !is_staged(db, document, &change.function)
    })
}

fn is_staged(db: &dyn Db, document: Document, function: &str) -> bool {
    let path = FunctionPath { qualname: function.into(), occurrence: 0 };
    !function.is_empty() && queries::stage(db, FunctionId::new(db, document, path)).is_some()
}

#[salsa::tracked(returns(ref))]
fn changes(db: &dyn Db, document: Document) -> Vec<Change> {
    let Some(module) = tree(db, document) else { return Vec::new() };
    let mut literals: Vec<(&str, &str)> = Vec::new();
    for class in module.suite().iter().filter_map(Stmt::as_class_def_stmt) {
        for statement in &class.body {
            let (target, value) = match statement {
                Stmt::Assign(assign) => (assign.targets.first(), Some(&*assign.value)),
                Stmt::AnnAssign(assign) => (Some(&*assign.target), assign.value.as_deref()),
                _ => continue,
            };
            if let (Some(Expr::Name(name)), true) = (target, value.is_some_and(is_scalar_literal)) {
                literals.push((class.name.as_str(), name.id.as_str()));
            }
        }
    }
    let mut changes = Changes {
        literals,
        class: None,
        function: String::new(),
        in_loop: false,
        variables: Vec::new(),
        found: Vec::new(),
    };
    changes.visit_body(module.suite());
    changes.found
}

struct Changes<'a> {
    /// The attributes that classes bind to literals, each with its class.
    literals: Vec<(&'a str, &'a str)>,
    /// The class around the current method.
    class: Option<&'a str>,
    function: String,
    in_loop: bool,
    /// The variables of the loops around the current statement.
    variables: Vec<&'a str>,
    found: Vec<Change>,
}

impl<'a> StatementVisitor<'a> for Changes<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::ClassDef(class) if self.function.is_empty() => {
                let outer = self.class.replace(&class.name);
                self.visit_body(&class.body);
                self.class = outer;
            }
            Stmt::FunctionDef(def) => {
                let name = match (self.function.as_str(), self.class) {
                    ("", Some(class)) => format!("{class}.{}", def.name),
                    ("", None) => def.name.to_string(),
                    (function, _) => format!("{function}.{}", def.name),
                };
                let outer = std::mem::replace(&mut self.function, name);
                let in_loop = std::mem::replace(&mut self.in_loop, false);
                let variables = std::mem::take(&mut self.variables);
                self.visit_body(&def.body);
                (self.function, self.in_loop, self.variables) = (outer, in_loop, variables);
            }
            Stmt::For(_) | Stmt::While(_) => {
                let outer = std::mem::replace(&mut self.in_loop, true);
                let before = self.variables.len();
                if let Stmt::For(node) = statement {
                    self.variables.extend(node.target.as_name_expr().map(|name| name.id.as_str()));
                }
                statement_visitor::walk_stmt(self, statement);
                self.variables.truncate(before);
                self.in_loop = outer;
            }
            Stmt::AugAssign(assign) if self.in_loop || !self.function.is_empty() => {
                self.changed(&assign.target, true);
            }
            Stmt::Assign(assign) if self.in_loop => {
                let varies = ruff_python_ast::helpers::any_over_expr(&assign.value, &|part: &Expr| {
                    part.as_name_expr().is_some_and(|name| self.variables.contains(&name.id.as_str()))
                });
                assign.targets.iter().for_each(|target| self.changed(target, varies));
            }
            _ => statement_visitor::walk_stmt(self, statement),
        }
    }
}

impl Changes<'_> {
    /// `varies` tells whether each iteration assigns another value.
    fn changed(&mut self, target: &Expr, varies: bool) {
        let Expr::Attribute(attribute) = target else { return };
        let class = match &*attribute.value {
            Expr::Name(name) if name.id.as_str() == "cls" => self.class,
            Expr::Name(name) => Some(name.id.as_str()),
            // `type(self)`
            Expr::Call(call) => {
                let is_type = call.func.as_name_expr().is_some_and(|name| name.id.as_str() == "type");
                self.class.filter(|_| is_type)
            }
            _ => None,
        };
        let owner = match class {
            Some(class) if self.literals.contains(&(class, attribute.attr.as_str())) => {
                Owner::Class(class.into())
            }
            Some("self") => return,
            _ if varies && matches!(&*attribute.value, Expr::Name(_) | Expr::Attribute(_)) => Owner::Object,
            _ => return,
        };
        self.found.push(Change {
            owner,
            attribute: attribute.attr.id.clone(),
            function: self.function.clone(),
        });
    }
}
