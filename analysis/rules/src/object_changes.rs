//! The operations of a file's eager and traced code on objects: the attributes that functions and loops assign, and the
//! functions that they call. The result contains no positions in the file, so edits elsewhere in the file do not change
//! it.

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

use super::dataclasses::ClassKind;
use super::names::bound_names;
use ag_db::{Db, Document};
use ag_index::index::{FileIndex, file_index, last_name, tree};
use ag_index::roots;
use ag_syntax::expressions;
use ag_syntax::functions::FunctionPath;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ObjectChanges {
    pub functions: FxHashMap<FunctionPath, Code>,
    pub loops: Vec<Loop>,
    pub classes: FxHashMap<Name, Class>,
    /// The names and attributes to which a transformed function is assigned: `sweep` and `_sweep` for
    /// `self.sweep = jax.jit(self._sweep)`.
    pub aliases: Vec<(Name, Name)>,
    /// Whether the file registers classes as pytrees.
    pub registers_pytrees: bool,
}

/// A loop of a function or of the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Loop {
    pub function: Option<FunctionPath>,
    pub body: Code,
}

/// The body of a function or of a loop, without nested functions and classes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Code {
    pub stores: Vec<Store>,
    pub calls: Vec<Called>,
    /// The names that it binds.
    pub bound: FxHashSet<Name>,
}

/// `object.attribute = value`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Store {
    /// The name with which the object starts: `settings` for `settings.weights.penalty`.
    pub object: Name,
    /// Whether the object is this name, and not an attribute of it.
    pub is_direct: bool,
    /// The last attribute on the way to the object: `model` for `self.model.rate = 0.1`.
    pub through: Option<Name>,
    pub attribute: Name,
    /// Whether the value is a constant: `True`, `"train"`, `0.5`.
    pub is_constant: bool,
    pub is_update: bool,
    /// The function that contains the assignment, and the range relative to its `def`; `None` in the module's own code.
    pub place: Option<(FunctionPath, TextRange)>,
}

/// `f(…)`, `object.f(…)`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Called {
    /// The name with which the receiver starts.
    pub object: Option<Name>,
    pub name: Name,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Class {
    /// The last parts of the names of its bases.
    pub bases: Vec<Name>,
    /// Whether it has no decorator except for `@dataclass`.
    pub is_undecorated: bool,
    /// Whether its objects certainly have no hash.
    pub is_unhashable: bool,
    /// The methods, and the names that the body assigns or annotates.
    pub members: FxHashSet<Name>,
    /// The attributes that its methods assign on their receiver.
    pub assigned: FxHashSet<Name>,
}

impl Class {
    pub(super) fn declares(&self, attribute: &Name) -> bool {
        self.members.contains(attribute) || self.assigned.contains(attribute)
    }
}

#[salsa::tracked(returns(ref))]
pub(super) fn object_changes(db: &dyn Db, document: Document) -> ObjectChanges {
    let mut changes = ObjectChanges::default();
    let Some(parsed) = tree(db, document) else { return changes };
    let mut collector = Collector { index: file_index(db, document), changes: &mut changes, function: None };
    collector.body(parsed.suite());
    collector.visit_body(parsed.suite());
    changes
}

struct Collector<'c> {
    index: &'c FileIndex,
    changes: &'c mut ObjectChanges,
    /// The enclosing function, with the range of its `def`.
    function: Option<(FunctionPath, TextRange)>,
}

impl<'a> SourceOrderVisitor<'a> for Collector<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(def) => {
                let mut entries = self.index.definitions.functions.iter();
                let entry = entries.find(|entry| entry.name_range == def.name.range());
                let Some(entry) = entry else { return };
                let outer = self.function.replace((entry.path.clone(), entry.range));
                let code = self.body(&def.body);
                if let Some(class) = entry.class.and_then(|class| self.index.definitions.classes.get(class))
                    && let Some(receiver) = def.parameters.iter_non_variadic_params().next()
                {
                    let own = code
                        .stores
                        .iter()
                        .filter(|store| store.is_direct && store.object == receiver.parameter.name.id);
                    let own: Vec<Name> = own.map(|store| store.attribute.clone()).collect();
                    self.changes.classes.entry(class.qualname.clone()).or_default().assigned.extend(own);
                }
                self.changes.functions.insert(entry.path.clone(), code);
                source_order::walk_stmt(self, statement);
                self.function = outer;
                return;
            }
            Stmt::ClassDef(class) => self.class(class),
            Stmt::Assign(assign) => self.alias(assign),
            _ => {}
        }
        source_order::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Some(name) = last_name(expression) {
            self.changes.registers_pytrees |= name.starts_with("register_");
        }
        source_order::walk_expr(self, expression);
    }
}

