//! The walk over a file's tree that collects its constraints. It resolves names to variables of scopes.

mod declarations;
mod expressions;
mod statements;

use ruff_index::IndexVec;
use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{TextRange, TextSize};
use rustc_hash::FxHashMap;

use super::scopes::Bound;
use super::{Constraint, FileFlow, Node, Operation, Owner, Part, SiteIndex};
use crate::ids::{ClassIndex, Code, FunctionIndex};
use crate::index::FileIndex;

pub(super) fn collect(index: &FileIndex, body: &[Stmt]) -> FileFlow {
    let functions = index.definitions.functions.iter_enumerated();
    let classes = index.definitions.classes.iter_enumerated();
    let mut collector = Collector {
        index,
        functions: functions.map(|(function, entry)| (entry.name_range.start(), function)).collect(),
        classes: classes.map(|(class, entry)| (entry.name_range.start(), class)).collect(),
        flow: FileFlow::default(),
        imported: FxHashMap::default(),
        scopes: Vec::new(),
        owner: Owner::Code(Code::Module),
        expecting: 0,
    };
    for _ in &index.definitions.functions {
        let result = collector.node();
        collector.flow.code.results.push(result);
    }
    collector.flow.code.parameters = IndexVec::from_raw(vec![Vec::new(); index.definitions.functions.len()]);
    collector.enter(Frame::default(), Bound::of(body));
    collector.body(body);
    collector.leave();
    let mut flow = collector.flow;
    flow.code.constraints.shrink_to_fit();
    flow.code.calls.shrink_to_fit();
    flow
}

/// The names that one scope binds.
#[derive(Default)]
struct Frame<'a> {
    /// The local variables. A variable gets a node once a value flows to or from it. Code without such a flow has no
    /// nodes, so an edit of it does not change the constraints.
    names: FxHashMap<&'a str, Option<Node>>,
    /// The class whose body this scope is. Its names are not visible in its methods.
    class: Option<ClassIndex>,
    /// The function whose body this scope is; `None` for a comprehension.
    function: Option<FunctionIndex>,
    /// The values that the function returns.
    returns: Vec<Node>,
}

struct Collector<'a> {
    index: &'a FileIndex,
    functions: FxHashMap<TextSize, FunctionIndex>,
    classes: FxHashMap<TextSize, ClassIndex>,
    flow: FileFlow,
    imported: FxHashMap<Name, Node>,
    scopes: Vec<Frame<'a>>,
    owner: Owner,
    /// The number of `with pytest.raises(TypeError):` statements around the current code.
    expecting: usize,
}

impl<'a> Collector<'a> {
    fn node(&mut self) -> Node {
        self.flow.code.node()
    }

    fn site(&mut self, range: TextRange) -> SiteIndex {
        self.flow.code.owners.push(self.owner);
        self.flow.ranges.push(range)
    }

    fn add(&mut self, constraint: Constraint) {
        self.flow.code.constraints.push(constraint);
    }

    fn copy(&mut self, from: Option<Node>, to: Node) {
        if let Some(from) = from {
            self.add(Constraint::Copy { from, to });
        }
    }

    fn enter(&mut self, mut frame: Frame<'a>, bound: Bound<'a>) {
        for name in bound.globals {
            let node = self.global(name);
            frame.names.insert(name.as_str(), Some(node));
        }
        for name in bound.names {
            if frame.names.contains_key(name.as_str()) {
                continue;
            }
            let node = match (self.scopes.is_empty(), frame.class) {
                (true, _) => Some(self.global(name)),
                (false, Some(class)) => {
                    let node = self.node();
                    self.flow.code.attributes.insert((class, name.clone()), node);
                    Some(node)
                }
                (false, None) => None,
            };
            frame.names.insert(name.as_str(), node);
        }
        self.scopes.push(frame);
    }

    fn leave(&mut self) {
        self.scopes.pop();
    }

    /// Returns the node of a variable of the module, or of a name that is imported or built in.
    fn global(&mut self, name: &Name) -> Node {
        if let Some(node) = self.flow.code.globals.get(name) {
            return *node;
        }
        let node = self.node();
        self.flow.code.globals.insert(name.clone(), node);
        if let Some(dotted) = self.index.imports.get(name) {
            self.add(Constraint::Import { name: dotted.clone(), to: node });
        }
        for dotted in self.index.imports.alternatives(name) {
            self.add(Constraint::Import { name: dotted.clone(), to: node });
        }
        node
    }

    fn lookup(&mut self, name: &'a Name) -> Node {
        if let Some(node) = self.local(name) {
            return node;
        }
        let is_known = self.index.imports.get(name).is_some() || self.flow.code.globals.contains_key(name);
        match is_known {
            true => self.global(name),
            false => self.import(Name::new(format!("builtins.{name}"))),
        }
    }

    fn is_local(&self, name: &Name) -> bool {
        let is_innermost = |at: usize| at + 1 == self.scopes.len();
        self.scopes.iter().enumerate().any(|(at, frame)| {
            (is_innermost(at) || frame.class.is_none()) && frame.names.contains_key(name.as_str())
        })
    }

    fn local(&mut self, name: &Name) -> Option<Node> {
        let mut frames = self.scopes.iter_mut().rev();
        let innermost = frames.next().and_then(|frame| frame.names.get_mut(name.as_str()));
        let node = innermost.or_else(|| {
            frames.filter(|frame| frame.class.is_none()).find_map(|frame| frame.names.get_mut(name.as_str()))
        })?;
        let code = &mut self.flow.code;
        Some(*node.get_or_insert_with(|| code.node()))
    }

    fn import(&mut self, name: Name) -> Node {
        if let Some(node) = self.imported.get(&name) {
            return *node;
        }
        let node = self.node();
        self.imported.insert(name.clone(), node);
        self.add(Constraint::Import { name, to: node });
        node
    }

    /// Returns the innermost function that contains the current scope. Lambdas and comprehensions do not count.
    fn function(&self) -> Option<FunctionIndex> {
        self.scopes.iter().rev().find_map(|frame| frame.function)
    }

    fn element(&mut self, base: Option<Node>, part: Part, range: TextRange) -> Option<Node> {
        let base = base?;
        let to = self.node();
        let site = self.site(range);
        self.add(Constraint::Element { base, part, to, site });
        Some(to)
    }

    fn operate(&mut self, base: Option<Node>, operation: Operation, range: TextRange) -> Option<Node> {
        let base = base?;
        let to = self.node();
        let site = self.site(range);
        self.add(Constraint::Method { base, operation, to, site });
        Some(to)
    }

    fn display(&mut self, parts: Vec<(Part, Node)>) -> Node {
        let base = self.node();
        self.add(Constraint::Display { to: base, open: parts.is_empty() });
        for (part, from) in parts {
            self.add(Constraint::Put { base, part, from });
        }
        base
    }
}

/// Returns the part of a container that a subscript refers to.
fn part_of(slice: &Expr) -> Part {
    match slice {
        Expr::StringLiteral(literal) => Part::Key(Name::new(literal.value.to_str())),
        Expr::NumberLiteral(literal) => {
            let position =
                literal.value.as_int().and_then(ast::Int::as_usize).and_then(|it| u32::try_from(it).ok());
            position.map_or(Part::Any, Part::Position)
        }
        _ => Part::Any,
    }
}
