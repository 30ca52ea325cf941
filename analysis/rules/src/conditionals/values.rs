//! How a value is represented in a graph: `None`, a Tensor, a structure of Tensors, or an unsupported object.

use std::collections::BTreeMap;

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, ExprContext};

use crate::FunctionContext;
use ag_flow::{Def, DefKind};
use ag_index::facts::{Alternative, CalleeKind, DType, Fact, TensorKind};

/// The certain properties of the value of an expression or definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    None,
    /// A Tensor, or a number, string or bool, which is converted to a Tensor.
    Leaf(Option<DType>),
    /// A tuple or list whose length is known.
    Sequence {
        class: &'static str,
        items: Vec<Value>,
    },
    /// A dict whose keys are known, in Python syntax.
    Mapping(BTreeMap<String, Value>),
    /// A tuple, list or dict whose length or keys are unknown.
    Container(String),
    /// An object that a graph cannot represent, with its description: "a function".
    Unsupported(String),
    Unknown,
}

impl Value {
    pub(super) fn of_expression(ctx: &FunctionContext, expression: &Expr) -> Self {
        let of = |expression| Self::of_expression(ctx, expression);
        match expression {
            Expr::NoneLiteral(_) => Self::None,
            Expr::Tuple(node) if !has_starred(&node.elts) => {
                Self::Sequence { class: "tuple", items: node.elts.iter().map(of).collect() }
            }
            Expr::List(node) if !has_starred(&node.elts) => {
                Self::Sequence { class: "list", items: node.elts.iter().map(of).collect() }
            }
            Expr::Dict(node) => {
                let items =
                    node.items.iter().map(|item| Some((literal_key(item.key.as_ref()?)?, of(&item.value))));
                items.collect::<Option<_>>().map_or_else(|| Self::Container("dict".to_owned()), Self::Mapping)
            }
            Expr::Set(_) | Expr::SetComp(_) => Self::Unsupported("a set".to_owned()),
            Expr::Lambda(_) => Self::Unsupported("a lambda".to_owned()),
            Expr::Named(node) => of(&node.value),
            _ => Self::of_fact(ctx, ctx.fact(expression)),
        }
    }

    /// Returns the structure that the syntax of an expression determines. The expression is in another function, so its
    /// types are not known here.
    pub(super) fn of_syntax(expression: &Expr) -> Self {
        match expression {
            Expr::NoneLiteral(_) => Self::None,
            Expr::Tuple(node) if !has_starred(&node.elts) => {
                Self::Sequence { class: "tuple", items: node.elts.iter().map(Self::of_syntax).collect() }
            }
            Expr::List(node) if !has_starred(&node.elts) => {
                Self::Sequence { class: "list", items: node.elts.iter().map(Self::of_syntax).collect() }
            }
            Expr::Dict(node) => {
                let items = node
                    .items
                    .iter()
                    .map(|item| Some((literal_key(item.key.as_ref()?)?, Self::of_syntax(&item.value))));
                items.collect::<Option<_>>().map_or(Self::Unknown, Self::Mapping)
            }
            _ => Self::Unknown,
        }
    }

    pub(super) fn of_definition(ctx: &FunctionContext, definition: &Def) -> Self {
        match definition.kind {
            DefKind::Function => return Self::Unsupported(format!("the function `{}`", definition.name)),
            DefKind::Class => return Self::Unsupported(format!("the class `{}`", definition.name)),
            DefKind::Import => return Self::Unsupported("a module".to_owned()),
            DefKind::Undefined | DefKind::Delete | DefKind::Outer | DefKind::Closure | DefKind::Item => {
                return Self::Unknown;
            }
            _ => {}
        }
        let bound = ctx.fact_of(definition);
        if definition.kind == DefKind::AugAssign {
            return Self::Unknown;
        }
        // The right side is the value itself, unless it is unpacked.
        match ctx.value_of(definition) {
            Some(value) if ctx.python_fact(value) == bound => match Self::of_expression(ctx, value) {
                Self::Sequence { class: "list", .. } if may_be_mutated(ctx, definition) => {
                    Self::Container("list".to_owned())
                }
                Self::Mapping(_) if may_be_mutated(ctx, definition) => Self::Container("dict".to_owned()),
                value => value,
            },
            _ => Self::of_fact(ctx, bound),
        }
    }

    pub(super) fn of_fact(ctx: &FunctionContext, fact: &Fact) -> Self {
        if fact.unknown || fact.never {
            return Self::Unknown;
        }
        Self::join(fact.alternatives.iter().map(|alternative| Self::of_alternative(ctx, alternative)))
    }

