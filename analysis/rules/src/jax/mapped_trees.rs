//! The result of `jax.tree.map(f, tree, *others)`.

use ruff_python_ast::{self as ast, Operator};

use super::abstract_value::{Leaf, Value};
use super::array_operations::binary;
use super::callee::Callee;
use super::frame::{Environment, Frame};

impl<'a> Frame<'_, '_, 'a> {
    pub(super) fn mapped_tree(&self, call: &'a ast::ExprCall, environment: &Environment<'a>) -> Value {
        let [function, trees @ ..] = &*call.arguments.args else { return Value::Unknown };
        let trees: Vec<Value> = trees.iter().map(|tree| self.value(tree, environment)).collect();
        let callee = self.evaluator.callee_of(&self.value(function, environment));
        let name = self.evaluator.ctx.resolve(function);
        let of_leaves = |leaves: &[&Value]| self.of_leaves(callee.as_ref(), name.as_deref(), leaves);
        let trees: Vec<&Value> = trees.iter().collect();
        zipped(&trees, &of_leaves)
    }

    /// Returns the result for one leaf of each tree.
    fn of_leaves(&self, callee: Option<&Callee>, name: Option<&str>, leaves: &[&Value]) -> Value {
        let result = match (callee, name, leaves) {
            (Some(callee), _, leaves) => {
                callee.call(leaves.iter().map(|leaf| leaf.without_integers()).collect(), self.depth + 1)
            }
            (None, Some("jax.numpy.zeros_like" | "jax.numpy.ones_like"), [leaf]) => leaf.map(&|leaf| Leaf {
                dtype: leaf.dtype.map(|(dtype, _)| (dtype, false)),
                shape: leaf.shape.clone(),
                ..Leaf::default()
            }),
            (None, Some("jax.numpy.add" | "jax.numpy.subtract" | "jax.numpy.multiply"), [left, right]) => {
                binary(left, Operator::Add, right).without_integers()
            }
            _ => Value::Unknown,
        };
        match result {
            // The results of `f` may be trees themselves.
            Value::Object(_) | Value::Function(_) | Value::Other => Value::Unknown,
            result => result,
        }
    }
}

/// Returns the tree with the structure of the first tree whose leaves are computed from those of all trees.
fn zipped(trees: &[&Value], of_leaves: &dyn Fn(&[&Value]) -> Value) -> Value {
    let Some((first, others)) = trees.split_first() else { return Value::Unknown };
    let part = |part: &Value, of_other: &dyn Fn(&Value) -> Option<Value>| {
        let parts: Option<Vec<Value>> = others.iter().map(|other| of_other(other)).collect();
        match parts {
            Some(parts) => zipped(&std::iter::once(part).chain(&parts).collect::<Vec<_>>(), of_leaves),
            None => part.structure(),
        }
    };
    let elements = |elements: &[Value]| -> Vec<Value> {
        let at = |(position, element): (usize, &Value)| {
            part(element, &|other| other.elements()?.get(position).map(|it| Value::clone(it)))
        };
        elements.iter().enumerate().map(at).collect()
    };
    match first {
        Value::Leaf(_) => of_leaves(trees),
        Value::None => Value::None,
        Value::Tuple(own) => Value::Tuple(elements(own)),
        Value::List(own) => Value::List(elements(own)),
        Value::Dict(items) => {
            let item = |(key, item): &(String, Value)| {
                let of_other = |other: &Value| match other {
                    Value::Dict(items) => items.iter().find(|(own, _)| own == key).map(|(_, it)| it.clone()),
                    _ => None,
                };
                (key.clone(), part(item, &of_other))
            };
            Value::Dict(items.iter().map(item).collect())
        }
        Value::Record(record) => record.map(|name, field| {
            part(field, &|other| match other {
                Value::Record(other) => other.field(name).cloned(),
                _ => None,
            })
        }),
        Value::Unknown | Value::Other | Value::Function(_) | Value::Object(_) => Value::Unknown,
    }
}
