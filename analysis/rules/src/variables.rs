//! Functions and classes of TensorFlow and Keras that create variables.

/// Returns whether a function or class creates variables when it is called.
pub(crate) fn creates_variables(name: &str) -> bool {
    const NAMES: [&str; 7] = [
        "tensorflow.Variable",
        "tensorflow.random.Generator.from_seed",
        "tensorflow.random.Generator.from_non_deterministic_state",
        "keras.Variable",
        "keras.optimizers.get",
        "keras.random.SeedGenerator",
        "keras.layers.Dropout",
    ];
    // Optimizers and metrics of Keras 3 create variables: their step, rate and totals.
    let is_class_of = |module: &str| {
        name.strip_prefix(module).is_some_and(|class| {
            class.starts_with(|letter: char| letter.is_ascii_uppercase()) && !class.contains('.')
        })
    };
    NAMES.contains(&name)
        || ["keras.optimizers.", "tensorflow.optimizers.", "keras.metrics."]
            .iter()
            .any(|module| is_class_of(module))
}

/// Returns whether a Keras layer creates weights when it is first called.
pub(crate) fn has_weights(name: &str) -> bool {
    const LAYERS: [&str; 14] = [
        "BatchNormalization",
        "Conv1D",
        "Conv2D",
        "Conv2DTranspose",
        "Conv3D",
        "Dense",
        "DepthwiseConv2D",
        "EinsumDense",
        "Embedding",
        "GRU",
        "LSTM",
        "LayerNormalization",
        "SeparableConv2D",
        "SimpleRNN",
    ];
    name.strip_prefix("keras.layers.").is_some_and(|layer| LAYERS.contains(&layer))
}
