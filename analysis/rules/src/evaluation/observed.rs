//! The expressions whose values are traced arrays while JAX or TensorFlow traces a function. The rules take them for
//! arrays, also where the type engine does not infer it:
//!
//! ```python
//! queue = collections.deque(maxlen=3)
//! queue.append(jnp.sum(x))
//! float(queue[0])                     # `queue[0]` has the type `Unknown`, and is a tracer
//! ```

use std::collections::VecDeque;
use std::rc::Rc;

use ag_db::{Db, Document, Project, with_text};
use ag_index::assumptions::{Source, Stage};
use ag_index::definitions::FunctionEntry;
use ag_index::dialect::{Dialect, RootKind};
use ag_index::facts::{Binding, Fact};
use ag_index::index::{FunctionId, file_index, function_ast, tree_of};
use ag_staging::queries;
use ag_syntax::expressions;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

use super::calls::Arguments;
use super::classes::method;
use super::faults::{Changing, Fault, Faults, Leaf, Reach, Traced};
use super::modules::{MOST_FILES, imported};
use super::traced::Mode;
use super::values::{Flow, Function, Value};
use super::{Evaluated, Evaluation, Frame, Framework, explored};
use crate::FileContext;
use crate::sources::{Contexts, Sources};

/// Returns the expressions of a function that are traced arrays.
#[salsa::tracked(returns(ref))]
pub(crate) fn traced_in<'db>(db: &'db dyn Db, function: FunctionId<'db>) -> Traced {
    let document = function.document(db);
    let index = file_index(db, document);
    let Some((_, entry)) = index.definitions.find(function.path(db)) else { return Traced::default() };
    let mut found = Traced::default();
    for program in programs(db, document) {
        let Some(all) = observed(db, program).traced.get(&document) else { continue };
        // They are sorted.
        let start = all.partition_point(|(range, _)| range.start() < entry.range.start());
        for (range, reach) in all[start..].iter().take_while(|(range, _)| range.end() <= entry.range.end()) {
            let known = found.entry(*range - entry.range.start()).or_default();
            *known = (*known).max(*reach);
        }
    }
    found
}

/// Returns the faults in a function, with ranges relative to the function.
#[salsa::tracked(returns(ref))]
pub(crate) fn faults_in<'db>(db: &'db dyn Db, function: FunctionId<'db>) -> Faults {
    let document = function.document(db);
    let index = file_index(db, document);
    let Some((_, entry)) = index.definitions.find(function.path(db)) else { return Faults::default() };
    let relative = |range: TextRange| {
        range.checked_sub(entry.range.start()).filter(|_| entry.range.contains_range(range))
    };
    let mut found = Faults::default();
    for faults in programs(db, document).filter_map(|program| observed(db, program).faults.get(&document)) {
        for (range, reach, user) in &faults.leaks {
            if let Some(range) = relative(*range)
                && found.leak(range).is_none()
            {
                found.leaks.push((range, *reach, user.clone()));
            }
        }
        for (all, of_program) in [
            (&mut found.variables, &faults.variables),
            (&mut found.formats, &faults.formats),
            (&mut found.captures, &faults.captures),
            (&mut found.iterators, &faults.iterators),
        ] {
            for (range, reach) in of_program {
                if let Some(range) = relative(*range)
                    && !all.iter().any(|(known, _)| *known == range)
                {
                    all.push((range, *reach));
                }
            }
        }
        for (range, reach, fault) in &faults.places {
            if let Some(range) = relative(*range)
                && !found.places.iter().any(|(known, ..)| *known == range)
            {
                found.places.push((range, *reach, *fault));
            }
        }
    }
    found
}

/// Returns the programs of which a file is a part, if they use JAX or TensorFlow: the file itself, and the files that
/// import it.
fn programs(db: &dyn Db, document: Document) -> impl Iterator<Item = Document> {
    let documents = Project::try_get(db).map(|project| project.documents(db));
    let others =
        documents.filter(|it| it.len() <= MOST_FILES).into_iter().flat_map(|it| it.values().copied());
    std::iter::once(document)
        .chain(others.filter(move |other| *other != document && imported(db, *other).contains(&document)))
        .filter(move |program| stages_arrays(db, *program))
}

