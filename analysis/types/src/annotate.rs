//! Annotated source: the text of a file with assumed types as annotations, for the type engine only.
//!
//! ```python
//! def step(x, training=False):                                   # the user's text
//! def step(x: "ag_m0.Tensor", training: "bool"=False) -> "…":    # annotated source
//! ```
//!
//! The following is inserted or replaced: annotations, `__call__` methods of modules, declarations of their buffers,
//! AutoGraph's overloads for builtins in converted functions, calls around operands and decorators
//! (`index/src/index/operands.rs`, `identity_decorators.rs`), and imports at the start.
//! All functions that keep their body have the same expressions in the same order in both trees
//! ([`ag_syntax::expressions`]). Code on which the queried functions do not depend may be omitted: bodies of
//! self-contained functions ([`ag_index::self_contained`]), and everything outside the dependency slice
//! ([`crate::dependency_slice`]).

use std::collections::BTreeMap;
use std::fmt::Write;

use ruff_index::IndexSlice;
use ruff_python_ast::name::Name;
use ruff_text_size::{TextRange, TextSize};

use crate::dependency_slice::DependencySlice;
use ag_index::assumed::AssumedType;
use ag_index::definitions::ClassEntry;
use ag_index::ids::{ClassIndex, Code, FunctionIndex, ParameterIndex};
use ag_index::index::{FileIndex, ParameterSyntax, REPLACED_BUILTINS, Signature};
use ag_index::oracle::Assumption;
use ag_index::type_expression::{TypeExpression, UNTYPED_TENSOR};
use ag_syntax::expressions::{DECORATOR, NESTED, OPERAND};

