//! Converts ty's types to type expressions that are valid in other files: [`AssumedType`].
//!
//! ty's generic types are not public, but their display is: text together with the definition of every class in
//! it. The text is parsed as a Python expression and converted: each class gets its module and qualname, and literals
//! are widened to their classes. A type without a type expression becomes `Any` or unknown.

use std::sync::Arc;

use ruff_db::files::File;
use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, Operator};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashMap;
use ty_python_semantic::types::{Type, TypeDefinition, TypeDetail};

use super::{Inference, module_key};
use ag_index::assumed::AssumedType;
use ag_index::facts::{Alternative, Library};
use ag_index::type_expression::{Placeholder, TypeExpression, UNTYPED_TENSOR};

impl<'db> Inference<'db> {
    /// Returns the type of an expression.
    pub(super) fn assumed(&self, expression: &Expr) -> AssumedType {
        let mut assumed = AssumedType::default();
        if let Expr::Lambda(lambda) = expression {
            return self.callable_of_lambda(lambda);
        }
        if self.negates_tensor(expression) {
            return AssumedType::of(TypeExpression::class("tensorflow", "Tensor"));
        }
        match self.type_of(expression) {
            Some(ty) => self.add_assumed(ty, &mut assumed),
            None => assumed.unknown = true,
        }
        let is_vague = assumed.unknown || assumed.alternatives().iter().any(TypeExpression::mentions_any);
        match is_vague.then(|| self.display_type(expression)).flatten() {
            Some(computed) => computed,
            None => assumed,
        }
    }

    /// Returns whether an expression is `self`, or `cls(…)` in a class method. ty's type for both is the type variable
    /// `Self`.
    pub(super) fn is_self(&self, expression: &Expr) -> bool {
        matches!(self.type_of(expression), Some(ty @ Type::TypeVar(_))
            if ty.display(self.db, &self.env).to_string().starts_with("Self@"))
    }

    /// `lambda x: x > 0` -> `Callable[..., Tensor]`.
    fn callable_of_lambda(&self, lambda: &ast::ExprLambda) -> AssumedType {
        let result = self.assumed(&lambda.body);
        match result.union().filter(|_| !result.is_empty()) {
            Some(result) => AssumedType::of(TypeExpression::callable(result)),
            None => AssumedType::unknown(),
        }
    }

    /// Returns the type of a list, set or dictionary display or comprehension, computed from its elements, and of a copy,
    /// computed from the original. If the expression is an argument or a result, ty infers the declared type
    /// (`options: dict[str, Any]`), which may be less precise.
    fn display_type(&self, expression: &Expr) -> Option<AssumedType> {
        let join = |elements: Vec<&Expr>| {
            let mut joined = AssumedType::default();
            elements.into_iter().for_each(|element| joined.join(&self.assumed(element)));
            joined.union().filter(|_| !joined.unknown)
        };
        let keys = |keys: Vec<&Expr>| join(keys).unwrap_or_else(TypeExpression::any);
        let (class, arguments) = match expression {
            Expr::Dict(dict) => {
                let names = dict.items.iter().map(|item| item.key.as_ref()).collect::<Option<_>>()?;
                ("dict", vec![keys(names), join(dict.items.iter().map(|item| &item.value).collect())?])
            }
            Expr::DictComp(node) => {
                ("dict", vec![keys(node.key.as_deref().into_iter().collect()), join(vec![&*node.value])?])
            }
            Expr::List(list) if !list.elts.iter().any(Expr::is_starred_expr) => {
                ("list", vec![join(list.elts.iter().collect())?])
            }
            Expr::ListComp(node) => ("list", vec![join(vec![&*node.elt])?]),
            Expr::SetComp(node) => ("set", vec![join(vec![&*node.elt])?]),
            Expr::Tuple(tuple) if !tuple.elts.iter().any(Expr::is_starred_expr) => {
                let elements: Vec<_> = tuple.elts.iter().map(|element| join(vec![element])).collect();
                elements.iter().find_map(Option::as_ref)?;
                let element = |element: Option<_>| element.unwrap_or_else(TypeExpression::any);
                ("tuple", elements.into_iter().map(element).collect())
            }
            Expr::Call(call) => return self.type_of_copy(call),
            _ => return None,
        };
        let class = TypeExpression::builtin(class);
        // In a recursive function the type would grow in each round: `{key: part(value) for key, value in node}`.
        let mut is_nested = false;
        for argument in &arguments {
            argument.visit(&mut |part| is_nested |= *part == class);
        }
        let grows = is_nested && !expression.is_dict_expr();
        (!grows).then(|| AssumedType::of(TypeExpression::generic(class, arguments)))
    }

