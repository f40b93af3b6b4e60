//! The kernels of strided views.
//!
//! The destination is stored in *cells*: words, or elements of whole words. An invocation of the strided kernel stores
//! one cell. An invocation of the rows kernel stores a *window*: several cells of one row, unrolled. The elements of
//! such a row follow one another on both sides. The gathered kernel also stores windows, but its elements lie anywhere
//! in the source. The ends kernel then stores the cells before and after the windows, one per invocation. The
//! transposed kernel stores rows whose elements lie next to those of other rows in the source. On GPUs it moves them
//! through workgroup memory, on software adapters in small blocks.

use super::compose::Module;
use super::entry::{Entry, vector_of, word_of};
use super::{Access, BLOCKS_SIZE, CodeLookup, Composed, KernelKind, VIEW_SIZE};
use crate::types::conversion::Conversion;

/// How the rows kernel and the gathered kernel divide a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub elements: u32,
    /// Words of a window in the destination, and words that one store writes.
    pub words: u32,
    pub vector: u32,
    /// Words that one load reads from the source.
    pub source_vector: u32,
    /// The kernel may load the bits of this many elements after a window. It does so if windows do not start at whole
    /// vectors of the source.
    pub tail: u32,
}

impl Window {
    pub(crate) fn new(conversion: &Conversion, access: Access, lookup: CodeLookup) -> Self {
        let (source, destination) = (conversion.from.code_bits(), conversion.to.code_bits());
        let wider = source.max(destination);
        // Software adapters spend much of their time on finding the place of a window, so they gain from long windows.
        let most = if lookup == CodeLookup::Computed { (512 / wider).min(16) } else { 0 };
        // A window has whole words. 16 codes of 6 bits fill three words.
        let least = if source == 6 || destination == 6 { 16 } else { 32 / destination };
        let elements = most.max(128 / wider).next_power_of_two().max(least);
        let words = elements * destination / 32;
        let widest = |words: u32| match (access, words % 4, words % 2) {
            (Access::Shared, ..) => 1,
            (_, 0, _) => 4,
            (_, _, 0) => 2,
            _ => 1,
        };
        let source_vector = if elements * source % 128 == 0 { widest(4) } else { 1 };
        let tail = if source_vector == 4 { 128u32.div_ceil(source) } else { 0 };
        Self { elements, words, vector: widest(words), source_vector, tail }
    }

    /// Cells in a window.
    pub(crate) fn cells(&self, conversion: &Conversion) -> u32 {
        self.words * 32 / conversion.to.code_bits().max(32)
    }
}

/// How the transposed kernel divides rows that lie next to each other in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// The elements of a row, and the number of rows, that a workgroup converts.
    pub row: u32,
    pub columns: u32,
    /// Invocations in a workgroup.
    pub size: u32,
    /// With vectors, an invocation loads and stores a block of `BLOCK` by `BLOCK` elements, and dispatches consist of
    /// whole blocks. `None`: a tile in workgroup memory, which need not be full.
    pub vectors: Option<Vectors>,
}

/// The words of a load and of a store, and the multiples of elements at which vectors start. A vector has the words of
/// `BLOCK` elements, four at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Vectors {
    source: u32,
    destination: u32,
    pub source_alignment: u32,
    pub destination_alignment: u32,
}

/// The elements of a row, and the number of rows, that an invocation converts without workgroup memory.
pub(crate) const BLOCK: u32 = 4;
/// A workgroup without workgroup memory converts a square of blocks. This is the number of blocks along each side.
const SQUARE: u32 = 8;
const _: () = assert!(SQUARE * SQUARE == VIEW_SIZE);

impl Block {
    /// `None` for conversions whose transposed views take other kernels.
    pub(crate) fn new(conversion: &Conversion, access: Access, lookup: CodeLookup) -> Option<Self> {
        let (source, destination) = (conversion.from.code_bits(), conversion.to.code_bits());
        if lookup == CodeLookup::Table {
            // A tile's rows are at least 32 bytes of the destination, as far as 16 KiB of workgroup memory have room
            // for them.
            let row = if destination > 8 { 32 } else { 64 };
            // Tiles store whole codes into words, but codes of 6 bits lie across words.
            return (destination != 6).then_some(Self { row, columns: 32, size: BLOCKS_SIZE, vectors: None });
        }
        if source < 8 || destination < 8 {
            return None;
        }
        let words = |bits: u32| (BLOCK * bits / 32).min(4);
        let vector = |bits| if access == Access::Shared { 1 } else { words(bits) };
        let vectors = Vectors {
            source: vector(source),
            destination: vector(destination),
            source_alignment: words(source) * 32 / source,
            destination_alignment: words(destination) * 32 / destination,
        };
        Some(Self { row: SQUARE * BLOCK, columns: SQUARE * BLOCK, size: VIEW_SIZE, vectors: Some(vectors) })
    }
}

