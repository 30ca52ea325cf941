//! The signature of a function, and the effects of its body on other code, computed from syntax.

use ruff_index::IndexVec;
use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::FxHashSet;

use crate::ids::ParameterIndex;
use crate::index::initial_uses;
use crate::index::last_name;
use crate::type_expression::TypeExpression;

/// The signature of a function, and the effects of its body on other code, computed from syntax.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    pub parameters: IndexVec<ParameterIndex, ParameterSyntax>,
    /// The offset at which ` -> T` is inserted: after the closing parenthesis.
    pub returns_at: TextSize,
    /// The user's return annotation.
    pub return_annotation: Option<Annotation>,
    /// The start of the body.
    pub body_at: TextSize,
    pub is_generator: bool,
    pub is_static: bool,
    pub is_property: bool,
    /// Whether the function contains `self.x = …`.
    pub sets_attributes: bool,
    /// The attributes that the function itself sets or deletes, without those of nested functions.
    pub stores: Vec<Name>,
    /// Whether the function itself, without nested functions, contains an import, `global` or `nonlocal`.
    pub rebinds: bool,
    /// Whether the function itself, without nested functions, contains `global`.
    pub declares_global: bool,
    /// Whether the function tests a value that may be a Tensor, or iterates over one: see `plain::is_plainly_python`.
    pub tests_values: bool,
    /// Whether the function is never defined, because it is in the body of an `if` on a module constant that is
    /// `False`.
    pub is_dead: bool,
    /// The texts of returned expressions that name nested functions: `init, update`.
    pub returned: Vec<Name>,
    /// For each decorator, the last part of its name, such as `lru_cache`; empty if it has no name: `@decorators[0]`.
    pub decorators: Vec<Name>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterSyntax {
    pub name: Name,
    pub name_range: TextRange,
    pub kind: ParameterKind,
    pub annotated: bool,
    /// The annotation, if an assumption may extend or replace it.
    pub annotation: Option<Annotation>,
    pub default: DefaultValue,
    /// Whether the body uses it in a way that a Tensor does not support, or as a flag: `x["key"]`, `x.items()`,
    /// `x == "sum"`, `isinstance(x, dict)`, `if x:`.
    pub used_as_python: bool,
    /// The uses before the body binds the name again: see `index/initial_uses.rs`.
    pub initial_uses: Vec<TextRange>,
}

/// An annotation that the user wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotation {
    pub range: TextRange,
    /// Whether it is within quotes: `"Tensor"`.
    pub quoted: bool,
    /// Whether it is imprecise, so that call sites may determine a more precise type: `dict[str, Any]`, `Callable`,
    /// `list`.
    pub vague: bool,
    /// Whether it is a type variable without a bound, which does not constrain the argument: `def f[T](x: T)`.
    pub variable: bool,
    /// Whether it is a Python number: `int`, `float`, `bool`, `complex`.
    pub number: bool,
    /// Whether it is a Tensor or array: `tf.Tensor`, `jax.Array`.
    pub tensor: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    PositionalOnly,
    Positional,
    KeywordOnly,
    VarArgs,
    VarKeywords,
}

/// The type of a default value, if it is a literal. A call that omits the argument passes a value of this type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefaultValue {
    Absent,
    None,
    Bool(bool),
    /// The type: `int`, `str`, `tuple[int, int]`.
    Literal(TypeExpression),
    Other,
}

impl Signature {
    /// Returns whether the function itself, without nested functions, binds names or attributes that other code can
    /// read: see [`crate::self_contained`].
    pub fn binds_outside(&self) -> bool {
        self.rebinds || !self.stores.is_empty()
    }
}

impl Signature {
    /// Returns the signature of a function. `variables` are the type variables of the file.
    pub(super) fn of(def: &ast::StmtFunctionDef, variables: &FxHashSet<Name>) -> Self {
        let decorators: Vec<Name> = def
            .decorator_list
            .iter()
            .map(|decorator| {
                let expression = match &decorator.expression {
                    Expr::Call(call) => &call.func,
                    other => other,
                };
                last_name(expression).cloned().unwrap_or_default()
            })
            .collect();
        let parameters = &def.parameters;
        let plain = |list: &[ast::ParameterWithDefault], kind: ParameterKind| {
            list.iter()
                .map(|parameter| ParameterSyntax {
                    name: parameter.parameter.name.id.clone(),
                    name_range: parameter.parameter.name.range(),
                    kind,
                    annotated: parameter.parameter.annotation.is_some(),
                    annotation: parameter
                        .parameter
                        .annotation
                        .as_deref()
                        .map(|annotation| Annotation::of(annotation, variables)),
                    default: DefaultValue::of(parameter.default()),
                    used_as_python: false,
                    initial_uses: initial_uses::of(def, &parameter.parameter.name.id),
                })
                .collect::<Vec<_>>()
        };
        let variadic = |parameter: Option<&ast::Parameter>, kind: ParameterKind| {
            parameter.map(|parameter| ParameterSyntax {
                name: parameter.name.id.clone(),
                name_range: parameter.name.range(),
                kind,
                annotated: parameter.annotation.is_some(),
                annotation: None,
                default: DefaultValue::Absent,
                used_as_python: false,
                initial_uses: Vec::new(),
            })
        };
        let mut all = plain(&parameters.posonlyargs, ParameterKind::PositionalOnly);
        all.extend(plain(&parameters.args, ParameterKind::Positional));
        all.extend(variadic(parameters.vararg.as_deref(), ParameterKind::VarArgs));
        all.extend(plain(&parameters.kwonlyargs, ParameterKind::KeywordOnly));
        all.extend(variadic(parameters.kwarg.as_deref(), ParameterKind::VarKeywords));
        Self {
            parameters: IndexVec::from_raw(all),
            returns_at: parameters.end(),
            body_at: def.body.first().map_or(def.end(), Ranged::start),
            return_annotation: def.returns.as_deref().map(|annotation| Annotation::of(annotation, variables)),
            is_generator: false,
            is_static: decorators.iter().any(|name| name == "staticmethod"),
            is_property: decorators
                .iter()
                .any(|name| matches!(name.as_str(), "property" | "cached_property")),
            sets_attributes: false,
            stores: Vec::new(),
            rebinds: false,
            declares_global: false,
            tests_values: false,
            is_dead: false,
            returned: Vec::new(),
            decorators,
        }
    }
}

