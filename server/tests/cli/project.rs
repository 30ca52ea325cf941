//! A temporary project folder in which tests run the binary.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) struct Project {
    folder: tempfile::TempDir,
}

/// The result of a run. The path of the project folder is replaced by `[project]`.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Project {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let project = Self { folder: tempfile::tempdir().unwrap() };
        for (name, text) in files {
            project.write(name, text);
        }
        project
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ag-lsp"));
        command.args(arguments).current_dir(self.folder.path());
        for variable in
            ["VIRTUAL_ENV", "CONDA_PREFIX", "AG_LSP_OUTPUT_FORMAT", "RUST_BACKTRACE", "CLICOLOR_FORCE"]
        {
            command.env_remove(variable);
        }
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.run_with_input(arguments, b"")
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut command = self.command(arguments);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // The write fails if the process does not read its input.
        let _ = child.stdin.take().unwrap().write_all(input);
        let output = child.wait_with_output().unwrap();
        Output {
            code: output.status.code(),
            stdout: self.redacted(&output.stdout),
            stderr: self.redacted(&output.stderr),
        }
    }

    /// Returns the findings as `path:row:column: CODE`.
    pub(crate) fn findings(&self, arguments: &[&str]) -> Vec<String> {
        let answer = self.run(&[&["check", "--output-format", "json"], arguments].concat());
        let findings: serde_json::Value =
            serde_json::from_str(&answer.stdout).unwrap_or_else(|_| panic!("not JSON: {answer:?}"));
        let show = |finding: &serde_json::Value| {
            let file =
                Path::new(finding["filename"].as_str().unwrap()).file_name().unwrap().to_string_lossy();
            let (row, column) = (&finding["location"]["row"], &finding["location"]["column"]);
            format!("{file}:{row}:{column}: {}", finding["code"].as_str().unwrap())
        };
        findings.as_array().unwrap().iter().map(show).collect()
    }

    fn redacted(&self, output: &[u8]) -> String {
        let folder = self.folder.path().canonicalize().unwrap();
        String::from_utf8_lossy(output)
            .replace(folder.to_str().unwrap(), "[project]")
            .replace(self.folder.path().to_str().unwrap(), "[project]")
    }
}
