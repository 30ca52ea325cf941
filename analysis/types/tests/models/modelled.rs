//! The public names of the models: modules, their attributes, members of classes, parameters of functions.
//!
//! A name of a helper module (`torch/_functions.pyi`) belongs to the public modules that import it, and a
//! member of a helper class belongs to the public classes that derive from it.

use std::collections::{BTreeMap, BTreeSet};

use ag_types::stubs;
use ruff_python_ast::{Expr, Parameter, Stmt, StmtClassDef, StmtFunctionDef, StmtImportFrom};
use ruff_python_parser::parse_module;
use ruff_source_file::LineIndex;
use ruff_text_size::{Ranged, TextRange};

/// The only model that represents no library: it declares the names used in annotated source.
const INTERNAL: &str = stubs::ANNOTATIONS;

/// Modules of a real library whose names begin with an underscore, like the models' helper modules.
const REAL_PRIVATE_MODULES: &[&str] = &["torch._dynamo"];

/// One modelled name.
pub(crate) struct Name {
    /// The stub that models it, and the line in the stub.
    pub(crate) file: String,
    pub(crate) line: usize,
    /// The module (`torch.nn`), class (`torch.nn.Linear`) or function (`torch.save()`) that has the name.
    pub(crate) owner: String,
    pub(crate) name: String,
}

/// Returns all modelled names, in the order of their owners.
pub(crate) fn names() -> Vec<Name> {
    let models = Models::parse();
    let mut names = Vec::new();
    for module in models.stubs.keys().filter(|module| is_public_module(module)) {
        let (parent, name) = module.rsplit_once('.').unwrap_or((module, module));
        names.push(models.name(module, TextRange::default(), parent, name));
        names.extend(models.attributes(module));
    }
    let public = models.public_paths();
    for (class, path) in &public {
        models.members(class, path, &public, &mut names);
    }
    names.sort_by(|a, b| (&a.owner, &a.name, &a.file, a.line).cmp(&(&b.owner, &b.name, &b.file, b.line)));
    names.dedup_by(|b, a| (&a.owner, &a.name) == (&b.owner, &b.name));
    names
}

/// Returns the modules of the models, in the order of their files.
pub(crate) fn modules() -> Vec<String> {
    stubs::files().iter().map(|(path, _)| module_of(path)).collect()
}

/// Returns the modules that a stub imports from and that have no model, although their package has models. Each entry
/// starts with the path of the importing stub.
pub(crate) fn missing_sources() -> Vec<String> {
    let models = Models::parse();
    let packages: BTreeSet<_> = models.stubs.keys().filter_map(|module| module.split('.').next()).collect();
    let mut missing = Vec::new();
    for stub in models.stubs.values() {
        for import in stub.body.iter().filter_map(|statement| statement.as_import_from_stmt()) {
            let source = source_of(import);
            let is_modelled = source.split('.').next().is_some_and(|package| packages.contains(package));
            if is_modelled && !models.stubs.contains_key(&source) {
                missing.push(format!("{}: {source}", stub.path));
            }
        }
    }
    missing
}

struct Stub {
    path: String,
    lines: LineIndex,
    body: Vec<Stmt>,
}

/// The definition of a class or function: its module and its name.
type Definition = (String, String);

/// The public path of each public class.
type Paths = BTreeMap<Definition, String>;

struct Models {
    stubs: BTreeMap<String, Stub>,
}

impl Models {
    fn parse() -> Self {
        let files = stubs::files().into_iter().filter(|(path, _)| !path.starts_with(INTERNAL));
        Self { stubs: files.map(|(path, text)| (module_of(&path), Stub::parse(path, text))).collect() }
    }

    fn name(&self, module: &str, at: TextRange, owner: &str, name: &str) -> Name {
        let stub = &self.stubs[module];
        let line = stub.lines.line_index(at.start()).get();
        Name { file: stub.path.clone(), line, owner: owner.to_owned(), name: name.to_owned() }
    }

