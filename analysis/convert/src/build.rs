//! Builders for synthesized nodes.
//!
//! Every node has an origin: the source range that the source map reports for it.

use ruff_python_ast::name::Name;
use ruff_python_ast::str::Quote;
use ruff_python_ast::{
    self as ast, AtomicNodeIndex, BoolOp, CmpOp, Expr, ExprContext, Identifier, Stmt, StringLiteral,
    StringLiteralFlags, UnaryOp,
};
use ruff_text_size::{Ranged, TextRange};

use super::tree::synthesized;

/// The name of the operator module in converted code.
pub(super) const OPERATORS: &str = "ag__";

pub(super) fn name(id: &str, origin: TextRange) -> Expr {
    named(id, ExprContext::Load, origin)
}

fn named(id: &str, ctx: ExprContext, origin: TextRange) -> Expr {
    Expr::Name(ast::ExprName { id: Name::new(id), ctx, range: origin, node_index: synthesized() })
}

pub(super) fn attribute(value: Expr, attr: &str, origin: TextRange) -> Expr {
    Expr::Attribute(ast::ExprAttribute {
        value: Box::new(value),
        attr: identifier(attr),
        ctx: ExprContext::Load,
        range: origin,
        node_index: synthesized(),
    })
}

pub(super) fn identifier(id: &str) -> Identifier {
    Identifier::new(Name::new(id), TextRange::default())
}

pub(super) fn call(func: Expr, arguments: Vec<Expr>, origin: TextRange) -> Expr {
    call_with(func, arguments, Vec::new(), origin)
}

pub(super) fn call_with(
    func: Expr,
    arguments: Vec<Expr>,
    keywords: Vec<ast::Keyword>,
    origin: TextRange,
) -> Expr {
    Expr::Call(ast::ExprCall {
        func: Box::new(func),
        range_start: origin.start(),
        arguments: ast::Arguments {
            range: origin,
            node_index: synthesized(),
            args: arguments.into_boxed_slice(),
            keywords: keywords.into_iter().collect(),
        },
        node_index: synthesized(),
    })
}

pub(super) fn keyword(arg: &str, value: Expr) -> ast::Keyword {
    ast::Keyword { range: value.range(), node_index: synthesized(), arg: Some(identifier(arg)), value }
}

/// `ag__.operator(…)`
pub(super) fn operator(operator: &str, arguments: Vec<Expr>, origin: TextRange) -> Expr {
    call(operator_name(operator, origin), arguments, origin)
}

pub(super) fn operator_name(operator: &str, origin: TextRange) -> Expr {
    attribute(name(OPERATORS, origin), operator, origin)
}

/// `lambda: body`
pub(super) fn thunk(body: Expr) -> Expr {
    let origin = body.range();
    Expr::Lambda(ast::ExprLambda {
        parameters: None,
        body: Box::new(body),
        range: origin,
        node_index: synthesized(),
    })
}

/// `lambda a, b: body`
pub(super) fn lambda(parameters: &[&str], body: Expr) -> Expr {
    let origin = body.range();
    Expr::Lambda(ast::ExprLambda {
        parameters: Some(Box::new(self::parameters(parameters))),
        body: Box::new(body),
        range: origin,
        node_index: synthesized(),
    })
}

pub(super) fn parameters(names: &[&str]) -> ast::Parameters {
    let parameter = |name: &&str| ast::ParameterWithDefault {
        range: TextRange::default(),
        node_index: synthesized(),
        parameter: ast::Parameter {
            range: TextRange::default(),
            node_index: synthesized(),
            name: identifier(name),
            annotation: None,
        },
        default: None,
    };
    ast::Parameters {
        node_index: synthesized(),
        args: names.iter().map(parameter).collect(),
        ..ast::Parameters::default()
    }
}

pub(super) fn tuple(elts: Vec<Expr>, origin: TextRange) -> Expr {
    Expr::Tuple(ast::ExprTuple {
        elts,
        ctx: ExprContext::Load,
        parenthesized: true,
        range: origin,
        node_index: synthesized(),
    })
}

pub(super) fn dict(items: Vec<(Option<Expr>, Expr)>, origin: TextRange) -> Expr {
    let items = items.into_iter().map(|(key, value)| ast::DictItem { key, value }).collect();
    Expr::Dict(ast::ExprDict { items, range: origin, node_index: synthesized() })
}

pub(super) fn string(value: &str, origin: TextRange) -> Expr {
    let quote = if value.contains('\'') && !value.contains('"') { Quote::Double } else { Quote::Single };
    string_in(value, quote, origin)
}

pub(super) fn string_in(value: &str, quote: Quote, origin: TextRange) -> Expr {
    let literal = StringLiteral {
        range: origin,
        node_index: AtomicNodeIndex::NONE,
        value: value.into(),
        flags: StringLiteralFlags::empty().with_quote_style(quote),
    };
    Expr::StringLiteral(ast::ExprStringLiteral {
        value: ast::StringLiteralValue::single(literal),
        range: origin,
        node_index: synthesized(),
    })
}

pub(super) fn integer(value: usize, origin: TextRange) -> Expr {
    Expr::NumberLiteral(ast::ExprNumberLiteral {
        value: ast::Number::Int((value as u64).into()),
        range: origin,
        node_index: synthesized(),
    })
}

