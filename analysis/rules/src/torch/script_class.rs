//! The attributes that the classes of a file have in TorchScript: constants, annotated attributes, and attributes that
//! the constructor assigns.
//!
//! ```python
//! class Block(nn.Module):
//!     __constants__ = ["groups"]           # constant
//!     scale: Final[float]                  # constant
//!     bias: Optional[Tensor]               # annotated
//!
//!     def __init__(self):
//!         self.cache = None                # its type is inferred from the value: `None`
//! ```

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::FunctionContext;
use ag_db::{Db, Document, text};
use ag_index::facts::Alternative;
use ag_index::index::tree;
use ag_staging::queries;
use ag_syntax::imports::Imports;
use ruff_text_size::Ranged;

/// A class of the file. It contains no positions in the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ModuleClass {
    /// Whether it derives from `nn.Module`.
    pub is_module: bool,
    /// Whether all attributes are known. This is so if every base is `nn.Module`, `object`, or a class of the file
    /// whose attributes are known, too.
    pub is_complete: bool,
    /// The base class outside the file, if it is not `nn.Module`: `torch.nn.Conv1d`.
    pub library_base: Option<Name>,
    pub attributes: FxHashMap<Name, Attribute>,
    /// The variables with literal values in the body of the class and its bases, which no code sets for an instance. The
    /// compiler does not see them.
    pub variables: Vec<Name>,
    /// The names of its methods, including those of its bases.
    pub methods: Vec<Name>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Attribute {
    /// Whether it is declared `Final`, or listed in `__constants__`.
    pub is_constant: bool,
    /// The annotation in the body of the class.
    pub annotation: Option<Name>,
    /// The kinds of values that the constructor assigns, without repetitions.
    pub initial: Vec<Initial>,
    /// The methods other than the constructor that mention it.
    pub mentioned_by: Vec<Name>,
    /// The methods other than the constructor that do more than assign `None`: a method `reset` does not change the
    /// type of `self.state = None`.
    pub used_by: Vec<Name>,
}

/// A value that a constructor assigns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Initial {
    None,
    EmptyList,
    EmptyDict,
    /// A list, tuple or dictionary of `nn` modules.
    Modules,
    /// A list, tuple or dictionary of functions.
    Functions,
    /// A list or dictionary of literals of different types.
    Mixed,
    Set,
    Lambda,
    /// `functools.partial(…)`
    Partial,
    /// A Tensor that a function of torch creates.
    Tensor,
    Bool,
    Int,
    Float,
    Str,
    Other,
}

impl Attribute {
    pub(super) fn is_optional(&self) -> bool {
        self.annotation.as_deref().is_some_and(is_optional)
    }
}

/// Returns whether a call creates a Tensor: `torch.zeros(3)`.
fn creates_tensor(call: &ast::ExprCall, imports: &Imports) -> bool {
    const CREATORS: [&str; 10] =
        ["arange", "empty", "eye", "full", "linspace", "ones", "rand", "randn", "tensor", "zeros"];
    imports
        .resolve(&call.func)
        .is_some_and(|name| name.strip_prefix("torch.").is_some_and(|function| CREATORS.contains(&function)))
}

/// Returns whether an annotation allows `None`: `Optional[Tensor]`, `Tensor | None`, `Union[Tensor, None]`.
pub(super) fn is_optional(annotation: &str) -> bool {
    let text = annotation.trim_matches(['"', '\'']);
    text.starts_with("Optional[")
        || text.starts_with("typing.Optional[")
        || text.split('|').any(|part| part.trim() == "None") && !text.contains('[')
}

/// Returns whether an attribute of `self`, or of a module of `torch.nn`, is declared `Optional`: `self.bias`,
/// `self.conv.bias`.
pub(super) fn is_optional_attribute(ctx: &FunctionContext, expression: &Expr) -> bool {
    let Expr::Attribute(attribute) = expression else { return false };
    let Some(name) = attribute_of_self(ctx, expression) else {
        let [Alternative::Instance { module: Some(module), class }] =
            ctx.fact(&attribute.value).alternatives.as_slice()
        else {
            return false;
        };
        return is_library_optional(&format!("{module}.{class}"), &attribute.attr);
    };
    let Some(class) = of_method(ctx) else { return false };
    let declared = |attribute: &Attribute| attribute.is_optional() && !attribute.is_constant;
    match class.attributes.get(name) {
        Some(attribute) if attribute.annotation.is_some() => declared(attribute),
        Some(attribute) if !attribute.initial.is_empty() => false,
        _ => class.library_base.as_deref().is_some_and(|base| is_library_optional(base, name)),
    }
}

