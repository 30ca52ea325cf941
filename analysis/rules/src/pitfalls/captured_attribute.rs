//! An attribute that a compiled function reads is changed in a loop that also calls the function.

use ruff_python_ast::Expr;
use ruff_python_ast::name::Name;
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashSet;

use crate::FunctionContext;
use crate::callers;
use crate::declare::declare_rule;
use crate::object_changes::{Called, Class, Code, ObjectChanges, Store, object_changes};
use crate::pitfalls::callback_changes;
use ag_db::diagnostic::{Anchor, Span};
use ag_db::{Db, Document};
use ag_index::assumptions::Source;
use ag_index::dialect::{Dialect, RootKind};
use ag_index::facts::Alternative;
use ag_index::index::{FunctionId, file_index};
use ag_index::modules::document_of;
use ag_staging::queries;
use ag_syntax::functions::FunctionPath;

declare_rule! {
    /// ## What it does
    /// Finds an attribute of a Python object that a `tf.function` or a function under `jax.jit` reads, directly or in
    /// the functions that it calls, if a loop in eager code both assigns the attribute and calls the compiled function.
    /// The assignment may be in a function that the loop calls. An attribute that code changes through another object, as
    /// in `schedule.layer.rate = 0.1`, is found by evaluating the program, and for `jax.jit` any attribute, and any item
    /// of a dictionary, that changes between two calls. Also finds an attribute that the training step
    /// of a Keras model reads, and that a callback of the file assigns: `self.model.rate = 0.1`.
    ///
    /// ## Why is this bad?
    /// The first call traces the function, with the value of the attribute as a constant. The other calls reuse the
    /// compiled function and ignore the new value.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// class Schedule:
    ///     def __init__(self):
    ///         self.rate = 0.1
    ///
    ///     def advance(self):
    ///         self.rate *= 0.9
    ///
    ///
    /// class Trainer:
    ///     def __init__(self, schedule: Schedule):
    ///         self.schedule = schedule
    ///
    ///     @tf.function
    ///     def step(self, x):
    ///         return x - self.schedule.rate * x
    ///
    ///     def fit(self, x):
    ///         for _ in range(10):
    ///             x = self.step(x)
    ///             self.schedule.advance()
    ///         return x
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// class Schedule:
    ///     def __init__(self):
    ///         self.rate = tf.Variable(0.1)
    ///
    ///     def advance(self):
    ///         self.rate.assign(0.9 * self.rate)
    ///
    ///
    /// class Trainer:
    ///     def __init__(self, schedule: Schedule):
    ///         self.schedule = schedule
    ///
    ///     @tf.function
    ///     def step(self, x):
    ///         return x - self.schedule.rate * x
    ///
    ///     def fit(self, x):
    ///         for _ in range(10):
    ///             x = self.step(x)
    ///             self.schedule.advance()
    ///         return x
    /// ```
    /// In JAX, pass the value as an argument.
    pub(crate) static CAPTURED_ATTRIBUTE = {
        code: "AG421", name: "captured-attribute",
        summary: "an attribute changes that a compiled function has captured",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Tensorflow, Jax, Keras], fix: None,
        check: Function(check),
    }
}

/// The maximum number of calls between a loop and an assignment, or between a loop and a call of the root.
const MAX_CALLS: usize = 3;

/// Base classes from outside the project whose objects JAX does not flatten.
const PLAIN_BASES: [&str; 4] = ["object", "ABC", "Generic", "Protocol"];

fn check(ctx: &FunctionContext) {
    if ctx.dialect() == Dialect::Keras {
        check_callbacks(ctx);
        return;
    }
    check_loops(ctx);
    for read in ctx.unreported(&ctx.faults().captures) {
        let message = format!(
            "`{}` is a constant of the compiled function: later assignments do not change it",
            ctx.text(read)
        );
        ctx.report(&CAPTURED_ATTRIBUTE, read, message).help(help(ctx.dialect())).emit();
    }
}

