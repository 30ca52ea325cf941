//! Resolves the functions of the project that an expression may call.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;
use ty_python_semantic::types::{Type, TypeDefinition};
use ty_python_semantic::{ImportAliasResolution, definitions_for_attribute, definitions_for_name};

use super::{Inference, locate};
use ag_index::answers::{ArgumentSlot, Target};
use ag_index::assumed::AssumedType;
use ag_index::callbacks;
use ag_index::dialect::Dialect;
use ag_index::roots;
use ag_index::type_expression::TypeExpression;
use ag_syntax::imports::Imports;
use ruff_db::files::FileRange;

/// The maximum number of classes visited to find a method.
const MAX_BASES: usize = 12;

impl<'db> Inference<'db> {
    /// Returns the functions of the project that calling `expression` runs: functions, methods, constructors, and the
    /// `__call__`, `call` or `forward` of callable objects.
    pub(super) fn targets(&self, expression: &Expr) -> Vec<Target> {
        let mut targets = Vec::new();
        self.add_known(expression, &mut targets);
        if targets.is_empty() && !self.is_of_library(expression) {
            self.add_values(expression, &mut targets);
        }
        targets
    }

    /// Adds the functions to which an expression refers by its type or its name.
    pub(super) fn add_known(&self, expression: &Expr, targets: &mut Vec<Target>) {
        let ty = self.type_of(expression);
        if let Some(ty) = ty {
            self.add_targets(ty, targets);
        }
        // A decorator may replace the type of the function, but the name still refers to the function.
        if targets.is_empty() && !matches!(ty, Some(Type::FunctionLiteral(_) | Type::BoundMethod(_))) {
            self.add_named(expression, targets);
        }
        if targets.is_empty() {
            self.add_applied(expression, targets);
        }
        if targets.is_empty() {
            self.add_own_constructor(expression, targets);
        }
    }

    /// For `cls` in a class method, whose type is `type[Self]`, adds the constructor of the class.
    fn add_own_constructor(&self, expression: &Expr, targets: &mut Vec<Target>) {
        let is_cls = expression.as_name_expr().is_some_and(|name| name.id.as_str() == "cls");
        if !is_cls || !matches!(self.type_of(expression), Some(Type::SubclassOf(_))) {
            return;
        }
        if let Some(class) = self.class_around(expression) {
            self.add_method(class, &["__init__"], targets);
        }
    }

    /// Returns the location of the name of the innermost class around an expression.
    pub(super) fn class_around(&self, expression: &Expr) -> Option<FileRange> {
        let classes = locate::definitions(self.db, self.file).classes.iter();
        let around = classes.filter(|class| class.range.contains_range(expression.range()));
        let class = around.max_by_key(|class| class.range.start())?;
        Some(FileRange::new(self.file, class.name_range))
    }

    /// Returns whether an expression refers to a function, method, class or module of a library. The expression has no
    /// targets in the project.
    fn is_of_library(&self, expression: &Expr) -> bool {
        matches!(expression, Expr::Name(_) | Expr::Attribute(_))
            && matches!(
                self.type_of(expression),
                Some(
                    Type::FunctionLiteral(_)
                        | Type::BoundMethod(_)
                        | Type::ClassLiteral(_)
                        | Type::GenericAlias(_)
                        | Type::ModuleLiteral(_)
                )
            )
    }

    /// For `module.apply` and `module.init`, adds the `__call__` method of the module, which Flax calls.
    fn add_applied(&self, expression: &Expr, targets: &mut Vec<Target>) {
        if let Expr::Attribute(attribute) = expression
            && is_application(&attribute.attr)
            && let Some(ty @ Type::NominalInstance(_)) = self.type_of(&attribute.value)
            && let Some(class) = self.class_of(ty)
        {
            self.add_method(class, &["__call__"], targets);
        }
    }

