//! Classifies the value of an argument as far as the source shows it: whether JAX can trace it, and whether it is
//! hashable.

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::super::FileContext;
use super::may_use_64_bits;
use crate::dataclasses::ClassKind;
use crate::program::{Bound, Program, ScopeId};
use ag_index::callbacks::argument;
use ag_syntax::expressions::{natural, sequence};
use ag_syntax::functions::is_generator;
use ag_syntax::statements;

/// A kind of value that JAX cannot trace, or that is not hashable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    /// The kind as a noun phrase for messages.
    pub noun: String,
    pub traceable: bool,
    pub hashable: bool,
}

impl Kind {
    fn untraceable(noun: &str) -> Option<Self> {
        Some(Self { noun: noun.to_owned(), traceable: false, hashable: true })
    }

    fn container(noun: &str) -> Option<Self> {
        Some(Self { noun: noun.to_owned(), traceable: true, hashable: false })
    }
}

const DTYPES: [&str; 6] = ["float", "bfloat", "int", "uint", "complex", "bool_"];

/// Returns the kind of an argument as far as the source shows it. A container with an element that JAX cannot trace has
/// the kind of that element.
pub(super) fn of<'a>(
    ctx: &FileContext,
    program: &Program<'a>,
    scope: ScopeId,
    value: &'a Expr,
    depth: usize,
) -> Option<Kind> {
    if depth > 4 {
        return None;
    }
    let (bound, scope) = program.value(scope, value);
    let value = match bound {
        Bound::Value(value) => value,
        Bound::Function(def) => {
            return def.decorator_list.is_empty().then(|| Kind::untraceable("a function")).flatten();
        }
        Bound::Class(_) => return Kind::untraceable("a class"),
        Bound::Other => return of_parameter(ctx, program, scope, value, depth),
        Bound::Element(iterable) => return of_element(ctx, program, scope, iterable, depth),
        Bound::Count | Bound::Import => return None,
    };
    let inner = |value: &'a Expr| of(ctx, program, scope, value, depth + 1);
    let with_elements = |noun: &str, elements: &mut dyn Iterator<Item = &'a Expr>, hashable: bool| {
        let kinds: Vec<Kind> = elements.filter_map(inner).collect();
        let untraceable = kinds.iter().find(|kind| !kind.traceable);
        let unhashable = kinds.iter().find(|kind| !kind.hashable);
        let noun = match (untraceable, unhashable) {
            (Some(kind), _) => format!("{noun} with {}", kind.noun),
            (_, Some(kind)) if hashable => format!("{noun} with {}", kind.noun),
            _ => noun.to_owned(),
        };
        let hashable = hashable && unhashable.is_none();
        Some(Kind { noun, traceable: untraceable.is_none(), hashable })
    };
    match value {
        Expr::NumberLiteral(_) | Expr::BinOp(_) if is_wide(value) && !may_use_64_bits(ctx) => {
            Kind::untraceable("an integer of more than 32 bits")
        }
        Expr::StringLiteral(_) | Expr::FString(_) => Kind::untraceable("a string"),
        Expr::BytesLiteral(_) => Kind::untraceable("a bytes object"),
        Expr::Lambda(_) => Kind::untraceable("a function"),
        Expr::Generator(_) => Kind::untraceable("a generator"),
        Expr::Set(_) | Expr::SetComp(_) => {
            Some(Kind { noun: "a set".to_owned(), traceable: false, hashable: false })
        }
        Expr::List(list) => with_elements("a list", &mut list.elts.iter(), false),
        Expr::Tuple(tuple) => with_elements("a tuple", &mut tuple.elts.iter(), true),
        Expr::Dict(dict) => {
            with_elements("a dictionary", &mut dict.items.iter().map(|item| &item.value), false)
        }
        Expr::ListComp(comprehension) => {
            with_elements("a list", &mut std::iter::once(&*comprehension.elt), false)
        }
        Expr::DictComp(_) => Kind::container("a dictionary"),
        Expr::Subscript(subscript) => {
            let (bound, _) = program.value(scope, &subscript.value);
            let Bound::Value(devices) = bound else { return None };
            (is_devices(ctx, devices) && !subscript.slice.is_slice_expr())
                .then(|| Kind::untraceable("a device"))
                .flatten()
        }
        Expr::Attribute(_) | Expr::Name(_) => {
            let name = ctx.resolve(value)?;
            let (module, last) = name.rsplit_once('.')?;
            const NUMBERS: [&str; 9] =
                ["pi", "e", "inf", "nan", "newaxis", "euler_gamma", "index_exp", "s_", "c_"];
            match module {
                "jax.numpy" | "numpy" if NUMBERS.contains(&last) => None,
                "jax.numpy" if DTYPES.iter().any(|dtype| last.starts_with(dtype)) => {
                    Kind::untraceable("a dtype")
                }
                "jax.numpy" | "jax.nn" | "jax.lax" if last.starts_with(|c: char| c.is_ascii_lowercase()) => {
                    Kind::untraceable("a function")
                }
                _ => None,
            }
        }
        Expr::Call(call) => of_call(ctx, program, scope, call, depth),
        Expr::BinOp(operation) => {
            let is_array = |operand: &'a Expr| {
                !may_be_scalar(ctx, program, scope, operand)
                    && inner(operand).is_some_and(|kind| kind.noun == "an array")
            };
            (is_array(&operation.left) || is_array(&operation.right))
                .then(|| Kind::container("an array"))
                .flatten()
        }
        _ => None,
    }
}

