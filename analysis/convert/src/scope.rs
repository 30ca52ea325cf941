//! Which names a function binds, and which it takes from around it.

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, ExprContext, Pattern, Stmt};
use rustc_hash::FxHashSet;

/// The names of one scope: of a function, or of a lambda.
#[derive(Default)]
pub(super) struct Scope {
    /// Parameters and everything assigned; not what is declared `global` or `nonlocal`.
    pub(super) bound: FxHashSet<Name>,
    /// Read here or in a scope within, and not bound there.
    read: FxHashSet<Name>,
    pub(super) globals: FxHashSet<Name>,
    pub(super) nonlocals: FxHashSet<Name>,
    /// Whether `super()` or `__class__` asks for the class around.
    pub(super) needs_class: bool,
}

impl Scope {
    pub(super) fn of_function(def: &ast::StmtFunctionDef) -> Self {
        Self::of(&def.parameters, |collector| collector.visit_body(&def.body))
    }

    pub(super) fn of_statements(body: &[Stmt]) -> Self {
        Self::of(&ast::Parameters::default(), |collector| collector.visit_body(body))
    }

    pub(super) fn of_lambda(lambda: &ast::ExprLambda) -> Self {
        let none = ast::Parameters::default();
        let parameters = lambda.parameters.as_deref().unwrap_or(&none);
        Self::of(parameters, |collector| collector.visit_expr(&lambda.body))
    }

    fn of(parameters: &ast::Parameters, walk: impl FnOnce(&mut Collector)) -> Self {
        let mut collector = Collector::default();
        let names = parameters.iter().map(|parameter| parameter.name().id.clone());
        collector.scope.bound.extend(names);
        walk(&mut collector);
        let mut scope = collector.scope;
        for declared in scope.globals.iter().chain(&scope.nonlocals) {
            scope.bound.remove(declared);
        }
        scope
    }

    /// What is assigned here, whichever scope it belongs to.
    pub(super) fn assigned(self) -> FxHashSet<Name> {
        let Self { mut bound, globals, nonlocals, .. } = self;
        bound.extend(globals);
        bound.extend(nonlocals);
        bound
    }

    /// The names that belong to a scope around this one, module and builtins included.
    pub(super) fn free(&self) -> impl Iterator<Item = &Name> {
        let read = self.read.iter().filter(|name| !self.nonlocals.contains(*name));
        self.nonlocals
            .iter()
            .chain(read)
            .filter(|name| !self.bound.contains(*name) && !self.globals.contains(*name))
    }
}

#[derive(Default)]
struct Collector {
    scope: Scope,
    /// Targets of the comprehensions around.
    hidden: Vec<FxHashSet<Name>>,
}

impl Collector {
    fn bind(&mut self, name: &Name) {
        if !self.scope.bound.contains(name) {
            self.scope.bound.insert(name.clone());
        }
    }

    fn read(&mut self, name: &Name) {
        if name == "__class__" || name == "super" {
            self.scope.needs_class = true;
        }
        if !self.scope.read.contains(name) && !self.hidden.iter().any(|names| names.contains(name)) {
            self.scope.read.insert(name.clone());
        }
    }

    fn nested(&mut self, scope: &Scope) {
        self.scope.needs_class |= scope.needs_class;
        for name in scope.free() {
            self.read(name);
        }
    }