    /// Returns the attributes of a public module, and the parameters of its functions.
    fn attributes(&self, module: &str) -> Vec<Name> {
        let mut names = Vec::new();
        for (name, at, (home, _)) in self.exports(module) {
            names.push(self.name(&at.0, at.1, module, &name));
            for function in self.functions(&home, &name) {
                self.parameters(&home, function, &format!("{module}.{name}()"), &mut names);
            }
        }
        names
    }

    /// Returns the name, location and definition of each public name of a module.
    fn exports(&self, module: &str) -> Vec<(String, (String, TextRange), Definition)> {
        let mut exports = Vec::new();
        for statement in &self.stubs[module].body {
            match statement {
                Stmt::ImportFrom(import) if is_star(import) => {
                    let source = source_of(import);
                    if !is_public_module(&source) && self.stubs.contains_key(&source) {
                        exports.extend(self.exports(&source));
                    }
                }
                Stmt::ImportFrom(import) => {
                    let source = source_of(import);
                    for alias in &import.names {
                        if alias.asname.as_ref().is_some_and(|name| name.as_str() == alias.name.as_str()) {
                            let name = alias.name.to_string();
                            let definition = self.definition(&source, &name);
                            exports.push((name, (module.to_owned(), alias.range), definition));
                        }
                    }
                }
                _ => exports.extend(defined(statement).into_iter().map(|(name, range)| {
                    let definition = (module.to_owned(), name.clone());
                    (name, (module.to_owned(), range), definition)
                })),
            }
        }
        exports.retain(|(name, ..)| is_public(name));
        exports
    }

    /// Follows imports from `name` in `module` to its definition.
    fn definition(&self, module: &str, name: &str) -> Definition {
        let here = (module.to_owned(), name.to_owned());
        let Some(stub) = self.stubs.get(module) else { return here };
        for statement in &stub.body {
            let Stmt::ImportFrom(import) = statement else { continue };
            let source = source_of(import);
            if source == module {
                continue;
            }
            for alias in &import.names {
                let bound = alias.asname.as_ref().unwrap_or(&alias.name);
                if bound == name {
                    return self.definition(&source, &alias.name);
                }
            }
            if is_star(import) && self.stubs.get(&source).is_some_and(|stub| stub.defines(name)) {
                return self.definition(&source, name);
            }
        }
        here
    }

    /// Returns the public path of each class that has one: the shortest, in the package of its definition if possible.
    fn public_paths(&self) -> Paths {
        let mut paths = Paths::new();
        for module in self.stubs.keys().filter(|module| is_public_module(module)) {
            for (name, _, definition) in self.exports(module) {
                if self.class(&definition.0, &definition.1).is_some() {
                    let path = format!("{module}.{name}");
                    let better = |old: &String| rank(&path, &definition) < rank(old, &definition);
                    if paths.get(&definition).is_none_or(better) {
                        paths.insert(definition, path);
                    }
                }
            }
        }
        paths
    }

    /// Adds the members of a class to `names`, including those that it inherits from helper classes.
    fn members(&self, (module, class): &Definition, path: &str, public: &Paths, names: &mut Vec<Name>) {
        let Some(definition) = self.class(module, class) else { return };
        for statement in &definition.body {
            for (name, at) in defined(statement) {
                if is_member(&name) {
                    names.push(self.name(module, at, path, &name));
                }
            }
            if let Stmt::FunctionDef(function) = statement
                && !function.name.starts_with('_')
            {
                self.parameters(module, function, &format!("{path}.{}()", function.name), names);
            }
        }
        for base in definition.bases() {
            let base = if let Expr::Subscript(generic) = base { &generic.value } else { base };
            if let Expr::Name(base) = base {
                let base = self.definition(module, &base.id);
                if !public.contains_key(&base) {
                    self.members(&base, path, public, names);
                }
            }
        }
    }

    fn class(&self, module: &str, name: &str) -> Option<&StmtClassDef> {
        self.stubs.get(module)?.body.iter().find_map(|statement| match statement {
            Stmt::ClassDef(class) if class.name == *name => Some(class),
            _ => None,
        })
    }