/// Returns the kind of the elements of an iterable, if JAX can trace none of them. The iterable is a list or tuple, or a
/// parameter for which all calls of the file pass one:
///
/// ```python
/// def run(x, states):
///     for state in states:
///         x = advance(x, state)
///
/// run(x, ["slow", "fast"])
/// ```
fn of_element<'a>(
    ctx: &FileContext,
    program: &Program<'a>,
    scope: ScopeId,
    iterable: &'a Expr,
    depth: usize,
) -> Option<Kind> {
    let of_sequence = |value: &'a Expr, scope: ScopeId| {
        let (Bound::Value(value), scope) = program.value(scope, value) else { return None };
        let elements = sequence(value).filter(|elements| !elements.is_empty())?;
        let mut kinds = elements.iter().map(|element| of(ctx, program, scope, element, depth + 1));
        let first = kinds.next().flatten().filter(|first| !first.traceable)?;
        kinds.all(|kind| kind.as_ref() == Some(&first)).then_some(first)
    };
    if !matches!(program.value(scope, iterable).0, Bound::Other) {
        return of_sequence(iterable, scope);
    }
    in_all_calls(program, &Parameter::of(program, scope, iterable)?, &of_sequence)
}

/// A parameter of a function of the file.
pub(super) struct Parameter<'a> {
    node: ast::AnyParameterRef<'a>,
    position: usize,
    /// The range of the function's definition.
    function: TextRange,
    /// The scope that contains the definition.
    around: ScopeId,
}

impl<'a> Parameter<'a> {
    /// Returns the parameter to which a name refers.
    pub(super) fn of(program: &Program<'a>, scope: ScopeId, value: &'a Expr) -> Option<Self> {
        let name = value.as_name_expr()?;
        let (binding, owner) = program.binding(scope, &name.id, name.range.start())?;
        let function = program.range(owner);
        let (def, around) = program.functions.iter().find(|(def, _)| def.range() == function)?;
        let mut parameters = def.parameters.iter().enumerate();
        let (position, node) = parameters.find(|(_, node)| node.name().range() == binding.range)?;
        Some(Self { node, position, function, around: *around })
    }

    /// Returns the argument of each call in the file, with the scope of the call; `None` for a call that does not pass
    /// one.
    pub(super) fn arguments(
        &self,
        program: &Program<'a>,
    ) -> impl Iterator<Item = Option<(&'a Expr, ScopeId)>> {
        program.calls_of(self.function).map(|site| {
            let passed = argument(site.node, self.position, self.node.name())?;
            Some((passed, site.scope))
        })
    }
}

