//! What one statement or expression reads and binds.

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, ExprContext, Pattern, Stmt};
use ruff_text_size::Ranged;
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::notes::Notes;
use super::super::scope::{self, Scope};
use super::super::set::Set;

/// The names of a function by number, and what is known of all of it.
pub(super) struct Names<'a> {
    pub(super) source: &'a str,
    pub(super) notes: &'a Notes,
    numbers: FxHashMap<Name, u32>,
    pub(super) names: Vec<Name>,
    /// Read or bound by a nested function, which may be called at any time.
    pub(super) captured: Set,
    /// Bound by a nested function.
    pub(super) bound_within: Set,
    pub(super) deleted: Set,
}

impl<'a> Names<'a> {
    pub(super) fn new(source: &'a str, notes: &'a Notes) -> Self {
        Self {
            source,
            notes,
            numbers: FxHashMap::default(),
            names: Vec::new(),
            captured: Set::default(),
            bound_within: Set::default(),
            deleted: Set::default(),
        }
    }

    pub(super) fn number(&mut self, name: &Name) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.clone());
        self.numbers.insert(name.clone(), number);
        number
    }

    pub(super) fn name(&self, number: u32) -> &Name {
        &self.names[number as usize]
    }
}

/// An attribute or item that is assigned: `self.n`, `d['k']`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) text: Name,
    pub(super) root: u32,
    pub(super) target: Expr,
}

/// Collects accesses in any order.
pub(super) struct Access<'n, 'a> {
    pub(super) names: &'n mut Names<'a>,
    pub(super) reads: Set,
    pub(super) binds: Set,
    /// Bound whenever the expression is evaluated: `n` of `(n := f()) and (m := g())`.
    pub(super) certain: Set,
    pub(super) places: Vec<Place>,
    hidden: Vec<FxHashSet<Name>>,
    /// Of operands around that may not be evaluated.
    lazy: u32,
}

impl<'n, 'a> Access<'n, 'a> {
    pub(super) fn new(names: &'n mut Names<'a>) -> Self {
        Self {
            names,
            reads: Set::default(),
            binds: Set::default(),
            certain: Set::default(),
            places: Vec::new(),
            hidden: Vec::new(),
            lazy: 0,
        }
    }

    pub(super) fn bind(&mut self, name: &Name) {
        let number = self.names.number(name);
        self.binds.insert(number);
        if self.lazy == 0 {
            self.certain.insert(number);
        }
    }

    /// What is evaluated under a condition, or not at all.
    fn lazily(&mut self, visit: impl FnOnce(&mut Self)) {
        self.lazy += 1;
        visit(self);
        self.lazy -= 1;
    }

    fn read(&mut self, name: &Name) {
        if !self.hidden.iter().any(|names| names.contains(name)) {
            let number = self.names.number(name);
            self.reads.insert(number);
        }
    }

    fn function(&mut self, def: &ast::StmtFunctionDef) {
        let scope = Scope::of_function(def);
        for name in scope.free() {
            let number = self.names.number(name);
            self.names.captured.insert(number);
        }
        for name in &scope.nonlocals {
            let number = self.names.number(name);
            self.names.bound_within.insert(number);
        }
    }

    /// Methods of a class, and of classes in it.
    fn methods(&mut self, body: &[Stmt]) {
        for statement in body {
            match statement {
                Stmt::FunctionDef(def) => self.function(def),
                Stmt::ClassDef(class) => self.methods(&class.body),
                _ => {}
            }
        }
    }
}

impl<'t> SourceOrderVisitor<'t> for Access<'_, '_> {
    fn visit_stmt(&mut self, statement: &'t Stmt) {
        match statement {
            Stmt::FunctionDef(def) => {
                self.bind(&def.name.id);
                def.decorator_list.iter().for_each(|decorator| self.visit_expr(&decorator.expression));
                let defaults = def.parameters.iter_non_variadic_params();
                defaults
                    .filter_map(|parameter| parameter.default())
                    .for_each(|default| self.visit_expr(default));
                self.function(def);
            }
            Stmt::ClassDef(class) => {
                self.bind(&class.name.id);
                self.methods(&class.body);
                let (binds, certain, places) = (self.binds.clone(), self.certain.clone(), self.places.len());
                source_order::walk_stmt(self, statement);
                // What the body binds are attributes of the class.
                self.binds = binds;
                self.certain = certain;
                self.places.truncate(places);
            }
            // A function like one by `def`.
            Stmt::Assign(node) => {
                if let Expr::Lambda(lambda) = &*node.value {
                    for name in Scope::of_lambda(lambda).free() {
                        let number = self.names.number(name);
                        self.names.captured.insert(number);
                    }
                }
                source_order::walk_stmt(self, statement);
            }
            Stmt::Import(node) => node.names.iter().for_each(|alias| self.bind(&scope::imported(alias))),
            Stmt::ImportFrom(node) => node.names.iter().for_each(|alias| self.bind(&scope::imported(alias))),
            Stmt::AugAssign(node) => {
                if let Expr::Name(name) = &*node.target {
                    self.read(&name.id);
                }
                source_order::walk_stmt(self, statement);
            }
            _ => source_order::walk_stmt(self, statement),
        }
    }

