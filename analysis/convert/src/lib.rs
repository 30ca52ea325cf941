//! The converter: Python whose control flow an operator can take over.
//!
//! ```text
//! let source = Converter::new(text, PySourceType::Python, &options)?;
//! source.module().text;        // the file, every function converted in place
//! source.functions();          // each function, method and lambda on its own
//! ```
//!
//! A function goes through the passes in [`Pass::ALL`], a file each in this room (AutoGraph, §7.2):
//! they rewrite ruff's tree, and the `printer` prints it with a [`SourceMap`]. For values that
//! are not staged, converted code does exactly what the original does. It depends on syntax and
//! data flow alone: no types, no database. [`template`] has the means to write passes of one's own (AutoGraph,
//! appendix C).

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
pub use entry::{Kind, Place};
pub use map::{SourceMap, Span, SpanKind};
pub use module::Module;
pub use options::{Dialect, Features, Options, Pass, View};
pub use reason::Reason;
pub use standalone::Function;

use ruff_python_ast::{PySourceType, PythonVersion};
use ruff_python_parser::{ParseOptions, Parsed};
use ruff_text_size::{Ranged, TextRange};

use names::Identifiers;
use printer::Source;

/// A parsed source, ready to be converted.
pub struct Converter<'a> {
    text: &'a str,
    options: &'a Options,
    parsed: Parsed<ruff_python_ast::ModModule>,
    identifiers: Identifiers<'a>,
    source: Source<'a>,
}

/// A text that is nested too deep to be walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the source is nested too deep")]
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

    /// What does not parse.
    pub fn errors(&self) -> impl Iterator<Item = (TextRange, String)> + '_ {
        self.parsed.errors().iter().map(|error| (error.range(), error.error.to_string()))
    }

    /// The first syntax error within a range.
    fn error_in(&self, range: TextRange) -> Option<Reason> {
        let error = self.parsed.errors().iter().find(|error| range.intersect(error.range()).is_some())?;
        Some(Reason::Syntax(error.error.to_string()))
    }

    fn context(&self) -> lowering::Context<'_> {
        lowering::Context { source: self.text, options: self.options, identifiers: &self.identifiers }
    }
}
