//! The walk over a file's tree that fills its index.

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::aliases::DecoratorAliases;
use crate::definitions::ClassEntry;
use crate::expected::expects_exception;
use crate::ids::{Code, FunctionIndex, RootIndex};
use crate::index::keras_version::{self, Version};
use crate::index::plain::{PYTHON_METHODS, is_plainly_python, names_python_class};
use crate::index::{FileIndex, Signature, last_name, operands, self_nesting};
use crate::index::{OVERLOADED_BUILTINS, REPLACED_BUILTINS};
use crate::index::{buffers, fields, model_calls, replaceable};
use crate::index::{compiled_modules, hooks};
use crate::keras_functions;
use crate::lambdas;
use crate::lambdas::{Called, LambdaSyntax};
use crate::root_decorators;
use crate::roots;
use crate::roots::{RootSite, RootTarget};
use ag_syntax::expressions::ExprId;
use ag_syntax::words::words;

/// Fills an index that already contains the file's definitions and imports.
pub(super) fn fill(index: FileIndex, text: &str, body: &[Stmt]) -> FileIndex {
    let decorators = DecoratorAliases::collect(&index.imports, body);
    let mut walk = Walk {
        index,
        text,
        decorators,
        scope: Code::Module,
        next: FunctionIndex::from_u32(0),
        visited: 0,
        pending: FxHashMap::default(),
        called: FxHashMap::default(),
        type_variables: FxHashSet::default(),
        factories: FxHashSet::default(),
        false_constants: FxHashSet::default(),
        dead: Vec::new(),
        expecting: 0,
        wraps_operands: true,
        is_in_loop: false,
        compiles: Vec::new(),
        local_roots: FxHashMap::default(),
    };
    walk.visit_body(body);
    walk.index.compile_eagerly = walk.eager_scopes();
    walk.remove_expected_roots();
    let imports = &walk.index.imports;
    walk.index.names_keras2 |= keras_version::imports_need(Version::Two, imports, body);
    walk.index.names_keras3 |= keras_version::imports_need(Version::Three, imports, body);
    walk.index.model_calls = model_calls::of(&walk.index, body);
    walk.index.buffers = buffers::of(&walk.index, body);
    compiled_modules::remove_uncalled(&mut walk.index, body);
    hooks::remove_uncompiled(&mut walk.index, text, body);
    walk.index
}

struct Walk<'a> {
    index: FileIndex,
    text: &'a str,
    decorators: DecoratorAliases<'a>,
    scope: Code,
    next: FunctionIndex,
    /// The number of expressions visited so far in the scope; it determines their ids, as in
    /// [`ag_syntax::expressions`].
    visited: u32,
    /// Expressions to which root sites refer, and that have no id yet.
    pending: FxHashMap<*const Expr, Vec<(RootIndex, Pending)>>,
    /// Lambdas that a call passes to a library and that are not visited yet, each with whether the library stages the
    /// functions that the lambda calls.
    called: FxHashMap<*const ast::ExprLambda, bool>,
    /// The type variables without a bound that were found so far: `T = TypeVar("T")`, `def f[T]`, `class A[T]`.
    type_variables: FxHashSet<Name>,
    /// The functions found so far that return a nested function: `def make_step(rate): …; return step`.
    factories: FxHashSet<Name>,
    /// The module constants whose last assigned value is `False`: `JAX_MODE = False`.
    false_constants: FxHashSet<Name>,
    /// The bodies of `if` statements on such a constant: `if JAX_MODE:`.
    dead: Vec<TextRange>,
    /// The number of `with` statements around the current code that expect an exception:
    /// `with pytest.raises(TypeError):`. Code in such a statement declares no roots, because the test expects that its
    /// functions cannot be traced.
    expecting: usize,
    /// Whether annotated source wraps the operands of the current statement.
    wraps_operands: bool,
    /// Whether the current code is in a loop of its function.
    is_in_loop: bool,
    /// The calls of `compile` of Keras models, and whether they pass `run_eagerly=True`.
    compiles: Vec<(Code, bool)>,
    /// The decorated roots nested in functions, by the enclosing function and their name.
    local_roots: FxHashMap<(Code, Name), LocalRoot>,
}