pub(super) fn boolean(value: bool, origin: TextRange) -> Expr {
    Expr::BooleanLiteral(ast::ExprBooleanLiteral { value, range: origin, node_index: synthesized() })
}

pub(super) fn none(origin: TextRange) -> Expr {
    Expr::NoneLiteral(ast::ExprNoneLiteral { range: origin, node_index: synthesized() })
}

pub(super) fn not(operand: Expr) -> Expr {
    Expr::UnaryOp(ast::ExprUnaryOp {
        op: UnaryOp::Not,
        range: operand.range(),
        operand: Box::new(operand),
        node_index: synthesized(),
    })
}

pub(super) fn and(values: Vec<Expr>, origin: TextRange) -> Expr {
    Expr::BoolOp(ast::ExprBoolOp { op: BoolOp::And, values, range: origin, node_index: synthesized() })
}

pub(super) fn compare(left: Expr, op: CmpOp, right: Expr, origin: TextRange) -> Expr {
    Expr::Compare(ast::ExprCompare {
        left: Box::new(left),
        ops: Box::new([op]),
        comparators: Box::new([right]),
        range: origin,
        node_index: synthesized(),
    })
}

pub(super) fn assign(target: &str, value: Expr, origin: TextRange) -> Stmt {
    assign_to(named(target, ExprContext::Store, TextRange::default()), value, origin)
}

pub(super) fn assign_to(target: Expr, value: Expr, origin: TextRange) -> Stmt {
    Stmt::Assign(ast::StmtAssign {
        targets: vec![target],
        value: Box::new(value),
        range: origin,
        node_index: synthesized(),
    })
}

pub(super) fn expression(value: Expr, origin: TextRange) -> Stmt {
    Stmt::Expr(ast::StmtExpr { value: Box::new(value), range: origin, node_index: synthesized() })
}

pub(super) fn returned(value: Expr, origin: TextRange) -> Stmt {
    Stmt::Return(ast::StmtReturn { value: Some(Box::new(value)), range: origin, node_index: synthesized() })
}

pub(super) fn pass() -> Stmt {
    Stmt::Pass(ast::StmtPass { range: TextRange::default(), node_index: synthesized() })
}

pub(super) fn break_() -> Stmt {
    Stmt::Break(ast::StmtBreak { range: TextRange::default(), node_index: synthesized() })
}

/// `if test: body`
pub(super) fn if_(test: Expr, body: ast::Suite, origin: TextRange) -> Stmt {
    Stmt::If(ast::StmtIf {
        test: Box::new(test),
        body,
        elif_else_clauses: Vec::new(),
        range: origin,
        node_index: synthesized(),
    })
}

pub(super) fn else_clause(body: ast::Suite) -> ast::ElifElseClause {
    ast::ElifElseClause { range: TextRange::default(), node_index: synthesized(), test: None, body }
}

/// `try: body except: reset; raise`
pub(super) fn try_except_reraise(body: ast::Suite, mut reset: ast::Suite, origin: TextRange) -> Stmt {
    reset.push(Stmt::Raise(ast::StmtRaise {
        exc: None,
        cause: None,
        range: origin,
        node_index: synthesized(),
    }));
    try_except(body, None, None, reset, origin)
}

/// `try: body except class as name: handler`
pub(super) fn try_except(
    body: ast::Suite,
    class: Option<Expr>,
    name: Option<&str>,
    handler: ast::Suite,
    origin: TextRange,
) -> Stmt {
    let handler = ast::ExceptHandlerExceptHandler {
        range: origin,
        node_index: synthesized(),
        type_: class.map(Box::new),
        name: name.map(identifier),
        body: handler,
    };
    Stmt::Try(ast::StmtTry {
        range: origin,
        node_index: synthesized(),
        body,
        handlers: vec![ast::ExceptHandler::ExceptHandler(handler)],
        orelse: ast::Suite::new(),
        finalbody: ast::Suite::new(),
        is_star: false,
    })
}

pub(super) fn nonlocal(names: &[Name]) -> Stmt {
    let names = names.iter().map(|name| identifier(name)).collect();
    Stmt::Nonlocal(ast::StmtNonlocal { names, range: TextRange::default(), node_index: synthesized() })
}

pub(super) fn global(names: &[Name]) -> Stmt {
    let names = names.iter().map(|name| identifier(name)).collect();
    Stmt::Global(ast::StmtGlobal { names, range: TextRange::default(), node_index: synthesized() })
}

/// `def name(parameters): body`
pub(super) fn function(name: &str, parameters: &[&str], body: ast::Suite, origin: TextRange) -> Stmt {
    Stmt::FunctionDef(ast::StmtFunctionDef {
        is_async: false,
        decorator_list: ast::DecoratorList::new(),
        name: identifier(name),
        type_params: None,
        parameters: Box::new(self::parameters(parameters)),
        returns: None,
        body,
        range: origin,
        node_index: synthesized(),
    })
}

/// `with context as variable: body`
pub(super) fn with(context: Expr, variable: &str, body: ast::Suite, origin: TextRange) -> Stmt {
    let item = ast::WithItem {
        range: origin,
        node_index: synthesized(),
        context_expr: context,
        optional_vars: Some(Box::new(named(variable, ExprContext::Store, TextRange::default()))),
    };
    Stmt::With(ast::StmtWith {
        is_async: false,
        items: vec![item],
        body,
        range: origin,
        node_index: synthesized(),
    })
}
