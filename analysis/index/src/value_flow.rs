//! The flow of functions as values through one file: for each expression, the expressions from which it may get its
//! value.
//!
//! ```python
//! def make(rate):
//!     def update(grads): ...            # the function flows to the variable `update`,
//!     return Pair(update, rate)         # to the first argument of a call, whose result `make` returns
//!
//! pair = make(0.1)                      # from there to `pair`
//! jax.jit(pair.update)                  # and its attribute `update` to the first argument of `jax.jit`
//! ```
//!
//! The constraints are collected from syntax alone: names are resolved by Python's scoping, and other files are not
//! read. `ag-staging` solves the constraints of all files together. The order and the conditions of statements are
//! ignored.

mod collect;
mod operations;
mod scopes;

use std::sync::Arc;

use ag_db::{Db, Document};
use ruff_index::{IndexVec, newtype_index};
use ruff_python_ast::name::Name;
use ruff_text_size::TextRange;
use rustc_hash::FxHashMap;

use crate::ids::{ClassIndex, Code, FunctionIndex};
use crate::index::{file_index, tree};

pub use operations::Operation;

/// A variable, or the value of an expression.
#[newtype_index]
#[derive(PartialOrd, Ord)]
pub struct Node;

/// A lambda of the file.
#[newtype_index]
#[derive(PartialOrd, Ord)]
pub struct LambdaIndex;

/// An expression whose evaluation may call functions.
#[newtype_index]
#[derive(PartialOrd, Ord)]
pub struct SiteIndex;

/// The code that evaluates an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    Code(Code),
    Lambda(LambdaIndex),
}

/// The part of a container that is read or written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// `pair[1]`, `init, update = pair`
    Position(u32),
    /// `steps["plain"]`
    Key(Name),
    /// `steps[name]`, `for step in steps`
    Any,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Constraint {
    Copy {
        from: Node,
        to: Node,
    },
    Function {
        function: FunctionIndex,
        to: Node,
    },
    Lambda {
        lambda: LambdaIndex,
        to: Node,
    },
    Class {
        class: ClassIndex,
        to: Node,
    },
    /// An object of a class: `self` of its methods.
    Instance {
        class: ClassIndex,
        to: Node,
    },
    /// The object that a dotted name refers to: `jax.jit`, `.base.Optimizer`, `builtins.map`.
    Import {
        name: Name,
        to: Node,
    },
    /// `base.name`
    Load {
        base: Node,
        name: Name,
        to: Node,
        site: SiteIndex,
    },
    /// `super().name` in a method of the class
    Super {
        base: Node,
        class: ClassIndex,
        name: Name,
        to: Node,
        site: SiteIndex,
    },
    /// `base.name = value`
    Store {
        base: Node,
        name: Name,
        from: Node,
        site: SiteIndex,
    },
    /// A new list, tuple, dictionary or set; `open` if it has no elements yet.
    Display {
        to: Node,
        open: bool,
    },
    /// `to = container[part]`
    Element {
        base: Node,
        part: Part,
        to: Node,
        site: SiteIndex,
    },
    /// `container[part] = from`
    Put {
        base: Node,
        part: Part,
        from: Node,
    },
    /// Python calls methods of the value: `a + b`, `with a:`
    Method {
        base: Node,
        operation: Operation,
        to: Node,
        site: SiteIndex,
    },
    /// `@base.register(…)`: a call of `base` may call the function, if `base` dispatches.
    Register {
        base: Node,
        from: Node,
    },
    /// A decorator's argument that a test runner passes to the function. `name` is the parameter's name, or the names
    /// of several parameters: `@parametrize("opt, rate", [(sgd, 0.1), (adam, 0.2)])`
    TestArgument {
        function: FunctionIndex,
        name: Option<Name>,
        from: Node,
    },
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub site: SiteIndex,
    pub callee: Node,
    pub positional: Vec<Option<Node>>,
    /// `*arguments`, and the first position that its elements may fill.
    pub starred: Option<(u32, Node)>,
    pub keywords: Vec<(Name, Node)>,
    /// `**arguments`
    pub mappings: Vec<Node>,
    pub result: Node,
    /// The value of a string that is the second argument: `getattr(a, "name")`.
    pub attribute: Option<Name>,
    /// The call is in `with pytest.raises(TypeError):`. It stages no functions.
    pub expects_exception: bool,
}

/// The nodes of a lambda.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LambdaFlow {
    pub parameters: Vec<(Name, Node)>,
    /// `*args` and `**kwargs`
    pub variadic: Option<Node>,
    pub result: Node,
    /// The code that contains the lambda.
    pub around: Owner,
}

/// The constraints of a file, without positions in its text.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FlowCode {
    pub nodes: u32,
    pub constraints: Vec<Constraint>,
    pub calls: Vec<Arc<Call>>,
    /// The calls that apply decorators.
    pub decorators: Vec<u32>,
    pub lambdas: IndexVec<LambdaIndex, LambdaFlow>,
    /// The variables of the module.
    pub globals: FxHashMap<Name, Node>,
    /// The names that class bodies bind.
    pub attributes: FxHashMap<(ClassIndex, Name), Node>,
    /// The annotated names of class bodies: the fields of dataclasses and NamedTuples.
    pub fields: FxHashMap<ClassIndex, Vec<Name>>,
    /// `class Module(metaclass=Meta)`
    pub metaclasses: FxHashMap<ClassIndex, Node>,
    /// The parameters of each function, in the order of its signature.
    pub parameters: IndexVec<FunctionIndex, Vec<Node>>,
    pub results: IndexVec<FunctionIndex, Node>,
    /// The code of each site.
    pub owners: IndexVec<SiteIndex, Owner>,
}

/// The flow of functions through a file.
#[derive(Debug, Default)]
pub struct FileFlow {
    pub code: FlowCode,
    /// The expression of each site.
    pub ranges: IndexVec<SiteIndex, TextRange>,
}

/// Returns the flow of functions through a file. Only projects whose files are all analyzed need it.
#[salsa::tracked(returns(ref), no_eq)]
pub fn file_flow(db: &dyn Db, document: Document) -> Arc<FileFlow> {
    let flow = tree(db, document).map(|tree| collect::collect(file_index(db, document), tree.suite()));
    Arc::new(flow.unwrap_or_default())
}

impl FlowCode {
    fn node(&mut self) -> Node {
        self.nodes += 1;
        Node::from_u32(self.nodes - 1)
    }

    /// Returns the first site in each code.
    pub fn first_sites(&self) -> FxHashMap<Owner, SiteIndex> {
        self.owners.iter_enumerated().rev().map(|(site, owner)| (*owner, site)).collect()
    }

    /// Returns the code that a lambda is in.
    pub fn code_around(&self, mut owner: Owner) -> Code {
        loop {
            match owner {
                Owner::Code(code) => return code,
                Owner::Lambda(lambda) => match self.lambdas.get(lambda) {
                    Some(lambda) => owner = lambda.around,
                    None => return Code::Module,
                },
            }
        }
    }
}