/// Returns the kind that `of` gives for the argument for a parameter, if it is the same in all calls of the file.
fn in_all_calls<'a>(
    program: &Program<'a>,
    parameter: &Parameter<'a>,
    of: &dyn Fn(&'a Expr, ScopeId) -> Option<Kind>,
) -> Option<Kind> {
    let mut kinds = parameter.arguments(program).map(|passed| {
        let (passed, scope) = passed?;
        of(passed, scope)
    });
    let first = kinds.next()??;
    kinds.all(|kind| kind.as_ref() == Some(&first)).then_some(first)
}

/// Returns the kind of a parameter: that of its default, if this is a string or an object, as in
/// `def train(w, options=Options())`, or else that of the arguments, if all calls of the file pass the same kind.
fn of_parameter<'a>(
    ctx: &FileContext,
    program: &Program<'a>,
    scope: ScopeId,
    value: &'a Expr,
    depth: usize,
) -> Option<Kind> {
    let parameter = Parameter::of(program, scope, value)?;
    if let Some(default) = parameter.node.default() {
        let is_known = default.is_call_expr() || default.is_string_literal_expr();
        let kind = is_known.then(|| of(ctx, program, parameter.around, default, depth + 1)).flatten();
        return kind.filter(|kind| !kind.traceable);
    }
    in_all_calls(program, &parameter, &|passed, scope| of(ctx, program, scope, passed, depth + 1))
}

/// Returns whether a NumPy array may have no dimensions: `np.array(3.0)`, `x.sum()`. Arithmetic turns such an array
/// into a scalar.
fn may_be_scalar<'a>(ctx: &FileContext, program: &Program<'a>, scope: ScopeId, value: &'a Expr) -> bool {
    match program.value(scope, value).0 {
        Bound::Value(Expr::Call(call)) => match ctx.resolve(&call.func) {
            Some(name) => matches!(name.as_str(), "numpy.array" | "numpy.asarray"),
            None => true,
        },
        _ => false,
    }
}

/// Returns whether an integer literal needs more than 32 bits: `3000000000`, `2**40`.
fn is_wide(value: &Expr) -> bool {
    let number = match value {
        Expr::BinOp(power) if power.op == ast::Operator::Pow => {
            let exponent = natural(&power.right).and_then(|exponent| u32::try_from(exponent).ok());
            natural(&power.left).zip(exponent).and_then(|(base, exponent)| base.checked_pow(exponent))
        }
        other => natural(other),
    };
    number.is_some_and(|number| number > i32::MAX as u64)
}

fn is_devices(ctx: &FileContext, value: &Expr) -> bool {
    value
        .as_call_expr()
        .and_then(|call| ctx.resolve(&call.func))
        .is_some_and(|name| matches!(name.as_str(), "jax.devices" | "jax.local_devices"))
}

fn of_call<'a>(
    ctx: &FileContext,
    program: &Program<'a>,
    scope: ScopeId,
    call: &'a ast::ExprCall,
    depth: usize,
) -> Option<Kind> {
    if let Some(name) = ctx.resolve(&call.func) {
        if matches!(name.as_str(), "jax.devices" | "jax.local_devices") {
            return Some(Kind { noun: "a list with a device".to_owned(), traceable: false, hashable: false });
        }
        match name.as_str() {
            // It also holds arrays, which have no hash.
            "equinox.nn.MLP" => {
                let noun = "an `MLP` with a function in `activation`".to_owned();
                return Some(Kind { noun, traceable: false, hashable: false });
            }
            "equinox.nn.Lambda" => return Kind::untraceable("a `Lambda` with a function in `fn`"),
            _ => {}
        }
        return makes_array(&name).then(|| Kind::container("an array")).flatten();
    }
    if let Expr::Attribute(method) = &*call.func {
        // `x.astype(int)` of an array
        let array = of(ctx, program, scope, &method.value, depth + 1)?;
        const ARRAY_METHODS: [&str; 6] = ["astype", "reshape", "copy", "sum", "mean", "block_until_ready"];
        return (array.noun == "an array" && ARRAY_METHODS.contains(&method.attr.as_str())).then_some(array);
    }
    let name = call.func.as_name_expr()?;
    match program.lookup(scope, &name.id, name.range.start()) {
        Some((Bound::Class(class), _)) => {
            let kind = of_instance(ctx, class)?;
            let unhashable = unhashable_field(ctx, program, scope, class, call, depth);
            Some(match unhashable.filter(|_| kind.hashable) {
                Some((field, value)) => {
                    Kind { noun: format!("{} with {value} in `{field}`", kind.noun), hashable: false, ..kind }
                }
                None => kind,
            })
        }
        Some((Bound::Function(def), _)) => of_result(ctx, program, def, depth),
        Some(_) => None,
        None => match name.id.as_str() {
            "str" | "repr" => Kind::untraceable("a string"),
            "range" => Kind::untraceable("a range"),
            "object" => Kind::untraceable("an object"),
            "set" => Some(Kind { noun: "a set".to_owned(), traceable: false, hashable: false }),
            "list" | "sorted" => Kind::container("a list"),
            "dict" => Kind::container("a dictionary"),
            _ => None,
        },
    }
}

