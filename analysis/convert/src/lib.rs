//! The AutoGraph converter: rewrites Python functions so that their control flow calls operators.
//!
//! ```text
//! let source = Converter::new(text, PySourceType::Python, &options)?;
//! source.module().text;        // the file, every function converted in place
//! source.functions();          // each function, method and lambda on its own
//! ```
//!
//! The passes in [`Pass::ALL`] rewrite ruff's syntax tree (AutoGraph, §7.2), each in a module of its
//! own. The `printer` prints the result with a [`SourceMap`]. On values that are not staged, converted
//! code behaves exactly like the original. The crate depends only on syntax and dataflow: no types, no
//! database. [`template`] provides quoted code for custom passes (AutoGraph, appendix C).

mod asserts;
mod binding_tests;
mod breaks;
mod build;
mod calls;
mod characters;
mod conditional_expressions;
mod continues;
mod control_flow;
mod directives;
mod entry;
mod expressions;
mod functions;
mod jumps;
mod keep;
mod lists;
mod logical_expressions;
mod lowering;
mod map;
mod module;
mod names;
mod notes;
mod options;
mod pipeline;
mod printer;
mod reason;
mod returns;
mod slices;
mod snek;
mod standalone;
mod state;
pub mod template;
mod tree;
mod variables;

pub use characters::Characters;
pub use entry::{FunctionInfo, Kind};
pub use map::{SourceMap, Span, SpanKind};
pub use module::Module;
pub use options::{Features, OperatorSet, Options, Pass, View};
pub use reason::Reason;
pub use standalone::Function;

use ruff_python_ast::{PySourceType, PythonVersion};
use ruff_python_parser::{ParseOptions, Parsed};
use ruff_text_size::{Ranged, TextRange};

use names::Identifiers;
use printer::Source;

/// A parsed source file, ready for conversion.
pub struct Converter<'a> {
    text: &'a str,
    options: &'a Options,
    parsed: Parsed<ruff_python_ast::ModModule>,
    identifiers: Identifiers<'a>,
    source: Source<'a>,
}

/// The error for a source that is nested too deeply to be traversed recursively.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the source is nested too deeply")]
pub struct TooDeep;

impl<'a> Converter<'a> {
    pub fn new(text: &'a str, source_type: PySourceType, options: &'a Options) -> Result<Self, TooDeep> {
        if ag_syntax::nesting::is_too_deep(text) {
            return Err(TooDeep);
        }
        let parse = ParseOptions::from(source_type).with_target_version(PythonVersion::latest());
        let parsed = ruff_python_parser::parse_unchecked(text, parse).try_into_module().ok_or(TooDeep)?;
        let identifiers = Identifiers::new(text, parsed.tokens());
        let source = Source::new(text, parsed.tokens());
        Ok(Self { text, options, parsed, identifiers, source })
    }

    /// Returns the syntax errors of the source.
    pub fn errors(&self) -> impl Iterator<Item = (TextRange, String)> + '_ {
        self.parsed.errors().iter().map(|error| (error.range(), error.error.to_string()))
    }

    /// Returns the first syntax error that overlaps `range`.
    fn error_in(&self, range: TextRange) -> Option<Reason> {
        let error = self.parsed.errors().iter().find(|error| range.intersect(error.range()).is_some())?;
        Some(Reason::Syntax(error.error.to_string()))
    }

    fn context(&self) -> lowering::Context<'_> {
        lowering::Context { source: self.text, options: self.options, identifiers: &self.identifiers }
    }
}
