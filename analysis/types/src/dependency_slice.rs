//! What of its file a function can see, by names alone: the part of the ghost view that decides its types.
//!
//! ```python
//! class Gate(Layer):             # seen, for `step` says `Gate`
//!     def __init__(self):
//!         self.scale = 2.0       # seen, for `step` says `scale`
//!     def reset(self):
//!         self.count = 0         # not seen: no name of it is said
//!
//! def step(x):
//!     return Gate().scale * x
//! ```
//!
//! The names that a function says lead to definitions, whose headers say other names, and so on. Where a name
//! is bound is not asked, so more is taken for seen than is, and never less. It holds for one file: whoever
//! uses it must know that no other file speaks back ([`ag_project`]).

use std::collections::BTreeMap;

use ruff_text_size::{TextRange, TextSize};
use rustc_hash::FxHashSet;

use ag_index::assumed::AssumedType;
use ag_index::index::{FileIndex, MODULE};
use ag_index::oracle::Assumption;
use ag_syntax::words::words;

/// Called without being named.
const IMPLICIT: [&str; 2] = ["call", "forward"];

/// The functions and classes of a file that are seen, by their positions in the file index.
#[derive(Debug, Default)]
pub(crate) struct Visible {
    /// Outermost functions whose bodies are seen.
    bodies: FxHashSet<u32>,
    /// Functions whose parameters are seen.
    headers: FxHashSet<u32>,
    /// Functions whose results are seen: not those that only ask.
    results: FxHashSet<u32>,
    classes: FxHashSet<u32>,
    /// Classes whose objects may be called. The objects of the others are only known as `self`.
    callable: FxHashSet<u32>,
}

impl Visible {
    /// What the `asked` functions see under some assumptions.
    pub(crate) fn to(
        asked: &[u32],
        text: &str,
        index: &FileIndex,
        assumptions: &BTreeMap<u32, Assumption>,
    ) -> Self {
        let mut search =
            Search { text, index, assumptions, said: FxHashSet::default(), visible: Self::default() };
        search.start(asked);
        while search.step() {}
        search.visible
    }

    pub(crate) fn has_body(&self, outermost: u32) -> bool {
        self.bodies.contains(&outermost)
    }

    pub(crate) fn has_header(&self, function: u32) -> bool {
        self.headers.contains(&function)
    }

    pub(crate) fn has_result(&self, function: u32) -> bool {
        self.results.contains(&function)
    }

    pub(crate) fn has_class(&self, class: u32) -> bool {
        self.classes.contains(&class)
    }

    pub(crate) fn is_callable(&self, class: u32) -> bool {
        self.callable.contains(&class)
    }

    fn size(&self) -> usize {
        let functions = self.bodies.len() + self.headers.len() + self.results.len();
        functions + self.classes.len() + self.callable.len()
    }
}

struct Search<'a> {
    text: &'a str,
    index: &'a FileIndex,
    assumptions: &'a BTreeMap<u32, Assumption>,
    /// Every name that is said by what is seen.
    said: FxHashSet<&'a str>,
    visible: Visible,
}

impl<'a> Search<'a> {
    /// The asked functions with all around them, and the module's own code.
    fn start(&mut self, asked: &[u32]) {
        let (functions, classes) = (&self.index.definitions.functions, &self.index.definitions.classes);
        let whole = TextRange::up_to(TextSize::of(self.text));
        let outermost = classes.iter().map(|class| class.range);
        let outermost = outermost.chain(functions.iter().map(|function| function.range));
        self.say_around(whole, outermost.collect());
        self.say_lambdas(MODULE);
        for function in asked {
            let Some(entry) = functions.get(*function as usize) else { continue };
            // Functions of one name are told apart by counting them, so all classes of that name must stay.
            let around = classes.iter().filter(|class| class.range.contains_range(entry.range));
            let around: Vec<_> = around.map(|class| &class.qualname).collect();
            for (number, class) in classes.iter().enumerate() {
                if around.contains(&&class.qualname) {
                    self.see_class(number as u32);
                }
            }
            self.see_body(self.index.outermost(*function));
        }
    }

    /// Follows the names said so far; `false` when they lead to nothing new.
    fn step(&mut self) -> bool {
        let before = self.visible.size();
        for number in 0..self.index.definitions.classes.len() as u32 {
            let class = &self.index.definitions.classes[number as usize];
            if self.said.contains(last(&class.qualname)) {
                self.see_class(number);
                self.visible.callable.insert(number);
            }
        }
        for number in 0..self.index.definitions.functions.len() as u32 {
            let entry = &self.index.definitions.functions[number as usize];
            let name = last(&entry.path.qualname);
            let is_called = match entry.class {
                Some(class) if name.starts_with("__") => self.visible.has_class(class),
                Some(class) if IMPLICIT.contains(&name) => self.visible.is_callable(class),
                _ => false,
            };
            if is_called || self.said.contains(name) {
                self.see_header(number);
                self.see_result(number);
            }
            let in_sight = entry.class.is_none_or(|class| self.visible.has_class(class));
            if entry.parent.is_none() && in_sight && self.binds_what_is_said(number) {
                self.see_body(number);
            }
        }
        before != self.visible.size()
    }

