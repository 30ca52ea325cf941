//! The binding time of a test: it follows from the type checker's answer, except where staging differs from Python.
//!
//! A type checker infers `bool` for `not t` and `a and t`. AutoGraph rewrites such a test into operators on Tensors,
//! and the other libraries evaluate `bool(t)`. So the test has the binding time of its operands.

use ruff_python_ast::{self as ast, CmpOp, Expr};

use ag_index::facts::{Alternative, Binding, Fact};

/// Looks up the fact of an expression.
pub type Lookup<'a> = &'a dyn Fn(&Expr) -> Option<&'a Fact>;

/// Returns the binding time of `expression` when its value is tested.
pub fn of_test(expression: &Expr, fact: Lookup) -> Binding {
    match expression {
        Expr::UnaryOp(ast::ExprUnaryOp { op: ast::UnaryOp::Not, operand, .. }) => of_test(operand, fact),
        Expr::BoolOp(operation) => of_bool_op(operation, expression, fact),
        Expr::Compare(compare) => of_compare(compare, expression, fact),
        Expr::Named(named) => of_test(&named.value, fact),
        Expr::If(conditional) => {
            let test = of_test(&conditional.test, fact);
            let value = of_test(&conditional.body, fact).join(of_test(&conditional.orelse, fact));
            if test == Binding::Staged { Binding::Staged } else { value }
        }
        _ => match fact(expression).map_or(Binding::Unknown, Fact::binding) {
            Binding::Unknown if is_metadata(expression) => Binding::Python,
            binding => binding,
        },
    }
}

/// Returns whether an expression is metadata of a Tensor, which every library keeps on the host: `x.dtype`,
/// `leaf.ndim`, `y.shape[0]`.
fn is_metadata(expression: &Expr) -> bool {
    match expression {
        Expr::Attribute(attribute) => {
            const HOST_ATTRIBUTES: &[&str] = &[
                "dtype",
                "ndim",
                "ndims",
                "shape",
                "device",
                "itemsize",
                "requires_grad",
                "is_cuda",
                "is_leaf",
            ];
            HOST_ATTRIBUTES.contains(&attribute.attr.as_str()) || is_metadata(&attribute.value)
        }
        Expr::BinOp(operation) => {
            let sides = [&*operation.left, &*operation.right];
            sides.iter().any(|side| is_metadata(side))
                && sides.iter().all(|side| side.is_number_literal_expr() || is_metadata(side))
        }
        Expr::Subscript(subscript) => is_metadata(&subscript.value),
        Expr::Call(call) => match call.func.as_ref() {
            Expr::Name(name) => match name.id.as_str() {
                "isinstance" | "issubclass" | "hasattr" | "callable" | "len" | "type" | "id" | "str"
                | "repr" => true,
                "min" | "max" | "int" | "abs" | "sum" | "tuple" | "list" | "range" => {
                    !call.arguments.args.is_empty() && call.arguments.args.iter().all(is_metadata)
                }
                _ => false,
            },
            // `x.shape.as_list()`; methods of torch's Tensors and of strings that return host values:
            // `x.dim()`, `x.size(0)`.
            Expr::Attribute(method) => {
                const HOST_METHODS: &[&str] = &[
                    "dim",
                    "numel",
                    "nelement",
                    "is_floating_point",
                    "is_complex",
                    "is_contiguous",
                    "startswith",
                    "endswith",
                ];
                is_metadata(&method.value)
                    || HOST_METHODS.contains(&method.attr.as_str())
                    || method.attr.as_str() == "size" && !call.arguments.is_empty()
            }
            _ => false,
        },
        _ => false,
    }
}

/// Returns the binding time of the decision that `a and b` or `a or b` makes: staged if an operand other than the last
/// is a Tensor. The operator does not test the last operand.
pub fn of_operands(operation: &ast::ExprBoolOp, fact: Lookup) -> Binding {
    let Some((_, tested)) = operation.values.split_last() else { return Binding::Unknown };
    let bindings: Vec<_> = tested.iter().map(|value| of_test(value, fact)).collect();
    for decisive in [Binding::Staged, Binding::Mixed, Binding::Unknown] {
        if bindings.contains(&decisive) {
            return decisive;
        }
    }
    Binding::Python
}

/// Returns the binding time of the *value* of `a and b`.
fn of_bool_op(operation: &ast::ExprBoolOp, expression: &Expr, fact: Lookup) -> Binding {
    let tested = of_operands(operation, fact);
    if tested != Binding::Python {
        return tested;
    }
    let last = operation.values.last().map_or(Binding::Unknown, |value| of_test(value, fact));
    if last == Binding::Python {
        return Binding::Python;
    }
    // `flag and t` is `False` or a Tensor. The type engine infers which one if it knows `flag`.
    match fact(expression) {
        Some(known) if !known.unknown && !known.never && known.binding() == Binding::Staged => {
            Binding::Staged
        }
        Some(known)
            if !known.unknown && !known.alternatives.is_empty() && always_short_circuits(operation, fact) =>
        {
            Binding::Python
        }
        _ if last == Binding::Staged => Binding::Mixed,
        _ => last,
    }
}

