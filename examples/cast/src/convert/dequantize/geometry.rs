//! Which elements of a tensor share a scale: by the shapes of codes and scales.

use wgpu_cast::ElementType;
use wgpu_cast_files::{Part, ScaledCast, ZeroPoints};

use super::config::{Config, Weights};
use super::formats::{Format, Grain};
use crate::convert::report::count;

/// The axes of a tensor.
pub type Shape = [u64];

/// The most matrices of a tensor that are multiplied one by one. A plan has a part for each.
const MOST_MATRICES: u64 = 1 << 16;

/// A tensor as one matrix or several ones, and the blocks that share a scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    /// The shape of the output.
    pub shape: Vec<u64>,
    pub matrices: u64,
    /// The rows and columns of the output in a matrix.
    pub rows: u64,
    pub columns: u64,
    pub block: [u64; 2],
    pub transposed: bool,
}

impl Geometry {
    /// The whole tensor with one scale.
    fn of_tensor(shape: &Shape) -> Self {
        let elements = count(shape);
        let block = [1, elements].map(|length: u64| length.max(1));
        Self { shape: shape.to_vec(), matrices: 1, rows: 1, columns: elements, block, transposed: false }
    }

    /// The last two axes in blocks.
    pub fn of_blocks(shape: &Shape, block: [u64; 2]) -> Option<Self> {
        let (&[rows, columns], outer) = shape.split_last_chunk::<2>().map(|(outer, last)| (last, outer))?;
        let matrices = count(outer);
        let block = [block[0].min(rows.max(1)), block[1]];
        // Matrices whose last blocks are not short are one matrix.
        let (matrices, rows) = if rows % block[0] == 0 { (1, matrices * rows) } else { (matrices, rows) };
        Some(Self { shape: shape.to_vec(), matrices, rows, columns, block, transposed: false })
    }

    /// Rows of `length` elements with one scale each.
    fn of_rows(shape: &Shape, length: u64) -> Self {
        let rows = count(shape).checked_div(length).unwrap_or(0);
        Self { shape: shape.to_vec(), matrices: 1, rows, columns: length, block: [1, length.max(1)], transposed: false }
    }

    /// Refuses a tensor of too many matrices.
    ///
    /// # Errors
    /// The text has both numbers.
    pub fn checked(self) -> Result<Self, String> {
        match self.matrices {
            many if many > MOST_MATRICES => Err(format!("{many} matrices are more than {MOST_MATRICES}")),
            _ => Ok(self),
        }
    }

    /// The number of scales of a matrix.
    pub fn scales(&self) -> u64 {
        self.rows.div_ceil(self.block[0]) * self.columns.div_ceil(self.block[1])
    }

    /// The casts of all matrices, which follow one another as their scales do. `first` is that of the first matrix.
    pub fn parts(&self, first: &ScaledCast) -> Vec<Part> {
        let bits = |element_type: ElementType| u64::from(element_type.bits().unwrap_or(8));
        let of_matrix = |matrix: u64| {
            let (mut part, scales) = (first.clone(), matrix * self.scales());
            part.cast.offset += first.cast.from.bytes(matrix * first.cast.elements).unwrap_or(u64::MAX);
            part.scales.offset += scales * bits(first.scales.element_type) / 8;
            // They are bytes.
            if let Some(ZeroPoints::EachScale(tensor)) = &mut part.zero_points {
                tensor.offset += scales;
            }
            Part::Scaled(Box::new(part))
        };
        (0..self.matrices).map(of_matrix).collect()
    }
}

/// The shape of the scales of these blocks.
pub fn blocks_of(shape: &Shape, block: [u64; 2]) -> Option<Vec<u64>> {
    let (outer, last) = shape.split_last_chunk::<2>()?;
    let last = [0, 1].map(|axis| last[axis].div_ceil(block[axis]));
    Some([outer, &last].concat())
}

