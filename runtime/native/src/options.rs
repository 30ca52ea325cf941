//! Which parts of a graph become native programs.

use crate::pass::Passes;

/// How parts of a graph are lowered to programs.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The minimum number of operators of a program.
    pub fewest: usize,
    /// The passes that run.
    pub passes: Passes,
    pub limits: Limits,
}

/// The maximum amount of work of a step. For more work, libtorch's operators are at least as fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of elements of a tensor that a step computes.
    pub(crate) elements: usize,
    /// The maximum number of elements for functions such as `log`, which a kernel here calls for each element.
    pub(crate) function_calls: usize,
    /// The maximum number of multiplications of a product with AVX-512 or AVX2.
    pub(crate) multiplications: usize,
}

impl Limits {
    /// Returns the limits if an operator of libtorch may use this number of threads. A program runs on one thread.
    pub fn for_threads(threads: usize) -> Self {
        let function_calls = 1_024;
        if threads <= 1 {
            Self { elements: 1 << 17, function_calls, multiplications: 1 << 26 }
        } else {
            // `elements` is the grain size of libtorch's elementwise operators (`at::internal::GRAIN_SIZE`). A product
            // with this many multiplications takes about 20 us, and gains little from several threads.
            Self { elements: 1 << 15, function_calls, multiplications: 1 << 21 }
        }
    }

    /// Returns the limits where libtorch is not available. Only the addresses limit the work: they have 32 bits.
    pub fn without_libtorch() -> Self {
        Self { elements: 1 << 28, function_calls: usize::MAX, multiplications: usize::MAX }
    }

    /// Returns whether libtorch can compute the nodes that exceed the limits.
    pub(crate) fn has_libtorch(self) -> bool {
        self.multiplications < usize::MAX
    }

    /// Leaves large products to libtorch.
    pub fn without_large_products(self) -> Self {
        let most = Self::for_threads(usize::MAX).multiplications;
        Self { multiplications: self.multiplications.min(most), ..self }
    }
}
