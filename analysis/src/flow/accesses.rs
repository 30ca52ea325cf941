//! What a piece of syntax reads and binds, collected in evaluation order.
//!
//! An explicit stack takes the place of recursion into expressions and statements; only nested
//! scopes recurse, to a limit beyond which the function counts as too deep.
//!
//! Annotations are not read, type parameters neither. A name that the same piece has surely bound
//! before, `n` in `(n := f()) > 0 and n < 9`, is not read *by the piece*.

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Identifier, Pattern, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::build::Syntax;
use super::scope;
use crate::syntax::qname::QName;

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
    /// Containers in which an item is bound whose key is no literal: `d` of `d[f()] = v`.
    pub(super) items: Vec<(QName, TextRange)>,
    pub(super) too_deep: bool,
}

/// The accesses of one node.
pub(super) fn of_node(syntax: Syntax<'_>) -> Accesses {
    let mut walker = Walker::default();
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
        Syntax::Unbind(name) => walker.write_identifier(name, DefKind::Delete, None),
    }
    walker.finish()
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum PatternPart {
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
}

/// Collects in the order of evaluation: the stack's last item is next.
#[derive(Default)]
pub(super) struct Walker<'a> {
    found: Accesses,
    depth: u32,
    stack: Vec<Item<'a>>,
    /// Bound by a walrus in this piece.
    bound: Vec<Name>,
}

impl<'a> Walker<'a> {
    pub(super) fn nested(depth: u32) -> Self {
        Self { depth, ..Self::default() }
    }

    pub(super) fn finish(mut self) -> Accesses {
        while let Some(item) = self.stack.pop() {
            match item {
                Item::Expression(expression, certain) => self.expression(expression, certain),
                Item::Walrus(named, certain) => self.walrus(named, certain),
                Item::Target { target, value, kind } => self.target(target, value, kind),
                Item::Interpolation(element, certain) => self.interpolation(element, certain),
                Item::Statement(statement) => self.statement(statement),
            }
        }
        self.found
    }

    pub(super) fn read(&mut self, expression: &'a Expr) {
        self.stack.push(Item::Expression(expression, true));
    }

    pub(super) fn body(&mut self, body: &'a [Stmt]) {
        self.stack.extend(body.iter().rev().map(Item::Statement));
    }

    pub(super) fn bind(&mut self, target: &'a Expr, value: Option<&'a Expr>, kind: DefKind) {
        self.stack.push(Item::Target { target, value, kind });
    }

    fn write(&mut self, name: QName, kind: DefKind, range: TextRange, value: Option<TextRange>) {
        self.found.writes.push(Write { name, kind, range, value, certain: true });
    }

    pub(super) fn write_identifier(
        &mut self,
        name: &Identifier,
        kind: DefKind,
        value: Option<TextRange>,
    ) {
        if !name.id.is_empty() {
            self.write(QName::from(&name.id), kind, name.range, value);
        }
    }

    fn load(&mut self, name: QName) {
        if self.bound.iter().any(|bound| bound == name.root_name()) {
            return;
        }
        self.found.reads.extend(name.key_names().map(QName::from));
        let mut parent = name.parent();
        self.found.reads.push(name);
        while let Some(name) = parent {
            parent = name.parent();
            self.found.reads.push(name);
        }
    }

    fn expression(&mut self, expression: &'a Expr, certain: bool) {
        match expression {
            Expr::Name(_) | Expr::Attribute(_) | Expr::Subscript(_) => {
                match (QName::from_expr(expression), expression) {
                    (Some(name), _) => self.load(name),
                    (None, Expr::Attribute(node)) => {
                        self.stack.push(Item::Expression(&node.value, certain))
                    }
                    (None, Expr::Subscript(node)) => {
                        self.stack.push(Item::Expression(&node.slice, certain));
                        self.stack.push(Item::Expression(&node.value, certain));
                    }
                    (None, _) => {}
                }
            }
            Expr::Named(node) => {
                self.stack.push(Item::Walrus(node, certain));
                self.stack.push(Item::Expression(&node.value, certain));
            }
            Expr::BoolOp(node) => {
                for (index, value) in node.values.iter().enumerate().rev() {
                    self.stack.push(Item::Expression(value, certain && index == 0));
                }
            }
            Expr::Compare(node) => {
                for (index, value) in node.comparators.iter().enumerate().rev() {
                    self.stack.push(Item::Expression(value, certain && index == 0));
                }
                self.stack.push(Item::Expression(&node.left, certain));
            }
            Expr::If(node) => {
                self.stack.push(Item::Expression(&node.orelse, false));
                self.stack.push(Item::Expression(&node.body, false));
                self.stack.push(Item::Expression(&node.test, certain));
            }
            Expr::Lambda(node) => self.lambda(node),
            Expr::ListComp(node) => self.comprehension(&[&node.elt], &node.generators, certain),
            Expr::SetComp(node) => self.comprehension(&[&node.elt], &node.generators, certain),
            Expr::Generator(node) => self.comprehension(&[&node.elt], &node.generators, certain),
            Expr::DictComp(node) => match &node.key {
                Some(key) => self.comprehension(&[key, &node.value], &node.generators, certain),
                None => self.comprehension(&[&node.value], &node.generators, certain),
            },
            _ => self.children(certain, |children| source_order::walk_expr(children, expression)),
        }
    }

