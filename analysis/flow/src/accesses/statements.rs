//! Accesses of statements: targets, patterns, imports and declarations. A compound statement is walked
//! as a whole only within a nested scope. In the function itself each of its steps is a separate node.

use ruff_python_ast::visitor::source_order;
use ruff_python_ast::{self as ast, Expr, Identifier, Pattern, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::{DefKind, Item, PatternPart, Tracking, Walker};
use ag_syntax::qname::QName;

impl<'a> Walker<'a> {
    pub(super) fn statement(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Assign(node) => {
                for target in node.targets.iter().rev() {
                    self.bind(target, Some(&node.value), DefKind::Assign);
                }
                match (&*node.targets, &*node.value) {
                    // `f = lambda: x` is equivalent to a `def`, so `x` is captured.
                    ([Expr::Name(_)], Expr::Lambda(lambda)) => self.named_lambda(lambda),
                    _ => self.read(&node.value),
                }
            }
            Stmt::AugAssign(node) => {
                self.bind(&node.target, Some(&node.value), DefKind::AugAssign);
                self.read(&node.value);
                self.read(&node.target);
            }
            Stmt::AnnAssign(node) => {
                if self.tracking == Tracking::Scope {
                    self.read(&node.annotation);
                }
                match (&node.value, &*node.target) {
                    (Some(value), target) => {
                        self.bind(target, Some(value), DefKind::Assign);
                        self.read(value);
                    }

                    (None, Expr::Name(name)) if name.id.is_empty() => {}
                    (None, Expr::Name(name)) => self.found.declared.push(name.id.clone()),
                    (None, Expr::Attribute(target)) => self.read(&target.value),
                    (None, target) => self.read(target),
                }
            }
            Stmt::Delete(node) => {
                for target in node.targets.iter().rev() {
                    self.bind(target, None, DefKind::Delete);
                }
            }
            Stmt::Assert(node) => {
                self.stack.extend(node.msg.as_deref().map(|message| Item::Expression(message, false)));
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
            Stmt::Global(node) => self.found.globals.extend(node.names.iter().map(|name| name.id.clone())),
            Stmt::Nonlocal(node) => {
                self.found.nonlocals.extend(node.names.iter().map(|name| name.id.clone()))
            }
            // The value of `type X = …` is evaluated lazily.
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
                    self.stack.extend(case.guard.as_deref().map(|guard| Item::Expression(guard, true)));
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

    /// Binds a target after its value has been evaluated. `a, b = x, y` binds `a` to `x`. In `a, b = f()`, the targets
    /// do not correspond to elements one to one, so they have no value expression.
    pub(super) fn target(&mut self, target: &'a Expr, value: Option<&'a Expr>, kind: DefKind) {
        match target {
            Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                let values =
                    value.filter(|_| kind == DefKind::Assign).and_then(|value| elements(value, elts));
                for (index, target) in elts.iter().enumerate().rev() {
                    let value = match values {
                        Some(values) => values.get(index),
                        None => value.filter(|_| kind != DefKind::Assign),
                    };
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
                    // The parser has recovered from an error: this is not a valid target.
                    _ => self.read(target),
                }
                if let Some(name) = self.name(target) {
                    self.write(name, kind, target.range(), value.map(Ranged::range));
                }
            }
        }
    }

    fn item(&mut self, node: &ast::ExprSubscript) {
        if self.tracking == Tracking::Paths
            && let Some(container) = QName::from_expr(&node.value)
        {
            self.found.items.push((container, node.range));
        }
    }

    pub(super) fn with_item(&mut self, item: &'a ast::WithItem) {
        if let Some(target) = &item.optional_vars {
            self.bind(target, Some(&item.context_expr), DefKind::With);
        }
        self.read(&item.context_expr);
    }

    pub(super) fn pattern(&mut self, pattern: &'a Pattern, part: PatternPart, subject: Option<TextRange>) {
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
}

/// Returns the elements of a tuple or list display if they correspond to `targets` one to one.
fn elements<'a>(value: &'a Expr, targets: &[Expr]) -> Option<&'a [Expr]> {
    let (Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. })) = value else {
        return None;
    };
    let starred = |elements: &[Expr]| elements.iter().any(Expr::is_starred_expr);
    (elts.len() == targets.len() && !starred(elts) && !starred(targets)).then_some(elts.as_slice())
}
