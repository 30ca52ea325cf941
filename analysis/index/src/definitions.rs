//! The functions and classes of a file in source order.

use ruff_index::IndexVec;
use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::FxHashMap;

use crate::ids::{ClassIndex, FunctionIndex};
use ag_syntax::functions::{FunctionPath, keyword_start};

/// A function and its position in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionEntry {
    pub path: FunctionPath,
    /// The range of its slice: from `def` (or `async`) to the end of the body.
    pub range: TextRange,
    /// The range of the name after `def`.
    pub name_range: TextRange,
    /// The class that directly encloses the function.
    pub class: Option<ClassIndex>,
    /// The innermost enclosing function.
    pub parent: Option<FunctionIndex>,
    /// Whether a later statement of the module binds the function's name to a value that does not contain the function,
    /// such as `floor = torch.floor` after `def floor(x): …`. A call of the name may then call another function.
    /// `step = jax.jit(step)` does not count.
    pub replaced: bool,
}

/// A class of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassEntry {
    pub qualname: Name,
    pub range: TextRange,
    pub name_range: TextRange,
    /// The indentation of its statements; empty for `class A: pass` on one line.
    pub indentation: Box<str>,
    /// The source text of each of its bases: `keras.Model`, `nn.Module`.
    pub bases: Vec<Box<str>>,
    pub methods: Vec<FunctionIndex>,
}

/// The definitions of a file in source order (a function precedes those nested in it).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definitions {
    pub functions: IndexVec<FunctionIndex, FunctionEntry>,
    pub classes: IndexVec<ClassIndex, ClassEntry>,
    /// The functions, sorted by path.
    by_path: Box<[FunctionIndex]>,
}

impl Definitions {
    pub fn collect(text: &str, body: &[Stmt]) -> Self {
        let mut collector = Collector { text, ..Collector::default() };
        collector.statements(body);
        let Definitions { mut functions, mut classes, .. } = collector.definitions;
        let mut by_path: Box<[FunctionIndex]> = functions.indices().collect();
        // Paths are unique.
        by_path.sort_unstable_by(|a, b| path_key(&functions[*a].path).cmp(&path_key(&functions[*b].path)));
        // For most files only the index is ever used, so its size matters.
        functions.raw.shrink_to_fit();
        classes.raw.shrink_to_fit();
        Definitions { functions, classes, by_path }
    }

    /// Returns the innermost function whose slice contains `offset`.
    pub fn function_at(&self, offset: TextSize) -> Option<FunctionIndex> {
        let after = self.functions.raw.partition_point(|f| f.range.start() <= offset);
        let mut candidate = after.checked_sub(1).map(FunctionIndex::from);
        while let Some(index) = candidate {
            let entry = &self.functions[index];
            if entry.range.contains_inclusive(offset) {
                return Some(index);
            }
            // `offset` is after this function: try the enclosing function, or else the preceding one.
            candidate = entry.parent.or_else(|| index.as_usize().checked_sub(1).map(FunctionIndex::from));
        }
        None
    }

    pub fn find(&self, path: &FunctionPath) -> Option<(FunctionIndex, &FunctionEntry)> {
        let key = |function: &FunctionIndex| path_key(&self.functions[*function].path);
        let at = self.by_path.binary_search_by(|function| key(function).cmp(&path_key(path))).ok()?;
        let index = *self.by_path.get(at)?;
        Some((index, self.functions.get(index)?))
    }
}

/// Returns whether an expression reads a name.
fn mentions(expression: &Expr, name: &str) -> bool {
    struct Reads<'n>(&'n str, bool);
    impl<'a> SourceOrderVisitor<'a> for Reads<'_> {
        fn visit_expr(&mut self, expression: &'a Expr) {
            self.1 |= expression.as_name_expr().is_some_and(|read| read.id == *self.0);
            source_order::walk_expr(self, expression);
        }
    }
    let mut reads = Reads(name, false);
    reads.visit_expr(expression);
    reads.1
}

fn path_key(path: &FunctionPath) -> (&str, u16) {
    (path.qualname.as_str(), path.occurrence)
}

#[derive(Default)]
struct Collector<'a> {
    text: &'a str,
    definitions: Definitions,
    /// The number of functions with each qualified name that were found so far.
    occurrences: FxHashMap<Name, u16>,
    scopes: Vec<Scope>,
}

