//! The calls of a scope with the types of their arguments: explicit calls, calls that a library function makes
//! (`lax.scan(body, …)` calls `body`), and implicit calls of special methods.

use ruff_db::parsed::parsed_module;
use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ty_python_semantic::HasType;
use ty_python_semantic::types::Type;

use super::{Inference, locate, resolve};
use ag_index::answers::{ArgumentSlot, CallSite, Target};
use ag_index::assumed::AssumedType;
use ag_index::callbacks;
use ag_index::dialect::Dialect;
use ag_index::facts::{Alternative, TensorKind};
use ag_index::index::{FileIndex, last_name};
use ag_index::lambdas;
use ag_index::lambdas::{Called, CalledBy, LambdaTypes};
use ag_syntax::expressions::ExprId;

impl Inference<'_> {
    /// Adds a call, or the calls that the called library function makes.
    pub(super) fn call(
        &self,
        call: &ast::ExprCall,
        expression: ExprId,
        index: &FileIndex,
        lambda: &dyn Fn(&Expr) -> Option<ExprId>,
        calls: &mut Vec<CallSite>,
    ) {
        if let Some(caller) =
            index.imports.resolve(&call.func).and_then(|name| callbacks::higher_order_function(&name))
        {
            let passed = self.passed_arguments(caller, call);
            for function in caller.functions_of(call) {
                let targets = self.targets(function);
                if !targets.is_empty() {
                    calls.push(CallSite {
                        arguments: passed.clone(),
                        implicit: !caller.converts,
                        ..CallSite::of(targets, Some(expression))
                    });
                }
            }
            return;
        }
        if let Some(method) = callbacks::dataset_method(call)
            && let Some(receiver) = self.type_of(method.receiver)
            && self.fact(receiver).tensor_kind() == Some(TensorKind::Dataset)
        {
            let targets = self.targets(method.function);
            if !targets.is_empty() {
                let arguments = self.dataset_elements(receiver, call);
                calls.push(CallSite { arguments, ..CallSite::of(targets, Some(expression)) });
            }
            return;
        }
        if let Some(site) = self.derivative_rule(call, expression) {
            calls.push(site);
            return;
        }
        if let Some(site) = self.functional_call(index, call, expression) {
            calls.push(site);
            return;
        }
        if let Some(site) = self.application(index, call, expression) {
            calls.push(site);
            return;
        }
        if self.autograd_function(call, expression, calls) {
            return;
        }
        if let Some((function, arguments)) = self.applied_to_elements(index, call) {
            let targets = self.targets(function);
            let arguments = arguments.into_iter().zip(0..);
            let arguments = arguments.map(|(assumed, position)| (ArgumentSlot::Position(position), assumed));
            if !targets.is_empty() {
                calls.push(CallSite {
                    arguments: arguments.collect(),
                    implicit: true,
                    ..CallSite::of(targets, Some(expression))
                });
            }
            return;
        }
        let mut targets = self.targets(&call.func);
        // `module.apply(variables, x, method=Net.encode)`: `encode` receives the arguments after the first one.
        let applies = !targets.is_empty()
            && call.func.as_attribute_expr().is_some_and(|method| {
                resolve::is_application(&method.attr)
                    && targets.iter().all(|target| target.path.name() != method.attr.as_str())
            });
        if applies && let Some(method) = call.arguments.find_keyword("method") {
            targets = match &method.value {
                Expr::StringLiteral(name) => match call.func.as_attribute_expr() {
                    Some(attribute) => self.methods(&attribute.value, name.value.to_str()),
                    None => Vec::new(),
                },
                method => self.targets(method),
            };
            targets.iter_mut().for_each(|target| target.bound = true);
        }
        if targets.is_empty() {
            self.sequence(call, expression, calls);
        }
        let (mut bound, mut skip) = (0, 0);
        if applies || targets.iter().any(|target| !is_named(&call.func, target)) {
            (bound, skip) = self.argument_offsets(&call.func);
        }
        let mut open = applies || bound > 0;
        let mut partial = false;
        let missing = self.missing_method(&call.func, &targets);
        if missing.is_some() {
            targets.clear();
        }
        if targets.is_empty() && missing.is_none() {
            // `strategy.run(step, args=(x, y))`, `partial(f, x)`, `jax.jit(f)(x)`, `jax.vmap(f)(x)`.
            let Some((function, skipped)) = resolve::applied_function(&index.imports, call) else { return };
            targets = self.targets(function);
            skip = skipped;
            partial = skipped > 0;
            if targets.is_empty() {
                return;
            }
            if call.func.is_call_expr() {
                // `jax.jit(partial(f, a))(x)`: `x` is the second argument of `f`.
                (bound, _) = self.argument_offsets(&call.func);
                open |= bound > 0;
            }
        }
        let mut site =
            CallSite { open: partial, partial, missing, ..CallSite::of(targets, Some(expression)) };
        let mut spread = None;
        let mut give = |slot: ArgumentSlot, argument: &Expr| {
            if let Some(id) = lambda(argument) {
                site.lambdas.push((slot.clone(), id));
            } else if argument.is_name_expr() {
                let functions = self.local_functions(argument).into_iter();
                site.functions.extend(functions.map(|function| (slot.clone(), function)));
            }
            site.arguments.push((slot, self.assumed(argument)));
        };
        for (position, argument) in call.arguments.args.iter().skip(skip).enumerate() {
            let position = position + bound;
            if let Expr::Starred(starred) = argument {
                // `combine(*features)`: the first element, if all elements have the same type.
                let element = self.elements(&starred.value);
                if !element.unknown && element.alternatives().len() == 1 {
                    spread = Some((ArgumentSlot::Position(position as u32), element));
                }
                open = true;
                break;
            }
            give(ArgumentSlot::Position(position as u32), argument);
        }
        for keyword in &call.arguments.keywords {
            match &keyword.arg {
                Some(name)
                    if applies
                        && matches!(
                            name.as_str(),
                            "method" | "mutable" | "rngs" | "capture_intermediates" | "variables"
                        ) => {}
                Some(name) => give(ArgumentSlot::Keyword(name.id.clone()), &keyword.value),
                None => open = true,
            }
        }
        site.arguments.extend(spread);
        site.open |= open;
        site.on_self = on_self(&call.func) || is_transformed_method_of_self(&index.imports, &call.func);
        calls.push(site);
        let setup = self.setup_before(&call.func);
        if !setup.is_empty() {
            calls.push(CallSite { open: true, implicit: true, ..CallSite::of(setup, Some(expression)) });
        }
    }

    /// Returns the method that `self.method(…)` calls, if the class does not define it. Then its type is unknown, or it is
    /// the method that annotated source declares instead.
    fn missing_method(&self, callee: &Expr, targets: &[Target]) -> Option<Name> {
        let method = callee.as_attribute_expr().filter(|_| on_self(callee))?;
        let is_missing = match targets {
            [] => matches!(self.type_of(callee), Some(Type::Dynamic(_))),
            targets => targets.iter().all(|target| {
                target.document == self.source.document
                    && self.source.index.definitions.find(&target.path).is_none()
            }),
        };
        is_missing.then(|| method.attr.id.clone())
    }

    /// Returns the function that Python applies to elements, and the types of its arguments: `map(f, xs)`,
    /// `sorted(xs, key=f)`, `reduce(f, xs)`, `reduce(f, xs, start)`.
    fn applied_to_elements<'e>(
        &self,
        index: &FileIndex,
        call: &'e ast::ExprCall,
    ) -> Option<(&'e Expr, Vec<AssumedType>)> {
        if index.imports.resolve(&call.func).is_some_and(|name| name == "functools.reduce") {
            let (function, iterable, start) = match &*call.arguments.args {
                [function, iterable] => (function, iterable, None),
                [function, iterable, start] => (function, iterable, Some(start)),
                _ => return None,
            };
            let element = self.elements(iterable);
            let first = start.map_or_else(|| element.clone(), |start| self.assumed(start));
            return Some((function, vec![first, element]));
        }
        let (function, iterables) = resolve::applied_by_builtin(call)?;
        Some((function, iterables.iter().map(|iterable| self.elements(iterable)).collect()))
    }

    /// Adds the call of a property, or of the method of an operator: `state.total`, `a + b`, `-a`, `a < b`, `x in a`,
    /// `a[x]`, `len(a)`.
    pub(super) fn special_method(&self, expression: &Expr, id: ExprId, calls: &mut Vec<CallSite>) {
        let (object, name, argument) = match expression {
            Expr::Attribute(attribute) if attribute.ctx.is_load() => (&*attribute.value, None, None),
            Expr::BinOp(operation) => {
                (&*operation.left, Some(operation.op.dunder()), Some(&*operation.right))
            }
            Expr::UnaryOp(operation) => match operation.op {
                ast::UnaryOp::USub => (&*operation.operand, Some("__neg__"), None),
                _ => return,
            },
            Expr::Compare(compare) => {
                let ([op], [right]) = (&*compare.ops, &*compare.comparators) else { return };
                let name = match op {
                    ast::CmpOp::Lt => "__lt__",
                    ast::CmpOp::LtE => "__le__",
                    ast::CmpOp::Gt => "__gt__",
                    ast::CmpOp::GtE => "__ge__",
                    ast::CmpOp::Eq => "__eq__",
                    ast::CmpOp::NotEq => "__ne__",
                    ast::CmpOp::In | ast::CmpOp::NotIn => "__contains__",
                    ast::CmpOp::Is | ast::CmpOp::IsNot => return,
                };
                match name {
                    "__contains__" => (right, Some(name), Some(&*compare.left)),
                    _ => (&*compare.left, Some(name), Some(right)),
                }
            }
            Expr::Subscript(item) if item.ctx.is_load() => {
                (&*item.value, Some("__getitem__"), Some(&*item.slice))
            }
            Expr::Call(call) if call.func.as_name_expr().is_some_and(|name| name.id.as_str() == "len") => {
                let Some(object) = call.arguments.args.first() else { return };
                (object, Some("__len__"), None)
            }
            _ => return,
        };
        let targets = match (name, expression) {
            (Some(name), _) => self.methods(object, name),
            (None, Expr::Attribute(attribute)) => self.property(attribute),
            (None, _) => return,
        };
        if !targets.is_empty() {
            let argument = argument.map(|argument| (ArgumentSlot::Position(0), self.assumed(argument)));
            calls.push(CallSite {
                arguments: argument.into_iter().collect(),
                implicit: true,
                on_self: on_self(expression),
                ..CallSite::of(targets, Some(id))
            });
        }
    }

    /// Adds the calls of the modules in a sequence: `self.body(x)`, where
    /// `self.body = nn.Sequential(Encoder(), Head())`. The first module receives `x`. The others usually receive a
    /// value of the same type.
    fn sequence(&self, call: &ast::ExprCall, expression: ExprId, calls: &mut Vec<CallSite>) {
        let Some(argument) = call.arguments.args.first().filter(|argument| !argument.is_starred_expr())
        else {
            return;
        };
        for target in self.modules_of_sequence(&call.func) {
            calls.push(CallSite {
                arguments: vec![(ArgumentSlot::Position(0), self.assumed(argument))],
                implicit: true,
                ..CallSite::of(vec![target], Some(expression))
            });
        }
    }

    /// Returns the call of `module` that `functional_call(module, parameters, (x, y))` makes.
    fn functional_call(
        &self,
        index: &FileIndex,
        call: &ast::ExprCall,
        expression: ExprId,
    ) -> Option<CallSite> {
        const NAMES: [&str; 3] = [
            "torch.func.functional_call",
            "torch.nn.utils.stateless.functional_call",
            "functorch.functional_call",
        ];
        index.imports.resolve(&call.func).filter(|name| NAMES.contains(&name.as_str()))?;
        let targets = self.targets(call.arguments.find_argument_value("module", 0)?);
        if targets.is_empty() {
            return None;
        }
        let passed = match call.arguments.find_argument_value("args", 2) {
            Some(Expr::Tuple(tuple)) => tuple.elts.as_slice(),
            Some(other) => std::slice::from_ref(other),
            None => &[],
        };
        let open = call.arguments.find_argument_value("kwargs", 3).is_some()
            || passed.iter().any(Expr::is_starred_expr);
        let passed = passed.iter().take_while(|argument| !argument.is_starred_expr()).zip(0..);
        let arguments =
            passed.map(|(argument, position)| (ArgumentSlot::Position(position), self.assumed(argument)));
        Some(CallSite { arguments: arguments.collect(), open, ..CallSite::of(targets, Some(expression)) })
    }

    /// Returns the call of `step` that `strategy.run(step, args=(x, y))` makes, and that of `f` that
    /// `torch.utils.checkpoint.checkpoint(f, x)` makes.
    fn application(&self, index: &FileIndex, call: &ast::ExprCall, expression: ExprId) -> Option<CallSite> {
        let first = call.arguments.args.first()?;
        let passed = match &*call.func {
            Expr::Attribute(method) if matches!(method.attr.as_str(), "run" | "experimental_run_v2") => {
                let Expr::Tuple(tuple) = call.arguments.find_argument_value("args", 1)? else { return None };
                self.may_be_strategy(index, &method.value).then_some(tuple.elts.as_slice())?
            }
            function => {
                index.imports.resolve(function).filter(|name| name == "torch.utils.checkpoint.checkpoint")?;
                call.arguments.args.get(1..)?
            }
        };
        let targets = self.targets(first);
        if targets.is_empty() {
            return None;
        }
        let open = !call.arguments.keywords.is_empty() || passed.iter().any(Expr::is_starred_expr);
        let passed = passed.iter().take_while(|argument| !argument.is_starred_expr()).zip(0..);
        let arguments =
            passed.map(|(argument, position)| (ArgumentSlot::Position(position), self.assumed(argument)));
        Some(CallSite { arguments: arguments.collect(), open, ..CallSite::of(targets, Some(expression)) })
    }

    /// Adds the calls that `Clamp.apply(x, limit)` makes if `Clamp` is a `torch.autograd.Function`: of `forward`, which
    /// receives a context first unless the class has a method `setup_context`, and of `backward`, which receives a
    /// context and gradients. Returns whether it is such a call.
    fn autograd_function(&self, call: &ast::ExprCall, expression: ExprId, calls: &mut Vec<CallSite>) -> bool {
        let Some(method) = call.func.as_attribute_expr().filter(|it| it.attr.as_str() == "apply") else {
            return false;
        };
        let Some(ty @ Type::ClassLiteral(_)) = self.type_of(&method.value) else { return false };
        let Some(class) = self.class_of(ty).filter(|class| self.derives_from(*class, "torch.autograd"))
        else {
            return false;
        };
        let own = |name: &str| {
            let mut targets = Vec::new();
            self.add_method(class, &[name], &mut targets);
            targets.iter_mut().for_each(|target| target.bound = false);
            targets
        };
        let first = u32::from(own("setup_context").is_empty());
        let passed =
            call.arguments.args.iter().take_while(|argument| !argument.is_starred_expr()).zip(first..);
        let arguments =
            passed.map(|(argument, position)| (ArgumentSlot::Position(position), self.assumed(argument)));
        let open = call.arguments.args.iter().any(Expr::is_starred_expr);
        let forward = CallSite {
            arguments: arguments.collect(),
            open,
            ..CallSite::of(own("forward"), Some(expression))
        };
        let gradient = (ArgumentSlot::Position(1), Dialect::Torch.assumed_argument());
        let backward = CallSite {
            arguments: vec![gradient],
            open: true,
            implicit: true,
            ..CallSite::of(own("backward"), Some(expression))
        };
        calls.extend([forward, backward].into_iter().filter(|site| !site.targets.is_empty()));
        true
    }

    /// Returns whether an object is a `tf.distribute.Strategy`, or of unknown type in a file that uses TensorFlow.
    fn may_be_strategy(&self, index: &FileIndex, object: &Expr) -> bool {
        let Some(fact) = self.type_of(object).map(|ty| self.fact(ty)) else { return false };
        let is_strategy = |alternative: &Alternative| matches!(alternative, Alternative::Instance { module: Some(module), .. } if module.starts_with("tensorflow.distribute"));
        match fact.alternatives.as_slice() {
            [] => index.imports.uses("tensorflow"),
            known => known.iter().all(is_strategy),
        }
    }

    /// Returns the call of `forward` that `f.defvjp(forward, backward)` implies. It has the arguments of `f`.
    fn derivative_rule(&self, call: &ast::ExprCall, expression: ExprId) -> Option<CallSite> {
        let method = call.func.as_attribute_expr().filter(|method| method.attr.as_str() == "defvjp")?;
        let forward = callbacks::argument(call, 0, "fwd")?;
        let target =
            self.targets(&method.value).into_iter().find(|target| target.document == self.source.document)?;
        let module = parsed_module(self.db, self.model.python_file()).load(self.db);
        let def = locate::function(self.db, self.file, &module, &target.path)?;
        let parameters = def.parameters.iter_non_variadic_params().zip(0..);
        let arguments = parameters.map(|(parameter, position)| {
            let mut assumed = AssumedType::default();
            match parameter.inferred_type(&self.model) {
                Some(ty) => self.add_assumed(ty, &mut assumed),
                None => assumed.unknown = true,
            }
            (ArgumentSlot::Position(position), assumed)
        });
        Some(CallSite {
            arguments: arguments.collect(),
            implicit: true,
            ..CallSite::of(self.targets(forward), Some(expression))
        })
    }

    pub(super) fn is_called(&self, called: &Called) -> bool {
        let CalledBy::Dataset(receiver) = called.by else { return true };
        self.type_of(receiver).is_some_and(|ty| self.fact(ty).tensor_kind() == Some(TensorKind::Dataset))
    }

    /// Adds the parameter types of lambdas that a library calls. `inner` are the expressions of the scope in pre-order,
    /// beginning with the call. `position` is the id of the call.
    pub(super) fn lambdas(
        &self,
        called: &Called,
        call: &ast::ExprCall,
        (position, inner): (usize, &[&Expr]),
        types: &mut Vec<LambdaTypes>,
    ) {
        if !self.is_called(called) {
            return;
        }
        let passed = match called.by {
            CalledBy::Function(caller) => self.passed_arguments(caller, call),
            CalledBy::Dataset(receiver) => match self.type_of(receiver) {
                Some(receiver) => self.dataset_elements(receiver, call),
                None => return,
            },
            CalledBy::Wrapper(_) => Vec::new(),
        };
        for lambda in &called.lambdas {
            let is_lambda = |expression: &&Expr| {
                expression.as_lambda_expr().is_some_and(|other| std::ptr::eq(other, *lambda))
            };
            let Some(distance) = inner.iter().position(is_lambda) else { continue };
            let parameters = match called.by {
                CalledBy::Wrapper(dialect) => lambdas::parameters(lambda)
                    .map(|name| match name.as_str() {
                        "training" => AssumedType::unknown(),
                        _ => dialect.assumed_argument(),
                    })
                    .collect(),
                _ => passed.iter().map(|(_, assumed)| assumed.clone()).collect(),
            };
            types.push(LambdaTypes { id: ExprId((position + distance) as u32), parameters });
        }
    }

    /// Adds the implicit method calls of `with` and `for` on objects of the project.
    pub(super) fn implicit_calls(
        &self,
        body: &[Stmt],
        id: &dyn Fn(&Expr) -> Option<ExprId>,
        calls: &mut Vec<CallSite>,
    ) {
        use ruff_python_ast::statement_visitor::{StatementVisitor, walk_stmt};
        struct Protocols<'a>(Vec<(&'a Expr, &'static [&'static str])>);
        impl<'a> StatementVisitor<'a> for Protocols<'a> {
            fn visit_stmt(&mut self, statement: &'a Stmt) {
                match statement {
                    Stmt::With(node) => self.0.extend(
                        node.items.iter().map(|item| (&item.context_expr, &["__enter__", "__exit__"][..])),
                    ),
                    Stmt::For(node) => self.0.push((&node.iter, &["__iter__", "__next__"])),
                    Stmt::FunctionDef(_) | Stmt::ClassDef(_) => return,
                    _ => {}
                }
                walk_stmt(self, statement);
            }
        }
        let mut protocols = Protocols(Vec::new());
        protocols.visit_body(body);
        for (object, methods) in protocols.0 {
            let targets: Vec<_> = methods.iter().flat_map(|method| self.methods(object, method)).collect();
            if !targets.is_empty() {
                calls.push(CallSite { open: true, implicit: true, ..CallSite::of(targets, id(object)) });
            }
        }
    }
}

/// Returns whether the last part of the callee's name is the name of the function. It is not if the function is called
/// through another value.
fn is_named(callee: &Expr, target: &Target) -> bool {
    last_name(callee).is_some_and(|name| name == target.path.name())
}

/// Returns whether a callee is a method of `self` that a function of a library transforms:
/// `jax.value_and_grad(self.loss)(params)`.
fn is_transformed_method_of_self(imports: &ag_syntax::imports::Imports, callee: &Expr) -> bool {
    callee.as_call_expr().is_some_and(|made| {
        imports.resolve(&made.func).is_some() && made.arguments.args.first().is_some_and(on_self)
    })
}

/// Returns whether a callee is `self.method`.
fn on_self(callee: &Expr) -> bool {
    let receiver = callee.as_attribute_expr().and_then(|attribute| attribute.value.as_name_expr());
    receiver.is_some_and(|receiver| matches!(receiver.id.as_str(), "self" | "cls"))
}
