//! Codes with scales become plain tensors: `--dequantize`.

mod checks;
mod config;
mod formats;
mod geometry;
mod input_files;
mod located;
mod small;
mod task;

use wgpu_cast::{CastOptions, ElementType};
use wgpu_cast_files::{
    SafetensorsEntry, SafetensorsTensor, ScaleTensor, ScaledCast, SecondScale, TensorCast, TensorStorage, ZeroPoints,
};

use super::report::count;
use super::scales::{Companion, Member, companions, plain_name};
use crate::text::printable;
use checks::{check_description, check_method, check_symmetric, format_of, missing, stored_codes, zero_points};
use formats::{Format, Grain};
use geometry::geometry;
use input_files::InputFiles;
use small::number;

pub use config::{Config, LONGEST as LONGEST_CONFIGURATION};
pub use geometry::{Geometry, blocks_of};
pub use located::{Located, Place};

/// Codes, and the tensors that belong to them.
pub struct Scaled<'a> {
    pub codes: &'a SafetensorsTensor,
    format: &'static Format,
    geometry: Geometry,
    scales: &'a Place,
    second: Option<SecondScale>,
    zero_points: Option<(&'a Place, u32)>,
    /// The type of the codes, which the file stores in bytes or words.
    pub element_type: ElementType,
}

impl<'a> Scaled<'a> {
    /// Finds the layout of codes, and checks that everything fits.
    ///
    /// # Errors
    /// Something does not fit. The text begins with the name of the codes.
    pub fn find(
        codes: &'a SafetensorsTensor,
        model: &'a Located,
        config: Option<&Config>,
        description: Option<&str>,
    ) -> Result<Self, String> {
        let name = printable(&codes.name);
        Self::find_members(codes, model, config, description).map_err(|what| format!("{name}: {what}"))
    }

    fn find_members(
        codes: &'a SafetensorsTensor,
        model: &'a Located,
        config: Option<&Config>,
        description: Option<&str>,
    ) -> Result<Self, String> {
        let found: Vec<_> = companions(&codes.name).filter(|companion| model.has(&companion.name)).collect();
        if let Some(other) = found.iter().find(|companion| companion.member == Member::Other) {
            let name = printable(&other.name);
            return Err(format!("codes with {name} are in no layout that can be multiplied"));
        }
        let of = |member| found.iter().filter(move |companion| companion.member == member).collect::<Vec<_>>();
        let place = |companion: &Companion| {
            model.get(&companion.name).map_err(|what| format!("its scale {} {what}", printable(&companion.name)))
        };
        let scale = match of(Member::Scale)[..] {
            [scale] => scale,
            [one, other, ..] => {
                let [one, other] = [one, other].map(|companion| printable(&companion.name));
                return Err(format!("it has two scales, {one} and {other}"));
            }
            [] => return Err(missing(codes)),
        };
        let scales = place(scale)?;
        let format = format_of(codes, scale, scales)?;
        check_method(format, config)?;
        check_description(codes, model, &of(Member::Description), description)?;
        let (element_type, shape) = stored_codes(format, codes, model)?;
        if count(&shape) == 0 {
            return Err("it has no elements".to_owned());
        }
        let scale_shape = &scales.tensor.shape;
        let geometry = geometry(format, &shape, scale_shape, config).map_err(|what| {
            let (name, source) = (printable(&scale.name), format.source);
            format!("its scale {name} has the shape {scale_shape:?}, and {what} ({source})")
        })?;
        let second = match (&of(Member::Multiplier)[..], &of(Member::Divisor)[..], format.grain) {
            ([], [], Grain::Pairs(16)) => {
                let end = if format.ends[0].is_empty() { "_scale_2" } else { "_global_scale" };
                let common = codes.name.strip_suffix(format.ends[0]).unwrap_or(&codes.name);
                return Err(format!("its scale {} is in no file of the model", printable(&format!("{common}{end}"))));
            }
            ([], [], _) => None,
            ([one], [], Grain::Pairs(16)) if format.ends[0].is_empty() => {
                Some(SecondScale::Multiply(number(&one.name, place(one)?)?))
            }
            ([], [one], Grain::Pairs(16)) if !format.ends[0].is_empty() => match number(&one.name, place(one)?)? {
                0.0 => return Err(format!("its scale {} divides, and is 0", printable(&one.name))),
                divisor => Some(SecondScale::Divide(divisor)),
            },
            (multipliers, divisors, _) => {
                let names: Vec<_> =
                    multipliers.iter().chain(divisors.iter()).map(|other| printable(&other.name)).collect();
                return Err(format!("{} is no scale of this layout ({})", names.join(", "), format.source));
            }
        };
        let zero_points = match of(Member::ZeroPoint)[..] {
            [] => check_symmetric(codes, format, element_type, config).map(|()| None)?,
            [one] => Some(zero_points(format, &geometry, scale_shape, &one.name, place(one)?, element_type)?),
            [one, other, ..] => {
                let [one, other] = [one, other].map(|companion| printable(&companion.name));
                return Err(format!("it has two zero points, {one} and {other}"));
            }
        };
        Ok(Self { codes, format, geometry, scales, second, zero_points, element_type })
    }

    /// The name of the scale.
    pub fn scale_name(&self) -> &str {
        &self.scales.tensor.name
    }

    /// The shape of the output.
    pub fn shape(&self) -> &[u64] {
        &self.geometry.shape
    }

    /// The tensor of the output.
    ///
    /// # Errors
    /// A file cannot be opened.
    pub fn entry(
        &self,
        to: ElementType,
        options: CastOptions,
        files: &mut InputFiles,
    ) -> Result<SafetensorsEntry, String> {
        let Geometry { shape, rows, columns, block, transposed, .. } = &self.geometry;
        let name = plain_name(&self.codes.name).to_owned();
        let input = files.index_of(&self.scales.file)?;
        let scale_type = match self.scales.tensor.element_type {
            // Bytes are exponents.
            Some(ElementType::UINT8) | None => ElementType::FLOAT8E8M0,
            Some(element_type) => element_type,
        };
        let tensor = |place: &Place, input, element_type| ScaleTensor {
            name: place.tensor.name.clone(),
            input,
            offset: place.tensor.offset,
            element_type,
        };
        let zero_points = match &self.zero_points {
            Some((place, bits)) => {
                let (input, stored) = (files.index_of(&place.file)?, place.tensor.element_type);
                let tensor = tensor(place, input, stored.unwrap_or(ElementType::INT32));
                Some(if *bits == 0 { ZeroPoints::EachScale(tensor) } else { ZeroPoints::PackedColumns(tensor, *bits) })
            }
            // Codes of words are unsigned; the middle of their range stands for 0.
            None if self.format.grain == Grain::Words => {
                Some(ZeroPoints::One(1 << (self.element_type.bits().unwrap_or(1) - 1)))
            }
            None => None,
        };
        let [from, to] = [self.element_type, to].map(TensorStorage::packed);
        let cast = TensorCast {
            name: name.clone(),
            elements: rows * columns,
            input: 0,
            offset: self.codes.offset,
            from,
            to,
            options,
            column_major: Vec::new(),
            clamp: false,
        };
        let parts = self.geometry.parts(&ScaledCast {
            cast,
            columns: *columns,
            block: *block,
            scales: tensor(self.scales, input, scale_type),
            second: self.second,
            zero_points,
            transposed: *transposed,
        });
        Ok(SafetensorsEntry { name, element_type: to.element_type, shape: shape.clone(), parts })
    }
}