/// A kernel of a view.
pub(super) fn view(conversion: &Conversion, kind: KernelKind, access: Access, lookup: CodeLookup) -> Composed {
    let bits = conversion.to.code_bits();
    let window = Window::new(conversion, access, lookup);
    let block = Block::new(conversion, access, lookup).filter(|_| kind == KernelKind::Transposed);
    let (size, elements) = match (kind, &block) {
        (_, Some(block)) => (block.size, block.row * block.columns / block.size),
        (KernelKind::Rows | KernelKind::Gathered, _) => (VIEW_SIZE, window.elements),
        // The most codes that touch one word. Of 6-bit codes these are five whole ones and two parts.
        _ if bits == 6 => (VIEW_SIZE, 7),
        _ => (VIEW_SIZE, (32 / bits).max(1)),
    };
    let mut module = Module::new(conversion, size, elements);
    let (step, cell) = if bits < 32 { (bits, 32) } else { (1, 1) };
    module.number("DST_STEP", step);
    module.number("DST_CELL", cell);
    match (kind, &block) {
        (_, Some(block @ Block { vectors: Some(vectors), .. })) => {
            blocks(conversion, access, block, vectors, &mut module);
        }
        (_, Some(block)) => tiles(conversion, access, block, &mut module),
        (KernelKind::Rows, _) => windows(conversion, access, &window, &mut module),
        (KernelKind::Gathered, _) => gathered(conversion, access, &window, &mut module),
        (KernelKind::Ends, _) => {
            module.number("WINDOW_CELLS", window.cells(conversion));
            cells(conversion, access, &mut module);
            module.need("entry/view_ends");
        }
        _ => {
            cells(conversion, access, &mut module);
            let software = lookup == CodeLookup::Computed;
            module.need(if software { "entry/view_all_axes" } else { "entry/view_rows" });
            module.need("entry/view_cells");
        }
    }
    module.finish(size, elements)
}

/// Adds `fn store_cell` and everything that it needs.
fn cells(conversion: &Conversion, access: Access, module: &mut Module) {
    module.bindings(access, 1, 1);
    loads(conversion, module);
    let store: &[&str] = match conversion.to.code_bits() {
        64 => &["entry/store_pair", "entry/view_words"],
        32 => &["entry/store_word", "entry/view_words"],
        _ => &["entry/view_lanes"],
    };
    store.iter().for_each(|fragment| module.need(fragment));
}

/// Adds `fn load_code` and `fn convert`.
fn loads(conversion: &Conversion, module: &mut Module) {
    module.conversion(conversion);
    module.need(if conversion.from.code_bits() == 64 { "entry/view_pair" } else { "entry/view_word" });
}

fn gathered(conversion: &Conversion, access: Access, window: &Window, module: &mut Module) {
    module.number("WINDOW_CELLS", window.cells(conversion));
    module.bindings(access, 1, window.vector);
    loads(conversion, module);
    module.need("entry/view_windows");
    module.line("");
    module.line("fn store_window(position: u32, window: u32) {");
    for i in 0..window.elements {
        module.line(&format!("    let d{i} = convert(load_code(position + {i}u * params.source_step));"));
    }
    let codes: Vec<_> = (0..window.elements).map(|i| format!("d{i}")).collect();
    let (words, vector) = (window.words, window.vector);
    module.line(&format!("    let start = (params.destination_word + window * {words}u) / {vector}u;"));
    for line in stores("start", vector, &packed(&codes, conversion.to.code_bits())) {
        module.line(&line);
    }
    module.line("}");
}

/// Packs codes into words, one after the other from the start of a word.
fn packed(codes: &[String], bits: u32) -> Vec<String> {
    let mut words = vec![Vec::new(); (codes.len() as u32 * bits).div_ceil(32) as usize];
    for (i, code) in codes.iter().enumerate() {
        let bit = i as u32 * bits;
        let (word, shift) = ((bit / 32) as usize, bit % 32);
        match bits {
            64 => {
                words[word].push(format!("{code}.x"));
                words[word + 1].push(format!("{code}.y"));
            }
            32 => words[word].push(code.clone()),
            _ => {
                let masked = format!("({code} & {:#x}u)", (1u32 << bits) - 1);
                words[word].push(format!("({masked} << {shift}u)"));
                if shift + bits > 32 {
                    words[word + 1].push(format!("({masked} >> {}u)", 32 - shift));
                }
            }
        }
    }
    words.into_iter().map(|fields| fields.join(" | ")).collect()
}

