//! Nested scopes: how functions, lambdas, classes and comprehensions access the enclosing scope.
//!
//! ```python
//! def f(x, y):
//!     def g(): return x           # captures x, binds g
//!     return [y + i for i in x]   # reads x and y; i is local to the comprehension
//! ```

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::SourceOrderVisitor;
use ruff_python_ast::{self as ast, Expr};

use super::{Accesses, DefKind, Item, Tracking, Walker, Write};
use crate::scope;
use ag_syntax::qname::QName;

/// The maximum nesting depth of functions, lambdas, classes and comprehensions.
pub(super) const MAX_DEPTH: u32 = 64;

impl<'a> Walker<'a> {
    pub(super) fn function(&mut self, node: &'a ast::StmtFunctionDef) {
        for decorator in &node.decorator_list {
            self.read(&decorator.expression);
        }
        self.defaults(&node.parameters);
        if self.tracking == Tracking::Scope {
            let annotations = node.parameters.iter().filter_map(|parameter| parameter.annotation());
            annotations.chain(node.returns.as_deref()).for_each(|annotation| self.read(annotation));
        }
        let inner = self.of_function(&node.parameters, |walker| walker.body(&node.body));
        self.found.captures.extend(inner.free);
        self.closure_writes(inner.writes);
        self.found.too_deep |= inner.too_deep;
        self.write_identifier(&node.name, DefKind::Function, None);
    }

    pub(super) fn lambda(&mut self, node: &'a ast::ExprLambda) {
        for name in self.lambda_scope(node) {
            self.load(name);
        }
    }

    pub(super) fn named_lambda(&mut self, node: &'a ast::ExprLambda) {
        let free = self.lambda_scope(node);
        self.found.captures.extend(free);
    }

    /// Returns the names of the enclosing scope that a lambda reads when it is called.
    fn lambda_scope(&mut self, node: &'a ast::ExprLambda) -> Vec<QName> {
        static NO_PARAMETERS: std::sync::LazyLock<ast::Parameters> =
            std::sync::LazyLock::new(Default::default);
        let parameters = node.parameters.as_deref();
        if let Some(parameters) = parameters {
            self.defaults(parameters);
        }
        let parameters = parameters.unwrap_or(&NO_PARAMETERS);
        let inner = self.of_function(parameters, |walker| walker.read(&node.body));
        self.found.too_deep |= inner.too_deep;
        self.closure_writes(inner.writes);
        inner.free
    }

    fn defaults(&mut self, parameters: &'a ast::Parameters) {
        for parameter in parameters.iter() {
            if let Some(default) = parameter.default() {
                self.read(default);
            }
        }
    }

    /// Adds the accesses of a class. Its body runs when the class is defined. Its methods run later, and cannot see the
    /// names of the body.
    pub(super) fn class(&mut self, node: &'a ast::StmtClassDef) {
        for decorator in &node.decorator_list {
            self.read(&decorator.expression);
        }
        if let Some(arguments) = &node.arguments {
            self.children(true, |children| children.visit_arguments(arguments));
        }
        let inner = self.of_class(|walker| walker.body(&node.body));
        for name in inner.free {
            self.load(name);
        }
        self.found.captures.extend(inner.captures);
        self.closure_writes(inner.writes);
        self.found.too_deep |= inner.too_deep;
        self.write_identifier(&node.name, DefKind::Class, None);
    }

