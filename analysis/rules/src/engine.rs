//! What the engine itself reports: files that cannot be read or parsed, and suppression comments.

use super::declare::declare_rule;

declare_rule! {
    /// ## What it does
    /// Reports text that is not Python.
    ///
    /// ## Why is this bad?
    /// Python refuses the whole file. ag-lsp recovers and checks what it can still read.
    pub(crate) static SYNTAX_ERROR = {
        code: "AG900", name: "syntax-error",
        summary: "the text is not Python",
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
    /// Nothing in it is checked.
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
    /// It hides the next finding on its line, and tells readers of a fault that is not there.
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
    /// Reports that ag-lsp failed on a file. The other files are checked all the same, and the exit
    /// code is 101.
    ///
    /// ## Why is this bad?
    /// It is a fault of ag-lsp. Please report it with the file, or a part of it that still fails.
    pub(crate) static INTERNAL_ERROR = {
        code: "AG903", name: "internal-error",
        summary: "ag-lsp itself failed on this file",
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
    /// The file is not checked. CPython's own parser refuses most such files.
    pub(crate) static TOO_DEEP = {
        code: "AG904", name: "too-deep",
        summary: "the file nests too deeply to be checked",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Keras, Autograph, Torch, Jax, Pennylane], fix: None,
        check: Engine,
    }
}

declare_rule! {
    /// ## What it does
    /// Reports a suppression comment that names no known rule, or cannot be understood.
    ///
    /// ## Why is this bad?
    /// It suppresses nothing, most likely because of a spelling mistake.
    pub(crate) static INVALID_IGNORE = {
        code: "AG905", name: "invalid-ignore",
        summary: "a suppression comment names no known rule",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Tensorflow, Keras, Autograph, Torch, Jax, Pennylane], fix: None,
        check: Engine,
    }
}
