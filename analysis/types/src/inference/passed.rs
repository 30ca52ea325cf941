//! The arguments that library functions pass to the functions that they call: `lax.scan(f, init, xs)` calls
//! `f(init, x)` for an item `x` of `xs`.

use ruff_python_ast::{self as ast, Expr};

use super::Inference;
use ag_index::answers::ArgumentSlot;
use ag_index::assumed::AssumedType;
use ag_index::callbacks::{self, HigherOrderFunction, PassedArgument, Tracing};
use ag_index::dialect::Dialect;
use ag_index::facts::Alternative;
use ag_index::type_expression::TypeExpression;

impl Inference<'_> {
    pub(super) fn passed_arguments(
        &self,
        caller: &HigherOrderFunction,
        call: &ast::ExprCall,
    ) -> Vec<(ArgumentSlot, AssumedType)> {
        let mut types = Vec::new();
        let (module, tensor) = caller.dialect.tensor_class();
        for argument in caller.arguments {
            match argument {
                PassedArgument::Argument(position, keyword) => {
                    let argument = callbacks::argument(call, *position, keyword);
                    types.push(argument.map_or_else(AssumedType::unknown, |it| self.passed(caller, it)));
                }
                PassedArgument::Spread(position, keyword) => {
                    match callbacks::argument(call, *position, keyword) {
                        Some(Expr::List(list)) => {
                            types.extend(list.elts.iter().map(|e| self.staged_operand(caller, e)))
                        }
                        Some(Expr::Tuple(tuple)) => {
                            types.extend(tuple.elts.iter().map(|e| self.staged_operand(caller, e)))
                        }
                        _ => {}
                    }
                }
                PassedArgument::Rest(position) => {
                    let rest = call.arguments.args.iter().skip(*position);
                    types.extend(rest.map(|e| self.staged_operand(caller, e)));
                }
                PassedArgument::Slice(position, keyword) => {
                    if let Some(argument) = callbacks::argument(call, *position, keyword) {
                        types.push(self.staged_operand(caller, argument));
                    }
                }
                PassedArgument::Leaf(position, keyword) => {
                    if let Some(argument) = callbacks::argument(call, *position, keyword) {
                        let is_whole = call.arguments.find_keyword("is_leaf").is_some();
                        let tree = self.passed(caller, argument);
                        types.push(if is_whole { AssumedType::unknown() } else { leaves(&tree) });
                    }
                }
                PassedArgument::Tensor => types.push(AssumedType::of(TypeExpression::class(module, tensor))),
            }
        }
        types
            .into_iter()
            .enumerate()
            .map(|(position, assumed)| (ArgumentSlot::Position(position as u32), assumed))
            .collect()
    }

    /// Returns the type of an argument that the function passes on. If the library function does not trace, such as
    /// `jax.tree.map`, numbers stay numbers.
    fn passed(&self, caller: &HigherOrderFunction, argument: &Expr) -> AssumedType {
        match caller.tracing {
            Tracing::Never => self.assumed(argument),
            Tracing::Always | Tracing::InStagedCode | Tracing::WhenJitted => {
                self.staged_operand(caller, argument)
            }
        }
    }

    /// Returns the type of an operand of staged control flow, where numbers become Tensors.
    fn staged_operand(&self, caller: &HigherOrderFunction, expression: &Expr) -> AssumedType {
        match caller.dialect {
            Dialect::Torch => self.assumed(expression),
            dialect => self.with_tensors(dialect, expression),
        }
    }

    /// Returns the type of a structure whose numbers become Tensors: `(0, {"loss": 0.0})`.
    pub(super) fn with_tensors(&self, dialect: Dialect, expression: &Expr) -> AssumedType {
        let (module, tensor) = dialect.tensor_class();
        let fact = self.type_of(expression).map(|ty| self.fact(ty));
        let is_number = fact.is_some_and(|fact| {
            use Alternative::{Bool, Float, Int};
            !fact.unknown
                && !fact.alternatives.is_empty()
                && fact.alternatives.iter().all(|a| matches!(a, Bool(_) | Int(_) | Float))
        });
        if is_number {
            return AssumedType::of(TypeExpression::class(module, tensor));
        }
        let tensor = TypeExpression::class(module, tensor);
        let assumed = self.assumed(expression);
        let mut found = if assumed.unknown { AssumedType::unknown() } else { AssumedType::default() };
        assumed.alternatives().iter().for_each(|part| found.insert(numbers_to_tensors(part, &tensor)));
        found
    }
}

/// Replaces the numbers in a structure of tuples, lists and dictionaries.
fn numbers_to_tensors(part: &TypeExpression, tensor: &TypeExpression) -> TypeExpression {
    let replaced = |part: &TypeExpression| numbers_to_tensors(part, tensor);
    match part {
        TypeExpression::Builtin(name) if matches!(name.as_str(), "int" | "float" | "bool" | "complex") => {
            tensor.clone()
        }
        TypeExpression::Generic(generic) => {
            let (class, arguments) = &**generic;
            let TypeExpression::Builtin(name) = class else { return part.clone() };
            match (name.as_str(), arguments.as_slice()) {
                ("list" | "tuple", arguments) => {
                    TypeExpression::generic(class.clone(), arguments.iter().map(replaced).collect())
                }
                ("dict", [key, value]) => {
                    TypeExpression::generic(class.clone(), vec![key.clone(), replaced(value)])
                }
                _ => part.clone(),
            }
        }
        TypeExpression::Union(parts) => {
            let mut different: Vec<TypeExpression> = Vec::new();
            for part in parts.iter().map(replaced) {
                if !different.contains(&part) {
                    different.push(part);
                }
            }
            TypeExpression::union(different)
        }
        TypeExpression::Unpacked(inner) => TypeExpression::Unpacked(replaced(inner).into()),
        _ => part.clone(),
    }
}

/// Returns the types of the leaves of a tree: `Array` for `list[tuple[Array, Array]]`. Instances of classes that are
/// not arrays may be nodes of the tree, so the type of their leaves is unknown.
fn leaves(tree: &AssumedType) -> AssumedType {
    fn add(part: &TypeExpression, found: &mut AssumedType) {
        match part {
            TypeExpression::Builtin(name) => match name.as_str() {
                "list" | "tuple" | "dict" => found.unknown = true,
                "None" => {}
                _ => found.insert(part.clone()),
            },
            TypeExpression::Class(class) if matches!(class.qualname.as_str(), "Array" | "ndarray") => {
                found.insert(part.clone());
            }
            TypeExpression::Placeholder(_) => found.insert(part.clone()),
            TypeExpression::Generic(generic) => match &generic.0 {
                TypeExpression::Builtin(name) => match (name.as_str(), generic.1.as_slice()) {
                    ("list" | "tuple", elements) => elements.iter().for_each(|element| add(element, found)),
                    ("dict", [_, value]) => add(value, found),
                    _ => found.unknown = true,
                },
                TypeExpression::Class(class) if class.qualname == "ndarray" => found.insert(part.clone()),
                _ => found.unknown = true,
            },
            TypeExpression::Union(parts) => parts.iter().for_each(|part| add(part, found)),
            TypeExpression::Unpacked(inner) => add(inner, found),
            TypeExpression::Ellipsis => {}
            TypeExpression::Class(_) => found.unknown = true,
        }
    }
    let mut found = if tree.unknown { AssumedType::unknown() } else { AssumedType::default() };
    tree.alternatives().iter().for_each(|alternative| add(alternative, &mut found));
    found.unknown |= found.is_empty();
    found
}
