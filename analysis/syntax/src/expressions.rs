//! Ids for the expressions of one function, assigned in pre-order. The ids are the same in the user's
//! text and in annotated source.
//!
//! Every expression that is evaluated when the function runs has an id, including those in lambdas, comprehensions and
//! class bodies. Annotations and nested functions have no ids. But the decorators and defaults of a nested function
//! have ids, because the enclosing function evaluates them:
//!
//! ```python
//! def f(x: int):            # `int` has no id
//!     y = x + 1             # ids 0 to 3: y, x + 1, x, 1
//!     def g(z=y): return z  # id 4: the default y; the body of g has no ids
//! ```

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, NodeIndex, Operator, Stmt};
use ruff_text_size::{Ranged, TextRange};

/// The function that annotated source calls with the operands of operators: `ag_operand_(x) * 2`.
pub const OPERAND: &str = "ag_operand_";

/// The function that annotated source calls with an earlier value of a variable, if this value becomes part of the new
/// one: `x = (ag_nested_(x), 1)`.
pub const NESTED: &str = "ag_nested_";

/// The function that annotated source calls with decorators that return functions of the same type:
/// `@ag_decorator_(timed("loss"))`.
pub const DECORATOR: &str = "ag_decorator_";

/// Returns `x` for `ag_operand_(x)`, `ag_nested_(x)` or `ag_decorator_(x)`, by which annotated source replaces `x`. Such
/// a call has no id.
fn wrapped(expression: &Expr) -> Option<&Expr> {
    let call = expression.as_call_expr()?;
    let function =
        call.func.as_name_expr().filter(|name| [OPERAND, NESTED, DECORATOR].contains(&name.id.as_str()));
    call.arguments.args.first().filter(|_| function.is_some())
}

/// The pre-order index of an expression within its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExprId(pub u32);

/// Returns all expressions of `def` in pre-order. The sequence does not depend on annotations.
pub fn of_function(def: &ast::StmtFunctionDef) -> Vec<&Expr> {
    of_body(&def.body)
}

/// Returns whether an operator computes a number from two numbers: `+`, `-`, `*`, `/`, `//`, `%`, `**`.
pub fn is_arithmetic(operator: Operator) -> bool {
    matches!(
        operator,
        Operator::Add
            | Operator::Sub
            | Operator::Mult
            | Operator::Div
            | Operator::FloorDiv
            | Operator::Mod
            | Operator::Pow
    )
}

/// Returns whether an expression is a literal without parts: `3`, `-1.5`, `True`, `"text"`.
pub fn is_scalar_literal(expression: &Expr) -> bool {
    match expression {
        Expr::NumberLiteral(_) | Expr::BooleanLiteral(_) | Expr::StringLiteral(_) => true,
        Expr::UnaryOp(operation) => operation.operand.is_number_literal_expr(),
        _ => false,
    }
}

/// Returns the name at the start of an expression: `a` for `a.b[0]`.
pub fn root(mut expression: &Expr) -> Option<&str> {
    loop {
        expression = match expression {
            Expr::Name(name) => return Some(name.id.as_str()),
            Expr::Attribute(attribute) => &attribute.value,
            Expr::Subscript(subscript) => &subscript.value,
            _ => return None,
        };
    }
}

/// Returns the values that a call passes for an option. For a list, tuple or set these are its elements, for `None`
/// there are none, and otherwise it is the expression itself.
pub fn elements(value: &Expr) -> &[Expr] {
    match value {
        Expr::List(list) => &list.elts,
        Expr::Tuple(tuple) => &tuple.elts,
        Expr::Set(set) => &set.elts,
        Expr::NoneLiteral(_) => &[],
        other => std::slice::from_ref(other),
    }
}

/// Returns the elements of a list or tuple.
pub fn sequence(value: &Expr) -> Option<&[Expr]> {
    match value {
        Expr::List(list) => Some(&list.elts),
        Expr::Tuple(tuple) => Some(&tuple.elts),
        _ => None,
    }
}

/// Returns the values that `text % values` formats, if the text is a literal: `name` and `loss` in
/// `"%s: %.3f" % (name, loss)`.
pub fn formatted_values(operation: &ast::ExprBinOp) -> Option<&[Expr]> {
    let is_format = operation.op == Operator::Mod && operation.left.is_string_literal_expr();
    let values = match &*operation.right {
        Expr::Tuple(tuple) => tuple.elts.as_slice(),
        value => std::slice::from_ref(value),
    };
    is_format.then_some(values)
}

/// Returns the value of a literal such as `2`.
pub fn natural(literal: &Expr) -> Option<u64> {
    literal.as_number_literal_expr()?.value.as_int()?.as_u64()
}

/// Returns the value of a literal such as `2` or `-1`.
pub fn integer(literal: &Expr) -> Option<i64> {
    match literal {
        Expr::UnaryOp(operation) if operation.op == ast::UnaryOp::USub => {
            integer(&operation.operand).map(|it| -it)
        }
        other => other.as_number_literal_expr()?.value.as_int()?.as_i64(),
    }
}

/// Returns all expressions of a module outside functions, in pre-order.
pub fn of_body(body: &[Stmt]) -> Vec<&Expr> {
    let mut collector = Collector { expressions: Vec::new() };
    collector.visit_body(body);
    collector.expressions
}

/// Stores the index of each expression of [`of_function`] in its node, where [`id`] reads it. Returns
/// the number of expressions.
pub fn assign_ids(def: &ast::StmtFunctionDef) -> u32 {
    let expressions = of_function(def);
    for (index, expression) in expressions.iter().enumerate() {
        ast::HasNodeIndex::node_index(*expression).set(NodeIndex::from(index as u32));
    }
    expressions.len() as u32
}

/// Returns the id of an expression; `None` before [`assign_ids`].
pub fn id(expression: &Expr) -> Option<ExprId> {
    ast::HasNodeIndex::node_index(expression).load().as_u32().map(ExprId)
}

/// Returns the outermost expression of `def` whose range is exactly `range`.
pub fn at(def: &ast::StmtFunctionDef, range: TextRange) -> Option<&Expr> {
    let mut finder = Finder { range, found: None };
    finder.visit_body(&def.body);
    finder.found
}

struct Finder<'a> {
    range: TextRange,
    found: Option<&'a Expr>,
}

impl<'a> SourceOrderVisitor<'a> for Finder<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if self.found.is_none() && statement.range().contains_range(self.range) {
            source_order::walk_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if self.found.is_some() || !expression.range().contains_range(self.range) {
            return;
        }
        if expression.range() == self.range {
            self.found = Some(expression);
        } else {
            source_order::walk_expr(self, expression);
        }
    }
}

struct Collector<'a> {
    expressions: Vec<&'a Expr>,
}

impl<'a> SourceOrderVisitor<'a> for Collector<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(def) => {
                for decorator in &def.decorator_list {
                    self.visit_expr(&decorator.expression);
                }
                for parameter in def.parameters.iter() {
                    if let Some(default) = parameter.default() {
                        self.visit_expr(default);
                    }
                }
            }
            _ => source_order::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match wrapped(expression) {
            Some(argument) => self.visit_expr(argument),
            None => {
                self.expressions.push(expression);
                source_order::walk_expr(self, expression);
            }
        }
    }

    fn visit_annotation(&mut self, _annotation: &'a Expr) {}
}
