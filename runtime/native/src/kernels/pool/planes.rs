//! Pooling of planes that are stored one after another: several windows of a row at once.

use super::{Images, Inside, Window, inside};

#[inline(always)]
pub(super) fn pool(images: Images<'_>, window: &Window, result: [usize; 2]) {
    match window.stride[1] {
        1 => pool_by::<1>(images, window, result),
        2 => pool_by::<2>(images, window, result),
        _ => pool_by::<0>(images, window, result),
    }
}

/// `STRIDE`: the horizontal stride, or 0 if it is known only at run time.
#[inline(always)]
fn pool_by<const STRIDE: usize>(images: Images<'_>, window: &Window, [rows, columns]: [usize; 2]) {
    let Images { input, plane: [height, width], maxima, indices, .. } = images;
    let stride = if STRIDE == 0 { window.stride[1] } else { STRIDE };
    let planes = input.chunks_exact(height * width);
    let results = maxima.chunks_exact_mut(rows * columns).zip(indices.chunks_exact_mut(rows * columns));
    for (values, (maxima, indices)) in planes.zip(results) {
        for row in 0..rows {
            let part = Part { values, width, rows: inside(row, 0, window, height), window };
            let maxima = &mut maxima[row * columns..][..columns];
            let indices = &mut indices[row * columns..][..columns];
            let mut column = 0;
            while column < columns {
                column += match columns - column {
                    8.. if part.has_room(column, 8, stride) => {
                        part.block::<8>(column, stride, &mut maxima[column..], &mut indices[column..])
                    }
                    4.. if part.has_room(column, 4, stride) => {
                        part.block::<4>(column, stride, &mut maxima[column..], &mut indices[column..])
                    }
                    _ => {
                        (maxima[column], indices[column]) = part.one(inside(column, 1, window, width));
                        1
                    }
                };
            }
        }
    }
}

/// The rows of a plane that the windows of one row of the result cover.
struct Part<'a> {
    values: &'a [f32],
    width: usize,
    rows: Inside,
    window: &'a Window,
}

impl Part<'_> {
    /// Returns whether `lanes` windows from `column` on are horizontally inside the plane and all values that `block`
    /// reads for them exist. `block` also reads the values between the windows.
    #[inline(always)]
    fn has_room(&self, column: usize, lanes: usize, stride: usize) -> bool {
        let Window { kernel, padding, dilation, .. } = self.window;
        let covered = dilation[1] * (kernel[1] - 1);
        let start = column * stride;
        let last = self.rows.first + self.rows.count.saturating_sub(1) * dilation[0];
        start >= padding[1]
            && start - padding[1] + (lanes - 1) * stride + covered < self.width
            && last * self.width + start - padding[1] + covered + lanes * stride <= self.values.len()
    }

    /// Writes the maxima of `LANES` adjacent windows and their positions. Returns the number of windows.
    #[inline(always)]
    fn block<const LANES: usize>(
        &self,
        column: usize,
        stride: usize,
        maxima: &mut [f32],
        indices: &mut [i64],
    ) -> usize {
        let start = self.rows.first * self.width + column * stride - self.window.padding[1];
        let mut best = [f32::NEG_INFINITY; LANES];
        let mut at: [i32; LANES] = std::array::from_fn(|lane| (start + lane * stride) as i32);
        for row in 0..self.rows.count {
            let mut position = start + row * self.window.dilation[0] * self.width;
            for _ in 0..self.window.kernel[1] {
                let values = &self.values[position..][..LANES * stride];
                for lane in 0..LANES {
                    let value = values[lane * stride];
                    let is_larger = (value > best[lane]) | value.is_nan();
                    best[lane] = if is_larger { value } else { best[lane] };
                    at[lane] = if is_larger { (position + lane * stride) as i32 } else { at[lane] };
                }
                position += self.window.dilation[1];
            }
        }
        maxima[..LANES].copy_from_slice(&best);
        for (index, at) in indices[..LANES].iter_mut().zip(at) {
            *index = i64::from(at);
        }
        LANES
    }

    /// Returns the maximum of one window and its position.
    #[inline(always)]
    fn one(&self, columns: Inside) -> (f32, i64) {
        let mut best = f32::NEG_INFINITY;
        let mut at = self.rows.first * self.width + columns.first;
        for row in 0..self.rows.count {
            let row = self.rows.first + row * self.window.dilation[0];
            for column in 0..columns.count {
                let position = row * self.width + columns.first + column * self.window.dilation[1];
                let value = self.values[position];
                if (value > best) | value.is_nan() {
                    (best, at) = (value, position);
                }
            }
        }
        (best, at as i64)
    }
}