/// Returns whether `torch.nn` declares an attribute of this class as `Optional` (verified with torch 2.11).
fn is_library_optional(class: &str, attribute: &str) -> bool {
    let Some(class) = class.strip_prefix("torch.nn.") else { return false };
    match attribute {
        "bias" => class.starts_with("Conv"),
        "momentum" => class.starts_with("BatchNorm") || class.starts_with("InstanceNorm"),
        _ => false,
    }
}

/// Returns the class of which the function is a method.
pub(super) fn of_method<'a>(ctx: &FunctionContext<'a>) -> Option<&'a ModuleClass> {
    let (class, _) = ctx.path.qualname.rsplit_once('.')?;
    module_classes(ctx.db, ctx.document).get(class)
}

/// Returns the `name` in `self.name`, in a method.
pub(super) fn attribute_of_self<'e>(ctx: &FunctionContext, expression: &'e Expr) -> Option<&'e Name> {
    let Expr::Attribute(attribute) = expression else { return None };
    let receiver = ctx.def().parameters.iter_non_variadic_params().next()?;
    let of_self = attribute.value.as_name_expr()?.id == receiver.parameter.name.id;
    (of_self && ctx.path.qualname.contains('.')).then_some(&attribute.attr.id)
}

/// Returns the classes of a file, by their qualified names.
#[salsa::tracked(returns(ref))]
pub(super) fn module_classes(db: &dyn Db, document: Document) -> FxHashMap<Name, ModuleClass> {
    let Some(parsed) = tree(db, document) else { return FxHashMap::default() };
    let source = text(db, document);
    let imports = queries::imports(db, document);
    let mut classes = FxHashMap::default();
    collect(parsed.suite(), "", source.as_str(), imports, &mut classes);
    classes
}

fn collect(
    body: &[Stmt],
    around: &str,
    text: &str,
    imports: &Imports,
    classes: &mut FxHashMap<Name, ModuleClass>,
) {
    for statement in body {
        match statement {
            Stmt::ClassDef(class) => {
                let qualname = match around {
                    "" => class.name.id.clone(),
                    around => Name::new(format!("{around}.{}", class.name)),
                };
                let found = of_class(class, text, imports, classes);
                classes.insert(qualname.clone(), found);
                collect(&class.body, &qualname, text, imports, classes);
            }
            Stmt::FunctionDef(def) => {
                let qualname = match around {
                    "" => def.name.to_string(),
                    around => format!("{around}.{}", def.name),
                };
                collect(&def.body, &qualname, text, imports, classes);
            }
            Stmt::If(conditional) => collect(&conditional.body, around, text, imports, classes),
            Stmt::Try(attempt) => collect(&attempt.body, around, text, imports, classes),
            _ => {}
        }
    }
}

