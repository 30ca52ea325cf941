//! C identifiers.

/// The keywords of C and C++, and the names that the header uses.
const RESERVED: &str = "alignas alignof and and_eq arguments asm auto bitand bitor bool break case catch char char16_t \
    char32_t char8_t class compl concept const const_cast consteval constexpr constinit continue decltype default delete \
    do double dynamic_cast else enum explicit export extern false float for friend goto if inline int int32_t int64_t \
    long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register \
    reinterpret_cast requires restrict results return short signed sizeof static static_assert static_cast struct switch \
    template this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t \
    while xor xor_eq";

/// Returns whether a text is a C identifier.
pub(crate) fn is_identifier(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && !is_reserved(text)
}

fn is_reserved(text: &str) -> bool {
    RESERVED.split(' ').any(|word| word == text)
}

/// Returns an identifier for each of these paths, such as `state_h` for `state["h"]`. No two are equal, and none is
/// `function`.
pub(crate) fn identifiers<'a>(paths: impl Iterator<Item = &'a str>, function: &str) -> Vec<String> {
    let mut taken = vec![function.to_owned()];
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
    taken.split_off(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_identifiers() {
        let paths = ["x", "state[\"h\"]", "state['h']", "int", "0.weight", "_hidden_", "f_run"];
        let names = identifiers(paths.into_iter(), "f_run");
        assert_eq!(names, ["x", "state_h", "state_h_2", "v_int", "v_0_weight", "hidden", "f_run_2"]);
        assert!(names.iter().all(|name| is_identifier(name)));
        assert!(!["", "1x", "a b", "double", "if", "é"].into_iter().any(is_identifier));
    }
}
