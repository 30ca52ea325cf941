//! Decorators of the project whose result is the function that they receive, or a wrapper that returns its result.
//!
//! ```python
//! def timed(label):                           # a function that returns such a decorator
//!     def wrap(function):
//!         @functools.wraps(function)
//!         def inner(*args, **kwargs):
//!             with clock(label):
//!                 return function(*args, **kwargs)
//!         return inner
//!     return wrap
//!
//! @timed("loss")                              # the user's text
//! @ag_decorator_(timed("loss"))               # annotated source
//! def loss(x): ...
//! ```
//!
//! The type engine infers Unknown for what such a decorator returns. `ag_decorator_`
//! (`types/stubs/annotations/__builtins__.pyi`) returns a decorator that keeps the type of the function.
//!
//! A decorator may be imported from another file of the project ([`imported`]).

use ruff_python_ast::name::Name;
use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashMap;

use super::tree;
use crate::reexports;
use ag_db::{Db, Document};
use ag_syntax::imports::Imports;

/// An expression that annotated source wraps, with the name of the function that it refers to.
pub(super) type Wrapped = (Name, TextRange);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `@logged`
    Decorator,
    /// `@timed("loss")`
    Factory,
}

/// The functions of a file that are such decorators, or return one.
pub(super) type Kinds = FxHashMap<Name, Kind>;

/// Returns the functions of a file that are such decorators, or return one.
#[salsa::tracked(returns(ref))]
fn kinds_of(db: &dyn Db, document: Document) -> Kinds {
    tree(db, document).map(|parsed| kinds(parsed.suite())).unwrap_or_default()
}

/// Returns the kind of a decorator that a file imports from another file of the project.
pub(super) fn imported(db: &dyn Db, document: Document, imports: &Imports, decorator: &Expr) -> Option<Kind> {
    let (defining, name) = reexports::written_definition(db, document, &imports.resolve(decorator)?)?;
    kinds_of(db, defining).get(&name).copied()
}

pub(super) fn kinds(body: &[Stmt]) -> Kinds {
    let mut kinds = Kinds::default();
    for def in body.iter().filter_map(Stmt::as_function_def_stmt) {
        let kind = match () {
            () if is_identity(def) => Some(Kind::Decorator),
            () if returned_functions(def).is_some_and(|defs| defs.into_iter().all(is_identity)) => {
                Some(Kind::Factory)
            }
            () => None,
        };
        // A name that is defined twice may refer to either function.
        match (kind, kinds.contains_key(def.name.as_str())) {
            (Some(kind), false) => drop(kinds.insert(def.name.id.clone(), kind)),
            _ => drop(kinds.remove(&def.name.id)),
        }
    }
    kinds
}

/// Returns the expressions that annotated source wraps: `timed("loss")` in `@timed("loss")` and in
/// `timed("loss")(function)`. `kinds` are the decorators of the file, and `imported` returns the kind of another one.
pub(super) fn of(body: &[Stmt], kinds: &Kinds, imported: &dyn Fn(&Expr) -> Option<Kind>) -> Vec<Wrapped> {
    let mut uses = Uses { kinds, imported, found: Vec::new() };
    uses.visit_body(body);
    uses.found
}

/// Returns whether a decorator returns its parameter, or a function that returns the result of calling the parameter.
fn is_identity(def: &ast::StmtFunctionDef) -> bool {
    let Some(parameter) = def.parameters.iter().next() else { return false };
    let parameter = parameter.name().as_str();
    let is_wrapper = |name: &str| {
        let nested = nested(def).find(|nested| nested.name.as_str() == name);
        nested.is_some_and(|nested| !nested.is_async && returns_result_of(nested, parameter))
    };
    let returned = returned(&def.body);
    !def.is_async
        && !returned.is_empty()
        && returned.iter().all(|value| {
            value.and_then(Expr::as_name_expr).is_some_and(|name| {
                name.id.as_str() == parameter && !binds(&def.body, parameter) || is_wrapper(&name.id)
            })
        })
}

/// Returns whether a function returns only results of calls of `function`, directly or through a variable:
/// `result = function(x)`.
fn returns_result_of(def: &ast::StmtFunctionDef, function: &str) -> bool {
    let is_call = |value: &Expr| {
        let called = value.as_call_expr().and_then(|call| call.func.as_name_expr());
        called.is_some_and(|called| called.id.as_str() == function)
    };
    let is_result = |value: &Expr| match value {
        Expr::Name(name) => {
            let assigned = Assigned::of(&def.body, &name.id);
            !assigned.others && !assigned.values.is_empty() && assigned.values.into_iter().all(is_call)
        }
        value => is_call(value),
    };
    let returned = returned(&def.body);
    !returned.is_empty() && returned.into_iter().all(|value| value.is_some_and(is_result))
}