    fn visit_annotation(&mut self, _: &'t Expr) {}

    fn visit_expr(&mut self, expression: &'t Expr) {
        match expression {
            Expr::Name(node) => match node.ctx {
                ExprContext::Load => self.read(&node.id),
                ExprContext::Store | ExprContext::Invalid => {
                    if !self.hidden.iter().any(|names| names.contains(&node.id)) {
                        self.bind(&node.id);
                    }
                }
                ExprContext::Del => {
                    let number = self.names.number(&node.id);
                    self.names.deleted.insert(number);
                    self.binds.insert(number);
                    self.certain.insert(number);
                }
            },
            Expr::Attribute(ast::ExprAttribute { ctx: ExprContext::Store, .. })
            | Expr::Subscript(ast::ExprSubscript { ctx: ExprContext::Store, .. }) => {
                if let Some(root) = root(expression) {
                    let root = self.names.number(root);
                    let text = Name::new(&self.names.source[expression.range()]);
                    self.places.push(Place { text, root, target: expression.clone() });
                }
                source_order::walk_expr(self, expression);
            }
            Expr::Lambda(node) => {
                node.parameters.iter().for_each(|parameters| {
                    let defaults = parameters.iter_non_variadic_params();
                    defaults
                        .filter_map(|parameter| parameter.default())
                        .for_each(|default| self.visit_expr(default));
                });
                let scope = Scope::of_lambda(node);
                for name in scope.free() {
                    self.read(name);
                }
            }
            Expr::ListComp(ast::ExprListComp { generators, .. })
            | Expr::SetComp(ast::ExprSetComp { generators, .. })
            | Expr::DictComp(ast::ExprDictComp { generators, .. })
            | Expr::Generator(ast::ExprGenerator { generators, .. }) => {
                generators.iter().take(1).for_each(|generator| self.visit_expr(&generator.iter));
                self.hidden.push(scope::targets(generators));
                self.lazily(|access| source_order::walk_expr(access, expression));
                self.hidden.pop();
            }
            Expr::BoolOp(node) => {
                let mut values = node.values.iter();
                values.by_ref().take(1).for_each(|value| self.visit_expr(value));
                self.lazily(|access| values.for_each(|value| access.visit_expr(value)));
            }
            Expr::If(node) => {
                self.visit_expr(&node.test);
                self.lazily(|access| {
                    access.visit_expr(&node.body);
                    access.visit_expr(&node.orelse);
                });
            }
            Expr::Compare(node) => {
                self.visit_expr(&node.left);
                let mut operands = node.comparators.iter();
                operands.by_ref().take(1).for_each(|operand| self.visit_expr(operand));
                self.lazily(|access| operands.for_each(|operand| access.visit_expr(operand)));
            }
            _ => source_order::walk_expr(self, expression),
        }
    }

    fn visit_pattern(&mut self, pattern: &'t Pattern) {
        scope::captured(pattern).into_iter().for_each(|name| self.bind(&name.id));
        source_order::walk_pattern(self, pattern);
    }
}

/// The variable that a simple place starts from: `self` of `self.a['k'].n`.
fn root(mut place: &Expr) -> Option<&Name> {
    loop {
        match place {
            Expr::Name(node) => return Some(&node.id),
            Expr::Attribute(node) => place = &node.value,
            Expr::Subscript(node)
                if matches!(&*node.slice, Expr::StringLiteral(_) | Expr::NumberLiteral(_)) =>
            {
                place = &node.value;
            }
            _ => return None,
        }
    }
}