/// How the enclosing function uses a nested root.
#[derive(Clone, Copy, Default)]
struct LocalRoot {
    /// In a `with pytest.raises(…):`.
    expecting: bool,
    otherwise: bool,
}

#[derive(Clone, Copy)]
enum Pending {
    Function,
    Receiver,
}

impl<'a> Walk<'a> {
    fn signature(&mut self) -> Option<&mut Signature> {
        self.index.signatures.get_mut(self.scope.function()?)
    }

    fn function(&mut self, def: &'a ast::StmtFunctionDef) {
        let function = self.next;
        self.next = function + 1;
        self.declare(def.type_params.as_deref());
        for decorator in &def.decorator_list {
            if self.expecting == 0
                && let Some(site) = roots::of_decorator(
                    (&self.index.imports, &self.decorators),
                    decorator,
                    function,
                    self.scope,
                )
            {
                self.index.roots.push(site);
                if self.scope != Code::Module {
                    self.local_roots.insert((self.scope, def.name.id.clone()), LocalRoot::default());
                }
            }
            self.visit_expr(&decorator.expression);
        }
        for parameter in def.parameters.iter() {
            if let Some(default) = parameter.default() {
                self.visit_expr(default);
            }
        }
        if let Some(slot) = self.index.signatures.get_mut(function) {
            *slot = Signature::of(def, &self.type_variables);
            slot.is_dead = self.dead.iter().any(|body| body.contains_range(def.range()));
        }
        let outer = std::mem::replace(&mut self.scope, Code::Function(function));
        let visited = std::mem::take(&mut self.visited);
        let in_loop = std::mem::take(&mut self.is_in_loop);
        self.visit_body(&def.body);
        self.is_in_loop = in_loop;
        (self.scope, self.visited) = (outer, visited);
    }

    fn call(&mut self, call: &'a ast::ExprCall) {
        // `jax.jit(partial(f, fast=True))` binds an argument of `f`.
        let applied = root_decorators::is_partial(&self.index.imports, &call.func)
            .then(|| self.wrapped(call, 4))
            .flatten();
        for name in last_name(&call.func).into_iter().chain(applied) {
            let codes = self.index.calls.entry(name.clone()).or_default();
            if codes.last() != Some(&self.scope) {
                codes.push(self.scope);
            }
        }
        if last_name(&call.func).is_some_and(|name| name == "Input") {
            let resolved = self.index.imports.resolve(&call.func);
            self.index.makes_keras_inputs |= resolved.is_some_and(|name| name.starts_with("keras."));
        }
        match call.func.as_ref() {
            Expr::Attribute(attribute) if PYTHON_METHODS.contains(&attribute.attr.as_str()) => {
                self.python_use(&attribute.value);
            }
            Expr::Name(name) if name.id == "isinstance" => {
                if let [tested, classes] = &*call.arguments.args
                    && names_python_class(classes)
                {
                    self.python_use(tested);
                }
            }
            _ => {}
        }
        for keyword in call.arguments.keywords.iter().filter(|keyword| keyword.arg.is_none()) {
            self.python_use(&keyword.value);
        }
        if let Expr::Name(name) = call.func.as_ref()
            && let Code::Function(function) = self.scope
            && (OVERLOADED_BUILTINS.contains(&name.id.as_str())
                || REPLACED_BUILTINS.contains(&name.id.as_str()))
            && self.index.imports.get(&name.id).is_none()
        {
            self.index.builtin_calls.push((function, name.range()));
        }
        if let Some(called) = Called::of(&self.index.imports, call) {
            let stages = called.stage.is_some() && self.expecting == 0;
            for lambda in called.lambdas {
                *self.called.entry(std::ptr::from_ref(lambda)).or_insert(false) |= stages;
            }
        }
        for argument in call.arguments.iter_source_order() {
            if let Expr::Lambda(lambda) = argument.value() {
                self.called.entry(std::ptr::from_ref(lambda)).or_insert(false);
            }
        }
        if let Some(eager) = keras_functions::compiles_eagerly(&self.index.imports, call) {
            self.compiles.push((self.scope, eager));
        }
        if self.expecting > 0 {
            return;
        }
        for found in roots::of_call((&self.index.imports, &self.decorators), call, self.scope) {
            let site = self.index.roots.push(found.site);
            if let Some(function) = found.function {
                self.pending.entry(function).or_default().push((site, Pending::Function));
            }
            if let Some(receiver) = found.receiver {
                self.pending.entry(receiver).or_default().push((site, Pending::Receiver));
            }
        }
    }