fn help(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Jax => "pass the value as an argument",
        _ => "make it a `tf.Variable`, or pass the value as an argument",
    }
}

/// Finds attributes of a Keras model that callbacks change.
fn check_callbacks(ctx: &FunctionContext) {
    for (read, store) in callback_changes::reads(ctx) {
        let message = format!(
            "`{}` is a constant of the traced step: the callback that assigns it does not change the step",
            ctx.text(read)
        );
        let mut report = ctx.report(&CAPTURED_ATTRIBUTE, read, message).help(help(ctx.dialect()));
        if let Some((path, range)) = &store.place {
            let anchor = Anchor::Function(path.clone());
            report = report.label(
                Span { document: ctx.document, anchor, range: *range },
                "assigned here while training",
            );
        }
        report.emit();
    }
}

/// Finds attributes that loops change.
fn check_loops(ctx: &FunctionContext) {
    let Some(root) = root_of(ctx) else { return };
    let mut documents = vec![ctx.document];
    add(&mut documents, root.document);
    let eager = |document: &Document| !object_changes(ctx.db, *document).loops.is_empty();
    if !documents.iter().any(eager) {
        return;
    }
    let expressions = ctx.expressions();
    let called: FxHashSet<TextRange> =
        expressions.iter().filter_map(|it| Some(it.as_call_expr()?.func.range())).collect();
    let mut seen: FxHashSet<&str> = FxHashSet::default();
    for expression in expressions {
        let Expr::Attribute(read) = expression else { continue };
        if !read.ctx.is_load() || called.contains(&read.range()) || !seen.insert(ctx.text(read)) {
            continue;
        }
        let mut documents = documents.clone();
        let class = class_of(ctx, &read.value);
        if let Some((document, _)) = &class {
            add(&mut documents, *document);
        }
        let search = Search::of(ctx.db, &documents, &root, &read.attr.id);
        let Some(search) = search.for_class(class.map(|(_, class)| class), ctx.dialect()) else { continue };
        if let Some(store) = search.changed_in_loop(ctx.dialect(), ctx.path == root.path) {
            report(ctx, expression, &search, &root, store);
        }
    }
}

fn add(documents: &mut Vec<Document>, document: Document) {
    if !documents.contains(&document) {
        documents.push(document);
    }
}

fn report(
    ctx: &FunctionContext,
    read: &Expr,
    search: &Search,
    root: &Root,
    (document, store): (Document, &Store),
) {
    let message = format!(
        "`{}` is a constant of the compiled `{}`: later assignments do not change it",
        ctx.text(read),
        root.path.name()
    );
    let mut report = ctx.report(&CAPTURED_ATTRIBUTE, read, message).help(help(search.dialect));
    if let Some((path, range)) = &store.place {
        let span = Span { document, anchor: Anchor::Function(path.clone()), range: *range };
        report = report.label(span, "assigned here between two calls");
    }
    report.emit();
}

/// The function that is compiled once, and whose compiled form later calls reuse.
struct Root {
    document: Document,
    path: FunctionPath,
}

/// Returns the root from which a function is reached. The bodies of `lax.scan` and `jax.vmap` belong to the function
/// around them.
fn root_of(ctx: &FunctionContext) -> Option<Root> {
    let (mut document, mut path, mut stage) = (ctx.document, ctx.path.clone(), ctx.stage);
    for _ in 0..16 {
        match stage.root {
            Some(RootKind::Function | RootKind::JaxJit) => return Some(Root { document, path }),
            None | Some(RootKind::ControlFlowBody | RootKind::JaxVmap) => {}
            Some(_) => return None,
        }
        let call = callers::of_stage(ctx.db, stage)?;
        document = call.function.document(ctx.db);
        path = call.function.path(ctx.db).clone();
        stage = call.stage?;
    }
    None
}

