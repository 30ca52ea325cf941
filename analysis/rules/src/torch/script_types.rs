//! The types of TorchScript that follow from Python types.

use std::fmt;

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::super::FunctionContext;
use super::script_paths::{Compiled, Known, known};
use ag_flow::{Def, DefKind};
use ag_index::assumptions::Source;
use ag_index::facts::{Alternative, Fact, TensorKind};
use ag_staging::construct::ConstructNode;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScriptType {
    Tensor,
    Int,
    Float,
    Bool,
    Str,
    List,
    Dict,
    /// A tuple with this number of elements.
    Tuple(usize),
    None,
}

/// The name of the type in the messages of TorchScript.
impl fmt::Display for ScriptType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Tuple(count) = self {
            return write!(f, "tuple of {count}");
        }
        f.write_str(match self {
            Self::Tensor => "Tensor",
            Self::Int => "int",
            Self::Float => "float",
            Self::Bool => "bool",
            Self::Str => "str",
            Self::List => "list",
            Self::Dict => "dict",
            Self::Tuple(_) => "tuple",
            Self::None => "None",
        })
    }
}

/// Returns the number of elements of a tuple type: 2 for `tuple[Tensor, list[int]]`. `None` for `tuple[Tensor, ...]`,
/// which may be a list in TorchScript.
fn tuple_length(shown: &str) -> Option<usize> {
    let elements = shown.strip_prefix("tuple[")?.strip_suffix(']')?;
    if elements.contains("...") || elements.contains('|') || elements.contains("Unknown") {
        return None;
    }
    let mut depth = 0_usize;
    let mut count = 1;
    for letter in elements.chars() {
        match letter {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => count += 1,
            _ => {}
        }
    }
    Some(count)
}

impl ScriptType {
    /// Returns the type of a value if it has exactly one.
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
            // These are the values and indices in the result of `x.max(dim=0)`.
            Alternative::Instance { module: Some(module), class }
                if module == "torch.return_types" && class == "_values_indices" =>
            {
                Some(Self::Tuple(2))
            }
            Alternative::Container { class, .. } => match class.as_str() {
                "list" => Some(Self::List),
                "dict" => Some(Self::Dict),
                "tuple" => tuple_length(&fact.shown).map(Self::Tuple),
                _ => None,
            },
            _ => None,
        });
        let first = types.next()??;
        types.all(|ty| ty == Some(first)).then_some(first)
    }

    /// Returns the type of an expression if it has exactly one. TorchScript's mathematical functions return numbers for
    /// numbers, unlike those of eager PyTorch: `torch.sqrt(volume)` with `volume: float`.
    pub(super) fn of_expression(ctx: &FunctionContext, expression: &Expr) -> Option<Self> {
        if let Expr::Call(call) = expression
            && ctx.resolve(&call.func).is_some_and(|name| name.starts_with("torch."))
            && let [first, rest @ ..] = &*call.arguments.args
            && [first].into_iter().chain(rest).all(|argument| {
                matches!(Self::of_expression(ctx, argument), Some(Self::Int | Self::Float | Self::Bool))
            })
        {
            return None;
        }
        // `x.item()` is a `number`, which becomes an integer or a float where one is required.
        let is_number = expression
            .as_call_expr()
            .and_then(|call| call.func.as_attribute_expr())
            .is_some_and(|method| method.attr.as_str() == "item");
        if is_number { None } else { Self::of(ctx.fact(expression)) }
    }

    /// Returns the type that a definition gives a name. It is unknown if the annotation is more general than the value:
    /// `best: Optional[Tensor] = None`.
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
        Self::of_expression(ctx, ctx.expression_at(definition.value?)?)
    }

    /// Returns whether a definition is a plain `x = value`. In `x += 1` the right side is not the value of `x`, and in
    /// `x: T = 1` it does not determine the type of `x`.
    pub(super) fn is_plain_binding(ctx: &FunctionContext, definition: &Def) -> bool {
        ctx.statements().into_iter().any(|statement| match statement {
            Stmt::Assign(assign) => assign.range().contains_range(definition.range),
            _ => false,
        })
    }

    /// Returns the type that all definitions have in common.
    pub(super) fn of_definitions<'d>(
        ctx: &FunctionContext,
        definitions: impl IntoIterator<Item = &'d Def>,
    ) -> Option<Self> {
        let mut types = definitions.into_iter().map(|definition| Self::of_definition(ctx, definition));
        let first = types.next()??;
        types.all(|ty| ty == Some(first)).then_some(first)
    }
}

/// Returns the `if` statements whose test is evaluated at run time, each with the clause.
pub(super) fn conditions<'a>(
    ctx: &FunctionContext<'a>,
    compiled: &Compiled,
) -> Vec<(TextRange, &'a Expr, &'a ast::StmtIf, usize)> {
    ctx.decisions()
        .filter_map(|(construct, node)| match node {
            ConstructNode::If(statement, clause) => Some((construct.range, node.test()?, statement, clause)),
            _ => None,
        })
        .filter(|(_, test, ..)| known(ctx, test) == Known::No && compiled.contains(test.range()))
        .collect()
}