    fn eager_scopes(&self) -> Vec<Code> {
        let all = |within: &dyn Fn(Code) -> bool| {
            let mut within = self.compiles.iter().filter(|(scope, _)| within(*scope)).peekable();
            within.peek().is_some() && within.all(|(_, eager)| *eager)
        };
        let mut scopes: Vec<Code> = self.compiles.iter().map(|(scope, _)| *scope).collect();
        scopes.sort_unstable();
        scopes.dedup();
        scopes.retain(|scope| *scope != Code::Module && all(&|other| other == *scope));
        scopes.extend(all(&|_| true).then_some(Code::Module));
        scopes
    }

    /// Removes the roots that are called only in tests that expect an exception:
    ///
    /// ```python
    /// @tf.function
    /// def run(epsilon): …
    ///
    /// with self.assertRaises(ValueError):
    ///     run(-1)
    /// ```
    fn remove_expected_roots(&mut self) {
        let index = &mut self.index;
        let functions = &index.definitions.functions;
        let own = |site: &RootSite| match site.target {
            RootTarget::Own(function) => Some(function),
            RootTarget::Reference(_) => None,
        };
        let is_expected = |function: &FunctionIndex| {
            let Some(entry) = functions.get(*function) else { return false };
            let around = entry.parent.map_or(Code::Module, Code::Function);
            let used = self.local_roots.get(&(around, Name::new(entry.path.name())));
            used.is_some_and(|used| used.expecting && !used.otherwise)
        };
        let expected: Vec<FunctionIndex> = index.roots.iter().filter_map(own).filter(is_expected).collect();
        if !expected.is_empty() {
            let roots = std::mem::take(&mut index.roots);
            let is_root = |site: &RootSite| own(site).is_none_or(|function| !expected.contains(&function));
            index.roots = roots.into_iter().filter(is_root).collect();
            index.expected_to_fail = expected;
        }
    }

    /// Records the type variables of `def f[T]` and `class A[T]`.
    fn declare(&mut self, parameters: Option<&ast::TypeParams>) {
        let variables = parameters.into_iter().flat_map(|parameters| &parameters.type_params);
        let unbound = variables.filter_map(ast::TypeParam::as_type_var).filter(|it| it.bound.is_none());
        self.type_variables.extend(unbound.map(|variable| variable.name.id.clone()));
    }

    /// Records the text of a returned expression that names nested functions: `return init, update`.
    fn returns(&mut self, value: &Expr) {
        let Some(function) = self.scope.function() else { return };
        let functions = &self.index.definitions.functions;
        let nested = self.index.with_nested(function).skip(1);
        let names: Vec<&str> = nested
            .filter(|nested| functions[*nested].parent == Some(function))
            .map(|nested| functions[nested].path.name())
            .collect();
        let text = &self.text[value.range()];
        if !names.is_empty() && words(text).iter().any(|word| names.contains(word)) {
            let text = Name::new(text);
            self.factories.insert(Name::new(self.index.short_name(function)));
            self.signature().into_iter().for_each(|signature| signature.returned.push(text.clone()));
        }
    }

