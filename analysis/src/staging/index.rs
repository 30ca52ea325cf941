//! What one file says before any types: its functions, imports, calls and roots. One walk, then the
//! tree is dropped; a file that stages nothing costs its parse and this.

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, ModModule, PySourceType, PythonVersion, Stmt};
use ruff_python_parser::{ParseOptions, Parsed};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

use super::ghost::OVERLOADED_BUILTINS;
use super::lambdas::{self, Called, LambdaSyntax};
use super::roots::{self, Reference, RootSite};
use crate::db::Db;
use crate::project::{Document, source_type, text};
use crate::syntax::expressions::ExprId;
use crate::syntax::functions::{Definitions, FunctionAst, FunctionPath};
use crate::syntax::imports::Imports;
use crate::syntax::nesting;

/// The scope of code that belongs to no function.
pub const MODULE: u32 = u32::MAX;

/// The index of a file; lists run parallel to `definitions.functions`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FileIndex {
    pub definitions: Definitions,
    pub signatures: Vec<Signature>,
    pub imports: Imports,
    /// (function index or [`MODULE`], last name of the callee): `self.model.call(x)` -> `call`.
    pub calls: FxHashSet<(u32, Name)>,
    pub roots: Vec<RootSite>,
    /// Names of overloaded builtins that are called: (scope, range of the name).
    pub builtin_calls: Vec<(u32, TextRange)>,
    /// The lambdas that libraries call.
    pub lambdas: Vec<LambdaSyntax>,
    /// Where the statements outside all functions start, in order.
    pub statements: Vec<TextSize>,
    pub syntax_errors: Vec<(TextRange, String)>,
    /// It names what only Keras 2 has, the Keras of TensorFlow before 2.16.
    pub names_keras2: bool,
    /// The text nests too deeply to be walked; everything else is empty.
    pub too_deep: bool,
}

/// How a function is called and what its body does to the outside, from syntax alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    pub parameters: Vec<ParameterSyntax>,
    /// Where ` -> T` is inserted: after the closing parenthesis.
    pub returns_at: TextSize,
    /// The annotation that the user wrote there.
    pub return_annotation: Option<TextRange>,
    /// Where the body starts.
    pub body_at: TextSize,
    pub is_generator: bool,
    pub is_static: bool,
    pub is_property: bool,
    /// `self.x = …` occurs in it.
    pub sets_attributes: bool,
    /// The attributes that its own code sets or deletes.
    pub stores: Vec<Name>,
    /// Its own code imports, or says `global` or `nonlocal`.
    pub rebinds: bool,
    /// It decides on something that is not Python on its face: see [`is_plainly_python`].
    pub tests_values: bool,
    /// Names of decorators that stop conversion: `do_not_convert`, `lru_cache`, …
    pub decorators: Vec<Name>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterSyntax {
    pub name: Name,
    pub name_range: TextRange,
    pub kind: ParameterKind,
    pub annotated: bool,
    pub default: DefaultValue,
    /// The body uses it as no Tensor can be used, or as a flag: `x["key"]`, `x.items()`, `x == "sum"`,
    /// `isinstance(x, dict)`, `if x:`.
    pub used_as_python: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    PositionalOnly,
    Positional,
    KeywordOnly,
    VarArgs,
    VarKeywords,
}

/// The type of a default value as far as the literal tells; a fact of every call that omits the argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefaultValue {
    Absent,
    None,
    Bool(bool),
    /// Its annotation: `int`, `str`, `tuple[int, ...]`.
    Literal(Name),
    Other,
}

#[salsa::tracked(returns(ref), no_eq)]
pub fn file_index(db: &dyn Db, document: Document) -> Arc<FileIndex> {
    let source = text(db, document);
    Arc::new(match parse(source.as_str(), source_type(db, document)) {
        Some(parsed) => FileIndex::build(source.as_str(), &parsed),
        None => FileIndex { too_deep: true, ..FileIndex::default() },
    })
}

/// Parses a whole file; `None` when its tree would be too deep to walk.
pub fn parse(text: &str, source_type: PySourceType) -> Option<Parsed<ModModule>> {
    if nesting::is_too_deep(text) {
        return None;
    }
    let options = ParseOptions::from(source_type).with_target_version(PythonVersion::latest());
    ruff_python_parser::parse_unchecked(text, options).try_into_module()
}

