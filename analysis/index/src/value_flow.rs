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

/// A place that holds values: a variable, or the result of an expression.
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

/// The code that evaluates an expression: a function, the module's own code, or a lambda.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    Code(Code),
    Lambda(LambdaIndex),
}

/// The part of a container that code reads or writes.
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
    /// The class, or one that derives from it: `cls` of its class methods.
    Type {
        class: ClassIndex,
        to: Node,
    },
    /// An object of the class: `self` of its methods.
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
    /// `base.name = from`
    Store {
        base: Node,
        name: Name,
        from: Node,
        site: SiteIndex,
    },
    /// A new list, tuple, dictionary or set. `open` if it has no elements yet, so that code may add some.
    Display {
        to: Node,
        open: bool,
    },
    /// `to = base[part]`
    Element {
        base: Node,
        part: Part,
        to: Node,
        site: SiteIndex,
    },
    /// `base[part] = from`
    Put {
        base: Node,
        part: Part,
        from: Node,
    },
    /// Python calls methods of `base`: `a + b`, `with a:`
    Method {
        base: Node,
        operation: Operation,
        to: Node,
        site: SiteIndex,
    },
    /// `@base.register(…)`: if `base` is a dispatching function, a call of it may call `from`.
    Register {
        base: Node,
        from: Node,
    },
    /// A test runner passes the decorator's argument `from` to the function. `name` is the name of the parameter, or
    /// the names of several: `@parametrize("opt, rate", [(sgd, 0.1), (adam, 0.2)])`
    TestArgument {
        function: FunctionIndex,
        name: Option<Name>,
        from: Node,
    },
}

/// The type that code declares for a variable: `def merge(context: Context | None)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    pub to: Node,
    /// The dotted names of the classes, as the code spells them.
    pub classes: Vec<Name>,
    /// Whether the variable holds only objects of these classes and `None`.
    pub is_complete: bool,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub site: SiteIndex,
    pub callee: Node,
    pub positional: Vec<Option<Node>>,
    /// The value in `*arguments`, and the first position that its elements may fill.
    pub starred: Option<(u32, Node)>,
    pub keywords: Vec<(Name, Node)>,
    /// The values in `**arguments`.
    pub mappings: Vec<Node>,
    pub result: Node,
    /// The second argument, if it is a string: `name` in `getattr(a, "name")`.
    pub attribute: Option<Name>,
    /// Whether the call is in `with pytest.raises(TypeError):`. Such a call stages no functions.
    pub expects_exception: bool,
    /// Whether it is the call of a decorator with a class. The decorators of libraries are taken to return the class.
    pub decorates_class: bool,
}

/// The nodes of a lambda.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LambdaFlow {
    pub parameters: Vec<(Name, Node)>,
    /// The value of `*args` and `**kwargs`.
    pub variadic: Option<Node>,
    pub result: Node,
    /// The code that contains the lambda.
    pub around: Owner,
}

/// The results of a function that returns some of its parameters: `def register(function): return function`. For such
/// a parameter, the result of a call is the argument of this call, whatever other calls pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Returned {
    /// The positions of these parameters.
    pub parameters: Vec<u32>,
    /// The results that are not parameters.
    pub others: Node,
}

/// The constraints of a file, without positions in its text.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FlowCode {
    pub nodes: u32,
    pub constraints: Vec<Constraint>,
    pub declarations: Vec<Declaration>,
    pub calls: Vec<Arc<Call>>,
    /// The calls that apply decorators, as indices into `calls`.
    pub decorators: Vec<u32>,
    pub lambdas: IndexVec<LambdaIndex, LambdaFlow>,
    /// The variables of the module.
    pub globals: FxHashMap<Name, Node>,
    /// The names that class bodies bind.
    pub attributes: FxHashMap<(ClassIndex, Name), Node>,
    /// The annotated names of class bodies: the fields of dataclasses and NamedTuples.
    pub fields: FxHashMap<ClassIndex, Vec<Name>>,
    /// The value in `class Module(metaclass=Meta)`.
    pub metaclasses: FxHashMap<ClassIndex, Node>,
    /// The parameters of each function, in the order of its signature.
    pub parameters: IndexVec<FunctionIndex, Vec<Node>>,
    pub results: IndexVec<FunctionIndex, Node>,
    /// The methods `__getattr__` that look the name up in other objects, each with these objects:
    /// `def __getattr__(self, name): return getattr(self.wrapped, name)`.
    pub forwards: FxHashMap<FunctionIndex, Vec<Node>>,
    /// The functions that return some of their parameters.
    pub returned: FxHashMap<FunctionIndex, Returned>,
    /// The code that evaluates each site.
    pub owners: IndexVec<SiteIndex, Owner>,
}

/// The flow of functions through a file.
#[derive(Debug, Default)]
pub struct FileFlow {
    pub code: FlowCode,
    /// The range of each site's expression.
    pub ranges: IndexVec<SiteIndex, TextRange>,
}

/// Returns the flow of functions through a file. It is needed only in projects in which functions are followed as
/// values.
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

    /// Returns the first site in each function, lambda and module code.
    pub fn first_sites(&self) -> FxHashMap<Owner, SiteIndex> {
        self.owners.iter_enumerated().rev().map(|(site, owner)| (*owner, site)).collect()
    }

    /// Returns the function or module code that contains a lambda; for other code, the code itself.
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
