//! Finds uses and tests whose syntax excludes Tensors, so that Python evaluates them.

use ruff_python_ast::{self as ast, Expr};

/// Methods of Python's containers and strings that no Tensor has.
pub(super) const PYTHON_METHODS: &[&str] = &[
    "items",
    "keys",
    "values",
    "get",
    "append",
    "extend",
    "update",
    "setdefault",
    "popitem",
    "split",
    "startswith",
    "endswith",
    "lower",
    "upper",
    "format",
    "strip",
    "join",
];

/// Returns whether the second argument of `isinstance` names classes of Python: `dict`, `(list, tuple)`.
pub(super) fn names_python_class(classes: &Expr) -> bool {
    match classes {
        Expr::Name(name) => {
            matches!(name.id.as_str(), "dict" | "list" | "tuple" | "str" | "int" | "float" | "bool" | "set")
        }
        Expr::Tuple(tuple) => tuple.elts.iter().any(names_python_class),
        _ => false,
    }
}

/// Returns whether the syntax of a test shows that it depends on configuration or structure: `x is None`,
/// `self.use_bias`, `training`, `len(shape) == 2`, `mode == "train"`, `for i in range(3)`.
pub(super) fn is_plainly_python(test: &Expr) -> bool {
    match test {
        Expr::UnaryOp(operation) => is_plainly_python(&operation.operand),
        Expr::BoolOp(operation) => operation.values.iter().all(is_plainly_python),
        Expr::Compare(compare) => {
            use ast::CmpOp::{In, Is, IsNot, NotIn};
            compare.ops.iter().all(|op| matches!(op, Is | IsNot | In | NotIn))
                || compare
                    .comparators
                    .iter()
                    .any(|side| matches!(side, Expr::StringLiteral(_) | Expr::NoneLiteral(_)))
                || is_plainly_python(&compare.left) && compare.comparators.iter().all(is_plainly_python)
        }
        Expr::Attribute(attribute) => {
            matches!(attribute.attr.as_str(), "shape" | "ndim" | "dtype" | "rank")
                || attribute.value.as_name_expr().is_some_and(|name| name.id == "self")
                || is_plainly_python(&attribute.value)
        }
        Expr::Subscript(subscript) => is_plainly_python(&subscript.value),
        Expr::Name(name) => name.id == "training",
        Expr::Call(call) => match call.func.as_ref() {
            Expr::Name(name) => {
                matches!(
                    name.id.as_str(),
                    "isinstance" | "hasattr" | "len" | "callable" | "issubclass" | "getattr"
                ) || matches!(
                    name.id.as_str(),
                    "range" | "enumerate" | "zip" | "list" | "tuple" | "sorted" | "reversed"
                ) && call.arguments.args.iter().all(is_plainly_python)
            }
            // `self.layers.items()`
            Expr::Attribute(attribute) => is_plainly_python(&attribute.value),
            _ => false,
        },
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::BooleanLiteral(_) | Expr::NoneLiteral(_) => {
            true
        }
        Expr::List(_) | Expr::Tuple(_) | Expr::Dict(_) => true,
        _ => false,
    }
}