    /// Whether an outermost function binds something outside of it under a name that is said.
    fn binds_what_is_said(&self, outermost: u32) -> bool {
        !self.visible.has_body(outermost)
            && self.index.with_nested(outermost).any(|function| {
                self.index.signatures.get(function as usize).is_some_and(|signature| {
                    signature.rebinds || signature.stores.iter().any(|name| self.said.contains(name.as_str()))
                })
            })
    }

    fn see_class(&mut self, class: u32) {
        if self.visible.classes.insert(class)
            && let Some(entry) = self.index.definitions.classes.get(class as usize)
        {
            let functions = self.index.definitions.functions.iter().map(|function| function.range);
            self.say_around(entry.range, functions.collect());
        }
    }

    fn see_header(&mut self, function: u32) {
        let functions = &self.index.definitions.functions;
        if self.visible.headers.insert(function)
            && let (Some(entry), Some(signature)) =
                (functions.get(function as usize), self.index.signatures.get(function as usize))
        {
            let name_end = entry.name_range.end();
            self.say(TextRange::new(name_end, signature.body_at.clamp(name_end, entry.range.end())));
            let assumption = self.assumptions.get(&function).into_iter();
            self.say_types(assumption.flat_map(|assumption| &assumption.parameters).flatten());
            self.say_lambdas(function);
        }
    }

    fn see_result(&mut self, function: u32) {
        if self.visible.results.insert(function) {
            let assumption = self.assumptions.get(&function).into_iter();
            self.say_types(assumption.flat_map(|assumption| &assumption.returns));
        }
    }

    fn say_lambdas(&mut self, scope: u32) {
        let assumption = self.assumptions.get(&scope).into_iter();
        self.say_types(assumption.flat_map(|it| &it.lambdas).flat_map(|lambda| &lambda.parameters));
    }

    fn say_types(&mut self, types: impl Iterator<Item = &'a AssumedType>) {
        self.said.extend(types.flat_map(AssumedType::alternatives).flat_map(|name| words(name)));
    }

    fn see_body(&mut self, outermost: u32) {
        if self.visible.bodies.insert(outermost)
            && let Some(entry) = self.index.definitions.functions.get(outermost as usize)
        {
            // Its own name is not said by itself.
            self.say(TextRange::new(entry.name_range.end(), entry.range.end()));
            for function in self.index.with_nested(outermost).collect::<Vec<_>>() {
                self.see_header(function);
            }
            if let Some(class) = entry.class
                && self.hands_itself_on(outermost)
            {
                self.visible.callable.insert(class);
            }
        }
    }

    /// Whether a method uses its object for more than its attributes: `self(x)`, `map(self, xs)`.
    fn hands_itself_on(&self, method: u32) -> bool {
        let (Some(entry), Some(signature)) = (
            self.index.definitions.functions.get(method as usize),
            self.index.signatures.get(method as usize),
        ) else {
            return true;
        };
        let Some(receiver) = signature.parameters.first() else { return false };
        let body = TextRange::new(signature.body_at.min(entry.range.end()), entry.range.end());
        let body = self.text.get(std::ops::Range::<usize>::from(body)).unwrap_or_default();
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        body.match_indices(receiver.name.as_str()).any(|(at, name)| {
            let (before, after) = (&body[..at], &body[at + name.len()..]);
            !before.ends_with(is_name) && !after.starts_with(is_name) && !after.starts_with('.')
        })
    }

    fn say(&mut self, range: TextRange) {
        let text = self.text.get(std::ops::Range::<usize>::from(range)).unwrap_or_default();
        self.said.extend(words(text));
    }

    /// The names in `range` but outside of `holes`.
    fn say_around(&mut self, range: TextRange, mut holes: Vec<TextRange>) {
        holes.retain(|hole| *hole != range && range.contains_range(*hole));
        holes.sort_unstable_by_key(|hole| hole.start());
        let mut start = range.start();
        for hole in holes {
            if start < hole.start() {
                self.say(TextRange::new(start, hole.start()));
            }
            start = start.max(hole.end());
        }
        self.say(TextRange::new(start.min(range.end()), range.end()));
    }
}

fn last(qualname: &str) -> &str {
    qualname.rsplit('.').next().unwrap_or_default()
}
