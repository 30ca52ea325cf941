//! The effects that an edit may have outside the functions that it changes.
//!
//! The type engine does not infer the result of a function without annotation, and the names that a function binds are
//! local. So an edit inside a function affects other code only through `global` names, the modules that the function
//! imports, and the attributes of its receiver. An edit that changes `global` names or imports may affect any code. For
//! attributes, the code that determines them is compared (`attribute_code`). If it differs, the types of the attributes
//! are compared ([`Difference::methods`]).

use std::sync::Arc;

use ag_db::{Db, Document, text};
use ag_index::ids::{Code, FunctionIndex};
use ag_index::index::{Annotation, FileIndex, ParameterSyntax, Signature, file_index, tree};
use ag_index::roots::RootSite;
use ag_syntax::functions::FunctionAst;
use ruff_db::source::SourceText;
use ruff_python_ast::name::Name;
use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::token::TokenKind;
use ruff_python_ast::{ModModule, PySourceType, Stmt, StmtFunctionDef};
use ruff_python_parser::{Mode, ParseOptions, Parsed, parse_unchecked};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::FxHashSet;

use crate::attribute_code::attribute_code;

/// One version of a document.
#[derive(Clone)]
pub struct Version {
    pub text: SourceText,
    pub index: Arc<FileIndex>,
    /// The syntax tree, if it is still available.
    pub tree: Option<Arc<Parsed<ModModule>>>,
}

/// The functions that an edit changes, by their index in the file. The index is equal in both versions.
#[derive(Debug, Default)]
pub struct Difference {
    /// The changed functions, including the functions nested in them.
    pub functions: Vec<FunctionIndex>,
    /// The changed functions that are methods and set attributes. If the types of these attributes change, so may those
    /// of other code.
    pub methods: Vec<FunctionIndex>,
}

/// Returns the functions whose code differs; `None` if the edit may affect other code through anything other than
/// attributes.
pub fn between(before: &Version, after: &Version) -> Option<Difference> {
    let (old, new) = (&before.index, &after.index);
    if before.text.as_str() == after.text.as_str() {
        return Some(Difference::default());
    }
    if !same_outline(old, new) {
        return None;
    }
    let mut difference = Difference::default();
    let (mut old_end, mut new_end) = (TextSize::default(), TextSize::default());
    for ((position, old), new) in old.definitions.functions.iter_enumerated().zip(&new.definitions.functions)
    {
        if let Some(parent) = old.parent {
            if difference.functions.contains(&parent) {
                difference.functions.push(position);
            }
            continue;
        }
        let outside = TextRange::new(old_end.min(old.range.start()), old.range.start());
        let outside_now = TextRange::new(new_end.min(new.range.start()), new.range.start());
        if !same_code(before.slice(outside), after.slice(outside_now)) {
            return None;
        }
        if before.slice(old.range) != after.slice(new.range) {
            if !same_code(before.header(position), after.header(position)) {
                return None;
            }
            let (code, code_now) = (before.slice(old.range), after.slice(new.range));
            let may_bind_globals = before.index.declares_global(position)
                || after.index.declares_global(position)
                || before.is_generator(position) != after.is_generator(position);
            if may_bind_globals && !same_code(code, code_now) {
                return None;
            }
            let stores =
                !before.index.is_self_contained(position) || !after.index.is_self_contained(position);
            if stores && old.class.is_some() && !same_attribute_code(before, after, position) {
                difference.methods.push(position);
            }
            difference.functions.push(position);
        }
        (old_end, new_end) = (old.range.end(), new.range.end());
    }
    let rest =
        |version: &Version, end: TextSize| TextRange::new(end, TextSize::of(version.text.as_str()).max(end));
    if !same_code(before.slice(rest(before, old_end)), after.slice(rest(after, new_end))) {
        return None;
    }
    let is_contained = |version: &Version| {
        version.index.syntax_errors.iter().all(|(range, _)| {
            let functions = &version.index.definitions.functions;
            difference.functions.iter().any(|function| functions[*function].range.contains_range(*range))
        })
    };
    (is_contained(before) && is_contained(after)).then_some(difference)
}

