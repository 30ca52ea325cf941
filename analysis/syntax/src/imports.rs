//! Resolves expressions to dotted names through the imports of a file.
//!
//! ```python
//! import tensorflow as tf          # tf.print      -> tensorflow.print
//! from jax import jit, lax         # lax.cond      -> jax.lax.cond
//! from keras.layers import Dense as D   # D        -> keras.layers.Dense
//! ```
//!
//! Imports inside functions apply to the whole file. A later import of the same name replaces an earlier one, with one
//! exception: in the handler of a `try`, it does not replace a name that the `try` imports, because the handler runs
//! only if that import fails.
//!
//! ```python
//! try:
//!     import tf_keras as keras     # keras.Model   -> tf_keras.Model
//! except ImportError:
//!     import keras
//! ```
//!
//! Module aliases such as `tensorflow.compat.v2` and `tensorflow.python.keras` resolve to one
//! canonical name, so that rules compare against a single name. `tf.keras` is Keras 3, or `tf_keras` if the file sets
//! the variable that chooses it: `os.environ["TF_USE_LEGACY_KERAS"] = "1"`.

use std::borrow::Cow;

use ruff_python_ast::name::Name;
use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use rustc_hash::FxHashMap;

/// The imported names of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imports {
    /// The dotted name for each local name. Relative imports keep their leading dots.
    names: FxHashMap<Name, Name>,
    /// The dotted names that other branches of conditions bind to the local names, in the order of the text.
    alternatives: Vec<(Name, Name)>,
    /// The modules that are imported in any form: see [`Imports::uses`].
    modules: Vec<Name>,
    /// The modules of `from module import *`, as written.
    stars: Vec<Name>,
    /// Whether `tf.keras` is Keras 2, because the file sets `TF_USE_LEGACY_KERAS`.
    legacy_keras: bool,
}

impl Imports {
    pub fn collect(body: &[Stmt]) -> Self {
        let mut collector = Collector::default();
        collector.visit_body(body);
        collector.imports
    }

    /// Makes `tf.keras` resolve to Keras 2 from here on.
    fn choose_legacy_keras(&mut self) {
        self.legacy_keras = true;
        self.modules.push(Name::new_static("tf_keras"));
    }

    /// Returns the canonical form of a dotted name, with the version of Keras that the file chooses.
    pub fn canonical(&self, dotted: &str) -> Name {
        let name = canonical(dotted);
        if !self.legacy_keras {
            return name;
        }
        let is_keras = name.split('.').next() == Some("keras");
        match is_keras && dotted.starts_with("tensorflow.") {
            true => Name::new(format!("tf_{name}")),
            false => name,
        }
    }

    /// Returns the dotted name of a `Name` or `Attribute` chain whose root is imported.
    pub fn resolve(&self, expression: &Expr) -> Option<Name> {
        let mut root = expression;
        while let Expr::Attribute(attribute) = root {
            root = &attribute.value;
        }
        let base = self.names.get(&root.as_name_expr()?.id)?;
        let Expr::Attribute(last) = expression else { return Some(base.clone()) };
        let dotted = with_attributes(base, last, 0);
        Some(match self.legacy_keras || may_have_alias(&dotted) {
            true => self.canonical(&dotted),
            false => Name::from(dotted),
        })
    }

    /// Returns the dotted name from which `local` is imported.
    pub fn get(&self, local: &str) -> Option<&Name> {
        self.names.get(local)
    }

    /// Returns the dotted names to which branches of conditions bind `local`, besides [`Self::get`].
    ///
    /// ```python
    /// if backend == "a":
    ///     from .a import linear
    /// else:
    ///     from .b import linear
    /// ```
    pub fn alternatives(&self, local: &str) -> impl Iterator<Item = &Name> {
        self.alternatives.iter().filter(move |(name, _)| name == local).map(|(_, target)| target)
    }

    /// Returns the modules of which the file imports all names: `from .layers import *`. Relative names keep their dots.
    pub fn stars(&self) -> &[Name] {
        &self.stars
    }

