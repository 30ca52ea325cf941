//! The ranks of the tensors that Keras layers accept and return.

use ruff_python_ast as ast;

use crate::FileContext;
use ag_db::diagnostic::Severity;
use ag_index::index::KerasVersion;
use ag_staging::keras;

/// Returns the severity of code that Keras 3 rejects and Keras 2 accepts.
pub(super) fn severity_of_keras3(ctx: &FileContext) -> Severity {
    if keras::may_be_keras2(ctx.db, ctx.document) { Severity::Info } else { Severity::Warning }
}

/// Returns whether a file certainly runs with Keras 2.
pub(super) fn is_keras2(ctx: &FileContext) -> bool {
    keras::version(ctx.db, ctx.document) == Some(KerasVersion::Two)
}

/// Returns whether a dotted name is a layer class.
pub(super) fn is_layer(name: &str) -> bool {
    name.strip_prefix("keras.layers.").is_some_and(|class| {
        class.starts_with(|letter: char| letter.is_ascii_uppercase())
            && !matches!(class, "InputLayer" | "InputSpec" | "Layer")
    })
}

/// Returns whether a layer preprocesses data. Such layers also accept lists and strings.
pub(super) fn takes_python_values(class: &str) -> bool {
    const WORDS: [&str; 12] = [
        "Random",
        "Lookup",
        "Vectorization",
        "Hash",
        "Crop",
        "Resizing",
        "Rescaling",
        "Encoding",
        "Discretization",
        "Normalization",
        "Spectrogram",
        "Mix",
    ];
    WORDS.iter().any(|word| class.contains(word))
        || matches!(class, "Lambda" | "TFSMLayer" | "Pipeline" | "AutoContrast")
}

/// Returns the rank of the tensor that a layer accepts, including the batch dimension; `None` if it is unknown or not
/// fixed.
pub(super) fn expected(class: &str) -> Option<usize> {
    Some(match class {
        "RepeatVector" => 2,
        "Conv1D"
        | "Conv1DTranspose"
        | "SeparableConv1D"
        | "MaxPooling1D"
        | "AveragePooling1D"
        | "GlobalAveragePooling1D"
        | "GlobalMaxPooling1D"
        | "LSTM"
        | "GRU"
        | "SimpleRNN"
        | "UpSampling1D"
        | "ZeroPadding1D" => 3,
        "Conv2D"
        | "Conv2DTranspose"
        | "SeparableConv2D"
        | "DepthwiseConv2D"
        | "MaxPooling2D"
        | "AveragePooling2D"
        | "GlobalAveragePooling2D"
        | "GlobalMaxPooling2D"
        | "UpSampling2D"
        | "ZeroPadding2D" => 4,
        "Conv3D"
        | "Conv3DTranspose"
        | "MaxPooling3D"
        | "AveragePooling3D"
        | "GlobalAveragePooling3D"
        | "GlobalMaxPooling3D"
        | "UpSampling3D"
        | "ZeroPadding3D" => 5,
        _ => return None,
    })
}

/// Returns the rank of a layer's result; `None` if it is unknown. `rank` is the rank of the argument, and `options` is
/// the source text of the call that creates the layer.
pub(super) fn result(class: &str, rank: Option<usize>, options: &str) -> Option<usize> {
    let has = |option: &str| options.contains(option);
    match class {
        "Flatten" if !has("data_format") => Some(2),
        "RepeatVector" => Some(3),
        "LSTM" | "GRU" | "SimpleRNN" if !has("return_sequences") => Some(2),
        "LSTM" | "GRU" | "SimpleRNN" if has("return_sequences=True") => Some(3),
        class if class.starts_with("Global") && !has("keepdims") => Some(2),
        "Embedding" => rank.map(|rank| rank + 1),
        class if class.starts_with("SpatialDropout") => rank,
        "Rescaling"
        | "GaussianNoise"
        | "GaussianDropout"
        | "AlphaDropout"
        | "ELU"
        | "PReLU"
        | "Softmax"
        | "GroupNormalization"
        | "UnitNormalization"
        | "ActivityRegularization"
        | "Masking"
        | "Dense"
        | "Dropout"
        | "Activation"
        | "ReLU"
        | "LeakyReLU"
        | "BatchNormalization"
        | "LayerNormalization" => rank,
        class if expected(class).is_some() && !class.starts_with("Global") && !is_recurrent(class) => rank,
        _ => None,
    }
}

fn is_recurrent(class: &str) -> bool {
    matches!(class, "LSTM" | "GRU" | "SimpleRNN")
}

/// Returns whether a layer creates weights when it is built.
pub(super) fn has_weights(class: &str) -> bool {
    class == "Dense" || class == "Embedding" || is_recurrent(class) || class.contains("Conv")
}

/// Returns whether a call makes a layer return several tensors: `LSTM(4, return_state=True)`,
/// `attention(x, x, return_attention_scores=True)`.
pub(super) fn returns_several(ctx: &FileContext, call: &ast::ExprCall) -> bool {
    let text = ctx.text(call);
    ["return_state", "return_attention_scores"].iter().any(|option| text.contains(option))
}