    /// Returns the type of `dict(options)`, `list(states.values())`, `tuple(layers)`, `sorted(sizes)`.
    fn type_of_copy(&self, call: &ast::ExprCall) -> Option<AssumedType> {
        let function = call.func.as_name_expr()?;
        let [original] = &*call.arguments.args else { return None };
        let assumed = self.assumed(original);
        let [TypeExpression::Generic(generic)] = assumed.alternatives() else { return None };
        let class = match &generic.0 {
            TypeExpression::Builtin(name) => name.as_str(),
            TypeExpression::Class(class) => class.qualname.as_str(),
            _ => return None,
        };
        let element = match (class, generic.1.as_slice()) {
            ("dict", [key, value]) if function.id == "dict" && call.arguments.keywords.is_empty() => {
                let arguments = vec![key.clone(), value.clone()];
                return Some(AssumedType::of(TypeExpression::generic(
                    TypeExpression::builtin("dict"),
                    arguments,
                )));
            }
            ("list" | "set", [element])
            | ("tuple", [element, TypeExpression::Ellipsis])
            | ("dict" | "dict_keys", [element, _])
            | ("dict_values", [_, element]) => element.clone(),
            _ => return None,
        };
        let (class, arguments) = match function.id.as_str() {
            "list" | "sorted" => ("list", vec![element]),
            "set" => ("set", vec![element]),
            "tuple" => ("tuple", vec![element, TypeExpression::Ellipsis]),
            _ => return None,
        };
        Some(AssumedType::of(TypeExpression::generic(TypeExpression::builtin(class), arguments)))
    }

    /// Returns whether an expression is `not t` on a Tensor, which AutoGraph converts to an operator.
    fn negates_tensor(&self, expression: &Expr) -> bool {
        let Expr::UnaryOp(ast::ExprUnaryOp { op: ast::UnaryOp::Not, operand, .. }) = expression else {
            return false;
        };
        self.type_of(operand).is_some_and(|ty| {
            let fact = self.fact(ty);
            let of_tensorflow = |alternative: &Alternative| {
                matches!(alternative, Alternative::Tensor { library: Library::Tensorflow, .. })
            };
            fact.is_tensor() && fact.alternatives.iter().all(of_tensorflow)
        })
    }

    pub(super) fn add_assumed(&self, ty: Type<'db>, assumed: &mut AssumedType) {
        match ty {
            Type::Union(union) => {
                for element in union.elements(self.db) {
                    self.add_assumed(*element, assumed);
                }
            }
            Type::Intersection(intersection) => {
                let mut positive =
                    intersection.iter_positive(self.db).filter(|ty| !matches!(ty, Type::Dynamic(_)));
                match positive.next() {
                    Some(first) => self.add_assumed(first, assumed),
                    None => assumed.unknown = true,
                }
            }
            Type::Dynamic(_) | Type::Divergent(_) | Type::TypeVar(_) => assumed.unknown = true,
            // The code is unreachable in this round, or the assumptions contradict each other, so nothing is known.
            Type::Never => {}
            Type::TypeAlias(alias) => self.add_assumed(alias.value_type(self.db), assumed),
            Type::TypeIs(_) | Type::TypeGuard(_) => assumed.insert(TypeExpression::builtin("bool")),
            Type::FunctionLiteral(_) | Type::ClassLiteral(_) | Type::ModuleLiteral(_) => {
                match self.type_of_definition(ty).or_else(|| self.callable_returning(ty)) {
                    Some(alternative) => assumed.insert(alternative),
                    None => assumed.unknown = true,
                }
            }
            Type::BoundMethod(_) | Type::Callable(_) => match self.callable_returning(ty) {
                Some(alternative) => assumed.insert(alternative),
                None => assumed.unknown = true,
            },
            _ => match self.type_expression(ty).or_else(|| self.bare_container(ty)) {
                Some(alternative) => assumed.insert(alternative),
                None => assumed.unknown = true,
            },
        }
    }

