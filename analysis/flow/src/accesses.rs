//! What a piece of syntax reads and binds, collected in evaluation order.
//!
//! An explicit stack takes the place of recursion into expressions and statements; only nested
//! scopes recurse, to a limit beyond which the function counts as too deep.
//!
//! Annotations are not read, type parameters neither. A name that the same piece has surely bound
//! before, `n` in `(n := f()) > 0 and n < 9`, is not read *by the piece*.

mod expressions;
mod nested;
mod statements;

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::SourceOrderVisitor;
use ruff_python_ast::{self as ast, Expr, Identifier, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::build::Syntax;
use super::input::Input;
use ag_syntax::qname::QName;

/// How a name comes by its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DefKind {
    /// The parameter of that index, in the order of the signature.
    Parameter(u32),
    /// A global, builtin or variable of an enclosing function: it has its value from outside.
    Outer,
    /// A local variable at the start of the function.
    Undefined,
    Assign,
    AugAssign,
    ForTarget,
    With,
    Import,
    Function,
    Class,
    TypeAlias,
    Except,
    MatchCapture,
    Walrus,
    Delete,
    /// A nested function may bind it (`nonlocal x`), at any time after its definition.
    Closure,
    /// An item of the container is bound under a key that may be this one: `d[f()] = v` for `d[0]`.
    Item,
}

impl DefKind {
    /// Whether the name has a value afterwards.
    pub fn defines(self) -> bool {
        !matches!(self, Self::Undefined | Self::Delete)
    }
}

/// A binding or deletion of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Write {
    pub(super) name: QName,
    pub(super) kind: DefKind,
    pub(super) range: TextRange,
    /// The value, where the syntax shows it.
    pub(super) value: Option<TextRange>,
    /// Whether it happens whenever the piece completes.
    pub(super) certain: bool,
}

#[derive(Debug, Default)]
pub(super) struct Accesses {
    pub(super) reads: Vec<QName>,
    pub(super) writes: Vec<Write>,
    /// Read later, when a function defined here is called.
    pub(super) captures: Vec<QName>,
    pub(super) globals: Vec<Name>,
    pub(super) nonlocals: Vec<Name>,
    /// Local by an annotation without a value, `x: int`.
    pub(super) declared: Vec<Name>,
    /// Containers in which an item is bound whose key is no literal: `d` of `d[f()] = v`.
    pub(super) items: Vec<(QName, TextRange)>,
    pub(super) too_deep: bool,
}

/// The accesses of one node.
pub(super) fn of_node(syntax: Syntax<'_>, input: &Input<'_>) -> Accesses {
    let mut walker = Walker::new(0, if input.follows_paths { Follow::Paths } else { Follow::Variables });
    match syntax {
        Syntax::Nothing => {}
        Syntax::Statement(statement) => walker.statement(statement),
        Syntax::Evaluate(expression) => walker.read(expression),
        Syntax::Target(target, iterable) => walker.bind(target, Some(iterable), DefKind::ForTarget),
        Syntax::WithItem(item) => walker.with_item(item),
        Syntax::Pattern(pattern) => walker.pattern(pattern, PatternPart::Values, None),
        Syntax::Capture(pattern, subject) => {
            walker.pattern(pattern, PatternPart::Captures, Some(subject.range()));
        }
        Syntax::HandlerName(name) => walker.write_identifier(name, DefKind::Except, None),
        Syntax::Next(node) => {
            walker.found.reads.extend((input.loop_conditions)(node).into_iter().map(QName::simple));
        }
        Syntax::Unbind(name) => walker.write_identifier(name, DefKind::Delete, None),
    }
    walker.finish()
}

/// All that a list of statements, or an expression, reads and binds; annotations count as read.
pub(super) fn of_scope(body: &[Stmt], expression: Option<&Expr>) -> Accesses {
    let mut walker = Walker::new(0, Follow::Scope);
    walker.stack.extend(expression.map(|expression| Item::Expression(expression, true)));
    walker.body(body);
    walker.finish()
}

/// What counts as a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follow {
    /// Variables, attributes and items.
    Paths,
    Variables,
    /// Variables, those in annotations too: these decide which scope a variable belongs to, though
    /// they are not evaluated.
    Scope,
}

#[derive(Clone, Copy, PartialEq)]
enum PatternPart {
    Values,
    Captures,
}

