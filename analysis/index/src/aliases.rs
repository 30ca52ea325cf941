//! The names that a file gives to functions that make their argument a root, such as `jax.jit` and `tf.function`.
//!
//! ```python
//! jit = functools.partial(jax.jit, static_argnums=0)
//! wrap = tf.function if GRAPH else identity
//! def fast(f): return jax.jit(f, donate_argnums=0)
//! ```

use ruff_python_ast::name::Name;
use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::{self as ast, Expr};
use rustc_hash::FxHashMap;

use crate::root_decorators::{self, RootDecorator, function_keyword, is_partial, resolves_to};
use ag_syntax::imports::Imports;

/// The functions of a file that make their argument a root, by name.
#[derive(Default)]
pub struct DecoratorAliases<'a> {
    /// Whether the file imports a package with a [`RootDecorator`]. If not, none of its names refers to one.
    imported: bool,
    /// Variables: `jit = functools.partial(jax.jit, static_argnums=0)`, `wrap = tf.function if GRAPH else identity`.
    aliases: FxHashMap<&'a Name, &'a Expr>,
    /// Functions that stage their first parameter, with the call that stages it:
    /// `def fast(f): return jax.jit(f, donate_argnums=0)`.
    wrappers: FxHashMap<&'a Name, &'a ast::ExprCall>,
    /// Functions that return a decorator or a function like those in `wrappers`:
    /// `def fast(n): return partial(jax.jit, static_argnums=n)`.
    factories: FxHashMap<&'a Name, Factory<'a>>,
}

enum Factory<'a> {
    Decorator(&'a Expr),
    Wrapper(&'a ast::ExprCall),
}

/// A resolved [`RootDecorator`], with the arguments that wrappers and `partial` pass to it: `static_argnums=0`.
pub(crate) struct ResolvedDecorator<'a> {
    pub(crate) decorator: &'static RootDecorator,
    pub(crate) arguments: Vec<&'a ast::Arguments>,
    /// Whether it must be called with options before it takes a function: `torch._dynamo.optimize`.
    needs_options: bool,
}

impl ResolvedDecorator<'_> {
    fn of(imports: &Imports, expression: &Expr) -> Option<Self> {
        let decorator = root_decorators::of(imports, expression)?;
        Some(Self {
            decorator,
            arguments: Vec::new(),
            needs_options: root_decorators::takes_options(decorator.name),
        })
    }
}

impl<'a> DecoratorAliases<'a> {
    /// Collects the functions of a file that make their argument a root.
    pub fn collect(imports: &Imports, body: &'a [ast::Stmt]) -> Self {
        let mut decorators = Self { imported: root_decorators::are_imported(imports), ..Self::default() };
        if decorators.imported {
            Aliases { imports, decorators: &mut decorators }.visit_body(body);
        }
        decorators
    }

    /// Resolves `jax.jit`, `partial(jax.jit, static_argnums=0)`, `tf.function(jit_compile=True)` and
    /// `jax.jit if FAST else identity`, and names that are bound to such an expression.
    pub(crate) fn resolve(&self, imports: &Imports, expression: &'a Expr) -> Option<ResolvedDecorator<'a>> {
        self.resolve_any(imports, expression).filter(|resolved| !resolved.needs_options)
    }

    /// Resolves an expression to a decorator, or to a function that returns one: `torch._dynamo.optimize`.
    fn resolve_any(&self, imports: &Imports, expression: &'a Expr) -> Option<ResolvedDecorator<'a>> {
        self.imported.then(|| self.resolve_within(imports, expression, 4))?
    }

    fn resolve_within(
        &self,
        imports: &Imports,
        expression: &'a Expr,
        depth: u8,
    ) -> Option<ResolvedDecorator<'a>> {
        let depth = depth.checked_sub(1)?;
        match expression {
            Expr::Call(call) if is_partial(imports, &call.func) => {
                let mut resolved = self.resolve_within(imports, call.arguments.args.first()?, depth)?;
                resolved.arguments.push(&call.arguments);
                Some(resolved)
            }
            Expr::Call(call) if resolves_to(imports, &call.func, &["staticmethod"]) => {
                self.resolve_within(imports, call.arguments.args.first()?, depth)
            }
            Expr::Call(call)
                if let Expr::Name(name) = &*call.func
                    && let Some(factory) = self.factories.get(&name.id) =>
            {
                match factory {
                    Factory::Decorator(decorator) => self.resolve_within(imports, decorator, depth),
                    Factory::Wrapper(wrapper) => self.resolve_wrapper(imports, wrapper, depth),
                }
            }
            // `tf.function(jit_compile=True)`, `torch._dynamo.optimize("eager")`
            Expr::Call(call) => {
                let mut resolved = self.resolve_within(imports, &call.func, depth)?;
                let has_function =
                    !call.arguments.args.is_empty() || function_keyword(&call.arguments).is_some();
                resolved.arguments.push(&call.arguments);
                let returns_decorator = std::mem::take(&mut resolved.needs_options) || !has_function;
                returns_decorator.then_some(resolved)
            }
            Expr::If(conditional) => self
                .resolve_within(imports, &conditional.body, depth)
                .or_else(|| self.resolve_within(imports, &conditional.orelse, depth)),
            Expr::Name(name) => match ResolvedDecorator::of(imports, expression) {
                Some(decorator) => Some(decorator),
                None => match self.wrappers.get(&name.id) {
                    Some(wrapper) => self.resolve_wrapper(imports, wrapper, depth),
                    None => self.resolve_within(imports, self.aliases.get(&name.id)?, depth),
                },
            },
            Expr::Attribute(_) => ResolvedDecorator::of(imports, expression),
            _ => None,
        }
    }

    /// Resolves a call in a wrapper, such as `jax.jit(f, donate_argnums=0)`.
    fn resolve_wrapper(
        &self,
        imports: &Imports,
        call: &'a ast::ExprCall,
        depth: u8,
    ) -> Option<ResolvedDecorator<'a>> {
        let mut resolved = self.resolve_within(imports, &call.func, depth)?;
        resolved.arguments.push(&call.arguments);
        Some(resolved)
    }

