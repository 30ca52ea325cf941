//! The fields that a class declares for a constructor that Python or a library generates:
//!
//! ```python
//! @dataclasses.dataclass
//! class State:
//!     step: int
//!     loss: Any = 0.0
//!
//! State(1, tf.reduce_sum(x))                            # `loss` is a Tensor
//! ```

use ruff_python_ast::helpers::map_callable;
use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, Stmt};
use rustc_hash::FxHashSet;

use super::last_name;
use super::signature::Annotation;

/// The decorators that generate a constructor, by the last part of their names.
const DECORATORS: [&str; 4] = ["dataclass", "define", "frozen", "pytree_dataclass"];
/// The base classes whose derived classes have a generated constructor.
const BASES: [&str; 2] = ["NamedTuple", "PyTreeNode"];

/// A field of a generated constructor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: Name,
    pub annotation: Annotation,
    pub has_default: bool,
}

/// Returns the fields of a class in the order of the constructor's parameters; none if the class has a constructor or may
/// inherit fields. `variables` are the type variables of the file.
pub(super) fn of(class: &ast::StmtClassDef, variables: &FxHashSet<Name>) -> Vec<Field> {
    let is_decorator = |decorator: &ast::Decorator| {
        last_name(map_callable(&decorator.expression)).is_some_and(|name| DECORATORS.contains(&name.as_str()))
    };
    let is_base = |base: &Expr| last_name(base).is_some_and(|name| BASES.contains(&name.as_str()));
    let is_generated = match class.bases() {
        [] => class.decorator_list.iter().any(is_decorator),
        [base] => is_base(base),
        _ => false,
    };
    let defines_constructor = class
        .body
        .iter()
        .filter_map(Stmt::as_function_def_stmt)
        .any(|method| matches!(method.name.as_str(), "__init__" | "__new__"));
    if !is_generated || defines_constructor {
        return Vec::new();
    }
    let declared = class.body.iter().filter_map(Stmt::as_ann_assign_stmt);
    let fields = declared.filter_map(|field| {
        let name = field.target.as_name_expr()?;
        Some((field, name.id.clone()))
    });
    // A field that is not a parameter, or not by position, shifts the positions of the others.
    let is_parameter = |field: &ast::StmtAnnAssign| {
        let annotation = match &*field.annotation {
            Expr::Subscript(subscript) => &subscript.value,
            annotation => annotation,
        };
        let is_special = last_name(annotation)
            .is_some_and(|name| matches!(name.as_str(), "ClassVar" | "InitVar" | "KW_ONLY"));
        let value = field.value.as_deref().and_then(Expr::as_call_expr);
        let is_set_later = value.is_some_and(|call| {
            ["init", "kw_only"].iter().any(|option| call.arguments.find_keyword(option).is_some())
        });
        !is_special && !is_set_later
    };
    let fields: Vec<_> = fields.collect();
    if !fields.iter().all(|(field, _)| is_parameter(field)) {
        return Vec::new();
    }
    let fields = fields.into_iter().map(|(field, name)| Field {
        name,
        annotation: Annotation::of(&field.annotation, variables),
        has_default: field.value.is_some(),
    });
    fields.collect()
}