    /// Returns the method `setup` of a module. Flax calls it before other methods of the module: for `self.encoder(x)`
    /// and `module.apply(…)`.
    pub(super) fn setup_before(&self, callee: &Expr) -> Vec<Target> {
        let object = match callee {
            Expr::Attribute(attribute) if is_application(&attribute.attr) => &attribute.value,
            _ => callee,
        };
        let mut targets = Vec::new();
        if let Some(ty @ Type::NominalInstance(_)) = self.type_of(object)
            && let Some(class) = self.class_of(ty)
            && self.is_linen_module(class)
        {
            self.add_method(class, &["setup"], &mut targets);
        }
        targets
    }

    /// Returns whether a class of the project is derived from `flax.linen.Module`.
    fn is_linen_module(&self, class: FileRange) -> bool {
        self.derives_from(class, "flax.linen")
    }

    /// Returns whether a class of the project is derived from a class in a module of a library.
    pub(super) fn derives_from(&self, class: FileRange, library: &str) -> bool {
        let mut queue = vec![class];
        let mut next = 0;
        while let Some(location) = queue.get(next).copied() {
            next += 1;
            if next > MAX_BASES {
                return false;
            }
            if self.workspace.document_of(location.file()).is_none() {
                let module = super::module_name(self.db, location.file());
                if module.is_some_and(|module| module.starts_with(library)) {
                    return true;
                }
                continue;
            }
            let definitions = locate::definitions(self.db, location.file());
            let known = definitions.classes.iter_enumerated();
            let entry = known.into_iter().find(|(_, class)| class.name_range == location.range());
            if let Some((position, _)) = entry {
                let bases = super::bases(self.db, location.file(), position);
                queue.extend(bases.iter().map(|base| FileRange::new(base.0, base.1)));
            }
        }
        false
    }

    /// Returns the functions that a root stages if it is applied to `expression`. For a class, JAX stages the
    /// `__call__` method of its instances. For a Lightning module, torch also stages the methods for the training
    /// steps.
    pub(super) fn staged_targets(&self, expression: &Expr, dialect: Dialect) -> Vec<Target> {
        let mut targets = Vec::new();
        match self.type_of(expression) {
            Some(ty @ (Type::ClassLiteral(_) | Type::GenericAlias(_))) if dialect == Dialect::Jax => {
                if let Some(class) = self.class_of(ty) {
                    self.add_method(class, &["__call__"], &mut targets);
                }
            }
            _ => {}
        }
        if targets.is_empty() {
            targets = self.targets(expression);
        }
        if targets.is_empty() && dialect == Dialect::Torch {
            targets = self.modules_of_sequence(expression);
        }
        if dialect == Dialect::Torch && self.is_lightning(expression) {
            for step in ["training_step", "validation_step", "test_step", "predict_step"] {
                targets.extend(self.methods(expression, step));
            }
        }
        targets
    }

    fn is_lightning(&self, object: &Expr) -> bool {
        let Some(ty @ Type::NominalInstance(_)) = self.type_of(object) else { return false };
        let Some(class) = self.class_of(ty) else { return false };
        let classes = &locate::definitions(self.db, class.file()).classes;
        let entry = classes.iter().find(|entry| entry.name_range == class.range());
        entry.is_some_and(|entry| entry.bases.iter().any(|base| base.ends_with("LightningModule")))
    }

    /// Returns the local function to which `expression` refers; empty if there is none.
    pub(super) fn local_functions(&self, expression: &Expr) -> Vec<Target> {
        let mut targets = Vec::new();
        if let Some(ty @ Type::FunctionLiteral(_)) = self.type_of(expression)
            && self.type_of_definition(ty).is_none()
        {
            self.add_definition(ty, false, &mut targets);
        }
        targets
    }

    /// Returns the method `name` of an object; empty if its class is not in the project.
    pub(super) fn methods(&self, object: &Expr, name: &str) -> Vec<Target> {
        let mut targets = Vec::new();
        if let Some(ty @ Type::NominalInstance(_)) = self.type_of(object)
            && let Some(class) = self.class_of(ty)
        {
            self.add_method(class, &[name], &mut targets);
        }
        targets
    }