    /// Adds a function if it applies a decorator to its first parameter, or returns a decorator or wrapper.
    fn add_function(&mut self, imports: &Imports, def: &'a ast::StmtFunctionDef) {
        let mut calls = Calls { imports, decorators: self, def, wrapper: None };
        calls.visit_body(&def.body);
        if let Some(call) = calls.wrapper {
            self.wrappers.insert(&def.name.id, call);
            return;
        }
        let returned =
            def.body.last().and_then(ast::Stmt::as_return_stmt).and_then(|node| node.value.as_deref());
        let factory = match returned {
            Some(Expr::Name(name)) => self.wrappers.get(&name.id).map(|call| Factory::Wrapper(call)),
            Some(Expr::Lambda(lambda)) => lambda.body.as_call_expr().and_then(|call| {
                let first = lambda.parameters.as_ref()?.args.first()?.name();
                let given = call.arguments.args.first()?.as_name_expr()?;
                (given.id == first.id && self.resolve(imports, &call.func).is_some())
                    .then_some(Factory::Wrapper(call))
            }),
            Some(value) => self.resolve(imports, value).map(|_| Factory::Decorator(value)),
            None => None,
        };
        if let Some(factory) = factory {
            self.factories.insert(&def.name.id, factory);
        }
    }
}

/// Finds the call of a decorator with the first parameter of a function.
struct Calls<'a, 'b> {
    imports: &'b Imports,
    decorators: &'b DecoratorAliases<'a>,
    def: &'a ast::StmtFunctionDef,
    wrapper: Option<&'a ast::ExprCall>,
}

impl<'a> StatementVisitor<'a> for Calls<'a, '_> {
    fn visit_stmt(&mut self, statement: &'a ast::Stmt) {
        let value = match statement {
            ast::Stmt::Assign(assign) => Some(&*assign.value),
            ast::Stmt::Return(node) => node.value.as_deref(),
            ast::Stmt::FunctionDef(_) | ast::Stmt::ClassDef(_) => None,
            _ => return statement_visitor::walk_stmt(self, statement),
        };
        let parameters = &self.def.parameters;
        if let Some(Expr::Call(call)) = value
            && let Some(Expr::Name(given)) = call.arguments.args.first()
            && let Some(first) = parameters.posonlyargs.first().or_else(|| parameters.args.first())
            && first.name().id == given.id
            && self.decorators.resolve(self.imports, &call.func).is_some()
        {
            self.wrapper = Some(call);
        }
    }
}

struct Aliases<'a, 'b> {
    imports: &'b Imports,
    decorators: &'b mut DecoratorAliases<'a>,
}

impl<'a> StatementVisitor<'a> for Aliases<'a, '_> {
    fn visit_stmt(&mut self, statement: &'a ast::Stmt) {
        let (targets, value) = match statement {
            ast::Stmt::Assign(assign) => (assign.targets.as_slice(), Some(&*assign.value)),
            ast::Stmt::AnnAssign(assign) => (std::slice::from_ref(&*assign.target), assign.value.as_deref()),
            ast::Stmt::FunctionDef(def) => {
                // Nested functions come first: the outer function may return them.
                statement_visitor::walk_stmt(self, statement);
                return self.decorators.add_function(self.imports, def);
            }
            _ => return statement_visitor::walk_stmt(self, statement),
        };
        let ([Expr::Name(name)], Some(value)) = (targets, value) else { return };
        // `step = tf.function()` is an alias; `step = tf.function(f)` is a staged function, not an alias.
        if self.imports.get(&name.id).is_none() && self.decorators.resolve_any(self.imports, value).is_some()
        {
            self.decorators.aliases.insert(&name.id, value);
        }
    }
}
