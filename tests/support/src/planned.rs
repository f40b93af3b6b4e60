//! Casts as plans, with the bytes of their buffers before and after, for programs that run plans by hand.

use std::fmt;

use wgpu_cast::{CastOptions, CastSpec, CodeLookup, ElementType, Placement, Plan, PlanSettings, Position, Tensor, cpu};

use crate::cases;
use crate::options::{options_text, pair_variants};
use crate::shapes::{Shape, places, put};

/// How source and destination lie in their buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// In two buffers, each tensor at a multiple of every alignment.
    Aligned,
    /// In two buffers, each tensor after an odd number of elements or of bytes.
    Odd,
    /// Parts of larger tensors in two buffers. Below 8 bits an element, they start and end inside bytes.
    Parts,
    /// In one buffer. The source is a part of a larger tensor, and the destination comes directly after it.
    OneBuffer,
    /// In one buffer, too far apart for one binding. Bindings are so small that long casts take several dispatches.
    FarApart,
    /// Long rows at a pitch.
    Rows,
    /// Rows of every second element.
    Gathered,
    /// The columns of a matrix.
    Transposed,
    /// Short rows at a pitch on both sides.
    Strided,
}

impl Layout {
    /// The layouts of tensors.
    pub const TENSORS: [Self; 5] = [Self::Aligned, Self::Odd, Self::Parts, Self::OneBuffer, Self::FarApart];

    /// The layouts of views.
    pub const VIEWS: [Self; 4] = [Self::Rows, Self::Gathered, Self::Transposed, Self::Strided];

    /// All layouts.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::TENSORS.into_iter().chain(Self::VIEWS)
    }

    /// The code look-ups with which casts from a type in this layout have different kernels. For tensors, only types
    /// with few codes have tables.
    fn lookups(self, from: ElementType) -> &'static [CodeLookup] {
        let differ = self.shape(0).is_some() || from.bits() <= Some(8);
        if differ { &[CodeLookup::Table, CodeLookup::Computed] } else { &[CodeLookup::Table] }
    }

    /// The view of at least `len` elements, if this is a layout of views.
    fn shape(self, len: u64) -> Option<Shape> {
        match self {
            Self::Rows => Some(Shape::gathered(&[len.div_ceil(173), 173], &[179, 1])),
            Self::Gathered => Some(Shape::gathered(&[len.div_ceil(173), 173], &[360, 2])),
            // The rows of the result start at whole vectors.
            Self::Transposed => Some(Shape::gathered(&[64, len.div_ceil(64).next_multiple_of(32)], &[1, 64])),
            Self::Strided => Some(Shape::new(&[len.div_ceil(3), 3], &[4, 1], &[5, 1])),
            _ => None,
        }
    }
}

/// What the kernels of a cast depend on, in addition to the types.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    pub layout: Layout,
    pub lookup: CodeLookup,
    pub options: CastOptions,
    /// Whether the kernel of edges casts all elements. Otherwise it casts as few as possible.
    pub only_edges: bool,
}

impl Variant {
    /// The variants of a pair: all layouts and, in two aligned buffers, all options and the kernel of edges alone.
    pub fn all(from: ElementType, to: ElementType) -> Vec<Self> {
        let plain = |layout, lookup| Self { layout, lookup, options: CastOptions::default(), only_edges: false };
        let layouts = |layout: Layout| layout.lookups(from).iter().map(move |&lookup| plain(layout, lookup));
        let mut all: Vec<_> = Layout::all().flat_map(layouts).collect();
        let aligned: Vec<_> = layouts(Layout::Aligned).collect();
        all.extend(aligned.iter().map(|&variant| Self { only_edges: true, ..variant }));
        for options in pair_variants(from, to).into_iter().skip(1) {
            all.extend(aligned.iter().map(|&variant| Self { options, ..variant }));
        }
        all
    }

