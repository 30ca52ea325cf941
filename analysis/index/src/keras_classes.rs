//! Keras classes. Keras calls some of their methods while it traces, so these methods are roots.

use crate::assumptions::RootOptions;
use crate::dialect::{Dialect, RootKind};
use crate::ids::{ClassIndex, Code};
use crate::index::{DefaultValue, FileIndex};
use crate::roots::{RootSite, RootTarget};
use crate::static_arguments::StaticArguments;

/// The base classes of Keras, with the methods that Keras calls while it traces.
const KERAS_METHODS: &[(&str, &[&str])] = &[
    ("Layer", &["call"]),
    ("Model", &["call", "train_step", "test_step", "predict_step", "compute_loss"]),
    ("Sequential", &["train_step", "test_step", "predict_step"]),
    ("Loss", &["call"]),
    ("Metric", &["update_state", "result"]),
    ("Cell", &["call"]),
    ("LearningRateSchedule", &["__call__"]),
    ("Regularizer", &["__call__"]),
    ("Constraint", &["__call__"]),
];

/// Adds the root sites of the methods of the file's Keras classes. Bases in the same file are resolved here, bases in
/// other files in `ag-staging`'s `hierarchy`.
pub fn add_methods(index: &mut FileIndex) {
    if index.definitions.classes.is_empty()
        || !(index.imports.uses("keras")
            || index.imports.uses("tf_keras")
            || index.imports.uses("tensorflow"))
    {
        return;
    }
    let mut sites = Vec::new();
    for class in index.definitions.classes.indices() {
        let Some(keras) = keras_base(index, class, 0) else { continue };
        sites.extend(keras_methods(index, class, keras));
    }
    // A `@tf.function` on the method itself comes earlier in the list, so it takes precedence.
    index.roots.extend(sites);
}

/// A Keras class: its library, and the methods that Keras calls while it traces.
pub type KerasClass = (&'static str, &'static [&'static str]);

/// Returns the root sites of a Keras class's methods.
pub fn keras_methods(
    index: &FileIndex,
    class: ClassIndex,
    (library, methods): KerasClass,
) -> impl Iterator<Item = RootSite> + '_ {
    let own = index.definitions.classes.get(class).filter(|_| !runs_eagerly(index, class));
    let own = own.into_iter().flat_map(|class| &class.methods);
    let traced = own.filter(move |method| {
        let name = index.short_name(**method);
        methods.contains(&name) && !is_replaced(index, class, name)
    });
    traced.filter_map(move |method| {
        let entry = index.definitions.functions.get(*method)?;
        Some(RootSite {
            target: RootTarget::Own(*method),
            scope: Code::Module,
            dialect: if library == "tf_keras" { Dialect::Tensorflow } else { Dialect::Keras },
            kind: RootKind::KerasMethod,
            range: entry.name_range,
            converts: library == "tf_keras",
            static_arguments: StaticArguments::default(),
            options: RootOptions::default(),
            expression: None,
            receiver: None,
            in_staged_code: false,
        })
    })
}

/// Returns whether a Keras 2 layer class runs eagerly, so its `call` is not traced: `def __init__(self, dynamic=True)`.
/// Keras 3 has no such layers.
fn runs_eagerly(index: &FileIndex, class: ClassIndex) -> bool {
    let methods = index.definitions.classes.get(class).into_iter().flat_map(|class| &class.methods);
    methods
        .filter(|method| index.short_name(**method) == "__init__")
        .filter_map(|method| index.signatures.get(*method))
        .flat_map(|signature| &signature.parameters)
        .any(|parameter| parameter.name == "dynamic" && parameter.default == DefaultValue::Bool(true))
}

/// Returns whether `__new__` replaces a method in each instance, so that Keras calls the replacement:
///
/// ```python
/// def __new__(cls):
///     metric = super().__new__(cls)
///     metric.update_state = on_the_host(metric.update_state)
///     return metric
/// ```
fn is_replaced(index: &FileIndex, class: ClassIndex, name: &str) -> bool {
    let methods = index.definitions.classes.get(class).into_iter().flat_map(|class| &class.methods);
    methods
        .filter(|method| index.short_name(**method) == "__new__")
        .filter_map(|method| index.signatures.get(*method))
        .any(|signature| signature.stores.iter().any(|stored| stored == name))
}

/// Returns whether a class derives from `keras.Model`, directly or through classes of the same file.
pub fn is_model(index: &FileIndex, class: ClassIndex) -> bool {
    keras_base(index, class, 0)
        .is_some_and(|(_, methods)| methods.contains(&"call") && methods.contains(&"train_step"))
}

/// Returns the Keras class from which a class of the file derives.
fn keras_base(index: &FileIndex, class: ClassIndex, depth: usize) -> Option<KerasClass> {
    if depth > 8 {
        return None;
    }
    let entry = index.definitions.classes.get(class)?;
    entry.bases.iter().find_map(|base| {
        let (head, tail) = base.split_once('.').map_or((&**base, None), |(head, tail)| (head, Some(tail)));
        if let Some(imported) = index.imports.get(head) {
            return match tail {
                Some(tail) => keras_class(&index.imports.canonical(&format!("{imported}.{tail}"))),
                None => keras_class(imported),
            };
        }
        if tail.is_some() {
            return None;
        }
        let mut before = index.definitions.classes.iter_enumerated().take(class.as_usize()).rev();
        let (base_class, _) = before.find(|(_, candidate)| candidate.qualname == head)?;
        keras_base(index, base_class, depth + 1)
    })
}

/// Returns the Keras class with this dotted name: `keras.Layer`, `tf_keras.layers.Dense`.
pub fn keras_class(dotted: &str) -> Option<KerasClass> {
    let dotted = dotted.replace("tensorflow.keras", "keras");
    let library = match dotted.split('.').next()? {
        "keras" => "keras",
        "tf_keras" => "tf_keras",
        _ => return None,
    };
    let name = dotted.rsplit('.').next()?;
    let (_, methods) = KERAS_METHODS.iter().find(|(class, _)| *class == name).or_else(|| {
        // Concrete layers, metrics and losses: `keras.layers.Dense`.
        let class = match dotted.rsplit('.').nth(1)? {
            "layers" => "Layer",
            "metrics" => "Metric",
            "losses" => "Loss",
            _ => return None,
        };
        KERAS_METHODS.iter().find(|(known, _)| *known == class)
    })?;
    Some((library, *methods))
}
