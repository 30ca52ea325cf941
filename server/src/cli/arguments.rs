//! Arguments that several subcommands share.

use std::str::FromStr;

use ag_index::dialect::Dialect;
use ag_project::config::Options;
use clap::{Args, ValueEnum};
use ruff_db::system::{SystemPath, SystemPathBuf};

/// Options that set up the project.
#[derive(Args, Clone, Debug)]
pub(crate) struct ProjectArguments {
    /// A configuration file, or one option as TOML: `--config ci/ag-lsp.toml`, `--config 'select = ["AG1"]'`.
    ///
    /// May be given several times. An option given here takes precedence over every file.
    #[arg(long, value_name = "FILE | KEY = VALUE", help_heading = "Configuration")]
    pub(crate) config: Vec<ConfigArgument>,

    /// Ignore all configuration files.
    #[arg(long, help_heading = "Configuration")]
    pub(crate) isolated: bool,

    /// The virtual environment or the interpreter whose packages the project imports.
    #[arg(long, value_name = "PATH", help_heading = "Configuration")]
    python: Option<String>,

    /// The dialects to analyze, separated by commas.
    #[arg(long, value_name = "DIALECT", value_delimiter = ',', value_parser = dialect_parser(), help_heading = "Configuration")]
    dialect: Vec<Dialect>,

    /// The functions to treat as roots.
    #[arg(long, value_name = "ROOTS", default_value = "declared", help_heading = "Configuration")]
    roots: Roots,

    /// Follow types through all files, also in a project of more than 256 files.
    #[arg(long, help_heading = "Configuration")]
    thorough: bool,

    /// The number of threads; by default, the number of CPUs.
    #[arg(long, short, value_name = "N", help_heading = "Miscellaneous")]
    pub(crate) jobs: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Roots {
    /// Functions that a decorator, a call or the configuration declares as roots.
    Declared,
    /// Every function of the given files.
    All,
}

impl ProjectArguments {
    pub(crate) fn all_roots(&self) -> bool {
        self.roots == Roots::All
    }

    /// These arguments as options of a configuration file.
    pub(crate) fn options(&self, cwd: &SystemPath) -> Options {
        Options {
            dialects: (!self.dialect.is_empty()).then(|| self.dialect.clone()),
            thorough: self.thorough.then_some(true),
            python: self.python.as_ref().map(|path| SystemPath::absolute(path, cwd).to_string()),
            ..Options::default()
        }
    }
}

fn dialect_parser() -> impl clap::builder::TypedValueParser<Value = Dialect> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(Dialect::ALL.map(Dialect::as_str))
        .try_map(|name| Dialect::from_name(&name).ok_or("unknown dialect"))
}

/// The value of `--config`.
#[derive(Clone, Debug)]
pub(crate) enum ConfigArgument {
    File(SystemPathBuf),
    Inline(Box<Options>),
}

impl FromStr for ConfigArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if !text.contains('=') || std::path::Path::new(text).exists() {
            return Ok(Self::File(SystemPathBuf::from(text)));
        }
        Options::from_toml(text)
            .map(|options| Self::Inline(Box::new(options)))
            .map_err(|error| error.to_string())
    }
}
