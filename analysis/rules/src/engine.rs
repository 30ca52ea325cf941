//! Findings of the engine itself: files that cannot be read or parsed, and suppression comments.

use super::declare::declare_rule;

declare_rule! {
    /// ## What it does
    /// Reports syntax errors.
    ///
    /// ## Why is this bad?
    /// Python rejects the whole file. ag-lsp recovers and checks the rest.
    pub(crate) static SYNTAX_ERROR = {
        code: "AG900", name: "syntax-error",
        summary: "the file has a syntax error",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Keras, Autograph, Torch, Jax, Pennylane], fix: None,
        check: Engine,
    }
}

declare_rule! {
    /// ## What it does
    /// Reports a file that cannot be read: it does not exist, is not readable, or is not UTF-8.
    ///
    /// ## Why is this bad?
    /// The file is not checked.
    pub(crate) static IO_ERROR = {
        code: "AG901", name: "io-error",
        summary: "the file cannot be read",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Keras, Autograph, Torch, Jax, Pennylane], fix: None,
        check: Engine,
    }
}

declare_rule! {
    /// ## What it does
    /// Reports a suppression comment that suppresses nothing.
    ///
    /// ## Why is this bad?
    /// It hides the next finding on its line, and makes readers look for a problem that does not exist.
    ///
    /// ## Fix safety
    /// Safe: only the comment, or the unused code in it, is removed.
    pub(crate) static UNUSED_IGNORE = {
        code: "AG902", name: "unused-ignore",
        summary: "a suppression comment suppresses nothing",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Tensorflow, Keras, Autograph, Torch, Jax, Pennylane], fix: Always,
        check: Engine,
    }
}

declare_rule! {
    /// ## What it does
    /// Reports that ag-lsp failed on a file. The other files are still checked, and the exit code is 101.
    ///
    /// ## Why is this bad?
    /// It is a bug in ag-lsp. Please report it with the file, or with an excerpt that still fails.
    pub(crate) static INTERNAL_ERROR = {
        code: "AG903", name: "internal-error",
        summary: "ag-lsp failed on this file",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Keras, Autograph, Torch, Jax, Pennylane], fix: None,
        check: Engine,
    }
}

declare_rule! {
    /// ## What it does
    /// Reports a file whose blocks, brackets or operator chains nest more than 2,000 deep.
    ///
    /// ## Why is this bad?
    /// The file is not checked. CPython's parser rejects most such files.
    pub(crate) static TOO_DEEP = {
        code: "AG904", name: "too-deep",
        summary: "the file is nested too deeply to be checked",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Keras, Autograph, Torch, Jax, Pennylane], fix: None,
        check: Engine,
    }
}

declare_rule! {
    /// ## What it does
    /// Reports a suppression comment that names no known rule or cannot be parsed.
    ///
    /// ## Why is this bad?
    /// It suppresses nothing, usually because of a typo.
    pub(crate) static INVALID_IGNORE = {
        code: "AG905", name: "invalid-ignore",
        summary: "a suppression comment names no known rule",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Tensorflow, Keras, Autograph, Torch, Jax, Pennylane], fix: None,
        check: Engine,
    }
}