/// Returns whether a file uses JAX or TensorFlow.
fn stages_arrays(db: &dyn Db, document: Document) -> bool {
    let imports = &file_index(db, document).imports;
    ["jax", "tensorflow", "flax", "keras", "optax", "equinox"].iter().any(|package| imports.uses(package))
}

/// What the evaluation of a program finds.
#[derive(Default, PartialEq, Eq)]
struct Observed {
    /// The expressions that are traced arrays, in each file of the program.
    traced: FxHashMap<Document, Vec<(TextRange, Reach)>>,
    /// What the calls of the program pass to a `tf.function` that is traced again for each value: the call, the position
    /// of the argument, and how many different values it has.
    changing: Vec<(TextRange, usize, Changing, usize)>,
    /// The faults in each file of the program.
    faults: FxHashMap<Document, Faults>,
}

/// Returns the positions of the arguments for which a call of a `tf.function` passes at least `count` different Python
/// values.
pub(crate) fn changing_arguments(
    db: &dyn Db,
    document: Document,
    call: TextRange,
    count: usize,
) -> Vec<(usize, Changing)> {
    let changing = observed(db, document).changing.iter();
    let of_call = changing.filter(|(range, _, _, different)| *range == call && *different >= count);
    of_call.map(|(_, position, changing, _)| (*position, *changing)).collect()
}

/// Returns the arguments that JAX cannot trace in the calls of a file, as far as the program of the file makes them.
pub(crate) fn leaves_in(db: &dyn Db, document: Document) -> &[(TextRange, Leaf)] {
    if !stages_arrays(db, document) {
        return &[];
    }
    observed(db, document).faults.get(&document).map_or(&[], |faults| faults.leaves.as_slice())
}

#[salsa::tracked(returns(ref))]
fn observed(db: &dyn Db, document: Document) -> Observed {
    with_text(db, document, |text| {
        let Some(parsed) = tree_of(db, document, text) else { return Observed::default() };
        let (imports, sources) = (queries::imports(db, document), Sources::default());
        let ctx = FileContext::new(db, document, text, &parsed, imports, &sources);
        let contexts = Contexts::of(&ctx);
        let mut evaluation = Evaluation::new(&ctx, &contexts, Framework::Arrays);
        let frame = Frame { scope: evaluation.module.clone(), receiver: None };
        let _: Evaluated<()> = evaluation.load_imports();
        let _: Evaluated<Flow> = evaluation.block(ctx.parsed.suite(), &frame);
        evaluation.entries(&ctx, &frame);
        evaluation.result(document)
    })
}

impl<'c, 'a> Evaluation<'c, 'a> {
    /// Returns what the evaluation of the program of a file has found. Everything is sorted.
    fn result(self, document: Document) -> Observed {
        let mut traced: FxHashMap<Document, Vec<(TextRange, Reach)>> = FxHashMap::default();
        for ((document, range), reach) in self.observed {
            traced.entry(document).or_default().push((range, reach));
        }
        traced.values_mut().for_each(|all| all.sort_by_key(|(range, _)| (range.start(), range.end())));
        let changing = self.changing.into_iter().filter(|((file, ..), _)| *file == document);
        let mut changing: Vec<_> = changing
            .map(|((_, call, position, changing), values)| (call, position, changing, values.len()))
            .collect();
        changing
            .sort_by_key(|(range, position, changing, _)| (range.start(), range.end(), *position, *changing));
        let mut faults: FxHashMap<Document, Faults> = FxHashMap::default();
        for leak in self.leaks {
            if let Some(user) = leak.user {
                faults.entry(leak.document).or_default().leaks.push((leak.range, leak.reach, user));
            }
        }
        for ((document, range), reach) in self.recreated {
            faults.entry(document).or_default().variables.push((range, reach));
        }
        for capture in self.captures.into_iter().filter(|capture| capture.is_stale) {
            let (document, range) = capture.place;
            faults.entry(document).or_default().captures.push((range, capture.reach));
        }
        for ((document, range), reach) in self.formats {
            faults.entry(document).or_default().formats.push((range, reach));
        }
        for ((document, range), reach) in self.iterators {
            faults.entry(document).or_default().iterators.push((range, reach));
        }
        for ((document, range), leaf) in self.leaves {
            faults.entry(document).or_default().leaves.push((range, leaf));
        }
        for ((document, range), (reach, fault)) in self.places {
            faults.entry(document).or_default().places.push((range, reach, fault));
        }
        for faults in faults.values_mut() {
            faults.places.sort_by_key(|(range, ..)| (range.start(), range.end()));
            faults.leaves.sort_by_key(|(range, _)| (range.start(), range.end()));
            faults
                .leaks
                .sort_by_key(|(range, reach, _)| (range.start(), range.end(), std::cmp::Reverse(*reach)));
            faults.leaks.dedup_by_key(|(range, ..)| *range);
            let Faults { variables, formats, captures, iterators, .. } = faults;
            for all in [variables, formats, captures, iterators] {
                all.sort_by_key(|(range, reach)| (range.start(), range.end(), std::cmp::Reverse(*reach)));
                all.dedup_by_key(|(range, _)| *range);
            }
        }
        Observed { traced, changing, faults }
    }

