//! Statements.

use ag_staging::construct::ConstructKind;
use ag_syntax::expressions;
use ruff_python_ast::{self as ast, Expr, Operator, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::captures::Holder;
use super::leaks::Place;
use super::values::{Flow, Function, Value};
use super::{Evaluated, Evaluation, Frame, Framework, MOST_ITERATIONS, Stop};
use crate::names::bound_names;
use std::rc::Rc;

/// The number of expressions that are evaluated of a loop with many iterations. A last iteration is completed.
const MOST_OF_LOOP: usize = 6_000;

impl<'a> Evaluation<'_, 'a> {
    pub(super) fn block(&mut self, body: &'a [Stmt], frame: &Frame<'a>) -> Evaluated<Flow<'a>> {
        for statement in body {
            match self.statement(statement, frame)? {
                Flow::Next => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, statement: &'a Stmt, frame: &Frame<'a>) -> Evaluated<Flow<'a>> {
        match statement {
            Stmt::Expr(node) => drop(self.value(&node.value, frame)?),
            Stmt::Assign(node) => {
                let value = self.value(&node.value, frame)?;
                self.is_computed = self.uses_local_tensor(&node.value, frame);
                for target in &node.targets {
                    self.assignment = Some(node.range());
                    self.assign(target, value.clone(), frame)?;
                }
                self.assignment = None;
            }
            Stmt::AnnAssign(node) => {
                if let Some(value) = &node.value {
                    let value = self.value(value, frame)?;
                    self.assign(&node.target, value, frame)?;
                }
            }
            Stmt::AugAssign(node) => {
                let left = self.value(&node.target, frame)?;
                let right = self.value(&node.value, frame)?;
                let value = self.operation(node.op, &left, &right, node.range())?;
                if let (Value::List(elements), Operator::Add) = (&left, node.op) {
                    // The list itself grows.
                    let more = self.elements(&right)?;
                    let mut elements = elements.borrow_mut();
                    *elements = elements.take().zip(more).map(|(known, more)| [known, more].concat());
                } else if matches!(left, Value::List(_)) {
                    left.forget();
                } else {
                    if matches!(&*node.target, Expr::Attribute(_))
                        && (left.is_number() || right.is_number() && self.was_number(&node.target, frame))
                    {
                        self.frozen(&node.target, node.range());
                    }
                    self.assign(&node.target, value, frame)?;
                }
            }
            Stmt::Return(node) => {
                let value =
                    node.value.as_deref().map_or(Ok(Value::None), |value| self.value(value, frame))?;
                return Ok(Flow::Return(value));
            }
            Stmt::If(node) => return self.conditional(statement, node, frame),
            Stmt::For(node) => return self.loop_over(statement, node, frame),
            Stmt::While(node) => return self.loop_while(statement, node, frame),
            Stmt::Match(node) => return self.matched(statement, node, frame),
            Stmt::With(node) => return self.with(statement, node, frame),
            Stmt::FunctionDef(def) => {
                let value = self.defined(def, frame)?;
                frame.scope.set(def.name.as_str(), value);
            }
            Stmt::ClassDef(class) => {
                self.own(class);
                let value = if Rc::ptr_eq(&frame.scope, &self.module) {
                    self.decorated(Value::Class(class), &class.decorator_list, frame)?
                } else {
                    Value::Unknown
                };
                if matches!(value, Value::Class(kept) if kept.range == class.range) {
                    self.kept.insert(class);
                }
                frame.scope.set(class.name.as_str(), value);
            }
            Stmt::Break(_) => return Ok(Flow::Break),
            Stmt::Continue(_) => return Ok(Flow::Continue),
            Stmt::Raise(_) => return Ok(Flow::Leave),
            Stmt::Nonlocal(node) if self.explores() => {
                frame.scope.nonlocals.borrow_mut().extend(node.names.iter().map(|name| name.as_str()));
            }
            Stmt::Try(node) if self.explores() => {
                // An exception ends the body somewhere.
                let handlers = node.handlers.iter().filter_map(|it| it.as_except_handler());
                let mut branches: Vec<&[Stmt]> = vec![&node.body];
                branches.extend(handlers.map(|handler| handler.body.as_slice()));
                let flow = self.explore(statement, &branches, frame)?;
                return match flow {
                    Flow::Next => self.block(&node.finalbody, frame),
                    flow => Ok(flow),
                };
            }
            Stmt::Assert(node) if self.framework == Framework::Arrays => {
                let value = self.value(&node.test, frame)?;
                self.decide(&node.test, &value, ConstructKind::Assert);
            }
            // In a nested function, the functions around it may have variables with these names.
            Stmt::Global(ast::StmtGlobal { names, .. })
                if frame.scope.parent.as_ref().is_some_and(|parent| Rc::ptr_eq(parent, &self.module)) =>
            {
                frame.scope.globals.borrow_mut().extend(names.iter().map(|name| name.as_str()));
            }
            Stmt::Global(ast::StmtGlobal { names, .. }) | Stmt::Nonlocal(ast::StmtNonlocal { names, .. }) => {
                names.iter().for_each(|name| frame.scope.forget(name.as_str()));
                return Ok(Flow::Leave);
            }
            Stmt::Pass(_) | Stmt::Import(_) | Stmt::ImportFrom(_) | Stmt::Assert(_) => {}
            _ => return Ok(self.skip_further(statement, frame)),
        }
        Ok(Flow::Next)
    }

    /// Evaluates the body of a `with` statement whose context manager is not of the project.
    fn with_library(
        &mut self,
        statement: &'a Stmt,
        node: &'a ast::StmtWith,
        frame: &Frame<'a>,
    ) -> Evaluated<Flow<'a>> {
        // In these, arrays have values, or exceptions are expected.
        const OTHER: [&str; 5] = [
            "pytest.",
            "contextlib.suppress",
            "jax.ensure_compile_time_eval",
            "jax.disable_jit",
            "unittest.",
        ];
        let mut handles = false;
        for item in &node.items {
            let call = item.context_expr.as_call_expr();
            let name = call.and_then(|call| self.ctx.resolve(&call.func)).unwrap_or_default();
            if OTHER.iter().any(|other| name.starts_with(other)) {
                return Ok(self.skip_further(statement, frame));
            }
            handles |= !super::packages::PACKAGES.iter().any(|package| name.starts_with(package));
            self.value(&item.context_expr, frame)?;
            if let Some(target) = &item.optional_vars {
                self.assign(target, Value::Unknown, frame)?;
            }
        }
        if handles {
            self.explore(statement, &[&node.body, &[]], frame)
        } else {
            self.block(&node.body, frame)
        }
    }

    fn conditional(
        &mut self,
        statement: &'a Stmt,
        node: &'a ast::StmtIf,
        frame: &Frame<'a>,
    ) -> Evaluated<Flow<'a>> {
        let first = (Some(&*node.test), node.body.as_slice());
        let clauses = node.elif_else_clauses.iter().map(|it| (it.test.as_ref(), it.body.as_slice()));
        for (index, (test, body)) in std::iter::once(first).chain(clauses).enumerate() {
            let Some(test) = test else { return self.block(body, frame) };
            let value = self.value(test, frame)?;
            let only_raises = matches!(body, [Stmt::Raise(_)]) && node.elif_else_clauses.is_empty();
            let truth = if only_raises && self.is_recorded() {
                value.truth()
            } else {
                self.decide(test, &value, ConstructKind::If)
            };
            match truth {
                Some(true) => return self.block(body, frame),
                Some(false) => {}
                // `if x.shape[1] > limit: raise ValueError`: the program does not raise if it runs on.
                None if only_raises => {}
                None if self.explores() => {
                    let clauses = &node.elif_else_clauses;
                    let mut branches: Vec<&[Stmt]> = vec![body];
                    branches.extend(clauses.iter().skip(index).map(|it| it.body.as_slice()));
                    if clauses.last().is_none_or(|last| last.test.is_some()) {
                        branches.push(&[]);
                    }
                    return self.explore(statement, &branches, frame);
                }
                None => return Ok(self.skip(std::slice::from_ref(statement), frame)),
            }
        }
        Ok(Flow::Next)
    }

    /// Runs the body of a loop once. Returns how the loop ends; `None` if it goes on.
    fn iteration(
        &mut self,
        statement: &'a Stmt,
        body: &'a [Stmt],
        frame: &Frame<'a>,
    ) -> Evaluated<Option<Flow<'a>>> {
        let outer = std::mem::take(&mut self.jumped);
        let flow = self.block(body, frame)?;
        if std::mem::replace(&mut self.jumped, outer)
            && matches!(flow, Flow::Next | Flow::Continue | Flow::Break)
        {
            return Ok(Some(self.skip_loop(statement, frame)));
        }
        Ok(match flow {
            Flow::Next | Flow::Continue => None,
            Flow::Break => Some(Flow::Next),
            Flow::Jump => Some(self.skip_loop(statement, frame)),
            flow => Some(flow),
        })
    }

    fn loop_over(
        &mut self,
        statement: &'a Stmt,
        node: &'a ast::StmtFor,
        frame: &Frame<'a>,
    ) -> Evaluated<Flow<'a>> {
        let iterable = self.value(&node.iter, frame)?;
        if matches!(iterable, Value::Proxy) {
            return Err(self.needs_symbol("the iteration is over", node.iter.range()));
        }
        let elements = self.elements(&iterable)?.filter(|it| it.len() <= MOST_ITERATIONS);
        let Some(elements) = elements else {
            if !self.explores()
                && let Some(elements) = self.first_numbers(&node.iter, frame)?
            {
                return self.first_iterations(statement, node, elements, frame);
            }
            if self.explores() && !node.is_async {
                let element = iterable.element().unwrap_or(Value::Unknown);
                return self.unknown_loop(statement, Some((&node.target, element)), &node.body, frame);
            }
            return Ok(self.skip_loop(statement, frame));
        };
        for element in elements {
            self.assign(&node.target, element, frame)?;
            if let Some(end) = self.iteration(statement, &node.body, frame)? {
                return Ok(end);
            }
        }
        self.block(&node.orelse, frame)
    }

    /// Evaluates the first iterations of a loop that has more. What later ones may change is forgotten.
    ///
    /// ```python
    /// for step in range(1000):
    ///     loss = compiled(x, step)
    /// ```
    fn first_iterations(
        &mut self,
        statement: &'a Stmt,
        node: &'a ast::StmtFor,
        elements: Vec<Value<'a>>,
        frame: &Frame<'a>,
    ) -> Evaluated<Flow<'a>> {
        let start = self.steps;
        for element in elements {
            self.assign(&node.target, element, frame)?;
            if let Some(end) = self.iteration(statement, &node.body, frame)? {
                return Ok(end);
            }
            if self.steps > start + MOST_OF_LOOP {
                break;
            }
        }
        Ok(self.skip_loop(statement, frame))
    }

    fn loop_while(
        &mut self,
        statement: &'a Stmt,
        node: &'a ast::StmtWhile,
        frame: &Frame<'a>,
    ) -> Evaluated<Flow<'a>> {
        let start = self.steps;
        for _ in 0..MOST_ITERATIONS {
            if !self.explores() && self.steps > start + MOST_OF_LOOP {
                break;
            }
            let value = self.value(&node.test, frame)?;
            match self.decide(&node.test, &value, ConstructKind::While) {
                Some(true) => {}
                Some(false) => return self.block(&node.orelse, frame),
                None => break,
            }
            if let Some(end) = self.iteration(statement, &node.body, frame)? {
                return Ok(end);
            }
        }
        if self.explores() {
            return self.unknown_loop(statement, None, &node.body, frame);
        }
        Ok(self.skip_loop(statement, frame))
    }

    /// Forgets what a loop may change. A `break` in it ends only the loop.
    fn skip_loop(&mut self, statement: &'a Stmt, frame: &Frame<'a>) -> Flow<'a> {
        let outer = self.jumped;
        let flow = self.skip_further(statement, frame);
        self.jumped = outer;
        match flow {
            Flow::Jump => Flow::Next,
            flow => flow,
        }
    }

    fn with(
        &mut self,
        statement: &'a Stmt,
        node: &'a ast::StmtWith,
        frame: &Frame<'a>,
    ) -> Evaluated<Flow<'a>> {
        let mut entered = Vec::new();
        for item in &node.items {
            // A class of the file.
            let context = match item.context_expr.as_call_expr() {
                Some(call) if self.ctx.resolve(&call.func).is_none() => {
                    self.value(&item.context_expr, frame)?
                }
                _ => Value::Unknown,
            };
            if !node.is_async
                && let Some((manager, value)) = self.enter(&context, item.context_expr.range())?
            {
                if let Some(target) = &item.optional_vars {
                    self.assign(target, value, frame)?;
                }
                entered.push(manager);
                continue;
            }
            // Other context managers may handle exceptions: `with pytest.raises(RuntimeError):`
            let of_torch = item
                .context_expr
                .as_call_expr()
                .and_then(|call| self.ctx.resolve(&call.func))
                .is_some_and(|name| name.starts_with("torch.") || name == "contextlib.nullcontext");
            if of_torch {
                self.value(&item.context_expr, frame)?;
            }
            if self.explores() && !node.is_async && !of_torch {
                return self.with_library(statement, node, frame);
            }
            if !of_torch || node.is_async {
                return Ok(self.skip(std::slice::from_ref(statement), frame));
            }
            if let Some(target) = &item.optional_vars {
                self.assign(target, Value::Unknown, frame)?;
            }
        }
        let flow = self.block(&node.body, frame)?;
        for manager in entered.into_iter().rev() {
            self.leave(manager)?;
        }
        Ok(flow)
    }

    pub(super) fn assign(&mut self, target: &'a Expr, value: Value<'a>, frame: &Frame<'a>) -> Evaluated<()> {
        match target {
            Expr::Name(name) => {
                if frame.scope.globals.borrow().contains(name.id.as_str()) {
                    self.assigned(None, &name.id, target.range());
                }
                if frame.scope.is_declared_outer(&name.id) {
                    let place = Place::Variable(frame.scope.clone(), name.id.as_str());
                    self.stored(place, &value, target.range());
                }
                frame.scope.set(name.id.as_str(), value);
            }
            Expr::Attribute(attribute) => {
                let object = self.value(&attribute.value, frame)?;
                if matches!(object, Value::Tensor(..)) && attribute.attr.as_str() == "data" {
                    return Err(Stop);
                }
                if let Value::Object(changed) = &object {
                    let is_named = attribute.value.is_name_expr();
                    self.changed(&Holder::Object(changed.clone()), is_named, &attribute.attr, &value);
                }
                self.set_attribute(&object, &attribute.attr, value, target.range());
            }
            Expr::Tuple(_) | Expr::List(_) => {
                let targets = expressions::sequence(target).unwrap_or_default();
                if let Value::Proxy = value {
                    if targets.iter().any(Expr::is_starred_expr) {
                        return Err(self.needs_symbol("an assignment with `*` iterates over", target.range()));
                    }
                    for target in targets {
                        self.assign(target, Value::Proxy, frame)?;
                    }
                    return Ok(());
                }
                let elements = match value.element() {
                    Some(element) if self.explores() => Some(vec![element; targets.len()]),
                    _ => self.elements(&value)?,
                };
                match elements.filter(|elements| {
                    elements.len() == targets.len() && !targets.iter().any(Expr::is_starred_expr)
                }) {
                    Some(elements) => {
                        for (target, element) in targets.iter().zip(elements) {
                            self.assign(target, element, frame)?;
                        }
                    }
                    None => {
                        self.check_count(target, targets, &value);
                        bound_names(target)
                            .into_iter()
                            .for_each(|name| frame.scope.set(name, Value::Unknown));
                    }
                }
            }
            Expr::Subscript(item) => {
                let key = self.value(&item.slice, frame)?;
                // `self.__dict__["rate"] = rate`
                if let (Expr::Attribute(attributes), Value::Text(name)) = (&*item.value, &key)
                    && attributes.attr.as_str() == "__dict__"
                {
                    let object = self.value(&attributes.value, frame)?;
                    self.set_attribute(&object, name, value, target.range());
                    return Ok(());
                }
                let container = self.value(&item.value, frame)?;
                if let (Value::Dict(items), Some(key)) = (&container, key.key()) {
                    self.changed(&Holder::Dictionary(items.clone()), false, &key, &value);
                }
                if let Some(name) = Value::global_item(&item.value, &key, frame) {
                    self.assigned(None, &name, target.range());
                }
                self.stored(Place::Container(container.clone()), &value, target.range());
                self.changes_state(&container, target.range());
                if let Value::Proxy = container {
                    return Err(self.needs_symbol("an assignment changes an element of", target.range()));
                }
                match (&container, key) {
                    (Value::Dict(items), key) if let Some(key) = key.key() => {
                        if let Some(items) = items.borrow_mut().as_mut() {
                            items.retain(|(known, _)| *known != key);
                            items.push((key, value));
                        }
                    }
                    (Value::List(elements), Value::Int(index)) if self.explores() => {
                        let mut elements = elements.borrow_mut();
                        let place = elements.as_mut().and_then(|elements| {
                            let index = super::sizes::index_of(elements.len(), index)?;
                            elements.get_mut(index)
                        });
                        if let Some(place) = place {
                            *place = value;
                        }
                    }
                    (Value::Table(common) | Value::Many(common), _) => {
                        let known = common.borrow().clone();
                        *common.borrow_mut() =
                            Some(known.map_or(value.clone(), |known| known.joined(&value)));
                    }
                    _ => container.forget(),
                }
            }
            Expr::Starred(starred) => self.assign(&starred.value, Value::Unknown, frame)?,
            _ => {}
        }
        Ok(())
    }

    /// Assigns an attribute: `object.name = value`, or `setattr(object, "name", value)`.
    pub(super) fn set_attribute(
        &mut self,
        object: &Value<'a>,
        name: &str,
        value: Value<'a>,
        range: TextRange,
    ) {
        let own = self.text_of(name);
        self.changes_state(object, range);
        if matches!(object, Value::Namespace(_)) {
            self.stored(Place::Container(object.clone()), &value, range);
        }
        match (object, own) {
            (Value::Object(object), _) if !self.defines(object, name) => {
                self.assigns_mapped(object, name, &value, range);
                self.lost(object, name, &value, range);
                self.stored(Place::Attribute(object.clone(), name.to_owned()), &value, range);
                self.assigned(Some(object), name, range);
                self.changed_after(object, name, &value, range);
                if let Some(attributes) = object.attributes.borrow_mut().as_mut() {
                    attributes.insert(name.to_owned(), value);
                }
            }
            (Value::Namespace(items), _) => {
                if let Some(items) = items.borrow_mut().as_mut() {
                    items.retain(|(known, _)| **known != *name);
                    items.push((name.into(), value));
                }
            }
            (Value::Class(class), _) if self.explores() => {
                let key = (std::ptr::from_ref(*class), name.to_owned());
                self.stored(Place::ClassAttribute(key.clone()), &value, range);
                self.class_attributes.insert(key, value);
            }
            // The setter of a property runs.
            (Value::Object(_), Some(name)) => self.forget_changes_of(vec![name]),
            (_, Some(name)) => drop(self.forgotten.insert(name)),
            (_, None) => {}
        }
    }

    /// Returns the function that a `def` statement binds.
    fn defined(&mut self, def: &'a ast::StmtFunctionDef, frame: &Frame<'a>) -> Evaluated<Value<'a>> {
        if def.is_async {
            return Ok(Value::Unknown);
        }
        let function = Rc::new(Function { def, scope: frame.scope.clone(), receiver: None, class: None });
        if self.explores() && !Rc::ptr_eq(&frame.scope, &self.module) {
            self.defined.push(function.clone());
        }
        self.decorated(Value::Function(function), &def.decorator_list, frame)
    }
}
