//! Converts ty's types to annotations that are valid in other files: [`AssumedType`].
//!
//! ty displays a type together with the definition of every class in it. The displayed text is parsed as an
//! expression, each class is replaced by its full name, and literals are widened to their classes. A type without
//! an annotation becomes `Any` or unknown.

use ruff_db::files::File;
use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, Operator};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashMap;
use ty_python_semantic::types::{Type, TypeDefinition, TypeDetail};

use super::{Inference, module_key};
use ag_index::assumed::AssumedType;
use ag_index::facts::{Alternative, Library};

const ANY: &str = "{typing:Any}";

impl<'db> Inference<'db> {
    /// The type of an expression, as an annotation.
    pub(super) fn assumed(&self, expression: &Expr) -> AssumedType {
        let mut assumed = AssumedType::default();
        if let Expr::Lambda(lambda) = expression {
            return self.callable_of_lambda(lambda);
        }
        if self.negates_tensor(expression) {
            return AssumedType::class("tensorflow", "Tensor");
        }
        match self.type_of(expression) {
            Some(ty) => self.add_assumed(ty, &mut assumed),
            None => assumed.unknown = true,
        }
        let is_vague = assumed.unknown || assumed.alternatives().any(|alternative| alternative.contains(ANY));
        match expression {
            Expr::Dict(dict) if is_vague => self.dict_of(dict).unwrap_or(assumed),
            _ => assumed,
        }
    }

    /// `lambda x: x > 0` -> `Callable[..., Tensor]`.
    fn callable_of_lambda(&self, lambda: &ast::ExprLambda) -> AssumedType {
        let result = self.assumed(&lambda.body);
        match result.is_empty() {
            true => AssumedType::unknown(),
            false => AssumedType::of(format!("{{typing:Callable}}[..., {}]", union_of(&result))),
        }
    }

    /// The type of a dictionary literal, from its items. For an argument, ty infers the declared type of the
    /// parameter (`options: dict[str, Any]`), which may be less precise.
    fn dict_of(&self, dict: &ast::ExprDict) -> Option<AssumedType> {
        let (mut keys, mut values) = (AssumedType::default(), AssumedType::default());
        for item in &dict.items {
            keys.join(&self.assumed(item.key.as_ref()?));
            values.join(&self.assumed(&item.value));
        }
        let is_known = |elements: &AssumedType| !elements.unknown && !elements.is_empty();
        (is_known(&keys) && is_known(&values))
            .then(|| AssumedType::of(format!("dict[{}, {}]", union_of(&keys), union_of(&values))))
    }