    fn of_alternative(ctx: &FunctionContext, alternative: &Alternative) -> Self {
        match alternative {
            Alternative::None => Self::None,
            Alternative::Tensor { kind, dtype, .. } => {
                match matches!(kind, TensorKind::Tensor | TensorKind::Variable) {
                    true => Self::Leaf(*dtype),
                    // A structure of several Tensors, or a handle such as a TensorArray.
                    false => Self::Unknown,
                }
            }
            Alternative::Bool(_) => Self::Leaf(Some(DType::Bool)),
            Alternative::Int(Some(number)) if i32::try_from(*number).is_err() => Self::Leaf(None),
            Alternative::Int(_) => Self::Leaf(Some(DType::Int32)),
            Alternative::Float => Self::Leaf(Some(DType::Float32)),
            Alternative::Str(_) => Self::Leaf(Some(DType::String)),
            Alternative::Container { class, .. } => match class.as_str() {
                "set" | "frozenset" => Self::Unsupported("a set".to_owned()),
                _ => Self::Container(class.to_string()),
            },
            Alternative::Callable(callee) => Self::Unsupported(match callee.kind {
                CalleeKind::Class => format!("the class `{}`", callee.qualname),
                CalleeKind::Function => format!("the function `{}`", callee.qualname),
                CalleeKind::Method => format!("the method `{}`", callee.qualname),
            }),
            Alternative::Module(_) => Self::Unsupported("a module".to_owned()),
            // The library models declare generic functions as objects.
            Alternative::Instance { module: Some(module), .. } if module == "tensorflow._ops" => {
                Self::Unsupported("a function".to_owned())
            }
            Alternative::Instance { module: Some(module), class }
                if module == "builtins" && class == "object" =>
            {
                Self::Unsupported("an `object`".to_owned())
            }
            Alternative::Instance { module, class } if ctx.is_plain_class(module.as_deref(), class) => {
                Self::Unsupported(format!("a `{class}`"))
            }
            Alternative::Instance { .. } => Self::Unknown,
        }
    }

    /// Returns the most precise description that fits all `values`.
    pub(super) fn join(values: impl IntoIterator<Item = Self>) -> Self {
        let joined = values.into_iter().reduce(|a, b| match (a, b) {
            (a, b) if a == b => a,
            (Self::Leaf(_), Self::Leaf(_)) => Self::Leaf(None),
            (Self::Unsupported(a), Self::Unsupported(_)) => Self::Unsupported(a),
            _ => Self::Unknown,
        });
        joined.unwrap_or(Self::Unknown)
    }

    /// Returns whether the value is `None`, or a structure that contains `None`.
    pub(super) fn holds_none(&self) -> bool {
        match self {
            Self::None => true,
            Self::Sequence { items, .. } => items.iter().any(Self::holds_none),
            Self::Mapping(items) => items.values().any(Self::holds_none),
            _ => false,
        }
    }
}

fn has_starred(elements: &[Expr]) -> bool {
    elements.iter().any(Expr::is_starred_expr)
}

fn literal_key(key: &Expr) -> Option<String> {
    match key {
        Expr::StringLiteral(string) => Some(format!("{:?}", string.value.to_str())),
        Expr::NumberLiteral(ast::ExprNumberLiteral { value: ast::Number::Int(int), .. }) => {
            Some(int.to_string())
        }
        _ => None,
    }
}

/// Returns whether the items of the list or dict that a definition binds may change before it is used. The items may
/// change if the list or dict is passed to a call, if one of its methods is called, or if an item is assigned.
fn may_be_mutated(ctx: &FunctionContext, definition: &Def) -> bool {
    let mut uses = Uses { name: definition.name.root(), mutable: false };
    uses.visit_body(&ctx.def().body);
    uses.mutable || !definition.name.is_simple()
}

struct Uses<'n> {
    name: &'n str,
    mutable: bool,
}

impl Uses<'_> {
    fn is_named(&self, expression: &Expr) -> bool {
        expression.as_name_expr().is_some_and(|name| name.id == self.name)
    }
}

impl SourceOrderVisitor<'_> for Uses<'_> {
    fn visit_expr(&mut self, expression: &Expr) {
        self.mutable |= match expression {
            Expr::Attribute(node) => self.is_named(&node.value),
            Expr::Subscript(node) => node.ctx != ExprContext::Load && self.is_named(&node.value),
            Expr::Call(node) => {
                node.arguments.args.iter().any(|argument| self.is_named(argument))
                    || node.arguments.keywords.iter().any(|keyword| self.is_named(&keyword.value))
            }
            _ => false,
        };
        source_order::walk_expr(self, expression);
    }
}