    /// Returns the overloads of a function.
    fn functions(&self, module: &str, name: &str) -> Vec<&StmtFunctionDef> {
        let body = self.stubs.get(module).map(|stub| stub.body.as_slice()).unwrap_or_default();
        body.iter()
            .filter_map(|statement| match statement {
                Stmt::FunctionDef(function) if function.name == *name => Some(function),
                _ => None,
            })
            .collect()
    }

    fn parameters(&self, module: &str, function: &StmtFunctionDef, owner: &str, names: &mut Vec<Name>) {
        for parameter in keywords(function).filter(|parameter| is_public(&parameter.name)) {
            names.push(self.name(module, parameter.range, owner, &parameter.name));
        }
    }
}

impl Stub {
    fn parse(path: String, text: String) -> Self {
        let parsed = parse_module(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        Self { lines: LineIndex::from_source_text(&text), body: parsed.into_syntax().body.into(), path }
    }

    fn defines(&self, name: &str) -> bool {
        self.body.iter().flat_map(defined).any(|(defined, _)| defined == name)
    }
}

/// Returns the parameters of a function that can be passed by keyword.
pub(crate) fn keywords(function: &StmtFunctionDef) -> impl Iterator<Item = &Parameter> {
    let named = function.parameters.args.iter().chain(&function.parameters.kwonlyargs);
    named
        .map(|parameter| &parameter.parameter)
        .filter(|parameter| !matches!(parameter.name.as_str(), "self" | "cls"))
}

/// Returns the names that a statement of a module or class defines, except type variables.
fn defined(statement: &Stmt) -> Vec<(String, TextRange)> {
    match statement {
        Stmt::ClassDef(class) => vec![(class.name.to_string(), class.name.range())],
        Stmt::FunctionDef(function) => vec![(function.name.to_string(), function.name.range())],
        Stmt::AnnAssign(assign) => named(&assign.target),
        Stmt::Assign(assign) if !is_type_variable(&assign.value) => {
            assign.targets.iter().flat_map(named).collect()
        }
        _ => Vec::new(),
    }
}

fn named(target: &Expr) -> Vec<(String, TextRange)> {
    target.as_name_expr().map(|name| (name.id.to_string(), name.range)).into_iter().collect()
}

fn is_type_variable(value: &Expr) -> bool {
    let Expr::Call(call) = value else { return false };
    call.func
        .as_name_expr()
        .is_some_and(|name| matches!(name.id.as_str(), "TypeVar" | "ParamSpec" | "TypeVarTuple"))
}

fn is_star(import: &StmtImportFrom) -> bool {
    import.names.iter().any(|alias| alias.name.as_str() == "*")
}

fn source_of(import: &StmtImportFrom) -> String {
    import.module.as_ref().map(ToString::to_string).unwrap_or_default()
}

fn is_public(name: &str) -> bool {
    !name.starts_with('_') || name == "__version__"
}

/// Returns whether the name is public or that of a special method, except `__init__`, `__new__` and `__getattr__`.
fn is_member(name: &str) -> bool {
    is_public(name) || (name.starts_with("__") && !matches!(name, "__init__" | "__new__" | "__getattr__"))
}

fn is_public_module(module: &str) -> bool {
    REAL_PRIVATE_MODULES.contains(&module) || module.split('.').all(is_public)
}

/// `torch/torch/nn/__init__.pyi` is `torch.nn`.
fn module_of(path: &str) -> String {
    let path = path.split_once('/').map_or(path, |(_, path)| path).trim_end_matches(".pyi");
    path.trim_end_matches("/__init__").replace('/', ".")
}

/// Returns the sort key of a public path: paths in the package of the definition come first, then shorter paths.
fn rank<'a>(path: &'a str, definition: &Definition) -> (bool, usize, &'a str) {
    let package = |name: &str| name.split('.').next().map(str::to_owned);
    (package(path) != package(&definition.0), path.split('.').count(), path)
}
