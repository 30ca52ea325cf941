//! The command line: a file per subcommand.

pub(crate) mod arguments;
mod check;
mod config;
pub(crate) mod convert;
mod explain;
mod generate;
mod graph;
mod run;
mod server;
mod stages;
mod version;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};

use crate::printer;

/// The exit status of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum ExitStatus {
    /// There are no errors or warnings.
    Clean = 0,
    /// There are errors or warnings.
    Findings = 1,
    /// The command line or the configuration is invalid.
    Usage = 2,
    /// An internal error.
    Panic = 101,
}

/// Finds graph breaks, tracer errors and silent tracing bugs in tf.function, Keras, torch.compile, TorchScript and
/// jax.jit code.
#[derive(Parser)]
#[command(name = "ag-lsp", version, max_term_width = 100)]
#[command(after_help = "Run `ag-lsp help COMMAND` for the options of a command.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    global: Global,
}

#[derive(clap::Args, Clone, Copy)]
#[command(next_help_heading = "Messages")]
struct Global {
    /// Print findings and errors only.
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    quiet: bool,

    /// Verbose output.
    #[arg(long, short, global = true)]
    verbose: bool,

    /// When to use colours.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: Colour,
}

impl Global {
    fn verbosity(self) -> i8 {
        i8::from(self.verbose) - i8::from(self.quiet)
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Colour {
    Auto,
    Always,
    Never,
}

#[derive(Subcommand)]
enum Command {
    Check(Box<check::Check>),
    Stages(stages::Stages),
    Convert(convert::Convert),
    #[command(alias = "rule")]
    Explain(explain::Explain),
    Config(config::Config),
    Run(run::Run),
    Graph(graph::Graph),
    Server(server::Server),
    Version(version::Version),
    GenerateShellCompletion(generate::ShellCompletion),
    /// Write the JSON schema of the configuration to standard output.
    #[command(hide = true)]
    GenerateSchema,
    /// Write the manual page to standard output.
    #[command(hide = true)]
    GenerateMan,
    /// Write the documentation of all rules, in Markdown, to standard output.
    #[command(hide = true)]
    GenerateDocs,
}

/// Parses the command line and runs the command.
pub(crate) fn main() -> ExitStatus {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // `--help` and `--version` are reported here too; a closed pipe is not an error.
            let _ = error.print();
            return if error.use_stderr() { ExitStatus::Usage } else { ExitStatus::Clean };
        }
    };
    match arguments.global.color {
        Colour::Auto => anstream::ColorChoice::Auto,
        Colour::Always => anstream::ColorChoice::Always,
        Colour::Never => anstream::ColorChoice::Never,
    }
    .write_global();
    let verbosity = arguments.global.verbosity();
    let result = match arguments.command {
        Command::Check(command) => command.run(verbosity),
        Command::Stages(command) => command.run(verbosity),
        Command::Convert(command) => command.run(),
        Command::Explain(command) => command.run(),
        Command::Config(command) => command.run(),
        Command::Run(command) => command.run(verbosity),
        Command::Graph(command) => command.run(verbosity),
        Command::Server(command) => command.run(),
        Command::Version(command) => command.run(),
        Command::GenerateShellCompletion(command) => command.run(&mut Arguments::command()),
        Command::GenerateSchema => generate::schema(),
        Command::GenerateMan => generate::manual(Arguments::command()),
        Command::GenerateDocs => generate::rules_reference(),
    };
    result.unwrap_or_else(|error| {
        printer::error(&format!("{error:#}"));
        ExitStatus::Usage
    })
}
