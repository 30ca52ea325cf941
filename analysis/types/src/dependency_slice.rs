//! The dependency slice of some functions: the code of their file on which their types may depend, by name.
//!
//! ```python
//! class Gate(Layer):             # in the slice: `step` mentions `Gate`
//!     def __init__(self):
//!         self.scale = 2.0       # in the slice: `step` mentions `scale`
//!     def reset(self):
//!         self.count = 0         # not in the slice: nothing mentions `reset` or `count`
//!
//! def step(x):
//!     return Gate().scale * x
//! ```
//!
//! The names that a function mentions lead to definitions, the headers of these definitions mention further names, and
//! so on. Names are compared without resolving their scope, so a slice may be too large, but never too small. It covers
//! one file, so it is valid only for a file outside import cycles (`ag-staging`'s `import_cycles`).

use std::collections::BTreeMap;

use ruff_text_size::{TextRange, TextSize};
use rustc_hash::FxHashSet;

use ag_index::assumed::AssumedType;
use ag_index::ids::{ClassIndex, Code, FunctionIndex};
use ag_index::index::FileIndex;
use ag_index::oracle::Assumption;
use ag_index::type_expression::TypeExpression;
use ag_syntax::words::words;

/// Methods that a call of an object runs, so they are called without being mentioned.
const IMPLICIT_METHODS: [&str; 2] = ["call", "forward"];

/// The functions and classes of a file that are in the slice.
#[derive(Debug, Default)]
pub(crate) struct DependencySlice {
    /// The outermost functions whose bodies are in the slice.
    bodies: FxHashSet<FunctionIndex>,
    /// The functions whose parameters are in the slice.
    headers: FxHashSet<FunctionIndex>,
    /// The functions whose results are in the slice. The results of the queried functions need not be in it.
    results: FxHashSet<FunctionIndex>,
    classes: FxHashSet<ClassIndex>,
    /// The classes whose instances may be called. Instances of other classes in the slice occur only as `self`.
    callable: FxHashSet<ClassIndex>,
}

impl DependencySlice {
    /// Returns the slice of the `queried` functions under some assumptions.
    pub(crate) fn of(
        queried: &[FunctionIndex],
        text: &str,
        index: &FileIndex,
        assumptions: &BTreeMap<Code, Assumption>,
    ) -> Self {
        let mut search =
            Search { text, index, assumptions, mentioned: FxHashSet::default(), slice: Self::default() };
        search.start(queried);
        while search.step() {}
        search.slice
    }

    pub(crate) fn has_body(&self, outermost: FunctionIndex) -> bool {
        self.bodies.contains(&outermost)
    }

    pub(crate) fn has_header(&self, function: FunctionIndex) -> bool {
        self.headers.contains(&function)
    }

    pub(crate) fn has_result(&self, function: FunctionIndex) -> bool {
        self.results.contains(&function)
    }

    pub(crate) fn has_class(&self, class: ClassIndex) -> bool {
        self.classes.contains(&class)
    }

    pub(crate) fn is_callable(&self, class: ClassIndex) -> bool {
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
    assumptions: &'a BTreeMap<Code, Assumption>,
    /// All names that the slice mentions.
    mentioned: FxHashSet<&'a str>,
    slice: DependencySlice,
}

impl<'a> Search<'a> {
    /// Starts from the queried functions, their enclosing definitions, and the module's own code.
    fn start(&mut self, queried: &[FunctionIndex]) {
        let (functions, classes) = (&self.index.definitions.functions, &self.index.definitions.classes);
        let whole = TextRange::up_to(TextSize::of(self.text));
        let outermost = classes.iter().map(|class| class.range);
        let outermost = outermost.chain(functions.iter().map(|function| function.range));
        self.mention_outside(whole, outermost.collect());
        self.mention_lambdas(Code::Module);
        for function in queried {
            let Some(entry) = functions.get(*function) else { continue };
            // Functions with the same name are distinguished by their order, so all classes of that name are kept.
            let around = classes.iter().filter(|class| class.range.contains_range(entry.range));
            let around: Vec<_> = around.map(|class| &class.qualname).collect();
            for (position, class) in classes.iter_enumerated() {
                if around.contains(&&class.qualname) {
                    self.add_class(position);
                }
            }
            self.add_body(self.index.outermost(*function));
        }
    }

