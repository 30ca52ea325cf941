//! Arrays that are used after a jitted function has taken their memory.

use ag_syntax::blocks;
use ag_syntax::expressions::{integer, sequence};
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::super::FileContext;
use super::super::declare::declare_rule;
use super::is_of_interest;
use crate::names::Names;
use crate::program::{Bound, Program, ScopeId};

declare_rule! {
    /// ## What it does
    /// Reports the use of an argument after it was passed to a function that donates it (`donate_argnums`,
    /// `donate_argnames`), and donated arrays that the same call passes again under another name.
    ///
    /// ## Why is this bad?
    /// The results of the function reuse the memory of a donated array. The array is deleted, and its next use raises.
    ///
    /// ## Example
    /// ```python
    /// from functools import partial
    ///
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @partial(jax.jit, donate_argnums=0)
    /// def update(params, grads):
    ///     return params - 0.1 * grads
    ///
    /// params = jnp.ones(3)
    /// new = update(params, jnp.ones(3))
    /// change = new - params
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// from functools import partial
    ///
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// @partial(jax.jit, donate_argnums=0)
    /// def update(params, grads):
    ///     step = 0.1 * grads
    ///     return params - step, step
    ///
    /// params = jnp.ones(3)
    /// params, change = update(params, jnp.ones(3))
    /// ```
    ///
    /// ## What jax reports
    /// `RuntimeError: Array has been deleted with shape=float32[3].`
    pub(crate) static JAX_DONATED_ARGUMENT = {
        code: "AG551", name: "jax-donated-argument",
        summary: "an array is used after it was donated to a jitted function",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: File(is_of_interest, check),
    }
}

fn check(ctx: &FileContext) {
    if !ctx.text.contains("donate_arg") {
        return;
    }
    let program = ctx.program();
    check_block(ctx, program, program.module(), ctx.parsed.suite(), &mut Aliases::default());
    let traced = traced(ctx, program);
    for (def, _) in &program.functions {
        if !traced.iter().any(|outer| outer.contains_range(def.range()))
            && let Some(scope) = program.scope_of(def.range())
        {
            check_block(ctx, program, scope, &def.body, &mut Aliases::default());
        }
    }
}

/// Returns the functions that JAX traces: decorated ones, and those that are arguments of its functions. In a trace, a call
/// of a jitted function is part of the outer graph, and deletes nothing.
fn traced(ctx: &FileContext, program: &Program) -> Vec<TextRange> {
    let is_of_jax = |function: &Expr| ctx.resolve(function).is_some_and(|name| name.starts_with("jax."));
    let decorated = program.functions.iter().map(|(def, _)| *def).filter(|def| {
        def.decorator_list.iter().any(|decorator| match &decorator.expression {
            Expr::Call(call) => is_of_jax(&call.func) || call.arguments.args.first().is_some_and(is_of_jax),
            maker => is_of_jax(maker),
        })
    });
    let calls = program.calls.iter().filter(|site| is_of_jax(&site.node.func));
    let passed = calls.flat_map(|site| {
        let arguments = site.node.arguments.iter_source_order().map(|argument| argument.value());
        arguments.filter_map(Expr::as_name_expr).filter_map(move |name| {
            match program.lookup(site.scope, &name.id, name.range().start())?.0 {
                Bound::Function(def) => Some(def),
                _ => None,
            }
        })
    });
    decorated.chain(passed).map(Ranged::range).collect()
}

/// Pairs of names that are bound to the same object: `target` and `params` after `target = params`.
type Aliases<'a> = Vec<(&'a str, &'a str)>;

fn check_block<'a>(
    ctx: &FileContext,
    program: &Program<'a>,
    scope: ScopeId,
    block: &'a [Stmt],
    aliases: &mut Aliases<'a>,
) {
    for (position, statement) in block.iter().enumerate() {
        for inner in blocks::of(statement) {
            // The first iteration of a loop starts with the names from before the loop.
            check_block(ctx, program, scope, inner, &mut aliases.clone());
        }
        let call = called(statement);
        let arguments = call.map(|call| donated(ctx, program, scope, call)).unwrap_or_default();
        for (call, argument) in call.into_iter().flat_map(|call| arguments.iter().map(move |it| (call, *it)))
        {
            if !is_of_numpy(ctx, program, scope, argument)
                && let Some(other) = passed_again(call, argument, aliases)
            {
                report_again(ctx, call, argument, other);
                continue;
            }
            let rest = block.get(position + 1..).unwrap_or_default();
            if !Names::of_statement(statement).bound.contains(argument.id.as_str())
                && !is_of_numpy(ctx, program, scope, argument)
                && let Some(used) = next_use(rest, &argument.id)
            {
                report(ctx, call, argument, used);
            }
        }
        let bound = Names::of_statement(statement).bound;
        aliases.retain(|(one, other)| !bound.contains(one) && !bound.contains(other));
        if let Stmt::Assign(assign) = statement
            && let ([Expr::Name(name)], Expr::Name(value)) = (assign.targets.as_slice(), &*assign.value)
        {
            aliases.push((name.id.as_str(), value.id.as_str()));
        }
    }
}

