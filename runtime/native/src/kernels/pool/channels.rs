//! Pooling of images with the channels last: several channels of a pixel at once.

use super::{Images, Window, inside};

#[inline(always)]
pub(super) fn pool(images: Images<'_>, channels: usize, window: &Window, [rows, columns]: [usize; 2]) {
    let Images { input, plane: [height, width], maxima, indices, .. } = images;
    let mut at = 0;
    for image in 0..maxima.len() / (rows * columns * channels).max(1) {
        for row in 0..rows {
            let vertical = inside(row, 0, window, height);
            for column in 0..columns {
                let horizontal = inside(column, 1, window, width);
                let pixels = Pixels {
                    input,
                    channels,
                    start: image * height * width,
                    first: vertical.first * width + horizontal.first,
                    steps: [window.dilation[0] * width, window.dilation[1]],
                    counts: [vertical.count, horizontal.count],
                };
                pixels.pool(&mut maxima[at..], &mut indices[at..]);
                at += channels;
            }
        }
    }
}

/// The pixels of one window that are inside the plane.
struct Pixels<'a> {
    input: &'a [f32],
    channels: usize,
    /// The first pixel of the image.
    start: usize,
    /// The position of the window's first pixel in its plane.
    first: usize,
    /// The distance between two rows of the window, and between two columns, in pixels.
    steps: [usize; 2],
    /// The number of rows, and of columns, of the window.
    counts: [usize; 2],
}

impl Pixels<'_> {
    /// Writes the results of all channels to the start of `maxima` and `indices`. Elements after them belong to later
    /// pixels, and may be overwritten.
    #[inline(always)]
    fn pool(&self, maxima: &mut [f32], indices: &mut [i64]) {
        let [rows, columns] = [0, 1].map(|axis| self.counts[axis].saturating_sub(1) * self.steps[axis]);
        let last = (self.start + self.first + rows + columns) * self.channels;
        // A block may read and write more channels than the pixel has, if the slices are long enough.
        let room = maxima.len().min(self.input.len().saturating_sub(last));
        let mut channel = 0;
        while channel < self.channels {
            channel += match self.channels - channel {
                2.. if channel + 8 <= room => self.block::<8>(channel, maxima, indices),
                _ => self.block::<1>(channel, maxima, indices),
            };
        }
    }

    /// Pools `LANES` channels. Returns their number.
    #[inline(always)]
    fn block<const LANES: usize>(&self, channel: usize, maxima: &mut [f32], indices: &mut [i64]) -> usize {
        let mut best = [f32::NEG_INFINITY; LANES];
        let mut at = [self.first as i32; LANES];
        for row in 0..self.counts[0] {
            let mut pixel = self.first + row * self.steps[0];
            for _ in 0..self.counts[1] {
                let values = &self.input[(self.start + pixel) * self.channels + channel..][..LANES];
                for lane in 0..LANES {
                    let value = values[lane];
                    let is_larger = (value > best[lane]) | value.is_nan();
                    best[lane] = if is_larger { value } else { best[lane] };
                    at[lane] = if is_larger { pixel as i32 } else { at[lane] };
                }
                pixel += self.steps[1];
            }
        }
        maxima[channel..][..LANES].copy_from_slice(&best);
        for (index, at) in indices[channel..][..LANES].iter_mut().zip(at) {
            *index = i64::from(at);
        }
        LANES
    }
}