/// Whether the scales are those of rows: their first axes are those of the codes, and the others have length 1. Gives the
/// length of a row.
fn row_length(shape: &Shape, scales: &Shape) -> Option<u64> {
    if shape.len() != scales.len() {
        return None;
    }
    let same = shape.iter().zip(scales).take_while(|(axis, scale)| axis == scale).count();
    let is_rows = same > 0 && scales.ends_with(&[1]) && scales[same..].iter().all(|&scale| scale == 1);
    is_rows.then(|| count(&shape[same..]))
}

/// The geometry of a layout for codes and scales of these shapes. `shape` is that of the codes, one for each code.
///
/// # Errors
/// The shapes do not fit, or the configuration says otherwise. The text says what was expected.
pub fn geometry(format: &Format, shape: &Shape, scales: &Shape, config: Option<&Config>) -> Result<Geometry, String> {
    of_grain(format, shape, scales, config)?.checked()
}

fn of_grain(format: &Format, shape: &Shape, scales: &Shape, config: Option<&Config>) -> Result<Geometry, String> {
    match format.grain {
        Grain::Squares => squares(shape, scales, config),
        Grain::Rows => tensor_or_rows(shape, scales).ok_or_else(|| expected(&tensor_and_rows(shape))),
        Grain::Configured => configured(shape, scales, config),
        Grain::Group(group) | Grain::Pairs(group) => {
            let fits = shape.last().is_some_and(|last| last % group == 0);
            let wanted = blocks_of(shape, [1, group]).filter(|_| fits);
            match wanted.as_deref() == Some(scales) {
                true => Geometry::of_blocks(shape, [1, group]).ok_or_else(|| expected(&[])),
                false => Err(expected(&wanted.into_iter().collect::<Vec<_>>())),
            }
        }
        Grain::Blocks | Grain::TransposedBlocks => blocks(format.grain, shape, scales),
        Grain::Words => words(shape, scales, config),
    }
}

/// The text about the shapes that would fit.
fn expected(shapes: &[Vec<u64>]) -> String {
    match shapes {
        [] => "no shape of a scale fits these codes".to_owned(),
        shapes => {
            let shapes: Vec<_> = shapes.iter().map(|shape| format!("{shape:?}")).collect();
            format!("{} would fit", shapes.join(" or "))
        }
    }
}

fn squares(shape: &Shape, scales: &Shape, config: Option<&Config>) -> Result<Geometry, String> {
    let block = match config.and_then(Config::block_size) {
        None => [128, 128],
        Some(Some(block)) => block,
        Some(None) if count(scales) == 1 => return Ok(Geometry::of_tensor(shape)),
        Some(None) => return Err(expected(&[vec![]])),
    };
    let wanted = blocks_of(shape, block);
    match wanted.as_deref() == Some(scales) {
        true => Geometry::of_blocks(shape, block).ok_or_else(|| expected(&[])),
        false => {
            let [rows, columns] = block;
            let fit = expected(&wanted.into_iter().collect::<Vec<_>>());
            Err(format!("{fit}, with blocks of {rows} x {columns}"))
        }
    }
}

fn tensor_or_rows(shape: &Shape, scales: &Shape) -> Option<Geometry> {
    match count(scales) {
        1 => Some(Geometry::of_tensor(shape)),
        _ => row_length(shape, scales).map(|length| Geometry::of_rows(shape, length)),
    }
}

fn tensor_and_rows(shape: &Shape) -> Vec<Vec<u64>> {
    let rows = shape.split_first().map(|(first, others)| [&[*first], vec![1; others.len()].as_slice()].concat());
    [Some(vec![]), rows].into_iter().flatten().collect()
}