    /// Returns the getter of a property of an object whose class is in the project. A cached property runs once, maybe
    /// before the trace.
    pub(super) fn property(&self, attribute: &ast::ExprAttribute) -> Vec<Target> {
        let mut targets = self.methods(&attribute.value, &attribute.attr);
        // The type of `self` is a type variable.
        if targets.is_empty()
            && self.has_property(&attribute.attr)
            && matches!(self.type_of(&attribute.value), Some(Type::TypeVar(_)))
        {
            let definitions = definitions_for_attribute(&self.model, attribute);
            for definition in definitions.iter().filter_map(|definition| definition.definition()) {
                let module =
                    ruff_db::parsed::parsed_module(self.db, definition.python_file(self.db)).load(self.db);
                self.add_function_at(definition.focus_range(self.db, &module), true, &mut targets);
            }
        }
        let Some(near) = self.workspace.document_of(self.file) else { return Vec::new() };
        targets.retain(|target| {
            let Some((_, source)) = self.workspace.find(target.document, near) else { return false };
            let function = source.index.definitions.find(&target.path).map(|(function, _)| function);
            let signature = function.and_then(|function| source.index.signatures.get(function));
            signature.is_some_and(|signature| signature.decorators.iter().any(|name| name == "property"))
        });
        targets
    }

    /// Returns whether a class of this file has a property with this name.
    fn has_property(&self, name: &str) -> bool {
        let index = &self.source.index;
        index.signatures.iter_enumerated().any(|(function, signature)| {
            signature.decorators.iter().any(|decorator| decorator == "property")
                && index.short_name(function) == name
        })
    }

    /// Returns the methods `forward` of the modules in an `nn.Sequential` whose type lists them:
    /// `Sequential[Encoder | Head]`.
    pub(super) fn modules_of_sequence(&self, object: &Expr) -> Vec<Target> {
        let mut targets = Vec::new();
        if !matches!(self.type_of(object), Some(Type::NominalInstance(_))) {
            return targets;
        }
        for alternative in self.assumed(object).alternatives() {
            let TypeExpression::Generic(generic) = alternative else { continue };
            let (TypeExpression::Class(class), [modules]) = (&generic.0, generic.1.as_slice()) else {
                continue;
            };
            if class.qualname != "Sequential" || !class.module.starts_with("torch.nn") {
                continue;
            }
            let modules = match modules {
                TypeExpression::Union(modules) => modules,
                module => std::slice::from_ref(module),
            };
            for module in modules {
                let TypeExpression::Class(module) = module else { continue };
                if let Some(class) = self.class_named(&module.module, &module.qualname) {
                    self.add_method(class, &["forward"], &mut targets);
                }
            }
        }
        targets
    }

    /// Returns the location of the name of a class of the project.
    fn class_named(&self, module: &str, qualname: &str) -> Option<FileRange> {
        let file = self.workspace.files().find(|file| super::module_key(self.db, *file) == module)?;
        let classes = &locate::definitions(self.db, file).classes;
        let class = classes.iter().find(|class| class.qualname == qualname)?;
        Some(FileRange::new(file, class.name_range))
    }

    fn add_targets(&self, ty: Type<'db>, targets: &mut Vec<Target>) {
        match ty {
            Type::Union(union) => {
                for element in union.elements(self.db).iter().take(4) {
                    self.add_targets(*element, targets);
                }
            }
            Type::Intersection(intersection) => {
                for element in intersection.iter_positive(self.db) {
                    self.add_targets(element, targets);
                }
            }
            Type::FunctionLiteral(_) => self.add_definition(ty, false, targets),
            Type::BoundMethod(_) => self.add_definition(ty, true, targets),
            Type::ClassLiteral(_) | Type::GenericAlias(_) | Type::SubclassOf(_) => {
                if let Some(class) = self.class_of(ty) {
                    self.add_method(class, &["__init__"], targets);
                }
            }
            Type::NominalInstance(_) => {
                if let Some(class) = self.class_of(ty) {
                    self.add_method(class, &["call", "forward", "__call__"], targets);
                }
            }
            _ => {}
        }
    }