    fn defaults(&mut self, parameters: &ast::Parameters) {
        for default in parameters.iter_non_variadic_params().filter_map(|parameter| parameter.default()) {
            self.visit_expr(default);
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for Collector {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(def) => {
                self.bind(&def.name.id);
                def.decorator_list.iter().for_each(|decorator| self.visit_expr(&decorator.expression));
                self.defaults(&def.parameters);
                source_order::walk_parameters(&mut Annotations(self), &def.parameters);
                def.returns.iter().for_each(|returns| self.visit_expr(returns));
                self.nested(&Scope::of_function(def));
            }
            Stmt::ClassDef(class) => {
                self.bind(&class.name.id);
                class.decorator_list.iter().for_each(|decorator| self.visit_expr(&decorator.expression));
                class.arguments.iter().for_each(|arguments| self.visit_arguments(arguments));
                // A class body reads what it has not bound itself; its methods do not see its names.
                let mut body = Collector::default();
                body.visit_body(&class.body);
                let names: Vec<Name> = body.scope.read.into_iter().collect();
                for name in &names {
                    if name != "__class__" {
                        self.read(name);
                    }
                }
                for name in body.scope.nonlocals {
                    self.read(&name);
                }
            }
            Stmt::Global(node) => {
                self.scope.globals.extend(node.names.iter().map(|name| name.id.clone()));
            }
            Stmt::Nonlocal(node) => {
                self.scope.nonlocals.extend(node.names.iter().map(|name| name.id.clone()));
            }
            Stmt::Import(node) => {
                for alias in &node.names {
                    self.bind(&imported(alias));
                }
            }
            Stmt::ImportFrom(node) => {
                for alias in &node.names {
                    self.bind(&imported(alias));
                }
            }
            _ => source_order::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(node) => match node.ctx {
                ExprContext::Load => self.read(&node.id),
                ExprContext::Store | ExprContext::Del => {
                    if !self.hidden.iter().any(|names| names.contains(&node.id)) {
                        self.bind(&node.id);
                    }
                }
                ExprContext::Invalid => {}
            },
            Expr::Lambda(node) => {
                node.parameters.iter().for_each(|parameters| self.defaults(parameters));
                self.nested(&Scope::of_lambda(node));
            }
            Expr::ListComp(ast::ExprListComp { generators, .. })
            | Expr::SetComp(ast::ExprSetComp { generators, .. })
            | Expr::DictComp(ast::ExprDictComp { generators, .. })
            | Expr::Generator(ast::ExprGenerator { generators, .. }) => {
                // The first iterable is evaluated outside.
                generators.iter().take(1).for_each(|generator| self.visit_expr(&generator.iter));
                self.hidden.push(targets(generators));
                source_order::walk_expr(self, expression);
                self.hidden.pop();
            }
            _ => source_order::walk_expr(self, expression),
        }
    }

    fn visit_except_handler(&mut self, handler: &'a ast::ExceptHandler) {
        let ast::ExceptHandler::ExceptHandler(node) = handler;
        node.name.iter().for_each(|name| self.bind(&name.id));
        source_order::walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        captured(pattern).into_iter().for_each(|name| self.bind(&name.id));
        source_order::walk_pattern(self, pattern);
    }
}

/// Reads the annotations of parameters.
struct Annotations<'c>(&'c mut Collector);

impl<'a> SourceOrderVisitor<'a> for Annotations<'_> {
    fn visit_parameter(&mut self, parameter: &'a ast::Parameter) {
        parameter.annotation.iter().for_each(|annotation| self.0.visit_expr(annotation));
    }

    fn visit_expr(&mut self, _: &'a Expr) {}
}

/// The name that an import binds: `os` of `import os.path`.
pub(super) fn imported(alias: &ast::Alias) -> Name {
    match &alias.asname {
        Some(name) => name.id.clone(),
        None => Name::new(alias.name.split('.').next().unwrap_or_default()),
    }
}

/// The name that a pattern itself binds, its parts aside.
pub(super) fn captured(pattern: &Pattern) -> Option<&ast::Identifier> {
    match pattern {
        Pattern::MatchAs(node) => node.name.as_ref(),
        Pattern::MatchStar(node) => node.name.as_ref(),
        Pattern::MatchMapping(node) => node.rest.as_ref(),
        _ => None,
    }
}

/// The names that comprehensions bind for themselves.
pub(super) fn targets(generators: &[ast::Comprehension]) -> FxHashSet<Name> {
    let mut names = FxHashSet::default();
    let mut waiting: Vec<&Expr> = generators.iter().map(|generator| &generator.target).collect();
    while let Some(target) = waiting.pop() {
        match target {
            Expr::Name(node) => {
                names.insert(node.id.clone());
            }
            Expr::Tuple(node) => waiting.extend(&node.elts),
            Expr::List(node) => waiting.extend(&node.elts),
            Expr::Starred(node) => waiting.push(&node.value),
            _ => {}
        }
    }
    names
}