    /// Binds a name of a module whose names are all imported, unless the file binds it itself.
    pub fn add_starred(&mut self, local: Name, dotted: Name) {
        if !self.names.contains_key(&local) {
            self.modules.push(dotted.clone());
            self.names.insert(local, dotted);
        }
    }

    /// Returns the local names, each with the dotted name to which it is bound.
    pub fn names(&self) -> impl Iterator<Item = (&Name, &Name)> {
        self.names.iter()
    }

    /// Replaces the dotted name of `local`. The file imports `local` from a module of the project, and that module
    /// imports `dotted` under this name.
    pub fn replace(&mut self, local: Name, dotted: Name) {
        self.modules.push(dotted.clone());
        self.names.insert(local, dotted);
    }

    /// Returns whether the file imports `package` or one of its submodules.
    pub fn uses(&self, package: &str) -> bool {
        self.modules.iter().any(|module| {
            module.strip_prefix(package).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }

    /// Iterates over the imported modules, as written, and over the imported names, in canonical form.
    pub fn dotted_names(&self) -> impl Iterator<Item = &str> {
        self.modules.iter().chain(self.names.values()).map(Name::as_str)
    }

    /// Returns the local name that is bound to `dotted`: `tf` for `tensorflow`. If there are several, returns the first
    /// one in alphabetical order.
    pub fn local_name_of(&self, dotted: &str) -> Option<&Name> {
        self.names.iter().filter(|(_, target)| target.as_str() == dotted).map(|(local, _)| local).min()
    }
}

#[derive(Default)]
struct Collector {
    imports: Imports,
    /// The names that the `try` of the current handler imports.
    tried: Vec<Name>,
    /// The number of `if` statements around the current statement.
    conditions: usize,
}

impl Collector {
    fn bind(&mut self, local: Name, target: Name) {
        if self.tried.contains(&local) {
            return;
        }
        if self.conditions > 0
            && let Some(other) = self.imports.names.get(&local).filter(|other| **other != target)
        {
            self.imports.alternatives.push((local.clone(), other.clone()));
        }
        self.imports.names.insert(local, target);
    }

    /// Visits a `try`, whose handlers keep the names that its body imports.
    fn visit_try(&mut self, node: &ast::StmtTry) {
        let mut body = Self { tried: self.tried.clone(), conditions: self.conditions, ..Self::default() };
        body.imports.legacy_keras = self.imports.legacy_keras;
        body.visit_body(&node.body);
        self.imports.legacy_keras |= body.imports.legacy_keras;
        let outside = self.tried.len();
        self.tried.extend(body.imports.names.keys().cloned());
        self.imports.names.extend(body.imports.names);
        self.imports.alternatives.extend(body.imports.alternatives);
        self.imports.modules.extend(body.imports.modules);
        self.imports.stars.extend(body.imports.stars);
        for ast::ExceptHandler::ExceptHandler(handler) in &node.handlers {
            self.visit_body(&handler.body);
        }
        self.tried.truncate(outside);
        self.visit_body(&node.orelse);
        self.visit_body(&node.finalbody);
    }
}

impl StatementVisitor<'_> for Collector {
    fn visit_stmt(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Import(import) => {
                for alias in &import.names {
                    let module = Name::new(alias.name.as_str());
                    let (local, target) = match &alias.asname {
                        Some(local) => (local.id.clone(), self.imports.canonical(&module)),
                        None => {
                            let top = Name::new(module.split('.').next().unwrap_or_default());
                            (top.clone(), top)
                        }
                    };
                    self.bind(local, target);
                    self.imports.modules.push(module);
                }
            }
            Stmt::ImportFrom(import) => {
                let dots = ".".repeat(import.level as usize);
                let module = import.module.as_ref().map_or("", |module| module.as_str());
                let base = format!("{dots}{module}");
                for alias in &import.names {
                    if alias.name.as_str() == "*" {
                        self.imports.stars.push(Name::new(&base));
                        continue;
                    }
                    let local = alias.asname.as_ref().unwrap_or(&alias.name).id.clone();
                    let separator = if base.is_empty() || base.ends_with('.') { "" } else { "." };
                    let target = self.imports.canonical(&format!("{base}{separator}{}", alias.name));
                    self.bind(local, target);
                }
                self.imports.modules.push(Name::new(base));
            }
            Stmt::Try(node) => self.visit_try(node),
            Stmt::If(_) => {
                self.conditions += 1;
                statement_visitor::walk_stmt(self, statement);
                self.conditions -= 1;
            }
            _ if chooses_legacy_keras(statement) => self.imports.choose_legacy_keras(),
            _ => statement_visitor::walk_stmt(self, statement),
        }
    }
}

