//! Containers whose element type TorchScript cannot determine.

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::script_types::ScriptType;
use super::{scripts, snippet};
use ag_index::facts::{Alternative, Fact};
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports operations on containers that TorchScript rejects because of the types of the elements:
    ///
    /// - a number or string appended to a list that is initialized with `[]` without annotation
    /// - a number appended to a list that is annotated as a list of Tensors
    /// - a number or string stored in a dictionary that is initialized with `{}` or with Tensors, without annotation,
    ///   and a number as a key of such a dictionary
    /// - an index of a tuple with elements of different types, if the index is not a literal
    ///
    /// ## Why is this bad?
    /// TorchScript infers `[]` as a list of Tensors, and `{}` as a dictionary from strings to Tensors. The type of an
    /// element of a mixed tuple must be known at compile time.
    ///
    /// ## Example
    /// ```python
    /// import torch
    ///
    /// @torch.jit.script
    /// def sizes(x: torch.Tensor):
    ///     found = []
    ///     found.append(x.size(0))
    ///     return found
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// from typing import List
    ///
    /// import torch
    ///
    /// @torch.jit.script
    /// def sizes(x: torch.Tensor):
    ///     found: List[int] = []
    ///     found.append(x.size(0))
    ///     return found
    /// ```
    ///
    /// ## What torch reports
    /// `RuntimeError: Could not match type int to t in argument 'el'`, or `Cannot index into a
    /// Tuple[Tensor, int] with a non-integer literal because we cannot resolve the output type`
    pub(crate) static SCRIPT_CONTAINER_TYPE = {
        code: "AG539", name: "script-container-type",
        summary: "the element type of a container is unknown",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !scripts(ctx) {
        return;
    }
    for statement in ctx.statements() {
        check_item(ctx, statement);
    }
    for expression in ctx.expressions() {
        match expression {
            Expr::Call(call) => {
                let Expr::Attribute(method) = &*call.func else { continue };
                let (Expr::Name(list), [value]) = (&*method.value, &*call.arguments.args) else { continue };
                if method.attr.as_str() == "append"
                    && let Some(annotation) = list_of_tensors(ctx, list)
                    && is_number(ctx.fact(value))
                {
                    ctx.report(
                        &SCRIPT_CONTAINER_TYPE,
                        expression,
                        format!("cannot append a number to `{}`, which is annotated `{annotation}`", list.id),
                    )
                    .help("append a Tensor, or change the annotation")
                    .emit();
                    continue;
                }
                let ty = ScriptType::of_expression(ctx, value);
                let Some(ty) = ty.filter(|ty| !matches!(ty, ScriptType::Tensor | ScriptType::None)) else {
                    continue;
                };
                let is_empty = |value: &Expr| value.as_list_expr().is_some_and(|list| list.elts.is_empty());
                if method.attr.as_str() == "append" && is_always(ctx, list, is_empty) {
                    ctx.report(
                        &SCRIPT_CONTAINER_TYPE,
                        expression,
                        format!("cannot append a value of type `{ty}` to `{}`, which is inferred as a list of Tensors", list.id),
                    )
                    .help(format!("annotate its first assignment: `{}: List[{ty}] = []`", list.id))
                    .emit();
                }
            }
            Expr::Subscript(subscript) => {
                let fact = ctx.fact(&subscript.value);
                let [Alternative::Container { class, .. }] = fact.alternatives.as_slice() else { continue };
                let index = ScriptType::of_expression(ctx, &subscript.slice) == Some(ScriptType::Int);
                let computed = matches!(&*subscript.slice, Expr::Name(_) | Expr::BinOp(_));
                if class == "tuple" && !fact.unknown && index && computed && is_mixed_tuple(&fact.shown) {
                    ctx.report(
                        &SCRIPT_CONTAINER_TYPE,
                        expression,
                        format!(
                            "the elements of `{}` have different types; the index `{}` must be known at compile time",
                            snippet(ctx, &subscript.value),
                            snippet(ctx, &subscript.slice)
                        ),
                    )
                    .help("use a literal index, or a list of values of one type")
                    .emit();
                }
            }
            _ => {}
        }
    }
}