/// The lines that store words as vectors, from an index on.
fn stores(start: &str, vector: u32, words: &[String]) -> Vec<String> {
    let line = |(k, part): (usize, &[String])| format!("    store_destination({start} + {k}u, {});", vector_of(part));
    words.chunks(vector as usize).enumerate().map(line).collect()
}

fn windows(conversion: &Conversion, access: Access, window: &Window, module: &mut Module) {
    module.number("WINDOW_CELLS", window.cells(conversion));
    module.bindings(access, window.source_vector, window.vector);
    if !conversion.is_copy() {
        module.conversion(conversion);
    }
    module.need("entry/view_windows");
    module.line("");
    module.line(Entry::window(conversion, window).window_text(window.source_vector).trim_end());
}

fn tiles(conversion: &Conversion, access: Access, block: &Block, module: &mut Module) {
    let bits = conversion.to.code_bits();
    let before = if bits < 32 { 32 / bits - 1 } else { 0 };
    module.number("BLOCK_COLUMNS", block.columns);
    module.number("TILE_ROW", block.row);
    module.number("TILE_BEFORE", before);
    // One column more than a tile has. The codes of a column then lie in different banks of the memory.
    module.number("TILE_PITCH", block.columns + 1);
    module.alias("DestinationCode", if bits == 64 { 2 } else { 1 });
    cells(conversion, access, module);
    module.need(if bits < 32 { "entry/view_tile_lanes" } else { "entry/view_tile_words" });
}

fn blocks(conversion: &Conversion, access: Access, block: &Block, vectors: &Vectors, module: &mut Module) {
    module.number("BLOCK_COLUMNS", block.columns);
    module.number("BLOCK", BLOCK);
    module.number("SQUARE", SQUARE);
    module.bindings(access, vectors.source, vectors.destination);
    if !conversion.is_copy() {
        module.conversion(conversion);
    }
    module.need("entry/view_blocks");
    module.line("");
    module.line(store_block(conversion, vectors).trim_end());
}

/// `fn store_block`, which converts the block at a position of the source: rows of the source become columns.
fn store_block(conversion: &Conversion, vectors: &Vectors) -> String {
    let (source, destination) = (conversion.from.code_bits(), conversion.to.code_bits());
    let mut lines = vec![String::from("fn store_block(position: u32, place: u32) {")];
    let words = |bits: u32| BLOCK * bits / 32;
    let start = |place: String, bits: u32| match bits {
        64 => format!("2u * ({place})"),
        32 => place,
        _ => format!("(({place}) / {}u)", 32 / bits),
    };
    for i in 0..BLOCK {
        let position = format!("position + {i}u * params.source_step + params.source_bit / {source}u");
        let from = start(position, source);
        lines.push(format!("    let from_{i} = (params.source_word + {from}) / {}u;", vectors.source));
        for k in 0..words(source) / vectors.source {
            lines.push(format!("    let s{i}_{k} = load_source(from_{i} + {k}u);"));
        }
    }
    let code = |i: u32, j: u32| {
        let bit = j * source;
        let at = |index| word_of(&format!("s{i}"), vectors.source, index);
        match source {
            64 => format!("vec2<u32>({}, {})", at(2 * j), at(2 * j + 1)),
            32 => at(j),
            _ => format!("(({} >> {}u) & {:#x}u)", at(bit / 32), bit % 32, (1u32 << source) - 1),
        }
    };
    for j in 0..BLOCK {
        let mut codes = Vec::new();
        for i in 0..BLOCK {
            let code = code(i, j);
            let value = if conversion.is_copy() { code } else { format!("convert({code})") };
            lines.push(format!("    let d{j}_{i} = {value};"));
            codes.push(format!("d{j}_{i}"));
        }
        let place = format!("place + {j}u * params.column_step * DST_STEP");
        let to = if destination < 32 { format!("({place}) / 32u") } else { start(place, destination) };
        lines.push(format!("    let to_{j} = (params.destination_word + {to}) / {}u;", vectors.destination));
        lines.extend(stores(&format!("to_{j}"), vectors.destination, &packed(&codes, destination)));
    }
    lines.push(String::from("}"));
    lines.join("\n")
}
