//! The packages of array libraries.

/// The packages whose functions do not change their arguments, and whose classes may be bases.
pub(super) const PACKAGES: [&str; 9] = [
    "chex.",
    "equinox.",
    "flax.",
    "haiku.",
    "jax.",
    "keras.",
    "optax.",
    "tensorflow.",
    "tensorflow_probability.",
];

/// Returns whether a function of optax returns an optimizer: a pair of functions.
pub(super) fn is_optimizer(name: &str) -> bool {
    const OPTIMIZERS: [&str; 26] = [
        "adabelief",
        "adadelta",
        "adafactor",
        "adagrad",
        "adam",
        "adamax",
        "adamw",
        "amsgrad",
        "chain",
        "clip",
        "clip_by_global_norm",
        "lamb",
        "lars",
        "lion",
        "masked",
        "nadam",
        "nadamw",
        "noisy_sgd",
        "novograd",
        "radam",
        "rmsprop",
        "rprop",
        "scale_by_adam",
        "scale_by_learning_rate",
        "sgd",
        "yogi",
    ];
    name.strip_prefix("optax.").is_some_and(|own| OPTIMIZERS.contains(&own))
}
