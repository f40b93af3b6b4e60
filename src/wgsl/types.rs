//! The types of WGSL that functions take and return.

use std::fmt;

use crate::types::element::{ElementType, Kind};

/// A type of WGSL; [`Display`](fmt::Display) writes it as WGSL does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Type {
    /// `u32`
    U32,
    /// `vec2<u32>`; the low word of a 64-bit code is first.
    Vec2U32,
    /// `vec3<u32>`
    Vec3U32,
    /// `vec4<u32>`
    Vec4U32,
    /// `array<vec4<u32>, 3>`
    ThreeVec4U32,
    /// `f32`
    F32,
    /// `vec2<f32>`
    Vec2F32,
    /// `vec4<f32>`
    Vec4F32,
    /// `array<vec4<f32>, 2>`
    TwoVec4F32,
    /// `array<vec4<f32>, 4>`
    FourVec4F32,
    /// `array<vec4<f32>, 8>`
    EightVec4F32,
    /// `array<vec4<f32>, 16>`
    SixteenVec4F32,
    /// `f16`
    F16,
    /// `vec2<f16>`
    Vec2F16,
    /// `vec4<f16>`
    Vec4F16,
    /// `array<vec4<f16>, 2>`
    TwoVec4F16,
    /// `array<vec4<f16>, 4>`
    FourVec4F16,
    /// `array<vec4<f16>, 8>`
    EightVec4F16,
    /// `array<vec4<f16>, 16>`
    SixteenVec4F16,
}

impl Type {
    /// The type as WGSL writes it.
    pub const fn wgsl(self) -> &'static str {
        match self {
            Type::U32 => "u32",
            Type::Vec2U32 => "vec2<u32>",
            Type::Vec3U32 => "vec3<u32>",
            Type::Vec4U32 => "vec4<u32>",
            Type::ThreeVec4U32 => "array<vec4<u32>, 3>",
            Type::F32 => "f32",
            Type::Vec2F32 => "vec2<f32>",
            Type::Vec4F32 => "vec4<f32>",
            Type::TwoVec4F32 => "array<vec4<f32>, 2>",
            Type::FourVec4F32 => "array<vec4<f32>, 4>",
            Type::EightVec4F32 => "array<vec4<f32>, 8>",
            Type::SixteenVec4F32 => "array<vec4<f32>, 16>",
            Type::F16 => "f16",
            Type::Vec2F16 => "vec2<f16>",
            Type::Vec4F16 => "vec4<f16>",
            Type::TwoVec4F16 => "array<vec4<f16>, 2>",
            Type::FourVec4F16 => "array<vec4<f16>, 4>",
            Type::EightVec4F16 => "array<vec4<f16>, 8>",
            Type::SixteenVec4F16 => "array<vec4<f16>, 16>",
        }
    }

    /// The type of an element's code.
    pub(super) fn code(element_type: ElementType) -> Self {
        if element_type.code_bits() == 64 { Type::Vec2U32 } else { Type::U32 }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.wgsl())
    }
}

/// The line that returns a value of these parts. A single part is the value.
pub(super) fn returned(kind: Type, parts: &[String]) -> String {
    match parts {
        [value] => format!("return {value};"),
        parts => format!("return {kind}(\n    {},\n);", parts.join(",\n    ")),
    }
}

/// The type to which [`Functions`](super::Functions) decode codes, and from which they encode them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ValueType {
    /// `f32`, which every device has.
    F32,
    /// `f16`, in modules that begin with `enable f16;`, on devices with the feature `shader-f16`.
    F16,
}

impl ValueType {
    /// The type's name in WGSL and in the names of functions.
    pub(super) const fn name(self) -> &'static str {
        match self {
            ValueType::F32 => "f32",
            ValueType::F16 => "f16",
        }
    }

    /// The type of `count` values.
    pub(super) const fn of(self, count: u32) -> Type {
        let [one, two, four, eight, sixteen, thirty_two, sixty_four] = match self {
            ValueType::F32 => [
                Type::F32,
                Type::Vec2F32,
                Type::Vec4F32,
                Type::TwoVec4F32,
                Type::FourVec4F32,
                Type::EightVec4F32,
                Type::SixteenVec4F32,
            ],
            ValueType::F16 => [
                Type::F16,
                Type::Vec2F16,
                Type::Vec4F16,
                Type::TwoVec4F16,
                Type::FourVec4F16,
                Type::EightVec4F16,
                Type::SixteenVec4F16,
            ],
        };
        match count {
            1 => one,
            2 => two,
            4 => four,
            8 => eight,
            16 => sixteen,
            32 => thirty_two,
            _ => sixty_four,
        }
    }

    /// Whether every number of an element type is one of these values.
    pub(super) fn holds(self, element_type: ElementType) -> bool {
        let Kind::Float(own) = self.element_type().kind() else { return false };
        match element_type.kind() {
            Kind::Bool => true,
            Kind::Int { .. } => element_type.code_bits() <= own.man_bits + 1,
            Kind::Float(format) => own.holds(&format),
            Kind::String => false,
        }
    }

    /// The element type that has these values.
    pub(super) const fn element_type(self) -> ElementType {
        match self {
            ValueType::F32 => ElementType::FLOAT,
            ValueType::F16 => ElementType::FLOAT16,
        }
    }
}
