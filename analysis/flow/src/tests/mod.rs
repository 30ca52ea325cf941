//! Analyses of small functions, queried by the text of a statement.

mod activity;
mod block;
mod cfg;
mod limits;
mod liveness;
mod paths;
mod reaching;
mod rewritten;

use ruff_python_ast as ast;
use ruff_python_parser::{Mode, ParseOptions, Parsed};
use ruff_text_size::{TextRange, TextSize};

use super::*;

/// A function and its flow.
struct Snippet {
    source: String,
    flow: Flow,
}

fn parse(source: &str) -> Parsed<ast::Mod> {
    ruff_python_parser::parse_unchecked(source, ParseOptions::from(Mode::Module))
}

fn function(parsed: &Parsed<ast::Mod>) -> &ast::StmtFunctionDef {
    match parsed.syntax() {
        ast::Mod::Module(module) => module.body[0].as_function_def_stmt().expect("a function"),
        ast::Mod::Expression(_) => panic!("a module was parsed"),
    }
}

/// Builds the flow of the function in `source`, which must be valid Python. All lines may have a common indentation.
fn snippet(source: &str) -> Snippet {
    let lines = source.lines().skip_while(|line| line.trim().is_empty());
    let margin = lines.clone().next().map_or(0, |line| line.len() - line.trim_start().len());
    let source: String = lines.map(|line| format!("{}\n", line.get(margin..).unwrap_or(""))).collect();
    let parsed = parse(&source);
    assert!(parsed.errors().is_empty(), "{source}\n{:?}", parsed.errors());
    Snippet { flow: Flow::build(function(&parsed)), source }
}

impl Snippet {
    /// Returns the range of the first occurrence of `text`.
    fn range(&self, text: &str) -> TextRange {
        let start = self.source.find(text).unwrap_or_else(|| panic!("{text:?} is in the source"));
        TextRange::at(TextSize::try_from(start).unwrap(), TextSize::of(text))
    }

    /// Returns the statement or `elif` that starts with `text`.
    fn stmt(&self, text: &str) -> StmtId {
        self.flow
            .cfg
            .statement_at(self.range(text).start())
            .unwrap_or_else(|| panic!("{text:?} starts a statement"))
    }

    /// Returns the node that evaluates `text`.
    fn node(&self, text: &str) -> NodeId {
        self.flow.cfg.node_at(self.range(text)).unwrap_or_else(|| panic!("{text:?} is evaluated"))
    }

    fn live_before(&self, text: &str) -> String {
        self.flow.live_before(self.stmt(text)).to_string()
    }

    fn live_after(&self, text: &str) -> String {
        self.flow.live_after(self.stmt(text)).to_string()
    }

    fn reads(&self, text: &str) -> String {
        self.flow.activity.reads(self.node(text)).to_string()
    }

    fn modifies(&self, text: &str) -> String {
        self.flow.activity.modifies(self.node(text)).to_string()
    }

    fn name(&self, text: &str) -> QName {
        let parsed = ruff_python_parser::parse_expression(text).expect("an expression");
        QName::from_expr(parsed.expr()).expect("a name")
    }

    /// Returns the kind and value of each definition of `name` that reaches `text`: `Assign 1` for `x = 1`.
    fn definitions(&self, text: &str, name: &str) -> Vec<String> {
        let show = |def: &&Def| match def.value {
            Some(value) => format!("{:?} {}", def.kind, &self.source[value]),
            None => format!("{:?}", def.kind),
        };
        self.flow.definitions_of(self.range(text), &self.name(name)).iter().map(show).collect()
    }

    fn defined(&self, text: &str, name: &str) -> Definedness {
        self.flow.defined_at_node(self.node(text), &self.name(name))
    }
}
