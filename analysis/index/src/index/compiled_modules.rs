//! Modules that a file compiles without calling them:
//!
//! ```python
//! self.model = torch.compile(self.model)
//! y = self.model.generate(x)
//! ```
//!
//! `torch.compile` compiles only the `forward` method of a module. The other methods of the compiled module are those
//! of the original module, and call its original `forward`.

use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use crate::dialect::RootKind;
use crate::index::FileIndex;

/// Methods of `nn.Module` that do not run the module.
const MODULE_METHODS: [&str; 32] = [
    "add_module",
    "apply",
    "bfloat16",
    "buffers",
    "children",
    "compile",
    "cpu",
    "cuda",
    "double",
    "eval",
    "float",
    "get_buffer",
    "get_parameter",
    "get_submodule",
    "half",
    "load_state_dict",
    "modules",
    "named_buffers",
    "named_children",
    "named_modules",
    "named_parameters",
    "parameters",
    "register_buffer",
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_parameter",
    "requires_grad_",
    "share_memory",
    "state_dict",
    "to",
    "train",
    "zero_grad",
];

/// Removes the roots of compiled modules whose `forward` the file never calls, if it calls other methods of the
/// modules.
pub(super) fn remove_uncalled(index: &mut FileIndex, body: &[Stmt]) {
    let is_compiled = |range: TextRange| {
        index.roots.iter().any(|site| site.kind == RootKind::TorchCompile && site.range == range)
    };
    if !index.roots.iter().any(|site| site.kind == RootKind::TorchCompile) {
        return;
    }
    let mut compiled = Compiled { is_compiled: &is_compiled, found: Vec::new() };
    compiled.visit_body(body);
    let mut uncalled = compiled.found;
    uncalled.retain(|(variable, call)| {
        let mut uses = Uses { variable: *variable, call, runs: false, has_other_methods: false };
        uses.visit_body(body);
        uses.has_other_methods && !uses.runs
    });
    if !uncalled.is_empty() {
        let roots = std::mem::take(&mut index.roots);
        let is_called = |range: TextRange| !uncalled.iter().any(|(_, call)| call.range() == range);
        index.roots = roots.into_iter().filter(|site| is_called(site.range)).collect();
    }
}

/// A variable, or an attribute of any object.
#[derive(Clone, Copy)]
enum Variable<'a> {
    Name(&'a str),
    Attribute(&'a str),
}

impl<'a> Variable<'a> {
    fn of(target: &'a Expr) -> Option<Self> {
        match target {
            Expr::Name(name) => Some(Self::Name(name.id.as_str())),
            Expr::Attribute(attribute) => Some(Self::Attribute(attribute.attr.as_str())),
            _ => None,
        }
    }

    fn is_read(self, expression: &Expr) -> bool {
        match (self, expression) {
            (Self::Name(own), Expr::Name(name)) => name.ctx.is_load() && name.id == own,
            (Self::Attribute(own), Expr::Attribute(attribute)) => {
                attribute.ctx.is_load() && attribute.attr.as_str() == own
            }
            _ => false,
        }
    }
}

/// Finds the variables that are bound to compiled modules, and the calls that compile them.
struct Compiled<'a, 'i> {
    is_compiled: &'i dyn Fn(TextRange) -> bool,
    found: Vec<(Variable<'a>, &'a ast::ExprCall)>,
}

impl<'a> StatementVisitor<'a> for Compiled<'a, '_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::Assign(assign) = statement
            && let [target] = assign.targets.as_slice()
            && let Expr::Call(call) = &*assign.value
            && (self.is_compiled)(call.range())
            && let Some(variable) = Variable::of(target)
        {
            self.found.push((variable, call));
        }
        statement_visitor::walk_stmt(self, statement);
    }
}

/// How a file uses a variable that is bound to a compiled module.
struct Uses<'a> {
    variable: Variable<'a>,
    /// The calls that compile the module.
    call: &'a ast::ExprCall,
    /// Whether the module may be called: `model(x)`, `model.forward`, `return model`.
    runs: bool,
    /// Whether a method of its class is called: `model.generate(x)`.
    has_other_methods: bool,
}

impl<'a> Uses<'a> {
    /// Visits the object of an attribute that is such a variable: `self` in `self.model`.
    fn visit_object(&mut self, read: &'a Expr) {
        if let Expr::Attribute(attribute) = read {
            self.visit_expr(&attribute.value);
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for Uses<'a> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Call(call) if std::ptr::eq(call, self.call) => {
                for argument in call.arguments.iter_source_order().map(|argument| argument.value()) {
                    match self.variable.is_read(argument) {
                        true => self.visit_object(argument),
                        false => self.visit_expr(argument),
                    }
                }
            }
            Expr::Call(call) => {
                if let Expr::Attribute(method) = &*call.func
                    && self.variable.is_read(&method.value)
                {
                    self.has_other_methods |= !MODULE_METHODS.contains(&method.attr.as_str());
                }
                source_order::walk_expr(self, expression);
            }
            Expr::Attribute(attribute) if self.variable.is_read(&attribute.value) => {
                self.runs |= matches!(attribute.attr.as_str(), "forward" | "__call__");
                self.visit_object(&attribute.value);
            }
            _ if self.variable.is_read(expression) => self.runs = true,
            _ => source_order::walk_expr(self, expression),
        }
    }

    fn visit_annotation(&mut self, _annotation: &'a Expr) {}
}