    /// Adds the definitions of the names mentioned so far. Returns whether the slice grew.
    fn step(&mut self) -> bool {
        let before = self.slice.size();
        for (position, class) in self.index.definitions.classes.iter_enumerated() {
            if self.mentioned.contains(last(&class.qualname)) {
                self.add_class(position);
                self.slice.callable.insert(position);
            }
        }
        for (position, entry) in self.index.definitions.functions.iter_enumerated() {
            let name = entry.path.name();
            let is_called = match entry.class {
                Some(class) if name.starts_with("__") => self.slice.has_class(class),
                Some(class) if IMPLICIT_METHODS.contains(&name) => self.slice.is_callable(class),
                _ => false,
            };
            if is_called || self.mentioned.contains(name) {
                self.add_header(position);
                self.add_result(position);
                // Functions that it returns may be called.
                if self.index.returns_functions(position) {
                    self.add_body(self.index.outermost(position));
                }
            }
            let has_class = entry.class.is_none_or(|class| self.slice.has_class(class));
            if entry.parent.is_none() && has_class && self.binds_mentioned_name(position) {
                self.add_body(position);
            }
        }
        before != self.slice.size()
    }

    /// Returns whether an outermost function binds a mentioned name that is visible outside the function.
    fn binds_mentioned_name(&self, outermost: FunctionIndex) -> bool {
        !self.slice.has_body(outermost)
            && self.index.with_nested(outermost).any(|function| {
                self.index.signatures.get(function).is_some_and(|signature| {
                    signature.rebinds
                        || signature.stores.iter().any(|name| self.mentioned.contains(name.as_str()))
                })
            })
    }

    fn add_class(&mut self, class: ClassIndex) {
        if self.slice.classes.insert(class)
            && let Some(entry) = self.index.definitions.classes.get(class)
        {
            let functions = self.index.definitions.functions.iter().map(|function| function.range);
            self.mention_outside(entry.range, functions.collect());
        }
    }

    fn add_header(&mut self, function: FunctionIndex) {
        let functions = &self.index.definitions.functions;
        if self.slice.headers.insert(function)
            && let (Some(entry), Some(signature)) =
                (functions.get(function), self.index.signatures.get(function))
        {
            let name_end = entry.name_range.end();
            self.mention(TextRange::new(name_end, signature.body_at.clamp(name_end, entry.range.end())));
            let assumption = self.assumptions.get(&Code::Function(function)).into_iter();
            self.mention_types(assumption.flat_map(|assumption| &assumption.parameters).flatten());
            self.mention_lambdas(Code::Function(function));
        }
    }

    fn add_result(&mut self, function: FunctionIndex) {
        if self.slice.results.insert(function) {
            let assumption = self.assumptions.get(&Code::Function(function)).into_iter();
            self.mention_types(assumption.flat_map(|assumption| &assumption.returns));
        }
    }

    fn mention_lambdas(&mut self, scope: Code) {
        let assumption = self.assumptions.get(&scope).into_iter();
        self.mention_types(assumption.flat_map(|it| &it.lambdas).flat_map(|lambda| &lambda.parameters));
    }

    fn mention_types(&mut self, types: impl Iterator<Item = &'a AssumedType>) {
        for alternative in types.flat_map(AssumedType::alternatives) {
            alternative.visit(&mut |part| match part {
                TypeExpression::Builtin(name) => {
                    self.mentioned.insert(name);
                }
                TypeExpression::Class(class) => self.mentioned.extend(class.qualname.split('.')),
                _ => {}
            });
        }
    }

    fn add_body(&mut self, outermost: FunctionIndex) {
        if self.slice.bodies.insert(outermost)
            && let Some(entry) = self.index.definitions.functions.get(outermost)
        {
            // A definition does not mention its own name.
            self.mention(TextRange::new(entry.name_range.end(), entry.range.end()));
            for function in self.index.with_nested(outermost).collect::<Vec<_>>() {
                self.add_header(function);
            }
            if let Some(class) = entry.class
                && self.receiver_escapes(outermost)
            {
                self.slice.callable.insert(class);
            }
        }
    }

    /// Returns whether a method uses its receiver other than for attribute access: `self(x)`, `map(self, xs)`.
    fn receiver_escapes(&self, method: FunctionIndex) -> bool {
        let (Some(entry), Some(signature)) =
            (self.index.definitions.functions.get(method), self.index.signatures.get(method))
        else {
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

    fn mention(&mut self, range: TextRange) {
        let text = self.text.get(std::ops::Range::<usize>::from(range)).unwrap_or_default();
        self.mentioned.extend(words(text));
    }

    /// Mentions the names in `range`, except those in `holes`.
    fn mention_outside(&mut self, range: TextRange, mut holes: Vec<TextRange>) {
        holes.retain(|hole| *hole != range && range.contains_range(*hole));
        holes.sort_unstable_by_key(|hole| hole.start());
        let mut start = range.start();
        for hole in holes {
            if start < hole.start() {
                self.mention(TextRange::new(start, hole.start()));
            }
            start = start.max(hole.end());
        }
        self.mention(TextRange::new(start.min(range.end()), range.end()));
    }
}

fn last(qualname: &str) -> &str {
    qualname.rsplit('.').next().unwrap_or_default()
}
