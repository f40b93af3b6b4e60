//! Functions under one prefix: the casts, and the parts that all functions share.

use super::array::Elements;
use super::fragments::Fragments;
use super::names;
use super::types::{Type, ValueType};
use crate::kernel::compose;
use crate::types::conversion::{Conversion, Encode};
use crate::types::error::Error;
use crate::types::options::CastOptions;
use crate::types::spec::CastSpec;

/// A function that a kernel can call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    name: String,
    arguments: Vec<Type>,
    result: Option<Type>,
}

impl Function {
    /// The name, with the prefix.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The types of the arguments.
    pub fn arguments(&self) -> &[Type] {
        &self.arguments
    }

    /// The type of the result, if there is one.
    pub fn result(&self) -> Option<Type> {
        self.result
    }
}

/// Functions in WGSL under one prefix, to be put before or after a kernel of your own.
///
/// Ask for the functions that the kernel needs; [`wgsl`](Self::wgsl) then gives the text. Each method returns the name
/// and the types of a function. It may be called again: a function is not written twice. Every name in the module's
/// scope is the prefix, an underscore and the name in the method's documentation. So functions under two prefixes never
/// collide, unless one prefix begins with the other and an underscore, as `q_a` and `q`. The text has no entry point, no
/// binding and no directive, and needs no language extension. Only a [`Table`](super::Table) adds a variable.
///
/// ```
/// use wgpu_cast::wgsl::{Functions, Type};
/// use wgpu_cast::{CastOptions, CastSpec, ElementType};
///
/// let mut functions = Functions::new("q")?;
/// // Four FLOAT8E4M3FN weights of a word as values, and the result as BFLOAT16.
/// let weights = functions.decode_word(ElementType::FLOAT8E4M3FN)?;
/// let result = functions.encode(ElementType::BFLOAT16, &CastOptions::default())?;
/// assert_eq!((weights.name(), weights.result()), ("q_float8e4m3fn_to_f32x4", Some(Type::Vec4F32)));
/// assert_eq!((result.name(), result.arguments()), ("q_f32_to_bfloat16", &[Type::F32][..]));
/// // A cast from code to code.
/// let cast = functions.cast(&CastSpec::new(ElementType::DOUBLE, ElementType::FLOAT16))?;
/// assert_eq!((cast.name(), cast.arguments()), ("q_double_to_float16", &[Type::Vec2U32][..]));
///
/// let module = format!("{}
///     @group(0) @binding(0) var<storage, read_write> words: array<u32>;
///     @compute @workgroup_size(64)
///     fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
///         let x = q_float8e4m3fn_to_f32x4(words[id.x]);
///         words[id.x] = q_f32_to_bfloat16(dot(x, vec4<f32>(0.25)));
///     }}", functions.wgsl());
/// # assert!(naga::front::wgsl::parse_str(&module).is_ok());
/// # Ok::<(), wgpu_cast::Error>(())
/// ```
///
/// The bits of an argument above the code's width must be 0; those of a result are 0. A 64-bit code is two words, the
/// low word first. The codes of a cast are those of [`cpu::cast`](crate::cpu::cast), on every device.
///
/// # Values
/// Values are `f32`, or `f16` after [`with_values`](Self::with_values).
///
/// `f32` holds every value of FLOAT and of the types of at most 16 bits, and the functions give exactly these bits.
/// Wider integers and DOUBLE are rounded once, to nearest.
///
/// What a kernel then computes with the values follows the rules of WGSL. They let drivers treat subnormals as zero,
/// ignore the sign of zero, and assume that there are no infinities and NaNs. Some values of FLOAT, BFLOAT16 and
/// DOUBLE, and code 0 of FLOAT8E8M0, are subnormals of `f32`; the subnormals of the other types are normal numbers of
/// `f32`. If such a value must survive, work on codes: [`cast`](Self::cast) gives FLOAT's code without any float
/// operation. An encoding gives the code of the `f32` that it gets, which a driver may have changed to zero before.
#[derive(Clone, Debug)]
pub struct Functions {
    pub(super) prefix: String,
    pub(super) values: ValueType,
    text: String,
    fragments: Fragments,
    list: Vec<Function>,
    /// The caller's arrays that functions use, by name.
    arrays: Vec<(String, Elements)>,
    /// The functions of arrays, with the names of the arrays.
    of_arrays: Vec<[String; 2]>,
}

