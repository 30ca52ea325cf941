//! The ghost view of a file: its text with assumed annotations, for the inference engine alone.
//!
//! ```python
//! def step(x, training=False):                                   # the real text
//! def step(x: "ag_m0.Tensor", training: "bool"=False) -> "…":    # the ghost view
//! ```
//!
//! Annotations (and `__call__` methods of modules) are inserted, names of builtins are replaced by the
//! names of AutoGraph's overloads in converted functions, and imports are put first. So both trees have the
//! same expressions in the same order ([`ag_syntax::expressions`]) in all functions that keep their
//! body; bodies that nobody asks for may be left out ([`ag_index::self_contained`]), and whatever else of the file is
//! out of sight of those who ask ([`crate::dependency_slice`]).

use std::collections::BTreeMap;
use std::fmt::Write;

use ruff_text_size::{TextRange, TextSize};

use crate::dependency_slice::Visible;
use ag_index::assumed::{AssumedType, resolve_classes};
use ag_index::index::{FileIndex, MODULE, ParameterSyntax};
use ag_index::oracle::Assumption;
use ag_syntax::functions::ClassEntry;

/// For whom a ghost view is written: what changes no type that they have may be left out.
pub(crate) enum Asked<'a> {
    /// Functions of any file.
    Some(&'a dyn Fn(u32) -> bool),
    /// Functions of this file alone, which see nothing else of it.
    Here(&'a Visible),
}

/// Writes the ghost view. `module` is the file's own dotted name (or path, outside import roots).
pub(crate) fn view(
    text: &str,
    index: &FileIndex,
    module: &str,
    assumptions: &BTreeMap<u32, Assumption>,
    asked: &Asked,
) -> String {
    let mut writer = Writer { module, edits: Vec::new(), imports: Vec::new(), values: Vec::new() };
    let bodies = index.omittable_bodies(&|function| match asked {
        Asked::Some(asked) => !index.is_self_contained(function) || index.with_nested(function).any(asked),
        Asked::Here(visible) => visible.has_body(function),
    });
    writer.edits.extend(bodies.into_iter().map(|body| (body.start(), body.len(), "pass".to_owned())));
    for (number, signature) in index.signatures.iter().enumerate() {
        let Some(assumption) = assumptions.get(&(number as u32)) else { continue };
        if matches!(asked, Asked::Here(visible) if !visible.has_header(number as u32)) {
            continue;
        }
        for (parameter, assumed) in signature.parameters.iter().zip(&assumption.parameters) {
            if let Some(assumed) = assumed {
                writer.parameter(parameter, assumed);
            }
        }
        if matches!(asked, Asked::Here(visible) if !visible.has_result(number as u32)) {
            continue;
        }
        if let Some(annotation) = assumption.returns.as_ref().and_then(|assumed| writer.annotation(assumed))
            && signature.return_annotation.is_none()
        {
            writer.insert(signature.returns_at, format!(" -> \"{annotation}\""));
        }
    }
    for (number, class) in index.definitions.classes.iter().enumerate() {
        let number = number as u32;
        match asked {
            Asked::Here(visible) if !visible.has_class(number) => {
                if index.definitions.function_at(class.range.start()).is_none() {
                    writer.edits.push((class.range.start(), class.range.len(), "pass".to_owned()));
                }
            }
            Asked::Here(visible) if !visible.is_callable(number) => {}
            _ => writer.callable(text, index, class, assumptions),
        }
    }
    for lambda in &index.lambdas {
        let outermost = (lambda.scope != MODULE).then(|| index.outermost(lambda.scope));
        if matches!((asked, outermost), (Asked::Here(visible), Some(function)) if !visible.has_body(function))
        {
            continue;
        }
        let types = assumptions.get(&lambda.scope).map(|assumption| assumption.lambdas.as_slice());
        if let Some(types) = types.and_then(|types| types.iter().find(|types| types.id == lambda.id)) {
            writer.lambda(&lambda.uses, &types.parameters);
        }
    }
    for (scope, range) in &index.builtin_calls {
        if assumptions.get(scope).is_some_and(|assumption| assumption.converts)
            && let Some(name) = text.get(std::ops::Range::<usize>::from(*range))
        {
            writer.edits.push((range.start(), range.len(), format!("ag_{name}_")));
        }
    }
    writer.finish(text)
}

struct Writer<'a> {
    module: &'a str,
    /// (offset, length replaced, text).
    edits: Vec<(TextSize, TextSize, String)>,
    /// Modules imported for annotations; the position is the alias's number.
    imports: Vec<String>,
    /// The annotations of the names that stand for parameters of lambdas.
    values: Vec<String>,
}

