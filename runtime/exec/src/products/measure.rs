//! Measures which kernel is fastest.

use std::time::Duration;

use tch::{Device, Kind, Tensor};

use super::class::{ProductKind, SIZES};
use super::kernels::Kernel;

/// The number of turns. In each turn, every kernel runs once.
const TURNS: usize = 7;

/// A kernel replaces libtorch's only if its fastest run takes less than this fraction of the time of libtorch's fastest
/// run.
const FASTER: f64 = 0.93;
/// A kernel must also be faster than libtorch's in all turns except for this many: on a loaded machine, one fast run
/// may be a coincidence.
const MAX_SLOWER_TURNS: usize = 1;

/// Measures the fastest kernel for each size of products of a kind. This takes about 20 ms.
pub(super) fn fastest(kind: ProductKind) -> [Kernel; SIZES] {
    std::array::from_fn(|size| fastest_of_size(kind, size).unwrap_or(Kernel::Torch))
}

/// Measures the kernels on matrices of this size, and returns the fastest one. `None` if a kernel fails.
fn fastest_of_size(kind: ProductKind, size: usize) -> Option<Kernel> {
    let [rows, inner, columns] = kind.example(size);
    let a = matrix(rows, inner, kind.is_transposed[0])?;
    let b = matrix(inner, columns, kind.is_transposed[1])?;
    let mut turns = [[Duration::ZERO; Kernel::ALL.len()]; TURNS];
    let clock = crate::Clock::new();
    // The first run of a kernel initializes it.
    for kernel in Kernel::ALL {
        let _product = kernel.run(None, &a, &b).ok()?;
    }
    for turn in &mut turns {
        for (time, kernel) in turn.iter_mut().zip(Kernel::ALL) {
            let start = clock.read();
            let _product = kernel.run(None, &a, &b).ok()?;
            *time = clock.read().saturating_sub(start);
        }
    }
    let least = |kernel: usize| turns.iter().map(|turn| turn[kernel]).min().unwrap_or_default();
    let fastest = (0..Kernel::ALL.len()).min_by_key(|kernel| least(*kernel))?;
    let slower_turns = turns.iter().filter(|turn| turn[fastest] > turn[0]).count();
    let is_faster = least(fastest).as_secs_f64() < FASTER * least(0).as_secs_f64();
    (is_faster && slower_turns <= MAX_SLOWER_TURNS).then_some(Kernel::ALL[fastest])
}

/// Returns a matrix of ones, stored by columns if it is transposed.
fn matrix(rows: i64, columns: i64, is_transposed: bool) -> Option<Tensor> {
    let sizes = if is_transposed { [columns, rows] } else { [rows, columns] };
    let matrix = Tensor::f_ones(sizes, (Kind::Float, Device::Cpu)).ok()?;
    if is_transposed { matrix.f_tr().ok() } else { Some(matrix) }
}
