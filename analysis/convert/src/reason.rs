//! The reasons why a function is not converted.

use std::fmt;

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};

use super::jumps::{self, Jump};
use super::options::Features;

/// Why a function is not converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It contains `yield`: generators are not supported.
    Generator,
    /// It accesses its own frame by calling the named function, such as `locals()`.
    Frame(String),
    /// A jump out of `finally` discards the active exception.
    JumpInFinally,
    /// It contains a syntax error.
    Syntax(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Generator => f.write_str("generators are not supported"),
            Self::Frame(name) => {
                write!(
                    f,
                    "`{name}` reads the frame of the function, which conversion splits into several functions"
                )
            }
            Self::JumpInFinally => f.write_str("a jump out of `finally` discards the active exception"),
            Self::Syntax(error) => write!(f, "syntax error: {error}"),
        }
    }
}

/// Functions that access the frame of their caller.
const FRAME_FUNCTIONS: [&str; 4] = ["_getframe", "currentframe", "_getframemodulename", "getouterframes"];

pub(super) fn of_function(def: &ast::StmtFunctionDef, features: Features) -> Option<Reason> {
    of(features, |search| search.visit_body(&def.body))
}

pub(super) fn of_lambda(lambda: &ast::ExprLambda, features: Features) -> Option<Reason> {
    of(features, |search| search.visit_expr(&lambda.body))
}

fn of(features: Features, walk: impl FnOnce(&mut Search)) -> Option<Reason> {
    let mut search = Search { scopes: features.scopes, reason: None };
    walk(&mut search);
    search.reason
}

struct Search {
    /// Whether the operators detect calls of functions such as `locals` at run time.
    scopes: bool,
    reason: Option<Reason>,
}

impl<'a> SourceOrderVisitor<'a> for Search {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => return,
            Stmt::Try(node) => {
                let leaves = [Jump::Break, Jump::Continue, Jump::Return]
                    .into_iter()
                    .any(|jump| jumps::contains(&node.finalbody, jump));
                if leaves {
                    self.reason.get_or_insert(Reason::JumpInFinally);
                }
            }
            _ => {}
        }
        if self.reason.is_none() {
            source_order::walk_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Lambda(_) => return,
            Expr::Yield(_) | Expr::YieldFrom(_) => {
                self.reason.get_or_insert(Reason::Generator);
            }
            Expr::Call(call) => {
                if let Some(name) = frame_access(call, self.scopes) {
                    self.reason.get_or_insert(Reason::Frame(name.to_owned()));
                }
            }
            _ => {}
        }
        if self.reason.is_none() {
            source_order::walk_expr(self, expression);
        }
    }
}

fn frame_access(call: &ast::ExprCall, scopes: bool) -> Option<&str> {
    let arguments = call.arguments.len();
    match &*call.func {
        Expr::Name(name) => match name.id.as_str() {
            name @ ("locals" | "vars" | "dir") if arguments == 0 && !scopes => Some(name),
            name @ ("eval" | "exec") if arguments == 1 && !scopes => Some(name),
            name if FRAME_FUNCTIONS.contains(&name) => Some(name),
            _ => None,
        },
        Expr::Attribute(attribute) => {
            Some(attribute.attr.as_str()).filter(|name| FRAME_FUNCTIONS.contains(name))
        }
        _ => None,
    }
}
