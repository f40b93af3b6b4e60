//! Functions in WGSL for kernels of JavaScript's own.

use wasm_bindgen::prelude::*;
use wgpu_cast::wgsl::{self, Array, Function, Table, ValueType};
use wgpu_cast::{ElementType, Error};

use crate::{error, numbered, options, spec};

/// Functions under one prefix.
#[wasm_bindgen]
pub struct Functions(wgsl::Functions);

#[wasm_bindgen]
impl Functions {
    /// `half`: whether values are `f16` instead of `f32`.
    #[wasm_bindgen(constructor)]
    pub fn new(prefix: &str, half: bool) -> Result<Functions, JsValue> {
        let functions = wgsl::Functions::new(prefix).map_err(|e| error::of(&e))?;
        Ok(Self(functions.with_values(if half { ValueType::F16 } else { ValueType::F32 })))
    }

    /// The text of all functions.
    #[wasm_bindgen(getter)]
    pub fn wgsl(&self) -> String {
        self.0.wgsl().to_owned()
    }

    /// All functions, one a line.
    #[wasm_bindgen(getter)]
    pub fn list(&self) -> String {
        self.0.list().iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Writes the function of a method with one type and options. The method is its number in `METHODS` of
    /// `npm/functions.js`. `array` is a variable of the caller, which holds vectors if `vectors` is true; methods without
    /// an array ignore both. Returns a line.
    pub fn write(
        &mut self,
        method: u8,
        element_type: u8,
        option_bits: u8,
        array: &str,
        vectors: bool,
    ) -> Result<String, JsValue> {
        let variable = if vectors { Array::of_vectors(array) } else { Array::from(array) };
        let written = self.call(method, numbered(element_type), option_bits, array, variable);
        written.map(|function| line(&function)).map_err(|e| error::of(&e))
    }

    /// The cast of one element. Returns a line.
    pub fn cast(&mut self, cast: u32) -> Result<String, JsValue> {
        self.0.cast(&spec(cast)).map(|function| line(&function)).map_err(|e| error::of(&e))
    }

    /// The table of a cast. Returns its variable, its bytes, and the lines of its functions.
    #[wasm_bindgen(js_name = castTable)]
    pub fn cast_table(&mut self, cast: u32) -> Result<String, JsValue> {
        self.0.cast_table(&spec(cast)).map(|table| of_table(&table)).map_err(|e| error::of(&e))
    }

    /// The table of values. Returns its variable, its bytes, and the lines of its functions.
    #[wasm_bindgen(js_name = decodeTable)]
    pub fn decode_table(&mut self, from: u8) -> Result<String, JsValue> {
        self.0.decode_table(numbered(from)).map(|table| of_table(&table)).map_err(|e| error::of(&e))
    }
}

impl Functions {
    fn call(
        &mut self,
        method: u8,
        element_type: ElementType,
        option_bits: u8,
        array: &str,
        variable: Array<'_>,
    ) -> Result<Function, Error> {
        let (functions, options) = (&mut self.0, options(option_bits));
        match method {
            0 => functions.decode(element_type),
            1 => functions.decode_four(element_type),
            2 => functions.decode_word(element_type),
            3 => functions.decode_vector(element_type),
            4 => functions.encode(element_type, &options),
            5 => functions.encode_four(element_type, &options),
            6 => functions.encode_word(element_type, &options),
            7 => functions.encode_vector(element_type, &options),
            8 => functions.lane(element_type),
            9 => functions.with_lane(element_type),
            10 => functions.load(element_type, variable),
            11 => functions.load_value(element_type, variable),
            12 => functions.store(element_type, variable),
            13 => functions.store_atomic(element_type, array),
            _ => functions.store_value(element_type, &options, variable),
        }
    }
}

/// The name, the type of the result (empty if there is none) and those of the arguments.
fn line(function: &Function) -> String {
    let types = [function.result().map_or("", |result| result.wgsl())];
    let types = types.into_iter().chain(function.arguments().iter().map(|argument| argument.wgsl()));
    std::iter::once(function.name()).chain(types).collect::<Vec<_>>().join("\t")
}

fn of_table(table: &Table) -> String {
    let functions = [Some(&table.fill), Some(&table.look_up), table.look_up_word.as_ref()];
    let lines = functions.into_iter().flatten().map(line);
    let lines: Vec<_> = [table.variable.clone(), table.bytes.to_string()].into_iter().chain(lines).collect();
    lines.join("\n")
}
