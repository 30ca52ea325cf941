//! Locates functions and classes in annotated source.

use ruff_db::files::File;
use ruff_db::parsed::{ParsedModuleRef, parsed_module};
use ruff_db::source::source_text;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Stmt};
use ruff_text_size::{Ranged, TextRange};

use ag_index::definitions::Definitions;
use ag_syntax::functions::FunctionPath;
use ty_python_semantic::Db;

/// Returns the definitions in a file of ty's database. The user's text has the same definitions at other offsets.
#[salsa::tracked(returns(ref), no_eq)]
pub(super) fn definitions(db: &dyn Db, file: File) -> Definitions {
    let program_file = db.program_file(file);
    let module = parsed_module(db, program_file.python_file(db)).load(db);
    Definitions::collect(source_text(db, file).as_str(), module.suite())
}

/// Returns a function in the tree of annotated source.
pub(super) fn function<'a>(
    db: &dyn Db,
    file: File,
    module: &'a ParsedModuleRef,
    path: &FunctionPath,
) -> Option<&'a ast::StmtFunctionDef> {
    let (_, entry) = definitions(db, file).find(path)?;
    function_named_at(module, entry.name_range)
}

/// Returns the method with this name, which no other function of the file may have.
pub(super) fn method<'a>(
    db: &dyn Db,
    file: File,
    module: &'a ParsedModuleRef,
    name: &str,
) -> Option<&'a ast::StmtFunctionDef> {
    let mut functions = definitions(db, file).functions.iter();
    let entry = functions.find(|entry| entry.path.qualname.rsplit('.').next() == Some(name))?;
    function_named_at(module, entry.name_range)
}

/// Returns the function whose name has this range.
fn function_named_at(module: &ParsedModuleRef, name: TextRange) -> Option<&ast::StmtFunctionDef> {
    let mut finder = Finder { name, function: None, class: None };
    finder.visit_body(module.suite());
    finder.function
}

pub(super) fn class(module: &ParsedModuleRef, name: TextRange) -> Option<&ast::StmtClassDef> {
    let mut finder = Finder { name, function: None, class: None };
    finder.visit_body(module.suite());
    finder.class
}

/// Finds a definition. Descends only into statements that contain its name.
struct Finder<'a> {
    name: TextRange,
    function: Option<&'a ast::StmtFunctionDef>,
    class: Option<&'a ast::StmtClassDef>,
}

impl<'a> SourceOrderVisitor<'a> for Finder<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if self.function.is_some() || self.class.is_some() || !statement.range().contains_range(self.name) {
            return;
        }
        match statement {
            Stmt::FunctionDef(def) if def.name.range() == self.name => self.function = Some(def),
            Stmt::ClassDef(class) if class.name.range() == self.name => self.class = Some(class),
            _ => source_order::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, _expression: &'a ast::Expr) {}
}
