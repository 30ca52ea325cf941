//! The nested structure of values: the number of Tensors and their containers.

use ruff_python_ast::{self as ast, Expr, Operator};

use super::carried::{StagedLoop, augmented};
use crate::FunctionContext;
use ag_flow::{Def, DefKind};
use ag_index::facts::Alternative;
use ag_syntax::qname::QName;

/// The maximum nesting of a literal. The structure of a deeper one is unknown.
const MAX_DEPTH: u32 = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Structure {
    /// A Tensor, or a number that is converted to one.
    Leaf,
    /// A list or tuple, with its items if they are known.
    Sequence {
        class: &'static str,
        items: Option<Vec<Structure>>,
    },
    /// A dict with the source text of its keys, sorted.
    Dict(Option<Vec<String>>),
    Unknown,
}

impl Structure {
    pub(super) fn of(ctx: &FunctionContext, value: &Expr) -> Self {
        Self::within(ctx, value, 0)
    }

    fn within(ctx: &FunctionContext, value: &Expr, depth: u32) -> Self {
        if depth >= MAX_DEPTH {
            return Self::Unknown;
        }
        let items = |elements: &[Expr]| {
            let starred = elements.iter().any(Expr::is_starred_expr);
            let items = || elements.iter().map(|element| Self::within(ctx, element, depth + 1)).collect();
            (!starred).then(items)
        };
        match value {
            Expr::Tuple(tuple) => Self::Sequence { class: "tuple", items: items(&tuple.elts) },
            Expr::List(list) => Self::Sequence { class: "list", items: items(&list.elts) },
            Expr::Dict(dict) => {
                let key = |key: &Option<Expr>| {
                    key.as_ref()
                        .filter(|key| key.is_literal_expr())
                        .map(|key| ctx.text(key).replace('"', "'"))
                };
                let mut keys: Option<Vec<String>> = dict.items.iter().map(|item| key(&item.key)).collect();
                keys.iter_mut().for_each(|keys| keys.sort());
                Self::Dict(keys)
            }
            Expr::Call(call) => match Self::of_fact(ctx, value) {
                Self::Unknown | Self::Sequence { items: None, .. } | Self::Dict(None) => {
                    Self::of_result(ctx, call, depth).unwrap_or_else(|| Self::of_fact(ctx, value))
                }
                known => known,
            },
            _ => Self::of_fact(ctx, value),
        }
    }

    /// Returns the structure of the result of a function of the project: `return x, y` as its only `return`, at the end.
    fn of_result(ctx: &FunctionContext, call: &ast::ExprCall, depth: u32) -> Option<Self> {
        let (helper, _) = ctx.callee_context(call)?;
        if helper.statements().into_iter().filter(|statement| statement.is_return_stmt()).count() != 1 {
            return None;
        }
        let returned = helper.def().body.last()?.as_return_stmt()?.value.as_deref()?;
        let is_display = returned.is_tuple_expr() || returned.is_list_expr() || returned.is_dict_expr();
        is_display.then(|| Self::within(&helper, returned, depth + 1))
    }

    fn of_fact(ctx: &FunctionContext, value: &Expr) -> Self {
        let fact = ctx.python_fact(value);
        let is_leaf = |alternative: &Alternative| match alternative {
            Alternative::Tensor { kind, .. } => kind.is_tensor(),
            Alternative::Bool(_) | Alternative::Int(_) | Alternative::Float => true,
            _ => false,
        };
        match fact.alternatives.as_slice() {
            _ if fact.unknown || fact.never => Self::Unknown,
            [] => Self::Unknown,
            [Alternative::Container { class, .. }] => match class.as_str() {
                "tuple" => Self::Sequence { class: "tuple", items: None },
                "list" => Self::Sequence { class: "list", items: None },
                "dict" => Self::Dict(None),
                _ => Self::Unknown,
            },
            alternatives if alternatives.iter().all(is_leaf) => Self::Leaf,
            _ => Self::Unknown,
        }
    }

    /// Returns whether two structures are certainly different.
    pub(super) fn differs(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Unknown, _) | (_, Self::Unknown) | (Self::Leaf, Self::Leaf) => false,
            (Self::Sequence { class: a, items: first }, Self::Sequence { class: b, items: second }) => {
                a != b
                    || first.as_ref().zip(second.as_ref()).is_some_and(|(first, second)| {
                        first.len() != second.len() || first.iter().zip(second).any(|(a, b)| a.differs(b))
                    })
            }
            (Self::Dict(first), Self::Dict(second)) => {
                first.as_ref().zip(second.as_ref()).is_some_and(|(first, second)| first != second)
            }
            _ => true,
        }
    }

    /// Describes the structure in messages: "a tuple of 2".
    pub(super) fn described(&self) -> String {
        match self {
            Self::Leaf => "a single Tensor".to_owned(),
            Self::Sequence { class, items: None } => format!("a {class}"),
            Self::Sequence { class, items: Some(items) } => format!("a {class} of {}", items.len()),
            Self::Dict(Some(keys)) if !keys.is_empty() => format!("a dict with {}", keys.join(", ")),
            Self::Dict(_) => "a dict".to_owned(),
            Self::Unknown => "another value".to_owned(),
        }
    }
}

/// Returns whether a definition extends a list or tuple: `items = items + [x]`, `items += [x]`.
pub(super) fn grows(staged: &StagedLoop, name: &QName, definition: &Def) -> bool {
    let ctx = staged.ctx;
    let more = |value: &Expr| match Structure::of(ctx, value) {
        Structure::Sequence { items: Some(items), .. } => !items.is_empty(),
        _ => false,
    };
    let Some(value) = ctx.value_of(definition) else { return false };
    match definition.kind {
        DefKind::AugAssign => {
            let stmt = ctx.flow.cfg.statement_around(definition.range);
            let range = stmt.and_then(|stmt| ctx.flow.cfg.statement(stmt)).map(|statement| statement.range);
            range
                .and_then(|range| augmented(staged.body(), range))
                .is_some_and(|assign| assign.op == Operator::Add && more(value))
        }
        DefKind::Assign => match value {
            Expr::BinOp(sum) if sum.op == Operator::Add => {
                let is_name = |operand: &Expr| QName::from_expr(operand).as_ref() == Some(name);
                is_name(&sum.left) && more(&sum.right) || more(&sum.left) && is_name(&sum.right)
            }
            _ => false,
        },
        _ => false,
    }
}
