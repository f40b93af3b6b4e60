//! Arrays of the caller's module.

/// An array in your module's scope, such as a storage buffer. It holds packed codes from its first bit on. A name given
/// as text means an `array<u32>`; [`of_vectors`](Self::of_vectors) means an `array<vec4<u32>>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Array<'a> {
    pub(super) name: &'a str,
    pub(super) elements: Elements,
}

/// What the elements of an array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Elements {
    Words,
    Vectors,
    AtomicWords,
}

impl<'a> Array<'a> {
    /// An `array<vec4<u32>>`. Kernels of matrix products often declare their weights like this.
    ///
    /// ```
    /// use wgpu_cast::ElementType;
    /// use wgpu_cast::wgsl::{Array, Functions};
    ///
    /// let mut functions = Functions::new("q")?;
    /// let one = functions.load_value(ElementType::FLOAT4E2M1, Array::of_vectors("weights"))?;
    /// assert_eq!(one.name(), "q_load_float4e2m1_as_f32_weights");
    /// // The 32 values of a vector.
    /// let all = functions.decode_vector(ElementType::FLOAT4E2M1)?;
    /// assert_eq!(all.name(), "q_float4e2m1_to_f32x32");
    /// let module = format!("{}
    ///     @group(0) @binding(0) var<storage> weights: array<vec4<u32>>;
    ///     @group(0) @binding(1) var<storage, read_write> sums: array<vec4<f32>>;
    ///     @compute @workgroup_size(64)
    ///     fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
    ///         let values = q_float4e2m1_to_f32x32(weights[id.x]);
    ///         sums[id.x] = values[0] + values[7] * q_load_float4e2m1_as_f32_weights(5u);
    ///     }}", functions.wgsl());
    /// # assert!(naga::front::wgsl::parse_str(&module).is_ok());
    /// # Ok::<(), wgpu_cast::Error>(())
    /// ```
    pub const fn of_vectors(name: &'a str) -> Self {
        Self { name, elements: Elements::Vectors }
    }

    /// The expression of the 32-bit word at `index`. `ARRAY` stands for the name.
    pub(super) fn word(self, index: &str) -> String {
        match self.elements {
            Elements::Words | Elements::AtomicWords => format!("ARRAY[{index}]"),
            Elements::Vectors => {
                let index = if index.contains(' ') { format!("({index})") } else { index.to_owned() };
                format!("ARRAY[{index} >> 2u][{index} & 3u]")
            }
        }
    }
}

impl<'a> From<&'a str> for Array<'a> {
    fn from(name: &'a str) -> Self {
        Self { name, elements: Elements::Words }
    }
}