/// Returns the nested functions that a function returns; `None` if it may return anything else.
fn returned_functions(def: &ast::StmtFunctionDef) -> Option<Vec<&ast::StmtFunctionDef>> {
    let returned = returned(&def.body);
    let functions = returned.into_iter().map(|value| {
        let name = &value?.as_name_expr()?.id;
        nested(def).find(|nested| nested.name.as_str() == name.as_str())
    });
    let functions: Vec<_> = functions.collect::<Option<_>>()?;
    (!functions.is_empty()).then_some(functions)
}

fn nested(def: &ast::StmtFunctionDef) -> impl Iterator<Item = &ast::StmtFunctionDef> {
    def.body.iter().filter_map(Stmt::as_function_def_stmt)
}

/// Returns the values of the `return` statements of a body, without those of nested functions.
fn returned(body: &[Stmt]) -> Vec<Option<&Expr>> {
    #[derive(Default)]
    struct Returned<'a>(Vec<Option<&'a Expr>>);
    impl<'a> StatementVisitor<'a> for Returned<'a> {
        fn visit_stmt(&mut self, statement: &'a Stmt) {
            match statement {
                Stmt::Return(node) => self.0.push(node.value.as_deref()),
                Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
                _ => statement_visitor::walk_stmt(self, statement),
            }
        }
    }
    let mut returned = Returned::default();
    returned.visit_body(body);
    returned.0
}

fn binds(body: &[Stmt], name: &str) -> bool {
    let assigned = Assigned::of(body, name);
    assigned.others || !assigned.values.is_empty()
}

/// The values that a body assigns to a name.
struct Assigned<'n, 'a> {
    name: &'n str,
    values: Vec<&'a Expr>,
    /// Whether a statement binds the name otherwise: `for`, `with`, `+=`, an unpacking.
    others: bool,
}

impl<'a> StatementVisitor<'a> for Assigned<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        let is_it = |target: &Expr| target.as_name_expr().is_some_and(|name| name.id.as_str() == self.name);
        match statement {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => return,
            Stmt::Assign(assign) if matches!(&*assign.targets, [target] if is_it(target)) => {
                self.values.push(&assign.value);
                return;
            }
            Stmt::If(_) | Stmt::Try(_) | Stmt::Match(_) | Stmt::While(_) => {}
            Stmt::For(node) => self.others |= self.is_stored(&node.target),
            Stmt::With(node) => {
                let mut targets = node.items.iter().filter_map(|item| item.optional_vars.as_deref());
                self.others |= targets.any(|target| self.is_stored(target));
            }
            Stmt::Assign(assign) => self.others |= assign.targets.iter().any(|it| self.is_stored(it)),
            Stmt::AugAssign(assign) => self.others |= self.is_stored(&assign.target),
            Stmt::AnnAssign(assign) => self.others |= self.is_stored(&assign.target),
            _ => {}
        }
        statement_visitor::walk_stmt(self, statement);
    }
}

impl<'n, 'a> Assigned<'n, 'a> {
    fn of(body: &'a [Stmt], name: &'n str) -> Self {
        let mut assigned = Self { name, values: Vec::new(), others: false };
        assigned.visit_body(body);
        assigned
    }

    fn is_stored(&self, target: &Expr) -> bool {
        ruff_python_ast::helpers::any_over_expr(
            target,
            &|part: &Expr| matches!(part, Expr::Name(name) if !name.ctx.is_load() && name.id.as_str() == self.name),
        )
    }
}

/// The uses of decorators in a file.
struct Uses<'u> {
    kinds: &'u Kinds,
    imported: &'u dyn Fn(&Expr) -> Option<Kind>,
    found: Vec<Wrapped>,
}

impl Uses<'_> {
    fn add(&mut self, expression: &Expr) {
        let (function, kind) = match expression {
            Expr::Call(call) => (&*call.func, Kind::Factory),
            function => (function, Kind::Decorator),
        };
        let name = match function {
            Expr::Name(name) => &name.id,
            Expr::Attribute(attribute) => &attribute.attr.id,
            _ => return,
        };
        let own = self.kinds.get(name).copied().filter(|_| function.is_name_expr());
        if own.or_else(|| (self.imported)(function)) == Some(kind) {
            self.found.push((name.clone(), expression.range()));
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for Uses<'_> {
    fn visit_decorator(&mut self, decorator: &'a ast::Decorator) {
        self.add(&decorator.expression);
        source_order::walk_decorator(self, decorator);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        // `f(x)` may call any function that returns its parameter, so only factories are certain.
        if let Expr::Call(call) = expression
            && call.func.is_call_expr()
            && matches!(&*call.arguments.args, [argument] if !argument.is_starred_expr())
            && call.arguments.keywords.is_empty()
        {
            self.add(&call.func);
        }
        source_order::walk_expr(self, expression);
    }

    fn visit_annotation(&mut self, _annotation: &'a Expr) {}
}