/// Returns another argument of a call that is the donated array.
fn passed_again<'a>(
    call: &'a ast::ExprCall,
    argument: &ast::ExprName,
    aliases: &Aliases,
) -> Option<&'a ast::ExprName> {
    let own = argument.id.as_str();
    let is_same = |other: &str| {
        own == other || aliases.iter().any(|pair| *pair == (own, other) || *pair == (other, own))
    };
    let values = call.arguments.iter_source_order().map(|argument| argument.value());
    let mut others = values.filter_map(Expr::as_name_expr).filter(|name| name.range() != argument.range());
    others.find(|name| is_same(&name.id))
}

fn report_again(ctx: &FileContext, call: &ast::ExprCall, argument: &ast::ExprName, other: &ast::ExprName) {
    let (name, function) = (&argument.id, ctx.text(&*call.func));
    let message = match other.id == *name {
        true => format!("`{name}` is passed twice, and `{function}` reuses its memory"),
        false => format!("`{}` is the same array as `{name}`, whose memory `{function}` reuses", other.id),
    };
    ctx.report(&JAX_DONATED_ARGUMENT, other, message)
        .label(ctx.span(argument.range()), format!("`{function}` donates this argument"))
        .help("copy it first: `jax.tree.map(jnp.copy, …)`, or do not donate the argument")
        .emit();
}

fn report(ctx: &FileContext, call: &ast::ExprCall, argument: &ast::ExprName, used: &ast::ExprName) {
    let (name, function) = (&argument.id, ctx.text(&*call.func));
    ctx.report(&JAX_DONATED_ARGUMENT, used, format!("`{name}` is deleted: `{function}` reuses its memory"))
        .label(ctx.span(argument.range()), format!("`{function}` donates this argument"))
        .help("use the result of the call, or do not donate the argument")
        .emit();
}

/// Returns the call that is the whole value of a statement.
fn called(statement: &Stmt) -> Option<&ast::ExprCall> {
    match statement {
        Stmt::Assign(assign) => assign.value.as_call_expr(),
        Stmt::Expr(expression) => expression.value.as_call_expr(),
        _ => None,
    }
}

/// Returns the names that a call passes as donated arguments.
fn donated<'a>(
    ctx: &FileContext,
    program: &Program<'a>,
    scope: ScopeId,
    call: &'a ast::ExprCall,
) -> Vec<&'a ast::ExprName> {
    let Some(jitted) = jitted(ctx, program, scope, &call.func) else { return Vec::new() };
    let positional = call.arguments.args.iter().enumerate();
    let is_open = call.arguments.args.iter().any(Expr::is_starred_expr);
    let by_position = positional.filter(|(position, _)| !is_open && jitted.donates_position(*position));
    let keywords = call.arguments.keywords.iter();
    let by_name =
        keywords.filter(|keyword| keyword.arg.as_ref().is_some_and(|name| jitted.donates_name(name)));
    let values = by_position.map(|(_, value)| value).chain(by_name.map(|keyword| &keyword.value));
    values.filter_map(Expr::as_name_expr).collect()
}

/// The arguments that a jitted function donates.
struct Jitted<'a> {
    keywords: &'a [ast::Keyword],
    parameters: Option<&'a ast::Parameters>,
}