fn of_class(
    class: &ast::StmtClassDef,
    text: &str,
    imports: &Imports,
    classes: &FxHashMap<Name, ModuleClass>,
) -> ModuleClass {
    let mut found = ModuleClass { is_complete: class.decorator_list.is_empty(), ..ModuleClass::default() };
    for base in class.bases() {
        let own = base.as_name_expr().and_then(|name| classes.get(&name.id));
        if let Some(own) = own {
            found.is_complete &= own.is_complete;
            found.is_module |= own.is_module;
            found.library_base = found.library_base.or_else(|| own.library_base.clone());
            found.methods.extend(own.methods.iter().cloned());
            found.variables.extend(own.variables.iter().cloned());
            for (name, attribute) in &own.attributes {
                found.attributes.entry(name.clone()).or_insert_with(|| attribute.clone());
            }
            continue;
        }
        let resolved = imports.resolve(base);
        match resolved.as_deref() {
            Some("torch.nn.Module" | "torch.nn.modules.Module" | "torch.nn.modules.module.Module") => {
                found.is_module = true;
            }
            _ => {
                found.is_module |= resolved.as_deref().is_some_and(is_library_module);
                found.is_complete = false;
                found.library_base = found.library_base.or(resolved);
            }
        }
    }
    let mut variables = Vec::new();
    for statement in &class.body {
        match statement {
            Stmt::AnnAssign(assign) => {
                let Expr::Name(name) = &*assign.target else { continue };
                let annotation = &text[assign.annotation.range()];
                if assign.value.as_deref().is_some_and(is_literal) && !annotation.contains("Final") {
                    variables.push(name.id.clone());
                }
                let attribute = found.attributes.entry(name.id.clone()).or_default();
                attribute.is_constant |= annotation.contains("Final");
                attribute.annotation = Some(Name::new(annotation));
            }
            Stmt::Assign(assign) => {
                for target in assign.targets.iter().filter_map(Expr::as_name_expr) {
                    if target.id != "__constants__" {
                        if is_literal(&assign.value) {
                            variables.push(target.id.clone());
                        }
                        continue;
                    }
                    let listed = ag_syntax::expressions::elements(&assign.value);
                    let names: Option<Vec<_>> = listed
                        .iter()
                        .map(|name| Some(name.as_string_literal_expr()?.value.to_str()))
                        .collect();
                    found.is_complete &= names.is_some() && !assign.value.is_bin_op_expr();
                    for name in names.into_iter().flatten() {
                        found.attributes.entry(Name::new(name)).or_default().is_constant = true;
                    }
                }
            }
            Stmt::FunctionDef(method) => {
                found.methods.push(method.name.id.clone());
                let Some(receiver) = method.parameters.iter_non_variadic_params().next() else { continue };
                let mut stores = Stores {
                    method: &method.name.id,
                    receiver: &receiver.parameter.name.id,
                    imports,
                    classes,
                    attributes: &mut found.attributes,
                };
                stores.visit_body(&method.body);
            }
            _ => {}
        }
    }
    variables.retain(|name: &Name| {
        let is_set =
            [" = ", ": ", " += ", ", "].iter().any(|after| text.contains(&format!(".{name}{after}")));
        !is_set && !text.contains(&format!("\"{name}\"")) && !text.contains(&format!("'{name}'"))
    });
    found.variables.extend(variables);
    let constructing = constructing(class);
    for attribute in found.attributes.values_mut() {
        if attribute.initial.is_empty() && attribute.mentioned_by.iter().any(|it| constructing.contains(it)) {
            attribute.initial.push(Initial::Other);
        }
    }
    found
}

/// Returns whether an expression is a number or text.
fn is_literal(value: &Expr) -> bool {
    match value {
        Expr::UnaryOp(operation) => operation.operand.is_number_literal_expr(),
        value => {
            value.is_number_literal_expr()
                || value.is_string_literal_expr()
                || value.is_boolean_literal_expr()
        }
    }
}

/// Returns the methods that the constructor of a class calls, also through other methods:
///
/// ```python
/// def __init__(self, cell):
///     self.update(cell)              # sets `self.cell`
/// ```
fn constructing(class: &ast::StmtClassDef) -> FxHashSet<&Name> {
    struct Called<'a> {
        found: Vec<&'a Name>,
    }
    impl<'a> SourceOrderVisitor<'a> for Called<'a> {
        fn visit_expr(&mut self, expression: &'a Expr) {
            if let Expr::Call(call) = expression
                && let Expr::Attribute(method) = &*call.func
                && method.value.as_name_expr().is_some_and(|object| object.id == "self")
            {
                self.found.push(&method.attr.id);
            }
            source_order::walk_expr(self, expression);
        }
    }
    let called_by = |name: &str| {
        let mut called = Called { found: Vec::new() };
        let methods = class.body.iter().filter_map(Stmt::as_function_def_stmt);
        methods.filter(|method| method.name.id == name).for_each(|method| called.visit_body(&method.body));
        called.found
    };
    let mut pending = called_by("__init__");
    let mut found = FxHashSet::default();
    while let Some(method) = pending.pop() {
        if found.insert(method) {
            pending.extend(called_by(method));
        }
    }
    found
}

/// Collects uses of `self.name`, and assignments `self.name = value`.
struct Stores<'a> {
    method: &'a Name,
    receiver: &'a Name,
    imports: &'a Imports,
    /// The classes before this one.
    classes: &'a FxHashMap<Name, ModuleClass>,
    attributes: &'a mut FxHashMap<Name, Attribute>,
}

