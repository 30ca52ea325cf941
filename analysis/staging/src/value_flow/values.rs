//! Values, and the cells that hold them.

use std::hash::Hash;
use std::ops::Deref;

use ag_index::ids::{ClassIndex, DocumentIndex, FunctionIndex};
use ag_index::value_flow::{LambdaIndex, Operation, SiteIndex};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::hierarchy::ClassId;

/// The maximum number of values in a cell. Further values are ignored: a cell with so many values is a registry, and it
/// is unknown which of them a call reaches.
const MAX_VALUES: usize = 64;

/// The maximum number of derived classes whose objects a variable may hold.
pub(super) const MAX_DERIVED: usize = 512;

/// The index of a cell. A cell holds the values of a variable or expression of the project, of a field, or of an
/// element.
pub(super) type Cell = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Value {
    /// A function whose first `bound` parameters are bound: 1 for `object.method` and `partial(f, 1)`.
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
    /// A class that derives from this class.
    Derived(ClassId),
    Instance(u32),
    Container(u32),
    /// A method that adds its arguments to a container: `container.append`.
    Mutator(u32),
    Module(DocumentIndex),
    /// A function, class or module outside the project, by the id of its dotted name
    /// ([`super::solve::Solver::name_id`]).
    Library(u32),
    /// Any value: some values of the cell are assumed, so a call may reach other functions, too.
    Unknown,
    /// The values of another cell. One value stands for the many methods that override a method.
    Group(Cell),
}

/// A part of an object: an attribute or an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Field {
    /// An attribute, or an element by its key; both by the id of the name.
    Name(u32),
    Position(u32),
    /// An element whose position or key is not known.
    Unknown,
    /// Every element.
    All,
}

/// An instance of a class, or a container. If a class has its own `__init__`, one object represents all its instances.
#[derive(Debug, Default)]
pub(super) struct Object {
    pub(super) class: Option<ClassId>,
    pub(super) fields: FxHashMap<Field, Cell>,
    /// The ids of the attributes that some code assigns.
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

/// The arguments of a library function that its result holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum HeldArguments {
    Nothing,
    Functions,
    All,
    /// All, and the library function calls no elements of its arguments: `sorted(registry)`.
    Uncalled,
}

impl HeldArguments {
    pub(super) fn are_all(self) -> bool {
        matches!(self, Self::All | Self::Uncalled)
    }
}

/// An operation on each value of a cell.
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
    /// The value is a dispatching function, and the functions of `from` are registered with it.
    Register {
        from: Cell,
    },
    /// The class of `receiver` binds an attribute to the value, a property or descriptor, and `receiver.attribute` is
    /// assigned.
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
    /// The value is in a field of a record, so the record is not empty and flows to `to`.
    Hold {
        object: u32,
        to: Cell,
    },
    /// The value is an element of a container, so the container is not empty and flows to `to`.
    Fill {
        container: u32,
        to: Cell,
    },
    Method {
        operation: Operation,
        to: Cell,
        site: (DocumentIndex, SiteIndex),
    },
    /// The value is called: the call with this index in the document.
    Call {
        document: DocumentIndex,
        call: u32,
        /// Whether the value is a method that a call of an object runs. Objects of several classes may share it.
        is_method: bool,
    },
    /// Python or a library calls the value. No arguments flow to its parameters.
    Invoke {
        to: Cell,
        site: (DocumentIndex, SiteIndex),
    },
    /// `functional_call(module, …)` calls the value, a module or function. No arguments flow to its parameters.
    CallObject {
        to: Cell,
        site: (DocumentIndex, SiteIndex),
    },
    /// The class of `receiver` binds an attribute to the value, and `to` is the cell of `receiver.attribute`.
    Bind {
        receiver: Value,
        to: Cell,
    },
    /// The class of `receiver` binds an attribute to the value, and the expression at `site` reads it.
    Read {
        receiver: Value,
        to: Cell,
        site: Option<(DocumentIndex, SiteIndex)>,
    },
    /// The value is the metaclass of `class`. The class is called (`None`), or Python applies an operation to it.
    Meta {
        class: ClassId,
        operation: Option<Operation>,
        site: (DocumentIndex, SiteIndex),
    },
    /// The value is the class in `register_pytree_node(Class, flatten, unflatten)`, the call with this index.
    Registered {
        document: DocumentIndex,
        call: u32,
    },
    /// The value is the function of a property that is read from `receiver`.
    Get {
        receiver: Value,
        to: Cell,
        site: (DocumentIndex, SiteIndex),
    },
    /// The value is the function in `partial(f, …)`, the call with this index.
    Partial {
        document: DocumentIndex,
        call: u32,
    },
    /// The value is an argument of a library function, which may call it. `holds` determines which arguments the result
    /// holds.
    Passed {
        document: DocumentIndex,
        call: u32,
        holds: HeldArguments,
        within: bool,
    },
    /// A library function calls the value, and passes the values of `from` as the argument at this position.
    Applied {
        position: u8,
        from: Cell,
    },
    /// The value is passed to a call that stages it, such as `jax.jit(f)`.
    Root {
        document: DocumentIndex,
        site: SiteIndex,
        staged_by: super::StagingFunction,
        is_first: bool,
    },
    /// A test runner passes the value to the function.
    TestArgument {
        document: DocumentIndex,
        function: FunctionIndex,
        depth: u8,
    },
    /// A test runner passes the value to the function. The value is in a container in a container.
    NestedTestArgument {
        document: DocumentIndex,
        function: FunctionIndex,
        depth: u8,
    },
    /// An object of a library holds the value: `Conv2D(8, kernel_initializer=f)`. A call of this object may use the
    /// value without calling it.
    Held,
    /// The value flows to the cell, unless it is a container.
    Plain {
        to: Cell,
    },
}

