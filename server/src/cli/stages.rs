//! `ag-lsp stages`: for each traced function, which conditions and loops run in Python and which in the graph.

use std::fmt::Write;

use ag_db::finding::Note;
use ag_index::facts::Binding;
use ag_project::Engine;
use ag_project::config::Options;
use ag_staging::construct::ConstructKind;
use ag_staging::staged::{StagedConstruct, StagedFunction, StagedParameter};
use anstyle::{AnsiColor, Style};
use clap::{Args, ValueEnum};
use ruff_text_size::TextRange;
use serde::Serialize;

use super::ExitStatus;
use super::arguments::ProjectArguments;
use crate::printer::{self, Printer};
use crate::report::Source;
use crate::session::{Session, Stdin};

/// Show which conditions and loops run in Python and which in the graph, by function.
#[derive(Args)]
pub(crate) struct Stages {
    /// The files and folders to show; `-` for standard input.
    #[arg(required_unless_present = "stdin_filename", value_name = "FILES")]
    files: Vec<String>,

    /// The output format; by default text on a terminal, else JSON.
    #[arg(long, value_name = "FORMAT", help_heading = "Output")]
    output_format: Option<Format>,

    #[command(flatten)]
    project: ProjectArguments,

    /// The path of the file whose text is on standard input.
    #[arg(long, value_name = "FILE", help_heading = "File selection")]
    stdin_filename: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

#[derive(Serialize)]
struct FileItem {
    file: String,
    functions: Vec<FunctionItem>,
}

#[derive(Serialize)]
struct FunctionItem {
    qualname: String,
    line: usize,
    /// The cell of a notebook; lines count from the start of the cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    cell: Option<usize>,
    root: bool,
    dialect: &'static str,
    parameters: Vec<ParameterItem>,
    constructs: Vec<ConstructItem>,
}

#[derive(Serialize)]
struct ParameterItem {
    name: String,
    binding: Binding,
    why: Vec<String>,
}

/// Lines and columns count from 1, columns characters.
#[derive(Serialize)]
struct ConstructItem {
    kind: ConstructKind,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
    text: String,
    binding: Binding,
    why: Vec<String>,
}

impl Stages {
    pub(crate) fn run(&self, verbosity: i8) -> anyhow::Result<ExitStatus> {
        let stdin = Stdin::of(&self.files, self.stdin_filename.as_deref())?;
        // All traced functions are listed, also those that `check` does not find in a large project.
        let mut session = Session::open(
            &self.project,
            &Options::default(),
            &self.files,
            stdin.as_ref(),
            verbosity,
            |settings| settings.follows_values = true,
        )?;
        session.start(verbosity);
        let mut status = ExitStatus::Clean;
        for unreadable in &session.unreadable {
            printer::error(&format!("{}: {}", unreadable.path, unreadable.message));
            status = status.max(ExitStatus::Usage);
        }
        let mut items = Vec::new();
        for (path, document, functions) in session.each(Engine::stages) {
            let file = session.engine.file(document);
            let source = Source::of_file(&session.engine, file, &session.cwd);
            let functions = functions.unwrap_or_else(|panic| {
                printer::error(&format!("{path}: {panic}; this is a bug in ag-lsp"));
                status = ExitStatus::Panic;
                Vec::new()
            });
            let presenter = Presenter { session: &session, source: &source };
            items.push(FileItem {
                file: session.inputs.get(&path).map_or_else(|| path.to_string(), |input| input.given.clone()),
                functions: functions.iter().map(|function| presenter.function(function)).collect(),
            });
        }
        if items.is_empty() && status != ExitStatus::Clean {
            return Ok(status);
        }
        let mut printer = Printer::new(None)?;
        let default = if printer::is_terminal() { Format::Text } else { Format::Json };
        match self.output_format.unwrap_or(default) {
            Format::Json => printer.write(&(serde_json::to_string_pretty(&items)? + "\n"))?,
            Format::Text => printer.write(&text(&items))?,
        }
        session.note_missing_roots();
        Ok(status)
    }
}

struct Presenter<'a> {
    session: &'a Session,
    source: &'a Source,
}