impl Collector<'_> {
    /// Adds the loops of a body, and returns the changes and calls of the body.
    fn body(&mut self, body: &[Stmt]) -> Code {
        let mut visitor =
            CodeVisitor { function: self.function.as_ref(), code: Code::default(), loops: Vec::new() };
        visitor.visit_body(body);
        let code = visitor.code;
        for node in visitor.loops {
            let mut inner =
                CodeVisitor { function: self.function.as_ref(), code: Code::default(), loops: Vec::new() };
            inner.visit_stmt(node);
            let function = self.function.as_ref().map(|(path, _)| path.clone());
            self.changes.loops.push(Loop { function, body: inner.code });
        }
        code
    }

    fn class(&mut self, class: &ast::StmtClassDef) {
        let imports = &self.index.imports;
        let mut entries = self.index.definitions.classes.iter();
        let Some(entry) = entries.find(|entry| entry.name_range == class.name.range()) else { return };
        let kind = ClassKind::of(class, |decorator| imports.resolve(decorator));
        let found = self.changes.classes.entry(entry.qualname.clone()).or_default();
        found.bases = class.bases().iter().map(|base| base_name(base).unwrap_or_default()).collect();
        for statement in &class.body {
            match statement {
                Stmt::FunctionDef(def) => {
                    found.members.insert(def.name.id.clone());
                }
                Stmt::AnnAssign(assign) => {
                    found.members.extend(bound_names(&assign.target).into_iter().map(Name::new));
                }
                Stmt::Assign(assign) => {
                    let names = assign.targets.iter().flat_map(bound_names);
                    found.members.extend(names.map(Name::new));
                }
                _ => {}
            }
        }
        found.is_undecorated = kind.is_some();
        found.is_unhashable = kind.is_some_and(|kind| !kind.is_hashable(|name| found.members.contains(name)));
    }

    fn alias(&mut self, assign: &ast::StmtAssign) {
        let [target] = assign.targets.as_slice() else { return };
        let function = roots::innermost(&self.index.imports, &assign.value);
        if !std::ptr::eq(function, &*assign.value)
            && let (Some(alias), Some(function)) = (last_name(target), last_name(function))
        {
            self.changes.aliases.push((alias.clone(), function.clone()));
        }
    }
}

/// Returns `Base` for `module.Base` and `Base[int]`.
fn base_name(base: &Expr) -> Option<Name> {
    match base {
        Expr::Subscript(subscript) => base_name(&subscript.value),
        _ => last_name(base).cloned(),
    }
}

struct CodeVisitor<'c, 'a> {
    function: Option<&'c (FunctionPath, TextRange)>,
    code: Code,
    loops: Vec<&'a Stmt>,
}

impl<'a> SourceOrderVisitor<'a> for CodeVisitor<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(def) => {
                self.code.bound.insert(def.name.id.clone());
                return;
            }
            Stmt::ClassDef(class) => {
                self.code.bound.insert(class.name.id.clone());
                return;
            }
            Stmt::For(_) | Stmt::While(_) => self.loops.push(statement),
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    self.store(target, Some(&assign.value), false);
                }
            }
            Stmt::AnnAssign(assign) if assign.value.is_some() => {
                self.store(&assign.target, assign.value.as_deref(), false);
            }
            Stmt::AugAssign(assign) => self.store(&assign.target, None, true),
            _ => {}
        }
        source_order::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) if !name.ctx.is_load() => {
                self.code.bound.insert(name.id.clone());
            }
            Expr::Call(call) => {
                if let Some(name) = last_name(&call.func) {
                    let object = match &*call.func {
                        Expr::Attribute(method) => Some(start(&method.value).cloned().unwrap_or_default()),
                        _ => None,
                    };
                    self.code.calls.push(Called { object, name: name.clone() });
                }
            }
            _ => {}
        }
        source_order::walk_expr(self, expression);
    }
}

impl CodeVisitor<'_, '_> {
    fn store(&mut self, target: &Expr, value: Option<&Expr>, is_update: bool) {
        let Expr::Attribute(attribute) = target else { return };
        let Some(object) = start(&attribute.value) else { return };
        let is_constant = value.is_some_and(|value| {
            let value = value.as_unary_op_expr().map_or(value, |operation| &operation.operand);
            expressions::is_scalar_literal(value) || value.is_none_literal_expr()
        });
        let place = self.function.map(|(path, def)| (path.clone(), target.range() - def.start()));
        self.code.stores.push(Store {
            object: object.clone(),
            is_direct: attribute.value.is_name_expr(),
            through: attribute.value.as_attribute_expr().map(|object| object.attr.id.clone()),
            attribute: attribute.attr.id.clone(),
            is_constant,
            is_update,
            place,
        });
    }
}

/// Returns the name with which a chain of attributes starts.
fn start(expression: &Expr) -> Option<&Name> {
    match expression {
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(attribute) => start(&attribute.value),
        _ => None,
    }
}
