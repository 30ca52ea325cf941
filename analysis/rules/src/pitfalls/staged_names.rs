//! The names under which a file calls its `tf.function`s.

use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::{Expr, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::FileContext;
use crate::declared;

/// The `tf.function`s without `input_signature`. They are retraced for each new Python value.
#[derive(Default)]
pub(super) struct StagedNames<'a> {
    functions: FxHashSet<&'a str>,
    /// The methods, by class.
    methods: FxHashSet<(&'a str, &'a str)>,
    /// The names that are bound to new objects, each with the class; `None` if the name also has other values.
    objects: FxHashMap<&'a str, Option<&'a str>>,
}

impl<'a> StagedNames<'a> {
    pub(super) fn of(ctx: &FileContext<'a>) -> Self {
        let mut names = Self::default();
        for function in declared::functions(ctx).into_iter().filter(|function| !function.has_signature) {
            let name = function.def.name.as_str();
            match function.class {
                Some(class) => names.methods.insert((class.name.as_str(), name)),
                None => names.functions.insert(name),
            };
        }
        let mut bindings = Bindings { ctx, names: &mut names, plain: FxHashSet::default(), in_class: false };
        bindings.visit_body(ctx.parsed.suite());
        let plain = bindings.plain;
        names.functions.retain(|name| !plain.contains(name));
        names
    }

    pub(super) fn is_empty(&self) -> bool {
        self.functions.is_empty() && self.methods.is_empty()
    }

    /// Returns the name of the `tf.function` to which an expression refers, in a method of `class` or, with `None`,
    /// outside of classes.
    pub(super) fn called<'e>(&self, callee: &'e Expr, class: Option<&str>) -> Option<&'e str> {
        match callee {
            Expr::Name(name) => self.functions.contains(name.id.as_str()).then_some(name.id.as_str()),
            Expr::Attribute(method) => {
                let object = method.value.as_name_expr()?.id.as_str();
                let class = if object == "self" { class? } else { (*self.objects.get(object)?)? };
                self.methods.contains(&(class, method.attr.as_str())).then_some(method.attr.as_str())
            }
            _ => None,
        }
    }
}

/// Collects the values of names: `step = tf.function(f)`, `model = Model()`, plain functions.
struct Bindings<'n, 'a> {
    ctx: &'n FileContext<'a>,
    names: &'n mut StagedNames<'a>,
    /// Names of functions that are not staged. Such a name does not certainly refer to a `tf.function`.
    plain: FxHashSet<&'a str>,
    in_class: bool,
}

impl<'a> StatementVisitor<'a> for Bindings<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(def) => {
                if !self.in_class && declared::staging_decorator(self.ctx, def).is_none() {
                    self.plain.insert(def.name.as_str());
                }
                let outer = std::mem::replace(&mut self.in_class, false);
                statement_visitor::walk_stmt(self, statement);
                self.in_class = outer;
            }
            Stmt::ClassDef(_) => {
                let outer = std::mem::replace(&mut self.in_class, true);
                statement_visitor::walk_stmt(self, statement);
                self.in_class = outer;
            }
            Stmt::Assign(assign) => {
                for name in assign.targets.iter().filter_map(Expr::as_name_expr) {
                    self.bind(name.id.as_str(), &assign.value);
                }
            }
            _ => statement_visitor::walk_stmt(self, statement),
        }
    }
}

impl<'a> Bindings<'_, 'a> {
    fn bind(&mut self, name: &'a str, value: &'a Expr) {
        let call = value.as_call_expr();
        if let Some(call) = call
            && declared::is_tf_function(self.ctx, &call.func)
            && call.arguments.find_keyword("input_signature").is_none()
            && call.arguments.args.len() == 1
        {
            self.names.functions.insert(name);
            return;
        }
        let class = call.and_then(|call| call.func.as_name_expr()).map(|class| class.id.as_str());
        let known = self.names.objects.entry(name).or_insert(class);
        if *known != class {
            *known = None;
        }
    }
}