    /// Returns the type of a function or class object: `TypeOf[module.function]`.
    pub(super) fn type_of_definition(&self, ty: Type<'db>) -> Option<TypeExpression> {
        let definition = ty.definition(self.db, &self.env)?;
        let name = match definition {
            TypeDefinition::Module(module) => TypeExpression::class(module.name(self.db).as_str(), ""),
            _ => self.full_name(&definition)?,
        };
        Some(TypeExpression::generic(TypeExpression::class("ty_extensions._internal", "TypeOf"), vec![name]))
    }

    /// Returns a class or function that other files can name.
    fn full_name(&self, definition: &TypeDefinition<'db>) -> Option<TypeExpression> {
        let definition = *definition.definition()?;
        let file = definition.file(self.db);
        let range = definition
            .focus_range(
                self.db,
                &ruff_db::parsed::parsed_module(self.db, definition.python_file(self.db)).load(self.db),
            )
            .range();
        let qualname = self.qualname(file, range)?;
        Some(TypeExpression::class(&module_key(self.db, file), &qualname))
    }

    /// Returns the dotted name of the definition whose name is at `range`; `None` if it is local to a function.
    fn qualname(&self, file: File, range: TextRange) -> Option<Name> {
        let definitions = super::locate::definitions(self.db, file);
        let within_function = |range: TextRange| {
            definitions
                .functions
                .iter()
                .any(|function| function.range.contains_range(range) && function.name_range != range)
        };
        if within_function(range) {
            return None;
        }
        let class = definitions.classes.iter().find(|class| class.name_range == range);
        if let Some(class) = class {
            return Some(class.qualname.clone());
        }
        let function = definitions.functions.iter().find(|function| function.name_range == range)?;
        Some(function.path.qualname.clone())
    }

    /// Returns `Callable[..., T]` for a local function with the result `T`: other code cannot name the function.
    fn callable_returning(&self, ty: Type<'db>) -> Option<TypeExpression> {
        let result = self.part_of_display(ty, |label| {
            let arrow = after_parameters(label)?;
            // The padding keeps the offsets in the text unchanged.
            Some(format!("({:1$}{2})", "", arrow.saturating_sub(1), label.get(arrow..)?))
        })?;
        Some(TypeExpression::callable(result))
    }

    fn type_expression(&self, ty: Type<'db>) -> Option<TypeExpression> {
        self.part_of_display(ty, |label| Some(label.to_owned()))
    }

    /// Returns the type of a container whose elements other code cannot name: `list[Any]` for a list of functions.
    fn bare_container(&self, ty: Type<'db>) -> Option<TypeExpression> {
        let fact = self.fact(ty);
        let [Alternative::Container { class, .. }] = fact.alternatives.as_slice() else { return None };
        let arguments = match class.as_str() {
            "list" | "set" => vec![TypeExpression::any()],
            "dict" => vec![TypeExpression::any(), TypeExpression::any()],
            "tuple" => vec![TypeExpression::any(), TypeExpression::Ellipsis],
            _ => return None,
        };
        Some(TypeExpression::generic(TypeExpression::Builtin(class.clone()), arguments))
    }

    /// Converts the part of the displayed type that `part` selects.
    fn part_of_display(
        &self,
        ty: Type<'db>,
        part: impl Fn(&str) -> Option<String>,
    ) -> Option<TypeExpression> {
        let details = ty.display(self.db, &self.env).to_string_parts();
        let mut names: FxHashMap<TextRange, Type<'db>> = FxHashMap::default();
        for (range, detail) in details.targets.iter().zip(&details.details) {
            if let TypeDetail::Type(ty) = detail {
                names.entry(*range).or_insert(*ty);
            }
        }
        // ty displays a float that is not an int as `float*`. The blank keeps the offsets unchanged.
        let label = details.label.replace("float*", "float ").replace("complex*", "complex ");
        let parsed = ruff_python_parser::parse_expression(&part(&label)?).ok()?;
        self.convert(parsed.expr(), &names).filter(|converted| !converted.is_any())
    }

