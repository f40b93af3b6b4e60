//! Tests of recipes: they are those of the committed table, and they suit the conversion.

pub(super) mod words;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod x86;

use std::collections::BTreeMap;
use std::fmt::Write;

use super::*;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use crate::bits::reference::EncodeFloat;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use crate::cpu::recipe::avx2::Avx2Recipe;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use crate::cpu::recipe::{SharedRecipe, kinds::SourceKind};
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use crate::types::conversion::Encode;
use words::{InWords, Words};

/// The committed table. If it differs, the test below prints the right one.
const TABLE: &str = include_str!("recipes.txt");

/// The instruction sets that have recipes on this target: those of other processors are not compiled.
const ISAS: &[(IsaName, &str)] = &[
    (IsaName::Portable, "portable"),
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    (IsaName::Avx2, "AVX2"),
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    (IsaName::Avx512, "AVX-512"),
];

/// The recipe of a conversion in words, whether or not this processor has the instruction set.
pub(super) fn words(conversion: &Conversion, isa: IsaName) -> Words {
    match isa {
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        IsaName::Avx2 => X86V3::recipe(conversion).words(),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        IsaName::Avx512 => X86V4::recipe(conversion).words(),
        #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
        IsaName::Avx2 | IsaName::Avx512 => Baseline::recipe(conversion).words(),
        IsaName::Portable => Baseline::recipe(conversion).words(),
    }
}

fn default(from: ElementType, to: ElementType) -> Conversion {
    Conversion::new(from, to, &CastOptions::default()).unwrap()
}

/// The table of this target's instruction sets.
fn table() -> String {
    let mut texts = BTreeMap::new();
    let mut grids = String::new();
    for &(isa, name) in ISAS {
        // The name of each column has its own line, with a rule down to the column.
        writeln!(grids, "\n{name}").unwrap();
        for (column, to) in numeric().enumerate() {
            writeln!(grids, "{:16}{}┌ {to}", "", "│ ".repeat(column)).unwrap();
        }
        for from in numeric() {
            let keys = numeric().map(|to| {
                let Words { key, text, file, .. } = words(&default(from, to), isa);
                let known = texts.entry(key).or_insert((text, file));
                assert_eq!(*known, (text, file), "one key has one text");
                key.to_string()
            });
            writeln!(grids, "{:16}{}", from.name(), keys.collect::<Vec<_>>().join(" ")).unwrap();
        }
    }
    let mut table = "\
The loop of each pair of numeric types, from rows to columns, by instruction set, with default options: the recipe in words, and its
file in src/cpu. `tests/recipe.sh FROM TO` prints what a pair's recipe was made with.

lanes: a source decodes a group of elements, a sink makes codes of them. element: a function of one element, whose loop the compiler
vectorises. table: every source code is converted once, and looked up.

"
    .to_owned();
    for (key, (text, file)) in texts {
        writeln!(table, "{key}  {text:72}{file}").unwrap();
    }
    table + &grids
}

/// Other targets have some of the instruction sets only.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
#[test]
fn recipes_are_those_of_the_table() {
    let table = table();
    assert!(table == TABLE, "recipes.txt differs from what the code says now:\n{table}");
}

/// The grid of portable code is that of the committed table on every target.
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
#[test]
fn recipes_are_those_of_the_table() {
    let (_, grid) = (table().split_once("\nportable\n").map(|(legend, grid)| (legend.len(), grid.to_owned()))).unwrap();
    assert!(TABLE.contains(&format!("\nportable\n{grid}")), "recipes.txt differs from what the code says now:\n{grid}");
}

/// A pair's recipe on each instruction set.
fn recipe(conversion: &Conversion) -> String {
    let mut text = format!("{} to {}\n", conversion.from, conversion.to);
    for &(isa, name) in ISAS {
        let Words { key, text: does, file, parameters } = words(conversion, isa);
        writeln!(text, "{name:10}{key}  {does} (src/cpu/{file})").unwrap();
        if !parameters.is_empty() {
            writeln!(text, "{:13}{parameters}", "").unwrap();
        }
    }
    text
}

