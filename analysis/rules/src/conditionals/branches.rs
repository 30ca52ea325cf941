//! The outputs of the two branches of a staged `if` or conditional expression, compared with each other.

use ruff_text_size::{Ranged, TextRange};

use super::returns;
use super::values::Value;
use crate::FunctionContext;
use ag_flow::{Def, DefKind};
use ag_index::dialect::Dialect;
use ag_staging::construct::{Construct, ConstructNode};
use ag_syntax::qname::QName;

/// A value that both branches output.
pub(super) struct Outcome<'a> {
    pub(super) construct: &'a Construct,
    /// The range at which a finding is reported: the head of the `if`, or the conditional expression.
    pub(super) range: TextRange,
    /// The value in messages: "`y`", "the returned value".
    pub(super) subject: String,
    pub(super) main: Side,
    pub(super) orelse: Side,
}

pub(super) struct Side {
    pub(super) value: Value,
    /// The definitions that may give the value, except parameters and names from outside.
    pub(super) origins: Vec<TextRange>,
}

/// Returns the values that both branches output, for all staged `if`s and conditional expressions of a converted
/// function.
pub(super) fn outcomes<'a>(ctx: &FunctionContext<'a>) -> Vec<Outcome<'a>> {
    let mut outcomes = Vec::new();
    if !ctx.converts() {
        return outcomes;
    }
    for (construct, node) in ctx.staged() {
        match node {
            ConstructNode::If(..) => {
                variables(ctx, construct, &mut outcomes);
                outcomes.extend(returned(ctx, construct, node));
            }
            ConstructNode::IfExp(ternary) => {
                let side = |expression| Side {
                    value: Value::of_expression(ctx, expression),
                    origins: vec![expression.range()],
                };
                outcomes.push(Outcome {
                    construct,
                    range: construct.range,
                    subject: "the value of this conditional expression".to_owned(),
                    main: side(&*ternary.body),
                    orelse: side(&*ternary.orelse),
                });
            }
            _ => {}
        }
    }
    outcomes
}

fn variables<'a>(ctx: &FunctionContext<'a>, construct: &'a Construct, outcomes: &mut Vec<Outcome<'a>>) {
    let Some(stmt) = ctx.flow.cfg.statement_at(construct.range.start()) else { return };
    let Some(variables) = ctx.flow.block_variables(stmt) else { return };
    for variable in variables.outputs() {
        let main = ctx.flow.definitions_after_body(stmt, &variable.name);
        let orelse = ctx.flow.definitions_after_orelse(stmt, &variable.name);
        if let (Some(main), Some(orelse)) =
            (side(ctx, &variable.name, &main), side(ctx, &variable.name, &orelse))
        {
            let subject = format!("`{}`", variable.name);
            outcomes.push(Outcome { construct, range: construct.head(), subject, main, orelse });
        }
    }
}

/// Returns the value of a name at the end of a branch; `None` if the end is unreachable, or if the name may be unbound
/// there.
fn side(ctx: &FunctionContext, name: &QName, definitions: &[&Def]) -> Option<Side> {
    if definitions.is_empty() || definitions.iter().any(|definition| !definition.kind.defines()) {
        return None;
    }
    let value = |definition: &&Def| match definition.name == *name {
        // `x["k"]`, where `x` is a parameter: the items of the parameter are unknown.
        true if matches!(definition.kind, DefKind::Parameter(_)) && !name.is_simple() => Value::Unknown,
        true => Value::of_definition(ctx, definition),
        // Assigning `a` also changes `a.b`, whose new value is unknown.
        false => Value::Unknown,
    };
    let bound = |definition: &&&Def| !matches!(definition.kind, DefKind::Parameter(_) | DefKind::Outer);
    Some(Side {
        value: Value::join(definitions.iter().map(value)),
        origins: definitions.iter().filter(bound).map(|definition| definition.range).collect(),
    })
}

/// Returns the returned value, if both branches return one.
fn returned<'a>(
    ctx: &FunctionContext<'a>,
    construct: &'a Construct,
    node: ConstructNode<'a>,
) -> Option<Outcome<'a>> {
    let ConstructNode::If(statement, clause) = node else { return None };
    if in_loop(ctx, construct) {
        return None;
    }
    let (main, orelse) = returns::branches(ctx, statement, clause)?;
    let side = |branch: &returns::Branch| {
        let returns = branch.returns();
        let value = |statement: &&ruff_python_ast::StmtReturn| {
            statement.value.as_deref().map_or(Value::None, |value| Value::of_expression(ctx, value))
        };
        (!returns.is_empty() && !branch.raises()).then(|| Side {
            value: Value::join(returns.iter().map(value)),
            origins: returns.iter().map(|statement| statement.range()).collect(),
        })
    };
    Some(Outcome {
        construct,
        range: construct.head(),
        subject: "the returned value".to_owned(),
        main: side(&main)?,
        orelse: side(&orelse)?,
    })
}

/// Returns whether an `if` is in a loop. AutoGraph converts a `return` or `break` in such an `if` together with the
/// loop.
pub(super) fn in_loop(ctx: &FunctionContext, construct: &Construct) -> bool {
    ctx.enclosing(construct.range).any(|outer| outer.kind.is_loop())
}

/// Returns the source text of the condition; "the condition" if it is long.
pub(super) fn condition(ctx: &FunctionContext, construct: &Construct) -> String {
    const LONGEST: usize = 40;
    let text = ctx.text(construct.test_range);
    match text.len() <= LONGEST && !text.contains('\n') {
        true => format!("`{text}`"),
        false => "the condition".to_owned(),
    }
}

/// Returns the name of the framework in messages.
pub(super) fn framework(ctx: &FunctionContext) -> &'static str {
    match ctx.dialect() {
        Dialect::Tensorflow | Dialect::Keras => "TensorFlow",
        Dialect::Pennylane => "Catalyst",
        _ => "AutoGraph",
    }
}
