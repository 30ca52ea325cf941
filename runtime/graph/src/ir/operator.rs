//! Operators of libraries: `aten.add.Tensor`, `torchvision.nms.default`.

use std::fmt;
use std::sync::Arc;

/// The full name of an operator: namespace, name and overload. It is cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Operator(Arc<str>);

impl Operator {
    /// `None` unless each part is one word.
    pub fn new(namespace: &str, name: &str, overload: &str) -> Option<Self> {
        let parts = [namespace, name, overload];
        let is_word = |part: &&str| !part.is_empty() && !part.contains(['.', ' ']);
        parts.iter().all(is_word).then(|| Self(parts.join(".").into()))
    }

    /// Returns an operator of ATen by its name and overload: `add.Tensor`.
    pub fn aten(name: &str) -> Self {
        debug_assert!(name.split('.').count() == 2, "{name} must be name.overload");
        Self(format!("aten.{name}").into())
    }

    /// Parses `aten.add.Tensor`.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('.').collect();
        let [namespace, name, overload] = parts[..] else { return None };
        Self::new(namespace, name, overload)
    }

    /// Returns all three parts, with dots between them.
    pub fn text(&self) -> &str {
        &self.0
    }

    pub fn namespace(&self) -> &str {
        self.part(0)
    }

    pub fn name(&self) -> &str {
        self.part(1)
    }

    pub fn overload(&self) -> &str {
        self.part(2)
    }

    /// Returns the name and the overload of an operator of ATen: `add.Tensor`. `None` for operators of other libraries.
    pub fn in_aten(&self) -> Option<&str> {
        self.0.strip_prefix("aten.")
    }

    fn part(&self, index: usize) -> &str {
        self.0.split('.').nth(index).unwrap_or_default()
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