    fn add_definition(&self, ty: Type<'db>, bound: bool, targets: &mut Vec<Target>) {
        if let Some(TypeDefinition::Function(definition)) = ty.definition(self.db, &self.env) {
            let module =
                ruff_db::parsed::parsed_module(self.db, definition.python_file(self.db)).load(self.db);
            self.add_function_at(definition.focus_range(self.db, &module), bound, targets);
        }
    }

    fn add_function_at(&self, location: FileRange, bound: bool, targets: &mut Vec<Target>) {
        let Some(document) = self.workspace.document_of(location.file()) else { return };
        let definitions = locate::definitions(self.db, location.file());
        let function = definitions.functions.iter().find(|function| function.name_range == location.range());
        if let (Some(function), Some(source)) = (function, self.workspace.source(document)) {
            targets.push(Target { document: source.document, path: function.path.clone(), bound });
        }
    }

    /// Returns the location of a class's name.
    pub(super) fn class_of(&self, ty: Type<'db>) -> Option<FileRange> {
        match ty.definition(self.db, &self.env)? {
            definition @ TypeDefinition::StaticClass(_) => definition.focus_range(self.db),
            _ => None,
        }
    }

    /// Adds the method with the first of `names` that the class, or one of its bases in the project, defines.
    pub(super) fn add_method(&self, class: FileRange, names: &[&str], targets: &mut Vec<Target>) {
        let mut queue = vec![class];
        let mut seen = 0;
        while let Some(location) = queue.pop() {
            seen += 1;
            if seen > MAX_BASES {
                return;
            }
            let Some(document) = self.workspace.document_of(location.file()) else { continue };
            let definitions = locate::definitions(self.db, location.file());
            let Some((position, entry)) =
                definitions.classes.iter_enumerated().find(|(_, class)| class.name_range == location.range())
            else {
                continue;
            };
            let method = names.iter().find_map(|name| {
                entry.methods.iter().rev().find_map(|method| {
                    let function = definitions.functions.get(*method)?;
                    (function.path.name() == *name).then_some(function)
                })
            });
            if let (Some(function), Some(source)) = (method, self.workspace.source(document)) {
                targets.push(Target { document: source.document, path: function.path.clone(), bound: true });
                return;
            }
            queue.extend(
                super::bases(self.db, location.file(), position)
                    .iter()
                    .rev()
                    .map(|base| FileRange::new(base.0, base.1)),
            );
        }
    }

    fn add_named(&self, expression: &Expr, targets: &mut Vec<Target>) {
        let settings = self.db.analysis_settings(self.file);
        if settings.replace_imports_with_any != ty_module_resolver::ModuleGlobSet::empty() {
            return;
        }
        let definitions = match expression {
            Expr::Name(name) => definitions_for_name(
                &self.model,
                name.id.as_str(),
                name.into(),
                ImportAliasResolution::ResolveAliases,
            ),
            Expr::Attribute(attribute) => definitions_for_attribute(&self.model, attribute),
            _ => return,
        };
        let bound = expression.is_attribute_expr();
        for definition in definitions.iter().filter_map(|definition| definition.definition()) {
            let module =
                ruff_db::parsed::parsed_module(self.db, definition.python_file(self.db)).load(self.db);
            let location = definition.focus_range(self.db, &module);
            let before = targets.len();
            self.add_function_at(location, bound, targets);
            // In `module.function(x)` the first parameter is not bound, in contrast to `object.method(x)`.
            if let Some(target) = targets.get_mut(before)
                && bound
            {
                let definitions = locate::definitions(self.db, location.file());
                target.bound = definitions.find(&target.path).is_some_and(|(_, entry)| entry.class.is_some());
            }
        }
    }

    /// Returns the types of the elements of a list or tuple.
    pub(super) fn elements(&self, iterable: &Expr) -> AssumedType {
        let mut elements = AssumedType::default();
        for alternative in self.assumed(iterable).alternatives() {
            match alternative.arguments_of("list").or_else(|| alternative.arguments_of("tuple")) {
                Some(arguments) => {
                    let types = arguments.iter().filter(|it| **it != TypeExpression::Ellipsis);
                    types.for_each(|it| elements.insert(it.clone()));
                }
                None => elements.unknown = true,
            }
        }
        elements
    }

