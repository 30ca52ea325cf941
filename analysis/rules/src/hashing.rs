//! Operations that hash a value: keys of dictionaries and elements of sets.

use ruff_python_ast::{self as ast, CmpOp, Expr};

use crate::FunctionContext;
use ag_index::facts::{Alternative, CalleeKind, Fact};
use ag_index::index::file_index;
use ag_index::reexports;
use ag_syntax::qname::QName;

/// An operation that looks a value up by its hash, or stores it under its hash.
pub(crate) struct Hashing<'a> {
    /// What the value is in the operation: `the key of a dictionary`.
    pub what: String,
    /// The hashed value. A tuple hashes its elements: `n` in `rates[n, 1]`.
    pub value: &'a Expr,
}

/// Returns the first hashed value of an operation that is a Tensor.
pub(crate) fn hashed<'a>(
    ctx: &FunctionContext<'a>,
    expression: &'a Expr,
    is_tensor: &dyn Fn(&Expr) -> bool,
) -> Option<Hashing<'a>> {
    let of_container = |what: &str, container: &Expr| format!("{what} `{}`", ctx.text(container));
    let (what, values): (_, Vec<&Expr>) = match expression {
        // `rates[n]`
        Expr::Subscript(subscript) if is_dict(ctx.fact(&subscript.value)) => {
            (of_container("the key of the dictionary", &subscript.value), vec![&*subscript.slice])
        }
        // `if n in rates`
        Expr::Compare(compare) if matches!(*compare.ops, [CmpOp::In | CmpOp::NotIn]) => {
            let container = compare.comparators.first()?;
            let what = match ctx.fact(container) {
                fact if is_dict(fact) => of_container("the key of the dictionary", container),
                fact if is_set(fact) => of_container("the element of the set", container),
                _ => return None,
            };
            (what, vec![&*compare.left])
        }
        Expr::Set(set) => ("the element of a set".to_owned(), set.elts.iter().collect()),
        Expr::SetComp(set) => ("the element of a set".to_owned(), vec![&*set.elt]),
        Expr::Dict(dict) => ("the key of a dictionary".to_owned(), dict.iter_keys().flatten().collect()),
        Expr::DictComp(dict) => {
            ("the key of a dictionary".to_owned(), dict.key.as_deref().into_iter().collect())
        }
        Expr::Call(call) => of_call(ctx, call)?,
        _ => return None,
    };
    let value = values.into_iter().find_map(|value| first_tensor(ctx, value, is_tensor))?;
    Some(Hashing { what, value })
}

fn of_call<'a>(ctx: &FunctionContext<'a>, call: &'a ast::ExprCall) -> Option<(String, Vec<&'a Expr>)> {
    let arguments = &call.arguments;
    let first = arguments.args.first();
    match ctx.builtin(&call.func) {
        Some("hash") => return Some(("the argument of `hash`".to_owned(), first.into_iter().collect())),
        Some(name @ ("set" | "frozenset")) => {
            let (Expr::List(ast::ExprList { elts, .. }) | Expr::Tuple(ast::ExprTuple { elts, .. })) = first?
            else {
                return None;
            };
            return Some((format!("the element of `{name}`"), elts.iter().collect()));
        }
        Some(_) => return None,
        None => {}
    }
    // `Kind(code)` looks the member up by its value.
    if is_enum(ctx, &call.func) {
        let what = format!("the value of the enum `{}`", ctx.text(&*call.func));
        return Some((what, first.into_iter().collect()));
    }
    let method = call.func.as_attribute_expr()?;
    let container = ctx.fact(&method.value);
    let text = ctx.text(&*method.value);
    let what = match method.attr.as_str() {
        "get" | "pop" | "setdefault" if is_dict(container) => format!("the key of the dictionary `{text}`"),
        "add" | "discard" | "remove" if is_set(container) => format!("the element of the set `{text}`"),
        _ => return None,
    };
    Some((what, first.into_iter().collect()))
}

/// Returns the Tensor in a hashed value: the value, or an element of a tuple that is written there or in the only
/// definition of a name.
fn first_tensor<'a>(
    ctx: &FunctionContext<'a>,
    value: &'a Expr,
    is_tensor: &dyn Fn(&Expr) -> bool,
) -> Option<&'a Expr> {
    let in_tuple =
        |tuple: &'a ast::ExprTuple| tuple.elts.iter().find_map(|it| first_tensor(ctx, it, is_tensor));
    match value {
        _ if is_tensor(value) => Some(value),
        Expr::Tuple(tuple) => in_tuple(tuple),
        Expr::Name(name) => {
            let definitions = ctx.flow.definitions_of(name.range, &QName::from(&name.id));
            let [definition] = definitions.as_slice() else { return None };
            ctx.value_of(definition)?.as_tuple_expr().and_then(in_tuple)
        }
        _ => None,
    }
}

/// Returns the Tensor that the cache of a function must hash: `grid` in `basis(3, grid)` for `@lru_cache` on `basis`.
pub(crate) fn hashed_by_cache<'a>(
    ctx: &FunctionContext,
    call: &'a ast::ExprCall,
    is_tensor: &dyn Fn(&Expr) -> bool,
) -> Option<&'a Expr> {
    let is_cached = matches!(
        ctx.fact(&call.func).alternatives.as_slice(),
        [Alternative::Instance { class, .. }] if class == "_lru_cache_wrapper"
    );
    let mut values = call.arguments.iter_source_order().map(|argument| argument.value());
    values.find(|value| is_cached && is_tensor(value))
}

/// Returns whether a value is certainly a dictionary, or one of the dictionaries of `collections`.
pub(crate) fn is_dict(fact: &Fact) -> bool {
    is_container(fact, |alternative| match alternative {
        Alternative::Container { class, .. } => class == "dict",
        Alternative::Instance { module: Some(module), class } => {
            module == "collections" && matches!(class.as_str(), "Counter" | "OrderedDict" | "defaultdict")
        }
        _ => false,
    })
}

fn is_set(fact: &Fact) -> bool {
    is_container(
        fact,
        |alternative| matches!(alternative, Alternative::Container { class, .. } if matches!(class.as_str(), "set" | "frozenset")),
    )
}

fn is_container(fact: &Fact, is_class: impl Fn(&Alternative) -> bool) -> bool {
    !fact.unknown && !fact.alternatives.is_empty() && fact.alternatives.iter().all(is_class)
}

/// Returns whether a callee is a class of the project that derives from an enum.
fn is_enum(ctx: &FunctionContext, callee: &Expr) -> bool {
    let class = ctx.fact(callee).callee().filter(|callee| callee.kind == CalleeKind::Class);
    let Some(class) = class else { return false };
    let bases = |document, name: &str| {
        let classes = &file_index(ctx.db, document).definitions.classes;
        classes.iter().find(|entry| entry.qualname == name).map(|entry| entry.bases.as_slice())
    };
    let own = bases(ctx.document, &class.qualname);
    let bases = own.or_else(|| {
        let (document, name) = reexports::definition(ctx.db, ctx.document, &ctx.resolve(callee)?)?;
        bases(document, &name)
    });
    let is_base = |base: &str| {
        let name = base.rsplit('.').next().unwrap_or(base);
        matches!(name, "Enum" | "IntEnum" | "StrEnum" | "Flag" | "IntFlag")
    };
    bases.is_some_and(|bases| bases.iter().any(|base| is_base(base)))
}