/// The functions whose types are queried. Code that does not affect their types may be omitted.
pub(crate) enum Queried<'a> {
    /// Tells which functions of this file are queried. Functions of other files may be queried, too.
    Functions(&'a dyn Fn(FunctionIndex) -> bool),
    /// The dependency slice of the queried functions, which are all in this file.
    Slice(&'a DependencySlice),
}

/// Returns the name of the method that is inserted into a class to read its attributes: [`Writer::probes`].
pub(crate) fn probe(class: ClassIndex) -> String {
    format!("ag_attributes_{}_", class.as_u32())
}

/// Returns the attributes that a method, or a function nested in it, sets on the receiver.
pub(crate) fn stored(index: &FileIndex, method: FunctionIndex) -> Vec<&Name> {
    let signatures = index.with_nested(method).filter_map(|function| index.signatures.get(function));
    let mut names: Vec<&Name> = signatures.flat_map(|signature| &signature.stores).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns annotated source. `module` is the dotted name of the file, or its path if it is outside import roots.
/// `methods` are the methods whose attributes are queried.
pub(crate) fn annotated_source(
    text: &str,
    index: &FileIndex,
    module: &str,
    assumptions: &BTreeMap<Code, Assumption>,
    queried: &Queried,
    methods: &[FunctionIndex],
) -> String {
    let mut writer = Writer { module, edits: Vec::new(), imports: Vec::new(), values: Vec::new() };
    let mut omitted = index.omittable_bodies(&|function| match queried {
        Queried::Functions(queried) => {
            !index.is_self_contained(function)
                || index.returns_functions(function)
                || index.with_nested(function).any(queried)
        }
        Queried::Slice(slice) => slice.has_body(function),
    });
    if let Queried::Slice(slice) = queried {
        let classes = index.definitions.classes.iter_enumerated();
        let others =
            classes.filter(|(position, _)| !slice.has_class(*position)).map(|(_, class)| class.range);
        omitted.extend(others.filter(|range| index.definitions.function_at(range.start()).is_none()));
    }
    // The text around operands comes first: text that other edits insert at the same offset must be outside it.
    let operands =
        index.operands.iter().filter(|(function, _)| assumptions.contains_key(&Code::Function(*function)));
    let nested = index.self_nesting.iter().map(|range| (NESTED, *range));
    let decorators = index.identity_decorators.iter().map(|(_, range)| (DECORATOR, *range));
    for (function, range) in decorators.chain(nested).chain(operands.map(|(_, range)| (OPERAND, *range))) {
        if !omitted.iter().any(|omitted| omitted.contains_range(range)) {
            writer.insert(range.start(), format!("{function}("));
            writer.insert(range.end(), ")".to_owned());
        }
    }
    writer.edits.extend(omitted.into_iter().map(|range| (range.start(), range.len(), "pass".to_owned())));
    for (function, signature) in index.signatures.iter_enumerated() {
        let Some(assumption) = assumptions.get(&Code::Function(function)) else { continue };
        if matches!(queried, Queried::Slice(slice) if !slice.has_header(function)) {
            continue;
        }
        let parameters = signature.parameters.iter_enumerated().zip(&assumption.parameters);
        for ((position, parameter), assumed) in parameters {
            if let Some(assumed) = assumed {
                writer.parameter(parameter, assumed, assumption.replaced.contains(&position));
            }
        }
        if !matches!(queried, Queried::Slice(slice) if !slice.has_body(function)) {
            writer.initial_uses(signature, &assumption.initial);
        }
        if matches!(queried, Queried::Slice(slice) if !slice.has_result(function)) {
            continue;
        }
        if let Some(returns) = &assumption.returns {
            writer.returns(signature, returns);
        }
    }
    for (position, class) in index.definitions.classes.iter_enumerated() {
        match queried {
            Queried::Slice(slice) if !slice.has_class(position) || !slice.is_callable(position) => {}
            _ => writer.callable(text, index, class, assumptions),
        }
    }
    let has_class = |class| !matches!(queried, Queried::Slice(slice) if !slice.has_class(class));
    if let Some(module) = assumptions.get(&Code::Module) {
        writer.fields(index, module, &has_class);
        writer.missing_methods(index, module, &has_class);
    }
    writer.buffers(index, &has_class);
    writer.replace_methods(index, &has_class);
    writer.probes(index, methods);
    for lambda in &index.lambdas {
        let outermost = lambda.scope.function().map(|function| index.outermost(function));
        if matches!((queried, outermost), (Queried::Slice(slice), Some(function)) if !slice.has_body(function))
        {
            continue;
        }
        let types = assumptions.get(&lambda.scope).map(|assumption| assumption.lambdas.as_slice());
        if let Some(types) = types.and_then(|types| types.iter().find(|types| types.id == lambda.id)) {
            writer.lambda(&lambda.uses, &types.parameters);
        }
    }
    for (function, range) in &index.builtin_calls {
        if let Some(assumption) = assumptions.get(&Code::Function(*function))
            && let Some(name) = text.get(std::ops::Range::<usize>::from(*range))
            && (assumption.converts || REPLACED_BUILTINS.contains(&name))
        {
            writer.edits.push((range.start(), range.len(), format!("ag_{name}_")));
        }
    }
    writer.finish(text)
}

/// Returns whether the annotation of a parameter is replaced, because the parameter is used as a flag and all calls
/// pass flags.
fn is_flag(parameter: &ParameterSyntax, assumed: &AssumedType) -> bool {
    parameter.may_be_flag() && assumed.is_flag()
}

struct Writer<'a> {
    module: &'a str,
    /// The edits: (offset, length of the replaced text, new text).
    edits: Vec<(TextSize, TextSize, String)>,
    /// Modules that annotations refer to. The position of a module determines its alias: `ag_m0`.
    imports: Vec<String>,
    /// The annotations of the names that replace parameters.
    values: Vec<String>,
}

impl Writer<'_> {
    fn insert(&mut self, at: TextSize, text: String) {
        self.edits.push((at, TextSize::default(), text));
    }

    /// Inserts an annotation for a parameter, or extends or replaces the one that the user wrote.
    fn parameter(&mut self, parameter: &ParameterSyntax, assumed: &AssumedType, replaced: bool) {
        let annotation = self.annotation(assumed);
        match (parameter.annotation, annotation) {
            (None, Some(annotation)) if !parameter.annotated => {
                self.insert(parameter.name_range.end(), format!(": \"{annotation}\""));
            }
            (Some(written), Some(annotation)) if replaced || written.vague || is_flag(parameter, assumed) => {
                self.edits.push((written.range.start(), written.range.len(), format!("\"{annotation}\"")));
            }
            // The body binds the parameter to a value of another type: `low: float` … `low = torch.tensor(low)`.
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

    /// Inserts an annotation for the result, or replaces an imprecise one that the user wrote: `-> Any`, `-> dict`, and
    /// `-> float` for a function that returns a Tensor.
    fn returns(&mut self, signature: &Signature, returns: &AssumedType) {
        let Some(annotation) = self.annotation(returns) else { return };
        match signature.return_annotation {
            None => self.insert(signature.returns_at, format!(" -> \"{annotation}\"")),
            Some(_) if signature.is_generator => {}
            Some(written) if written.vague || written.number && returns.is_beyond_builtins() => {
                self.edits.push((written.range.start(), written.range.len(), format!("\"{annotation}\"")));
            }
            Some(_) => {}
        }
    }

    /// Inserts a method `__call__` into a module or layer. A call of the object runs `forward` or `call`, but the base
    /// class declares the result of `__call__` as `Any`:
    ///
    /// ```python
    /// class Gate(nn.Module):
    ///     def forward(self, x): ...
    ///     def __call__(self, *ag_args, **ag_kwargs) -> "ag_m0.Tensor": ...
    /// ```
    ///
    /// An inserted method changes neither the ids of expressions nor the paths of functions.
    fn callable(
        &mut self,
        text: &str,
        index: &FileIndex,
        class: &ClassEntry,
        assumptions: &BTreeMap<Code, Assumption>,
    ) {
        let method =
            |name: &str| class.methods.iter().rev().copied().find(|method| index.short_name(*method) == name);
        if class.bases.is_empty() || class.indentation.is_empty() || method("__call__").is_some() {
            return;
        }
        let Some(run) = method("forward").or_else(|| method("call")) else { return };
        let written = index.signatures.get(run).and_then(|signature| signature.return_annotation);
        let returns = match written {
            Some(written) => text.get(std::ops::Range::<usize>::from(written.range)).map(ToOwned::to_owned),
            None => {
                let assumed =
                    assumptions.get(&Code::Function(run)).and_then(|assumption| assumption.returns.as_ref());
                // An unknown result must override the declaration of the base class.
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

    /// Replaces annotations of fields that are imprecise or do not hold.
    fn fields(&mut self, index: &FileIndex, module: &Assumption, has_class: &dyn Fn(ClassIndex) -> bool) {
        for (class, position, assumed) in module.fields.iter().filter(|(class, ..)| has_class(*class)) {
            let fields = index.fields.iter().find(|(known, _)| known == class).map(|(_, fields)| fields);
            let Some(field) = fields.and_then(|fields| fields.get(*position)) else { continue };
            if let Some(annotation) = self.annotation(assumed) {
                let written = field.annotation.range;
                self.edits.push((written.start(), written.len(), format!("\"{annotation}\"")));
            }
        }
    }

    /// Inserts the methods that a class calls on `self`, but only derived classes define:
    ///
    /// ```python
    /// class Model:
    ///     def loss(self, x): return jnp.mean(self.forward(x))
    ///     def forward(self, *ag_args, **ag_kwargs) -> "ag_m0.Array": ...
    /// ```
    fn missing_methods(
        &mut self,
        index: &FileIndex,
        module: &Assumption,
        has_class: &dyn Fn(ClassIndex) -> bool,
    ) {
        for (position, name, result) in &module.missing_methods {
            let Some(class) = index.definitions.classes.get(*position) else { continue };
            let indentation = &class.indentation;
            if !has_class(*position) || indentation.is_empty() {
                continue;
            }
            if let Some(result) = self.annotation(result) {
                let method =
                    format!("\n{indentation}def {name}(self, *ag_args, **ag_kwargs) -> \"{result}\": ...");
                self.insert(class.range.end(), method);
            }
        }
    }

    /// Inserts methods that declare buffers as Tensors:
    ///
    /// ```python
    /// class Gate(nn.Module):
    ///     def __init__(self): self.register_buffer("count", torch.zeros(()))
    ///     def ag_buffers_(self): self.count: "ag_m0.Tensor"
    /// ```
    fn buffers(&mut self, index: &FileIndex, has_class: &dyn Fn(ClassIndex) -> bool) {
        for (position, class) in index.definitions.classes.iter_enumerated() {
            let own = index.buffers.iter().filter(|(class, _)| *class == position);
            let names: Vec<&Name> = own.map(|(_, name)| name).collect();
            if names.is_empty() || class.indentation.is_empty() || !has_class(position) {
                continue;
            }
            let Some(tensor) = self.name("torch", "Tensor") else { continue };
            let declarations: String =
                names.iter().map(|name| format!("self.{name}: \"{tensor}\";")).collect();
            let method = format!("\n{}def ag_buffers_(self): {declarations}", class.indentation);
            self.insert(class.range.end(), method);
        }
    }

    /// Inserts the methods `replace` that decorators add:
    ///
    /// ```python
    /// @flax.struct.dataclass
    /// class State:
    ///     step: int
    ///     def replace(self, **ag_kwargs) -> "ag_m0.Self": ...
    /// ```
    fn replace_methods(&mut self, index: &FileIndex, has_class: &dyn Fn(ClassIndex) -> bool) {
        for position in index.replaceable.iter().copied().filter(|position| has_class(*position)) {
            let Some(class) = index.definitions.classes.get(position) else { continue };
            let Some(own) = self.name("typing", "Self").filter(|_| !class.indentation.is_empty()) else {
                continue;
            };
            let method = format!("\n{}def replace(self, **ag_kwargs) -> \"{own}\": ...", class.indentation);
            self.insert(class.range.end(), method);
        }
    }

    /// Inserts methods that read the attributes that `methods` set, so that the types of these attributes can be
    /// queried:
    ///
    /// ```python
    /// class Gate(nn.Module):
    ///     def build(self): self.rate = 0.1
    ///     def ag_attributes_0_(self): self.rate
    /// ```
    fn probes(&mut self, index: &FileIndex, methods: &[FunctionIndex]) {
        let mut by_class: BTreeMap<ClassIndex, Vec<&Name>> = BTreeMap::new();
        for method in methods {
            let entry = index.definitions.functions.get(*method);
            if let Some(class) = entry.and_then(|entry| entry.class) {
                by_class.entry(class).or_default().extend(stored(index, *method));
            }
        }
        for (position, names) in by_class {
            let Some(class) = index.definitions.classes.get(position) else { continue };
            let reads: String = names.iter().map(|name| format!("self.{name};")).collect();
            let method = format!("\n{}def {}(self): {reads}", class.indentation, probe(position));
            self.insert(class.range.end(), method);
        }
    }

    /// Replaces the uses of a lambda's parameters: see [`ag_index::lambdas`].
    fn lambda(
        &mut self,
        uses: &[(ParameterIndex, TextRange)],
        parameters: &IndexSlice<ParameterIndex, AssumedType>,
    ) {
        for (position, assumed) in parameters.iter_enumerated() {
            let Some(annotation) = self.annotation(assumed) else { continue };
            let name = format!("ag_v{}", self.values.len());
            let own = uses.iter().filter(|(parameter, _)| *parameter == position);
            self.edits.extend(own.map(|(_, range)| (range.start(), range.len(), name.clone())));
            self.values.push(annotation);
        }
    }

    /// Replaces the uses of parameters before the body binds them to a value of another kind, as for lambdas:
    ///
    /// ```python
    /// def scale(x: "ag_m0.Tensor | ag_m1.Any"):
    ///     x = np.asarray(ag_v0)
    /// ag_v0: "ag_m0.Tensor"
    /// ```
    fn initial_uses(&mut self, signature: &Signature, types: &[(ParameterIndex, AssumedType)]) {
        for (position, assumed) in types {
            let uses = signature.parameters.get(*position).map(|parameter| parameter.initial_uses.as_slice());
            let Some(uses @ [_, ..]) = uses else { continue };
            let Some(annotation) = self.annotation(assumed) else { continue };
            let name = format!("ag_v{}", self.values.len());
            self.edits.extend(uses.iter().map(|range| (range.start(), range.len(), name.clone())));
            self.values.push(annotation);
        }
    }

    fn annotation(&mut self, assumed: &AssumedType) -> Option<String> {
        let mut annotation = String::new();
        // `x = tf.reduce_sum(x)` binds an argument to a `Tensor[Any]`, which is not an `ag_untyped_`.
        let is_rebound = assumed.has_placeholder();
        for alternative in assumed.alternatives() {
            if !annotation.is_empty() {
                annotation.push_str(" | ");
            }
            if alternative.is_untyped_tensor() && !is_rebound {
                annotation.push_str(UNTYPED_TENSOR);
                continue;
            }
            alternative.print(&mut annotation, &mut |leaf, text| {
                match leaf {
                    TypeExpression::Class(class) => {
                        text.push_str(&self.name(&class.module, &class.qualname)?)
                    }
                    TypeExpression::Placeholder(placeholder) => text.push_str(placeholder.class()),
                    _ => {}
                }
                Some(())
            })?;
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

    /// Returns the text by which this file can refer to a class; `None` if it cannot.
    fn name(&mut self, module: &str, qualname: &str) -> Option<String> {
        if module == self.module {
            return (!qualname.is_empty()).then(|| qualname.to_owned());
        }
        // The class is in a script outside all import roots, which other files cannot import.
        if module.contains(['/', '\\', '-', ' ']) {
            return None;
        }
        let position = self.imports.iter().position(|known| known == module).unwrap_or_else(|| {
            self.imports.push(module.to_owned());
            self.imports.len() - 1
        });
        Some(if qualname.is_empty() { alias(position) } else { format!("{}.{qualname}", alias(position)) })
    }

    /// Returns the text after all edits. Imports are inserted at the start, where incomplete code cannot absorb them.
    fn finish(mut self, text: &str) -> String {
        self.edits.sort_by_key(|(offset, ..)| *offset);
        let mut annotated = String::with_capacity(text.len() + 32 * (self.edits.len() + self.imports.len()));
        let code = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut position = text.len() - code.len();
        annotated.push_str(&text[..position]);
        for (position, module) in self.imports.iter().enumerate() {
            let _ = writeln!(annotated, "import {module} as {}", alias(position));
        }
        for (offset, length, inserted) in &self.edits {
            let offset = offset.to_usize();
            if offset < position || offset > text.len() {
                continue;
            }
            annotated.push_str(text.get(position..offset).unwrap_or_default());
            annotated.push_str(inserted);
            position = offset + length.to_usize();
        }
        annotated.push_str(text.get(position..).unwrap_or_default());
        // These declarations contain expressions, so they come last and leave the ids of the others unchanged.
        for (position, annotation) in self.values.iter().enumerate() {
            let _ = write!(annotated, "\nag_v{position}: \"{annotation}\"");
        }
        if !self.values.is_empty() {
            annotated.push('\n');
        }
        annotated
    }
}

fn alias(position: usize) -> String {
    format!("ag_m{position}")
}
