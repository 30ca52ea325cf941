//! An attribute is assigned between two calls of a method whose graph contains its old value.

use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::FxHashSet;

use super::block_steps::{assignment, calls, created, flatten, same_arguments};
use super::function_reads::{called_methods, first_read, reads_attribute, reads_global, reads_only};
use crate::FileContext;
use crate::declare::declare_rule;
use crate::declared;
use crate::declared::Declared;

declare_rule! {
    /// ## What it does
    /// Finds attributes and globals that a `tf.function` of the file reads and that are assigned
    ///
    /// - between two calls of the function with the same arguments, in one block or in a loop
    /// - by `+=` and similar operators, in another method of the class
    ///
    /// ## Why is this bad?
    /// The first call traces the function, with the value as a constant of the graph. The second call reuses that graph
    /// and ignores the new value.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// class Model:
    ///     def __init__(self):
    ///         self.scale = 1.0
    ///
    ///     @tf.function
    ///     def run(self, x):
    ///         return x * self.scale
    ///
    ///
    /// model = Model()
    /// model.run(tf.constant(1.0))
    /// model.scale = 2.0
    /// model.run(tf.constant(1.0))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// class Model:
    ///     def __init__(self):
    ///         self.scale = tf.Variable(1.0)
    ///
    ///     @tf.function
    ///     def run(self, x):
    ///         return x * self.scale
    ///
    ///
    /// model = Model()
    /// model.run(tf.constant(1.0))
    /// model.scale.assign(2.0)
    /// model.run(tf.constant(1.0))
    /// ```
    pub(crate) static CHANGED_ATTRIBUTE = {
        code: "AG411", name: "changed-attribute",
        summary: "an attribute is assigned after a `tf.function` was traced with its old value",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Tensorflow], fix: None,
        check: File(declared::is_likely, check),
    }
}

fn check(ctx: &FileContext) {
    if !ctx.imports.uses("tensorflow") {
        return;
    }
    let functions = declared::functions(ctx);
    if functions.is_empty() {
        return;
    }
    let staged = functions.iter().map(|function| function.def.range()).collect();
    let mut blocks =
        Blocks { ctx, functions: &functions, staged, class: None, reported: FxHashSet::default() };
    blocks.block(ctx.parsed.suite(), true);
    blocks.visit_body(ctx.parsed.suite());
}

struct Blocks<'c, 'a> {
    ctx: &'c FileContext<'a>,
    functions: &'c [Declared<'a>],
    /// The ranges of `functions`.
    staged: FxHashSet<TextRange>,
    class: Option<&'a ast::StmtClassDef>,
    reported: FxHashSet<TextRange>,
}

impl<'a> StatementVisitor<'a> for Blocks<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        let inner = match statement {
            Stmt::FunctionDef(def) => {
                if !self.staged.contains(&def.range()) {
                    self.block(&def.body, false);
                    self.method(def);
                }
                None
            }
            Stmt::ClassDef(class) => Some(class),
            _ => self.class,
        };
        let outer = std::mem::replace(&mut self.class, inner);
        statement_visitor::walk_stmt(self, statement);
        self.class = outer;
    }
}