    fn track_constant(&mut self, assign: &ast::StmtAssign) {
        if let Expr::Call(call) = &*assign.value
            && last_name(&call.func).is_some_and(|name| name == "TypeVar")
            && call.arguments.args.len() == 1
            && call.arguments.find_keyword("bound").is_none()
        {
            self.type_variables
                .extend(assign.targets.iter().filter_map(Expr::as_name_expr).map(|name| name.id.clone()));
        }
        let is_false = assign.value.as_boolean_literal_expr().is_some_and(|literal| !literal.value);
        for name in assign.targets.iter().filter_map(Expr::as_name_expr) {
            if is_false {
                self.false_constants.insert(name.id.clone());
            } else {
                self.false_constants.remove(&name.id);
            }
        }
    }

    /// Records another name under which a function is called. After `step = jax.jit(train)` it is `step` for `train`,
    /// after `step = make_step(0.1)` it is `step` for `make_step`, and after `self.gate = Gate(4)` it is `gate` for the
    /// class `Gate`.
    fn other_name(&mut self, assign: &'a ast::StmtAssign) {
        let ([target], Expr::Call(call)) = (assign.targets.as_slice(), &*assign.value) else { return };
        let Some(name) = last_name(target) else { return };
        let function = match self.wrapped(call, 4) {
            Some(function) => function,
            None => match &*call.func {
                Expr::Name(factory) if self.factories.contains(&factory.id) => &factory.id,
                class => match last_name(class) {
                    Some(name) if name.starts_with(|first: char| first.is_uppercase()) => name,
                    _ => return,
                },
            },
        };
        if function != name {
            self.index.other_names.entry(function.clone()).or_default().push(name.clone());
        }
    }