/// A function of a document, by name: the key of all per-function queries.
#[salsa::interned(debug)]
pub struct FunctionId<'db> {
    #[returns(copy)]
    pub document: Document,
    #[returns(ref)]
    pub path: FunctionPath,
}

/// The firewall: the text of one function, from `def` to its end. Positions elsewhere in the file
/// do not enter it.
#[salsa::tracked(returns(ref))]
pub fn function_slice<'db>(db: &'db dyn Db, function: FunctionId<'db>) -> Option<Arc<str>> {
    let document = function.document(db);
    let (_, entry) = file_index(db, document).definitions.find(function.path(db))?;
    let source = text(db, document);
    source.as_str().get(std::ops::Range::<usize>::from(entry.range)).map(Into::into)
}

#[salsa::tracked(returns(ref))]
pub fn function_ast<'db>(db: &'db dyn Db, function: FunctionId<'db>) -> Option<FunctionAst> {
    let slice = function_slice(db, function).clone()?;
    FunctionAst::parse(slice, source_type(db, function.document(db)))
}

impl Signature {
    /// Its own code binds what others see: see [`super::closed`].
    pub fn reaches_out(&self) -> bool {
        self.rebinds || !self.stores.is_empty()
    }
}

impl FileIndex {
    fn build(text: &str, parsed: &Parsed<ModModule>) -> Self {
        let definitions = Definitions::collect(text, parsed.suite());
        let imports = Imports::collect(parsed.suite());
        let mut walk = Walk {
            index: Self {
                signatures: vec![Signature::default(); definitions.functions.len()],
                syntax_errors: parsed
                    .errors()
                    .iter()
                    .map(|error| (error.location, error.error.to_string()))
                    .collect(),
                definitions,
                imports,
                ..Self::default()
            },
            scope: MODULE,
            next: 0,
            counters: FxHashMap::default(),
            awaited: FxHashMap::default(),
            called: FxHashMap::default(),
        };
        walk.visit_body(parsed.suite());
        roots::add_methods(&mut walk.index);
        roots::name_features(&mut walk.index, parsed.suite());
        walk.index
    }

    /// The index of the function or class method that a reference in `scope` names, within this file.
    pub fn lookup(&self, reference: &Reference, scope: u32) -> Option<u32> {
        match reference {
            Reference::Name(name) => self.lookup_name(name, scope),
            Reference::SelfAttribute(name) => {
                let class = self.class_around(scope)?;
                let class = self.definitions.classes.get(class as usize)?;
                class.methods.iter().rev().copied().find(|method| {
                    self.definitions.functions[*method as usize].path.qualname.rsplit('.').next()
                        == Some(name.as_str())
                })
            }
            Reference::Other => None,
        }
    }

    /// Python's scoping: nested functions of the enclosing functions, then the module's.
    fn lookup_name(&self, name: &str, scope: u32) -> Option<u32> {
        let mut current = scope;
        loop {
            let parent = (current != MODULE).then_some(current);
            let found = self.definitions.functions.iter().enumerate().rev().find(|(_, entry)| {
                entry.parent == parent
                    && entry.class.is_none()
                    && entry.path.qualname.rsplit('.').next() == Some(name)
            });
            if let Some((index, _)) = found {
                return Some(index as u32);
            }
            if current == MODULE {
                return None;
            }
            current = self.definitions.functions[current as usize].parent.unwrap_or(MODULE);
        }
    }

    /// The class whose method `scope` is, or is nested in.
    pub fn class_around(&self, scope: u32) -> Option<u32> {
        let mut current = scope;
        while current != MODULE {
            let entry = self.definitions.functions.get(current as usize)?;
            if entry.class.is_some() {
                return entry.class;
            }
            current = entry.parent.unwrap_or(MODULE);
        }
        None
    }

    /// The last part of a function's qualified name.
    pub fn short_name(&self, function: u32) -> &str {
        self.definitions
            .functions
            .get(function as usize)
            .and_then(|entry| entry.path.qualname.rsplit('.').next())
            .unwrap_or_default()
    }
}

struct Walk {
    index: FileIndex,
    scope: u32,
    next: u32,
    /// How many expressions of each scope have been met: the numbering of
    /// [`crate::syntax::expressions`].
    counters: FxHashMap<u32, u32>,
    /// Expressions that root sites refer to and that are not numbered yet.
    awaited: FxHashMap<*const Expr, Vec<(usize, Awaited)>>,
    /// Lambdas that libraries call and that are not met yet; whether what they call is staged.
    called: FxHashMap<*const ast::ExprLambda, bool>,
}

