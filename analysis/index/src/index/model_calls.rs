//! Calls that may trace a Keras model: `model.fit(…)`.
//!
//! A method of this name on an object of another library traces no model:
//!
//! ```python
//! scaler = StandardScaler()
//! scaler.fit(x)
//! np.save("x.npy", x)
//! ```

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{FileIndex, last_name};
use ag_syntax::imports::Imports;
use ag_syntax::qname::QName;

/// Functions and methods that trace a model, or make its inputs symbolic.
const TRACING: [&str; 13] = [
    "Input",
    "evaluate",
    "evaluate_generator",
    "export",
    "fit",
    "fit_generator",
    "get_concrete_function",
    "predict",
    "predict_generator",
    "predict_on_batch",
    "save",
    "test_on_batch",
    "train_on_batch",
];

/// A call that may trace a model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModelCall {
    /// The last part of the callee's name.
    pub name: &'static str,
    /// The top-level package of the callee, or of the class of its object. `None` if the package is unknown, or a
    /// library of Keras models. If this is a package, the call traces a model only if the package belongs to the
    /// project.
    pub package: Option<Name>,
}

/// Returns the calls of a file that may trace a model, sorted, without duplicates.
pub(super) fn of(index: &FileIndex, body: &[Stmt]) -> Vec<ModelCall> {
    if !TRACING.iter().any(|name| index.calls.contains_key(*name)) {
        return Vec::new();
    }
    let mut walk = Walk {
        imports: &index.imports,
        bindings: FxHashMap::default(),
        assigned: FxHashSet::default(),
        callees: Vec::new(),
    };
    walk.visit_body(body);
    let calls = walk.callees.iter().map(|(name, callee)| ModelCall { name, package: walk.package(callee) });
    let mut calls: Vec<ModelCall> = calls.collect();
    calls.sort_unstable();
    calls.dedup();
    calls
}

struct Walk<'a> {
    imports: &'a Imports,
    /// The values that the file assigns to each name and attribute; `None` for a value that is not known.
    bindings: FxHashMap<QName, Vec<Option<&'a Expr>>>,
    /// The targets of assignments with a known value.
    assigned: FxHashSet<TextRange>,
    /// The callees whose last part is in [`TRACING`].
    callees: Vec<(&'static str, &'a Expr)>,
}

impl<'a> Walk<'a> {
    fn bind(&mut self, target: &Expr, value: Option<&'a Expr>) {
        if let Some(name) = QName::from_expr(target) {
            self.bindings.entry(name).or_default().push(value);
        }
    }

    /// Returns the top package of a function or of the class of an object.
    fn package(&self, callee: &Expr) -> Option<Name> {
        let Expr::Attribute(method) = callee else { return self.imported(callee) };
        let object = &*method.value;
        let values = QName::from_expr(object).and_then(|name| self.bindings.get(&name));
        let Some(values) = values else { return self.imported(callee).or_else(|| self.made(object)) };
        let mut packages = values.iter().map(|value| self.made((*value)?));
        let first = packages.next()??;
        packages.all(|package| package.as_ref() == Some(&first)).then_some(first)
    }

    /// Returns the top package of an imported name, unless it may belong to a library of Keras models.
    fn imported(&self, expression: &Expr) -> Option<Name> {
        let dotted = self.imports.resolve(expression)?;
        let is_of_keras = dotted
            .split('.')
            .any(|part| part == "tf" || part.contains("keras") || part.contains("tensorflow"));
        let package = dotted.split('.').next().filter(|package| !package.is_empty())?;
        (!is_of_keras).then(|| Name::new(package))
    }

    /// Returns the top package of the class that a call instantiates, with literals only: an object that is made with
    /// other arguments may hold a model.
    fn made(&self, value: &Expr) -> Option<Name> {
        let call = value.as_call_expr()?;
        let is_class = last_name(&call.func)?.starts_with(|letter: char| letter.is_ascii_uppercase());
        let mut arguments = call.arguments.iter_source_order();
        let has_literals = arguments.all(|argument| argument.value().is_literal_expr());
        (is_class && has_literals).then(|| self.imported(&call.func))?
    }
}

impl<'a> SourceOrderVisitor<'a> for Walk<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::Assign(assign) = statement {
            for target in &assign.targets {
                self.assigned.insert(target.range());
                self.bind(target, Some(&assign.value));
            }
        }
        source_order::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Call(call) => {
                let name = last_name(&call.func);
                let name = name.and_then(|name| TRACING.into_iter().find(|known| name == *known));
                self.callees.extend(name.map(|name| (name, &*call.func)));
            }
            // `for model in models`, `a, b = make()`
            Expr::Name(ast::ExprName { ctx, .. }) | Expr::Attribute(ast::ExprAttribute { ctx, .. })
                if ctx.is_store() && !self.assigned.contains(&expression.range()) =>
            {
                self.bind(expression, None);
            }
            _ => {}
        }
        source_order::walk_expr(self, expression);
    }

    fn visit_parameter(&mut self, parameter: &'a ast::Parameter) {
        self.bindings.entry(QName::from(&parameter.name.id)).or_default().push(None);
        source_order::walk_parameter(self, parameter);
    }
}