impl Presenter<'_> {
    fn function(&self, function: &StagedFunction) -> FunctionItem {
        let start = function.name_range.start();
        FunctionItem {
            qualname: function.qualname.to_string(),
            line: self.source.position(start).row,
            cell: self.source.cell(start),
            root: function.stage.root.is_some(),
            dialect: function.stage.dialect.as_str(),
            parameters: function.parameters.iter().map(|parameter| self.parameter(parameter)).collect(),
            constructs: function.constructs.iter().map(|construct| self.construct(construct)).collect(),
        }
    }

    fn parameter(&self, parameter: &StagedParameter) -> ParameterItem {
        let why = parameter.why.iter().map(|note| self.sentence(note)).collect();
        ParameterItem { name: parameter.name.to_string(), binding: parameter.binding, why }
    }

    fn construct(&self, construct: &StagedConstruct) -> ConstructItem {
        let (start, end) =
            (self.source.position(construct.range.start()), self.source.position(construct.range.end()));
        ConstructItem {
            kind: construct.kind,
            line: start.row,
            column: start.column,
            end_line: end.row,
            end_column: end.column,
            text: self.source.text().get(span(construct.test_range)).unwrap_or_default().to_owned(),
            binding: construct.binding,
            why: construct.why.iter().map(|note| self.sentence(note)).collect(),
        }
    }

    /// Returns a reason with its location: "`x` is a Tensor at model.py:3".
    fn sentence(&self, note: &Note) -> String {
        let Some(location) = &note.location else {
            return note.message.clone();
        };
        let engine = &self.session.engine;
        let path = engine.path(location.file);
        let start = location.range.start();
        let row = match path == self.source.path {
            true => self.source.position(start).row,
            false => Source::of_file(engine, location.file, &self.session.cwd).position(start).row,
        };
        let shown = path.strip_prefix(&self.session.cwd).unwrap_or(&path);
        format!("{} at {shown}:{row}", note.message)
    }
}

fn span(range: TextRange) -> std::ops::Range<usize> {
    range.start().to_usize()..range.end().to_usize()
}

fn text(items: &[FileItem]) -> String {
    let mut out = String::new();
    let bold = Style::new().bold();
    for item in items {
        for function in &item.functions {
            let cell = function.cell.map(|cell| format!("cell {cell}:")).unwrap_or_default();
            let root = if function.root { "root" } else { "called from a root" };
            let _ = writeln!(
                out,
                "{}:{cell}{}: {bold}{}{bold:#} ({}, {root})",
                item.file, function.line, function.qualname, function.dialect
            );
            for parameter in &function.parameters {
                let _ = writeln!(out, "  {}  {}", verdict(parameter.binding), parameter.name);
                reasons(&mut out, &parameter.why);
            }
            for construct in &function.constructs {
                let mut lines = construct.text.lines();
                let (first, more) = (lines.next().unwrap_or_default(), lines.next().map_or("", |_| " …"));
                let (verdict, line, kind) =
                    (verdict(construct.binding), construct.line, construct.kind.as_str());
                let _ = writeln!(out, "  {verdict}  {line}: {kind} {first}{more}");
                reasons(&mut out, &construct.why);
            }
            out.push('\n');
        }
    }
    out
}

fn reasons(out: &mut String, why: &[String]) {
    let dim = Style::new().dimmed();
    for reason in why {
        let _ = writeln!(out, "           {dim}{reason}{dim:#}");
    }
}

fn verdict(binding: Binding) -> String {
    let style = match binding {
        Binding::Staged => AnsiColor::Magenta,
        Binding::Python => AnsiColor::Green,
        Binding::Mixed => AnsiColor::Yellow,
        Binding::Unknown => AnsiColor::BrightBlack,
    }
    .on_default();
    format!("{style}{:7}{style:#}", binding.as_str())
}
