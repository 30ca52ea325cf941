//! Comments for the checker: `# ag: ignore[AG501]`.

/// Returns whether a text may contain directives: `ag:` after a `#` on the same line.
pub fn may_occur(text: &str) -> bool {
    memchr::memmem::find_iter(text.as_bytes(), b"ag:").any(|at| {
        let line = text.get(..at).and_then(|before| before.rsplit(['\n', '\r']).next());
        line.is_some_and(|line| line.trim_end().ends_with('#'))
    })
}