impl Stores<'_> {
    fn attribute<'e>(&self, expression: &'e Expr) -> Option<&'e Name> {
        let attribute = expression.as_attribute_expr()?;
        (attribute.value.as_name_expr()?.id == *self.receiver).then_some(&attribute.attr.id)
    }

    fn mention(&mut self, name: &Name) {
        let attribute = self.attributes.entry(name.clone()).or_default();
        if !attribute.mentioned_by.contains(self.method) {
            attribute.mentioned_by.push(self.method.clone());
        }
    }

    fn use_of(&mut self, name: &Name) {
        self.mention(name);
        let attribute = self.attributes.entry(name.clone()).or_default();
        if !attribute.used_by.contains(self.method) {
            attribute.used_by.push(self.method.clone());
        }
    }

    fn store(&mut self, target: &Expr, value: Option<&Expr>) {
        if let Some(name) = self.attribute(target).cloned() {
            if self.method != "__init__" {
                return match value {
                    Some(Expr::NoneLiteral(_)) => self.mention(&name),
                    _ => self.use_of(&name),
                };
            }
            let initial = value.map_or(Initial::Other, |value| self.initial(value));
            self.add_initial(name, initial);
        } else if let Expr::Subscript(item) = target
            && self.method == "__init__"
            && let Some(name) = self.attribute(&item.value).cloned()
            && let Some(value) = value.filter(|value| self.is_module(value))
        {
            // `self.layers[name] = nn.Linear(2, 2)`
            self.visit_expr(value);
            self.add_initial(name, Initial::Modules);
        } else if let Expr::Tuple(targets) = target {
            targets.elts.iter().for_each(|target| self.store(target, None));
        } else {
            self.visit_expr(target);
        }
    }
}

impl Stores<'_> {
    fn add_initial(&mut self, name: Name, initial: Initial) {
        let attribute = self.attributes.entry(name).or_default();
        if !attribute.initial.contains(&initial) {
            attribute.initial.push(initial);
        }
    }

    fn initial(&self, value: &Expr) -> Initial {
        initial(value, self.imports, self.classes)
    }

    fn is_module(&self, value: &Expr) -> bool {
        is_module(value, self.imports, self.classes)
    }

    /// Returns the attribute to which a call adds a module: `self.layers.append(nn.Linear(2, 2))`.
    fn collects_module(&self, call: &ast::ExprCall) -> Option<Name> {
        let method = call.func.as_attribute_expr()?;
        let [module] = &*call.arguments.args else { return None };
        (self.method == "__init__" && method.attr.as_str() == "append" && self.is_module(module))
            .then_some(())?;
        self.attribute(&method.value).cloned()
    }
}

impl<'a> SourceOrderVisitor<'a> for Stores<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Assign(assign) => {
                assign.targets.iter().for_each(|target| self.store(target, Some(&assign.value)));
                self.visit_expr(&assign.value);
            }
            Stmt::AnnAssign(assign) => {
                self.store(&assign.target, assign.value.as_deref());
                if let Some(value) = &assign.value {
                    self.visit_expr(value);
                }
            }
            _ => source_order::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Call(call) = expression
            && let Some(name) = self.collects_module(call)
        {
            self.add_initial(name, Initial::Modules);
            return call.arguments.args.iter().for_each(|module| self.visit_expr(module));
        }
        if let Some(name) = self.attribute(expression).cloned() {
            if self.method == "__init__" {
                // `self.sizes.append(3)` changes the value, so the attribute no longer has the assigned value at the
                // end of the constructor.
                let attribute = self.attributes.entry(name).or_default();
                if !attribute.initial.contains(&Initial::Other) {
                    attribute.initial.push(Initial::Other);
                }
            } else {
                self.use_of(&name);
            }
        }
        if let Expr::Call(call) = expression
            && let Some(name) = registered(call, self.receiver)
        {
            let attribute = self.attributes.entry(name).or_default();
            attribute.initial.push(Initial::Other);
        }
        source_order::walk_expr(self, expression);
    }
}

