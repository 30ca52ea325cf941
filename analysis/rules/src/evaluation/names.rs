//! Names of functions and modules of libraries.

use super::tensor_methods::{BROADCAST, ELEMENTWISE, REDUCTIONS, SCALARS};

/// The class of loggers.
pub(super) const LOGGER: &str = "logging.Logger";

/// Activations and similar modules of `torch.nn`, whose result has the shape of the input.
pub(super) const ACTIVATIONS: &[&str] = &[
    "AlphaDropout",
    "CELU",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "ELU",
    "GELU",
    "GroupNorm",
    "Hardswish",
    "Hardtanh",
    "Identity",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RMSNorm",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Softsign",
    "Tanh",
    "TransformerEncoder",
    "TransformerEncoderLayer",
];

/// Other modules of `torch.nn` whose result is one Tensor.
pub(super) const TENSOR_MODULES: &[&str] = &[
    "BCELoss",
    "BCEWithLogitsLoss",
    "Bilinear",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "Embedding",
    "GRUCell",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LayerNorm",
    "Linear",
    "MSELoss",
    "NLLLoss",
    "RNNCell",
    "SmoothL1Loss",
    "Upsample",
];

/// Other functions of torch whose result is one Tensor.
const TENSOR_FUNCTIONS: &[&str] = &[
    "argsort",
    "bincount",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cdist",
    "cosine_similarity",
    "cross_entropy",
    "cumprod",
    "dot",
    "einsum",
    "gather",
    "huber_loss",
    "index_select",
    "interpolate",
    "kl_div",
    "l1_loss",
    "lerp",
    "linalg.matrix_norm",
    "linalg.norm",
    "linalg.vector_norm",
    "mse_loss",
    "nll_loss",
    "outer",
    "pad",
    "roll",
    "scaled_dot_product_attention",
    "searchsorted",
    "smooth_l1_loss",
    "take_along_dim",
    "trace",
];

/// Returns whether a function of torch returns one Tensor, whatever its arguments are.
pub(super) fn is_tensor_function(function: &str) -> bool {
    let is_known = |names: &[&str]| names.contains(&function);
    // `to` and similar methods are no functions.
    is_known(TENSOR_FUNCTIONS)
        || is_known(ELEMENTWISE)
            && !matches!(function, "to" | "cpu" | "cuda" | "float" | "half" | "long" | "bfloat16")
        || is_known(BROADCAST)
        || is_known(SCALARS) && !matches!(function, "max" | "min" | "median")
        || is_known(REDUCTIONS)
}
