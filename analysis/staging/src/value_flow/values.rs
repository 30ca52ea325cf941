//! Values, and the cells that hold them.

use std::hash::Hash;
use std::ops::Deref;

use ag_index::ids::{ClassIndex, DocumentIndex, FunctionIndex};
use ag_index::value_flow::{LambdaIndex, Operation, SiteIndex};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::hierarchy::ClassId;

/// The maximum number of values of a cell; further values are ignored. A cell with so many values is a registry, which
/// does not show what a call reaches.
const MAX_VALUES: usize = 64;

/// A variable or expression of the project, a field, or an element.
pub(super) type Cell = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Value {
    /// `bound` leading parameters are filled: `object.method`, `partial(f, 1)`.
    Function {
        document: DocumentIndex,
        function: FunctionIndex,
        bound: u8,
    },
    Lambda {
        document: DocumentIndex,
        lambda: LambdaIndex,
        bound: u8,
    },
    Class(ClassId),
    Instance(u32),
    Container(u32),
    /// `container.append`
    Mutator(u32),
    Module(DocumentIndex),
    /// A name outside the project, by its id: [`super::solve::Solver::name_id`].
    Library(u32),
}

/// A part of an object: an attribute, key or element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Field {
    /// An attribute or key, by the id of its name.
    Name(u32),
    Position(u32),
    /// Elements whose position or key is not known.
    Unknown,
    /// All elements.
    All,
}

/// An instance of a class, or a container. All instances of a class with its own `__init__` are one object.
#[derive(Debug, Default)]
pub(super) struct Object {
    pub(super) class: Option<ClassId>,
    pub(super) fields: FxHashMap<Field, Cell>,
    /// The attributes that are assigned.
    pub(super) stored: FxHashSet<u32>,
}

/// A load of an attribute that the class does not define.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missing {
    pub(super) object: u32,
    pub(super) name: u32,
    pub(super) to: Cell,
    pub(super) site: (DocumentIndex, SiteIndex),
}

/// The kinds of arguments that the result of a library function holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum HeldArguments {
    Nothing,
    Functions,
    All,
}

/// An operation that depends on the values of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Use {
    Load {
        name: u32,
        to: Cell,
        site: Option<(DocumentIndex, SiteIndex)>,
    },
    Super {
        class: ClassId,
        name: u32,
        to: Cell,
        site: (DocumentIndex, SiteIndex),
    },
    Store {
        name: u32,
        from: Cell,
        site: Option<(DocumentIndex, SiteIndex)>,
    },
    /// A dispatching function, with which the functions of `from` are registered.
    Register {
        from: Cell,
    },
    /// An attribute of the class of `receiver`, when `receiver.attribute` is assigned: a property or a descriptor.
    Set {
        receiver: Value,
        from: Cell,
        site: (DocumentIndex, SiteIndex),
    },
    Element {
        field: Field,
        to: Cell,
        site: Option<(DocumentIndex, SiteIndex)>,
    },
    Put {
        field: Field,
        from: Cell,
    },
    /// A field of a record. The record flows to `to` once a field has a value.
    Hold {
        object: u32,
        to: Cell,
    },
    /// An element of a container. The container flows to `to` once it has an element.
    Fill {
        container: u32,
        to: Cell,
    },
    Method {
        operation: Operation,
        to: Cell,
        site: (DocumentIndex, SiteIndex),
    },
    /// The call with this index in the document.
    Call {
        document: DocumentIndex,
        call: u32,
    },
    /// Python or a library calls the value. No arguments flow to its parameters.
    Invoke {
        to: Cell,
        site: (DocumentIndex, SiteIndex),
    },
    /// `functional_call(module, …)` calls the value. No arguments flow to its parameters.
    CallObject {
        to: Cell,
        site: (DocumentIndex, SiteIndex),
    },
    /// An attribute of the class of `receiver`, when `receiver.attribute` is read.
    Bind {
        receiver: Value,
        to: Cell,
        site: Option<(DocumentIndex, SiteIndex)>,
    },
    /// The metaclass of a class that is called, or on which Python calls methods.
    Meta {
        class: ClassId,
        operation: Option<Operation>,
        site: (DocumentIndex, SiteIndex),
    },
    /// The class in `register_pytree_node(Class, flatten, unflatten)`, the call with this index.
    Registered {
        document: DocumentIndex,
        call: u32,
    },
    /// The function of a property, which is read from `receiver`.
    Get {
        receiver: Value,
        to: Cell,
        site: (DocumentIndex, SiteIndex),
    },
    /// `partial(f, …)`: the call with this index.
    Partial {
        document: DocumentIndex,
        call: u32,
    },
    /// An argument of a library function, which may call it. `holds` determines whether the result holds the argument.
    Passed {
        document: DocumentIndex,
        call: u32,
        holds: HeldArguments,
        within: bool,
    },
    /// A library function calls the value, and passes the values of `from` at this position.
    Applied {
        position: u8,
        from: Cell,
    },
    /// A function that is passed to a call that stages it, such as `jax.jit(f)`.
    Root {
        document: DocumentIndex,
        site: SiteIndex,
        staged_by: super::StagingFunction,
        is_first: bool,
    },
    /// Test runners pass the values to the function.
    TestArgument {
        document: DocumentIndex,
        function: FunctionIndex,
        depth: u8,
    },
    /// The same, for containers in containers.
    NestedTestArgument {
        document: DocumentIndex,
        function: FunctionIndex,
        depth: u8,
    },
    /// An object of a library holds the value: `Conv2D(8, kernel_initializer=f)`. A call of the object may use the
    /// value without calling it.
    Held,
    /// Values other than containers flow to the cell.
    Plain {
        to: Cell,
    },
}