    /// Evaluates the functions and methods of a file that its program does not call: first the roots, and last those that
    /// other staged code calls.
    pub(super) fn entries(&mut self, ctx: &'c FileContext<'a>, frame: &Frame<'a>) {
        (self.ctx, self.module) = (ctx, frame.scope.clone());
        let mut entries: Vec<(Option<&'a ast::StmtClassDef>, &'a ast::StmtFunctionDef)> = Vec::new();
        for statement in ctx.parsed.suite() {
            match statement {
                Stmt::FunctionDef(def) => entries.push((None, def)),
                Stmt::ClassDef(class) => {
                    let methods = class.body.iter().filter_map(Stmt::as_function_def_stmt);
                    entries.extend(methods.map(|def| (Some(class), def)));
                }
                _ => {}
            }
        }
        entries.retain(|(_, def)| !def.is_async && self.is_entry(def));
        entries.sort_by_key(|(_, def)| match self.stage_of(def) {
            Some(stage) if stage.root.is_some() => 0,
            None => 1,
            Some(_) => 2,
        });
        // Each of them runs after the code of the modules.
        let forgotten = self.forgotten.clone();
        for (class, def) in entries {
            if self.called.contains(&(ctx.document, def.range)) {
                continue;
            }
            (self.ctx, self.module) = (ctx, frame.scope.clone());
            self.forgotten.clone_from(&forgotten);
            let receiver = class.and_then(|class| self.representative(class));
            if class.is_some() && receiver.is_none() {
                continue;
            }
            let function = Function { def, scope: frame.scope.clone(), receiver, class: None };
            self.entry(&Rc::new(function));
        }
    }

