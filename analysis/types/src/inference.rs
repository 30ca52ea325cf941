//! Queries ty about annotated source, and converts the answers to plain data.
//!
//! The results contain neither ty's types nor positions, so they can be compared and reused across edits.

mod attributes;
mod calls;
mod classify;
mod constructions;
mod locate;
mod passed;
mod render;
mod resolve;
mod values;

use ruff_db::files::File;
use ruff_db::parsed::parsed_module;
use ruff_index::IndexVec;
use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashMap;
use ty_module_resolver::{ResolverFile, file_to_module};
use ty_python_semantic::types::Type;
use ty_python_semantic::{Db, HasType, ProgramEnvironment, SemanticModel};

use ag_index::answers::{Rebound, ScopeTypes};
use ag_index::assumed::AssumedType;
use ag_index::callbacks;
use ag_index::facts::{Alternative, Binding, Fact, TensorKind};
use ag_index::ids::{ClassIndex, Code, DocumentIndex, ParameterIndex};
use ag_index::index::{FileIndex, Signature};
use ag_index::lambdas::{Called, LambdaStage, LambdaTypes};
use ag_index::oracle::{Scope, Source};
use ag_index::roots::RootTarget;
use ag_index::type_expression::TypeExpression;
use ag_syntax::expressions::{self, ExprId};

use crate::oracle::Workspace;

pub(crate) use attributes::attributes;

/// Returns the types of a function, or of the code outside all functions.
pub(crate) fn types(db: &dyn Db, workspace: &Workspace, scope: Scope) -> ScopeTypes {
    let Some(inference) = Inference::new(db, workspace, scope.document) else {
        return ScopeTypes::default();
    };
    let module = parsed_module(db, inference.model.python_file()).load(db);
    if scope.code == Code::Module {
        return inference.scope(Code::Module, &expressions::of_body(module.suite()), &[]);
    }
    let entry = inference.source.index.function(scope.code);
    let Some(def) = entry.and_then(|entry| locate::function(db, inference.file, &module, &entry.path)) else {
        return ScopeTypes::default();
    };
    let mut types = inference.scope(scope.code, &expressions::of_function(def), &def.body);
    types.parameters = inference.parameters(def);
    types.rebound = inference.rebound(def);
    types.defaults = inference.defaults(def);
    types
}

struct Inference<'db> {
    db: &'db dyn Db,
    workspace: &'db Workspace,
    source: &'db Source,
    file: File,
    model: SemanticModel<'db>,
    env: ProgramEnvironment<'db>,
}

impl<'db> Inference<'db> {
    fn new(db: &'db dyn Db, workspace: &'db Workspace, document: DocumentIndex) -> Option<Self> {
        let (source, file) = (workspace.source(document)?, workspace.file(document)?);
        let model = SemanticModel::new(db, db.program_file(file));
        let env = model.program_environment();
        Some(Self { db, workspace, source, file, model, env })
    }

