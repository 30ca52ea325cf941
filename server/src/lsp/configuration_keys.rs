//! Completion of keys in `ag-lsp.toml` and in the table `[tool.ag-lsp]` of `pyproject.toml`.

use ag_project::config::Options;
use serde_json::Value;

/// A configuration key.
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) docs: String,
}

/// Returns the keys that are valid at the end of `before`, and the length in bytes of the prefix already typed.
pub(crate) fn keys(file: &str, before: &str) -> Option<(usize, Vec<Key>)> {
    let line = before.rsplit('\n').next().unwrap_or_default();
    let typed = line.trim_start();
    if !typed.chars().all(|letter| letter.is_ascii_alphabetic() || letter == '-') {
        return None;
    }
    let above = &before[..before.len() - line.len()];
    let header = above.lines().rev().map(str::trim).find(|line| line.starts_with('['));
    let is_own_table = match file {
        "pyproject.toml" => header == Some("[tool.ag-lsp]"),
        _ => header.is_none(),
    };
    if !is_own_table {
        return None;
    }
    let schema = schemars::schema_for!(Options);
    let properties = schema.get("properties").and_then(Value::as_object)?;
    let key = |(name, property): (&String, &Value)| Key {
        name: name.clone(),
        docs: property.get("description").and_then(Value::as_str).unwrap_or_default().to_owned(),
    };
    Some((typed.len(), properties.iter().map(key).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(file: &str, before: &str) -> Option<Vec<String>> {
        keys(file, before).map(|(_, keys)| keys.into_iter().map(|key| key.name).collect())
    }

    #[test]
    fn keys_are_completed_in_the_right_table() {
        let (typed, keys) = keys("ag-lsp.toml", "select = []\nign").unwrap();
        assert_eq!(typed, 3);
        assert!(keys.iter().any(|key| key.name == "ignore" && !key.docs.is_empty()));
        assert!(
            names("pyproject.toml", "[tool.ag-lsp]\ns")
                .is_some_and(|names| names.contains(&"select".to_owned()))
        );
    }

    #[test]
    fn nothing_is_completed_elsewhere() {
        assert_eq!(names("ag-lsp.toml", "select = [\"A"), None);
        assert_eq!(names("ag-lsp.toml", "[per-file-ignores]\n"), None);
        assert_eq!(names("pyproject.toml", "[project]\nna"), None);
        assert_eq!(names("pyproject.toml", ""), None);
    }
}
