//! Writes or adds elements at indices along a dimension: `out[o, index[o, k, i], i] = source[o, k, i]`.
#![allow(unsafe_code, reason = "kernels read and write memory by address")]

use super::number::Number;
use super::selection::position;
use crate::dtype::Element;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Scatter {
    /// The sizes of the source before, along and behind the dimension.
    pub(crate) sizes: [usize; 3],
    /// The size of the dimension in the result.
    pub(crate) columns: usize,
    /// The strides of the indices and of the source, in elements.
    pub(crate) index_strides: [usize; 3],
    pub(crate) source_strides: [usize; 3],
    pub(crate) element: Element,
    /// Whether elements are added to those of the result. There is no sum of `bool`.
    pub(crate) adds: bool,
    /// Whether negative indices count from the end.
    pub(crate) wraps: bool,
}

impl Scatter {
    /// Changes the elements in the order of the indices, as libtorch does, so that sums are equal. Returns an error if
    /// an index is out of range.
    ///
    /// # Safety
    /// The addresses must be aligned and valid for these shapes, and the result must not overlap the operands.
    pub(crate) unsafe fn run(&self, out: *mut u8, indices: *const i64, source: *const u8) -> Result<(), ()> {
        // SAFETY: the caller guarantees the shapes.
        unsafe {
            match (self.adds, self.element) {
                (true, Element::F32) => self.each::<f32>(out.cast(), indices, source.cast(), f32::plus),
                (true, Element::F64) => self.each::<f64>(out.cast(), indices, source.cast(), f64::plus),
                (true, Element::I32) => self.each::<i32>(out.cast(), indices, source.cast(), i32::plus),
                (true, Element::I64) => self.each::<i64>(out.cast(), indices, source.cast(), i64::plus),
                (true, Element::Bool) => Err(()),
                (false, Element::F32 | Element::I32) => {
                    self.each::<u32>(out.cast(), indices, source.cast(), |_, new| new)
                }
                (false, Element::F64 | Element::I64) => {
                    self.each::<u64>(out.cast(), indices, source.cast(), |_, new| new)
                }
                (false, Element::Bool) => self.each::<u8>(out, indices, source, |_, new| new),
            }
        }
    }

    /// # Safety
    /// See `run`.
    #[inline(always)]
    unsafe fn each<T: Copy>(
        &self,
        out: *mut T,
        indices: *const i64,
        source: *const T,
        change: impl Fn(T, T) -> T,
    ) -> Result<(), ()> {
        let [outers, count, inner] = self.sizes;
        let at = |strides: [usize; 3], outer: usize, row: usize| outer * strides[0] + row * strides[1];
        for outer in 0..outers {
            for row in 0..count {
                // SAFETY: the caller guarantees the shapes.
                unsafe {
                    let index = indices.add(at(self.index_strides, outer, row));
                    let source = source.add(at(self.source_strides, outer, row));
                    let out = out.add(outer * self.columns * inner);
                    if self.index_strides[2] == 0 {
                        let out = out.add(position(index.read(), self.columns, self.wraps)? * inner);
                        for i in 0..inner {
                            let to = out.add(i);
                            to.write(change(to.read(), source.add(i * self.source_strides[2]).read()));
                        }
                        continue;
                    }
                    for i in 0..inner {
                        let column =
                            position(index.add(i * self.index_strides[2]).read(), self.columns, self.wraps)?;
                        let to = out.add(column * inner + i);
                        to.write(change(to.read(), source.add(i * self.source_strides[2]).read()));
                    }
                }
            }
        }
        Ok(())
    }
}
