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
