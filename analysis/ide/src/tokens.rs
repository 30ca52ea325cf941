//! Names of staged values, for highlighting.

use ruff_python_ast::Expr;
use ruff_text_size::{Ranged, TextRange};

use super::function::FunctionAnalysis;
use ag_db::Db;
use ag_db::Document;
use ag_index::facts::Fact;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TokenKind {
    /// The name of a staged function, at its `def`.
    Function,
    Parameter,
    Variable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub range: TextRange,
    pub kind: TokenKind,
}

/// Returns the names of staged functions, and those names in them that are certainly or possibly Tensors.
pub fn tokens(db: &dyn Db, document: Document) -> Vec<Token> {
    let mut tokens = Vec::new();
    for function in FunctionAnalysis::all(db, document) {
        tokens.push(Token { range: function.entry.name_range, kind: TokenKind::Function });
        let parameters = || function.signature.parameters.iter().zip(&function.stage.parameters);
        let staged = parameters().filter(|(_, parameter)| {
            use ag_index::facts::Binding::{Mixed, Staged};
            matches!(parameter.binding, Staged | Mixed)
        });
        tokens
            .extend(staged.map(|(syntax, _)| Token { range: syntax.name_range, kind: TokenKind::Parameter }));
        for expression in function.expressions() {
            let Expr::Name(name) = expression else { continue };
            if function.fact(expression).is_some_and(Fact::may_be_tensor) {
                let is_parameter = function.signature.parameters.iter().any(|it| it.name == name.id);
                let kind = if is_parameter { TokenKind::Parameter } else { TokenKind::Variable };
                tokens.push(Token { range: expression.range() + function.base(), kind });
            }
        }
    }
    tokens.sort_by_key(|token| (token.range.start(), token.kind));
    tokens.dedup_by_key(|token| token.range.start());
    tokens
}