/// Returns the kind of the only result of a function. The result may be a list to which the function appends values that
/// JAX cannot trace:
///
/// ```python
/// def layers(sizes):
///     found = []
///     for size in sizes:
///         found.append({"w": jnp.ones(size), "activation": jnp.tanh})
///     return found
/// ```
fn of_result<'a>(
    ctx: &FileContext,
    program: &Program<'a>,
    def: &'a ast::StmtFunctionDef,
    depth: usize,
) -> Option<Kind> {
    let is_plain = !def.is_async && def.decorator_list.is_empty() && !is_generator(def);
    let scope = program.scope_of(def.range()).filter(|_| is_plain)?;
    let mut returns = statements::of_function(def).into_iter().filter_map(Stmt::as_return_stmt);
    let returned = returns.next().filter(|_| returns.next().is_none())?.value.as_deref()?;
    let kind_of = |value| of(ctx, program, scope, value, depth + 1);
    let untraceable = |value| kind_of(value).filter(|kind| !kind.traceable);
    let kind = kind_of(returned);
    if kind.as_ref().is_some_and(|kind| !kind.traceable) {
        return kind;
    }
    let appended = || {
        let list = &returned.as_name_expr()?.id;
        let Some(Bound::Value(Expr::List(_))) = program.only_binding(scope, list) else { return None };
        let appended = program.calls.iter().filter(|site| site.scope == scope).filter_map(|site| {
            let method = site.node.func.as_attribute_expr().filter(|it| it.attr.as_str() == "append")?;
            let is_list = method.value.as_name_expr().is_some_and(|name| name.id == *list);
            is_list.then(|| site.node.arguments.args.first()).flatten()
        });
        let kind = appended.filter_map(untraceable).next()?;
        Some(Kind { noun: format!("a list with {}", kind.noun), traceable: false, hashable: false })
    };
    appended().or(kind)
}

/// Returns whether a function of JAX or NumPy returns an array.
pub(super) fn makes_array(name: &str) -> bool {
    const NUMPY_ARRAY_FUNCTIONS: &[&str] = &[
        "array",
        "asarray",
        "zeros",
        "ones",
        "full",
        "empty",
        "eye",
        "arange",
        "linspace",
        "zeros_like",
        "ones_like",
        "full_like",
        "concatenate",
        "stack",
        "identity",
        "logspace",
        "geomspace",
        "tri",
        "bartlett",
        "blackman",
        "hamming",
        "hanning",
        "kaiser",
    ];
    const NO_ARRAYS: &[&str] = &[
        "shape",
        "ndim",
        "size",
        "dtype",
        "finfo",
        "iinfo",
        "result_type",
        "promote_types",
        "issubdtype",
        "isscalar",
        "iscomplexobj",
        "isrealobj",
        "can_cast",
        "printoptions",
        "set_printoptions",
        "einsum_path",
        "vectorize",
        "save",
        "savez",
        "broadcast_shapes",
        "array_repr",
        "array_str",
        "isdtype",
        "get_printoptions",
        "ix_",
        "frompyfunc",
        "ufunc",
        "iterable",
        "load",
        "nonzero",
        "where",
        "meshgrid",
        "split",
        "unique",
        "divmod",
        "modf",
        "frexp",
        "histogram",
        "gradient",
        "fromfile",
        "mgrid",
        "ogrid",
        "array_equal",
    ];
    let Some((module, function)) = name.rsplit_once('.') else { return false };
    match module {
        "numpy" => NUMPY_ARRAY_FUNCTIONS.contains(&function),
        "jax.numpy" => {
            function.starts_with(|first: char| first.is_ascii_lowercase())
                && !NO_ARRAYS.contains(&function)
                && !function.ends_with("split")
                && !function.starts_with("unique_")
        }
        "jax.random" => matches!(
            function,
            "key" | "PRNGKey" | "normal" | "uniform" | "split" | "fold_in" | "randint" | "permutation"
        ),
        "jax" => function == "device_put",
        _ => false,
    }
}