    fn settings(&self) -> PlanSettings {
        let mut settings = PlanSettings::default();
        // Short tensors use the main kernels, too.
        settings.tuning.blocks_from = Some(if self.only_edges { u64::MAX } else { 0 });
        settings.tuning.lookup = self.lookup;
        settings
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { layout, lookup, options, only_edges } = self;
        write!(f, "{layout:?},{lookup:?}{}", if *only_edges { ",edges" } else { "" })?;
        match &*options_text(options) {
            "-" => Ok(()),
            options => write!(f, ",{options}"),
        }
    }
}

/// The codes of a source type for each layout.
pub struct SourceCodes {
    from: ElementType,
    codes: Vec<(Layout, Vec<u64>)>,
}

impl SourceCodes {
    pub fn new(from: ElementType) -> Self {
        Self { from, codes: Layout::all().map(|layout| (layout, codes(from, layout))).collect() }
    }

    /// The casts to a type, in all variants.
    pub fn casts(&self, to: ElementType) -> impl Iterator<Item = (Variant, PlannedCast)> {
        let cast = move |variant: Variant| {
            let (_, codes) = self.codes.iter().find(|(layout, _)| *layout == variant.layout).expect("all layouts");
            let spec = CastSpec::new(self.from, to).with_options(variant.options);
            (variant, PlannedCast::new(&spec, variant.layout, codes, variant.settings()))
        };
        Variant::all(self.from, to).into_iter().map(cast)
    }
}

/// Hard cases of a type for a layout, and random codes, so that types with few codes make long tensors too. Two aligned
/// buffers get all codes of types of at most 16 bits. Otherwise there are at most about 8,192 codes, which differ
/// between layouts.
fn codes(from: ElementType, layout: Layout) -> Vec<u64> {
    let hard = cases::codes(from);
    let takes_all = layout == Layout::Aligned && from.bits() <= Some(16);
    let step = if takes_all { 1 } else { hard.len().div_ceil(8192) };
    let hard = hard.iter().copied().skip(layout as usize % step).step_by(step);
    hard.chain(cases::random(from, 1003, layout as u64)).collect()
}

/// A plan, and what its dispatches make of the memory.
#[derive(Debug)]
pub struct PlannedCast {
    pub plan: Plan,
    /// What the plan was made of, for programs that plan by themselves.
    pub settings: PlanSettings,
    /// Where source and destination lie in their buffers.
    pub places: [Place; 2],
    /// The view, if the elements do not follow one another.
    pub shape: Option<Shape>,
    /// The number of elements.
    pub elements: usize,
    /// The bytes of each buffer before the cast: the source's and the destination's, or one for both.
    pub before: Vec<Vec<u8>>,
    /// The bytes of the last of these buffers after the cast, by the CPU path.
    pub after: Vec<u8>,
}

impl PlannedCast {
    /// Plans a cast of codes. The other bytes of the buffers are random.
    pub fn new(spec: &CastSpec, layout: Layout, codes: &[u64], mut settings: PlanSettings) -> Self {
        let (from, to, len) = (spec.from, spec.to, codes.len());
        if let Some(shape) = layout.shape(len as u64) {
            return Self::view(spec, shape, codes, settings);
        }
        let [source_size, destination_size] = [from, to].map(|t| t.packed_bytes(1).unwrap() as usize);
        let whole = |offset| Place { offset, first: None };
        let part = |offset, first| Place { offset, first: Some(first) };
        let behind = |place: Place| whole(place.end(from, len).next_multiple_of(destination_size));
        let [source, destination] = match layout {
            Layout::Aligned => [whole(0), whole(256)],
            Layout::Odd => [whole(3 * source_size), whole(5 * destination_size)],
            Layout::Parts => [part(8, 3), part(16, 5)],
            Layout::OneBuffer => [part(8, 1), behind(part(8, 1))],
            // `FarApart` is the only other layout of tensors.
            _ => {
                settings.limits.binding_size = 32 << 10;
                [whole(source_size), whole((64 << 10) + behind(whole(source_size)).offset)]
            }
        };
        let one_buffer = matches!(layout, Layout::OneBuffer | Layout::FarApart);
        let (placement, ends) = if one_buffer {
            let placement = Placement::one_buffer(source.position(), destination.position());
            (placement, vec![destination.end(to, len)])
        } else {
            let placement = Placement::two_buffers(source.position(), destination.position());
            (placement, vec![source.end(from, len), destination.end(to, len)])
        };
        let plan = Plan::new(spec, len as u64, &placement, &settings).unwrap();

        let mut before: Vec<_> = (0..).zip(ends).map(|(seed, end)| noise(end + 64, seed)).collect();
        source.write(&mut before[0], from, codes);
        let mut after = before.last().unwrap().clone();
        let result = cpu::cast(&pack(from, codes), to, &spec.options).unwrap();
        destination.write(&mut after, to, &result.codes().collect::<Vec<_>>());
        Self { plan, settings, places: [source, destination], shape: None, elements: len, before, after }
    }