#[derive(Clone, Copy)]
enum Awaited {
    Function,
    Receiver,
}

impl Walk {
    fn signature(&mut self) -> Option<&mut Signature> {
        self.index.signatures.get_mut(self.scope as usize)
    }

    fn function(&mut self, def: &ast::StmtFunctionDef) {
        let function = self.next;
        self.next += 1;
        for decorator in &def.decorator_list {
            if let Some(site) = roots::of_decorator(&self.index.imports, decorator, function, self.scope) {
                self.index.roots.push(site);
            }
            self.visit_expr(&decorator.expression);
        }
        for parameter in def.parameters.iter() {
            if let Some(default) = parameter.default() {
                self.visit_expr(default);
            }
        }
        if let Some(slot) = self.index.signatures.get_mut(function as usize) {
            *slot = Signature::of(def);
        }
        let outer = std::mem::replace(&mut self.scope, function);
        self.visit_body(&def.body);
        self.scope = outer;
    }

    fn call(&mut self, call: &ast::ExprCall) {
        if let Some(name) = last_name(&call.func) {
            self.index.calls.insert((self.scope, name.clone()));
        }
        match call.func.as_ref() {
            Expr::Attribute(attribute) if PYTHON_METHODS.contains(&attribute.attr.as_str()) => {
                self.python_use(&attribute.value);
            }
            Expr::Name(name) if name.id == "isinstance" => {
                if let [tested, classes] = &*call.arguments.args
                    && names_python_class(classes)
                {
                    self.python_use(tested);
                }
            }
            _ => {}
        }
        for keyword in call.arguments.keywords.iter().filter(|keyword| keyword.arg.is_none()) {
            self.python_use(&keyword.value);
        }
        if let Expr::Name(name) = call.func.as_ref()
            && self.scope != MODULE
            && OVERLOADED_BUILTINS.contains(&name.id.as_str())
            && self.index.imports.get(&name.id).is_none()
        {
            self.index.builtin_calls.push((self.scope, name.range()));
        }
        if let Some(called) = Called::of(&self.index.imports, call) {
            let stages = called.stage.is_some();
            self.called.extend(called.lambdas.into_iter().map(|lambda| (std::ptr::from_ref(lambda), stages)));
        }
        for found in roots::of_call(&self.index.imports, call, self.scope) {
            let site = self.index.roots.len();
            if let Some(function) = found.function {
                self.awaited.entry(function).or_default().push((site, Awaited::Function));
            }
            if let Some(receiver) = found.receiver {
                self.awaited.entry(receiver).or_default().push((site, Awaited::Receiver));
            }
            self.index.roots.push(found.site);
        }
    }

    fn stores(&mut self, attribute: &Name) {
        if let Some(signature) = self.signature()
            && !signature.stores.contains(attribute)
        {
            signature.stores.push(attribute.clone());
        }
    }

    /// `name` is used in a way that only Python objects allow.
    fn python_use(&mut self, name: &Expr) {
        let Some(name) = name.as_name_expr() else { return };
        if let Some(signature) = self.signature() {
            for parameter in &mut signature.parameters {
                parameter.used_as_python |= parameter.name == name.id;
            }
        }
    }

    /// A bare name that is tested is a flag as often as a Tensor.
    fn flag_use(&mut self, test: &Expr) {
        match test {
            Expr::Name(_) => self.python_use(test),
            Expr::UnaryOp(operation) if operation.op == ast::UnaryOp::Not => {
                self.flag_use(&operation.operand)
            }
            Expr::BoolOp(operation) => operation.values.iter().for_each(|value| self.flag_use(value)),
            _ => {}
        }
    }

    fn test(&mut self, test: &Expr) {
        self.flag_use(test);
        if !is_plainly_python(test)
            && let Some(signature) = self.signature()
        {
            signature.tests_values = true;
        }
    }