impl Jitted<'_> {
    fn donates_position(&self, position: usize) -> bool {
        let mut numbers = self.listed("donate_argnums").filter_map(integer);
        numbers.any(|number| i64::try_from(position) == Ok(number))
            || self.name_at(position).is_some_and(|name| self.donates_name(name))
    }

    fn donates_name(&self, name: &str) -> bool {
        let mut names = self.listed("donate_argnames").filter_map(Expr::as_string_literal_expr);
        names.any(|listed| listed.value.to_str() == name)
    }

    fn name_at(&self, position: usize) -> Option<&str> {
        let parameters = self.parameters?;
        let mut all = parameters.posonlyargs.iter().chain(&parameters.args);
        Some(all.nth(position)?.parameter.name.as_str())
    }

    fn listed(&self, keyword: &str) -> impl Iterator<Item = &Expr> {
        let of_keyword =
            self.keywords.iter().find(|it| it.arg.as_ref().is_some_and(|name| name.as_str() == keyword));
        let value = of_keyword.map(|keyword| &keyword.value);
        value.into_iter().flat_map(|value| sequence(value).unwrap_or(std::slice::from_ref(value)))
    }
}

/// Returns the jitted function to which a name refers: `f` after `f = jax.jit(g, donate_argnums=0)`, or a function with
/// a decorator.
fn jitted<'a>(
    ctx: &FileContext,
    program: &Program<'a>,
    scope: ScopeId,
    callee: &'a Expr,
) -> Option<Jitted<'a>> {
    let name = callee.as_name_expr()?;
    match program.lookup(scope, &name.id, name.range().start())?.0 {
        Bound::Function(def) => {
            let [decorator] = def.decorator_list.as_slice() else { return None };
            let call = decorator.expression.as_call_expr()?;
            let is_partial = ctx.resolve(&call.func).is_some_and(|name| name == "functools.partial");
            let maker = if is_partial { call.arguments.args.first()? } else { &*call.func };
            let parameters = Some(&*def.parameters);
            is_jit(ctx, maker).then(|| Jitted { keywords: &call.arguments.keywords, parameters })
        }
        Bound::Value(Expr::Call(call)) if is_jit(ctx, &call.func) => {
            let function = call.arguments.args.first().map(|function| program.value(scope, function).0);
            let parameters = match function {
                Some(Bound::Function(def)) => Some(&*def.parameters),
                Some(Bound::Value(Expr::Lambda(lambda))) => lambda.parameters.as_deref(),
                _ => None,
            };
            Some(Jitted { keywords: &call.arguments.keywords, parameters })
        }
        _ => None,
    }
}

fn is_jit(ctx: &FileContext, expression: &Expr) -> bool {
    ctx.resolve(expression).is_some_and(|name| name == "jax.jit")
}

/// Returns whether a name is bound to a NumPy array. JAX copies such an array to the device, and does not delete it.
fn is_of_numpy<'a>(
    ctx: &FileContext,
    program: &Program<'a>,
    scope: ScopeId,
    argument: &'a ast::ExprName,
) -> bool {
    match program.lookup(scope, &argument.id, argument.range().start()) {
        Some((Bound::Value(Expr::Call(call)), _)) => {
            ctx.resolve(&call.func).is_some_and(|name| name.starts_with("numpy."))
        }
        Some((Bound::Value(value), _)) => value.is_literal_expr(),
        _ => false,
    }
}

/// Returns the first use of the value of a name in these statements, before the name is bound again; `None` if there is
/// none, or if a statement both uses and binds the name.
fn next_use<'a>(statements: &'a [Stmt], name: &str) -> Option<&'a ast::ExprName> {
    for statement in statements {
        let mut uses = Uses { name, found: None };
        uses.visit_stmt(statement);
        let binds = Names::of_statement(statement).bound.contains(name);
        match uses.found {
            Some(_) if binds && !blocks::of(statement).is_empty() => return None,
            Some(used) => return Some(used),
            None if binds => return None,
            None => {}
        }
    }
    None
}

/// Finds the first read of an array. Reads of its shape or dtype do not count.
struct Uses<'n, 'a> {
    name: &'n str,
    found: Option<&'a ast::ExprName>,
}

impl<'a> SourceOrderVisitor<'a> for Uses<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        // The body of a function runs later.
        if !matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_) | Stmt::Delete(_) | Stmt::Try(_)) {
            source_order::walk_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        const METADATA: [&str; 8] =
            ["shape", "dtype", "ndim", "size", "sharding", "is_deleted", "keys", "delete"];
        match expression {
            Expr::Attribute(attribute) if METADATA.contains(&attribute.attr.as_str()) => {}
            Expr::Lambda(_) => {}
            Expr::Name(name) if name.id.as_str() == self.name && name.ctx.is_load() => {
                self.found = self.found.or(Some(name));
            }
            _ => source_order::walk_expr(self, expression),
        }
    }
}
