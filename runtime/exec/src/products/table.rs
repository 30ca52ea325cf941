//! The fastest kernel for each class of products on this processor, with each number of threads.

use std::fmt::Write;
use std::sync::{LazyLock, Mutex, PoisonError, RwLock};

use rustc_hash::FxHashMap;

use super::class::{Class, FEW, KINDS, ProductKind, SIZES, SMALLEST};
use super::kernels::Kernel;
use super::{ProductKernels, cache, measure, product_kernels};

/// For each kind that has been measured, the kernel for each size.
pub(super) type Table = [Option<[Kernel; SIZES]>; KINDS];

/// The tables by the number of threads.
static TABLES: LazyLock<RwLock<FxHashMap<i32, Table>>> = LazyLock::new(RwLock::default);

/// Locked while a class is measured, because two measurements would disturb each other.
static MEASURING: Mutex<()> = Mutex::new(());

/// Returns the fastest kernel for products of a class. Measures the kind of the class when it is first needed.
pub(super) fn fastest(class: Class) -> Kernel {
    let threads = crate::threads();
    let row = known(threads, class.kind).unwrap_or_else(|| add(threads, class.kind));
    row[class.size]
}

fn known(threads: i32, kind: ProductKind) -> Option<[Kernel; SIZES]> {
    TABLES.read().unwrap_or_else(PoisonError::into_inner).get(&threads)?[kind.index()]
}

fn add(threads: i32, kind: ProductKind) -> [Kernel; SIZES] {
    let _measuring = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(row) = known(threads, kind) {
        return row;
    }
    let mut table = cache::load(threads).unwrap_or_default();
    let row = *table[kind.index()].get_or_insert_with(|| measure::fastest(kind));
    cache::store(threads, &table);
    TABLES.write().unwrap_or_else(PoisonError::into_inner).insert(threads, table);
    row
}

/// Returns the table for the current number of threads as text, one line for each kind of products that has been
/// measured.
pub fn description() -> String {
    let threads = crate::threads();
    let mut text = String::new();
    let setting = match product_kernels() {
        ProductKernels::Measured => "measured",
        ProductKernels::Torch => "torch",
        ProductKernels::OneDnn => "onednn",
    };
    let _ = writeln!(text, "kernels of products: {setting}");
    if let Some(path) = cache::path(threads) {
        let _ = writeln!(text, "table of measured products: {}", path.display());
    }
    let tables = TABLES.read().unwrap_or_else(PoisonError::into_inner);
    let table = tables.get(&threads).copied().or_else(|| cache::load(threads)).unwrap_or_default();
    for kind in ProductKind::all() {
        let Some(row) = table[kind.index()] else { continue };
        let side = |is_few: bool| if is_few { format!("2-{}", FEW - 1) } else { format!("{FEW}+") };
        let stored = |is_transposed: bool| if is_transposed { "by columns" } else { "by rows" };
        let _ = write!(
            text,
            "  {} rows, {} columns, left operand {}, right operand {}:",
            side(kind.has_few_rows),
            side(kind.has_few_columns),
            stored(kind.is_transposed[0]),
            stored(kind.is_transposed[1])
        );
        let mut last = None;
        for (size, kernel) in row.into_iter().enumerate() {
            if last != Some(kernel) {
                let _ = write!(text, " {} from 2^{}", kernel.name(), SMALLEST.ilog2() as usize + size);
            }
            last = Some(kernel);
        }
        text.push('\n');
    }
    text
}