impl Functions {
    /// An empty set of functions. Every name will be the prefix, an underscore and a further part.
    ///
    /// # Errors
    /// [`Error::WgslName`] unless the prefix consists of ASCII letters, digits and underscores, starts neither with a
    /// digit nor with two underscores, and does not end with an underscore.
    pub fn new(prefix: &str) -> Result<Self, Error> {
        names::check_prefix(prefix)?;
        let text = format!("// Functions of wgpu-cast under the prefix {prefix}\n");
        Ok(Self {
            prefix: prefix.to_owned(),
            values: ValueType::F32,
            text,
            fragments: Fragments::default(),
            list: Vec::new(),
            arrays: Vec::new(),
            of_arrays: Vec::new(),
        })
    }

    /// Sets the type of values. Functions that are asked for from now on decode to this type and encode from it. At
    /// first it is [`ValueType::F32`].
    ///
    /// With [`ValueType::F16`], names and types have `f16` where the documentation of a method says `f32`, and your
    /// module must begin with `enable f16;`. naga supports this since version 25, that of wgpu 25.
    ///
    /// `f16` holds every number of FLOAT16, of the FLOAT8 types but FLOAT8E8M0, of FLOAT6, FLOAT4 and BOOL, and of
    /// integers of at most 8 bits. Values of the other types are rounded once, by the cast to FLOAT16, which uses
    /// integers only. Normal numbers and 0 are then exact on every device.
    ///
    /// No version of naga makes an `f16` from its bits. So the function makes an `f32` with exactly this value and
    /// converts it to `f16` at the end. In this conversion, as in what your kernel computes, WGSL leaves it to the
    /// driver how to treat ∞, NaN, the sign of 0 and subnormals of `f16`. FLOAT16, FLOAT8E5M2, FLOAT8E5M2FNUZ and the
    /// types that are rounded have such subnormals. A driver that does not use this freedom gives the bits of the cast
    /// to FLOAT16.
    ///
    /// An encoding gives the code of the `f32` with the value of the `f16`.
    ///
    /// ```
    /// use wgpu_cast::ElementType;
    /// use wgpu_cast::wgsl::{Functions, Type, ValueType};
    ///
    /// let mut functions = Functions::new("q")?.with_values(ValueType::F16);
    /// let weights = functions.decode_word(ElementType::FLOAT8E4M3FN)?;
    /// assert_eq!((weights.name(), weights.result()), ("q_float8e4m3fn_to_f16x4", Some(Type::Vec4F16)));
    /// let module = format!("enable f16;\n{}", functions.wgsl());
    /// # assert!(naga::front::wgsl::parse_str(&module).is_ok());
    /// # Ok::<(), wgpu_cast::Error>(())
    /// ```
    pub fn with_values(self, values: ValueType) -> Self {
        Self { values, ..self }
    }

    /// The text of all functions that were asked for.
    pub fn wgsl(&self) -> &str {
        &self.text
    }

    /// The functions that were asked for, in that order. Functions that they call come before them.
    pub fn list(&self) -> &[Function] {
        &self.list
    }

    /// `{from}_to_{to}(code) -> code`, such as `float_to_float16`: the cast of one element.
    ///
    /// The name also has each option that is not the default and makes a difference for the pair:
    /// `float_to_float8e4m3fn_unsaturated`, `_round_down`, `_round_nearest`, `_clamp`, `_nan_max`.
    ///
    /// # Errors
    /// [`CastFault::NoKernel`](crate::CastFault::NoKernel) where [`has_kernel`](crate::has_kernel) is false.
    pub fn cast(&mut self, spec: &CastSpec) -> Result<Function, Error> {
        let (from, to) = (spec.from, spec.to);
        let conversion = Conversion::new(from, to, &spec.options)?;
        let name = self.name(&format!("{from}_to_{to}{}", suffix(spec)?));
        let steps = compose::functions(&conversion);
        let steps: Vec<_> = steps.into_iter().flatten().collect();
        let mut value = "code".to_owned();
        for (fragment, function) in &steps {
            value = format!("{}({value})", Fragments::name(fragment, function, &self.prefix, &name));
        }
        let bits = to.code_bits();
        if bits < 32 && matches!(conversion.encode, Encode::Int(_)) {
            value = format!("{value} & {:#x}u", (1u32 << bits) - 1);
        }
        let fragments: Vec<_> = steps.iter().map(|(fragment, _)| *fragment).collect();
        self.fragments(&fragments, &conversion, &name);
        Ok(self.write(name, &[("code", Type::code(from))], Some(Type::code(to)), &format!("return {value};")))
    }

