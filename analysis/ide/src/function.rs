//! The staged function at an offset, with the results of its queries.

use ruff_python_ast::Expr;
use ruff_text_size::{Ranged, TextRange, TextSize};

use ag_db::Db;
use ag_db::Document;
use ag_db::diagnostic::Step;
use ag_db::finding::Note;
use ag_index::assumptions::Stage;
use ag_index::definitions::FunctionEntry;
use ag_index::facts::Fact;
use ag_index::ids::FunctionIndex;
use ag_index::index::{FileIndex, FunctionId, Signature, file_index, function_ast};
use ag_staging::construct::Construct;
use ag_staging::results::stages_of;
use ag_staging::why::Reasons;
use ag_staging::{queries, reached_from};
use ag_syntax::expressions;

/// A staged function of a document.
pub struct FunctionAnalysis<'db> {
    db: &'db dyn Db,
    document: Document,
    function: FunctionId<'db>,
    pub entry: &'db FunctionEntry,
    pub signature: &'db Signature,
    pub stage: &'db Stage,
}

impl<'db> FunctionAnalysis<'db> {
    /// Returns the innermost function at an offset, if it is staged.
    pub fn at(db: &'db dyn Db, document: Document, offset: TextSize) -> Option<Self> {
        let index = file_index(db, document);
        let function = index.definitions.function_at(offset)?;
        Self::new(db, document, index, function)
    }

    /// Returns the staged functions of a document in source order.
    pub fn all(db: &'db dyn Db, document: Document) -> impl Iterator<Item = Self> {
        let index = file_index(db, document);
        let functions = index.definitions.functions.indices();
        functions.filter_map(move |function| Self::new(db, document, index, function))
    }

    fn new(
        db: &'db dyn Db,
        document: Document,
        index: &'db FileIndex,
        function: FunctionIndex,
    ) -> Option<Self> {
        let entry = index.definitions.functions.get(function)?;
        let stage = stages_of(db, document).get(&entry.path)?;
        Some(Self {
            db,
            document,
            function: FunctionId::new(db, document, entry.path.clone()),
            entry,
            signature: index.signatures.get(function)?,
            stage,
        })
    }

    /// Returns the offset in the file to which ranges of the function are relative.
    pub fn base(&self) -> TextSize {
        self.entry.range.start()
    }

    pub fn constructs(&self) -> &'db [Construct] {
        queries::constructs(self.db, self.function)
    }

    pub fn fact(&self, expression: &Expr) -> Option<&'db Fact> {
        queries::facts(self.db, self.function).get(expressions::id(expression)?)
    }

    /// Returns the expressions of the function itself, without nested functions. Outer expressions come first.
    pub fn expressions(&self) -> Vec<&'db Expr> {
        function_ast(self.db, self.function)
            .as_ref()
            .map(|ast| expressions::of_function(ast.def()))
            .unwrap_or_default()
    }

    /// Returns the innermost expression at an offset relative to the `def`.
    pub fn expression_at(&self, offset: TextSize) -> Option<&'db Expr> {
        let around = self.expressions().into_iter().filter(|it| it.range().contains_inclusive(offset));
        around.min_by_key(|expression| expression.range().len())
    }

    /// Returns the source text of a range relative to the `def`.
    pub fn text(&self, range: TextRange) -> &'db str {
        let ast = function_ast(self.db, self.function).as_ref();
        ast.and_then(|ast| ast.text.get(std::ops::Range::<usize>::from(range))).unwrap_or_default()
    }

    /// Returns the why-chain of the binding time of an expression.
    pub fn why(&self, expression: &Expr) -> Vec<Note> {
        let (Some(ast), Some(flow)) =
            (function_ast(self.db, self.function), queries::flow(self.db, self.function))
        else {
            return Vec::new();
        };
        let reasons = Reasons {
            document: self.document,
            path: &self.entry.path,
            ast,
            flow,
            stage: self.stage,
            lookup: &|expression| self.fact(expression),
        };
        self.notes(&reasons.of_expression(expression))
    }

    pub fn notes(&self, steps: &[Step]) -> Vec<Note> {
        let root = reached_from::step(self.db, self.stage).filter(|_| !steps.is_empty());
        let steps: Vec<Step> = steps.iter().cloned().chain(root).collect();
        ag_index::locate::notes(self.db, &steps)
    }

    /// Returns the location of the decorator or call that stages the function.
    pub fn cause(&self) -> Option<ag_db::finding::Location> {
        ag_index::locate::locate(self.db, self.stage.cause.as_ref()?)
    }
}