    /// Returns the arguments with which `Dataset.map` and similar methods call their function.
    pub(super) fn dataset_elements(
        &self,
        receiver: Type<'db>,
        call: &ast::ExprCall,
    ) -> Vec<(ArgumentSlot, AssumedType)> {
        let mut assumed = AssumedType::default();
        self.add_assumed(receiver, &mut assumed);
        let mut elements = assumed.alternatives().iter().filter_map(|alternative| match alternative {
            TypeExpression::Generic(generic) => Some(&generic.1),
            _ => None,
        });
        let (Some([element]), None) = (elements.next().map(Vec::as_slice), elements.next()) else {
            return Vec::new();
        };
        // An element that is a tuple is unpacked into the function's parameters.
        let types = match element.arguments_of("tuple") {
            Some(parts) if !parts.contains(&TypeExpression::Ellipsis) => parts,
            _ => std::slice::from_ref(element),
        };
        if let Some(attribute) = call.func.as_attribute_expr()
            && matches!(attribute.attr.as_str(), "reduce" | "scan")
        {
            // `reduce(state, f)`: f(state, element).
            let state = callbacks::argument(call, 0, "initial_state");
            let state = state.map(|state| self.with_tensors(Dialect::Tensorflow, state));
            let element = AssumedType::of(element.clone());
            return [state.unwrap_or_else(AssumedType::unknown), element]
                .into_iter()
                .enumerate()
                .map(|(position, assumed)| (ArgumentSlot::Position(position as u32), assumed))
                .collect();
        }
        (0..)
            .zip(types)
            .map(|(position, element)| (ArgumentSlot::Position(position), AssumedType::of(element.clone())))
            .collect()
    }
}

/// Returns the function that a builtin applies to the elements of its arguments, and these arguments: `map(f, xs, ys)`,
/// `sorted(xs, key=f)`. In annotated source, the builtin may have been replaced by AutoGraph's overload.
pub(super) fn applied_by_builtin(call: &ast::ExprCall) -> Option<(&Expr, &[Expr])> {
    let name = call.func.as_name_expr()?.id.as_str();
    let name = name.strip_prefix("ag_").and_then(|name| name.strip_suffix('_')).unwrap_or(name);
    let arguments = &*call.arguments.args;
    match name {
        "map" | "filter" => arguments.split_first().filter(|(_, iterables)| !iterables.is_empty()),
        "sorted" | "min" | "max" => Some((&call.arguments.find_keyword("key")?.value, arguments.get(..1)?)),
        _ => None,
    }
}

fn is_partial(imports: &Imports, call: &ast::ExprCall) -> bool {
    imports.resolve(&call.func).is_some_and(|name| name == "functools.partial")
}

/// Returns whether this is the method by which Flax or Haiku calls a module with given parameters: `apply`.
pub(super) fn is_application(method: &str) -> bool {
    matches!(method, "apply" | "init" | "init_with_output" | "lazy_init")
}

/// Returns the function that a call of a wrapper applies to its arguments. Also returns how many positional arguments
/// of the call come before those that the function receives:
///
/// ```python
/// jax.jit(f)(x, y)        tf.function(f)(x)        # f, 0
/// functools.partial(f, x)                          # f, 1
/// strategy.run(step, args=(x,))                    # not modelled here
/// ```
pub(super) fn applied_function<'a>(imports: &Imports, call: &'a ast::ExprCall) -> Option<(&'a Expr, usize)> {
    if let Expr::Call(inner) = call.func.as_ref() {
        let skipped = usize::from(is_partial(imports, inner)) * inner.arguments.args.len().saturating_sub(1);
        return (skipped == 0 && roots::wraps(imports, &inner.func))
            .then_some((roots::innermost(imports, inner.arguments.args.first()?), 0));
    }
    let name = imports.resolve(&call.func)?;
    (name == "functools.partial").then_some((call.arguments.args.first()?, 1))
}