    /// Adds the accesses of a comprehension. The iterable of its first clause is evaluated in the enclosing scope, and
    /// a walrus binds there.
    pub(super) fn comprehension(
        &mut self,
        elements: &[&'a Expr],
        generators: &'a [ast::Comprehension],
        certain: bool,
    ) {
        if let Some(first) = generators.first() {
            self.stack.push(Item::Expression(&first.iter, certain));
        }
        let inner = self.of_comprehension(|walker| {
            for element in elements {
                walker.read(element);
            }
            for (index, generator) in generators.iter().enumerate() {
                for condition in &generator.ifs {
                    walker.read(condition);
                }
                walker.bind(&generator.target, None, DefKind::ForTarget);
                if index > 0 {
                    walker.read(&generator.iter);
                }
            }
        });
        for name in inner.free {
            self.load(name);
        }
        self.found.captures.extend(inner.captures);
        self.found.writes.extend(inner.writes);
        self.found.too_deep |= inner.too_deep;
    }

    fn closure_writes(&mut self, writes: Vec<Write>) {
        let writes =
            writes.into_iter().map(|write| Write { kind: DefKind::Closure, certain: false, ..write });
        self.found.writes.extend(writes);
    }
}

/// The accesses of a nested scope to names of the enclosing scope.
#[derive(Default)]
struct Inner {
    /// The names that it reads from the enclosing scope. A class or comprehension reads them at once; a function reads
    /// them when it is called.
    free: Vec<QName>,
    /// The names that functions within a class or comprehension read.
    captures: Vec<QName>,
    /// The names that it binds in the enclosing scope: `nonlocal` names, attributes of free names, and, in a
    /// comprehension, targets of a walrus.
    writes: Vec<Write>,
    too_deep: bool,
}

impl<'a> Walker<'a> {
    /// Returns the accesses of a `def` or lambda.
    fn of_function(&self, parameters: &'a ast::Parameters, walk: impl FnOnce(&mut Self)) -> Inner {
        let mut found = self.collect(walk);
        let free = std::mem::take(&mut found.captures);
        found.reads.extend(free);
        let own = scope::parameters(parameters).cloned().collect();
        enclosed(found, own)
    }

    /// Returns the accesses of a class. Its methods do not resolve names in the class body.
    fn of_class(&self, walk: impl FnOnce(&mut Self)) -> Inner {
        let mut found = self.collect(walk);
        let captures = std::mem::take(&mut found.captures);
        Inner { captures, ..enclosed(found, Vec::new()) }
    }

    /// Returns the accesses of a comprehension. Its targets are local to it, but a walrus binds in the enclosing scope.
    fn of_comprehension(&self, walk: impl FnOnce(&mut Self)) -> Inner {
        let mut found = self.collect(walk);
        let outside = |write: &Write| write.kind == DefKind::Walrus;
        let mut walrus: Vec<Write> = found.writes.extract_if(.., |write| outside(write)).collect();
        let mut inner = enclosed(found, Vec::new());
        inner.writes.append(&mut walrus);
        for write in &mut inner.writes {
            write.certain = false;
        }
        inner
    }

    fn collect(&self, walk: impl FnOnce(&mut Self)) -> Accesses {
        if self.depth >= MAX_DEPTH {
            return Accesses { too_deep: true, ..Accesses::default() };
        }
        let mut walker = Self::new(self.depth + 1, self.tracking);
        walk(&mut walker);
        walker.finish()
    }
}

/// Keeps only accesses to names of enclosing scopes. `own` lists the parameters of the nested scope.
fn enclosed(found: Accesses, mut own: Vec<Name>) -> Inner {
    let declared = |name: &Name| found.globals.contains(name) || found.nonlocals.contains(name);
    let bound = found.writes.iter().filter(|write| write.name.is_simple() && write.kind != DefKind::Closure);
    let bound = bound.map(|write| write.name.root_name()).chain(&found.declared);
    own.extend(bound.filter(|name| !declared(name)).cloned());
    own.sort_unstable();
    let outer = |name: &QName| {
        own.binary_search(name.root_name()).is_err() && !found.globals.contains(name.root_name())
    };
    Inner {
        free: found.reads.into_iter().filter(outer).collect(),
        captures: found.captures.into_iter().filter(outer).collect(),
        writes: found.writes.into_iter().filter(|write| outer(&write.name)).collect(),
        too_deep: found.too_deep,
    }
}
