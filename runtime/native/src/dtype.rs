//! The dtypes of the native tier.

use ag_graph::ir::DType;
use ag_graph::ir::arithmetic::Kind;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Element {
    F32,
    F64,
    I32,
    I64,
    Bool,
}

impl Element {
    pub fn of(dtype: DType) -> Option<Self> {
        Some(match dtype {
            DType::F32 => Self::F32,
            DType::F64 => Self::F64,
            DType::I32 => Self::I32,
            DType::I64 => Self::I64,
            DType::Bool => Self::Bool,
            _ => return None,
        })
    }

    pub fn dtype(self) -> DType {
        match self {
            Self::F32 => DType::F32,
            Self::F64 => DType::F64,
            Self::I32 => DType::I32,
            Self::I64 => DType::I64,
            Self::Bool => DType::Bool,
        }
    }

    /// Bytes per element.
    pub fn size(self) -> usize {
        self.dtype().size()
    }

    pub fn is_floating(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// Returns the kind of number that `Tensor.item()` returns.
    pub fn kind(self) -> Kind {
        match self {
            Self::F32 | Self::F64 => Kind::Float,
            Self::I32 | Self::I64 => Kind::Int,
            Self::Bool => Kind::Bool,
        }
    }
}