    /// Evaluates a function with arguments of which only the types are known, and then the functions that it defines and
    /// does not call.
    fn entry(&mut self, function: &Rc<Function<'a>>) {
        let mut queue = VecDeque::from([function.clone()]);
        let (ctx, module) = (self.ctx, self.module.clone());
        while let Some(function) = queue.pop_front() {
            (self.ctx, self.module) = (ctx, module.clone());
            self.depth = 0;
            self.nested = 0;
            self.conditions = 0;
            self.function = None;
            self.traced.clear();
            self.yielded.clear();
            self.returns.clear();
            self.defined.clear();
            self.levels.clear();
            self.callers.clear();
            let stage = self.stage_of(function.def);
            self.is_reached = stage.is_none_or(|stage| stage.root.is_some() && !stage.uncertain);
            let compiled = if stage.is_none() { self.compiled_as(&function) } else { None };
            let parameters = function.def.parameters.iter_non_variadic_params();
            let passed = parameters.skip(usize::from(function.receiver.is_some())).filter(|parameter| {
                !self.is_exploring || stage.is_some() || !explored::has_usual_value(parameter)
            });
            let keywords = passed.map(|parameter| {
                let name = parameter.name().as_str();
                let has_default = parameter.default.is_some();
                let value = match stage {
                    Some(stage) => argument(stage, name, has_default),
                    None if compiled.is_some() && !has_default => Value::Tree,
                    None => Value::Unknown,
                };
                (name, parameter.annotation(), value)
            });
            let keywords: Vec<_> = keywords.collect();
            let keywords = keywords.into_iter().map(|(name, annotation, value)| {
                let value = match (value, annotation) {
                    (Value::Unknown | Value::Tree, Some(annotation)) => {
                        self.declared_state(annotation).unwrap_or_else(|| self.declared_value(annotation))
                    }
                    (value, _) => value,
                };
                (name, value)
            });
            let keywords: Vec<_> = keywords.collect();
            self.traced.extend(stage.and_then(mode_of).or(compiled));
            let receiver = function.receiver.iter().map(|(object, _)| Value::Object(object.clone()));
            let received: Vec<Value> =
                receiver.chain(keywords.iter().map(|(_, value)| value.clone())).collect();
            let passing = self.passing_of(function.def);
            let _: Evaluated<Value> =
                self.at_level(passing, &received, |it| it.run(&function, Vec::new(), keywords));
            self.traced.clear();
            // Keras traces its methods, and control flow its bodies, as parts of another graph.
            match stage.and_then(|stage| stage.root) {
                Some(RootKind::Function | RootKind::JaxJit) => self.end_trace(),
                _ => self.stores.clear(),
            }
            let nested = std::mem::take(&mut self.defined);
            let document = ctx.document;
            queue.extend(nested.into_iter().filter(|it| !self.called.contains(&(document, it.def.range))));
        }
    }

    /// Returns an object of a class, made with unknown arguments.
    pub(super) fn representative(
        &mut self,
        class: &'a ast::StmtClassDef,
    ) -> Option<(Rc<super::values::Object<'a>>, &'a ast::StmtClassDef)> {
        self.depth = 0;
        self.nested = 0;
        self.traced.clear();
        self.yielded.clear();
        let hierarchy = self.hierarchy(class)?;
        let constructor = hierarchy.classes.iter().find_map(|class| method(class, "__init__"));
        let keywords =
            constructor.into_iter().flat_map(|def| def.parameters.iter_non_variadic_params().skip(1));
        let is_exploring = self.is_exploring;
        let keywords = keywords.filter(|parameter| !is_exploring || !explored::has_text(parameter));
        let mut arguments = Arguments {
            keywords: keywords
                .map(|parameter| (parameter.name().as_str(), parameter.annotation()))
                .map(|(name, annotation)| {
                    (name, annotation.map_or(Value::Unknown, |it| self.declared_value(it)))
                })
                .collect(),
            ..Arguments::default()
        };
        if constructor.is_none() {
            let fields = hierarchy.classes.iter().flat_map(|class| &class.body);
            let fields = fields.filter_map(Stmt::as_ann_assign_stmt);
            let named = fields.filter_map(|field| Some((field.target.as_name_expr()?, &*field.annotation)));
            let named = named.map(|(name, annotation)| (name.id.as_str(), self.declared_value(annotation)));
            arguments.keywords = named.collect();
        }
        match self.create(class, arguments) {
            Ok(Value::Object(object)) => Some((object, class)),
            _ => None,
        }
    }

