//! The scopes of a file: the bindings of its names, and its calls. They are determined from syntax. A name is resolved
//! only where one binding certainly reaches its use.

use ag_syntax::expressions;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::{FxHashMap, FxHashSet};

use super::FileContext;

/// The module, a function, a class or a lambda. Scopes are numbered in source order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ScopeId(usize);

const MODULE: ScopeId = ScopeId(0);

/// The value or definition to which a name is bound.
#[derive(Clone, Copy)]
pub(crate) enum Bound<'a> {
    Value(&'a Expr),
    Function(&'a ast::StmtFunctionDef),
    Class(&'a ast::StmtClassDef),
    /// `for i in range(n)`
    Count,
    /// `for x in xs`: an element of the iterable.
    Element(&'a Expr),
    Import,
    Other,
}

#[derive(Clone, Copy)]
pub(crate) struct Binding<'a> {
    pub bound: Bound<'a>,
    /// The range of the name where it is bound.
    pub range: TextRange,
    /// The offset at which the binding takes effect: the right side of `x = f(x)` still reads the previous binding.
    from: TextSize,
    /// Whether the binding is a statement of the scope's own block, and in no `if` or loop.
    certain: bool,
    /// The outermost loop around the binding.
    pub repeated: Option<TextRange>,
    /// The scope whose code binds the name. With `global` and `nonlocal`, it is not the scope to which the name
    /// belongs.
    pub by: ScopeId,
}

struct Scope<'a> {
    parent: Option<ScopeId>,
    is_class: bool,
    /// The range of the scope's code.
    range: TextRange,
    bindings: FxHashMap<&'a str, Vec<Binding<'a>>>,
    outer: FxHashSet<&'a str>,
    globals: FxHashSet<&'a str>,
}

/// The place of a call, or of the assignment to an attribute.
#[derive(Clone, Copy)]
pub(crate) struct Site<'a, T> {
    pub node: &'a T,
    pub scope: ScopeId,
    /// The outermost loop around it, within its scope.
    pub repeated: Option<TextRange>,
}

pub(crate) struct Program<'a> {
    scopes: Vec<Scope<'a>>,
    pub functions: Vec<(&'a ast::StmtFunctionDef, ScopeId)>,
    pub lambdas: Vec<&'a ast::ExprLambda>,
    pub classes: Vec<&'a ast::StmtClassDef>,
    pub calls: Vec<Site<'a, ast::ExprCall>>,
    /// The attributes that are targets of assignments.
    pub stores: Vec<Site<'a, ast::ExprAttribute>>,
}

impl<'a> Program<'a> {
    pub(crate) fn of(ctx: &FileContext<'a>) -> Self {
        let module = Scope {
            parent: None,
            is_class: false,
            range: ctx.parsed.syntax().range(),
            bindings: FxHashMap::default(),
            outer: FxHashSet::default(),
            globals: FxHashSet::default(),
        };
        let program = Self {
            scopes: vec![module],
            functions: Vec::new(),
            lambdas: Vec::new(),
            classes: Vec::new(),
            calls: Vec::new(),
            stores: Vec::new(),
        };
        let mut collector =
            Collector { program, scope: MODULE, conditional: false, repeated: None, from: None };
        collector.visit_body(ctx.parsed.suite());
        collector.program
    }

    pub(crate) fn module(&self) -> ScopeId {
        MODULE
    }

    /// Returns the scope of a function or lambda.
    pub(crate) fn scope_of(&self, range: TextRange) -> Option<ScopeId> {
        self.scopes.iter().position(|scope| scope.range == range).map(ScopeId)
    }

    pub(crate) fn range(&self, scope: ScopeId) -> TextRange {
        self.scopes[scope.0].range
    }

    /// Returns the scope to which a name belongs when code of `scope` reads it.
    pub(crate) fn owner(&self, scope: ScopeId, name: &str) -> Option<ScopeId> {
        let mut current = Some(scope);
        while let Some(id) = current {
            let here = &self.scopes[id.0];
            if here.globals.contains(name) {
                return Some(MODULE);
            }
            if (id == scope || !here.is_class)
                && here.bindings.contains_key(name)
                && !here.outer.contains(name)
            {
                return Some(id);
            }
            current = here.parent;
        }
        None
    }