impl Use {
    /// Returns whether it may be a use of many cells: of the elements of all containers that are passed to a call.
    pub(super) fn is_of_many_cells(self) -> bool {
        matches!(self, Self::Passed { within: true, .. } | Self::Root { is_first: false, .. })
    }

    /// Returns whether the use of the value has an effect. Most values that are passed to libraries have none.
    pub(super) fn has_effect_on(self, value: Value) -> bool {
        let is_function = matches!(value, Value::Function { .. } | Value::Lambda { .. });
        match self {
            Self::Passed { holds: HeldArguments::All, within: false, .. } => true,
            Self::Passed { within: true, .. } => is_function || matches!(value, Value::Instance(_)),
            Self::Passed { .. } => is_function || matches!(value, Value::Container(_) | Value::Instance(_)),
            Self::Invoke { .. } | Self::Applied { .. } | Self::Get { .. } | Self::Held => is_function,
            Self::Method { .. } => matches!(value, Value::Instance(_) | Value::Class(_)),
            Self::Set { .. } => is_function || matches!(value, Value::Instance(_)),
            Self::Registered { .. } => matches!(value, Value::Class(_)),
            Self::Store { .. } => {
                matches!(value, Value::Instance(_) | Value::Function { .. } | Value::Class(_))
            }
            Self::Put { .. } => matches!(value, Value::Container(_)),
            Self::Root { is_first: false, .. } => is_function || matches!(value, Value::Container(_)),
            Self::Root { .. } => is_function || matches!(value, Value::Container(_) | Value::Instance(_)),
            _ => true,
        }
    }
}

/// A set in insertion order.
#[derive(Debug)]
pub(super) struct OrderedSet<T> {
    list: Vec<T>,
    /// The items of `list` as a set, if there are many.
    known: Option<Box<FxHashSet<T>>>,
}

impl<T> Default for OrderedSet<T> {
    fn default() -> Self {
        Self { list: Vec::new(), known: None }
    }
}

impl<T> Deref for OrderedSet<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.list
    }
}

impl<T: Copy + Eq + Hash> OrderedSet<T> {
    pub(super) fn has(&self, item: &T) -> bool {
        match &self.known {
            Some(known) => known.contains(item),
            None => self.list.contains(item),
        }
    }

    /// Adds an item. Returns whether it is new.
    pub(super) fn insert(&mut self, item: T) -> bool {
        const FEW: usize = 12;
        if self.has(&item) {
            return false;
        }
        self.list.push(item);
        match &mut self.known {
            Some(known) => drop(known.insert(item)),
            None if self.list.len() > FEW => self.known = Some(Box::new(self.list.iter().copied().collect())),
            None => {}
        }
        true
    }
}

/// The values of a cell.
#[derive(Debug, Default)]
pub(super) struct Values {
    pub(super) list: OrderedSet<Value>,
    /// The number of values that are propagated: the first ones of `list`.
    pub(super) done: usize,
}

impl Values {
    /// Adds a value, unless the cell is full. Returns whether the value was added.
    pub(super) fn insert(&mut self, value: Value) -> bool {
        self.list.len() < MAX_VALUES && self.list.insert(value)
    }
}

/// The code that creates an object. There is one object for each origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    Class(ClassId),
    /// The attributes of a function.
    Function(DocumentIndex, FunctionIndex),
    /// A record or container, by the call and the class that is called.
    Call(DocumentIndex, u32, Option<ClassId>),
    /// A display, by its cell.
    Display(Cell),
}

pub(super) fn class_id(document: DocumentIndex, class: ClassIndex) -> ClassId {
    ClassId { document, class }
}