impl Use {
    /// Returns whether several cells may have the same use: all containers that are passed to one call share the use of
    /// their elements, and the objects that are called at one place share the call of their methods.
    pub(super) fn is_of_many_cells(self) -> bool {
        matches!(
            self,
            Self::Passed { within: true, .. }
                | Self::Root { is_first: false, .. }
                | Self::Call { is_method: true, .. }
                | Self::Invoke { .. }
        )
    }

    /// Returns whether the use has an effect on this value. Most values that are passed to libraries have none.
    pub(super) fn has_effect_on(self, value: Value) -> bool {
        if matches!(value, Value::Group(_)) {
            return true;
        }
        let is_function = matches!(value, Value::Function { .. } | Value::Lambda { .. });
        match self {
            Self::Passed { holds, within: false, .. } if holds.are_all() => true,
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
            Self::Root { .. } if value == Value::Unknown => true,
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
    /// The same items as `list`, for fast lookup; `None` while there are few.
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
    /// The number of values that have been propagated. They are the first values of `list`.
    pub(super) done: usize,
    /// If the type of the variable is declared: the classes to which its objects must belong.
    pub(super) declared: Option<Box<[ClassId]>>,
    /// Whether a single value represents the cell, so that it may hold any number of values.
    pub(super) is_group: bool,
}

impl Values {
    /// Adds these classes to the declared classes of the cell, which then holds only objects of declared classes.
    pub(super) fn restrict(&mut self, classes: &[ClassId]) {
        let known = self.declared.iter().flatten();
        self.declared = Some(known.chain(classes).copied().collect());
    }

    pub(super) fn is_full(&self) -> bool {
        self.list.len() >= MAX_VALUES && !self.is_group
    }

    /// Adds a value, unless the cell is full. Returns whether the value was added.
    pub(super) fn insert(&mut self, value: Value) -> bool {
        !self.is_full() && self.list.insert(value)
    }
}

/// The code that creates an object. There is one object for each origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    Class(ClassId),
    /// A function, whose attributes the object holds.
    Function(DocumentIndex, FunctionIndex),
    /// A call that creates a record or container: the document, the index of the call, and the class that is called.
    Call(DocumentIndex, u32, Option<ClassId>),
    /// A list, dictionary or set display; the cell is that of the expression.
    Display(Cell),
}

pub(super) fn class_id(document: DocumentIndex, class: ClassIndex) -> ClassId {
    ClassId { document, class }
}
