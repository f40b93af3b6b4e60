//! Tests of recipes: they are those of the committed table, and they suit the conversion.

#[cfg(all(feature = "cpu-simd", target_arch = "aarch64"))]
mod neon;
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
mod own;
pub(super) mod words;
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
mod x86;

use std::collections::BTreeMap;
use std::fmt::Write;

use super::*;
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
use crate::bits::reference::EncodeFloat;
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
use crate::cpu::recipe::avx2::Avx2Recipe;
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
use crate::cpu::recipe::{SharedRecipe, kinds::SourceKind};
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
use crate::types::conversion::Encode;
use words::{InWords, Words};

/// The committed table. If it differs, the test below prints the right one.
const TABLE: &str = include_str!("recipes.txt");

/// The instruction sets that have recipes on this target: those of other processors are not compiled.
const ISAS: &[(IsaName, &str)] = &[
    (IsaName::Portable, "portable"),
    #[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
    (IsaName::Avx2, "AVX2"),
    #[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
    (IsaName::Avx512, "AVX-512"),
    #[cfg(all(feature = "cpu-simd", target_arch = "aarch64"))]
    (IsaName::Neon, "NEON"),
];

/// The recipe of a cast in words, whether or not this processor has the instruction set. Instruction sets of other targets
/// have portable recipes.
pub(super) fn words(cast: &CodeCast, isa: IsaName) -> Words {
    match isa {
        #[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
        IsaName::Avx2 => X86V3::recipe(cast).words(),
        #[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
        IsaName::Avx512 => X86V4::recipe(cast).words(),
        #[cfg(all(feature = "cpu-simd", target_arch = "aarch64"))]
        IsaName::Neon => Neon::recipe(cast).words(),
        #[cfg(not(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64"))))]
        IsaName::Avx2 | IsaName::Avx512 => Baseline::recipe(cast).words(),
        #[cfg(not(all(feature = "cpu-simd", target_arch = "aarch64")))]
        IsaName::Neon => Baseline::recipe(cast).words(),
        IsaName::Portable => Baseline::recipe(cast).words(),
    }
}

fn default(from: ElementType, to: ElementType) -> Conversion {
    Conversion::new(from, to, &CastOptions::default()).unwrap()
}

/// A type, and the layout of its codes.
type Stored = (ElementType, CodeLayout);

/// What follows the name of a type with one code in each byte.
const PER_BYTE: &str = "/byte";

/// Every numeric type, and then those of fewer than 8 bits with one code in each byte.
fn stored() -> impl Iterator<Item = Stored> {
    let short = numeric().filter(|t| t.code_bits() < 8);
    numeric().map(|t| (t, CodeLayout::Packed)).chain(short.map(|t| (t, CodeLayout::OnePerByte)))
}

fn text_of((of, layout): Stored) -> String {
    match layout {
        CodeLayout::Packed => of.to_string(),
        CodeLayout::OnePerByte => format!("{of}{PER_BYTE}"),
    }
}

#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
fn named(name: &str) -> Stored {
    let short = name.strip_suffix(PER_BYTE).map(|name| (name, CodeLayout::OnePerByte));
    let (name, layout) = short.unwrap_or((name, CodeLayout::Packed));
    (name.parse().unwrap(), layout)
}

/// A cast with default options.
fn cast_of((from, from_layout): Stored, (to, to_layout): Stored) -> CodeCast {
    CodeCast::new(default(from, to), [from_layout, to_layout])
}

/// The table of some instruction sets.
fn table(isas: &[(IsaName, &str)]) -> String {
    let mut texts = BTreeMap::new();
    let mut grids = String::new();
    for &(isa, name) in isas {
        // The name of each column has its own line, with a rule down to the column.
        writeln!(grids, "\n{name}").unwrap();
        for (column, to) in stored().enumerate() {
            writeln!(grids, "{:16}{}┌ {}", "", "│ ".repeat(column), text_of(to)).unwrap();
        }
        for from in stored() {
            let keys = stored().map(|to| {
                let Words { key, text, file, .. } = words(&cast_of(from, to), isa);
                let known = texts.entry(key).or_insert((text, file));
                assert_eq!(*known, (text, file), "one key has one text");
                key.to_string()
            });
            writeln!(grids, "{:16}{}", text_of(from), keys.collect::<Vec<_>>().join(" ")).unwrap();
        }
    }
    let mut table = "\
The loop of each pair of numeric types, from rows to columns, by instruction set, with default options: the recipe in words, and its
file in src/cpu. `tests/recipe.sh FROM TO` prints what a pair's recipe was made with.

lanes: a source decodes a group of elements, a sink makes codes of them. element: a function of one element, whose loop the compiler
vectorises. table: every source code is converted once, and looked up. /byte: codes of this type lie one in each byte; others are packed.

"
    .to_owned();
    for (key, (text, file)) in texts {
        writeln!(table, "{key}  {text:72}{file}").unwrap();
    }
    table + &grids
}