impl<'a> Blocks<'_, 'a> {
    /// Checks the body of a function, or of the module.
    fn block(&mut self, body: &'a [Stmt], is_module: bool) {
        let mut steps = Vec::new();
        flatten(body, &mut steps);
        for (position, statement) in steps.iter().enumerate() {
            let Some((target, value)) = assignment(statement) else { continue };
            if creates_variable(self.ctx, value) || self.reported.contains(&target.range()) {
                continue;
            }
            for function in self.functions {
                let Some(read) =
                    self.read(function, target, is_module, steps.get(..position).unwrap_or_default())
                else {
                    continue;
                };
                let lifetime = self.lifetime(function);
                let before = steps.iter().take(position).rev();
                let Some(traced) = before.clone().find_map(|step| read.call(step)) else { continue };
                if !lifetime.contains_range(traced.range()) {
                    continue;
                }
                // A function or object that is bound again is traced again.
                let rebound =
                    before.take_while(|step| read.call(step).is_none()).any(|step| read.rebinds(step));
                let mut after = steps.iter().skip(position + 1).take_while(|step| !read.rebinds(step));
                let again = after.find_map(|step| read.call(step));
                let again = again.filter(|again| lifetime.contains_range(again.range()));
                if !rebound && again.is_some_and(|again| same_arguments(traced, again)) {
                    self.report(target, function, &read, traced);
                    break;
                }
            }
        }
    }

    /// Returns the code in which the name of a function means this one. If the file defines several functions of this
    /// name, as the cells of a notebook may, this code ends at the next definition.
    fn lifetime(&self, function: &Declared) -> TextRange {
        let all = TextRange::up_to(TextSize::of(self.ctx.text));
        let is_same = |other: &&Declared| {
            other.class.is_none() && function.class.is_none() && other.def.name.id == function.def.name.id
        };
        let starts: Vec<TextSize> = self.functions.iter().filter(is_same).map(|it| it.def.start()).collect();
        if starts.len() < 2 {
            return all;
        }
        let own = function.def.range();
        // A function of the same name within this one is a different function.
        let next = starts.into_iter().filter(|start| *start >= own.end()).min();
        TextRange::new(own.end(), next.unwrap_or(all.end()))
    }

    /// Returns the value that a function reads and an assignment changes.
    fn read(
        &self,
        function: &Declared<'a>,
        target: &'a Expr,
        is_module: bool,
        before: &[&'a Stmt],
    ) -> Option<Read<'a>> {
        let name = function.def.name.as_str();
        match target {
            Expr::Attribute(attribute) => {
                let object = attribute.value.as_name_expr()?.id.as_str();
                match function.class {
                    Some(class) => {
                        let is_own =
                            object == "self" && self.class.is_some_and(|own| own.range() == class.range());
                        let creates = || {
                            before.iter().rev().find_map(|step| created(step, object))
                                == Some(class.name.as_str())
                        };
                        let reads = is_own || creates();
                        (reads && reads_only(function.def, &attribute.attr)).then_some(Read {
                            object: Some(object),
                            name,
                            value: object,
                        })
                    }
                    None => {
                        let mut defs = self.ctx.program().with_helpers(function.def).into_iter();
                        defs.any(|def| reads_attribute(def, object, &attribute.attr)).then_some(Read {
                            object: None,
                            name,
                            value: object,
                        })
                    }
                }
            }
            Expr::Name(global) if is_module && function.class.is_none() => {
                let global = global.id.as_str();
                let mut defs = self.ctx.program().with_helpers(function.def).into_iter();
                defs.any(|def| reads_global(def, global)).then_some(Read { object: None, name, value: "" })
            }
            _ => None,
        }
    }

    /// Checks a method that updates an attribute which a `tf.function` of the class reads.
    fn method(&mut self, def: &'a ast::StmtFunctionDef) {
        let Some(class) = self.class else { return };
        if matches!(def.name.as_str(), "__init__" | "build" | "__setstate__") || !is_method_of(class, def) {
            return;
        }
        let is_of_class =
            |function: &Declared<'a>| function.class.is_some_and(|own| own.range() == class.range());
        if !self.functions.iter().any(is_of_class) {
            return;
        }
        // A method that a `tf.function` calls runs while the function is traced.
        if self.is_reached(class, def) {
            return;
        }
        let mut steps = Vec::new();
        flatten(&def.body, &mut steps);
        for statement in steps {
            let Stmt::AugAssign(assign) = statement else { continue };
            let Expr::Attribute(attribute) = assign.target.as_ref() else { continue };
            if attribute.value.as_name_expr().is_none_or(|name| name.id != "self")
                || !starts_as_number(class, &attribute.attr)
                || self.reported.contains(&assign.target.range())
            {
                continue;
            }
            let reader = self
                .functions
                .iter()
                .find(|function| is_of_class(function) && reads_only(function.def, &attribute.attr));
            if let Some(function) = reader {
                let read = Read { object: Some("self"), name: function.def.name.as_str(), value: "self" };
                self.report(&assign.target, function, &read, function.def.name.range());
            }
        }
    }

    /// Returns whether a `tf.function` of the class calls a method, directly or through other methods.
    fn is_reached(&self, class: &'a ast::StmtClassDef, def: &ast::StmtFunctionDef) -> bool {
        let methods = class.body.iter().filter_map(Stmt::as_function_def_stmt);
        let is_staged = |method: &&ast::StmtFunctionDef| self.staged.contains(&method.range());
        let (mut reached, mut others): (Vec<_>, Vec<_>) = methods.partition(is_staged);
        let mut at = 0;
        while let Some(caller) = reached.get(at).copied() {
            at += 1;
            let called = called_methods(caller);
            let (next, rest) =
                others.into_iter().partition::<Vec<_>, _>(|method| called.contains(method.name.as_str()));
            reached.extend(next);
            others = rest;
        }
        reached.iter().any(|method| method.range() == def.range())
    }

    fn report(&mut self, target: &Expr, function: &Declared<'a>, read: &Read, traced: impl Ranged) {
        self.reported.insert(target.range());
        let attribute = target.as_attribute_expr().map_or("", |attribute| attribute.attr.as_str());
        let text = if attribute.is_empty() { self.ctx.text(target) } else { attribute };
        let name = function.def.name.as_str();
        let label = if read.object == Some("self") && traced.range() == function.def.name.range() {
            "reads it while it is traced"
        } else {
            "traced here"
        };
        self.ctx
            .report(
                &CHANGED_ATTRIBUTE,
                target.range(),
                format!("`{name}` was traced with the old value of `{text}` and ignores this assignment"),
            )
            .label(self.ctx.span(traced.range()), label)
            .help(HELP)
            .emit();
        let mut defs = self.ctx.program().with_helpers(function.def).into_iter();
        let read = defs.find_map(|def| first_read(def, target));
        let Some(range) = read.filter(|range| self.reported.insert(*range)) else { return };
        let message = format!(
            "`{}` is a constant of the graph: later assignments do not change it",
            self.ctx.text(range)
        );
        self.ctx
            .report(&CHANGED_ATTRIBUTE, range, message)
            .label(self.ctx.span(target.range()), "assigned here")
            .help(HELP)
            .emit();
    }
}