/// `tests/recipe.sh` names the two types of a pair in the environment, and this test prints the pair's recipe.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
#[test]
fn a_pair_is_printed_with_what_its_recipe_was_made_with() {
    if let Some(pair) = std::env::var_os("WGPU_CAST_RECIPE") {
        let pair = pair.into_string().unwrap();
        let (from, to) = pair.split_once(' ').expect("two types");
        println!("{}", recipe(&default(from.parse().unwrap(), to.parse().unwrap())));
    }
    assert_eq!(
        recipe(&default(ElementType::UINT8, ElementType::INT4)),
        "\
uint8 to int4
portable  p  element: low bits of an integer, packed afterwards (src/cpu/recipe/elements.rs)
             LowBits { from: Bits8, to: Bits4 }
AVX2      B  lanes of 16 bits: low bits of an integer (src/cpu/sink/low_bits.rs)
             LowBitsOfInt8(Bits4)
AVX-512   B  lanes of 16 bits: low bits of an integer (src/cpu/sink/low_bits.rs)
             LowBitsOfInt8(Bits4)
"
    );
    assert_eq!(
        recipe(&default(ElementType::FLOAT8E4M3FN, ElementType::INT64)),
        "\
float8e4m3fn to int64
portable  M  table in memory: destination codes, by source bytes (src/cpu/table/memory.rs)
AVX2      n  tables in AVX2's registers: numbers, which are converted (src/cpu/table/shuffle.rs)
             From8(Int64)
AVX-512   m  table in AVX-512's registers: numbers, which are converted (src/cpu/table/register.rs)
             Numbers(Bits8, Int64)
"
    );
}

/// Loops are compiled for some sign rules of each width. A destination with another rule is cast by the reference, not
/// by a loop that makes wrong signs.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
#[test]
fn destinations_with_other_signs_go_by_the_reference() {
    use ElementType::*;

    let keeps_no_sign = |to: EncodeFloat| EncodeFloat { nan_keep: 0, nan_flip: 0, ..to };
    let has_no_negative_zero = |to: EncodeFloat| EncodeFloat { fnuz: true, ..to };
    let others: [(ElementType, &dyn Fn(EncodeFloat) -> EncodeFloat); 6] = [
        (FLOAT8E4M3FN, &keeps_no_sign),
        (FLOAT16, &keeps_no_sign),
        (BFLOAT16, &keeps_no_sign),
        (FLOAT16, &has_no_negative_zero),
        (FLOAT6E3M2, &has_no_negative_zero),
        (FLOAT4E2M1, &has_no_negative_zero),
    ];
    for (to, other) in others {
        let Encode::Float(rounded) = default(DOUBLE, to).encode else { panic!("{to} is a float") };
        let encode = Encode::Float(other(rounded));
        for from in [FLOAT16, BFLOAT16, FLOAT, DOUBLE] {
            for &(isa, name) in ISAS {
                let conversion = Conversion { encode, ..default(from, to) };
                assert_eq!(words(&conversion, isa).key, REFERENCE, "{from} to {to}, {encode:?}, {name}");
            }
        }
    }
}

/// Shuffle tables hold 16 bits for each source code: bits of the destination code, or of a float's number in binary32.
/// Instructions convert such numbers to DOUBLE and to 32-bit integers, and to 64-bit integers if the numbers are less
/// than 2³¹.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
#[test]
fn shuffle_tables_are_chosen_where_16_bits_say_all() {
    for (from, to) in numeric().flat_map(|from| numeric().map(move |to| (from, to))) {
        for options in variants(to) {
            let conversion = Conversion::new(from, to, &options).unwrap();
            let is_shuffle = match X86V3::recipe(&conversion) {
                Avx2Recipe::ShuffleTable(_) => true,
                Avx2Recipe::Vector(VectorRecipe::Shared(SharedRecipe::MemoryTable(_))) => false,
                _ => continue,
            };
            let codes = codes(from);
            let tensor = Tensor::from_codes(from, [codes.len()], codes).unwrap();
            let bytes = through(&Reference(conversion), &tensor, to);
            let results = Tensor::from_bytes(to, [tensor.len()], bytes).unwrap();
            let fits = |says: fn(u64) -> bool| results.codes().all(says);
            let is_float = matches!(SourceKind::new(from), SourceKind::ShortFloat(_));
            let fits = match to.code_bits() {
                ..=16 => true,
                32 => {
                    let by_code =
                        fits(|code| code & 0xffff == 0) || fits(|code| code == i32::from(code as i16) as u32 as u64);
                    is_float || by_code
                }
                _ if to == ElementType::DOUBLE => is_float,
                _ => is_float && fits(|code| code == 1 << 63 || i32::try_from(code as i64).is_ok()),
            };
            assert_eq!(is_shuffle, fits, "{from} to {to}, {options:?}");
        }
    }
}
