//! The staged function around an offset, with the results of its queries.

use ruff_python_ast::Expr;
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::check::Note;
use crate::db::Db;
use crate::diagnostic::Step;
use crate::project::Document;
use crate::staging::assumptions::Stage;
use crate::staging::construct::Construct;
use crate::staging::facts::Fact;
use crate::staging::index::{FileIndex, FunctionId, Signature, file_index, function_ast};
use crate::staging::queries;
use crate::staging::why::Reasons;
use crate::syntax::expressions;
use crate::syntax::functions::FunctionEntry;

/// A staged function of a document.
pub struct StagedHere<'db> {
    db: &'db dyn Db,
    document: Document,
    function: FunctionId<'db>,
    pub entry: &'db FunctionEntry,
    pub signature: &'db Signature,
    pub stage: &'db Stage,
}

impl<'db> StagedHere<'db> {
    /// The innermost function around an offset, if it is staged.
    pub fn at(db: &'db dyn Db, document: Document, offset: TextSize) -> Option<Self> {
        let index = file_index(db, document);
        let number = index.definitions.function_at(offset)?;
        Self::new(db, document, index, number)
    }

    /// The staged functions of a document in source order.
    pub fn all(db: &'db dyn Db, document: Document) -> impl Iterator<Item = Self> {
        let index = file_index(db, document);
        (0..index.definitions.functions.len())
            .filter_map(move |number| Self::new(db, document, index, number as u32))
    }

    fn new(db: &'db dyn Db, document: Document, index: &'db FileIndex, number: u32) -> Option<Self> {
        let entry = index.definitions.functions.get(number as usize)?;
        let stage = document.stages(db).get(&entry.path)?;
        Some(Self {
            db,
            document,
            function: FunctionId::new(db, document, entry.path.clone()),
            entry,
            signature: index.signatures.get(number as usize)?,
            stage,
        })
    }

    /// The offset in the file that ranges of the function are relative to.
    pub fn base(&self) -> TextSize {
        self.entry.range.start()
    }

    pub fn constructs(&self) -> &'db [Construct] {
        queries::constructs(self.db, self.function)
    }

    pub fn fact(&self, expression: &Expr) -> Option<&'db Fact> {
        queries::facts(self.db, self.function).get(expressions::id(expression)?)
    }

    /// The expressions of the function's own code, outer ones first.
    pub fn expressions(&self) -> Vec<&'db Expr> {
        function_ast(self.db, self.function)
            .as_ref()
            .map(|ast| expressions::of_function(ast.def()))
            .unwrap_or_default()
    }

    /// The innermost expression at an offset relative to the `def`.
    pub fn expression_at(&self, offset: TextSize) -> Option<&'db Expr> {
        let around = self.expressions().into_iter().filter(|it| it.range().contains_inclusive(offset));
        around.min_by_key(|expression| expression.range().len())
    }

    /// The source text of a range relative to the `def`.
    pub fn text(&self, range: TextRange) -> &'db str {
        let ast = function_ast(self.db, self.function).as_ref();
        ast.and_then(|ast| ast.text.get(std::ops::Range::<usize>::from(range))).unwrap_or_default()
    }

    /// Why an expression has its binding time.
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
        crate::check::notes(self.db, steps)
    }

    /// The location that stages the function: the decorator, the call.
    pub fn cause(&self) -> Option<crate::check::Location> {
        crate::check::locate(self.db, self.stage.cause.as_ref()?)
    }
}