/// Returns the class of an object, with the file that defines it.
fn class_of(ctx: &FunctionContext, object: &Expr) -> Option<(Document, Name)> {
    let receiver = ctx.stage.parameters.first().filter(|first| first.source == Source::Receiver);
    if object.as_name_expr().zip(receiver).is_some_and(|(name, own)| name.id == own.name) {
        return Some((ctx.document, class_around(ctx.db, ctx.document, &ctx.path)?));
    }
    let [Alternative::Instance { module, class }] = ctx.fact(object).alternatives.as_slice() else {
        return None;
    };
    let document = document_of(ctx.db, ctx.document, module.as_deref())?;
    object_changes(ctx.db, document).classes.get(class)?;
    Some((document, class.clone()))
}

fn class_around(db: &dyn Db, document: Document, path: &FunctionPath) -> Option<Name> {
    class_of_method(db, FunctionId::new(db, document, path.clone())).clone()
}

/// Returns the class that directly encloses a function.
#[salsa::tracked(returns(ref))]
fn class_of_method<'db>(db: &'db dyn Db, function: FunctionId<'db>) -> Option<Name> {
    let definitions = &file_index(db, function.document(db)).definitions;
    let (_, entry) = definitions.find(function.path(db))?;
    Some(definitions.classes.get(entry.class?)?.qualname.clone())
}

/// Returns the name of the innermost function around a function.
#[salsa::tracked(returns(ref))]
fn function_around<'db>(db: &'db dyn Db, function: FunctionId<'db>) -> Option<Name> {
    let definitions = &file_index(db, function.document(db)).definitions;
    let (_, entry) = definitions.find(function.path(db))?;
    Some(Name::new(definitions.functions.get(entry.parent?)?.path.name()))
}

/// The search for a loop that changes an attribute and calls the root.
struct Search<'a> {
    db: &'a dyn Db,
    files: Vec<(Document, &'a ObjectChanges)>,
    /// The names under which the root is called.
    root: Vec<Name>,
    root_class: Option<Name>,
    attribute: &'a Name,
    /// The classes of the object: the class itself, its bases and its subclasses.
    family: FxHashSet<Name>,
    /// Names of functions and classes that create the root or the object. In a loop that calls one of them, each
    /// iteration compiles the root again.
    creating: FxHashSet<Name>,
    dialect: Dialect,
}

impl<'a> Search<'a> {
    fn of(db: &'a dyn Db, documents: &[Document], root: &Root, attribute: &'a Name) -> Self {
        let files: Vec<_> =
            documents.iter().map(|document| (*document, object_changes(db, *document))).collect();
        let own = Name::new(root.path.name());
        let aliases = files.iter().flat_map(|(_, changes)| &changes.aliases);
        let aliases = aliases.filter(|(_, function)| *function == own).map(|(alias, _)| alias.clone());
        let mut creating = FxHashSet::from_iter([Name::new_static("clear_caches")]);
        creating.extend(function_around(db, FunctionId::new(db, root.document, root.path.clone())).clone());
        let root_class = class_around(db, root.document, &root.path);
        let root = aliases.chain([own.clone()]).collect();
        let (family, dialect) = (FxHashSet::default(), Dialect::Jax);
        Self { db, files, root, root_class, attribute, family, creating, dialect }
    }