    pub(super) fn type_of(&self, expression: &Expr) -> Option<Type<'db>> {
        expression.inferred_type(&self.model)
    }

    /// Returns the parameters that the body rebinds to a value of another type. For the type engine, an inserted
    /// annotation is a declaration, which remains in effect after such an assignment.
    fn rebound(&self, def: &ast::StmtFunctionDef) -> Vec<(Name, Rebound)> {
        use ruff_python_ast::statement_visitor::{StatementVisitor, walk_stmt};
        struct Assignments<'a>(Vec<(&'a Name, &'a Expr)>);
        impl<'a> Assignments<'a> {
            fn assign(&mut self, target: &'a Expr, value: &'a Expr) {
                match (target, value) {
                    (Expr::Name(name), _) => self.0.push((&name.id, value)),
                    (Expr::Tuple(targets), Expr::Tuple(values)) if targets.len() == values.len() => {
                        targets.iter().zip(values).for_each(|(target, value)| self.assign(target, value));
                    }
                    _ => {}
                }
            }
        }
        impl<'a> StatementVisitor<'a> for Assignments<'a> {
            fn visit_stmt(&mut self, statement: &'a Stmt) {
                match statement {
                    Stmt::Assign(assign) => {
                        for target in &assign.targets {
                            self.assign(target, &assign.value);
                        }
                    }
                    Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
                    _ => walk_stmt(self, statement),
                }
            }
        }
        let mut assignments = Assignments(Vec::new());
        assignments.visit_body(&def.body);
        let mut all = Vec::new();
        for parameter in def.parameters.iter_non_variadic_params() {
            let name = &parameter.parameter.name.id;
            let Some(declared) = parameter.inferred_type(&self.model) else { continue };
            let own = self.fact(declared);
            let mut rebound = Rebound::default();
            for (_, value) in assignments.0.iter().filter(|(target, _)| *target == name) {
                let Some(ty) = self.type_of(value) else { continue };
                let other = self.fact(ty);
                match (own.binding(), other.binding()) {
                    (Binding::Staged, Binding::Python) | (Binding::Python, Binding::Staged) => {
                        rebound.others.unknown = true;
                    }
                    (Binding::Python, Binding::Python)
                        if !ty.is_assignable_to(self.db, &self.env, declared) =>
                    {
                        self.add_assumed(ty, &mut rebound.others);
                    }
                    // The declaration would hide that `x = tf.reduce_sum(x)` is certainly a Tensor.
                    (Binding::Staged, Binding::Staged)
                        if own.unknown
                            && !other.unknown
                            && !ty.is_assignable_to(self.db, &self.env, declared) =>
                    {
                        self.add_assumed(ty, &mut rebound.tensors);
                    }
                    _ => {}
                }
            }
            if rebound != Rebound::default() {
                all.push((name.clone(), rebound));
            }
        }
        all
    }

    fn defaults(&self, def: &ast::StmtFunctionDef) -> Vec<(ParameterIndex, AssumedType)> {
        let parameters = def.parameters.posonlyargs.iter().chain(&def.parameters.args);
        let varargs = u32::from(def.parameters.vararg.is_some());
        let positional = (def.parameters.posonlyargs.len() + def.parameters.args.len()) as u32;
        let by_keyword = (positional + varargs..).zip(&def.parameters.kwonlyargs);
        (0u32..)
            .zip(parameters)
            .chain(by_keyword)
            .filter_map(|(position, parameter)| {
                let default = parameter.default()?;
                let assumed =
                    matches!(default, Expr::Name(_) | Expr::Attribute(_)).then(|| self.assumed(default))?;
                (!assumed.unknown && !assumed.is_empty()).then_some((position.into(), assumed))
            })
            .collect()
    }

    /// Returns the facts about the parameters, in the order of [`ag_index::index::Signature`].
    fn parameters(&self, def: &ast::StmtFunctionDef) -> IndexVec<ParameterIndex, Fact> {
        let parameters = &def.parameters;
        let fact =
            |ty: Option<Type<'db>>| ty.map_or_else(Fact::unknown, |ty| self.fact(self.as_argument(ty)));
        let plain = |list: &[ast::ParameterWithDefault]| {
            list.iter().map(|parameter| fact(parameter.inferred_type(&self.model))).collect::<Vec<_>>()
        };
        let mut facts = plain(&parameters.posonlyargs);
        facts.extend(plain(&parameters.args));
        facts.extend(parameters.vararg.iter().map(|_| Fact::unknown()));
        facts.extend(plain(&parameters.kwonlyargs));
        facts.extend(parameters.kwarg.iter().map(|_| Fact::unknown()));
        IndexVec::from_raw(facts)
    }

    /// Returns the type of a parameter without the Tensors to which the body binds it: `x = tf.reduce_sum(x)` adds a
    /// Tensor to the declaration of an argument whose type is unknown.
    fn as_argument(&self, declared: Type<'db>) -> Type<'db> {
        let Type::Union(union) = declared else { return declared };
        let mut others = union.elements(self.db).iter().filter(|ty| !self.fact(**ty).is_tensor());
        match (others.next(), others.next()) {
            (Some(argument), None) if self.placeholder(*argument).is_some() => *argument,
            _ => declared,
        }
    }

    fn scope(&self, scope: Code, expressions: &[&Expr], body: &[Stmt]) -> ScopeTypes {
        let named = named_lambdas(expressions, body);
        let mut types = ScopeTypes::default();
        let mut seen: FxHashMap<Type<'db>, u32> = FxHashMap::default();
        let index = &*self.source.index;
        types.facts.table.push(Fact::unknown());
        // Lambdas that libraries stage. Outer lambdas come before those inside them.
        let mut staged: Vec<(TextRange, LambdaStage)> = Vec::new();
        // Functions that host callbacks run. Calls inside them are not part of the staged code.
        let mut host: Vec<TextRange> = Vec::new();
        for (position, expression) in expressions.iter().enumerate() {
            let fact = match self.type_of(expression) {
                Some(ty) => *seen.entry(ty).or_insert_with(|| {
                    types.facts.table.push(self.fact(ty));
                    types.facts.table.len() as u32 - 1
                }),
                None => 0,
            };
            types.facts.index.push(fact);
            self.special_method(expression, ExprId(position as u32), &mut types.calls);
            if let Expr::Call(call) = expression
                && !host.iter().any(|range| range.contains_range(call.range()))
            {
                host.extend(callbacks::host_function(call).map(Ranged::range));
                let id = ExprId(position as u32);
                let before = types.calls.len();
                let inner = expressions.get(position..).unwrap_or_default();
                self.call(
                    call,
                    id,
                    index,
                    &|argument| lambda_of(argument, &named, (position, inner)),
                    &mut types.calls,
                );
                types.constructions.extend(self.construction(call));
                self.named_lambda(call, &named, &mut types.lambdas);
                self.applied_lambda(call, index, (position, inner), &mut types.lambdas);
                self.applied(call, index.signature(scope), &mut types.applied);
                let lambda = staged.iter().rfind(|(range, _)| range.contains_range(call.range()));
                for call in types.calls.iter_mut().skip(before) {
                    call.lambda = lambda.map(|(_, stage)| *stage);
                }
                if let Some(called) = Called::of(&index.imports, call) {
                    self.lambdas(&called, call, (position, inner), &mut types.lambdas);
                    let is_staged = called.stage.filter(|_| self.is_called(&called));
                    staged.extend(
                        is_staged.into_iter().flat_map(|stage| {
                            called.lambdas.iter().map(move |lambda| (lambda.range(), stage))
                        }),
                    );
                }
            }
        }
        let id = |object: &Expr| {
            let position = expressions.iter().position(|expression| std::ptr::eq(*expression, object))?;
            Some(ExprId(position as u32))
        };
        self.implicit_calls(body, &id, &mut types.calls);
        let is_method = index.function(scope).is_some_and(|entry| entry.class.is_some());
        self.returns(body, is_method, &mut types);
        self.yields(expressions, &mut types);
        self.roots(scope, expressions, &mut types);
        types
    }

    /// If `call` is `shift(x)` for a named lambda (`shift = lambda a: a + 1`), adds its argument types to this lambda.
    fn named_lambda(
        &self,
        call: &ast::ExprCall,
        named: &FxHashMap<&Name, ExprId>,
        lambdas: &mut Vec<LambdaTypes>,
    ) {
        let Some(id) = call.func.as_name_expr().and_then(|name| named.get(&name.id)).copied() else { return };
        if !call.arguments.keywords.is_empty() || call.arguments.args.iter().any(Expr::is_starred_expr) {
            return;
        }
        let arguments = call.arguments.args.iter().map(|argument| self.assumed(argument));
        match lambdas.iter_mut().find(|types| types.id == id) {
            Some(types) => {
                types.parameters.iter_mut().zip(arguments).for_each(|(known, more)| known.join(&more))
            }
            None => lambdas.push(LambdaTypes { id, parameters: arguments.collect() }),
        }
    }

    /// If `call` calls a lambda with elements, adds their types to this lambda: `sorted(xs, key=lambda x: …)`,
    /// `functools.reduce(lambda a, b: …, xs)`.
    fn applied_lambda(
        &self,
        call: &ast::ExprCall,
        index: &FileIndex,
        inner: (usize, &[&Expr]),
        lambdas: &mut Vec<LambdaTypes>,
    ) {
        let arguments = &*call.arguments.args;
        let (function, parameters): (_, IndexVec<ParameterIndex, AssumedType>) =
            match resolve::applied_by_builtin(call) {
                Some((function, iterables)) => {
                    (function, iterables.iter().map(|it| self.elements(it)).collect())
                }
                None => match arguments {
                    [function @ Expr::Lambda(_), iterable, ..]
                        if index
                            .imports
                            .resolve(&call.func)
                            .is_some_and(|name| name == "functools.reduce") =>
                    {
                        (function, IndexVec::from_raw(vec![self.elements(iterable); 2]))
                    }
                    _ => return,
                },
            };
        if function.is_lambda_expr()
            && let Some(id) = lambda_of(function, &FxHashMap::default(), inner)
        {
            lambdas.push(LambdaTypes { id, parameters });
        }
    }

    /// If `call` is `f(x)` for a parameter `f`, adds its argument types to `applied`.
    fn applied(
        &self,
        call: &ast::ExprCall,
        signature: Option<&Signature>,
        applied: &mut Vec<(ParameterIndex, Vec<AssumedType>)>,
    ) {
        let (Expr::Name(name), Some(signature)) = (call.func.as_ref(), signature) else { return };
        let parameter = signature.parameters.iter().position(|parameter| parameter.name == name.id);
        if let Some(parameter) = parameter
            && call.arguments.keywords.is_empty()
            && !call.arguments.args.iter().any(Expr::is_starred_expr)
        {
            let arguments = call.arguments.args.iter().map(|argument| self.assumed(argument));
            applied.push((parameter.into(), arguments.collect()));
        }
    }

    /// `is_method`: whether the body is that of a method, which may return `self` or `cls(…)`.
    fn returns(&self, body: &[Stmt], is_method: bool, types: &mut ScopeTypes) {
        use ruff_python_ast::statement_visitor::{StatementVisitor, walk_stmt};
        struct Returns<'a>(Vec<&'a Expr>, bool);
        impl<'a> StatementVisitor<'a> for Returns<'a> {
            fn visit_stmt(&mut self, statement: &'a Stmt) {
                match statement {
                    Stmt::Return(node) => match &node.value {
                        Some(value) => self.0.push(value),
                        None => self.1 = true,
                    },
                    Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
                    _ => walk_stmt(self, statement),
                }
            }
        }
        let mut returns = Returns(Vec::new(), false);
        returns.visit_body(body);
        types.returns_value = !returns.0.is_empty();
        if types.returns_value && returns.1 {
            types.returns.insert(TypeExpression::none());
        }
        for value in returns.0 {
            types.returns.join(&match is_method && self.is_self(value) {
                true => AssumedType::of(TypeExpression::class("typing", "Self")),
                false => self.assumed(value),
            });
        }
    }

    /// Sets the result of a generator: an iterator over the yielded values.
    fn yields(&self, expressions: &[&Expr], types: &mut ScopeTypes) {
        let mut elements = AssumedType::default();
        let mut is_generator = false;
        for expression in expressions {
            match expression {
                Expr::Yield(node) => match &node.value {
                    Some(value) => elements.join(&self.assumed(value)),
                    None => elements.insert(TypeExpression::none()),
                },
                Expr::YieldFrom(_) => elements.unknown = true,
                _ => continue,
            }
            is_generator = true;
        }
        if is_generator {
            let element = elements.union().unwrap_or_else(TypeExpression::any);
            let iterator = TypeExpression::class("typing", "Iterator");
            types.returns = AssumedType::of(TypeExpression::generic(iterator, vec![element]));
        }
    }

    /// Adds the functions to which the root sites of this scope refer, if they cannot be resolved by name.
    fn roots(&self, scope: Code, expressions: &[&Expr], types: &mut ScopeTypes) {
        let index = &*self.source.index;
        let expression = |id: Option<ExprId>| expressions.get(id?.0 as usize).copied();
        for (position, site) in index.roots.iter_enumerated() {
            let RootTarget::Reference(reference) = &site.target else { continue };
            if site.scope != scope {
                continue;
            }
            if let Some(receiver) = expression(site.receiver) {
                let is_dataset = self.type_of(receiver).is_some_and(|ty| {
                    self.fact(ty).alternatives.iter().any(|alternative| {
                        matches!(alternative, Alternative::Tensor { kind: TensorKind::Dataset, .. })
                    })
                });
                if !is_dataset {
                    continue;
                }
            } else if index.lookup(reference, scope).is_some() {
                continue;
            }
            let Some(function) = expression(site.expression) else { continue };
            let targets = self.staged_targets(function, site.dialect);
            if targets.is_empty() && site.receiver.is_some() {
                types.on_datasets.push(position);
            }
            types.roots.extend(targets.into_iter().map(|target| (position, target)));
        }
    }
}