    pub(crate) fn bindings(&self, scope: ScopeId, name: &str) -> &[Binding<'a>] {
        self.scopes[scope.0].bindings.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns what the only binding of a name in a module or class binds it to.
    pub(crate) fn only_binding(&self, scope: ScopeId, name: &str) -> Option<Bound<'a>> {
        match self.bindings(scope, name) {
            [only] if only.certain && only.by == scope => Some(only.bound),
            _ => None,
        }
    }

    /// Returns the value that a name certainly has at the position `at`, and the scope that binds the name.
    pub(crate) fn lookup(&self, scope: ScopeId, name: &str, at: TextSize) -> Option<(Bound<'a>, ScopeId)> {
        self.binding(scope, name, at).map(|(binding, owner)| (binding.bound, owner))
    }

    /// Returns the binding that certainly reaches a use; `None` if there is none.
    pub(crate) fn binding(
        &self,
        scope: ScopeId,
        name: &str,
        at: TextSize,
    ) -> Option<(&Binding<'a>, ScopeId)> {
        let owner = self.owner(scope, name)?;
        let bindings = self.bindings(owner, name);
        let found = match bindings {
            [only] => Some(only),
            _ if owner != scope => None,
            _ => {
                let before = bindings.iter().filter(|binding| binding.from <= at);
                let last = before.clone().max_by_key(|binding| binding.from)?;
                let stable = last.certain && bindings.iter().all(|binding| binding.by == owner);
                let changes_in_loop = bindings.iter().any(|binding| {
                    binding.from > at && binding.repeated.is_some_and(|range| range.contains(at))
                });
                (stable && !changes_in_loop).then_some(last)
            }
        };
        found.filter(|binding| binding.by == owner).map(|binding| (binding, owner))
    }

    /// Returns a function with the functions of the module that it calls by name, directly or through others.
    pub(crate) fn with_helpers(&self, def: &'a ast::StmtFunctionDef) -> Vec<&'a ast::StmtFunctionDef> {
        let mut reached = vec![def];
        let mut at = 0;
        while let Some(caller) = reached.get(at).copied() {
            at += 1;
            let called = expressions::of_function(caller).into_iter().filter_map(Expr::as_call_expr);
            for name in called.filter_map(|call| call.func.as_name_expr()) {
                let helper = self.functions.iter().find(|(def, around)| {
                    *around == self.module() && def.name.id == name.id && def.decorator_list.is_empty()
                });
                let is_new =
                    |helper: &&ast::StmtFunctionDef| !reached.iter().any(|it| it.range() == helper.range());
                reached.extend(helper.map(|(def, _)| *def).filter(is_new));
            }
        }
        reached
    }

    /// Returns the method to which `self.name` refers, in a method of the same class; `None` if any code assigns to an
    /// attribute with this name.
    pub(crate) fn method(
        &self,
        scope: ScopeId,
        attribute: &ast::ExprAttribute,
    ) -> Option<&'a ast::StmtFunctionDef> {
        let class = self.class_of_receiver(scope, attribute)?;
        let is_assigned = self.stores.iter().any(|store| store.node.attr.id == attribute.attr.id);
        match self.bindings(class, &attribute.attr) {
            [Binding { bound: Bound::Function(def), .. }] if !is_assigned => Some(*def),
            _ => None,
        }
    }

