//! The attributes whose value eager code converts to a Python number or a NumPy array, which a Tensor of a graph does
//! not have:
//!
//! ```python
//! def report(monitor):
//!     return float(monitor.worst)             # also `monitor.worst.numpy()`, `np.mean(monitor.losses)`
//! ```

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::FunctionContext;
use ag_db::{Db, Document};
use ag_index::index::{FileIndex, FunctionId, file_index, tree};
use ag_staging::queries;
use ag_syntax::functions::FunctionPath;

/// Returns whether code of the file that is not staged converts the value of an attribute with this name.
pub(super) fn is_converted(ctx: &FunctionContext, attribute: &str) -> bool {
    let is_eager = |reader: &Option<FunctionPath>| match reader {
        Some(path) => {
            let function = FunctionId::new(ctx.db, ctx.document, path.clone());
            queries::stage(ctx.db, function).is_none()
        }
        None => true,
    };
    conversions(ctx.db, ctx.document).get(attribute).is_some_and(|readers| readers.iter().any(is_eager))
}

/// The functions that convert an attribute, by its name; `None` stands for the code of the module.
type Conversions = FxHashMap<Name, FxHashSet<Option<FunctionPath>>>;

#[salsa::tracked(returns(ref))]
fn conversions(db: &dyn Db, document: Document) -> Conversions {
    let mut collector =
        Collector { index: file_index(db, document), function: None, found: FxHashMap::default() };
    if let Some(parsed) = tree(db, document)
        && collector.index.imports.uses("tensorflow")
    {
        collector.visit_body(parsed.suite());
    }
    collector.found
}

struct Collector<'c> {
    index: &'c FileIndex,
    /// The enclosing function.
    function: Option<FunctionPath>,
    found: Conversions,
}

impl<'a> SourceOrderVisitor<'a> for Collector<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        let Stmt::FunctionDef(def) = statement else { return source_order::walk_stmt(self, statement) };
        let mut entries = self.index.definitions.functions.iter();
        let entry = entries.find(|entry| entry.name_range == def.name.range);
        let outer = std::mem::replace(&mut self.function, entry.map(|entry| entry.path.clone()));
        source_order::walk_stmt(self, statement);
        self.function = outer;
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Call(call) = expression
            && let Some(attribute) = converted(self.index, call)
        {
            self.found.entry(attribute.attr.id.clone()).or_default().insert(self.function.clone());
        }
        source_order::walk_expr(self, expression);
    }
}

/// Returns the attribute that a call converts, also through an item of it: `float(self.losses[-1])`.
fn converted<'a>(index: &FileIndex, call: &'a ast::ExprCall) -> Option<&'a ast::ExprAttribute> {
    let is_conversion = || match index.imports.resolve(&call.func) {
        Some(name) => name.starts_with("numpy."),
        None => call.func.as_name_expr().is_some_and(|name| matches!(name.id.as_str(), "float" | "int")),
    };
    let value = match &*call.func {
        Expr::Attribute(method) if method.attr.as_str() == "numpy" => &method.value,
        _ if is_conversion() => call.arguments.args.first()?,
        _ => return None,
    };
    match value {
        Expr::Subscript(item) => item.value.as_attribute_expr(),
        value => value.as_attribute_expr(),
    }
}
