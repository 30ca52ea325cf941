//! Measures which kernel is fastest.

use std::time::{Duration, Instant};

use tch::{Device, Kind, Tensor};

use super::class::{Kind2d, SIZES};
use super::kernels::Kernel;

/// Each kernel runs this often, in turns with the others; the minimum counts.
const RUNS: usize = 7;

/// A kernel replaces libtorch's own if it takes less than this share of its time.
const FASTER: f64 = 0.93;

/// The fastest kernel for each size of products of a kind. Takes about 20 ms.
pub(super) fn fastest(kind: Kind2d) -> [Kernel; SIZES] {
    std::array::from_fn(|size| fastest_of_size(kind, size).unwrap_or(Kernel::Torch))
}

fn fastest_of_size(kind: Kind2d, size: usize) -> Option<Kernel> {
    let [rows, inner, columns] = kind.example(size);
    let a = matrix(rows, inner, kind.is_transposed[0])?;
    let b = matrix(inner, columns, kind.is_transposed[1])?;
    let mut least = [Duration::MAX; Kernel::ALL.len()];
    // The first run of a kernel initializes it.
    for run in 0..=RUNS {
        for (least, kernel) in least.iter_mut().zip(Kernel::ALL) {
            let start = Instant::now();
            let _product = kernel.if_available().run(None, &a, &b).ok()?;
            if run > 0 {
                *least = (*least).min(start.elapsed());
            }
        }
    }
    let (fastest, time) = Kernel::ALL.into_iter().zip(least).min_by_key(|(_, time)| *time)?;
    (time.as_secs_f64() < FASTER * least[0].as_secs_f64()).then_some(fastest)
}

/// A matrix of ones, stored by columns if it is transposed.
fn matrix(rows: i64, columns: i64, is_transposed: bool) -> Option<Tensor> {
    let sizes = if is_transposed { [columns, rows] } else { [rows, columns] };
    let matrix = Tensor::f_ones(sizes, (Kind::Float, Device::Cpu)).ok()?;
    if is_transposed { matrix.f_tr().ok() } else { Some(matrix) }
}