impl Writer<'_> {
    fn insert(&mut self, at: TextSize, text: String) {
        self.edits.push((at, TextSize::default(), text));
    }

    /// Gives a parameter its annotation, or the one that the user wrote what it lacks.
    fn parameter(&mut self, parameter: &ParameterSyntax, assumed: &AssumedType) {
        let annotation = self.annotation(assumed);
        match (parameter.annotation, annotation) {
            (None, Some(annotation)) if !parameter.annotated => {
                self.insert(parameter.name_range.end(), format!(": \"{annotation}\""));
            }
            (Some(written), Some(annotation)) if written.vague => {
                self.edits.push((written.range.start(), written.range.len(), format!("\"{annotation}\"")));
            }
            // The body binds it to something else: `low: float` … `low = torch.tensor(low)`.
            (Some(written), annotation) => {
                let other = annotation.or_else(|| self.name("typing", "Any").filter(|_| assumed.unknown));
                match (other, written.quoted) {
                    (Some(other), true) => {
                        self.insert(written.range.end() - TextSize::from(1), format!(" | {other}"));
                    }
                    (Some(other), false) => self.insert(written.range.end(), format!(" | \"{other}\"")),
                    (None, _) => {}
                }
            }
            _ => {}
        }
    }

    /// Calling a module or layer runs its `forward` or `call`; the base class only says `Any`:
    ///
    /// ```python
    /// class Gate(nn.Module):
    ///     def forward(self, x): ...
    ///     def __call__(self, *ag_args, **ag_kwargs) -> "ag_m0.Tensor": ...
    /// ```
    ///
    /// Another method changes neither the numbering of expressions nor the paths of functions.
    fn callable(
        &mut self,
        text: &str,
        index: &FileIndex,
        class: &ClassEntry,
        assumptions: &BTreeMap<u32, Assumption>,
    ) {
        let method =
            |name: &str| class.methods.iter().rev().copied().find(|method| index.short_name(*method) == name);
        if class.bases.is_empty() || class.indentation.is_empty() || method("__call__").is_some() {
            return;
        }
        let Some(run) = method("forward").or_else(|| method("call")) else { return };
        let written = index.signatures.get(run as usize).and_then(|signature| signature.return_annotation);
        let returns = match written {
            Some(range) => text.get(std::ops::Range::<usize>::from(range)).map(ToOwned::to_owned),
            None => {
                let assumed = assumptions.get(&run).and_then(|assumption| assumption.returns.as_ref());
                // What is not known here is not what the base class says.
                let annotation = match assumed.and_then(|assumed| self.annotation(assumed)) {
                    Some(annotation) => Some(annotation),
                    None => self.name("typing", "Any"),
                };
                annotation.map(|annotation| format!("\"{annotation}\""))
            }
        };
        if let Some(returns) = returns {
            let indentation = &class.indentation;
            let method =
                format!("\n{indentation}def __call__(self, *ag_args, **ag_kwargs) -> {returns}: ...");
            self.insert(class.range.end(), method);
        }
    }

    /// Replaces the uses of a lambda's parameters: see [`ag_index::lambdas`].
    fn lambda(&mut self, uses: &[(usize, TextRange)], parameters: &[AssumedType]) {
        for (position, assumed) in parameters.iter().enumerate() {
            let Some(annotation) = self.annotation(assumed) else { continue };
            let name = format!("ag_v{}", self.values.len());
            let own = uses.iter().filter(|(parameter, _)| *parameter == position);
            self.edits.extend(own.map(|(_, range)| (range.start(), range.len(), name.clone())));
            self.values.push(annotation);
        }
    }

    fn annotation(&mut self, assumed: &AssumedType) -> Option<String> {
        let mut annotation = String::new();
        for alternative in assumed.alternatives() {
            let text = resolve_classes(alternative, &mut |module, qualname| self.name(module, qualname))?;
            if !annotation.is_empty() {
                annotation.push_str(" | ");
            }
            annotation.push_str(&text);
        }
        if annotation.is_empty() {
            return None;
        }
        if assumed.unknown {
            let any = self.name("typing", "Any")?;
            let _ = write!(annotation, " | {any}");
        }
        Some(annotation)
    }

    /// A name for a class that resolves in this file.
    fn name(&mut self, module: &str, qualname: &str) -> Option<String> {
        if module == self.module {
            return (!qualname.is_empty()).then(|| qualname.to_owned());
        }
        // A path: the class lives in a script that no other file can import.
        if module.contains(['/', '\\', '-', ' ']) {
            return None;
        }
        let number = self.imports.iter().position(|known| known == module).unwrap_or_else(|| {
            self.imports.push(module.to_owned());
            self.imports.len() - 1
        });
        Some(if qualname.is_empty() { alias(number) } else { format!("{}.{qualname}", alias(number)) })
    }

    /// Imports stand before everything else, where no half-written code can swallow them.
    fn finish(mut self, text: &str) -> String {
        self.edits.sort_by_key(|(offset, ..)| *offset);
        let mut view = String::with_capacity(text.len() + 32 * (self.edits.len() + self.imports.len()));
        let code = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut position = text.len() - code.len();
        view.push_str(&text[..position]);
        for (number, module) in self.imports.iter().enumerate() {
            let _ = writeln!(view, "import {module} as {}", alias(number));
        }
        for (offset, length, inserted) in &self.edits {
            let offset = offset.to_usize();
            if offset < position || offset > text.len() {
                continue;
            }
            view.push_str(text.get(position..offset).unwrap_or_default());
            view.push_str(inserted);
            position = offset + length.to_usize();
        }
        view.push_str(text.get(position..).unwrap_or_default());
        // Their names are expressions, which may not come before the others.
        for (number, annotation) in self.values.iter().enumerate() {
            let _ = write!(view, "\nag_v{number}: \"{annotation}\"");
        }
        if !self.values.is_empty() {
            view.push('\n');
        }
        view
    }
}

fn alias(number: usize) -> String {
    format!("ag_m{number}")
}
