//! Qualified names: the variables, attributes and items that a function reads and binds, such as `a`,
//! `a.b`, `a.b['k']`, `d[0]`, `d[i]`.
//!
//! A qualified name is purely syntactic: two names are equal if they are spelled equally, whatever objects they denote.

use std::fmt;
use std::sync::Arc;

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, Number, UnaryOp};

/// The maximum number of attributes and keys of a qualified name. A longer chain is an expression.
const MAX_SEGMENTS: usize = 16;

/// A name with attributes and simple keys. Names are ordered by root, then by path. So names with the root `a` are
/// consecutive, and `a` is the first of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QName {
    root: Name,
    path: Option<Arc<[Segment]>>,
}

/// An attribute (`.b`) or a key (`['k']`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Segment {
    Attribute(Name),
    Key(Key),
}

/// A subscript that identifies an item: a literal or a variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    Int(i64),
    Str(Arc<str>),
    /// `d[i]`, which denotes another item after `i` is rebound.
    Name(Name),
}

impl QName {
    pub fn simple(name: impl Into<Name>) -> Self {
        Self { root: name.into(), path: None }
    }

    /// Converts an expression in any context (load, store or delete). Returns `None` for calls, slices and computed
    /// keys, and for the empty identifiers that error recovery creates.
    pub fn from_expr(expression: &Expr) -> Option<Self> {
        let mut path = Vec::new();
        let mut rest = expression;
        loop {
            match rest {
                Expr::Name(name) if !name.id.is_empty() => {
                    path.reverse();
                    let path = (!path.is_empty()).then(|| path.into());
                    return Some(Self { root: name.id.clone(), path });
                }
                _ if path.len() == MAX_SEGMENTS => return None,
                Expr::Attribute(attribute) if !attribute.attr.id.is_empty() => {
                    path.push(Segment::Attribute(attribute.attr.id.clone()));
                    rest = &attribute.value;
                }
                Expr::Subscript(subscript) => {
                    path.push(Segment::Key(Key::from_expr(&subscript.slice)?));
                    rest = &subscript.value;
                }
                _ => return None,
            }
        }
    }

    /// Returns the name with an attribute appended: `a.b` for `a` and `b`. Returns `None` if it is longer than
    /// `MAX_SEGMENTS`.
    pub fn attribute(&self, name: &Name) -> Option<Self> {
        let fits = self.segments().len() < MAX_SEGMENTS && !name.is_empty();
        let path = self.segments().iter().cloned().chain([Segment::Attribute(name.clone())]);
        fits.then(|| Self { root: self.root.clone(), path: Some(path.collect()) })
    }

    /// Returns the first identifier: `a` for `a.b['k']`.
    pub fn root(&self) -> &str {
        self.root.as_str()
    }

    pub fn root_name(&self) -> &Name {
        &self.root
    }

    /// Returns the attributes and keys after the root.
    pub fn segments(&self) -> &[Segment] {
        self.path.as_deref().unwrap_or_default()
    }

    /// Returns whether the name is a plain identifier.
    pub fn is_simple(&self) -> bool {
        self.path.is_none()
    }

    /// Returns whether the name is exactly the identifier `name`.
    pub fn is(&self, name: &str) -> bool {
        self.is_simple() && self.root() == name
    }

    /// Returns the name without its last segment: `a` for `a.b`, `a.b` for `a.b['k']`. Returns `None` for a plain
    /// identifier.
    pub fn parent(&self) -> Option<Self> {
        let (_, path) = self.segments().split_last()?;
        Some(Self { root: self.root.clone(), path: (!path.is_empty()).then(|| path.into()) })
    }

    /// Returns whether `other` is this name or starts with it: `a.b` is a prefix of `a.b` and of `a.b.c`.
    pub fn is_prefix_of(&self, other: &Self) -> bool {
        self.root == other.root && other.segments().starts_with(self.segments())
    }

    /// Returns the variables that the name uses as keys: `i` for `d[i].x`.
    pub fn key_names(&self) -> impl Iterator<Item = &Name> {
        self.segments().iter().filter_map(|segment| match segment {
            Segment::Key(Key::Name(name)) => Some(name),
            _ => None,
        })
    }

    /// Returns whether this name denotes something else after `bound` is bound: `bound` is a prefix or a key of this
    /// name.
    pub fn depends_on(&self, bound: &Self) -> bool {
        bound.is_prefix_of(self) || (bound.is_simple() && self.key_names().any(|key| *key == bound.root))
    }
}

impl Key {
    fn from_expr(slice: &Expr) -> Option<Self> {
        match slice {
            Expr::Name(name) if !name.id.is_empty() => Some(Self::Name(name.id.clone())),
            Expr::StringLiteral(string) => Some(Self::Str(string.value.to_str().into())),
            Expr::NumberLiteral(number) => small_int(number).map(Self::Int),
            Expr::UnaryOp(ast::ExprUnaryOp { op: UnaryOp::USub, operand, .. }) => {
                small_int(operand.as_number_literal_expr()?)?.checked_neg().map(Self::Int)
            }
            _ => None,
        }
    }

