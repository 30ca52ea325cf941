//! C identifiers.

/// The keywords of C and C++ that a Python name can be, and the names of the header's types.
const RESERVED: [&str; 60] = [
    "alignas",
    "alignof",
    "auto",
    "bool",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "enum",
    "explicit",
    "export",
    "extern",
    "float",
    "friend",
    "goto",
    "inline",
    "int",
    "int32_t",
    "int64_t",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "nullptr",
    "operator",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "template",
    "this",
    "throw",
    "typedef",
    "typename",
    "union",
    "unsigned",
];
/// Further ones.
const ALSO_RESERVED: [&str; 8] =
    ["using", "virtual", "void", "volatile", "wchar_t", "arguments", "results", "true"];

/// Returns whether a text is a C identifier.
pub(crate) fn is_identifier(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && !is_reserved(text)
}

fn is_reserved(text: &str) -> bool {
    RESERVED.contains(&text) || ALSO_RESERVED.contains(&text)
}

/// Returns an identifier for each of these paths, such as `state_h` for `state["h"]`. No two are equal.
pub(crate) fn identifiers<'a>(paths: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken: Vec<String> = Vec::new();
    for path in paths {
        let words =
            path.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let mut base = words.collect::<Vec<_>>().join("_");
        if base.is_empty() || base.starts_with(|first: char| first.is_ascii_digit()) || is_reserved(&base) {
            base = format!("v_{base}");
        }
        let mut name = base.clone();
        let mut count = 1;
        while taken.contains(&name) {
            count += 1;
            name = format!("{base}_{count}");
        }
        taken.push(name);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_identifiers() {
        let paths = ["x", "state[\"h\"]", "state['h']", "int", "0.weight", "_hidden_"];
        let names = identifiers(paths.into_iter());
        assert_eq!(names, ["x", "state_h", "state_h_2", "v_int", "v_0_weight", "hidden"]);
        assert!(names.iter().all(|name| is_identifier(name)));
        assert!(!["", "1x", "a b", "double", "é"].into_iter().any(is_identifier));
    }
}