    /// Restricts the search to the objects of a class. If `class` is `None`, this is the only class that declares the
    /// attribute. Returns `None` if an attribute of these objects may not become a constant of the compiled function.
    fn for_class(mut self, class: Option<Name>, dialect: Dialect) -> Option<Self> {
        self.dialect = dialect;
        let class = class.or_else(|| self.declaring().next().map(|(name, _)| name.clone()))?;
        self.family = self.related(&class);
        let is_only = self.declaring().all(|(name, _)| self.family.contains(name));
        let all: Vec<&Class> = self
            .family
            .iter()
            .flat_map(|name| self.classes().filter(move |(own, _)| *own == name))
            .map(|it| it.1)
            .collect();
        let computes = |name: &Name| {
            let qualname = format!("{name}.{}", self.attribute);
            self.files
                .iter()
                .any(|(_, changes)| changes.functions.keys().any(|path| *path.qualname == *qualname))
        };
        if !is_only || self.family.iter().any(computes) || !all.iter().all(|class| class.is_undecorated) {
            return None;
        }
        if dialect == Dialect::Jax {
            let known: FxHashSet<&str> = self.classes().map(|(name, _)| last_part(name)).collect();
            let is_plain =
                |base: &Name| PLAIN_BASES.contains(&base.as_str()) || known.contains(base.as_str());
            let compares =
                |class: &&Class| ["__hash__", "__eq__"].iter().any(|name| class.members.contains(*name));
            if !all.iter().all(|class| class.bases.iter().all(is_plain))
                || all.iter().any(compares)
                || self.files.iter().any(|(_, changes)| changes.registers_pytrees)
            {
                return None;
            }
        }
        let created =
            self.family.iter().cloned().chain(self.root_class.iter().flat_map(|it| self.related(it)));
        let created: Vec<Name> = created.map(|name| Name::new(last_part(&name))).collect();
        self.creating.extend(created);
        Some(self)
    }

