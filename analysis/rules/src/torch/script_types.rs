//! The types of TorchScript, as far as they can be inferred from Python types.

use std::fmt;

use ruff_python_ast::{self as ast, CmpOp, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::super::FunctionContext;
use ag_flow::{Def, DefKind};
use ag_index::assumptions::Source;
use ag_index::facts::{Alternative, Fact, TensorKind};
use ag_staging::construct::{ConstructKind, ConstructNode};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScriptType {
    Tensor,
    Int,
    Float,
    Bool,
    Str,
    None,
}

/// As in the messages of TorchScript.
impl fmt::Display for ScriptType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tensor => "Tensor",
            Self::Int => "int",
            Self::Float => "float",
            Self::Bool => "bool",
            Self::Str => "str",
            Self::None => "None",
        })
    }
}

impl ScriptType {
    /// The type of a value if it has exactly one.
    pub(super) fn of(fact: &Fact) -> Option<Self> {
        if fact.unknown || fact.never {
            return None;
        }
        // In annotations `float` includes `int`.
        if fact.shown == "float" {
            return Some(Self::Float);
        }
        let mut types = fact.alternatives.iter().map(|alternative| match alternative {
            Alternative::Tensor { kind: TensorKind::Tensor | TensorKind::Variable, .. } => Some(Self::Tensor),
            Alternative::Int(_) => Some(Self::Int),
            Alternative::Float => Some(Self::Float),
            Alternative::Bool(_) => Some(Self::Bool),
            Alternative::Str(_) => Some(Self::Str),
            Alternative::None => Some(Self::None),
            _ => None,
        });
        let first = types.next()??;
        types.all(|ty| ty == Some(first)).then_some(first)
    }

    /// The type that a definition gives a name. An annotation more general than the value (`best:
    /// Optional[Tensor] = None`) is unknown.
    pub(super) fn of_definition(ctx: &FunctionContext, definition: &Def) -> Option<Self> {
        if let DefKind::Parameter(position) = definition.kind {
            let parameter = ctx.stage.parameters.get(position.into())?;
            return match (parameter.source, parameter.shown.as_deref()?) {
                (Source::Annotation, "Tensor") => Some(Self::Tensor),
                (Source::Annotation, "int") => Some(Self::Int),
                (Source::Annotation, "float") => Some(Self::Float),
                (Source::Annotation, "bool") => Some(Self::Bool),
                (Source::Annotation, "str") => Some(Self::Str),
                (Source::CallSites | Source::Assumption, "Tensor") => Some(Self::Tensor),
                _ => None,
            };
        }
        if !Self::is_plain_binding(ctx, definition) {
            return None;
        }
        Self::of(ctx.fact(ctx.expression_at(definition.value?)?))
    }

    /// Whether a definition is `x = value`. The right side of `x += 1` is not the value of `x`, and that of `x:
    /// T = 1` does not determine its type.
    pub(super) fn is_plain_binding(ctx: &FunctionContext, definition: &Def) -> bool {
        ctx.statements().into_iter().any(|statement| match statement {
            Stmt::Assign(assign) => assign.range().contains_range(definition.range),
            _ => false,
        })
    }

    /// The common type of all definitions.
    pub(super) fn of_definitions<'d>(
        ctx: &FunctionContext,
        definitions: impl IntoIterator<Item = &'d Def>,
    ) -> Option<Self> {
        let mut types = definitions.into_iter().map(|definition| Self::of_definition(ctx, definition));
        let first = types.next()??;
        types.all(|ty| ty == Some(first)).then_some(first)
    }
}

/// Whether the compiler may evaluate a test statically and drop a branch: `x is None`, `isinstance`,
/// `torch.jit.is_scripting()`, a constant attribute of the module.
pub(super) fn may_be_static(ctx: &FunctionContext, test: &Expr) -> bool {
    match test {
        Expr::BooleanLiteral(_) | Expr::Attribute(_) => true,
        Expr::UnaryOp(operation) => may_be_static(ctx, &operation.operand),
        Expr::BoolOp(operation) => operation.values.iter().any(|value| may_be_static(ctx, value)),
        Expr::Compare(compare) => {
            compare.ops.iter().any(|op| matches!(op, CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn))
                || is_attribute(&compare.left)
        }
        Expr::Call(call) => {
            matches!(&*call.func, Expr::Name(name) if matches!(name.id.as_str(), "isinstance" | "hasattr" | "getattr"))
                || ctx.resolve(&call.func).is_some_and(|name| name.starts_with("torch.jit."))
        }
        _ => false,
    }
}

fn is_attribute(expression: &Expr) -> bool {
    expression.is_attribute_expr()
}

/// Whether some `if` around `range` may be evaluated statically.
pub(super) fn in_static_branch(ctx: &FunctionContext, range: TextRange) -> bool {
    ctx.decisions().any(|(construct, node)| {
        construct.kind == ConstructKind::If
            && construct.range.contains_range(range)
            && node.test().is_some_and(|test| may_be_static(ctx, test))
    })
}

/// The `if` statements whose condition is evaluated at run time, with their clause.
pub(super) fn conditions<'a>(
    ctx: &FunctionContext<'a>,
) -> impl Iterator<Item = (TextRange, &'a Expr, &'a ast::StmtIf, usize)> {
    ctx.decisions()
        .filter_map(|(construct, node)| match node {
            ConstructNode::If(statement, clause) => Some((construct.range, node.test()?, statement, clause)),
            _ => None,
        })
        .filter(|(range, test, ..)| !may_be_static(ctx, test) && !in_static_branch(ctx, *range))
        .collect::<Vec<_>>()
        .into_iter()
}
