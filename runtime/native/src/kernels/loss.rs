//! The negative log-likelihood loss, and its derivative.
#![allow(unsafe_code, reason = "kernels read and write memory by address")]

use crate::dtype::Element;

/// `nll_loss` of `rows` contiguous rows, without class weights.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loss {
    pub(crate) element: Element,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// The class whose rows are ignored (`ignore_index`).
    pub(crate) ignored: i64,
    /// Whether the loss is the mean over the rows; otherwise it is the sum.
    pub(crate) is_mean: bool,
}

impl Loss {
    /// Returns the class of a row. `None` for an ignored row; an error if the class is out of range.
    ///
    /// # Safety
    /// `classes` must be valid for `rows` elements.
    unsafe fn class(&self, classes: *const i64, row: usize) -> Result<Option<usize>, ()> {
        // SAFETY: the caller guarantees the shape.
        let class = unsafe { classes.add(row).read() };
        if class == self.ignored {
            return Ok(None);
        }
        usize::try_from(class).ok().filter(|class| *class < self.columns).map(Some).ok_or(())
    }

    /// Reads an element.
    ///
    /// # Safety
    /// The address must be valid for this dtype and index.
    unsafe fn read(&self, from: *const u8, index: usize) -> f64 {
        // SAFETY: the caller guarantees the shape.
        unsafe {
            if self.element == Element::F32 {
                f64::from(from.cast::<f32>().add(index).read())
            } else {
                from.cast::<f64>().add(index).read()
            }
        }
    }

    /// Writes an element.
    ///
    /// # Safety
    /// See `read`.
    unsafe fn write(&self, to: *mut u8, index: usize, value: f64) {
        // SAFETY: the caller guarantees the shape.
        unsafe {
            if self.element == Element::F32 {
                to.cast::<f32>().add(index).write(value as f32);
            } else {
                to.cast::<f64>().add(index).write(value);
            }
        }
    }

    /// Writes the loss and the number of rows that are not ignored.
    ///
    /// # Safety
    /// The addresses must be valid for these rows and columns, and for one element each.
    pub(crate) unsafe fn forward(
        &self,
        [loss, weight]: [*mut u8; 2],
        x: *const u8,
        classes: *const u8,
    ) -> Result<(), ()> {
        let (mut sum, mut count) = (0.0, 0.0);
        // SAFETY: the caller guarantees the shapes.
        unsafe {
            for row in 0..self.rows {
                if let Some(class) = self.class(classes.cast(), row)? {
                    sum -= self.read(x, row * self.columns + class);
                    count += 1.0;
                }
            }
            self.write(loss, 0, if self.is_mean { sum / count } else { sum });
            self.write(weight, 0, count);
        }
        Ok(())
    }

    /// Writes the derivative with respect to `x`.
    ///
    /// # Safety
    /// As for `forward`; `out` must be valid for these rows and columns.
    pub(crate) unsafe fn backward(
        &self,
        out: *mut u8,
        gradient: *const u8,
        classes: *const u8,
        weight: *const u8,
    ) -> Result<(), ()> {
        // SAFETY: the caller guarantees the shapes.
        unsafe {
            out.write_bytes(0, self.rows * self.columns * self.element.size());
            let gradient = self.read(gradient, 0);
            let gradient = if self.is_mean { gradient / self.read(weight, 0) } else { gradient };
            for row in 0..self.rows {
                if let Some(class) = self.class(classes.cast(), row)? {
                    self.write(out, row * self.columns + class, -gradient);
                }
            }
        }
        Ok(())
    }
}
