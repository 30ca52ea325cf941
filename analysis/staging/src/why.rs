//! Why-chains. A why-chain explains the binding time of an expression: it follows the value in at most five steps.
//! Findings and hover append the root: [`crate::reached_from`].
//!
//! Reaching definitions determine the path, and facts describe each step. If the path ends at a parameter, the last
//! steps are the reason for its assumed type. An example:
//!
//! ```text
//! `done` is a Tensor                        line 14   while not done:
//! bound here                                line 12   done = tf.reduce_all(x > limit)
//! `tf.reduce_all(…)` returns a Tensor       line 12
//! ```

use std::sync::Arc;

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::{Ranged, TextRange};

use crate::binding;
use crate::binding::Lookup;
use crate::construct::ConstructNode;
use crate::stages::description;
use ag_db::Document;
use ag_db::diagnostic::{Anchor, Span, Step, Why};
use ag_flow::{DefKind, Flow};
use ag_index::assumptions::Stage;
use ag_index::facts::Binding;
use ag_syntax::expressions;
use ag_syntax::functions::{FunctionAst, FunctionPath};
use ag_syntax::qname::QName;

/// The maximum number of steps. Longer chains are hard to follow.
const MAX_STEPS: usize = 5;
/// The maximum length of an expression in a message. Longer ones are truncated.
const MAX_TEXT: usize = 48;

/// The inputs of the why-chains of one function.
pub struct Reasons<'a> {
    pub document: Document,
    pub path: &'a FunctionPath,
    pub ast: &'a FunctionAst,
    pub flow: &'a Flow,
    pub stage: &'a Stage,
    pub lookup: Lookup<'a>,
}