/// Returns the lambdas of a body that have a name: those bound to a name that has no other binding.
fn named_lambdas<'a>(expressions: &[&Expr], body: &'a [Stmt]) -> FxHashMap<&'a Name, ExprId> {
    use ruff_python_ast::statement_visitor::{StatementVisitor, walk_stmt};
    #[derive(Default)]
    struct Bound<'a>(FxHashMap<&'a Name, Vec<&'a Expr>>);
    impl<'a> StatementVisitor<'a> for Bound<'a> {
        fn visit_stmt(&mut self, statement: &'a Stmt) {
            match statement {
                Stmt::Assign(assign) => {
                    for name in assign.targets.iter().filter_map(Expr::as_name_expr) {
                        self.0.entry(&name.id).or_default().push(&assign.value);
                    }
                }
                Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
                _ => walk_stmt(self, statement),
            }
        }
    }
    let mut bound = Bound::default();
    bound.visit_body(body);
    let position = |value: &Expr| expressions.iter().position(|expression| std::ptr::eq(*expression, value));
    let lambdas = bound.0.into_iter().filter_map(|(name, values)| match values.as_slice() {
        [value @ Expr::Lambda(_)] => Some((name, ExprId(position(value)? as u32))),
        _ => None,
    });
    lambdas.collect()
}