struct Scope {
    qualname: Name,
    kind: ScopeKind,
}

#[derive(Clone, Copy)]
enum ScopeKind {
    Class(ClassIndex),
    Function(FunctionIndex),
}

impl Collector<'_> {
    fn statements(&mut self, body: &[Stmt]) {
        for statement in body {
            self.statement(statement);
        }
    }

    fn qualname(&self, name: &str) -> Name {
        match self.scopes.last() {
            Some(scope) => Name::new(format!("{}.{name}", scope.qualname)),
            None => Name::new(name),
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::FunctionDef(def) => self.function(def),
            Stmt::ClassDef(class) => self.class(class),
            Stmt::If(node) => {
                self.statements(&node.body);
                for clause in &node.elif_else_clauses {
                    self.statements(&clause.body);
                }
            }
            Stmt::For(node) => {
                self.statements(&node.body);
                self.statements(&node.orelse);
            }
            Stmt::While(node) => {
                self.statements(&node.body);
                self.statements(&node.orelse);
            }
            Stmt::With(node) => self.statements(&node.body),
            Stmt::Assign(assign) if self.scopes.is_empty() => self.assignment(assign),
            Stmt::Try(node) => {
                self.statements(&node.body);
                for handler in &node.handlers {
                    let ast::ExceptHandler::ExceptHandler(handler) = handler;
                    self.statements(&handler.body);
                }
                self.statements(&node.orelse);
                self.statements(&node.finalbody);
            }
            Stmt::Match(node) => {
                for case in &node.cases {
                    self.statements(&case.body);
                }
            }
            _ => {}
        }
    }

    /// Marks the functions of the module whose name an assignment of the module binds to another value.
    fn assignment(&mut self, assign: &ast::StmtAssign) {
        for name in assign.targets.iter().filter_map(Expr::as_name_expr) {
            if !self.occurrences.contains_key(&name.id) || mentions(&assign.value, &name.id) {
                continue;
            }
            for function in &mut self.definitions.functions {
                function.replaced |= function.path.qualname == name.id;
            }
        }
    }

    fn function(&mut self, def: &ast::StmtFunctionDef) {
        let qualname = self.qualname(&def.name);
        let path = {
            let seen = self.occurrences.entry(qualname.clone()).or_default();
            let path = FunctionPath { qualname: qualname.clone(), occurrence: *seen };
            *seen = seen.saturating_add(1);
            path
        };
        let index = self.definitions.functions.next_index();
        let class = match self.scopes.last() {
            Some(Scope { kind: ScopeKind::Class(class), .. }) => Some(*class),
            _ => None,
        };
        let parent = self.scopes.iter().rev().find_map(|scope| match scope.kind {
            ScopeKind::Function(function) => Some(function),
            ScopeKind::Class(_) => None,
        });
        if let Some(class) = class {
            self.definitions.classes[class].methods.push(index);
        }
        self.definitions.functions.push(FunctionEntry {
            path,
            range: TextRange::new(keyword_start(self.text, def), def.end()),
            name_range: def.name.range(),
            class,
            parent,
            replaced: false,
        });
        self.scopes.push(Scope { qualname, kind: ScopeKind::Function(index) });
        self.statements(&def.body);
        self.scopes.pop();
    }

    fn class(&mut self, class: &ast::StmtClassDef) {
        let qualname = self.qualname(&class.name);
        let index = self.definitions.classes.next_index();
        let bases = class
            .arguments
            .iter()
            .flat_map(|arguments| arguments.args.iter())
            .map(|base| self.text[base.range()].into())
            .collect();
        self.definitions.classes.push(ClassEntry {
            qualname: qualname.clone(),
            range: class.range(),
            name_range: class.name.range(),
            indentation: class.body.first().map_or("", |first| indentation(self.text, first.start())).into(),
            bases,
            methods: Vec::new(),
        });
        self.scopes.push(Scope { qualname, kind: ScopeKind::Class(index) });
        self.statements(&class.body);
        self.scopes.pop();
    }
}

/// Returns the whitespace between the start of the line and `offset`. Empty if the line has other code
/// before `offset`.
fn indentation(text: &str, offset: TextSize) -> &str {
    let before = text.get(..offset.to_usize()).unwrap_or_default();
    let line = &before[before.rfind(['\n', '\r']).map_or(0, |end| end + 1)..];
    if line.chars().all(char::is_whitespace) { line } else { "" }
}