    fn convert(&self, expression: &Expr, names: &FxHashMap<TextRange, Type<'db>>) -> Option<TypeExpression> {
        if let Some(ty) = names.get(&expression.range())
            && let Some(name) = self.convert_name(*ty, expression)
        {
            return Some(name);
        }
        Some(match expression {
            Expr::NoneLiteral(_) => TypeExpression::none(),
            Expr::EllipsisLiteral(_) => TypeExpression::Ellipsis,
            Expr::Name(name) => match name.id.as_str() {
                "Unknown" | "Any" | "Todo" | "Never" | "Divergent" | "LiteralString" => TypeExpression::any(),
                _ => return None,
            },
            Expr::Subscript(subscript) => {
                if subscript.value.as_name_expr().is_some_and(|name| name.id == "Literal") {
                    return widened(&subscript.slice).or_else(|| self.enum_class(&subscript.slice, names));
                }
                let arguments = match &*subscript.slice {
                    Expr::Tuple(tuple) => &tuple.elts,
                    argument => std::slice::from_ref(argument),
                };
                let class = self.convert(&subscript.value, names)?;
                let arguments: Option<_> = arguments.iter().map(|it| self.convert(it, names)).collect();
                TypeExpression::generic(class, arguments?)
            }
            Expr::BinOp(ast::ExprBinOp { left, op: Operator::BitOr, right, .. }) => {
                let (left, right) = (self.convert(left, names)?, self.convert(right, names)?);
                if left == right { left } else { TypeExpression::union([left, right]) }
            }
            // An intersection becomes its first part.
            Expr::BinOp(ast::ExprBinOp { left, op: Operator::BitAnd, .. }) => self.convert(left, names)?,
            Expr::Starred(starred) => {
                TypeExpression::Unpacked(Arc::new(self.convert(&starred.value, names)?))
            }
            _ => return None,
        })
    }

    /// Returns the enum of a literal type: `Literal[Mode.FAST, Mode.SLOW]` -> `Mode`.
    fn enum_class(&self, slice: &Expr, names: &FxHashMap<TextRange, Type<'db>>) -> Option<TypeExpression> {
        let first = match slice {
            Expr::Tuple(tuple) => tuple.elts.first()?,
            other => other,
        };
        self.convert(&first.as_attribute_expr()?.value, names)
    }

    fn convert_name(&self, ty: Type<'db>, expression: &Expr) -> Option<TypeExpression> {
        match ty {
            Type::Dynamic(_) | Type::Divergent(_) | Type::Never | Type::TypeVar(_) => {
                Some(TypeExpression::any())
            }
            Type::SpecialForm(_) => None,
            _ if matches!(expression, Expr::Name(_) | Expr::Attribute(_)) => {
                let definition = ty.definition(self.db, &self.env)?;
                let name = self.full_name(&definition)?;
                let TypeExpression::Class(class) = &name else { return Some(name) };
                Some(match class.module.as_str() {
                    "builtins" => TypeExpression::Builtin(class.qualname.clone()),
                    Placeholder::MODULE if class.qualname == UNTYPED_TENSOR => TypeExpression::generic(
                        TypeExpression::class("tensorflow._tensor", "Tensor"),
                        vec![TypeExpression::any()],
                    ),
                    Placeholder::MODULE => {
                        Placeholder::of_class(&class.qualname).map_or(name, TypeExpression::Placeholder)
                    }
                    _ => name,
                })
            }
            _ => None,
        }
    }
}

/// Returns the offset of the result type in `def step(x: int) -> bool` or `(x: int) -> bool`.
fn after_parameters(label: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (position, c) in label.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => {
                depth = depth.saturating_sub(1);
                let rest = label.get(position + 1..)?;
                if depth == 0
                    && let Some(result) = rest.strip_prefix(" -> ")
                {
                    return Some(label.len() - result.len());
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns the class of a literal type: `Literal[1, 2]` -> `int`. Other calls may pass other values.
fn widened(slice: &Expr) -> Option<TypeExpression> {
    let first = match slice {
        Expr::Tuple(tuple) => tuple.elts.first()?,
        other => other,
    };
    let class = match first {
        Expr::BooleanLiteral(_) => "bool",
        Expr::NumberLiteral(_) | Expr::UnaryOp(_) => "int",
        Expr::StringLiteral(_) => "str",
        Expr::BytesLiteral(_) => "bytes",
        _ => return None,
    };
    Some(TypeExpression::builtin(class))
}