/// Returns the id of the lambda that an argument is or refers to. `inner` are the expressions of the scope in
/// pre-order, beginning with the call. `position` is the id of the call.
fn lambda_of(
    argument: &Expr,
    named: &FxHashMap<&Name, ExprId>,
    (position, inner): (usize, &[&Expr]),
) -> Option<ExprId> {
    match argument {
        Expr::Lambda(_) => {
            let distance = inner.iter().position(|expression| std::ptr::eq(*expression, argument))?;
            Some(ExprId((position + distance) as u32))
        }
        Expr::Name(name) => named.get(&name.id).copied(),
        _ => None,
    }
}

/// Returns the base classes of a class, each as a file and the range of the class's name.
#[salsa::tracked(returns(ref), no_eq)]
fn bases(db: &dyn Db, file: File, class: ClassIndex) -> Vec<(File, TextRange)> {
    let model = SemanticModel::new(db, db.program_file(file));
    let env = model.program_environment();
    let module = parsed_module(db, model.python_file()).load(db);
    let Some(entry) = locate::definitions(db, file).classes.get(class) else {
        return Vec::new();
    };
    let Some(node) = locate::class(&module, entry.name_range) else { return Vec::new() };
    let arguments = node.arguments.iter().flat_map(|arguments| arguments.args.iter());
    arguments
        .filter_map(|base| {
            let definition = base.inferred_type(&model)?.definition(db, &env)?;
            let location = definition.focus_range(db)?;
            Some((location.file(), location.range()))
        })
        .collect()
}

/// Returns the dotted name under which a file is imported.
pub(crate) fn module_name(db: &dyn Db, file: File) -> Option<Name> {
    let program = db.program_file(file).program(db);
    let resolver = ResolverFile::new(db, file, program.resolver_environment(db));
    file_to_module(db, resolver).map(|module| Name::new(module.name(db).as_str()))
}

/// Returns the name of a file's module in [`TypeExpression`]s: its dotted name or, for a script outside all import
/// roots, its path. A path is valid only in the file itself.
pub(crate) fn module_key(db: &dyn Db, file: File) -> Name {
    module_name(db, file).unwrap_or_else(|| Name::new(file.path(db).as_str()))
}
