//! What code may change that is not evaluated: the branches of an unknown condition, a `while` loop, a `try` statement,
//! a function with an unknown decorator, and the functions of the file that such code calls.

use std::rc::Rc;

use ag_index::index::last_name;
use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

use super::builtins::HARMLESS;
use super::modules::Module;
use super::submodules::TRAINING;
use super::values::{Flow, Value};
use super::{Evaluation, Frame};
use crate::FileContext;
use crate::effects::MUTATORS;

/// The methods that a call of an object runs.
const CALLED: [&str; 2] = ["forward", "__call__"];

impl<'a> Evaluation<'_, 'a> {
    /// Forgets what statements may change that are not evaluated.
    pub(super) fn skip(&mut self, body: &'a [Stmt], frame: &Frame<'a>) -> Flow<'a> {
        let mut effects = Effects::of(self.ctx);
        effects.visit_body(body);
        for name in effects.bound {
            frame.scope.set(name, Value::Unknown);
        }
        for name in effects.changed {
            frame.scope.get(name).forget();
        }
        self.forgotten.extend(effects.attributes);
        if effects.called.contains(&"save") {
            self.files.clear();
        }
        if effects.called.contains(&"remove") {
            self.forget_hooks();
        }
        if effects.called.iter().any(|name| matches!(*name, "eval" | "train")) {
            self.forgotten.insert(TRAINING);
        }
        self.forget_changes_of(effects.called);
        match (effects.leaves, effects.jumps) {
            (true, _) => Flow::Leave,
            (false, true) => Flow::Jump,
            (false, false) => Flow::Next,
        }
    }

    /// Returns the containers that a loop changes, as ones of unknown length.
    pub(super) fn changed_containers(
        &self,
        statement: &'a Stmt,
        variables: &FxHashMap<&'a str, Value<'a>>,
    ) -> Vec<(&'a str, Value<'a>)> {
        let mut effects = Effects::of(self.ctx);
        effects.visit_stmt(statement);
        let changed: FxHashSet<&str> = effects.changed.into_iter().collect();
        let bound: FxHashSet<&str> = effects.bound.into_iter().collect();
        let containers = changed.difference(&bound).filter_map(|name| {
            let value = variables.get(name)?.of_unknown_length()?;
            Some((*name, value))
        });
        containers.collect()
    }

    /// Forgets what the functions and methods of the file with these names may change, and what the functions may change
    /// that they call.
    pub(super) fn forget_changes_of(&mut self, mut names: Vec<&'a str>) {
        if !names.is_empty() {
            names.extend(CALLED);
        }
        let mut seen = FxHashSet::default();
        let mut next = 0;
        while let Some(name) = names.get(next).copied() {
            next += 1;
            for (module, def) in self.functions_named(name) {
                if seen.insert((module, def.range)) {
                    let Some(module) = self.modules.get(module).cloned() else { continue };
                    let effects = self.effects_of(&module, def);
                    for name in &effects.changed {
                        module.scope.get(name).forget();
                    }
                    self.forgotten.extend(&effects.attributes);
                    names.extend(&effects.called);
                    if effects.called.contains(&"save") {
                        self.files.clear();
                    }
                }
            }
        }
    }

    /// Returns the functions and methods of the program with a name, each with the position of its module.
    fn functions_named(&mut self, name: &str) -> Vec<(usize, &'a ast::StmtFunctionDef)> {
        for (position, module) in self.modules.iter().enumerate().skip(self.functions.modules) {
            for (def, _) in &module.ctx.program().functions {
                self.functions.by_name.entry(def.name.as_str()).or_default().push((position, *def));
            }
        }
        self.functions.modules = self.modules.len();
        self.functions.by_name.get(name).cloned().unwrap_or_default()
    }

    fn effects_of(&mut self, module: &Module<'_, 'a>, def: &'a ast::StmtFunctionDef) -> Rc<Changes<'a>> {
        let known = self.functions.changes.entry(def).or_insert_with(|| {
            let mut effects = Effects::of(module.ctx);
            effects.visit_body(&def.body);
            Rc::new(Changes {
                changed: effects.changed,
                attributes: effects.attributes,
                called: effects.called,
            })
        });
        known.clone()
    }
}