/// Returns the kind of an instance of a class of the file.
fn of_instance(ctx: &FileContext, class: &ast::StmtClassDef) -> Option<Kind> {
    let kind = ClassKind::of(class, |decorator| ctx.resolve(decorator))?;
    let bare = class.arguments.as_ref().is_none_or(|arguments| arguments.is_empty());
    let defines = |name: &str| {
        class.body.iter().any(|statement| match statement {
            Stmt::FunctionDef(def) => def.name.as_str() == name,
            Stmt::Assign(assign) => {
                assign.targets.iter().any(|target| target.as_name_expr().is_some_and(|it| it.id == name))
            }
            _ => false,
        })
    };
    if !bare {
        return None;
    }
    let hashable = kind.is_hashable(defines);
    let traceable = ctx.text.contains("register_") || defines("__array__");
    Some(Kind { noun: format!("an instance of `{}`", class.name), traceable, hashable })
}

/// Returns a field of a new object that has no hash, and the kind of its value. The generated `__hash__` of a frozen
/// dataclass hashes all fields:
///
/// ```python
/// @dataclass(frozen=True)
/// class Config:
///     scales: list = field(default_factory=list)
/// ```
fn unhashable_field<'a>(
    ctx: &FileContext,
    program: &Program<'a>,
    scope: ScopeId,
    class: &'a ast::StmtClassDef,
    call: &'a ast::ExprCall,
    depth: usize,
) -> Option<(&'a str, String)> {
    let defines_hash = class
        .body
        .iter()
        .filter_map(Stmt::as_function_def_stmt)
        .any(|method| method.name.as_str() == "__hash__");
    let kind = ClassKind::of(class, |decorator| ctx.resolve(decorator)).filter(|_| !defines_hash)?;
    if !matches!(kind, ClassKind::Dataclass { eq: true, .. })
        || call.arguments.args.iter().any(Expr::is_starred_expr)
        || call.arguments.keywords.iter().any(|keyword| keyword.arg.is_none())
    {
        return None;
    }
    let fields = class.body.iter().filter_map(Stmt::as_ann_assign_stmt).filter_map(|field| {
        let is_class_variable = match &*field.annotation {
            Expr::Subscript(generic) => ctx.resolve(&generic.value),
            other => ctx.resolve(other),
        };
        let is_class_variable = is_class_variable
            .is_some_and(|name| matches!(name.as_str(), "typing.ClassVar" | "dataclasses.InitVar"));
        (!is_class_variable).then_some((field.target.as_name_expr()?.id.as_str(), field.value.as_deref()))
    });
    fields.enumerate().find_map(|(position, (name, default))| {
        let maker = default
            .and_then(Expr::as_call_expr)
            .filter(|call| ctx.resolve(&call.func).is_some_and(|name| name == "dataclasses.field"));
        let option =
            |name| maker.and_then(|call| call.arguments.find_keyword(name)).map(|keyword| &keyword.value);
        if ["init", "hash", "compare", "kw_only"].iter().any(|name| option(name).is_some()) {
            return None;
        }
        let value = match argument(call, position, name) {
            Some(passed) => of(ctx, program, scope, passed, depth + 1)?,
            None => match option("default_factory")? {
                Expr::Lambda(factory) => of(ctx, program, program.module(), &factory.body, depth + 1)?,
                Expr::Name(factory) => match factory.id.as_str() {
                    "list" | "set" => Kind::container(&format!("a {}", factory.id))?,
                    "dict" => Kind::container("a dictionary")?,
                    _ => return None,
                },
                _ => return None,
            },
        };
        (!value.hashable).then_some((name, value.noun))
    })
}