    /// Pushes what `walk` visits, the first on top.
    fn children(&mut self, certain: bool, walk: impl FnOnce(&mut Children<'_, 'a>)) {
        let start = self.stack.len();
        walk(&mut Children { stack: &mut self.stack, certain });
        self.stack[start..].reverse();
    }

    fn interpolation(&mut self, element: &'a ast::InterpolatedStringElement, certain: bool) {
        if let Some(node) = element.as_interpolation() {
            if let Some(spec) = &node.format_spec {
                self.stack.extend(
                    spec.elements.iter().rev().map(|element| Item::Interpolation(element, certain)),
                );
            }
            self.stack.push(Item::Expression(&node.expression, certain));
        }
    }

    fn walrus(&mut self, named: &'a ast::ExprNamed, certain: bool) {
        let Some(name) = QName::from_expr(&named.target) else { return };
        if certain {
            self.bound.push(name.root_name().clone());
        }
        let value = Some(named.value.range());
        let range = named.target.range();
        self.found.writes.push(Write { name, kind: DefKind::Walrus, range, value, certain });
    }

    /// A target after its value has been evaluated. `a, b = x, y` binds `a` to `x`; where the
    /// elements do not correspond, each target has the whole value.
    fn target(&mut self, target: &'a Expr, value: Option<&'a Expr>, kind: DefKind) {
        match target {
            Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                let values = value
                    .filter(|_| kind == DefKind::Assign)
                    .and_then(|value| elements(value, elts));
                for (index, target) in elts.iter().enumerate().rev() {
                    let value = values.map_or(value, |values| values.get(index));
                    self.bind(target, value, kind);
                }
            }
            Expr::Starred(node) => self.bind(&node.value, value, kind),
            _ => {
                match target {
                    Expr::Attribute(node) => self.read(&node.value),
                    Expr::Subscript(node) => {
                        self.read(&node.slice);
                        self.read(&node.value);
                        self.item(node);
                    }
                    Expr::Name(_) => {}
                    // Error recovery: not a target at all.
                    _ => self.read(target),
                }
                if let Some(name) = QName::from_expr(target) {
                    self.write(name, kind, target.range(), value.map(Ranged::range));
                }
            }
        }
    }

    fn item(&mut self, node: &ast::ExprSubscript) {
        if let Some(container) = QName::from_expr(&node.value) {
            self.found.items.push((container, node.range));
        }
    }

    fn with_item(&mut self, item: &'a ast::WithItem) {
        if let Some(target) = &item.optional_vars {
            self.bind(target, Some(&item.context_expr), DefKind::With);
        }
        self.read(&item.context_expr);
    }

    pub(super) fn pattern(
        &mut self,
        pattern: &'a Pattern,
        part: PatternPart,
        subject: Option<TextRange>,
    ) {
        let mut rest = vec![pattern];
        while let Some(pattern) = rest.pop() {
            let mut capture = |name: &Option<Identifier>| {
                if let (PatternPart::Captures, Some(name)) = (part, name) {
                    self.write_identifier(name, DefKind::MatchCapture, subject);
                }
            };
            let mut values: &[Expr] = &[];
            match pattern {
                Pattern::MatchValue(node) => values = std::slice::from_ref(&node.value),
                Pattern::MatchSingleton(_) => {}
                Pattern::MatchSequence(node) => rest.extend(&node.patterns),
                Pattern::MatchMapping(node) => {
                    capture(&node.rest);
                    values = &node.keys;
                    rest.extend(&node.patterns);
                }
                Pattern::MatchClass(node) => {
                    values = std::slice::from_ref(&node.cls);
                    rest.extend(&node.arguments.patterns);
                    rest.extend(node.arguments.keywords.iter().map(|keyword| &keyword.pattern));
                }
                Pattern::MatchStar(node) => capture(&node.name),
                Pattern::MatchAs(node) => {
                    capture(&node.name);
                    rest.extend(node.pattern.as_deref());
                }
                Pattern::MatchOr(node) => rest.extend(&node.patterns),
            }
            if part == PatternPart::Values {
                self.stack.extend(values.iter().map(|value| Item::Expression(value, true)));
            }
        }
    }

    pub(super) fn statement(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Assign(node) => {
                for target in node.targets.iter().rev() {
                    self.bind(target, Some(&node.value), DefKind::Assign);
                }
                match (&*node.targets, &*node.value) {
                    // `f = lambda: x` is a function like any other.
                    ([Expr::Name(_)], Expr::Lambda(lambda)) => self.named_lambda(lambda),
                    _ => self.read(&node.value),
                }
            }
            Stmt::AugAssign(node) => {
                self.bind(&node.target, Some(&node.value), DefKind::AugAssign);
                self.read(&node.value);
                self.read(&node.target);
            }
            Stmt::AnnAssign(node) => match &node.value {
                Some(value) => {
                    self.bind(&node.target, Some(value), DefKind::Assign);
                    self.read(value);
                }
                None => match &*node.target {
                    Expr::Name(_) => {}
                    Expr::Attribute(target) => self.read(&target.value),
                    target => self.read(target),
                },
            },
            Stmt::Delete(node) => {
                for target in node.targets.iter().rev() {
                    self.bind(target, None, DefKind::Delete);
                }
            }
            Stmt::Assert(node) => {
                self.stack
                    .extend(node.msg.as_deref().map(|message| Item::Expression(message, false)));
                self.read(&node.test);
            }
            Stmt::Import(node) => {
                for alias in &node.names {
                    match &alias.asname {
                        Some(name) => self.write_identifier(name, DefKind::Import, None),
                        None => {
                            let top = alias.name.split('.').next().unwrap_or_default();
                            let name = Identifier::new(top, alias.name.range);
                            self.write_identifier(&name, DefKind::Import, None);
                        }
                    }
                }
            }
            Stmt::ImportFrom(node) => {
                for alias in node.names.iter().filter(|alias| alias.name.as_str() != "*") {
                    self.write_identifier(
                        alias.asname.as_ref().unwrap_or(&alias.name),
                        DefKind::Import,
                        None,
                    );
                }
            }
            Stmt::Global(node) => {
                self.found.globals.extend(node.names.iter().map(|name| name.id.clone()))
            }
            Stmt::Nonlocal(node) => {
                self.found.nonlocals.extend(node.names.iter().map(|name| name.id.clone()))
            }
            // Its value is evaluated when it is asked for.
            Stmt::TypeAlias(node) => self.bind(&node.name, None, DefKind::TypeAlias),
            Stmt::FunctionDef(node) => self.function(node),
            Stmt::ClassDef(node) => self.class(node),
            Stmt::For(node) => {
                self.body(&node.orelse);
                self.body(&node.body);
                self.bind(&node.target, Some(&node.iter), DefKind::ForTarget);
                self.read(&node.iter);
            }
            Stmt::With(node) => {
                self.body(&node.body);
                for item in node.items.iter().rev() {
                    self.with_item(item);
                }
            }
            Stmt::Match(node) => {
                for case in node.cases.iter().rev() {
                    self.body(&case.body);
                    self.stack
                        .extend(case.guard.as_deref().map(|guard| Item::Expression(guard, true)));
                    self.pattern(&case.pattern, PatternPart::Values, None);
                    self.pattern(&case.pattern, PatternPart::Captures, Some(node.subject.range()));
                }
                self.read(&node.subject);
            }
            Stmt::Try(node) => {
                for ast::ExceptHandler::ExceptHandler(handler) in &node.handlers {
                    if let Some(name) = &handler.name {
                        self.write_identifier(name, DefKind::Except, None);
                    }
                }
                self.children(true, |children| source_order::walk_stmt(children, statement));
            }
            Stmt::If(_)
            | Stmt::While(_)
            | Stmt::Return(_)
            | Stmt::Raise(_)
            | Stmt::Expr(_)
            | Stmt::Pass(_)
            | Stmt::Break(_)
            | Stmt::Continue(_)
            | Stmt::IpyEscapeCommand(_) => {
                self.children(true, |children| source_order::walk_stmt(children, statement));
            }
        }
    }

    fn function(&mut self, node: &'a ast::StmtFunctionDef) {
        for decorator in &node.decorator_list {
            self.read(&decorator.expression);
        }
        self.defaults(&node.parameters);
        let inner =
            scope::of_function(&node.parameters, self.depth, |walker| walker.body(&node.body));
        self.found.captures.extend(inner.free);
        self.closure_writes(inner.writes);
        self.found.too_deep |= inner.too_deep;
        self.write_identifier(&node.name, DefKind::Function, None);
    }

    fn lambda(&mut self, node: &'a ast::ExprLambda) {
        for name in self.lambda_scope(node) {
            self.load(name);
        }
    }

    fn named_lambda(&mut self, node: &'a ast::ExprLambda) {
        let free = self.lambda_scope(node);
        self.found.captures.extend(free);
    }

    /// What a lambda reads when it is called.
    fn lambda_scope(&mut self, node: &'a ast::ExprLambda) -> Vec<QName> {
        static NO_PARAMETERS: std::sync::LazyLock<ast::Parameters> =
            std::sync::LazyLock::new(Default::default);
        let parameters = node.parameters.as_deref();
        if let Some(parameters) = parameters {
            self.defaults(parameters);
        }
        let parameters = parameters.unwrap_or(&NO_PARAMETERS);
        let inner = scope::of_function(parameters, self.depth, |walker| walker.read(&node.body));
        self.found.too_deep |= inner.too_deep;
        self.closure_writes(inner.writes);
        inner.free
    }

    fn defaults(&mut self, parameters: &'a ast::Parameters) {
        for parameter in parameters.iter() {
            if let Some(default) = parameter.default() {
                self.read(default);
            }
        }
    }

    /// The body of a class runs at once; its methods run later and do not see its names.
    fn class(&mut self, node: &'a ast::StmtClassDef) {
        for decorator in &node.decorator_list {
            self.read(&decorator.expression);
        }
        if let Some(arguments) = &node.arguments {
            self.children(true, |children| children.visit_arguments(arguments));
        }
        let inner = scope::of_class(self.depth, |walker| walker.body(&node.body));
        for name in inner.free {
            self.load(name);
        }
        self.found.captures.extend(inner.captures);
        self.closure_writes(inner.writes);
        self.found.too_deep |= inner.too_deep;
        self.write_identifier(&node.name, DefKind::Class, None);
    }

    /// The iterable of the first clause belongs to this scope, a walrus too.
    fn comprehension(
        &mut self,
        elements: &[&'a Expr],
        generators: &'a [ast::Comprehension],
        certain: bool,
    ) {
        if let Some(first) = generators.first() {
            self.stack.push(Item::Expression(&first.iter, certain));
        }
        let inner = scope::of_comprehension(self.depth, |walker| {
            for element in elements {
                walker.read(element);
            }
            for (index, generator) in generators.iter().enumerate() {
                for condition in &generator.ifs {
                    walker.read(condition);
                }
                walker.bind(&generator.target, None, DefKind::ForTarget);
                if index > 0 {
                    walker.read(&generator.iter);
                }
            }
        });
        for name in inner.free {
            self.load(name);
        }
        self.found.captures.extend(inner.captures);
        self.found.writes.extend(inner.writes);
        self.found.too_deep |= inner.too_deep;
    }

    fn closure_writes(&mut self, writes: Vec<Write>) {
        let writes = writes.into_iter().map(|write| Write {
            kind: DefKind::Closure,
            certain: false,
            ..write
        });
        self.found.writes.extend(writes);
    }
}

/// The elements of a display that correspond to `targets` one by one.
fn elements<'a>(value: &'a Expr, targets: &[Expr]) -> Option<&'a [Expr]> {
    let (Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. })) = value
    else {
        return None;
    };
    let starred = |elements: &[Expr]| elements.iter().any(Expr::is_starred_expr);
    (elts.len() == targets.len() && !starred(elts) && !starred(targets)).then_some(elts.as_slice())
}

/// Collects the direct parts of a node.
struct Children<'s, 'a> {
    stack: &'s mut Vec<Item<'a>>,
    certain: bool,
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

    fn visit_annotation(&mut self, _annotation: &'a Expr) {}
}
