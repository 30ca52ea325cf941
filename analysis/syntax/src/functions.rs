//! The functions and classes of a file in source order, and the text slice of each function.

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, ModModule, PySourceType, Stmt};
use ruff_python_parser::{ParseOptions, Parsed};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::FxHashMap;
use std::sync::Arc;

use super::expressions;

/// Identifies a function within its file: `Model.call`, `train.step`. Stable under edits elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionPath {
    /// The names of the enclosing classes and functions and its own, joined with dots, without `<locals>`.
    pub qualname: Name,
    /// Index among the functions with the same qualified name in the file, in source order.
    pub occurrence: u16,
}

/// The position of one function in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionEntry {
    pub path: FunctionPath,
    /// The slice: from `def` (or `async`) to the end of the body.
    pub range: TextRange,
    /// The range of the name after `def`.
    pub name_range: TextRange,
    /// The class that directly encloses the function, as an index into [`Definitions::classes`].
    pub class: Option<u32>,
    /// The innermost enclosing function, as an index into [`Definitions::functions`].
    pub parent: Option<u32>,
}

/// A class of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassEntry {
    pub qualname: Name,
    pub range: TextRange,
    pub name_range: TextRange,
    /// The indentation of its statements; empty for `class A: pass` on one line.
    pub indentation: Box<str>,
    /// The source text of its bases: `keras.Model`, `nn.Module`.
    pub bases: Vec<Box<str>>,
    /// Its methods, as indices into [`Definitions::functions`].
    pub methods: Vec<u32>,
}

/// The definitions of a file in source order (a function precedes those nested in it).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definitions {
    pub functions: Vec<FunctionEntry>,
    pub classes: Vec<ClassEntry>,
    by_path: FxHashMap<FunctionPath, u32>,
    by_qualname: FxHashMap<Name, u16>,
}

impl Definitions {
    pub fn collect(text: &str, body: &[Stmt]) -> Self {
        let mut collector = Collector { text, ..Collector::default() };
        collector.statements(body);
        collector.definitions
    }

    /// Returns the innermost function whose slice contains `offset`.
    pub fn function_at(&self, offset: TextSize) -> Option<u32> {
        let after = self.functions.partition_point(|f| f.range.start() <= offset);
        let mut candidate = after.checked_sub(1).map(|index| index as u32);
        while let Some(index) = candidate {
            let entry = &self.functions[index as usize];
            if entry.range.contains_inclusive(offset) {
                return Some(index);
            }
            // `offset` is after this function: try the enclosing function, or else the preceding one.
            candidate = entry.parent.or_else(|| index.checked_sub(1));
        }
        None
    }

    pub fn find(&self, path: &FunctionPath) -> Option<(u32, &FunctionEntry)> {
        let index = *self.by_path.get(path)?;
        Some((index, self.functions.get(index as usize)?))
    }
}

/// The slice of one function, parsed on its own. Independent of the function's position in the file.
#[derive(Debug)]
pub struct FunctionAst {
    pub text: Arc<str>,
    parsed: Parsed<ModModule>,
    pub expression_count: u32,
}

impl PartialEq for FunctionAst {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
impl Eq for FunctionAst {}

impl FunctionAst {
    /// Parses a slice. `None` if error recovery finds no `def` in it.
    pub fn parse(text: Arc<str>, source_type: PySourceType) -> Option<Self> {
        let options =
            ParseOptions::from(source_type).with_target_version(ruff_python_ast::PythonVersion::latest());
        let parsed = ruff_python_parser::parse_unchecked(&text, options).try_into_module()?;
        let expression_count = match parsed.suite().first() {
            Some(Stmt::FunctionDef(def)) => expressions::assign_ids(def),
            _ => return None,
        };
        Some(Self { text, parsed, expression_count })
    }

    /// The function. Ranges are relative to its `def`.
    pub fn def(&self) -> &ast::StmtFunctionDef {
        match self.parsed.suite().first() {
            Some(Stmt::FunctionDef(def)) => def,
            _ => unreachable!("checked by `parse`"),
        }
    }

    pub fn parsed(&self) -> &Parsed<ModModule> {
        &self.parsed
    }
}

#[derive(Default)]
struct Collector<'a> {
    text: &'a str,
    definitions: Definitions,
    scopes: Vec<Scope>,
}

struct Scope {
    qualname: Name,
    kind: ScopeKind,
}

#[derive(Clone, Copy)]
enum ScopeKind {
    Class(u32),
    Function(u32),
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

    fn function(&mut self, def: &ast::StmtFunctionDef) {
        let qualname = self.qualname(&def.name);
        let path = {
            let seen = self.definitions.by_qualname.entry(qualname.clone()).or_default();
            let path = FunctionPath { qualname: qualname.clone(), occurrence: *seen };
            *seen = seen.saturating_add(1);
            path
        };
        let index = self.definitions.functions.len() as u32;
        let class = match self.scopes.last() {
            Some(Scope { kind: ScopeKind::Class(class), .. }) => Some(*class),
            _ => None,
        };
        let parent = self.scopes.iter().rev().find_map(|scope| match scope.kind {
            ScopeKind::Function(function) => Some(function),
            ScopeKind::Class(_) => None,
        });
        if let Some(class) = class {
            self.definitions.classes[class as usize].methods.push(index);
        }
        self.definitions.by_path.insert(path.clone(), index);
        self.definitions.functions.push(FunctionEntry {
            path,
            range: TextRange::new(keyword_start(self.text, def), def.end()),
            name_range: def.name.range(),
            class,
            parent,
        });
        self.scopes.push(Scope { qualname, kind: ScopeKind::Function(index) });
        self.statements(&def.body);
        self.scopes.pop();
    }

    fn class(&mut self, class: &ast::StmtClassDef) {
        let qualname = self.qualname(&class.name);
        let index = self.definitions.classes.len() as u32;
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

/// Returns the offset of `def` or `async def`. Decorators precede it and belong to the enclosing scope.
pub fn keyword_start(text: &str, def: &ast::StmtFunctionDef) -> TextSize {
    let decorators = def.decorator_list.last().map(Ranged::end);
    decorators.and_then(|end| keyword_between(text, end, def.name.start())).unwrap_or(def.start())
}

/// Returns the offset of `def` or `async def` between the end of the last decorator and the name. All other
/// text between them is whitespace and comments.
pub fn keyword_between(text: &str, decorators: TextSize, name: TextSize) -> Option<TextSize> {
    let mut offset = decorators;
    for line in text[TextRange::new(decorators, name)].split_inclusive('\n') {
        let code = line.trim_start();
        if code.starts_with("async") || code.starts_with("def") {
            return Some(offset + TextSize::of(&line[..line.len() - code.len()]));
        }
        offset += TextSize::of(line);
    }
    None
}