    /// A name under the prefix.
    pub(super) fn name(&self, rest: &str) -> String {
        format!("{}_{rest}", self.prefix)
    }

    /// The function of this name, if it is written already.
    pub(super) fn find(&self, name: &str) -> Option<Function> {
        self.list.iter().find(|function| function.name == name).cloned()
    }

    /// Records that functions of these names are those of an array of a name and of elements. After an error nothing is recorded.
    /// The names of two arrays can make one name of two functions: `load` of `as_f32_a`, and `load_value` of `a`.
    ///
    /// # Errors
    /// [`Error::WgslName`] if an earlier function uses the name for an array of other elements, or if an earlier function of
    /// another array has one of the names.
    pub(super) fn note_functions(&mut self, names: &[&str], array: (&str, Elements)) -> Result<(), Error> {
        let (variable, elements) = array;
        let other_elements = self.arrays.iter().any(|(known, other)| known == variable && *other != elements);
        let other_array = |name: &&str| self.of_arrays.iter().any(|[known, of]| known == name && of != variable);
        if other_elements || names.iter().any(other_array) {
            return Err(Error::WgslName { name: variable.to_owned(), taken: true });
        }
        if !self.arrays.iter().any(|(known, _)| known == variable) {
            self.arrays.push((variable.to_owned(), elements));
        }
        for name in names {
            if !self.of_arrays.iter().any(|[known, _]| known == name) {
                self.of_arrays.push([(*name).to_owned(), variable.to_owned()]);
            }
        }
        Ok(())
    }

    /// Writes fragments for a conversion under a name, unless they are written already.
    pub(super) fn fragments(&mut self, fragments: &[&str], conversion: &Conversion, name: &str) {
        let text = self.fragments.write(fragments, conversion, &self.prefix, name);
        self.text.push_str(&text);
    }

    /// Writes a function, unless it is written already. Its lines may call only functions that are.
    pub(super) fn write(
        &mut self,
        name: String,
        arguments: &[(&str, Type)],
        result: Option<Type>,
        body: &str,
    ) -> Function {
        if let Some(function) = self.find(&name) {
            return function;
        }
        let list: Vec<_> = arguments.iter().map(|(name, kind)| format!("{name}: {kind}")).collect();
        let gives = result.map_or(String::new(), |kind| format!(" -> {kind}"));
        self.line(&format!("\nfn {name}({}){gives} {{", list.join(", ")));
        body.lines().for_each(|line| self.line(&format!("    {line}")));
        self.line("}");
        let function = Function { name, arguments: arguments.iter().map(|(_, kind)| *kind).collect(), result };
        self.list.push(function.clone());
        function
    }

    /// Writes a line in the module's scope.
    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
}

/// The part of a name that tells the options which make a difference and are not the default.
pub(super) fn suffix(spec: &CastSpec) -> Result<String, Error> {
    let CastSpec { from, to, options } = *spec;
    let default = CastOptions::default();
    let conversion = Conversion::new(from, to, &options)?;
    let mut suffix = String::new();
    let others = [
        (options.with_saturate(default.saturate), "_unsaturated".to_owned()),
        (options.with_round_mode(default.round_mode), format!("_round_{}", options.round_mode)),
        (options.with_int4_overflow(default.int4_overflow), "_clamp".to_owned()),
        (options.with_float4_nan(default.float4_nan), "_nan_max".to_owned()),
    ];
    for (other, name) in others {
        if Conversion::new(from, to, &other)? != conversion {
            suffix.push_str(&name);
        }
    }
    Ok(suffix)
}