/// Other targets have some of the instruction sets only.
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
#[test]
fn recipes_are_those_of_the_table() {
    let table = table(ISAS);
    assert!(table == TABLE, "recipes.txt differs from what the code says now:\n{table}");
}

/// The grid of portable code is that of the committed table on every target.
#[cfg(not(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64"))))]
#[test]
fn portable_recipes_are_those_of_the_table() {
    let table = table(&ISAS[..1]);
    let (_, grid) = table.split_once("\nportable\n").unwrap();
    assert!(TABLE.contains(&format!("\nportable\n{grid}")), "recipes.txt differs from what the code says now:\n{grid}");
}

/// NEON has a table of its own.
#[cfg(all(feature = "cpu-simd", target_arch = "aarch64"))]
#[test]
fn recipes_of_neon_are_those_of_the_table() {
    let table = table(&ISAS[1..]);
    assert!(
        table == include_str!("recipes_neon.txt"),
        "recipes_neon.txt differs from what the code says now:\n{table}"
    );
}

/// A cast's recipe on each instruction set.
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
fn recipe(from: Stored, to: Stored) -> String {
    let mut text = format!("{} to {}\n", text_of(from), text_of(to));
    let cast = &cast_of(from, to);
    for &(isa, name) in ISAS {
        let Words { key, text: does, file, parameters } = words(cast, isa);
        writeln!(text, "{name:10}{key}  {does} (src/cpu/{file})").unwrap();
        if !parameters.is_empty() {
            writeln!(text, "{:13}{parameters}", "").unwrap();
        }
    }
    text
}

/// `tests/recipe.sh` names the two types of a pair in the environment, and this test prints the pair's recipe.
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
#[test]
fn a_pair_is_printed_with_what_its_recipe_was_made_with() {
    if let Some(pair) = std::env::var_os("WGPU_CAST_RECIPE") {
        let pair = pair.into_string().unwrap();
        let (from, to) = pair.split_once(' ').expect("two types");
        println!("{}", recipe(named(from), named(to)));
    }
    assert_eq!(
        recipe(named("uint8"), named("int4")),
        "\
uint8 to int4
portable  c  packs the low bits of bytes (src/cpu/packed_loop.rs)
             Bits4
AVX2      B  lanes of 16 bits: low bits of an integer (src/cpu/sink/low_bits.rs)
             LowBitsOfInt8(Bits4)
AVX-512   B  lanes of 16 bits: low bits of an integer (src/cpu/sink/low_bits.rs)
             LowBitsOfInt8(Bits4)
"
    );
    assert_eq!(
        recipe(named("float8e4m3fn"), named("int64")),
        "\
float8e4m3fn to int64
portable  M  table in memory: destination codes, by source bytes (src/cpu/table/memory.rs)
AVX2      n  tables in AVX2's registers: numbers, which are converted (src/cpu/table/shuffle.rs)
             From8(Int64)
AVX-512   m  table in AVX-512's registers: numbers, which are converted (src/cpu/table/register.rs)
             Numbers(Bits8, Int64)
"
    );
    assert_eq!(
        recipe(named("float6e3m2/byte"), named("bfloat16")),
        "\
float6e3m2/byte to bfloat16
portable  M  table in memory: destination codes, by source bytes (src/cpu/table/memory.rs)
AVX2      s  tables in AVX2's registers: destination codes (src/cpu/table/shuffle.rs)
             FromBytesOf6(Bits16)
AVX-512   R  table in AVX-512's registers: destination codes (src/cpu/table/register.rs)
             Codes16(Byte)
"
    );
}

/// Loops are compiled for some sign rules of each width. A destination with another rule is cast by the reference, not
/// by a loop that makes wrong signs.
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
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
                assert_eq!(
                    words(&CodeCast::packed(conversion), isa).key,
                    REFERENCE,
                    "{from} to {to}, {encode:?}, {name}"
                );
            }
        }
    }
}

/// Shuffle tables hold 16 bits for each source code: bits of the destination code, or of a float's number in binary32.
/// Instructions convert such numbers to DOUBLE and to 32-bit integers, and to 64-bit integers if the numbers are less
/// than 2³¹.
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
#[test]
fn shuffle_tables_are_chosen_where_16_bits_say_all() {
    for (from, to) in numeric().flat_map(|from| numeric().map(move |to| (from, to))) {
        for options in variants(to) {
            let conversion = Conversion::new(from, to, &options).unwrap();
            let is_shuffle = match X86V3::recipe(&CodeCast::packed(conversion)) {
                Avx2Recipe::ShuffleTable(_) => true,
                Avx2Recipe::Vector(VectorRecipe::Shared(SharedRecipe::MemoryTable(_))) => false,
                _ => continue,
            };
            let codes = codes(from);
            let tensor = Tensor::from_codes(from, [codes.len()], codes).unwrap();
            let bytes = by_reference(&conversion, &tensor);
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
