//! Trees of different structure, and dataclasses that are registered with the wrong fields.

use ruff_python_ast::{self as ast, Expr, Stmt};

use super::super::FileContext;
use super::super::declare::declare_rule;
use super::evaluate::Evaluator;
use super::{Fault, is_of_interest};
use crate::program::{Bound, Program, ScopeId};
use ag_index::callbacks::argument;
use ag_syntax::expressions::sequence;

declare_rule! {
    /// ## What it does
    /// Reports calls of `jax.tree.map` with trees of different structure, and calls of
    /// `jax.tree_util.register_dataclass` whose fields differ from the fields of the class.
    ///
    /// ## Why is this bad?
    /// `jax.tree.map` pairs the leaves of its trees, and raises if a leaf has no counterpart in another tree.
    ///
    /// ## Example
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// params = {"w": jnp.ones(3), "b": jnp.zeros(3)}
    /// grads = {"w": jnp.ones(3)}
    /// params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// params = {"w": jnp.ones(3), "b": jnp.zeros(3)}
    /// grads = {"w": jnp.ones(3), "b": jnp.ones(3)}
    /// params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    /// ```
    ///
    /// ## What jax reports
    /// `ValueError: pytree structure error: different numbers of pytree children at key path`
    pub(crate) static JAX_TREE = {
        code: "AG549", name: "jax-tree",
        summary: "trees have different structures",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: File(is_of_interest, check),
    }
}

fn check(ctx: &FileContext) {
    let program = ctx.program();
    let evaluator = Evaluator::new(ctx, program);
    for site in &program.calls {
        let call = site.node;
        let last = match &*call.func {
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            Expr::Name(name) => name.id.as_str(),
            _ => continue,
        };
        if !matches!(last, "map" | "tree_map" | "register_dataclass") {
            continue;
        }
        let Some(name) = ctx.resolve(&call.func) else { continue };
        let fault = match name.as_str() {
            "jax.tree.map" | "jax.tree_map" | "jax.tree_util.tree_map" => trees(&evaluator, call, site.scope),
            "jax.tree_util.register_dataclass" => fields(ctx, program, call, site.scope),
            _ => None,
        };
        if let Some(fault) = fault {
            fault.report(ctx, &JAX_TREE, call, "here");
        }
    }
}

/// Returns the fault in `jax.tree.map(f, params, grads)`: the first tree that differs from `params`.
fn trees<'a>(evaluator: &Evaluator<'_, 'a>, call: &'a ast::ExprCall, scope: ScopeId) -> Option<Fault<'a>> {
    let [_, first, rest @ ..] = &*call.arguments.args else { return None };
    if !call.arguments.keywords.is_empty()
        || call.arguments.args.iter().any(Expr::is_starred_expr)
        || rest.is_empty()
    {
        return None;
    }
    let value = evaluator.value(scope, first);
    rest.iter().find_map(|other| {
        let (one, other_noun) = value.prefix_difference(&evaluator.value(scope, other))?;
        let message = format!("the trees of `jax.tree.map` differ: {one}, but {other_noun}");
        Some(Fault { message, help: "pass trees of the same structure", at: other })
    })
}

/// Returns the fault in the fields of `register_dataclass(State, data_fields=["params"], meta_fields=["step"])`.
fn fields<'a>(
    ctx: &FileContext,
    program: &Program<'a>,
    call: &'a ast::ExprCall,
    scope: ScopeId,
) -> Option<Fault<'a>> {
    let node = argument(call, 0, "nodetype")?;
    if call.arguments.keywords.iter().any(|keyword| keyword.arg.is_none()) {
        return None;
    }
    let data = argument(call, 1, "data_fields").filter(|fields| !fields.is_none_literal_expr());
    let meta = argument(call, 2, "meta_fields").filter(|fields| !fields.is_none_literal_expr());
    if data.is_some() != meta.is_some() {
        let message =
            "`register_dataclass` needs both `data_fields` and `meta_fields`, or neither".to_owned();
        return Some(Fault { message, help: "pass both, or neither", at: data.or(meta)? });
    }
    let (Bound::Class(class), _) = program.value(scope, node) else { return None };
    let (Some(data), Some(meta)) = (data, meta) else {
        let plain =
            class.decorator_list.is_empty() && class.arguments.as_ref().is_none_or(|it| it.is_empty());
        return plain.then(|| {
            let message = format!("`{}` is not a dataclass, so its fields are unknown", class.name);
            Fault { message, help: "pass `data_fields` and `meta_fields`, or add `@dataclass`", at: node }
        });
    };
    let (listed, static_fields) = (names(data)?, names(meta)?);
    if let Some(twice) = listed.iter().find(|name| static_fields.contains(name)) {
        let message = format!("the field `{twice}` is in `data_fields` and in `meta_fields`");
        return Some(Fault { message, help: "list each field once", at: meta });
    }
    let own = dataclass_fields(ctx, class).filter(|_| argument(call, 3, "drop_fields").is_none())?;
    let all = || listed.iter().chain(&static_fields);
    let missing = own.iter().find(|name| !all().any(|it| it == *name));
    let unknown = all().find(|name| !own.contains(name));
    let (name, what) =
        missing.map(|name| (name, "is missing")).or(unknown.map(|name| (name, "is not a field")))?;
    let message =
        format!("the fields that are registered differ from those of `{}`: `{name}` {what}", class.name);
    Some(Fault { message, help: "list every field of the dataclass once", at: data })
}

fn names(value: &Expr) -> Option<Vec<&str>> {
    let elements = sequence(value)?;
    elements.iter().map(|element| Some(element.as_string_literal_expr()?.value.to_str())).collect()
}

/// Returns the fields of a plain dataclass without bases; `None` if one is not written as `name: type`.
fn dataclass_fields<'a>(ctx: &FileContext, class: &'a ast::StmtClassDef) -> Option<Vec<&'a str>> {
    let is_dataclass = |decorator: &ast::Decorator| {
        let maker = decorator.expression.as_call_expr().map_or(&decorator.expression, |call| &call.func);
        ctx.resolve(maker).is_some_and(|name| name == "dataclasses.dataclass")
    };
    let bare = class.arguments.as_ref().is_none_or(|arguments| arguments.is_empty());
    if !bare || !class.decorator_list.iter().any(is_dataclass) {
        return None;
    }
    let mut fields = Vec::new();
    for statement in &class.body {
        let Stmt::AnnAssign(field) = statement else { continue };
        // `field(init=False)`, `ClassVar[int]`
        if field.value.as_ref().is_some_and(|value| value.is_call_expr())
            || ctx.text(&*field.annotation).contains("Var")
        {
            return None;
        }
        fields.push(field.target.as_name_expr()?.id.as_str());
    }
    Some(fields)
}