const HELP: &str = "make it a `tf.Variable`, or pass the value as an argument";

/// A value that a function reads, and the names that a block uses for the function and for the value.
struct Read<'a> {
    /// The object on which the method is called.
    object: Option<&'a str>,
    name: &'a str,
    /// The object whose attribute is read.
    value: &'a str,
}

impl<'a> Read<'a> {
    /// Returns the call of the function in a simple statement.
    fn call(&self, statement: &'a Stmt) -> Option<&'a ast::ExprCall> {
        calls(statement, self.object, self.name)
    }

    fn rebinds(&self, statement: &Stmt) -> bool {
        let Some((Expr::Name(target), _)) = assignment(statement) else { return false };
        target.id == self.value
    }
}

fn creates_variable(ctx: &FileContext, value: &Expr) -> bool {
    value
        .as_call_expr()
        .and_then(|call| ctx.resolve(&call.func))
        .is_some_and(|name| name == "tensorflow.Variable")
}

/// Returns whether the class itself defines the method.
fn is_method_of(class: &ast::StmtClassDef, def: &ast::StmtFunctionDef) -> bool {
    class.body.iter().any(|statement| statement.range() == def.range())
}

/// Returns whether `__init__` and the other methods of a class set an attribute to numbers and parameters only.
fn starts_as_number(class: &ast::StmtClassDef, attribute: &str) -> bool {
    struct Values<'n> {
        attribute: &'n str,
        numbers: usize,
        others: usize,
    }
    impl StatementVisitor<'_> for Values<'_> {
        fn visit_stmt(&mut self, statement: &Stmt) {
            if let Some((Expr::Attribute(target), value)) = assignment(statement)
                && target.attr.as_str() == self.attribute
                && statement.is_assign_stmt()
            {
                match value {
                    Expr::NumberLiteral(_) => self.numbers += 1,
                    Expr::Name(_) | Expr::BinOp(_) | Expr::UnaryOp(_) | Expr::Attribute(_) => {}
                    _ => self.others += 1,
                }
            }
            statement_visitor::walk_stmt(self, statement);
        }
    }
    let mut values = Values { attribute, numbers: 0, others: 0 };
    values.visit_body(&class.body);
    values.numbers > 0 && values.others == 0
}