/// The functions of a program, as far as they are known.
#[derive(Default)]
pub(super) struct Functions<'a> {
    by_name: FxHashMap<&'a str, Vec<(usize, &'a ast::StmtFunctionDef)>>,
    /// The number of modules whose functions are in `by_name`.
    modules: usize,
    changes: FxHashMap<*const ast::StmtFunctionDef, Rc<Changes<'a>>>,
}

/// What a function may change: see [`Effects`].
struct Changes<'a> {
    changed: Vec<&'a str>,
    attributes: Vec<&'a str>,
    called: Vec<&'a str>,
}

/// What statements may change.
struct Effects<'c, 'a> {
    ctx: &'c FileContext<'a>,
    /// The names that they bind.
    bound: Vec<&'a str>,
    /// The names whose objects they may change.
    changed: Vec<&'a str>,
    /// The attributes that they assign, or whose objects they may change.
    attributes: Vec<&'a str>,
    /// The names of the functions and methods that they may run.
    called: Vec<&'a str>,
    /// Whether they may end the function.
    leaves: bool,
    /// Whether they may end an iteration of the loop around them.
    jumps: bool,
}

impl<'c, 'a> Effects<'c, 'a> {
    fn of(ctx: &'c FileContext<'a>) -> Self {
        Self {
            ctx,
            bound: Vec::new(),
            changed: Vec::new(),
            attributes: Vec::new(),
            called: Vec::new(),
            leaves: false,
            jumps: false,
        }
    }

    /// Returns whether a call is of a function of torch that does not change its arguments.
    fn is_pure(&self, call: &ast::ExprCall) -> bool {
        self.ctx.resolve(&call.func).is_some_and(|name| {
            let is_array = super::packages::PACKAGES.iter().any(|package| name.starts_with(package));
            let is_pure =
                is_array || name.starts_with("torch.") && !name.ends_with('_') && !name.contains(".init.");
            is_pure && call.arguments.find_keyword("out").is_none()
        })
    }

    /// Adds an object that the statements may change: `items` and `self.items` in `self.items.append(x)`.
    fn change(&mut self, object: &'a Expr) {
        match object {
            Expr::Name(name) => self.changed.push(name.id.as_str()),
            Expr::Attribute(attribute) => self.attributes.push(attribute.attr.as_str()),
            Expr::Subscript(item) => self.change(&item.value),
            Expr::Starred(starred) => self.change(&starred.value),
            _ => {}
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for Effects<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Return(_) | Stmt::Raise(_) => self.leaves = true,
            Stmt::Break(_) | Stmt::Continue(_) => self.jumps = true,
            Stmt::FunctionDef(def) => self.bound.push(def.name.as_str()),
            Stmt::ClassDef(class) => self.bound.push(class.name.as_str()),
            Stmt::AugAssign(node) => self.change(&node.target),
            _ => {}
        }
        source_order::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) if !name.ctx.is_load() => self.bound.push(name.id.as_str()),
            Expr::Attribute(attribute) if !attribute.ctx.is_load() => {
                let name = attribute.attr.as_str();
                self.attributes.push(name);
                // The attribute may be a property, whose setter runs.
                self.called.push(name);
            }
            Expr::Subscript(item) if !item.ctx.is_load() => self.change(&item.value),
            Expr::Call(call) => {
                let name = last_name(&call.func).map(Name::as_str);
                self.called.extend(name);
                if let Expr::Attribute(method) = &*call.func
                    && MUTATORS.contains(&method.attr.as_str())
                {
                    self.change(&method.value);
                }
                if !name.is_some_and(|name| HARMLESS.contains(&name)) && !self.is_pure(call) {
                    let keywords = call.arguments.keywords.iter().map(|keyword| &keyword.value);
                    call.arguments.args.iter().chain(keywords).for_each(|argument| self.change(argument));
                }
            }
            Expr::Yield(_) | Expr::YieldFrom(_) | Expr::Await(_) => self.leaves = true,
            _ => {}
        }
        source_order::walk_expr(self, expression);
    }
}