    fn classes(&self) -> impl Iterator<Item = (&'a Name, &'a Class)> + '_ {
        self.files.iter().flat_map(|(_, changes)| &changes.classes)
    }

    fn declaring(&self) -> impl Iterator<Item = (&'a Name, &'a Class)> + '_ {
        self.classes().filter(|(_, class)| class.declares(self.attribute))
    }

    /// Returns a class, its bases and its subclasses.
    fn related(&self, class: &Name) -> FxHashSet<Name> {
        let bases = |name: &Name| {
            let bases = self.classes().filter(|(own, _)| *own == name).flat_map(|(_, class)| &class.bases);
            let bases: Vec<&Name> = bases.collect();
            let known = self.classes().map(|(own, _)| own);
            known
                .filter(|own| bases.iter().any(|base| base.as_str() == last_part(own)))
                .cloned()
                .collect::<Vec<_>>()
        };
        let ancestors = |name: &Name| {
            let mut found = vec![name.clone()];
            let mut at = 0;
            while let Some(next) = found.get(at) {
                let more: Vec<Name> = bases(next).into_iter().filter(|it| !found.contains(it)).collect();
                found.extend(more);
                at += 1;
            }
            found
        };
        let derived =
            self.classes().filter(|(own, _)| ancestors(own).contains(class)).map(|(own, _)| own.clone());
        derived.chain(ancestors(class)).collect()
    }

    /// Returns an assignment to the attribute in a loop that also calls the root.
    fn changed_in_loop(&self, dialect: Dialect, is_read_by_root: bool) -> Option<(Document, &'a Store)> {
        if self.files.iter().any(|(document, changes)| {
            let sets = |code: &Code| code.stores.iter().any(|store| store.attribute == *self.attribute);
            changes.functions.iter().any(|(path, code)| self.is_staged(*document, path) && sets(code))
        }) {
            return None;
        }
        self.files.iter().find_map(|(document, changes)| {
            changes.loops.iter().find_map(|node| {
                let function = node.function.as_ref();
                if function.is_some_and(|path| self.is_staged(*document, path)) || self.creates(&node.body) {
                    return None;
                }
                let place = (*document, function);
                let store = self.store_in(place, &node.body, MAX_CALLS)?;
                let calls = self.calls_root(place, &node.body, MAX_CALLS);
                // `changed-attribute` and `jax-stale-value` report such loops.
                let is_direct = node.body.stores.contains(store.1);
                let is_known = is_read_by_root
                    && match dialect {
                        Dialect::Jax => is_direct && self.calls_by_name(&node.body),
                        _ => {
                            let of_root = self.root_class.as_ref().is_some_and(|it| self.family.contains(it));
                            is_direct || of_root && store.1.is_update
                        }
                    };
                (calls && !is_known).then_some(store)
            })
        })
    }

    fn is_staged(&self, document: Document, path: &FunctionPath) -> bool {
        queries::stage(self.db, FunctionId::new(self.db, document, path.clone())).is_some()
    }

    fn creates(&self, code: &Code) -> bool {
        code.calls.iter().any(|call| self.creating.contains(&call.name))
    }

    /// Returns an assignment to the attribute in this code, or in eager functions that it calls.
    fn store_in(
        &self,
        place: (Document, Option<&FunctionPath>),
        code: &'a Code,
        calls: usize,
    ) -> Option<(Document, &'a Store)> {
        let is_own = |store: &&Store| {
            let of_object = match store.is_direct && store.object == "self" {
                true => place
                    .1
                    .and_then(|path| class_around(self.db, place.0, path))
                    .is_some_and(|class| self.family.contains(&class)),
                false => true,
            };
            store.attribute == *self.attribute
                && !store.is_constant
                && !code.bound.contains(&store.object)
                && of_object
        };
        let own = code.stores.iter().find(is_own).map(|store| (place.0, store));
        own.or_else(|| {
            let calls = calls.checked_sub(1)?;
            self.callees(place, code)
                .find_map(|(document, path, code)| self.store_in((document, Some(path)), code, calls))
        })
    }

    /// Returns whether this code calls the root, directly or through eager functions.
    fn calls_root(&self, place: (Document, Option<&FunctionPath>), code: &'a Code, calls: usize) -> bool {
        let is_root = |call: &Called| {
            let bound = call.object.as_ref().unwrap_or(&call.name);
            self.root.contains(&call.name) && !code.bound.contains(bound)
        };
        code.calls.iter().any(is_root)
            || calls.checked_sub(1).is_some_and(|calls| {
                self.callees(place, code)
                    .any(|(document, path, code)| self.calls_root((document, Some(path)), code, calls))
            })
    }

    /// Returns whether this code calls the root by its own name, so that the root is decorated.
    fn calls_by_name(&self, code: &Code) -> bool {
        self.root.last().is_some_and(|own| code.calls.iter().any(|call| call.name == *own))
    }

    /// Returns the eager functions of the files that this code certainly calls: functions of the module by name,
    /// methods of `self`, and methods whose name no other function has.
    fn callees(
        &self,
        (_, caller): (Document, Option<&FunctionPath>),
        code: &'a Code,
    ) -> impl Iterator<Item = (Document, &'a FunctionPath, &'a Code)> {
        let of_call = move |call: &'a Called| {
            let bound = call.object.as_ref().unwrap_or(&call.name);
            let all = self.files.iter().flat_map(|(document, changes)| {
                changes.functions.iter().map(move |(path, code)| (*document, path, code))
            });
            let mut named: Vec<_> = all.filter(|(_, path, _)| path.name() == call.name.as_str()).collect();
            let class =
                |path: &FunctionPath| path.qualname.rsplit_once('.').map(|(class, _)| class.to_owned());
            match call.object.as_deref() {
                None => named.retain(|(_, path, _)| class(path).is_none()),
                Some("self") if named.len() > 1 => {
                    let own = caller.and_then(class);
                    named.retain(|(_, path, _)| class(path) == own);
                }
                Some(_) => named.retain(|(_, path, _)| class(path).is_some()),
            }
            if named.len() != 1 || code.bound.contains(bound) {
                named.clear();
            }
            named.retain(|(document, path, code)| !self.is_staged(*document, path) && !self.creates(code));
            named
        };
        code.calls.iter().flat_map(of_call)
    }
}

/// Returns `Inner` for `Outer.Inner`.
fn last_part(qualname: &str) -> &str {
    qualname.rsplit('.').next().unwrap_or(qualname)
}