/// Returns whether a statement is `os.environ["TF_USE_LEGACY_KERAS"] = "1"` or
/// `os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")`.
fn chooses_legacy_keras(statement: &Stmt) -> bool {
    let (name, value) = match statement {
        Stmt::Assign(assign) => match assign.targets.as_slice() {
            [Expr::Subscript(item)] if is_environment(&item.value) => (&*item.slice, &*assign.value),
            _ => return false,
        },
        Stmt::Expr(expression) => match &*expression.value {
            Expr::Call(call) => match (call.func.as_attribute_expr(), &*call.arguments.args) {
                (Some(method), [name, value])
                    if method.attr.as_str() == "setdefault" && is_environment(&method.value) =>
                {
                    (name, value)
                }
                _ => return false,
            },
            _ => return false,
        },
        _ => return false,
    };
    let text = |literal: &Expr| literal.as_string_literal_expr().map(|literal| literal.value.to_string());
    text(name).as_deref() == Some("TF_USE_LEGACY_KERAS")
        && text(value).is_some_and(|value| matches!(value.as_str(), "1" | "true" | "True"))
}

/// Returns whether an expression is `os.environ` or `environ`.
fn is_environment(expression: &Expr) -> bool {
    match expression {
        Expr::Attribute(attribute) => attribute.attr.as_str() == "environ",
        Expr::Name(name) => name.id == "environ",
        _ => false,
    }
}

/// Returns the canonical form of a dotted name: `tensorflow.print` for `tensorflow.compat.v2.print`.
pub fn canonical(dotted: &str) -> Name {
    const ALIASES: [(&str, &str); 10] = [
        ("tensorflow.compat.v2", "tensorflow"),
        ("tensorflow.compat.v1", "tensorflow"),
        ("tensorflow.v2", "tensorflow"),
        ("tensorflow.python.keras", "tensorflow.keras"),
        ("tensorflow.keras", "keras"),
        ("keras.api", "keras"),
        ("keras.src", "keras"),
        ("jax._src.api", "jax"),
        ("jax.numpy.lax", "jax.lax"),
        ("tensorflow.autograph.experimental", "tensorflow.autograph"),
    ];
    if !may_have_alias(dotted) {
        return Name::new(dotted);
    }
    let mut current = Cow::Borrowed(dotted);
    for (alias, canonical) in ALIASES {
        if let Some(rest) = current.strip_prefix(alias)
            && (rest.is_empty() || rest.starts_with('.'))
        {
            current = Cow::Owned(format!("{canonical}{rest}"));
        }
    }
    Name::new(current)
}

/// Appends the attributes of an expression to `base`: `base.b.c` for `a.b.c`. The result has capacity for `more`
/// further bytes.
fn with_attributes(base: &str, last: &ast::ExprAttribute, more: usize) -> String {
    let more = more + 1 + last.attr.len();
    let mut dotted = match &*last.value {
        Expr::Attribute(before) => with_attributes(base, before, more),
        _ => {
            let mut dotted = String::with_capacity(base.len() + more);
            dotted.push_str(base);
            dotted
        }
    };
    dotted.push('.');
    dotted.push_str(&last.attr);
    dotted
}

/// Returns whether a name may start with an alias. This cheap test rejects nearly all names.
fn may_have_alias(dotted: &str) -> bool {
    const PARTS: [(&str, &[&str]); 3] = [
        ("tensorflow.", &["compat", "v2", "python", "keras", "autograph"]),
        ("keras.", &["api", "src"]),
        ("jax.", &["_src", "numpy"]),
    ];
    PARTS.iter().any(|(package, next)| {
        dotted.strip_prefix(package).is_some_and(|rest| next.iter().any(|part| rest.starts_with(part)))
    })
}