enum Item<'a> {
    Expression(&'a Expr, bool),
    /// Bind the target of a walrus, whose value has been evaluated by now.
    Walrus(&'a ast::ExprNamed, bool),
    Target {
        target: &'a Expr,
        value: Option<&'a Expr>,
        kind: DefKind,
    },
    Interpolation(&'a ast::InterpolatedStringElement, bool),
    Statement(&'a Stmt),
    /// The end of a part that may have been skipped: forget what it bound after the first so many.
    Forget(usize),
}

/// Collects in the order of evaluation: the stack's last item is next.
struct Walker<'a> {
    found: Accesses,
    depth: u32,
    follow: Follow,
    stack: Vec<Item<'a>>,
    /// Bound by a walrus in this piece; whether surely so beyond the part that is being evaluated.
    bound: Vec<(Name, bool)>,
}

impl<'a> Walker<'a> {
    fn new(depth: u32, follow: Follow) -> Self {
        let (found, stack, bound) = (Accesses::default(), Vec::new(), Vec::new());
        Self { found, depth, follow, stack, bound }
    }

    /// The name that an expression spells, if it is one that is followed.
    fn name(&self, expression: &Expr) -> Option<QName> {
        let follows = self.follow == Follow::Paths || expression.is_name_expr();
        if follows { QName::from_expr(expression) } else { None }
    }

    fn finish(mut self) -> Accesses {
        while let Some(item) = self.stack.pop() {
            match item {
                Item::Expression(expression, certain) => self.expression(expression, certain),
                Item::Walrus(named, certain) => self.walrus(named, certain),
                Item::Target { target, value, kind } => self.target(target, value, kind),
                Item::Interpolation(element, certain) => self.interpolation(element, certain),
                Item::Statement(statement) => self.statement(statement),
                Item::Forget(kept) => self.forget(kept),
            }
        }
        self.found
    }

    fn read(&mut self, expression: &'a Expr) {
        self.stack.push(Item::Expression(expression, true));
    }

    fn body(&mut self, body: &'a [Stmt]) {
        self.stack.extend(body.iter().rev().map(Item::Statement));
    }

    fn bind(&mut self, target: &'a Expr, value: Option<&'a Expr>, kind: DefKind) {
        self.stack.push(Item::Target { target, value, kind });
    }

    fn write(&mut self, name: QName, kind: DefKind, range: TextRange, value: Option<TextRange>) {
        self.found.writes.push(Write { name, kind, range, value, certain: true });
    }

    fn write_identifier(&mut self, name: &Identifier, kind: DefKind, value: Option<TextRange>) {
        if !name.id.is_empty() {
            self.write(QName::from(&name.id), kind, name.range, value);
        }
    }

    fn load(&mut self, name: QName) {
        if self.bound.iter().any(|(bound, _)| bound == name.root_name()) {
            return;
        }
        if name.is_simple() {
            return self.found.reads.push(name);
        }
        self.found.reads.extend(name.key_names().map(QName::from));
        let mut parent = name.parent();
        self.found.reads.push(name);
        while let Some(name) = parent {
            parent = name.parent();
            self.found.reads.push(name);
        }
    }

    /// Pushes what `walk` visits, the first on top.
    fn children(&mut self, certain: bool, walk: impl FnOnce(&mut Children<'_, 'a>)) {
        let start = self.stack.len();
        let annotations = self.follow == Follow::Scope;
        walk(&mut Children { stack: &mut self.stack, certain, annotations });
        self.stack[start..].reverse();
    }
}

/// Collects the direct parts of a node.
struct Children<'s, 'a> {
    stack: &'s mut Vec<Item<'a>>,
    certain: bool,
    annotations: bool,
}

impl<'a> SourceOrderVisitor<'a> for Children<'_, 'a> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        self.stack.push(Item::Expression(expression, self.certain));
    }

    fn visit_stmt(&mut self, statement: &'a Stmt) {
        self.stack.push(Item::Statement(statement));
    }

    fn visit_interpolated_string_element(&mut self, element: &'a ast::InterpolatedStringElement) {
        self.stack.push(Item::Interpolation(element, self.certain));
    }

    fn visit_annotation(&mut self, annotation: &'a Expr) {
        if self.annotations {
            self.visit_expr(annotation);
        }
    }
}