/// Checks an item assignment such as `found["count"] = x.size(0)`, where `found = {}`.
fn check_item(ctx: &FunctionContext, statement: &Stmt) {
    let Some(assign) = statement.as_assign_stmt() else { return };
    let [Expr::Subscript(item)] = assign.targets.as_slice() else { return };
    let Expr::Name(dict) = &*item.value else { return };
    let type_of = |value: &Expr| ScriptType::of_expression(ctx, value);
    // `{}` or `{"mean": x.mean()}`
    let has_tensors = |value: &Expr| {
        value.as_dict_expr().is_some_and(|dict| {
            dict.items.iter().all(|item| {
                let key = item.key.as_ref().and_then(type_of);
                key == Some(ScriptType::Str) && type_of(&item.value) == Some(ScriptType::Tensor)
            })
        })
    };
    if !is_always(ctx, dict, has_tensors) {
        return;
    }
    let key = type_of(&item.slice).filter(|key| matches!(key, ScriptType::Int | ScriptType::Float));
    let value = type_of(&assign.value).filter(|ty| !matches!(ty, ScriptType::Tensor | ScriptType::None));
    if key.is_none() && value.is_none() {
        return;
    }
    let message = match value {
        Some(value) => format!(
            "cannot store a value of type `{value}` in `{}`, which is inferred as a dictionary of Tensors",
            dict.id
        ),
        None => format!("`{}` is inferred as a dictionary whose keys are strings", dict.id),
    };
    let (key, value) = (key.unwrap_or(ScriptType::Str), value.unwrap_or(ScriptType::Tensor));
    ctx.report(&SCRIPT_CONTAINER_TYPE, statement, message)
        .help(format!("annotate its first assignment: `{}: Dict[{key}, {value}] = {{}}`", dict.id))
        .emit();
}

/// Returns whether all values to which a name may be bound at this use satisfy a condition.
fn is_always(ctx: &FunctionContext, name: &ast::ExprName, holds: impl Fn(&Expr) -> bool) -> bool {
    let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
    !definitions.is_empty()
        && definitions.iter().all(|definition| {
            let value = definition.value.and_then(|range| ctx.expression_at(range));
            value.is_some_and(&holds) && ScriptType::is_plain_binding(ctx, definition)
        })
}

/// Returns the annotation of a name whose only definition is `found: List[Tensor] = …`.
fn list_of_tensors<'a>(ctx: &FunctionContext<'a>, list: &ast::ExprName) -> Option<&'a str> {
    let definitions = ctx.flow.definitions_of(list.range(), &QName::from(&list.id));
    let [definition] = definitions.as_slice() else { return None };
    ctx.statements().into_iter().find_map(|statement| {
        let assign = statement.as_ann_assign_stmt()?;
        let annotation = ctx.text(&*assign.annotation);
        let is_one = matches!(
            annotation,
            "List[Tensor]" | "List[torch.Tensor]" | "list[Tensor]" | "list[torch.Tensor]"
        );
        (assign.target.range() == definition.range && is_one).then_some(annotation)
    })
}

/// Returns whether a value is certainly a number: `x.item()`, `len(x)`.
fn is_number(fact: &Fact) -> bool {
    !fact.unknown
        && !fact.alternatives.is_empty()
        && fact.alternatives.iter().all(|alternative| {
            matches!(alternative, Alternative::Int(_) | Alternative::Float | Alternative::Bool(_))
        })
}

/// Returns whether a tuple has elements of different types: `tuple[Tensor, int]`, `tuple[Tensor, Literal[1]]`.
fn is_mixed_tuple(shown: &str) -> bool {
    let Some(elements) = shown.strip_prefix("tuple[").and_then(|rest| rest.strip_suffix(']')) else {
        return false;
    };
    let types: Option<Vec<&str>> = elements.split(", ").map(element).collect();
    types.is_some_and(|types| types.iter().any(|ty| Some(ty) != types.first()))
}

fn element(shown: &str) -> Option<&str> {
    match shown.strip_prefix("Literal[") {
        Some("True]" | "False]") => Some("bool"),
        Some(text) if text.starts_with('"') => Some("str"),
        Some(text) => text.strip_suffix(']')?.parse::<i64>().is_ok().then_some("int"),
        None => Some(shown).filter(|ty| matches!(*ty, "Tensor" | "int" | "float" | "bool" | "str")),
    }
}