/// Returns whether both versions have the same imports, decorators, buffers, functions, classes around functions, and
/// number of roots.
fn same_outline(old: &FileIndex, new: &FileIndex) -> bool {
    let functions = old.definitions.functions.iter().zip(&new.definitions.functions);
    old.too_deep == new.too_deep
        && old.imports == new.imports
        && old.buffers == new.buffers
        && old.definitions.functions.len() == new.definitions.functions.len()
        && functions
            .into_iter()
            .all(|(old, new)| old.path == new.path && old.class == new.class && old.parent == new.parent)
        && old.decorator_kinds == new.decorator_kinds
        && old.identity_decorators.iter().map(|it| &it.0).eq(new.identity_decorators.iter().map(|it| &it.0))
        && old.roots.len() == new.roots.len()
        && old.roots.iter().zip(&new.roots).all(|(old, new)| old.scope == new.scope)
}

/// Returns whether runs on both versions start from the same state: the same roots, and calls of the `relevant` names
/// in the same functions. `before` and `after` differ only as [`between`] allows.
pub fn same_start(before: &FileIndex, after: &FileIndex, relevant: &FxHashSet<Name>) -> bool {
    let stages = |index: &FileIndex| -> FxHashSet<Code> {
        index.lambdas.iter().filter(|lambda| lambda.stages).map(|lambda| lambda.scope).collect()
    };
    let has_same_callers = |name: &Name| before.calls.get(name) == after.calls.get(name);
    before.names_keras2 == after.names_keras2
        && before.names_keras3 == after.names_keras3
        && before.model_calls == after.model_calls
        && before.other_names == after.other_names
        && before.roots.iter().zip(&after.roots).all(|(before, after)| same_root(before, after))
        && before
            .signatures
            .iter()
            .zip(&after.signatures)
            .all(|(before, after)| same_signature(before, after))
        && stages(before) == stages(after)
        && relevant.iter().all(has_same_callers)
}

/// Returns whether two roots are equal except for positions and expression ids.
fn same_root(before: &RootSite, after: &RootSite) -> bool {
    let RootSite {
        target,
        scope,
        dialect,
        kind,
        converts,
        options,
        static_arguments,
        expression,
        receiver,
        in_staged_code,
        range: _,
    } = before;
    *target == after.target
        && *scope == after.scope
        && *dialect == after.dialect
        && *kind == after.kind
        && *converts == after.converts
        && *options == after.options
        && *static_arguments == after.static_arguments
        && *in_staged_code == after.in_staged_code
        && expression.is_some() == after.expression.is_some()
        && receiver.is_some() == after.receiver.is_some()
}

/// Returns whether two signatures are equal in the data that the analysis reads: everything except positions and the
/// names of attributes.
fn same_signature(before: &Signature, after: &Signature) -> bool {
    let Signature {
        parameters,
        is_generator,
        is_static,
        is_property,
        sets_attributes,
        rebinds,
        declares_global,
        tests_values,
        is_dead,
        returned,
        decorators,
        return_annotation,
        returns_at: _,
        body_at: _,
        stores: _,
    } = before;
    parameters.len() == after.parameters.len()
        && parameters.iter().zip(&after.parameters).all(|(before, after)| same_parameter(before, after))
        && return_annotation.map(precision) == after.return_annotation.map(precision)
        && *is_generator == after.is_generator
        && *is_static == after.is_static
        && *is_property == after.is_property
        && *sets_attributes == after.sets_attributes
        && *rebinds == after.rebinds
        && *declares_global == after.declares_global
        && *tests_values == after.tests_values
        && *is_dead == after.is_dead
        && *returned == after.returned
        && *decorators == after.decorators
}

