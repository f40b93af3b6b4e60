//! Shapes of views, and where their elements lie.

use wgpu_cast::View;

use crate::random::Random;

/// A shape with the strides of both sides.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    pub sizes: Vec<u64>,
    pub source: Vec<i64>,
    pub destination: Vec<i64>,
}

impl Shape {
    pub fn new(sizes: &[u64], source: &[i64], destination: &[i64]) -> Self {
        Self { sizes: sizes.to_vec(), source: source.to_vec(), destination: destination.to_vec() }
    }

    /// A dense destination.
    pub fn gathered(sizes: &[u64], source: &[i64]) -> Self {
        Self::new(sizes, source, &dense(sizes))
    }

    pub fn view(&self) -> View<'_> {
        View::new(&self.sizes).with_source_strides(&self.source).with_destination_strides(&self.destination)
    }
}

pub fn dense(sizes: &[u64]) -> Vec<i64> {
    (0..sizes.len()).map(|axis| sizes[axis + 1..].iter().product::<u64>() as i64).collect()
}

/// The places of a view's elements, counted from the lowest.
pub fn places(sizes: &[u64], strides: &[i64]) -> Vec<usize> {
    let mut places = vec![0];
    for (&size, &stride) in sizes.iter().zip(strides) {
        places = places.iter().flat_map(|place| (0..size as i64).map(move |i| place + i * stride)).collect();
    }
    let lowest = places.iter().min().copied().unwrap_or(0);
    places.iter().map(|place| (place - lowest) as usize).collect()
}

/// Writes codes to their places in memory. The lowest element is at bit `start`.
pub fn put(memory: &mut [u8], start: usize, bits: usize, places: &[usize], codes: impl Iterator<Item = u64>) {
    for (place, code) in places.iter().zip(codes) {
        for bit in 0..bits {
            let at = start + place * bits + bit;
            memory[at / 8] = memory[at / 8] & !(1 << (at % 8)) | ((code >> bit & 1) as u8) << (at % 8);
        }
    }
}

/// A random view. Its destination is a tensor of random axes, with gaps, in any order and direction.
pub fn random(random: &mut Random) -> Shape {
    let rank = 1 + random.below(5);
    let mut shape = Shape::default();
    // Rows on both sides, a transposed matrix, or anything.
    let style = random.below(4);
    let mut step = 1 + random.below(2) as i64 * random.below(4) as i64;
    let (mut source_step, mut order) = (1, Vec::new());
    for axis in 0..rank {
        let long = (style == 0 && axis == 0) || (style == 1 && axis < 2);
        let size = if long { 20 + random.below(200) } else { 1 + random.below(4) } as u64;
        if style == 0 && axis == 0 {
            step = 1;
        }
        let sign = |random: &mut Random| if random.one_in(3) { -1 } else { 1 };
        shape.sizes.push(size);
        shape.destination.push(step * sign(random));
        step = step * size as i64 + random.below(2) as i64 * random.below(5) as i64;
        let any = random.below(9) as i64 * sign(random);
        shape.source.push(if style < 3 { source_step } else { any });
        source_step = source_step * size as i64 + random.below(2) as i64 * random.below(5) as i64;
        order.push(axis);
    }
    if style == 1 && rank > 1 {
        shape.source.swap(0, 1);
        let rows = shape.sizes[1] as i64;
        (shape.source[0], shape.source[1]) = (rows + random.below(9) as i64, 1);
    }
    // The axes in any order.
    for axis in (1..rank).rev() {
        order.swap(axis, random.below(axis + 1));
    }
    let all = |values: &[i64]| order.iter().map(|&axis| values[axis]).collect::<Vec<_>>();
    let sizes = order.iter().map(|&axis| shape.sizes[axis]).collect();
    Shape { sizes, source: all(&shape.source), destination: all(&shape.destination) }
}
