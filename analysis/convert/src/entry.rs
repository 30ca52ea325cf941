//! The functions, methods and lambdas of a source, with their positions and free variables.

use std::cell::OnceCell;

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange, TextSize};

use ag_flow::Variables;
use ag_syntax::functions::keyword_start;

/// The kinds of code that can be converted separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Function,
    Method,
    Lambda,
}

/// A function, method or lambda of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionInfo {
    /// The names of the enclosing classes and functions, and its own name, joined with dots. A lambda is called
    /// `<lambda>`.
    pub qualname: String,
    pub kind: Kind,
    /// The range of the function, including its decorators.
    pub range: TextRange,
    /// The start of `def`, `async` or `lambda`.
    pub start: TextSize,
    /// The range of `f` in `def f`, or of the whole lambda.
    pub name_range: TextRange,
    /// The variables of enclosing functions that it uses, and `__class__` if it calls `super()`.
    pub free_variables: Vec<Name>,
}

/// A [`FunctionInfo`] with its syntax node.
pub(super) struct Entry<'t> {
    pub(super) info: FunctionInfo,
    pub(super) node: Node<'t>,
    /// The innermost enclosing class. There may be functions in between.
    pub(super) class: Option<Name>,
    /// Whether no function encloses it. Converting a module converts these functions, each together with the functions
    /// nested in it.
    pub(super) is_outermost: bool,
}

#[derive(Clone, Copy)]
pub(super) enum Node<'t> {
    Function(&'t ast::StmtFunctionDef),
    Lambda(&'t ast::ExprLambda),
}

impl Node<'_> {
    fn variables(self) -> Variables {
        match self {
            Self::Function(def) => Variables::of_function(def),
            Self::Lambda(lambda) => Variables::of_lambda(lambda),
        }
    }
}

/// Returns all functions, methods and lambdas of a module, in order of their start.
pub(super) fn collect<'t>(text: &'t str, body: &'t [Stmt]) -> Vec<Entry<'t>> {
    let mut collector = Collector { text, mentions_class: mentions_class(text), ..Collector::default() };
    collector.visit_body(body);
    collector.entries.sort_by_key(|entry| entry.info.range.start());
    collector.entries
}

/// Returns whether a text may use the variable `__class__`, which `super()` reads implicitly.
fn mentions_class(text: &str) -> bool {
    let names = [b"super".as_slice(), b"__class__"];
    names.iter().any(|name| memchr::memmem::find(text.as_bytes(), name).is_some())
}

#[derive(Default)]
struct Collector<'t> {
    text: &'t str,
    /// Whether the text mentions `super` or `__class__` at all. Usually it does not, and functions need not be searched
    /// for them.
    mentions_class: bool,
    entries: Vec<Entry<'t>>,
    path: Vec<Name>,
    /// The innermost enclosing class.
    class: Option<Name>,
    is_class_body: bool,
    /// The enclosing functions, outermost first.
    enclosing: Vec<Enclosing<'t>>,
}

/// An enclosing function. Its variables are computed when they are first needed.
struct Enclosing<'t> {
    node: Node<'t>,
    variables: OnceCell<Variables>,
}

impl Enclosing<'_> {
    fn binds(&self, name: &Name) -> bool {
        self.variables.get_or_init(|| self.node.variables()).bound.contains(name)
    }
}

impl<'t> Collector<'t> {
    fn add(&mut self, name: &str, kind: Kind, range: TextRange, name_range: TextRange, node: Node<'t>) {
        let mut qualname = String::new();
        for part in &self.path {
            qualname.push_str(part);
            qualname.push('.');
        }
        qualname.push_str(name);
        let free = self.free_variables(node, range);
        let start = match node {
            Node::Function(def) => keyword_start(self.text, def),
            Node::Lambda(lambda) => lambda.start(),
        };
        self.entries.push(Entry {
            info: FunctionInfo { qualname, kind, range, start, name_range, free_variables: free },
            node,
            class: self.class.clone(),
            is_outermost: self.enclosing.is_empty(),
        });
    }

    fn free_variables(&self, node: Node<'t>, range: TextRange) -> Vec<Name> {
        let uses_class_cell =
            self.mentions_class && self.class.is_some() && mentions_class(&self.text[range]);
        if self.enclosing.is_empty() && !uses_class_cell {
            return Vec::new();
        }
        let scope = node.variables();
        let is_enclosed = |name: &&Name| self.enclosing.iter().any(|function| function.binds(name));
        let mut free: Vec<Name> = scope.free.iter().filter(is_enclosed).cloned().collect();
        if uses_class_cell && ["super", "__class__"].iter().any(|name| scope.free.contains(*name)) {
            free.push(Name::new_static("__class__"));
        }
        free.sort_unstable();
        free.dedup();
        free
    }

    fn within(&mut self, name: Name, node: Node<'t>, walk: impl FnOnce(&mut Self)) {
        self.path.push(name);
        self.enclosing.push(Enclosing { node, variables: OnceCell::new() });
        let is_class_body = std::mem::replace(&mut self.is_class_body, false);
        walk(self);
        self.is_class_body = is_class_body;
        self.enclosing.pop();
        self.path.pop();
    }
}

impl<'t> SourceOrderVisitor<'t> for Collector<'t> {
    fn visit_stmt(&mut self, statement: &'t Stmt) {
        match statement {
            Stmt::FunctionDef(def) => {
                def.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                self.visit_parameters(&def.parameters);
                let kind = if self.is_class_body { Kind::Method } else { Kind::Function };
                self.add(&def.name.id, kind, def.range, def.name.range, Node::Function(def));
                self.within(def.name.id.clone(), Node::Function(def), |collector| {
                    collector.visit_body(&def.body)
                });
            }
            Stmt::ClassDef(class) => {
                class.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                class.arguments.iter().for_each(|arguments| self.visit_arguments(arguments));
                let name = class.name.id.clone();
                self.path.push(name.clone());
                let outer = (self.class.replace(name), std::mem::replace(&mut self.is_class_body, true));
                self.visit_body(&class.body);
                (self.class, self.is_class_body) = outer;
                self.path.pop();
            }
            _ => source_order::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'t Expr) {
        match expression {
            Expr::Lambda(lambda) => {
                lambda.parameters.iter().for_each(|parameters| self.visit_parameters(parameters));
                let range = expression.range();
                self.add("<lambda>", Kind::Lambda, range, range, Node::Lambda(lambda));
                let name = Name::new_static("<lambda>");
                self.within(name, Node::Lambda(lambda), |collector| collector.visit_expr(&lambda.body));
            }
            _ => source_order::walk_expr(self, expression),
        }
    }
}