    /// Returns the value that the constructor assigns to `self.name`, which a method of the same class reads, and the
    /// scope of the constructor. `None` if other code assigns to an attribute with this name.
    pub(crate) fn attribute_value(
        &self,
        scope: ScopeId,
        attribute: &ast::ExprAttribute,
    ) -> Option<(&'a Expr, ScopeId)> {
        let class = self.class_of_receiver(scope, attribute)?;
        let mut stores = self.stores.iter().filter(|store| store.node.attr.id == attribute.attr.id);
        let store = stores.next().filter(|_| stores.next().is_none())?;
        if self.class_of_receiver(store.scope, store.node)? != class {
            return None;
        }
        let constructor = self.functions.iter().find(|(def, _)| def.range() == self.range(store.scope))?;
        let assigns = |statement: &'a Stmt| match statement {
            Stmt::Assign(assign) => match assign.targets.as_slice() {
                [Expr::Attribute(target)] if target.range() == store.node.range() => Some(&*assign.value),
                _ => None,
            },
            _ => None,
        };
        let body = &constructor.0.body;
        let value = body.iter().filter(|_| constructor.0.name.as_str() == "__init__").find_map(assigns)?;
        Some((value, store.scope))
    }

    /// Returns the method of an object that the file creates: `model.loss` after `model = Model(3)`, `self.layer.call`
    /// after `self.layer = Layer(3)` in the constructor. Returns `None` if code assigns to an attribute with the name
    /// of the method.
    pub(crate) fn method_of_object(
        &self,
        scope: ScopeId,
        object: &'a Expr,
        method: &str,
    ) -> Option<&'a ast::StmtFunctionDef> {
        let class = self.class_of_object(scope, object)?;
        let is_assigned = self.stores.iter().any(|store| store.node.attr.as_str() == method);
        match self.bindings(self.scope_of(class.range())?, method) {
            [Binding { bound: Bound::Function(def), .. }]
                if !is_assigned && class.decorator_list.is_empty() =>
            {
                Some(*def)
            }
            _ => None,
        }
    }

    /// Returns the class of an object that the file creates: `model` after `model = Model(3)`, `self.layer` after
    /// `self.layer = Layer(3)` in the constructor, `Model(3)`.
    pub(crate) fn class_of_object(&self, scope: ScopeId, object: &'a Expr) -> Option<&'a ast::StmtClassDef> {
        let (value, scope) = match object {
            Expr::Attribute(attribute) => self.attribute_value(scope, attribute)?,
            Expr::Name(_) => match self.value(scope, object) {
                (Bound::Value(value), scope) => (value, scope),
                _ => return None,
            },
            Expr::Call(_) => (object, scope),
            _ => return None,
        };
        match self.value(scope, &value.as_call_expr()?.func) {
            (Bound::Class(class), _) => Some(class),
            _ => None,
        }
    }

    /// Returns the calls of a function or class of the file by name. `range` is that of its definition.
    pub(crate) fn calls_of(&self, range: TextRange) -> impl Iterator<Item = &Site<'a, ast::ExprCall>> {
        self.calls.iter().filter(move |site| match self.value(site.scope, &site.node.func) {
            (Bound::Function(def), _) => def.range() == range,
            (Bound::Class(class), _) => class.range() == range,
            _ => false,
        })
    }

    /// Returns the class of `self`, in a method of the class.
    pub(crate) fn class_of_name(
        &self,
        scope: ScopeId,
        name: &ast::ExprName,
    ) -> Option<&'a ast::StmtClassDef> {
        let range = self.range(self.class_of_self(scope, name)?);
        self.classes.iter().find(|class| class.range() == range).copied()
    }

    /// Returns the class in whose method `self.name` is read or assigned.
    fn class_of_receiver(&self, scope: ScopeId, attribute: &ast::ExprAttribute) -> Option<ScopeId> {
        self.class_of_self(scope, attribute.value.as_name_expr()?)
    }

    fn class_of_self(&self, scope: ScopeId, receiver: &ast::ExprName) -> Option<ScopeId> {
        let owner = self.owner(scope, &receiver.id)?;
        let (method, around) = self.functions.iter().find(|(def, _)| def.range() == self.range(owner))?;
        let first = method.parameters.posonlyargs.iter().chain(&method.parameters.args).next()?;
        let is_receiver = self.scopes[around.0].is_class
            && first.parameter.name.as_str() == receiver.id.as_str()
            && self.bindings(owner, &receiver.id).len() == 1
            && method.decorator_list.iter().all(|it| !is_static(&it.expression));
        is_receiver.then_some(*around)
    }

    /// Returns the value of an expression. For a name, this is the value to which it is bound.
    pub(crate) fn value(&self, scope: ScopeId, expression: &'a Expr) -> (Bound<'a>, ScopeId) {
        let (mut value, mut scope) = (expression, scope);
        for _ in 0..4 {
            let Expr::Name(name) = value else { return (Bound::Value(value), scope) };
            match self.lookup(scope, &name.id, name.range().start()) {
                Some((Bound::Value(next), owner)) => (value, scope) = (next, owner),
                Some(found) => return found,
                None => return (Bound::Value(value), scope),
            }
        }
        (Bound::Other, scope)
    }
}