    /// Whether an expression is `not t` on a Tensor, which AutoGraph converts to an operator.
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
            // Unreachable in this round, or contradictory: no evidence.
            Type::Never => {}
            Type::TypeAlias(alias) => self.add_assumed(alias.value_type(self.db), assumed),
            Type::TypeIs(_) | Type::TypeGuard(_) => assumed.insert("bool"),
            Type::FunctionLiteral(_) | Type::ClassLiteral(_) | Type::ModuleLiteral(_) => {
                match self.type_of_definition(ty).or_else(|| self.callable_returning(ty)) {
                    Some(text) => assumed.insert(text),
                    None => assumed.unknown = true,
                }
            }
            Type::BoundMethod(_) | Type::Callable(_) => match self.callable_returning(ty) {
                Some(text) => assumed.insert(text),
                None => assumed.unknown = true,
            },
            _ => match self.annotation(ty) {
                Some(text) => assumed.insert(text),
                None => assumed.unknown = true,
            },
        }
    }

    /// `TypeOf[module.function]`: the annotation for the type of a function or class object.
    pub(super) fn type_of_definition(&self, ty: Type<'db>) -> Option<String> {
        let definition = ty.definition(self.db, &self.env)?;
        let name = match definition {
            TypeDefinition::Module(module) => format!("{{{}:}}", module.name(self.db)),
            _ => self.full_name(&definition)?,
        };
        Some(format!("{{ty_extensions:TypeOf}}[{name}]"))
    }

    /// `{module:qualname}` of a class or function that other files can name.
    fn full_name(&self, definition: &TypeDefinition<'db>) -> Option<String> {
        let definition = *definition.definition()?;
        let file = definition.file(self.db);
        let range = definition
            .focus_range(
                self.db,
                &ruff_db::parsed::parsed_module(self.db, definition.python_file(self.db)).load(self.db),
            )
            .range();
        let qualname = self.qualname(file, range)?;
        Some(format!("{{{}:{qualname}}}", module_key(self.db, file)))
    }

    /// The dotted name of the definition whose name is at `range`; `None` if it is local to a function.
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

    /// `Callable[..., T]`, for a local function, which other code cannot name.
    fn callable_returning(&self, ty: Type<'db>) -> Option<String> {
        let result = self.annotation_of_part(ty, |label| {
            let arrow = after_parameters(label)?;
            // Padding keeps the offsets in the text unchanged.
            Some(format!("({:1$}{2})", "", arrow.saturating_sub(1), label.get(arrow..)?))
        })?;
        Some(format!("{{typing:Callable}}[..., {result}]"))
    }

    fn annotation(&self, ty: Type<'db>) -> Option<String> {
        self.annotation_of_part(ty, |label| Some(label.to_owned()))
    }

    /// The annotation for the part of the displayed type that `part` selects.
    fn annotation_of_part(&self, ty: Type<'db>, part: impl Fn(&str) -> Option<String>) -> Option<String> {
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
        let text = self.rewrite(parsed.expr(), &names)?;
        (text != ANY).then_some(text)
    }

    fn rewrite(&self, expression: &Expr, names: &FxHashMap<TextRange, Type<'db>>) -> Option<String> {
        if let Some(ty) = names.get(&expression.range())
            && let Some(text) = self.rewrite_name(*ty, expression)
        {
            return Some(text);
        }
        Some(match expression {
            Expr::NoneLiteral(_) => "None".to_owned(),
            Expr::EllipsisLiteral(_) => "...".to_owned(),
            Expr::Name(name) => match name.id.as_str() {
                "Unknown" | "Any" | "Todo" | "Never" | "Divergent" | "LiteralString" => ANY.to_owned(),
                _ => return None,
            },
            Expr::Subscript(subscript) => {
                if subscript.value.as_name_expr().is_some_and(|name| name.id == "Literal") {
                    return widened(&subscript.slice).or_else(|| self.enum_class(&subscript.slice, names));
                }
                let value = self.rewrite(&subscript.value, names)?;
                format!("{value}[{}]", self.rewrite(&subscript.slice, names)?)
            }
            Expr::Tuple(tuple) => {
                let elements: Option<Vec<_>> =
                    tuple.elts.iter().map(|element| self.rewrite(element, names)).collect();
                match elements?.as_slice() {
                    [] => "()".to_owned(),
                    elements => elements.join(", "),
                }
            }
            Expr::BinOp(ast::ExprBinOp { left, op: Operator::BitOr, right, .. }) => {
                let (left, right) = (self.rewrite(left, names)?, self.rewrite(right, names)?);
                if left == right { left } else { format!("{left} | {right}") }
            }
            // Intersections keep their first part.
            Expr::BinOp(ast::ExprBinOp { left, op: Operator::BitAnd, .. }) => self.rewrite(left, names)?,
            Expr::Starred(starred) => format!("*{}", self.rewrite(&starred.value, names)?),
            _ => return None,
        })
    }

    /// `Literal[Mode.FAST, Mode.SLOW]` -> `Mode`.
    fn enum_class(&self, slice: &Expr, names: &FxHashMap<TextRange, Type<'db>>) -> Option<String> {
        let first = match slice {
            Expr::Tuple(tuple) => tuple.elts.first()?,
            other => other,
        };
        self.rewrite(&first.as_attribute_expr()?.value, names)
    }

    fn rewrite_name(&self, ty: Type<'db>, expression: &Expr) -> Option<String> {
        match ty {
            Type::Dynamic(_) | Type::Divergent(_) | Type::Never | Type::TypeVar(_) => Some(ANY.to_owned()),
            Type::SpecialForm(_) => None,
            _ if matches!(expression, Expr::Name(_) | Expr::Attribute(_)) => {
                let definition = ty.definition(self.db, &self.env)?;
                let name = self.full_name(&definition)?;
                // Builtins are visible everywhere.
                Some(match name.strip_prefix("{builtins:").and_then(|rest| rest.strip_suffix('}')) {
                    Some(builtin) => builtin.to_owned(),
                    None => name,
                })
            }
            _ => None,
        }
    }
}

fn union_of(assumed: &AssumedType) -> String {
    let mut parts: Vec<&str> = assumed.alternatives().map(Name::as_str).collect();
    if assumed.unknown {
        parts.push(ANY);
    }
    parts.join(" | ")
}

/// The start of the result in `def step(x: int) -> bool` or `(x: int) -> bool`.
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

/// `Literal[1, 2]` -> `int`: other calls may pass other values.
fn widened(slice: &Expr) -> Option<String> {
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
    Some(class.to_owned())
}