    /// Returns the last part of the name of the function in `jax.jit(f)`, `jax.jit(jax.vmap(self.f))` or
    /// `partial(f, 1)`.
    fn wrapped(&self, call: &'a ast::ExprCall, depth: u8) -> Option<&'a Name> {
        let depth = depth.checked_sub(1)?;
        let imports = &self.index.imports;
        let wraps = root_decorators::is_partial(imports, &call.func)
            || self.decorators.resolve(imports, &call.func).is_some()
            || imports.resolve(&call.func).is_some_and(|name| root_decorators::is_transparent(&name));
        let given =
            call.arguments.args.first().or_else(|| root_decorators::function_keyword(&call.arguments));
        match given.filter(|_| wraps)? {
            Expr::Call(inner) => self.wrapped(inner, depth),
            function => last_name(function),
        }
    }

    fn stores(&mut self, attribute: &Name) {
        if let Some(signature) = self.signature()
            && !signature.stores.contains(attribute)
        {
            signature.stores.push(attribute.clone());
        }
    }

    /// Records that `name` is used in a way that only Python objects support.
    fn python_use(&mut self, name: &Expr) {
        let Some(name) = name.as_name_expr() else { return };
        if let Some(signature) = self.signature() {
            for parameter in &mut signature.parameters {
                parameter.used_as_python |= parameter.name == name.id;
            }
        }
    }

    /// Records names that are tested directly. Such a name may be a flag, so the test is not evidence for a Tensor.
    fn flag_use(&mut self, test: &Expr) {
        match test {
            Expr::Name(_) => self.python_use(test),
            Expr::UnaryOp(operation) if operation.op == ast::UnaryOp::Not => {
                self.flag_use(&operation.operand)
            }
            Expr::BoolOp(operation) => operation.values.iter().for_each(|value| self.flag_use(value)),
            _ => {}
        }
    }

    fn test(&mut self, test: &Expr) {
        self.flag_use(test);
        if !is_plainly_python(test)
            && let Some(signature) = self.signature()
        {
            signature.tests_values = true;
        }
    }

    fn targets(&mut self, targets: &[Expr]) {
        let sets = targets.iter().any(|target| match target {
            Expr::Attribute(attribute) => {
                attribute.value.as_name_expr().is_some_and(|name| name.id == "self")
            }
            Expr::Tuple(tuple) => tuple.elts.iter().any(|element| {
                element
                    .as_attribute_expr()
                    .and_then(|attribute| attribute.value.as_name_expr())
                    .is_some_and(|name| name.id == "self")
            }),
            _ => false,
        });
        if sets && let Some(signature) = self.signature() {
            signature.sets_attributes = true;
        }
    }

    /// Visits an assignment. Operands are wrapped only if all targets are names (`to_names`). The value assigned to an
    /// attribute may read the same attribute. The type engine first infers such a value while the attribute has no type
    /// yet; a wrapped operand would turn the missing type into a result.
    fn assignment(&mut self, statement: &'a Stmt, to_names: bool) {
        let outer = self.wraps_operands;
        self.wraps_operands &= to_names;
        source_order::walk_stmt(self, statement);
        self.wraps_operands = outer;
    }

    fn visit_loop(&mut self, statement: &'a Stmt) {
        let outer = std::mem::replace(&mut self.is_in_loop, true);
        if !outer {
            self.index.self_nesting.extend(self_nesting::of_loop(statement));
        }
        source_order::walk_stmt(self, statement);
        self.is_in_loop = outer;
    }

    fn operand(&mut self, operand: &Expr) {
        if let Code::Function(function) = self.scope {
            self.index.operands.push((function, operand.range()));
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for Walk<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if self.scope == Code::Module {
            self.index.statements.push(statement.start());
        }
        if let Stmt::Global(_) | Stmt::Nonlocal(_) | Stmt::Import(_) | Stmt::ImportFrom(_) = statement
            && let Some(signature) = self.signature()
        {
            signature.rebinds = true;
            signature.declares_global |= statement.is_global_stmt();
        }
        match statement {
            Stmt::FunctionDef(def) => self.function(def),
            Stmt::ClassDef(class) => {
                self.declare(class.type_params.as_deref());
                if let [base] = class.bases() {
                    let resolved = self.index.imports.resolve(base);
                    self.index.derives_from_keras |= resolved.is_some_and(|name| is_keras_class(&name));
                }
                let is_own = |entry: &ClassEntry| entry.name_range == class.name.range;
                let own = self.index.definitions.classes.iter_enumerated().find(|(_, entry)| is_own(entry));
                let own = own.map(|(own, _)| own);
                if let Some(own) = own {
                    let fields = fields::of(class, &self.type_variables);
                    if !fields.is_empty() {
                        self.index.fields.push((own, fields));
                    }
                    if replaceable::has_replace(&self.index.imports, class) {
                        self.index.replaceable.push(own);
                    }
                }
                source_order::walk_stmt(self, statement);
            }
            Stmt::Assign(assign) => {
                self.targets(&assign.targets);
                self.other_name(assign);
                if self.scope == Code::Module {
                    self.track_constant(assign);
                }
                if let Expr::Lambda(lambda) = &*assign.value {
                    self.called.entry(std::ptr::from_ref(lambda)).or_insert(false);
                }
                self.assignment(statement, assign.targets.iter().all(Expr::is_name_expr));
            }
            Stmt::AugAssign(assign) => {
                if assign.target.is_name_expr() && operands::may_be_tensor(&assign.value) {
                    self.operand(&assign.value);
                }
                self.assignment(statement, assign.target.is_name_expr());
            }
            Stmt::With(node) if expects_exception(node) => {
                self.expecting += 1;
                source_order::walk_stmt(self, statement);
                self.expecting -= 1;
            }
            Stmt::If(node) => {
                self.test(&node.test);
                if node.test.as_name_expr().is_some_and(|name| self.false_constants.contains(&name.id))
                    && let (Some(first), Some(last)) = (node.body.first(), node.body.last())
                {
                    self.dead.push(TextRange::new(first.start(), last.end()));
                }
                for clause in &node.elif_else_clauses {
                    clause.test.iter().for_each(|test| self.test(test));
                }
                source_order::walk_stmt(self, statement);
            }
            Stmt::Return(node) => {
                if let Some(value) = &node.value {
                    self.returns(value);
                }
                source_order::walk_stmt(self, statement);
            }
            Stmt::While(node) => {
                self.test(&node.test);
                self.visit_loop(statement);
            }
            Stmt::For(node) => {
                if !is_plainly_python(&node.iter)
                    && let Some(signature) = self.signature()
                {
                    signature.tests_values = true;
                }
                self.visit_loop(statement);
            }
            Stmt::Assert(node) => {
                self.test(&node.test);
                source_order::walk_stmt(self, statement);
            }
            Stmt::AnnAssign(assign) => {
                self.targets(std::slice::from_ref(&assign.target));
                source_order::walk_stmt(self, statement);
            }
            _ => source_order::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        let id = ExprId(self.visited);
        self.visited += 1;
        // This is a fast path: few files have roots.
        if !self.pending.is_empty() {
            for (site, pending) in self.pending.remove(&std::ptr::from_ref(expression)).unwrap_or_default() {
                match pending {
                    Pending::Function => self.index.roots[site].expression = Some(id),
                    Pending::Receiver => self.index.roots[site].receiver = Some(id),
                }
            }
        }
        match expression {
            Expr::Call(call) => self.call(call),
            Expr::Name(name) if !self.local_roots.is_empty() && name.ctx.is_load() => {
                if let Some(used) = self.local_roots.get_mut(&(self.scope, name.id.clone())) {
                    used.expecting |= self.expecting > 0;
                    used.otherwise |= self.expecting == 0;
                }
            }
            Expr::Lambda(lambda) => {
                self.index.lambda_count += 1;
                if let Some(stages) = self.called.remove(&std::ptr::from_ref(lambda)) {
                    let (scope, uses) = (self.scope, lambdas::uses(lambda));
                    self.index.lambdas.push(LambdaSyntax { scope, id, uses, stages });
                }
            }
            Expr::If(conditional) => self.test(&conditional.test),
            Expr::Attribute(attribute) if !attribute.ctx.is_load() => self.stores(&attribute.attr.id),
            Expr::Attribute(attribute) if keras_version::may_need_version(&attribute.attr) => {
                let resolved = self.index.imports.resolve(expression);
                match resolved.and_then(|name| keras_version::version_of(&name)) {
                    Some(Version::Two) => self.index.names_keras2 = true,
                    Some(Version::Three) => self.index.names_keras3 = true,
                    None => {}
                }
            }
            Expr::Compare(compare)
                if compare.comparators.iter().any(|side| matches!(side, Expr::StringLiteral(_))) =>
            {
                self.python_use(&compare.left);
            }
            Expr::Subscript(subscript) if subscript.slice.is_string_literal_expr() => {
                self.python_use(&subscript.value);
            }
            Expr::Yield(_) | Expr::YieldFrom(_) => {
                if let Some(signature) = self.signature() {
                    signature.is_generator = true;
                }
            }
            _ => {}
        }
        if self.wraps_operands {
            operands::of(expression).into_iter().for_each(|operand| self.operand(operand));
        }
        source_order::walk_expr(self, expression);
    }

    fn visit_annotation(&mut self, _annotation: &'a Expr) {}
}

/// Returns whether a dotted name is a layer, model or metric of Keras: `keras.Layer`, `keras.layers.Dense`,
/// `keras.metrics.Mean`.
fn is_keras_class(name: &str) -> bool {
    let mut parts = name.split('.');
    let top = ["Layer", "Model", "Metric", "layers", "models", "metrics"];
    parts.next() == Some("keras") && parts.next().is_some_and(|part| top.contains(&part))
}