    pub(super) fn stage_of(&self, def: &ast::StmtFunctionDef) -> Option<&'a Stage> {
        let (db, document) = (self.ctx.db, self.ctx.document);
        let functions = &file_index(db, document).definitions.functions;
        let entry = functions.iter().find(|entry| entry.name_range == def.name.range())?;
        queries::stage(db, FunctionId::new(db, document, entry.path.clone())).as_ref()
    }

    /// Records a traced array. The value of an operation that the evaluation does not know comes from its type.
    pub(super) fn observed(&mut self, expression: &'a Expr, value: Value<'a>) -> Value<'a> {
        let value = match value {
            Value::Unknown if self.has_established_type(expression) => {
                if self.is_tensor_by_type(expression.range()) { Value::unshaped() } else { Value::Unknown }
            }
            value => value,
        };
        if matches!(value, Value::Tensor(..)) && self.framework == Framework::Arrays {
            let reach = self.reach();
            let known = self.observed.entry((self.ctx.document, expression.range())).or_default();
            *known = (*known).max(reach);
        }
        value
    }

    /// Returns how staged code reaches what is being evaluated.
    pub(super) fn reach(&self) -> Reach {
        match (self.is_reached, self.conditions) {
            (false, _) => Reach::Possible,
            (true, 0) => Reach::Certain,
            (true, _) => Reach::Conditional,
        }
    }

    /// Records a fault of an expression in a traced function.
    pub(super) fn record_fault(&mut self, place: (Document, TextRange), reach: Reach, fault: Fault) {
        let known = self.places.entry(place).or_insert((reach, fault));
        known.0 = known.0.max(reach);
    }

    /// Returns whether the type of an expression shows that it is traced. The types of parameters may be assumptions or
    /// annotations that arrays with a value satisfy, but a call of a library returns a traced array.
    fn has_established_type(&self, expression: &Expr) -> bool {
        let Expr::Call(call) = expression else { return false };
        let is_traced = matches!(self.traced.last(), Some(mode) if *mode != Mode::Map);
        is_traced
            && match &*call.func {
                Expr::Attribute(method) => {
                    self.ctx.resolve(&call.func).is_some() || !method.value.is_name_expr()
                }
                function => self.ctx.resolve(function).is_some() || function.is_call_expr(),
            }
    }

    /// Returns whether an expression of the current file is a Tensor by its type.
    fn is_tensor_by_type(&mut self, range: TextRange) -> bool {
        let (db, document) = (self.ctx.db, self.ctx.document);
        // Inner functions come after the functions around them.
        let functions = file_index(db, document).definitions.functions.iter();
        let Some(entry) = functions.rev().find(|entry| entry.range.contains_range(range)) else {
            return false;
        };
        let known = self.types.entry((document, entry.range));
        known.or_insert_with(|| typed(db, document, entry)).contains(&range)
    }
}

/// Returns the expressions of a function that are Tensors by their types.
fn typed(db: &dyn Db, document: Document, entry: &FunctionEntry) -> FxHashSet<TextRange> {
    let function = FunctionId::new(db, document, entry.path.clone());
    let Some(tree) = function_ast(db, function) else { return FxHashSet::default() };
    let facts = queries::facts(db, function);
    let is_tensor = |expression: &&Expr| {
        expressions::id(expression).and_then(|id| facts.get(id)).is_some_and(Fact::is_tensor)
    };
    let tensors = expressions::of_function(tree.def()).into_iter().filter(is_tensor);
    tensors.map(|expression| expression.range() + entry.range.start()).collect()
}

/// Returns the argument with which a staged function is evaluated on its own.
fn argument<'a>(stage: &Stage, name: &str, has_default: bool) -> Value<'a> {
    let position = stage.parameters.iter().position(|parameter| parameter.name == name);
    let Some(parameter) = position.and_then(|position| stage.parameters.get(position.into())) else {
        return Value::Unknown;
    };
    let is_static = parameter.bound || position.is_some_and(|it| stage.static_parameters.contains(it.into()));
    match parameter.source {
        _ if is_static || stage.static_parameters.more => Value::Unknown,
        Source::Assumption if matches!(stage.dialect, Dialect::Jax | Dialect::Torch) && !has_default => {
            Value::Tree
        }
        Source::Assumption | Source::Receiver | Source::Unknown => Value::Unknown,
        _ if parameter.binding == Binding::Staged => Value::unshaped(),
        _ => Value::Unknown,
    }
}

/// Returns how a function is traced; `None` if arrays have values in it.
fn mode_of(stage: &Stage) -> Option<Mode> {
    match (stage.dialect, stage.mode) {
        (Dialect::Jax, RootKind::JaxGrad) => None,
        (Dialect::Jax, RootKind::JaxVmap) => Some(Mode::Map),
        (Dialect::Jax, _) => Some(Mode::Jit),
        (Dialect::Torch, _) => explored::mode_of(stage),
        _ => Some(Mode::Graph),
    }
}