    fn targets(&mut self, targets: &[Expr]) {
        let sets = targets.iter().any(|target| match target {
            Expr::Attribute(attribute) => {
                attribute.value.as_name_expr().is_some_and(|name| name.id == "self")
            }
            Expr::Tuple(tuple) => tuple.elts.iter().any(|element| {
                element
                    .as_attribute_expr()
                    .and_then(|attribute| attribute.value.as_name_expr())
                    .is_some_and(|name| name.id == "self")
            }),
            _ => false,
        });
        if sets && let Some(signature) = self.signature() {
            signature.sets_attributes = true;
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for Walk {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if self.scope == MODULE {
            self.index.statements.push(statement.start());
        }
        if let Stmt::Global(_) | Stmt::Nonlocal(_) | Stmt::Import(_) | Stmt::ImportFrom(_) = statement
            && let Some(signature) = self.signature()
        {
            signature.rebinds = true;
        }
        match statement {
            Stmt::FunctionDef(def) => self.function(def),
            Stmt::Assign(assign) => {
                self.targets(&assign.targets);
                source_order::walk_stmt(self, statement);
            }
            Stmt::If(node) => {
                self.test(&node.test);
                for clause in &node.elif_else_clauses {
                    clause.test.iter().for_each(|test| self.test(test));
                }
                source_order::walk_stmt(self, statement);
            }
            Stmt::While(node) => {
                self.test(&node.test);
                source_order::walk_stmt(self, statement);
            }
            Stmt::For(node) => {
                if !is_plainly_python(&node.iter)
                    && let Some(signature) = self.signature()
                {
                    signature.tests_values = true;
                }
                source_order::walk_stmt(self, statement);
            }
            Stmt::Assert(node) => {
                self.test(&node.test);
                source_order::walk_stmt(self, statement);
            }
            Stmt::AnnAssign(assign) => {
                self.targets(std::slice::from_ref(&assign.target));
                source_order::walk_stmt(self, statement);
            }
            _ => source_order::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        let counter = self.counters.entry(self.scope).or_default();
        let id = ExprId(*counter);
        *counter += 1;
        for (site, awaited) in self.awaited.remove(&std::ptr::from_ref(expression)).unwrap_or_default() {
            match awaited {
                Awaited::Function => self.index.roots[site].expression = Some(id),
                Awaited::Receiver => self.index.roots[site].receiver = Some(id),
            }
        }
        match expression {
            Expr::Call(call) => self.call(call),
            Expr::Lambda(lambda) => {
                if let Some(stages) = self.called.remove(&std::ptr::from_ref(lambda)) {
                    let (scope, uses) = (self.scope, lambdas::uses(lambda));
                    self.index.lambdas.push(LambdaSyntax { scope, id, uses, stages });
                }
            }
            Expr::If(conditional) => self.test(&conditional.test),
            Expr::Attribute(attribute) if !attribute.ctx.is_load() => self.stores(&attribute.attr.id),
            Expr::Attribute(attribute)
                if ONLY_KERAS2.iter().any(|(_, name)| *name == attribute.attr.as_str()) =>
            {
                let resolved = self.index.imports.resolve(expression);
                self.index.names_keras2 |= resolved.is_some_and(|resolved| {
                    ONLY_KERAS2.iter().any(|(module, name)| {
                        resolved.strip_suffix(name).and_then(|rest| rest.strip_suffix('.')) == Some(module)
                    })
                });
            }
            Expr::Compare(compare)
                if compare.comparators.iter().any(|side| matches!(side, Expr::StringLiteral(_))) =>
            {
                self.python_use(&compare.left);
            }
            Expr::Subscript(subscript) if subscript.slice.is_string_literal_expr() => {
                self.python_use(&subscript.value);
            }
            Expr::Yield(_) | Expr::YieldFrom(_) => {
                if let Some(signature) = self.signature() {
                    signature.is_generator = true;
                }
            }
            _ => {}
        }
        source_order::walk_expr(self, expression);
    }

    fn visit_annotation(&mut self, _annotation: &'a Expr) {}
}

/// Modules of Keras with names that went with version 3, or raise there.
const ONLY_KERAS2: [(&str, &str); 4] = [
    ("keras.optimizers", "legacy"),
    ("keras.backend", "learning_phase"),
    ("keras.layers", "experimental"),
    ("keras", "experimental"),
];

/// Methods of Python's containers and strings that no Tensor has.
const PYTHON_METHODS: &[&str] = &[
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

/// `dict`, `(list, tuple)`: the classes of an `isinstance` test.
fn names_python_class(classes: &Expr) -> bool {
    match classes {
        Expr::Name(name) => {
            matches!(name.id.as_str(), "dict" | "list" | "tuple" | "str" | "int" | "float" | "bool" | "set")
        }
        Expr::Tuple(tuple) => tuple.elts.iter().any(names_python_class),
        _ => false,
    }
}

/// Tests that decide on configuration and structure, whatever the types: `x is None`, `self.use_bias`,
/// `training`, `len(shape) == 2`, `mode == "train"`, `for i in range(3)`.
fn is_plainly_python(test: &Expr) -> bool {
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

/// `a.b.c` -> `c`; `f` -> `f`; `tf.function(f)(x)` -> nothing.
pub fn last_name(callee: &Expr) -> Option<&Name> {
    match callee {
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(attribute) => Some(&attribute.attr.id),
        _ => None,
    }
}

impl Signature {
    fn of(def: &ast::StmtFunctionDef) -> Self {
        let decorators: Vec<Name> = def
            .decorator_list
            .iter()
            .filter_map(|decorator| {
                let expression = match &decorator.expression {
                    Expr::Call(call) => &call.func,
                    other => other,
                };
                last_name(expression).cloned()
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
                    default: DefaultValue::of(parameter.default()),
                    used_as_python: false,
                })
                .collect::<Vec<_>>()
        };
        let variadic = |parameter: Option<&ast::Parameter>, kind: ParameterKind| {
            parameter.map(|parameter| ParameterSyntax {
                name: parameter.name.id.clone(),
                name_range: parameter.name.range(),
                kind,
                annotated: parameter.annotation.is_some(),
                default: DefaultValue::Absent,
                used_as_python: false,
            })
        };
        let mut all = plain(&parameters.posonlyargs, ParameterKind::PositionalOnly);
        all.extend(plain(&parameters.args, ParameterKind::Positional));
        all.extend(variadic(parameters.vararg.as_deref(), ParameterKind::VarArgs));
        all.extend(plain(&parameters.kwonlyargs, ParameterKind::KeywordOnly));
        all.extend(variadic(parameters.kwarg.as_deref(), ParameterKind::VarKeywords));
        Self {
            parameters: all,
            returns_at: parameters.end(),
            body_at: def.body.first().map_or(def.end(), Ranged::start),
            return_annotation: def.returns.as_ref().map(|annotation| annotation.range()),
            is_generator: false,
            is_static: decorators.iter().any(|name| name == "staticmethod"),
            is_property: decorators
                .iter()
                .any(|name| matches!(name.as_str(), "property" | "cached_property")),
            sets_attributes: false,
            stores: Vec::new(),
            rebinds: false,
            tests_values: false,
            decorators,
        }
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

    /// The annotation of its type.
    pub fn annotation(&self) -> Option<&str> {
        match self {
            Self::None => Some("None"),
            Self::Bool(_) => Some("bool"),
            Self::Literal(annotation) => Some(annotation),
            Self::Absent | Self::Other => None,
        }
    }
}

/// `3` -> `int`, `(1, 2)` -> `tuple[int, int]`, `["a"]` -> `list[str]`.
fn literal_type(expression: &Expr) -> Option<Name> {
    Some(match expression {
        Expr::BooleanLiteral(_) => Name::new_static("bool"),
        Expr::StringLiteral(_) | Expr::FString(_) => Name::new_static("str"),
        Expr::NumberLiteral(literal) => match literal.value {
            ast::Number::Int(_) => Name::new_static("int"),
            ast::Number::Float(_) => Name::new_static("float"),
            ast::Number::Complex { .. } => Name::new_static("complex"),
        },
        Expr::UnaryOp(operation) if operation.op == ast::UnaryOp::USub => {
            return literal_type(&operation.operand);
        }
        Expr::Tuple(tuple) => {
            let elements: Option<Vec<_>> = tuple.elts.iter().map(literal_type).collect();
            match elements?.as_slice() {
                [] => Name::new_static("tuple[()]"),
                elements => Name::new(format!("tuple[{}]", elements.join(", "))),
            }
        }
        Expr::List(list) => {
            let first = literal_type(list.elts.first()?)?;
            let uniform = list.elts.iter().all(|element| literal_type(element).as_ref() == Some(&first));
            Name::new(if uniform { format!("list[{first}]") } else { "list".to_owned() })
        }
        _ => return None,
    })
}
