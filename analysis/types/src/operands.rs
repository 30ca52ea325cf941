//! The operands of operators, which annotated source wraps.
//!
//! ```python
//! p - rate * self.force(q)                    # the user's text
//! p - ag_operand_(rate * self.force(q))       # annotated source
//! ```
//!
//! ty infers Unknown for an operator if the type of an operand is unknown. But the result is a Tensor if the other
//! operand is one. `ag_operand_` (`stubs/annotations/__builtins__.pyi`) returns its argument; if the type of the
//! argument is unknown, it returns an object that the operators of Tensors accept.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, CmpOp, Expr, Operator, Stmt};
use ruff_text_size::{Ranged, TextRange};

use ag_index::ids::FunctionIndex;
use ag_index::index::FileIndex;

/// The operands to wrap in the bodies of the functions that `is_staged` accepts.
pub(crate) fn of_functions(
    body: &[Stmt],
    index: &FileIndex,
    is_staged: &dyn Fn(FunctionIndex) -> bool,
) -> Vec<TextRange> {
    let mut operands = Operands { index, is_staged, within: false, found: Vec::new() };
    operands.visit_body(body);
    operands.found
}

struct Operands<'a> {
    index: &'a FileIndex,
    is_staged: &'a dyn Fn(FunctionIndex) -> bool,
    /// The visited code belongs to such a function.
    within: bool,
    found: Vec<TextRange>,
}

impl Operands<'_> {
    fn pair(&mut self, left: &Expr, right: &Expr, may_be: fn(&Expr) -> bool) {
        if may_be_tensor(left) && may_be_tensor(right) {
            self.found.extend([left, right].into_iter().filter(|side| may_be(side)).map(Ranged::range));
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for Operands<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(def) => {
                let function = self.index.definitions.function_at(def.name.start());
                let outer = std::mem::replace(
                    &mut self.within,
                    function.is_some_and(|function| (self.is_staged)(function)),
                );
                self.visit_body(&def.body);
                self.within = outer;
                return;
            }
            // The type of an attribute depends on the values that are assigned to it. If such a value reads the attribute,
            // ty first infers the value without a type for the attribute, which must not become a result.
            Stmt::Assign(assign) if assign.targets.iter().any(|target| !target.is_name_expr()) => {
                let outer = std::mem::replace(&mut self.within, false);
                source_order::walk_stmt(self, statement);
                self.within = outer;
                return;
            }
            Stmt::AugAssign(assign) if !assign.target.is_name_expr() => return,
            Stmt::AugAssign(assign) if self.within && may_be_tensor(&assign.value) => {
                self.found.push(assign.value.range());
            }
            _ => {}
        }
        source_order::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if self.within {
            match expression {
                // `int | None` may be a type.
                Expr::BinOp(ast::ExprBinOp { left, op: Operator::BitOr, right, .. }) => {
                    self.pair(left, right, is_computed);
                }
                Expr::BinOp(operation) => self.pair(&operation.left, &operation.right, may_be_tensor),
                Expr::Compare(compare) => {
                    if let ([op], [right]) = (&*compare.ops, &*compare.comparators) {
                        match op {
                            CmpOp::Lt | CmpOp::LtE | CmpOp::Gt | CmpOp::GtE => {
                                self.pair(&compare.left, right, may_be_tensor);
                            }
                            // ty narrows the type of a name in `mode == "train"`, and `1 == unknown` is a bool.
                            CmpOp::Eq | CmpOp::NotEq
                                if is_method_or_operator(&compare.left) && may_be_tensor(right) =>
                            {
                                self.found.push(compare.left.range());
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        source_order::walk_expr(self, expression);
    }

    fn visit_annotation(&mut self, _annotation: &'a Expr) {}
}

/// Whether an operand is not a literal, a display or a function.
fn may_be_tensor(operand: &Expr) -> bool {
    match operand {
        Expr::Attribute(attribute) => attribute.attr.as_str() != "version_info",
        Expr::Name(_)
        | Expr::Subscript(_)
        | Expr::Call(_)
        | Expr::BinOp(_)
        | Expr::UnaryOp(_)
        | Expr::Compare(_)
        | Expr::If(_) => !ag_syntax::expressions::is_scalar_literal(operand),
        _ => false,
    }
}

/// Whether an operand of `|` is certainly not a type.
fn is_computed(operand: &Expr) -> bool {
    match operand {
        Expr::Call(_) | Expr::Compare(_) | Expr::UnaryOp(_) => true,
        Expr::BinOp(operation) => operation.op != Operator::BitOr,
        _ => false,
    }
}

fn is_method_or_operator(operand: &Expr) -> bool {
    match operand {
        Expr::Call(call) => call.func.is_attribute_expr(),
        Expr::BinOp(_) => true,
        _ => false,
    }
}
