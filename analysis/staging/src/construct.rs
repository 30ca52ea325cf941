//! The decisions of a function: every construct that branches or iterates, in Python or in the graph.

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::TextRange;

use ag_db::diagnostic::Why;
use ag_index::facts::Binding;
use ag_syntax::expressions::ExprId;

/// The kinds of decisions, named as in the output of `ag-lsp stages`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConstructKind {
    /// An `if` or an `elif`.
    If,
    While,
    For,
    #[serde(rename = "ifexp")]
    IfExp,
    And,
    Or,
    Not,
    CompareChain,
    Assert,
    ComprehensionIf,
}

impl ConstructKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::If => "if",
            Self::While => "while",
            Self::For => "for",
            Self::IfExp => "ifexp",
            Self::And => "and",
            Self::Or => "or",
            Self::Not => "not",
            Self::CompareChain => "compare_chain",
            Self::Assert => "assert",
            Self::ComprehensionIf => "comprehension_if",
        }
    }

    pub fn is_loop(self) -> bool {
        matches!(self, Self::While | Self::For)
    }
}

/// A decision with its binding time; ranges are relative to the function's `def`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Construct {
    pub kind: ConstructKind,
    /// The whole construct: the statement or the expression. An `elif` begins at its keyword.
    pub range: TextRange,
    /// The expression that is tested or iterated over.
    pub test: Option<ExprId>,
    pub test_range: TextRange,
    pub binding: Binding,
    /// Whether the test is on a Python number that is read from a Tensor: `if x.item() > 0:`.
    pub reads_tensor: bool,
    pub why: Why,
    /// The innermost statement construct (`if`, `while`, `for`) around it, as an index into the list of constructs.
    pub parent: Option<u32>,
}

impl Construct {
    /// Returns the range of a statement without its body: `for i in tf.range(n)`.
    pub fn head(&self) -> TextRange {
        TextRange::new(self.range.start(), self.test_range.end())
    }
}

/// The syntax of a construct.
#[derive(Clone, Copy, Debug)]
pub enum ConstructNode<'a> {
    /// The statement and the index of a clause: 0 is the `if`, 1 the first `elif`, …
    If(&'a ast::StmtIf, usize),
    While(&'a ast::StmtWhile),
    For(&'a ast::StmtFor),
    IfExp(&'a ast::ExprIf),
    BoolOp(&'a ast::ExprBoolOp),
    Not(&'a ast::ExprUnaryOp),
    Compare(&'a ast::ExprCompare),
    Assert(&'a ast::StmtAssert),
    /// The comprehension clause, and the index of a condition.
    ComprehensionIf(&'a ast::Comprehension, usize),
}

impl<'a> ConstructNode<'a> {
    /// Returns the expression that is tested or iterated over; `None` for `and`, `or`, `not` and comparisons, which
    /// have several.
    pub fn test(self) -> Option<&'a Expr> {
        match self {
            Self::If(node, 0) => Some(&node.test),
            Self::If(node, clause) => node.elif_else_clauses.get(clause - 1)?.test.as_ref(),
            Self::While(node) => Some(&node.test),
            Self::For(node) => Some(&node.iter),
            Self::IfExp(node) => Some(&node.test),
            Self::Assert(node) => Some(&node.test),
            Self::ComprehensionIf(node, index) => node.ifs.get(index),
            Self::BoolOp(_) | Self::Not(_) | Self::Compare(_) => None,
        }
    }

    /// Returns the statements that run when the test is true, and those that run when it is false. If an `elif`
    /// follows, the second item is `None`. Returns `None` for constructs without branches.
    pub fn branches(self) -> Option<(&'a [Stmt], Option<&'a [Stmt]>)> {
        match self {
            Self::If(node, clause) => {
                let body = match clause {
                    0 => node.body.as_slice(),
                    _ => node.elif_else_clauses.get(clause - 1)?.body.as_slice(),
                };
                let orelse = match node.elif_else_clauses.get(clause) {
                    None => Some(&[][..]),
                    Some(next) if next.test.is_none() => Some(next.body.as_slice()),
                    Some(_) => None,
                };
                Some((body, orelse))
            }
            Self::While(node) => Some((&node.body, Some(&node.orelse))),
            Self::For(node) => Some((&node.body, Some(&node.orelse))),
            _ => None,
        }
    }
}