impl Reasons<'_> {
    pub fn of_construct(&self, node: ConstructNode, binding: Binding) -> Why {
        let decisive = match node {
            ConstructNode::BoolOp(operation) => {
                let Some((last, tested)) = operation.values.split_last() else { return Arc::from([]) };
                tested
                    .iter()
                    .find(|value| binding::of_test(value, self.lookup) == binding)
                    .or(tested.first())
                    .unwrap_or(last)
            }
            ConstructNode::Not(operation) => &operation.operand,
            ConstructNode::Compare(compare) => &compare.left,
            _ => match node.test() {
                Some(test) => test,
                None => return Arc::from([]),
            },
        };
        self.of_expression(decisive)
    }

    pub fn of_expression(&self, expression: &Expr) -> Why {
        let mut steps = Vec::new();
        self.follow(expression, &mut steps);
        steps.truncate(MAX_STEPS);
        Arc::from(steps)
    }

    /// Follows an expression to the origin of its binding time.
    fn follow(&self, expression: &Expr, steps: &mut Vec<Step>) {
        if steps.len() >= MAX_STEPS {
            return;
        }
        match expression {
            Expr::UnaryOp(operation) => self.follow(&operation.operand, steps),
            Expr::Named(named) => self.follow(&named.value, steps),
            Expr::Starred(starred) => self.follow(&starred.value, steps),
            Expr::BoolOp(operation) => self.follow_decisive(operation.values.iter(), steps),
            Expr::Compare(compare) if self.is_python_by_operator(compare) => {
                let operator = compare.ops.first().map_or("", |op| op.as_str());
                self.push(expression, format!("`{operator}` evaluates to a Python bool"), steps);
            }
            Expr::Compare(compare) => {
                let operands = std::iter::once(compare.left.as_ref()).chain(compare.comparators.iter());
                self.follow_decisive(operands, steps);
            }
            Expr::BinOp(operation) => {
                self.follow_decisive([operation.left.as_ref(), operation.right.as_ref()].into_iter(), steps);
            }
            Expr::If(conditional) => self.follow_decisive(
                [conditional.body.as_ref(), conditional.orelse.as_ref(), conditional.test.as_ref()]
                    .into_iter(),
                steps,
            ),
            Expr::Name(_) | Expr::Attribute(_) | Expr::Subscript(_) => self.follow_path(expression, steps),
            Expr::Call(call) => {
                let message = format!("`{}(…)` returns {}", self.text(&call.func), self.describe(expression));
                self.push(expression, message, steps);
            }
            _ if is_literal(expression) => {}
            _ => self.push(expression, self.sentence(expression), steps),
        }
    }

    /// Follows the operand that determines the binding time: a staged one if there is any, otherwise a mixed, unknown
    /// or Python one, in this order. Literals come last.
    fn follow_decisive<'e>(&self, operands: impl Iterator<Item = &'e Expr>, steps: &mut Vec<Step>) {
        let rank = |expression: &Expr| match binding::of_test(expression, self.lookup) {
            Binding::Staged => 0,
            Binding::Mixed => 1,
            Binding::Unknown => 2,
            Binding::Python if !is_literal(expression) => 3,
            Binding::Python => 4,
        };
        if let Some(decisive) = operands.min_by_key(|operand| rank(operand)) {
            self.follow(decisive, steps);
        }
    }

    /// Follows a name, attribute or item to the definition that bound it.
    fn follow_path(&self, expression: &Expr, steps: &mut Vec<Step>) {
        let Some(name) = QName::from_expr(expression) else {
            // For `x[i]` and `f(x).shape`, the value of the base (`x`, `f(x)`) determines the binding time.
            self.push(expression, self.sentence(expression), steps);
            return;
        };
        let definitions = self.flow.definitions_of(expression.range(), &name);
        let parameter = definitions.iter().find_map(|definition| match definition.kind {
            DefKind::Parameter(position) if definition.name == name => Some(position),
            _ => None,
        });
        if let Some(position) = parameter
            && let [_] = definitions.as_slice()
            && let Some(parameter) = self.stage.parameters.get(position.into())
            && !parameter.why.is_empty()
        {
            steps.extend(parameter.why.iter().cloned());
            return;
        }
        self.push(expression, self.sentence(expression), steps);
        for definition in definitions {
            if definition.name != name || steps.len() >= MAX_STEPS {
                continue;
            }
            if let DefKind::Parameter(position) = definition.kind {
                if let Some(parameter) = self.stage.parameters.get(position.into()) {
                    steps.extend(parameter.why.iter().cloned());
                }
                continue;
            }
            if !definition.kind.defines() || matches!(definition.kind, DefKind::Outer) {
                continue;
            }
            let span = self.span(definition.range);
            if steps.iter().any(|step| step.span.as_ref() == Some(&span)) {
                continue;
            }
            let how = match definition.kind {
                DefKind::ForTarget => format!("`{name}` is bound by this loop"),
                DefKind::With => format!("`{name}` is bound by this `with`"),
                _ => format!("`{name}` is bound here"),
            };
            let value = definition.value.and_then(|range| expressions::at(self.ast.def(), range));
            let message = match value {
                Some(value) if matches!(definition.kind, DefKind::Assign | DefKind::Walrus) => {
                    format!("`{name}` is bound to {} here: `{}`", self.describe(value), self.text(value))
                }
                _ => how,
            };
            steps.push(Step { message, span: Some(span) });
            if let Some(value) = value
                && !value.range().contains_range(expression.range())
                && matches!(value, Expr::Name(_) | Expr::Attribute(_))
            {
                self.follow(value, steps);
            }
        }
    }

    fn is_python_by_operator(&self, compare: &ast::ExprCompare) -> bool {
        use ast::CmpOp::{In, Is, IsNot, NotIn};
        compare.ops.iter().all(|op| matches!(op, Is | IsNot | In | NotIn))
    }

    /// Describes an expression in a sentence: "`x.shape[0]` is a Python int".
    fn sentence(&self, expression: &Expr) -> String {
        let shape = match self.describe(expression) {
            word if self.mentions_shape(expression) && !word.contains("Tensor") => {
                format!("{word}: shapes are known while tracing")
            }
            word => word,
        };
        format!("`{}` is {shape}", self.text(expression))
    }

    fn mentions_shape(&self, expression: &Expr) -> bool {
        match expression {
            Expr::Attribute(attribute) => {
                matches!(attribute.attr.as_str(), "shape" | "rank" | "ndim")
            }
            Expr::Subscript(subscript) => self.mentions_shape(&subscript.value),
            _ => false,
        }
    }

    fn describe(&self, expression: &Expr) -> String {
        let fact = (self.lookup)(expression);
        let shown = fact.map(|fact| match fact.shown.strip_prefix("Literal[") {
            Some("True]" | "False]") => "bool",
            Some(rest) if rest.starts_with(['"', '\'']) => "str",
            Some(_) => "int",
            None => fact.shown.as_str(),
        });
        description(self.stage.dialect, binding::of_test(expression, self.lookup), shown)
    }

    fn push(&self, expression: &Expr, message: String, steps: &mut Vec<Step>) {
        if steps.len() < MAX_STEPS {
            steps.push(Step { message, span: Some(self.span(expression.range())) });
        }
    }

    fn span(&self, range: TextRange) -> Span {
        Span { document: self.document, anchor: Anchor::Function(self.path.clone()), range }
    }

    fn text(&self, expression: &Expr) -> String {
        let text = self.ast.text.get(std::ops::Range::<usize>::from(expression.range())).unwrap_or_default();
        let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.len() > MAX_TEXT {
            let cut = (0..=MAX_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(cut);
            text.push('…');
        }
        text
    }
}

fn is_literal(expression: &Expr) -> bool {
    matches!(
        expression,
        Expr::NumberLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::NoneLiteral(_)
            | Expr::StringLiteral(_)
            | Expr::BytesLiteral(_)
            | Expr::EllipsisLiteral(_)
    )
}
