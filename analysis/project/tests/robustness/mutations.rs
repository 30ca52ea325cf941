//! Mutations of Python texts: incomplete code, damage by tools, and unusual input. Each mutation is a pure function of the
//! text and the random numbers.

use fastrand::Rng;

pub(crate) type Mutation = fn(&str, &mut Rng) -> String;

pub(crate) const MUTATIONS: &[Mutation] = &[
    truncate,
    delete_token,
    delete_token,
    duplicate_token,
    swap_tokens,
    swap_tokens,
    foreign_token,
    foreign_token,
    foreign_token,
    delete_lines,
    duplicate_lines,
    move_line,
    indent_line,
    random_bytes,
    unbalance,
    nest_expression,
    nest_blocks,
    long_line,
    odd_characters,
    odd_characters,
    line_ends,
    rename,
];

/// Tokens that change the syntax around them.
const FOREIGN_TOKENS: &[&str] = &[
    "if",
    "elif",
    "else:",
    "while",
    "for",
    "in",
    "return",
    "yield",
    "yield from",
    "break",
    "continue",
    "def",
    "class",
    "lambda",
    "lambda x:",
    "async",
    "await",
    "match",
    "case",
    "with",
    "try:",
    "except:",
    "finally:",
    "global",
    "nonlocal",
    "del",
    "not",
    "and",
    "or",
    "is",
    "import",
    "from",
    "as",
    "assert",
    "raise",
    "pass",
    "None",
    "True",
    "self",
    "*",
    "**",
    ":=",
    "=",
    "==",
    "+=",
    "->",
    "@",
    ":",
    ";",
    ",",
    ".",
    "...",
    "\\",
    "\n",
    "f\"{",
    "{x!r:{y}}",
    "\"\"\"",
    "'",
    "#",
    "# ag: ignore",
    "# ag: ignore[",
    "0x",
    "1e999",
    "9999999999999999999999",
    "x: int",
    "*args",
    "**kwargs",
    "/",
    "[1:2, ::3]",
    "{**x}",
    "()",
    "[]",
    "@tf.function\n",
    "type X[T] =",
];

const UNUSUAL_CHARACTERS: &[&str] = &[
    "\0",
    "\x0c",
    "\t",
    "\u{feff}",
    "\r",
    "\r\n",
    "\u{2028}",
    "\u{85}",
    "\u{200d}",
    "\u{301}",
    "🦀",
    "e\u{301}",
    "ﬁ",
    "ß",
    "𝔘",
    "\u{10ffff}",
    "\u{fffd}",
    "\u{202e}",
];

/// Splits a text into words, whitespace and single characters. Their concatenation is the text.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let kind = |c: char| {
        if c.is_alphanumeric() || c == '_' {
            1
        } else if c == ' ' {
            2
        } else {
            0
        }
    };
    let mut start = 0;
    let mut before = None;
    for (offset, c) in text.char_indices() {
        let now = kind(c);
        if offset > start && (now == 0 || before != Some(now)) {
            tokens.push(&text[start..offset]);
            start = offset;
        }
        before = Some(now);
    }
    tokens.push(&text[start..]);
    tokens
}

/// Returns a random index into a sequence of this length; 0 if it is empty.
fn random_index(rng: &mut Rng, length: usize) -> usize {
    rng.usize(..length.max(1))
}