/// Returns the attribute that a call sets: `self.register_buffer("name", …)`, `setattr(self, "name", …)`.
fn registered(call: &ast::ExprCall, receiver: &Name) -> Option<Name> {
    let is_receiver = |expression: &Expr| expression.as_name_expr().is_some_and(|it| it.id == *receiver);
    let name = match &*call.func {
        Expr::Attribute(method)
            if is_receiver(&method.value)
                && (method.attr.starts_with("register_") || method.attr.as_str() == "add_module") =>
        {
            call.arguments.args.first()?
        }
        Expr::Name(function) if function.id == "setattr" && is_receiver(call.arguments.args.first()?) => {
            call.arguments.args.get(1)?
        }
        _ => return None,
    };
    Some(Name::new(name.as_string_literal_expr()?.value.to_str()))
}

/// Returns whether a value is a new module: `nn.Linear(2, 2)`, `Block(2)` for a class of the file.
fn is_module(value: &Expr, imports: &Imports, classes: &FxHashMap<Name, ModuleClass>) -> bool {
    value.as_call_expr().is_some_and(|call| match imports.resolve(&call.func) {
        Some(name) => is_library_module(&name),
        None => {
            let class = call.func.as_name_expr().and_then(|name| classes.get(&name.id));
            class.is_some_and(|class| class.is_module)
        }
    })
}

/// Returns whether a name is that of a class of modules in `torch.nn`.
fn is_library_module(name: &str) -> bool {
    name.strip_prefix("torch.nn.")
        .is_some_and(|class| !class.contains('.') && class.starts_with(char::is_uppercase))
        && !matches!(name, "torch.nn.Parameter" | "torch.nn.Buffer")
}

fn initial(value: &Expr, imports: &Imports, classes: &FxHashMap<Name, ModuleClass>) -> Initial {
    let is_module = |element: &&Expr| is_module(element, imports, classes);
    // `torch.relu`, `torch.nn.functional.gelu`, `lambda x: x`
    let is_function = |element: &&Expr| {
        element.is_lambda_expr()
            || imports.resolve(element).is_some_and(|name| {
                let function =
                    name.strip_prefix("torch.nn.functional.").or_else(|| name.strip_prefix("torch."));
                function.is_some_and(|function| {
                    [
                        "relu", "gelu", "tanh", "sigmoid", "softplus", "silu", "elu", "sin", "cos", "exp",
                        "softmax",
                    ]
                    .contains(&function)
                })
            })
    };
    let of_elements = |elements: &[&Expr]| {
        let kinds: Vec<_> = elements.iter().map(|element| initial(element, imports, classes)).collect();
        let literal =
            |kind: &Initial| matches!(kind, Initial::Bool | Initial::Int | Initial::Float | Initial::Str);
        if !elements.is_empty() && elements.iter().all(is_module) {
            Initial::Modules
        } else if !elements.is_empty() && elements.iter().all(is_function) {
            Initial::Functions
        } else if kinds.iter().all(literal) && kinds.iter().any(|kind| Some(kind) != kinds.first()) {
            Initial::Mixed
        } else {
            Initial::Other
        }
    };
    match value {
        Expr::NoneLiteral(_) => Initial::None,
        Expr::BooleanLiteral(_) => Initial::Bool,
        Expr::NumberLiteral(number) => match number.value {
            ast::Number::Int(_) => Initial::Int,
            ast::Number::Float(_) => Initial::Float,
            ast::Number::Complex { .. } => Initial::Other,
        },
        Expr::StringLiteral(_) => Initial::Str,
        Expr::List(list) if list.elts.is_empty() => Initial::EmptyList,
        Expr::Dict(dict) if dict.items.is_empty() => Initial::EmptyDict,
        Expr::Set(_) | Expr::SetComp(_) => Initial::Set,
        Expr::Lambda(_) => Initial::Lambda,
        Expr::List(list) => of_elements(&list.elts.iter().collect::<Vec<_>>()),
        Expr::Tuple(tuple) => match of_elements(&tuple.elts.iter().collect::<Vec<_>>()) {
            Initial::Functions => Initial::Functions,
            _ => Initial::Other,
        },
        Expr::Dict(dict) => of_elements(&dict.items.iter().map(|item| &item.value).collect::<Vec<_>>()),
        Expr::ListComp(comprehension) if is_module(&&*comprehension.elt) => Initial::Modules,
        Expr::Call(call) if imports.resolve(&call.func).is_some_and(|name| name == "functools.partial") => {
            Initial::Partial
        }
        Expr::Call(call) if creates_tensor(call, imports) => Initial::Tensor,
        _ => Initial::Other,
    }
}