    /// Plans a cast of a view between two buffers. The elements of the view repeat the codes.
    fn view(spec: &CastSpec, shape: Shape, codes: &[u64], settings: PlanSettings) -> Self {
        let (from, to) = (spec.from, spec.to);
        let read = places(&shape.sizes, &shape.source);
        let written = places(&shape.sizes, &shape.destination);
        let codes: Vec<_> = codes.iter().copied().cycle().take(read.len()).collect();
        // Blocks of transposed rows start at whole vectors.
        let firsts = if shape.source[0] == 1 { [0, 0] } else { [3, 5] };
        let [source, destination] = firsts.map(|first| Place { offset: 16, first: Some(first) });
        let placement = Placement::two_buffers(source.position(), destination.position());
        let plan = Plan::view(spec, &shape.view(), &placement, &settings).unwrap();

        let memory =
            |seed, place: Place, t, places: &[usize]| noise(place.end(t, places.iter().max().unwrap() + 1) + 64, seed);
        let mut before = vec![memory(0, source, from, &read), memory(1, destination, to, &written)];
        source.put(&mut before[0], from, &read, &codes);
        let mut after = before[1].clone();
        let result = cpu::cast(&pack(from, &codes), to, &spec.options).unwrap();
        destination.put(&mut after, to, &written, &result.codes().collect::<Vec<_>>());
        let (places, elements) = ([source, destination], codes.len());
        Self { plan, settings, places, shape: Some(shape), elements, before, after }
    }
}

/// Where a tensor lies in its buffer: see [`Position`].
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub offset: usize,
    pub first: Option<usize>,
}

impl Place {
    fn position(self) -> Position {
        let offset = self.offset as u64;
        self.first.map_or(Position::whole(offset), |first| Position::part(offset, first as u64))
    }

    /// The number of elements in the tensor that contains these elements. If that tensor is larger, it has whole bytes.
    fn elements(self, len: usize) -> usize {
        self.first.map_or(len, |first| (first + len).next_multiple_of(8))
    }

    /// The byte after the tensor.
    fn end(self, t: ElementType, len: usize) -> usize {
        self.offset + t.packed_bytes(self.elements(len) as u64).unwrap() as usize
    }

    /// Writes codes to places that are counted from the first element.
    fn put(self, memory: &mut [u8], t: ElementType, places: &[usize], codes: &[u64]) {
        let bits = t.bits().unwrap() as usize;
        put(memory, 8 * self.offset + self.first.unwrap_or(0) * bits, bits, places, codes.iter().copied());
    }

    fn write(self, memory: &mut [u8], t: ElementType, codes: &[u64]) {
        let memory = &mut memory[self.offset..self.end(t, codes.len())];
        let tensor = match self.first {
            None => pack(t, codes),
            Some(first) => {
                let there = Tensor::from_bytes(t, [self.elements(codes.len())], memory.to_vec()).unwrap();
                let mut all: Vec<_> = there.codes().collect();
                all[first..first + codes.len()].copy_from_slice(codes);
                pack(t, &all)
            }
        };
        memory.copy_from_slice(tensor.bytes().unwrap());
    }
}

fn pack(t: ElementType, codes: &[u64]) -> Tensor {
    Tensor::from_codes(t, [codes.len()], codes.iter().copied()).unwrap()
}

/// Random bytes, in whole words.
pub fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let codes = cases::random(ElementType::UINT8, bytes.next_multiple_of(4), seed);
    codes.into_iter().map(|code| code as u8).collect()
}