/// Returns whether an operand before the last always ends the evaluation: `None is not None and …`.
fn always_short_circuits(operation: &ast::ExprBoolOp, fact: Lookup) -> bool {
    let ends = operation.op == ast::BoolOp::Or;
    let Some((_, tested)) = operation.values.split_last() else { return false };
    tested.iter().any(|value| {
        fact(value).is_some_and(|known| {
            !known.unknown
                && matches!(known.alternatives.as_slice(), [Alternative::Bool(Some(truth))] if *truth == ends)
        })
    })
}

/// Returns the binding time of the decision that `a < b < c` makes: staged if a comparison other than the last is on
/// Tensors.
pub fn of_chain(compare: &ast::ExprCompare, fact: Lookup) -> Binding {
    let mut pairs: Vec<_> = pairs(compare).collect();
    pairs.pop();
    let bindings: Vec<_> =
        pairs.into_iter().map(|(left, op, right)| of_pair(left, op, right, fact)).collect();
    for decisive in [Binding::Staged, Binding::Mixed, Binding::Unknown] {
        if bindings.contains(&decisive) {
            return decisive;
        }
    }
    Binding::Python
}

fn of_compare(compare: &ast::ExprCompare, expression: &Expr, fact: Lookup) -> Binding {
    // If the operands are staged, the result is. The inferred type `bool` is used for Python operands only: the type
    // engine also infers it for unknown operands, and `Never` for some comparisons of Tensors.
    let believed = compare.ops.len() == 1 && !pairs(compare).any(compares_with_none);
    if believed && fact(expression).is_some_and(|known| known.binding() == Binding::Staged) {
        return Binding::Staged;
    }
    let bindings: Vec<_> = pairs(compare).map(|(left, op, right)| of_pair(left, op, right, fact)).collect();
    for decisive in [Binding::Staged, Binding::Mixed, Binding::Unknown] {
        if bindings.contains(&decisive) {
            return decisive;
        }
    }
    Binding::Python
}

fn of_pair(left: &Expr, op: CmpOp, right: &Expr, fact: Lookup) -> Binding {
    // Dtypes are compared only with dtypes, devices with devices, and strings with strings, whatever type is inferred
    // for the other side. None of these comparisons is on Tensors.
    let names_no_value = |side: &Expr| {
        side.as_attribute_expr().is_some_and(|side| matches!(side.attr.as_str(), "dtype" | "device"))
            || matches!(side, Expr::StringLiteral(_) | Expr::FString(_))
            || matches!(side, Expr::Tuple(_) | Expr::List(_))
                && of_test(if std::ptr::eq(side, left) { right } else { left }, fact) == Binding::Unknown
    };
    if compares_with_none((left, op, right))
        || matches!(op, CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn)
        || names_no_value(left)
        || names_no_value(right)
    {
        return Binding::Python;
    }
    let is_order = matches!(op, CmpOp::Lt | CmpOp::LtE | CmpOp::Gt | CmpOp::GtE);
    let value = |expression: &Expr| match of_test(expression, fact) {
        Binding::Mixed if is_order && fact(expression).is_some_and(is_tensor_if_ordered) => Binding::Staged,
        binding => binding,
    };
    match (value(left), value(right)) {
        (Binding::Staged, _) | (_, Binding::Staged) => Binding::Staged,
        (left, right) => left.join(right),
    }
}

/// Returns whether an operand of `<` is certainly a Tensor. This is so for `Tensor | dict[str, Tensor]` and
/// `Tensor | None`, because Python raises an exception for `{} < 1` and `None < 1`.
fn is_tensor_if_ordered(fact: &Fact) -> bool {
    let has_order = |alternative: &&Alternative| match alternative {
        Alternative::None => false,
        Alternative::Container { class, .. } => class != "dict",
        _ => true,
    };
    !fact.unknown
        && fact
            .alternatives
            .iter()
            .filter(has_order)
            .all(|alternative| matches!(alternative, Alternative::Tensor { .. }))
}

/// Returns whether the comparison is like `t == None`. In every library this is a Python `False` and no operation of
/// the graph.
fn compares_with_none((left, op, right): (&Expr, CmpOp, &Expr)) -> bool {
    matches!(op, CmpOp::Eq | CmpOp::NotEq) && (left.is_none_literal_expr() || right.is_none_literal_expr())
}

fn pairs(compare: &ast::ExprCompare) -> impl Iterator<Item = (&Expr, CmpOp, &Expr)> {
    let lefts = std::iter::once(compare.left.as_ref()).chain(compare.comparators.iter());
    lefts
        .zip(compare.ops.iter())
        .zip(compare.comparators.iter())
        .map(|((left, op), right)| (left, *op, right))
}