impl ParameterSyntax {
    /// Returns whether the parameter may be a flag although its annotation declares another type:
    /// `output_attentions: Optional[tf.Tensor] = None`, where the body tests the parameter.
    pub fn may_be_flag(&self) -> bool {
        self.used_as_python && matches!(self.default, DefaultValue::None | DefaultValue::Bool(_))
    }
}

impl Annotation {
    pub(super) fn of(annotation: &Expr, variables: &FxHashSet<Name>) -> Self {
        let variable = annotation.as_name_expr().is_some_and(|name| variables.contains(&name.id));
        Self {
            range: annotation.range(),
            quoted: annotation.is_string_literal_expr(),
            vague: variable || is_vague(annotation),
            variable,
            number: matches!(annotation, Expr::Name(name) if matches!(name.id.as_str(), "int" | "float" | "bool" | "complex")),
            tensor: last_name(annotation)
                .is_some_and(|name| matches!(name.as_str(), "Tensor" | "Array" | "ndarray")),
        }
    }
}

fn is_vague(annotation: &Expr) -> bool {
    // `nn.Module` is imprecise: the modules that calls pass are of derived classes.
    let is_base = matches!(annotation, Expr::Attribute(attribute)
        if attribute.attr.as_str() == "Module" && last_name(&attribute.value).is_some_and(|name| name == "nn"));
    if is_base {
        return true;
    }
    const OPEN: &[&str] = &[
        "Any",
        "object",
        "Callable",
        "dict",
        "Dict",
        "Mapping",
        "list",
        "List",
        "tuple",
        "Tuple",
        "set",
        "Set",
        "Sequence",
        "Iterable",
        "Iterator",
        "Collection",
    ];
    match annotation {
        Expr::Name(_) | Expr::Attribute(_) => {
            last_name(annotation).is_some_and(|name| OPEN.contains(&name.as_str()))
        }
        Expr::Subscript(subscript) => is_vague(&subscript.slice),
        Expr::Tuple(tuple) => tuple.elts.iter().any(is_vague),
        Expr::List(list) => list.elts.iter().any(is_vague),
        Expr::BinOp(operation) => is_vague(&operation.left) || is_vague(&operation.right),
        _ => false,
    }
}

impl DefaultValue {
    fn of(default: Option<&Expr>) -> Self {
        match default {
            None => Self::Absent,
            Some(Expr::NoneLiteral(_)) => Self::None,
            Some(Expr::BooleanLiteral(literal)) => Self::Bool(literal.value),
            Some(expression) => literal_type(expression).map_or(Self::Other, Self::Literal),
        }
    }

    pub fn type_expression(&self) -> Option<TypeExpression> {
        match self {
            Self::None => Some(TypeExpression::none()),
            Self::Bool(_) => Some(TypeExpression::builtin("bool")),
            Self::Literal(literal) => Some(literal.clone()),
            Self::Absent | Self::Other => None,
        }
    }
}

/// Returns the type of a literal: `3` -> `int`, `(1, 2)` -> `tuple[int, int]`, `["a"]` -> `list[str]`.
fn literal_type(expression: &Expr) -> Option<TypeExpression> {
    Some(match expression {
        Expr::BooleanLiteral(_) => TypeExpression::builtin("bool"),
        Expr::StringLiteral(_) | Expr::FString(_) => TypeExpression::builtin("str"),
        Expr::NumberLiteral(literal) => match literal.value {
            ast::Number::Int(_) => TypeExpression::builtin("int"),
            ast::Number::Float(_) => TypeExpression::builtin("float"),
            ast::Number::Complex { .. } => TypeExpression::builtin("complex"),
        },
        Expr::UnaryOp(operation) if operation.op == ast::UnaryOp::USub => {
            return literal_type(&operation.operand);
        }
        Expr::Tuple(tuple) => {
            let elements: Option<Vec<_>> = tuple.elts.iter().map(literal_type).collect();
            TypeExpression::generic(TypeExpression::builtin("tuple"), elements?)
        }
        Expr::List(list) => {
            let first = literal_type(list.elts.first()?)?;
            let uniform = list.elts.iter().all(|element| literal_type(element).as_ref() == Some(&first));
            let list = TypeExpression::builtin("list");
            if uniform { TypeExpression::generic(list, vec![first]) } else { list }
        }
        _ => return None,
    })
}