fn same_parameter(before: &ParameterSyntax, after: &ParameterSyntax) -> bool {
    let ParameterSyntax {
        name,
        kind,
        annotated,
        annotation: _,
        default,
        used_as_python,
        name_range: _,
        initial_uses: _,
    } = before;
    let shape = |parameter: &ParameterSyntax| parameter.annotation.map(precision);
    *name == after.name
        && *kind == after.kind
        && *annotated == after.annotated
        && shape(before) == shape(after)
        && *default == after.default
        && *used_as_python == after.used_as_python
}

/// Returns what the assumptions depend on in an annotation.
fn precision(annotation: Annotation) -> [bool; 4] {
    [annotation.quoted, annotation.vague, annotation.variable, annotation.number]
}

impl Version {
    /// Returns the current version of a document.
    pub fn current(db: &dyn Db, document: Document) -> Self {
        let index = Arc::clone(file_index(db, document));
        // Only the trees of open documents are kept.
        let tree = document.open(db).then(|| tree(db, document)).flatten();
        Self { text: text(db, document), index, tree }
    }

    fn slice(&self, range: TextRange) -> &str {
        self.text.as_str().get(std::ops::Range::<usize>::from(range)).unwrap_or_default()
    }

    fn is_generator(&self, function: FunctionIndex) -> bool {
        self.index.signatures.get(function).is_some_and(|signature| signature.is_generator)
    }

    fn attribute_code(&self, method: FunctionIndex) -> Option<String> {
        let entry = self.index.definitions.functions.get(method)?;
        if let Some(tree) = &self.tree {
            let def = definition(tree.suite(), entry.name_range)?;
            return Some(attribute_code(def, self.text.as_str()));
        }
        let slice = FunctionAst::parse(self.slice(entry.range).into(), PySourceType::Python)?;
        Some(attribute_code(slice.def(), &slice.text))
    }

    /// Returns the text of a function from `def` to its body: `def g(x):`.
    fn header(&self, function: FunctionIndex) -> &str {
        let start = self.index.definitions.functions[function].range.start();
        let end = self.index.signatures.get(function).map_or(start, |signature| signature.body_at);
        self.slice(TextRange::new(start, end.max(start)))
    }
}

/// Returns whether two versions of a method have the same code that determines the attributes that it sets.
fn same_attribute_code(before: &Version, after: &Version, method: FunctionIndex) -> bool {
    match (before.attribute_code(method), after.attribute_code(method)) {
        (Some(before), Some(after)) => same_code(&before, &after),
        _ => false,
    }
}

/// Returns the function whose name is at `name`.
fn definition(body: &[Stmt], name: TextRange) -> Option<&StmtFunctionDef> {
    struct Search<'a> {
        name: TextRange,
        found: Option<&'a StmtFunctionDef>,
    }
    impl<'a> StatementVisitor<'a> for Search<'a> {
        fn visit_stmt(&mut self, statement: &'a Stmt) {
            match statement {
                Stmt::FunctionDef(def) if def.name.range() == self.name => self.found = Some(def),
                _ if statement.range().contains_range(self.name) => {
                    statement_visitor::walk_stmt(self, statement);
                }
                _ => {}
            }
        }
    }
    let mut search = Search { name, found: None };
    search.visit_body(body);
    search.found
}

/// Returns whether two texts differ in white space and comments only.
fn same_code(before: &str, after: &str) -> bool {
    before == after || tokens(before) == tokens(after)
}

fn tokens(text: &str) -> Vec<(TokenKind, String)> {
    let parsed = parse_unchecked(text, ParseOptions::from(Mode::Module));
    let code = parsed.tokens().iter().filter(|token| !token.kind().is_trivia());
    let text_of = |range: TextRange| text.get(std::ops::Range::<usize>::from(range)).unwrap_or_default();
    code.map(|token| match token.kind() {
        kind @ (TokenKind::Newline | TokenKind::Indent | TokenKind::Dedent) => (kind, String::new()),
        kind => (kind, text_of(token.range()).to_owned()),
    })
    .collect()
}