/// The scales of compressed-tensors. Without a configuration of it, only the tensor and rows are known by their shapes.
fn configured(shape: &Shape, scales: &Shape, config: Option<&Config>) -> Result<Geometry, String> {
    let config = config.filter(|config| config.method() == "compressed-tensors");
    let Some(config) = config else {
        return tensor_or_rows(shape, scales).ok_or_else(|| expected(&tensor_and_rows(shape)));
    };
    let mut wanted = Vec::new();
    for weights in config.weights().iter().filter(|weights| weights.bits == Some(8)) {
        let (fit, geometry) = of_weights(shape, scales, weights);
        if let Some(geometry) = geometry {
            return Ok(geometry);
        }
        wanted.extend(fit.filter(|fit| !wanted.contains(fit)));
    }
    Err(format!("{} by {}", expected(&wanted), config.told))
}

/// The shape that the scales of such weights have, and the geometry if it is that of these scales.
fn of_weights(shape: &Shape, scales: &Shape, weights: &Weights) -> (Option<Vec<u64>>, Option<Geometry>) {
    let block = match (weights.strategy.as_str(), weights.group, weights.block) {
        ("tensor", ..) => return (Some(vec![]), (count(scales) == 1).then(|| Geometry::of_tensor(shape))),
        ("channel", ..) => {
            let fit = shape.split_last().map(|(last, outer)| (*last, [outer, &[1]].concat()));
            let geometry = fit.as_ref().filter(|(_, fit)| fit == scales);
            let geometry = geometry.map(|(last, _)| Geometry::of_rows(shape, *last));
            return (fit.map(|(_, fit)| fit), geometry);
        }
        ("group", Some(group), _) if shape.last().is_some_and(|last| last.checked_rem(group) == Some(0)) => [1, group],
        ("block", _, Some(block)) => block,
        _ => return (None, None),
    };
    let fit = blocks_of(shape, block);
    let is_fit = fit.as_deref() == Some(scales);
    (fit, Geometry::of_blocks(shape, block).filter(|_| is_fit))
}

/// Codes of shape `[.., groups, 32]` with scales `[.., groups]`.
fn blocks(grain: Grain, shape: &Shape, scales: &Shape) -> Result<Geometry, String> {
    let Some((outer, &[groups, 32])) = shape.split_last_chunk::<2>() else {
        return Err("codes of 16 bytes for each scale were expected".to_owned());
    };
    let wanted = [outer, &[groups]].concat();
    if wanted != scales {
        return Err(expected(&[wanted]));
    }
    let columns = groups * 32;
    match (grain, outer) {
        (Grain::Blocks, _) => {
            let shape = [outer, &[columns]].concat();
            Geometry::of_blocks(&[&[1], shape.as_slice()].concat(), [1, 32])
                .map(|geometry| Geometry { shape, ..geometry })
                .ok_or_else(|| expected(&[]))
        }
        (_, &[experts, rows]) if rows.is_multiple_of(2) => Ok(Geometry {
            shape: vec![experts, columns, rows],
            matrices: experts,
            rows: columns,
            columns: rows,
            block: [32, 1],
            transposed: true,
        }),
        _ => Err("codes of shape [experts, rows, groups, 16] with an even number of rows were expected".to_owned()),
    }
}

/// Codes in words, with scales of groups or rows.
fn words(shape: &Shape, scales: &Shape, config: Option<&Config>) -> Result<Geometry, String> {
    let (&[rows, columns], &[scale_rows, groups]) = (shape, scales) else {
        return Err("two axes were expected".to_owned());
    };
    let group = columns.checked_div(groups).unwrap_or(0);
    // Two codes of 4 bits share a byte.
    let fits = scale_rows == rows && group * groups == columns && (groups == 1 || group.is_multiple_of(2));
    let as_told = |weights: &Weights| match weights.strategy.as_str() {
        "channel" => groups == 1,
        "group" => weights.group == Some(group),
        _ => false,
    };
    let is_told = config.is_none_or(|config| config.weights().iter().any(as_told));
    match fits && is_told {
        true => Geometry::of_blocks(shape, [1, group.max(1)]).ok_or_else(|| expected(&[])),
        false => {
            let by = config.map_or(String::new(), |config| format!(" by {}", config.told));
            Err(format!("[{rows}, groups of a row] was expected{by}"))
        }
    }
}