struct Collector<'a> {
    program: Program<'a>,
    scope: ScopeId,
    conditional: bool,
    repeated: Option<TextRange>,
    /// The end of the assignment whose targets are currently being bound.
    from: Option<TextSize>,
}

impl<'a> Collector<'a> {
    fn bind(&mut self, name: &'a str, range: TextRange, bound: Bound<'a>) {
        let here = &self.program.scopes[self.scope.0];
        let owner = if here.globals.contains(name) {
            MODULE
        } else if here.outer.contains(name) {
            let parent = here.parent.and_then(|parent| self.program.owner(parent, name));
            parent.unwrap_or(MODULE)
        } else {
            self.scope
        };
        let (certain, repeated) = (!self.conditional, self.repeated);
        let from = self.from.unwrap_or(range.start());
        let binding = Binding { bound, range, from, certain, repeated, by: self.scope };
        self.program.scopes[owner.0].bindings.entry(name).or_default().push(binding);
    }

    fn bind_target(&mut self, target: &'a Expr, value: Option<&'a Expr>) {
        match target {
            Expr::Name(name) => self.bind(&name.id, name.range(), value.map_or(Bound::Other, Bound::Value)),
            Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                let values = value.and_then(Expr::as_tuple_expr).filter(|values| {
                    values.elts.len() == elts.len() && !elts.iter().any(Expr::is_starred_expr)
                });
                for (position, element) in elts.iter().enumerate() {
                    self.bind_target(element, values.and_then(|values| values.elts.get(position)));
                }
            }
            Expr::Starred(starred) => self.bind_target(&starred.value, None),
            Expr::Attribute(attribute) => {
                self.program.stores.push(Site {
                    node: attribute,
                    scope: self.scope,
                    repeated: self.repeated,
                });
            }
            _ => {}
        }
    }

    /// Binds the targets of an assignment. The bindings take effect at its end.
    fn assign(&mut self, target: &'a Expr, value: Option<&'a Expr>, assignment: TextRange) {
        self.from = Some(assignment.end());
        self.bind_target(target, value);
        self.from = None;
    }

    fn within(&mut self, range: TextRange, is_class: bool, visit: impl FnOnce(&mut Self)) {
        let scope = Scope {
            parent: Some(self.scope),
            is_class,
            range,
            bindings: FxHashMap::default(),
            outer: FxHashSet::default(),
            globals: FxHashSet::default(),
        };
        let id = ScopeId(self.program.scopes.len());
        self.program.scopes.push(scope);
        let outer = (self.scope, self.conditional, self.repeated);
        (self.scope, self.conditional, self.repeated) = (id, false, None);
        visit(self);
        (self.scope, self.conditional, self.repeated) = outer;
    }

    fn conditionally(&mut self, repeated: Option<TextRange>, visit: impl FnOnce(&mut Self)) {
        let outer = (self.conditional, self.repeated);
        self.conditional = true;
        self.repeated = self.repeated.or(repeated);
        visit(self);
        (self.conditional, self.repeated) = outer;
    }

    fn bind_parameters(&mut self, parameters: &'a ast::Parameters) {
        for parameter in parameters {
            self.bind(parameter.name().as_str(), parameter.name().range(), Bound::Other);
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for Collector<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(def) => {
                def.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                self.visit_parameters(&def.parameters);
                self.bind(&def.name, def.name.range(), Bound::Function(def));
                self.program.functions.push((def, self.scope));
                self.within(def.range(), false, |inner| {
                    inner.bind_parameters(&def.parameters);
                    inner.visit_body(&def.body);
                });
            }
            Stmt::ClassDef(class) => {
                class.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                self.bind(&class.name, class.name.range(), Bound::Class(class));
                self.program.classes.push(class);
                self.within(class.range(), true, |inner| inner.visit_body(&class.body));
            }
            Stmt::Global(global) => {
                let names = global.names.iter().map(|name| name.as_str());
                self.program.scopes[self.scope.0].globals.extend(names);
            }
            Stmt::Nonlocal(nonlocal) => {
                let names = nonlocal.names.iter().map(|name| name.as_str());
                self.program.scopes[self.scope.0].outer.extend(names);
            }
            Stmt::Assign(assign) => {
                self.visit_expr(&assign.value);
                for target in &assign.targets {
                    self.visit_expr(target);
                    self.assign(target, Some(&assign.value), assign.range());
                }
            }
            Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    self.visit_expr(value);
                    self.assign(&assign.target, Some(value), assign.range());
                }
            }
            Stmt::AugAssign(assign) => {
                self.visit_expr(&assign.value);
                self.visit_expr(&assign.target);
                self.assign(&assign.target, None, assign.range());
            }
            Stmt::For(node) => {
                self.visit_expr(&node.iter);
                self.conditionally(Some(node.range()), |inner| {
                    match &*node.target {
                        Expr::Name(name) if is_range(&node.iter) => {
                            inner.bind(&name.id, name.range(), Bound::Count);
                        }
                        Expr::Name(name) => inner.bind(&name.id, name.range(), Bound::Element(&node.iter)),
                        target => inner.bind_target(target, None),
                    }
                    inner.visit_body(&node.body);
                });
                self.conditionally(None, |inner| inner.visit_body(&node.orelse));
            }
            Stmt::While(node) => {
                self.conditionally(Some(node.range()), |inner| source_order::walk_stmt(inner, statement));
            }
            Stmt::If(_) | Stmt::Try(_) | Stmt::Match(_) => {
                self.conditionally(None, |inner| source_order::walk_stmt(inner, statement));
            }
            Stmt::With(node) => {
                for item in &node.items {
                    self.visit_expr(&item.context_expr);
                    if let Some(target) = &item.optional_vars {
                        self.bind_target(target, None);
                    }
                }
                self.visit_body(&node.body);
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name);
                    self.bind(name.split('.').next().unwrap_or_default(), alias.range(), Bound::Import);
                }
            }
            Stmt::ImportFrom(import) => {
                for alias in &import.names {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name);
                    self.bind(name.as_str(), alias.range(), Bound::Import);
                }
            }
            _ => source_order::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Lambda(lambda) => {
                self.program.lambdas.push(lambda);
                self.within(lambda.range(), false, |inner| {
                    if let Some(parameters) = &lambda.parameters {
                        inner.bind_parameters(parameters);
                    }
                    inner.visit_expr(&lambda.body);
                });
            }
            Expr::Named(named) => {
                self.visit_expr(&named.value);
                self.assign(&named.target, Some(&named.value), named.range());
            }
            Expr::Call(call) => {
                self.program.calls.push(Site { node: call, scope: self.scope, repeated: self.repeated });
                source_order::walk_expr(self, expression);
            }
            Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) => {
                // In a comprehension, its targets hide the names of the scope.
                self.within(expression.range(), false, |inner| {
                    inner.conditional = true;
                    inner.repeated = Some(expression.range());
                    let mut targets = Targets(Vec::new());
                    source_order::walk_expr(&mut targets, expression);
                    for target in targets.0 {
                        inner.bind_target(target, None);
                    }
                    source_order::walk_expr(inner, expression);
                });
            }
            _ => source_order::walk_expr(self, expression),
        }
    }
}

/// Returns whether a decorator is `staticmethod` or `classmethod`.
fn is_static(decorator: &Expr) -> bool {
    decorator.as_name_expr().is_some_and(|name| matches!(name.id.as_str(), "staticmethod" | "classmethod"))
}

/// Returns whether an iterable is `range(n)`.
fn is_range(iterable: &Expr) -> bool {
    let function = iterable.as_call_expr().and_then(|call| call.func.as_name_expr());
    function.is_some_and(|name| name.id.as_str() == "range")
}

/// The targets of a comprehension.
struct Targets<'a>(Vec<&'a Expr>);

impl<'a> SourceOrderVisitor<'a> for Targets<'a> {
    fn visit_comprehension(&mut self, comprehension: &'a ast::Comprehension) {
        self.0.push(&comprehension.target);
    }

    fn visit_expr(&mut self, _expression: &'a Expr) {}
}
