//! The classes of a file whose instances are not Tensors, and the attributes that the file sets.

use ruff_python_ast::name::Name;
use ruff_python_ast::{Expr, Stmt};

use ag_db::Db;
use ag_db::{Document, text};
use ag_index::index::{file_index, tree};

/// Returns the classes of a file whose instances are certainly neither Tensors nor structures of Tensors: classes
/// without decorators whose base classes, if any, are `object` or other classes in this list.
#[salsa::tracked(returns(ref))]
pub fn plain_classes(db: &dyn Db, document: Document) -> Vec<Name> {
    let source = text(db, document);
    let mut plain: Vec<Name> = Vec::new();
    for class in &file_index(db, document).definitions.classes {
        let known = |base: &str| base == "object" || plain.iter().any(|class| class == base);
        let start = usize::from(class.range.start());
        let decorated = source.as_str().get(start..).is_none_or(|text| text.starts_with('@'));
        if !decorated && class.bases.iter().all(|base| known(base)) {
            plain.push(class.qualname.clone());
        }
    }
    plain
}

/// Returns whether a file sets an attribute with this name on any object, or contains the name as a string, as in
/// `self.register_buffer("mask", mask)`.
#[salsa::tracked]
pub fn declares_attribute(db: &dyn Db, document: Document, name: Name) -> bool {
    let source = text(db, document);
    let text = source.as_str();
    text.match_indices(name.as_str()).any(|(start, name)| {
        let (before, after) = (&text[..start], &text[start + name.len()..]);
        let is_quoted = before.ends_with(['"', '\'']) && after.starts_with(['"', '\'']);
        let rest = after.trim_start();
        let line = before.rsplit('\n').next().unwrap_or_default().trim_start();
        let starts_statement = line.strip_suffix('.').unwrap_or(line).chars().all(char::is_alphanumeric);
        // `self.mask = …`, `self.mask: Tensor = …`, `self.mask, self.other = …`, and in a class `mask: Tensor`
        let is_assigned = rest.starts_with('=') && !rest.starts_with("==");
        let is_set = is_assigned || rest.starts_with([':', ',']) && starts_statement;
        let is_whole = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
            && !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        is_quoted || is_whole && is_set
    })
}

/// Returns whether a class of the file may have a variable with this name: a line starts with `mask = …` or
/// `mask: Tensor`.
#[salsa::tracked(returns(copy))]
pub fn may_be_class_variable(db: &dyn Db, document: Document, name: Name) -> bool {
    text(db, document).as_str().lines().any(|line| {
        let rest = line.trim_start().strip_prefix(name.as_str()).map(str::trim_start);
        rest.is_some_and(|rest| rest.starts_with(['=', ':']))
    })
}

/// Returns whether a file registers a Tensor as a buffer with this name: `self.register_buffer("mask", mask)`.
#[salsa::tracked(returns(copy))]
pub fn registers_buffer(db: &dyn Db, document: Document, name: Name) -> bool {
    let source = text(db, document);
    let mut calls = source.as_str().split("register_buffer(").skip(1);
    calls.any(|arguments| {
        let arguments = arguments.trim_start();
        let rest = arguments.strip_prefix(['"', '\'']).and_then(|rest| rest.strip_prefix(name.as_str()));
        rest.and_then(|rest| rest.strip_prefix(['"', '\'']))
            .and_then(|rest| rest.trim_start().strip_prefix(','))
            .is_some_and(|value| !value.trim_start().starts_with("None"))
    })
}

/// Returns the attributes that are `True` in the body of a class, each with the name of the class. No other class of
/// the file may give the attribute another value in its body.
///
/// ```python
/// class Checks:
///     strict = True
/// ```
#[salsa::tracked(returns(ref))]
pub fn true_attributes(db: &dyn Db, document: Document) -> Vec<(Name, Name)> {
    let Some(module) = tree(db, document) else { return Vec::new() };
    let mut found: Vec<(Name, Name, bool)> = Vec::new();
    let mut pending: Vec<(&str, &[Stmt])> = vec![("", module.suite())];
    while let Some((class, body)) = pending.pop() {
        for statement in body {
            let (target, value) = match statement {
                Stmt::ClassDef(inner) if class.is_empty() => {
                    pending.push((inner.name.as_str(), &inner.body));
                    continue;
                }
                Stmt::Assign(assign) => (assign.targets.first(), Some(&*assign.value)),
                Stmt::AnnAssign(assign) => (Some(&*assign.target), assign.value.as_deref()),
                _ => continue,
            };
            let (Some(Expr::Name(name)), Some(value)) = (target, value) else { continue };
            let is_true = value.as_boolean_literal_expr().is_some_and(|literal| literal.value);
            found.push((Name::new(class), name.id.clone(), is_true));
        }
    }
    let is_only = |name: &Name| {
        found.iter().all(|(class, other, is_true)| class.is_empty() || other != name || *is_true)
    };
    let names = found.iter().filter(|(class, name, is_true)| !class.is_empty() && *is_true && is_only(name));
    names.map(|(class, name, _)| (class.clone(), name.clone())).collect()
}
