//! The names that a piece of syntax reads and binds, in evaluation order.
//!
//! Expressions and statements are walked with an explicit stack. Only nested scopes are walked recursively, up to
//! [`nested::MAX_DEPTH`]. Functions with deeper scopes are reported as too deep.
//!
//! Annotations and type parameters are not evaluated, so their names are not read. A use of a name that the same piece
//! of syntax has definitely bound before does not count as a read:
//!
//! ```python
//! (n := f()) > 0 and n < 9    # reads f, binds n
//! ```

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

/// The kind of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DefKind {
    /// A parameter, with its index in the signature.
    Parameter(u32),
    /// A value from outside: that of a global, a builtin or a variable of an enclosing function.
    Outer,
    /// No value yet: the state of a local variable at the start of the function.
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
    /// A binding in a nested function (`nonlocal x`). It may happen at any point after the nested function is defined.
    Closure,
    /// An assignment to another item of the same container, whose key may be equal: `d[f()] = v` for `d[0]`.
    Item,
}

impl DefKind {
    /// Returns whether the name has a value after the definition.
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
    /// The range of the value's expression, if the syntax contains one.
    pub(super) value: Option<TextRange>,
    /// Whether it happens on every path on which the evaluation of the syntax completes.
    pub(super) certain: bool,
}

#[derive(Debug, Default)]
pub(super) struct Accesses {
    pub(super) reads: Vec<QName>,
    pub(super) writes: Vec<Write>,
    /// The names that are read when a function that is defined here is called.
    pub(super) captures: Vec<QName>,
    pub(super) globals: Vec<Name>,
    pub(super) nonlocals: Vec<Name>,
    /// The names that an annotation without a value makes local: `x: int`.
    pub(super) declared: Vec<Name>,
    /// The containers with an item that is assigned or deleted, each with the range of the item: `d` for `d[f()] = v`.
    pub(super) items: Vec<(QName, TextRange)>,
    pub(super) too_deep: bool,
}

/// Returns the accesses of one node.
pub(super) fn of_node(syntax: Syntax<'_>, input: &Input<'_>) -> Accesses {
    let mut walker = Walker::new(0, if input.tracks_paths { Tracking::Paths } else { Tracking::Variables });
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

/// Returns the accesses of a statement list and an optional expression. Names in annotations count as reads.
pub(super) fn of_scope(body: &[Stmt], expression: Option<&Expr>) -> Accesses {
    let mut walker = Walker::new(0, Tracking::Scope);
    walker.stack.extend(expression.map(|expression| Item::Expression(expression, true)));
    walker.body(body);
    walker.finish()
}

/// Which names are tracked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tracking {
    /// Variables, attributes and items.
    Paths,
    Variables,
    /// Variables, including those in annotations. Annotations are not evaluated, but they affect to which scope a
    /// variable belongs.
    Scope,
}

#[derive(Clone, Copy, PartialEq)]
enum PatternPart {
    Values,
    Captures,
}

enum Item<'a> {
    Expression(&'a Expr, bool),
    /// Binds the target of a walrus, whose value has been evaluated before.
    Walrus(&'a ast::ExprNamed, bool),
    Target {
        target: &'a Expr,
        value: Option<&'a Expr>,
        kind: DefKind,
    },
    Interpolation(&'a ast::InterpolatedStringElement, bool),
    Statement(&'a Stmt),
    /// The end of a part that may be skipped. The names that this part binds are the names in [`Walker::bound`] from
    /// this index on. They are not definitely bound after the part.
    EndOptional(usize),
}

/// Collects accesses in evaluation order. The last item of the stack is processed next.
struct Walker<'a> {
    found: Accesses,
    depth: u32,
    tracking: Tracking,
    stack: Vec<Item<'a>>,
    /// The names that a walrus in this piece of syntax has bound, each with whether it does so on every path.
    bound: Vec<(Name, bool)>,
}

impl<'a> Walker<'a> {
    fn new(depth: u32, tracking: Tracking) -> Self {
        let (found, stack, bound) = (Accesses::default(), Vec::new(), Vec::new());
        Self { found, depth, tracking, stack, bound }
    }

    /// Returns the name that an expression denotes, if such names are tracked.
    fn name(&self, expression: &Expr) -> Option<QName> {
        let is_tracked = self.tracking == Tracking::Paths || expression.is_name_expr();
        if is_tracked { QName::from_expr(expression) } else { None }
    }

    fn finish(mut self) -> Accesses {
        while let Some(item) = self.stack.pop() {
            match item {
                Item::Expression(expression, certain) => self.expression(expression, certain),
                Item::Walrus(named, certain) => self.walrus(named, certain),
                Item::Target { target, value, kind } => self.target(target, value, kind),
                Item::Interpolation(element, certain) => self.interpolation(element, certain),
                Item::Statement(statement) => self.statement(statement),
                Item::EndOptional(outer) => self.end_optional(outer),
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

    /// Pushes the nodes that `walk` visits. The first one is on top of the stack.
    fn children(&mut self, certain: bool, walk: impl FnOnce(&mut Children<'_, 'a>)) {
        let start = self.stack.len();
        let annotations = self.tracking == Tracking::Scope;
        walk(&mut Children { stack: &mut self.stack, certain, annotations });
        self.stack[start..].reverse();
    }
}

/// Collects the direct children of a node.
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