    /// Returns whether two keys of one container may denote the same item: `d[i]` and `d[0]`, `d[-1]` and `d[2]`.
    pub fn may_equal(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Name(_), _) | (_, Self::Name(_)) => true,
            (Self::Int(a), Self::Int(b)) => a == b || (*a < 0) != (*b < 0),
            (Self::Str(a), Self::Str(b)) => a == b,
            (Self::Int(_), Self::Str(_)) | (Self::Str(_), Self::Int(_)) => false,
        }
    }
}

fn small_int(number: &ast::ExprNumberLiteral) -> Option<i64> {
    match &number.value {
        Number::Int(int) => int.as_i64(),
        _ => None,
    }
}

impl From<&Name> for QName {
    fn from(name: &Name) -> Self {
        Self::simple(name.clone())
    }
}

/// Writes the name in Python syntax: `a.b['k']`.
impl fmt::Display for QName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.root())?;
        for segment in self.segments() {
            match segment {
                Segment::Attribute(name) => write!(f, ".{}", name.as_str())?,
                Segment::Key(Key::Int(int)) => write!(f, "[{int}]")?,
                Segment::Key(Key::Name(name)) => write!(f, "[{}]", name.as_str())?,
                Segment::Key(Key::Str(string)) => {
                    f.write_str("['")?;
                    for character in string.chars() {
                        match character {
                            '\\' => f.write_str("\\\\")?,
                            '\'' => f.write_str("\\'")?,
                            '\n' => f.write_str("\\n")?,
                            '\r' => f.write_str("\\r")?,
                            '\t' => f.write_str("\\t")?,
                            c if c.is_ascii_control() => write!(f, "\\x{:02x}", u32::from(c))?,
                            c => write!(f, "{c}")?,
                        }
                    }
                    f.write_str("']")?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(source: &str) -> Option<QName> {
        let parsed = ruff_python_parser::parse_expression(source).expect("a valid expression");
        QName::from_expr(parsed.expr())
    }

    fn spelling(source: &str) -> Option<String> {
        name(source).map(|name| name.to_string())
    }

    #[test]
    fn names_display_as_python_syntax() {
        for source in ["a", "a.b", "a.b['k']", "d[0]", "d[-1]", "d[i].x", r"d['it\'s']['\n']"] {
            assert_eq!(spelling(source).as_deref(), Some(source));
        }
        assert_eq!(spelling("d[\"k\"]").as_deref(), Some("d['k']"));
    }

    #[test]
    fn calls_slices_and_computed_keys_are_not_names() {
        for source in ["f()", "f().x", "d[i + 1]", "d[1:2]", "d[0, 1]", "d[1.0]", "d[x.y]", "1", "d[f'']"] {
            assert_eq!(name(source), None, "{source}");
        }
        assert_eq!(name(&format!("a{}", ".b".repeat(10_000))), None);
    }

    #[test]
    fn prefixes_consist_of_whole_segments() {
        let [a, ab, abc, ax] = ["a", "a.b", "a.b.c", "a.bc"].map(|source| name(source).unwrap());
        assert!(a.is_prefix_of(&a) && a.is_prefix_of(&abc) && ab.is_prefix_of(&abc));
        assert!(!ab.is_prefix_of(&a) && !ab.is_prefix_of(&ax));
        assert_eq!(abc.parent(), Some(ab));
        assert_eq!(a.parent(), None);
    }

    #[test]
    fn a_name_depends_on_its_prefixes_and_its_keys() {
        let item = name("d[i].x").unwrap();
        for (bound, changes) in [("d", true), ("i", true), ("d[i]", true), ("x", false), ("i.x", false)] {
            assert_eq!(item.depends_on(&name(bound).unwrap()), changes, "{bound}");
        }
    }

    #[test]
    fn keys_that_may_be_equal() {
        let key = |source: &str| match name(source).unwrap().segments().last() {
            Some(Segment::Key(key)) => key.clone(),
            _ => panic!("{source} ends in a key"),
        };
        let cases = [
            ("d[0]", "d[0]", true),
            ("d[0]", "d[1]", false),
            ("d[0]", "d[-1]", true),
            ("d['k']", "d['l']", false),
            ("d['k']", "d[0]", false),
            ("d[i]", "d['k']", true),
        ];
        for (a, b, expected) in cases {
            assert_eq!(key(a).may_equal(&key(b)), expected, "{a} {b}");
        }
    }

    #[test]
    fn names_with_the_same_root_are_consecutive() {
        let mut names = ["b", "a.c", "a['k']", "a", "a.b", "ab"].map(|source| name(source).unwrap());
        names.sort();
        assert_eq!(names.map(|name| name.to_string()), ["a", "a.b", "a.c", "a['k']", "ab", "b"]);
    }
}
