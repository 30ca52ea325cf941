//! The version of Keras that a file needs.

use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::{self as ast, Stmt};

use ag_syntax::imports::Imports;

/// Members of Keras modules that version 3 removed, or that raise in it, and members of TensorFlow that were removed
/// before it had Keras 3.
const ONLY_KERAS2: [(&str, &str); 16] = [
    ("tensorflow", "contrib"),
    ("tensorflow", "estimator"),
    ("keras.optimizers", "legacy"),
    ("keras.backend", "function"),
    ("keras.backend", "get_session"),
    ("keras.backend", "in_test_phase"),
    ("keras.backend", "in_train_phase"),
    ("keras.backend", "learning_phase"),
    ("keras.backend", "learning_phase_scope"),
    ("keras.backend", "placeholder"),
    ("keras.backend", "print_tensor"),
    ("keras.backend", "set_learning_phase"),
    ("keras.backend", "set_session"),
    ("keras", "engine"),
    ("keras.layers", "experimental"),
    ("keras", "experimental"),
];

/// Members of Keras modules that version 3 added.
const ONLY_KERAS3: [(&str, &str); 2] = [("keras", "ops"), ("keras", "distribution")];

/// Packages and modules that cannot be imported with Keras 3.
const REQUIRE_KERAS2: [&str; 3] = ["tensorflow_addons", "keras.engine", "tensorflow.keras.engine"];

/// A version of Keras.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    Two,
    Three,
}

/// Returns whether an attribute with this name may need a certain version. This cheap test avoids resolving most names
/// for [`version_of`].
pub(super) fn may_need_version(attribute: &str) -> bool {
    ONLY_KERAS2.iter().chain(&ONLY_KERAS3).any(|(_, name)| *name == attribute)
}

/// Returns the version that a dotted name needs: `keras.optimizers.legacy`.
pub(super) fn version_of(dotted: &str) -> Option<Version> {
    let is_named = |(module, name): &(&str, &str)| {
        dotted.strip_suffix(name).and_then(|rest| rest.strip_suffix('.')) == Some(module)
    };
    match dotted {
        _ if ONLY_KERAS2.iter().any(is_named) => Some(Version::Two),
        _ if ONLY_KERAS3.iter().any(is_named) => Some(Version::Three),
        _ => None,
    }
}

/// Returns whether the imports of a file need a version.
pub(super) fn imports_need(version: Version, imports: &Imports, body: &[Stmt]) -> bool {
    imports.dotted_names().any(|name| version_of(name) == Some(version))
        || version == Version::Two
            && REQUIRE_KERAS2.iter().any(|package| imports.uses(package) && is_required(body, package))
}

/// Returns whether a package, or one of its modules, is imported outside every `try` that handles the failure of the
/// import.
fn is_required(body: &[Stmt], package: &str) -> bool {
    let mut finder = Required { package, found: false };
    finder.visit_body(body);
    finder.found
}

struct Required<'p> {
    package: &'p str,
    found: bool,
}

impl StatementVisitor<'_> for Required<'_> {
    fn visit_stmt(&mut self, statement: &Stmt) {
        let is_of_package = |module: &str| {
            module.strip_prefix(self.package).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        match statement {
            Stmt::Import(import) => {
                self.found |= import.names.iter().any(|alias| is_of_package(&alias.name));
            }
            Stmt::ImportFrom(import) => {
                let module = import.module.as_ref().filter(|_| import.level == 0);
                self.found |= module.is_some_and(|module| {
                    let imported = import.names.iter().map(|alias| format!("{module}.{}", alias.name));
                    is_of_package(module) || imported.into_iter().any(|name| is_of_package(&name))
                });
            }
            Stmt::Try(node) if handles_failure(node) => {
                node.orelse.iter().chain(&node.finalbody).for_each(|statement| self.visit_stmt(statement));
            }
            _ => statement_visitor::walk_stmt(self, statement),
        }
    }
}

/// Returns whether execution continues if an import in the body of a `try` fails. It does not if a handler raises an
/// exception.
fn handles_failure(node: &ast::StmtTry) -> bool {
    let raises = |ast::ExceptHandler::ExceptHandler(handler): &ast::ExceptHandler| {
        handler.body.last().is_some_and(Stmt::is_raise_stmt)
    };
    !node.handlers.is_empty() && !node.handlers.iter().any(raises)
}