/// Returns a random character boundary.
fn boundary(text: &str, rng: &mut Rng) -> usize {
    let mut at = rng.usize(..=text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn insert(text: &str, at: usize, inserted: &str) -> String {
    format!("{}{inserted}{}", &text[..at], &text[at..])
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn truncate(text: &str, rng: &mut Rng) -> String {
    text[..boundary(text, rng)].to_owned()
}

fn delete_token(text: &str, rng: &mut Rng) -> String {
    let mut tokens = tokens(text);
    tokens.remove(random_index(rng, tokens.len()));
    tokens.concat()
}

fn duplicate_token(text: &str, rng: &mut Rng) -> String {
    let mut tokens = tokens(text);
    let at = random_index(rng, tokens.len());
    tokens.insert(at, tokens[at]);
    tokens.concat()
}

fn swap_tokens(text: &str, rng: &mut Rng) -> String {
    let mut tokens = tokens(text);
    let (a, b) = (random_index(rng, tokens.len()), random_index(rng, tokens.len()));
    tokens.swap(a, b);
    tokens.concat()
}

fn foreign_token(text: &str, rng: &mut Rng) -> String {
    let mut tokens = tokens(text);
    let at = random_index(rng, tokens.len());
    let foreign = FOREIGN_TOKENS[random_index(rng, FOREIGN_TOKENS.len())];
    if rng.bool() {
        tokens[at] = foreign;
    } else {
        tokens.splice(at..at, [" ", foreign, " "]);
    }
    tokens.concat()
}

fn delete_lines(text: &str, rng: &mut Rng) -> String {
    let mut lines = lines(text);
    let start = random_index(rng, lines.len());
    let end = (start + rng.usize(1..8)).min(lines.len());
    lines.drain(start.min(end)..end);
    lines.concat()
}

fn duplicate_lines(text: &str, rng: &mut Rng) -> String {
    let lines = lines(text);
    let start = random_index(rng, lines.len());
    let end = (start + rng.usize(1..8)).min(lines.len());
    [&lines[..end], &lines[start.min(end)..]].concat().concat()
}

fn move_line(text: &str, rng: &mut Rng) -> String {
    let mut lines = lines(text);
    if lines.is_empty() {
        return String::new();
    }
    let line = lines.remove(random_index(rng, lines.len()));
    lines.insert(rng.usize(..=lines.len()), line);
    lines.concat()
}

fn indent_line(text: &str, rng: &mut Rng) -> String {
    let lines = lines(text);
    let at = random_index(rng, lines.len());
    let indented = |(number, line): (usize, &&str)| match (number == at, rng.u8(..3)) {
        (false, _) => (*line).to_owned(),
        (true, 0) => format!(" {line}"),
        (true, 1) => format!("\t{line}"),
        (true, _) => line.trim_start().to_owned(),
    };
    lines.iter().enumerate().map(indented).collect()
}

fn random_bytes(text: &str, rng: &mut Rng) -> String {
    let bytes: Vec<u8> = (0..rng.usize(1..40)).map(|_| rng.u8(..)).collect();
    insert(text, boundary(text, rng), &String::from_utf8_lossy(&bytes))
}

fn unbalance(text: &str, rng: &mut Rng) -> String {
    const BRACKETS: &str = "()[]{}";
    if rng.bool() {
        let bracket = random_index(rng, BRACKETS.len());
        return insert(text, boundary(text, rng), &BRACKETS[bracket..=bracket]);
    }
    let from = boundary(text, rng);
    match text[from..].find(|c| BRACKETS.contains(c)) {
        Some(at) => format!("{}{}", &text[..from + at], &text[from + at + 1..]),
        None => text.to_owned(),
    }
}

/// Returns a random nesting depth, below or above the limit.
fn depth(rng: &mut Rng) -> usize {
    [3, 30, 300, 5_000, 50_000][random_index(rng, 5)]
}

fn nest_expression(text: &str, rng: &mut Rng) -> String {
    let depth = depth(rng);
    let (open, close) = [
        ("(", ")"),
        ("[", "]"),
        ("{x: ", "}"),
        ("f(", ")"),
        ("not ", ""),
        ("-", ""),
        ("x + ", ""),
        ("x and ", ""),
        ("lambda: ", ""),
        ("x if y else ", ""),
        ("x.y", ""),
        ("x[0]", ""),
        ("(", ""),
        ("await ", ""),
        ("x < ", ""),
        ("f'{", "}'"),
    ][random_index(rng, 16)];
    let nested = format!("{}x{}", open.repeat(depth), close.repeat(depth));
    let mut tokens = tokens(text);
    let at = random_index(rng, tokens.len());
    tokens[at] = &nested;
    tokens.concat()
}

fn nest_blocks(text: &str, rng: &mut Rng) -> String {
    // The size of the text is quadratic in the depth.
    let depth = depth(rng).min(1_500);
    let head = ["if x:", "while x:", "for i in x:", "with x:", "def f(x):", "class C:", "else:", "try:"];
    let head = head[random_index(rng, head.len())];
    let nested: String = (0..depth).map(|level| format!("{}{head}\n", " ".repeat(level))).collect();
    let mut lines = lines(text);
    lines.insert(rng.usize(..=lines.len()), &nested);
    lines.concat()
}

fn long_line(text: &str, rng: &mut Rng) -> String {
    let word = ["x", " ", "x, ", "x = ", "1", "\\", "'s' ", "# ", "x; ", "if x: "][random_index(rng, 10)];
    insert(text, boundary(text, rng), &word.repeat(rng.usize(1..4_000)))
}

fn odd_characters(text: &str, rng: &mut Rng) -> String {
    let odd = UNUSUAL_CHARACTERS[random_index(rng, UNUSUAL_CHARACTERS.len())];
    let at = if rng.u8(..4) == 0 { 0 } else { boundary(text, rng) };
    insert(text, at, odd)
}

fn line_ends(text: &str, rng: &mut Rng) -> String {
    match rng.u8(..4) {
        0 => text.replace('\n', "\r\n"),
        1 => text.replace('\n', "\r"),
        2 => text.replace("    ", "\t"),
        _ => text.trim_end().to_owned(),
    }
}

/// Replaces every occurrence of a word by another name.
fn rename(text: &str, rng: &mut Rng) -> String {
    let names = ["名前", "🦀", "ﬁ", "_", "__x", "self", "x", "tf", "é", "print", "call", "None"];
    let name = names[random_index(rng, names.len())];
    let mut tokens = tokens(text);
    let chosen = tokens[random_index(rng, tokens.len())];
    if !chosen.starts_with(char::is_alphabetic) {
        return text.to_owned();
    }
    for token in &mut tokens {
        if *token == chosen {
            *token = name;
        }
    }
    tokens.concat()
}
