//! Composes kernels: the WGSL fragments that a conversion needs, with their constants, as one module.
//!
//! A conversion has several kernels.
//!
//! - The *blocks* kernel moves whole units. A unit is the fewest elements that fill whole words on both sides, and 16
//!   bytes on the wider side.
//! - The *shifted* kernel does the same from a source that starts at any bit of a word.
//! - The *edge* kernel takes any range of elements: heads, tails and small tensors. An invocation stores one
//!   destination word, or one element of at least a word, and keeps the bits around the elements.
//! - The *strided* kernel does the same for views with strides. The *rows*, the *gathered* and the *transposed* kernel
//!   take the long rows of a view, and the *ends* kernel takes what the rows and the gathered kernel leave.
//! - The *together* kernel is the edge kernel for one workgroup, which reads everything before it writes anything.
//!   Tensors that overlap need it, and so do casts in place of codes that lie across words.
//!
//! Conversion code lies in `shaders/`. Rust writes the constants, the line that calls decode, hub and encode, and the
//! loads and stores that are unrolled for the widths of a pair.

pub(crate) mod compose;
pub(crate) mod constants;
mod entry;
pub(crate) mod fragments;
mod views;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

use compose::Module;
use entry::Entry;
pub(crate) use views::{BLOCK, Block, Window};

use crate::bits::reference::Thresholds;
use crate::types::conversion::{Conversion, Encode};

/// Invocations in a workgroup of the blocks kernel: one for each entry of the largest table, which has 256 entries.
pub(crate) const BLOCKS_SIZE: u32 = 256;
/// Invocations in a workgroup of the edge kernel.
pub(crate) const EDGE_SIZE: u32 = 64;
/// Invocations in a workgroup of the kernels of views.
pub(crate) const VIEW_SIZE: u32 = 64;
/// The most axes of a view after neighbouring axes are merged. The parameter block has room for this number.
pub(crate) const VIEW_RANK: usize = 8;
/// The most axes of a view, beside the axis of its rows, that every kernel of views takes. Views with more axes take
/// the strided kernel.
pub(crate) const FEW_AXES: usize = 4;

/// Which kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum KernelKind {
    /// Whole units. If the units of a side are whole 16 bytes, that side starts at a multiple of 16 bytes.
    Blocks,
    /// Whole units; the source starts at any bit.
    Shifted,
    /// Any range of elements.
    Edge,
    /// A range that one workgroup can cast, between tensors that overlap.
    Together,
    /// Any elements of a view with strides.
    Strided,
    /// Whole windows of the rows of a view. The elements of a row follow one another on both sides.
    Rows,
    /// Whole windows of the rows of a view. The elements of a row lie anywhere in the source.
    Gathered,
    /// The elements at both ends of each row of a view that whole windows leave.
    Ends,
    /// Rows of a view whose elements lie next to those of other rows in the source.
    Transposed,
}

#[cfg_attr(not(feature = "wgpu"), allow(dead_code, reason = "devices compile kernels by kind"))]
impl KernelKind {
    pub(crate) const ALL: [Self; 9] = [
        Self::Blocks,
        Self::Shifted,
        Self::Edge,
        Self::Together,
        Self::Strided,
        Self::Rows,
        Self::Gathered,
        Self::Ends,
        Self::Transposed,
    ];

    /// Whether it casts views.
    pub(crate) fn is_of_views(self) -> bool {
        matches!(self, Self::Strided | Self::Rows | Self::Gathered | Self::Ends | Self::Transposed)
    }

    /// Whether dispatches of several casts can become one.
    pub(crate) fn is_merged(self) -> bool {
        matches!(self, Self::Blocks | Self::Shifted | Self::Edge)
    }
}

/// How the two sides are bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Access {
    /// Two buffers; the source is read-only.
    Separate,
    /// Two ranges of one buffer, with a binding each. Both are writable, because WebGPU does not bind one buffer
    /// read-only and writable at once.
    Writable,
    /// Two ranges of one buffer, with one binding over both.
    Shared,
}

/// Where a kernel reads the parameters of its dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(not(feature = "wgpu"), allow(dead_code, reason = "devices choose among them"))]
pub(crate) enum ParameterSpace {
    /// A uniform buffer.
    Uniform,
    /// Immediates, if the device has them. The kernels of views have too many parameters for them.
    Immediate,
    /// A table with the parameters of several casts. Each workgroup works on one of these casts.
    Table,
    /// A uniform buffer, and a buffer that holds the number of elements.
    Counted,
}

/// What distinguishes a kernel from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    conversion: Conversion,
    kind: KernelKind,
    access: Access,
    space: ParameterSpace,
    lookup: CodeLookup,
}

/// A compute shader in WGSL, with the entry point `main`.
///
/// Bind group 0 contains the source words (binding 0), the destination words (binding 1, read-write storage) and the
/// parameters (binding 4, uniform). The source is read-only storage if the tensors are in two buffers, and read-write
/// storage if they are in one. A kernel with one binding over both tensors has no binding 0.
///
/// The text is composed when it is first asked for. Kernels are equal, and have equal hashes, if they are the same
/// kernel of the same conversion. So a kernel is the key of its compiled pipeline, and an engine that has the pipeline
/// needs no text.
#[derive(Clone)]
pub struct Kernel {
    key: Key,
    composed: OnceLock<Composed>,
}

/// The text of a kernel, and how it divides elements.
#[derive(Clone, Debug)]
struct Composed {
    wgsl: String,
    workgroup_size: u32,
    elements_per_invocation: u32,
}

impl Kernel {
    /// Invocations in the largest workgroup of any kernel. Casters refuse devices whose workgroups are smaller.
    pub const MOST_INVOCATIONS: u32 = BLOCKS_SIZE;

    fn composed(&self) -> &Composed {
        self.composed.get_or_init(|| self.key.compose())
    }

    /// The WGSL text, exactly as the device receives it.
    pub fn wgsl(&self) -> &str {
        &self.composed().wgsl
    }

    /// Invocations per workgroup.
    pub fn workgroup_size(&self) -> u32 {
        self.composed().workgroup_size
    }

    /// The maximum number of elements that one invocation converts.
    pub fn elements_per_invocation(&self) -> u32 {
        self.composed().elements_per_invocation
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Kernel").field(&self.key).finish()
    }
}

impl PartialEq for Kernel {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Kernel {}

impl Hash for Kernel {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}

/// How the kernels for whole units convert sources of at most 8 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CodeLookup {
    /// Each workgroup converts every code once, into a table in workgroup memory, and then looks codes up. This is
    /// faster on GPUs.
    #[default]
    Table,
    /// Codes are computed. They are looked up only where one lookup replaces the encoding of several codes. This is
    /// faster on software adapters, whose workgroup memory is slow.
    Computed,
}

/// How the blocks kernel of a conversion divides a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Units {
    /// Elements in a unit. A unit is whole words of the destination; in the source it may be a part of a word.
    pub elements: u32,
    /// Units that an invocation converts. They are `BLOCKS_SIZE` units apart.
    pub repeat: u32,
}

impl Units {
    pub(crate) fn new(conversion: &Conversion, kind: KernelKind, access: Access, lookup: CodeLookup) -> Self {
        let (source, destination) = (conversion.from.code_bits(), conversion.to.code_bits());
        if kind == KernelKind::Blocks && access == Access::Shared {
            // One binding has one element type, so a unit has 16 bytes of the narrower side too.
            return Self { elements: 128 / source.min(destination), repeat: 1 };
        }
        if conversion.is_copy() {
            // Whole blocks of 16 bytes. Codes of 6 bits fill three blocks.
            return Self { elements: if source == 6 { 64 } else { 128 / source }, repeat: 1 };
        }
        let wider = source.max(destination);
        let elements = if source == 6 || destination == 6 {
            // 16 codes of 6 bits fill three words, and 64 fill three vectors of four words. The longer unit suits only
            // if the other side needs few vectors for it.
            if wider <= 8 { 64 } else { 16 }
        } else {
            // 16 bytes of the wider side, but at least a word of the destination.
            (128 / wider).max(32 / destination)
        };
        let bytes = elements * (source + destination) / 8;
        // Filling the table, and computing the place of a unit, take much of an invocation's time. An invocation that
        // would do so for few bytes moves about 128 bytes instead. Software adapters gain nothing from sharing the
        // second cost.
        let repeats = uses_table(conversion, lookup) || lookup == CodeLookup::Table && destination <= 8;
        let repeat = if repeats { (128 / bytes).max(1).next_power_of_two() } else { 1 };
        Self { elements, repeat }
    }

    /// Elements that a workgroup converts.
    pub(crate) fn per_workgroup(&self) -> u32 {
        self.elements * self.repeat * BLOCKS_SIZE
    }
}

/// Whether a kernel uses a table of codes: see [`CodeLookup`].
fn uses_table(conversion: &Conversion, lookup: CodeLookup) -> bool {
    let saves_several =
        conversion.from.code_bits() <= 4 && matches!(conversion.encode, Encode::Float(_) | Encode::E8m0(_));
    conversion.from.code_bits() <= 8 && !conversion.is_copy() && (lookup == CodeLookup::Table || saves_several)
}

/// The thresholds of a conversion that takes eight codes at once. For integers they are used on software adapters only.
/// GPUs convert integers faster one at a time: there `integer_to_float` is one shift by a variable count, which is slow
/// only on software adapters.
fn thresholds(conversion: &Conversion, lookup: CodeLookup) -> Option<Thresholds> {
    conversion.thresholds().filter(|thresholds| thresholds.least_nan != 0 || lookup == CodeLookup::Computed)
}

/// The kernel of a conversion. Its text is composed when it is asked for.
pub(crate) fn compose(
    conversion: &Conversion,
    kind: KernelKind,
    access: Access,
    space: ParameterSpace,
    lookup: CodeLookup,
) -> Kernel {
    Kernel { key: Key { conversion: *conversion, kind, access, space, lookup }, composed: OnceLock::new() }
}

impl Key {
    fn compose(&self) -> Composed {
        let &Self { ref conversion, kind, access, space, lookup } = self;
        match kind {
            KernelKind::Blocks | KernelKind::Shifted => units(conversion, kind, access, space, lookup),
            KernelKind::Edge | KernelKind::Together => edge(conversion, kind, access, space),
            _ => views::view(conversion, kind, access, lookup),
        }
    }
}

/// A kernel for whole units.
fn units(
    conversion: &Conversion,
    kind: KernelKind,
    access: Access,
    space: ParameterSpace,
    lookup: CodeLookup,
) -> Composed {
    let mut entry = Entry::new(conversion, kind, access, lookup);
    entry.may_be_empty = space == ParameterSpace::Counted;
    let elements = entry.units.elements * entry.units.repeat;
    let mut module = Module::new(conversion, BLOCKS_SIZE, elements);
    module.params(access, space);
    module.bindings(access, entry.source_vector, entry.destination_vector);
    match thresholds(conversion, lookup) {
        _ if conversion.is_copy() => {}
        Some(thresholds) => module.eights(&thresholds),
        None => module.conversion(conversion),
    }
    module.line("");
    module.line(entry.text().trim_end());
    module.finish(BLOCKS_SIZE, elements)
}

/// The kernel for any range of elements.
fn edge(conversion: &Conversion, kind: KernelKind, access: Access, space: ParameterSpace) -> Composed {
    let bits = conversion.to.code_bits();
    // The most codes that touch one word. Of 6-bit codes these are five whole ones and two parts.
    let elements = if bits == 6 { 7 } else { (32 / bits).max(1) };
    let size = if kind == KernelKind::Together { BLOCKS_SIZE } else { EDGE_SIZE };
    let mut module = Module::new(conversion, size, elements);
    module.params(access, space);
    module.bindings(access, 1, 1);
    module.conversion(conversion);
    module.need(if conversion.from.code_bits() == 64 { "entry/load_pair" } else { "entry/load_word" });
    match bits {
        64 => module.need("entry/store_pair"),
        32 => module.need("entry/store_word"),
        _ => {}
    }
    module.need(match (kind, bits) {
        (KernelKind::Together, 32..) => "entry/together_words",
        (KernelKind::Together, _) => "entry/together_lanes",
        (_, 32..) => "entry/edge_words",
        _ => "entry/edge_lanes",
    });
    module.finish(size, elements)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::element::ElementType;
    use crate::types::options::CastOptions;
    use naga::valid::{Capabilities, ValidationFlags, Validator};

    const UNIFORM: ParameterSpace = ParameterSpace::Uniform;

    /// The members of a struct in a kernel's text with their offsets, and the size of the struct.
    fn layout(kind: KernelKind, space: ParameterSpace, name: &str) -> (Vec<(String, usize)>, usize) {
        let conversion = Conversion::new(ElementType::FLOAT, ElementType::FLOAT16, &CastOptions::default()).unwrap();
        let kernel = compose(&conversion, kind, Access::Separate, space, CodeLookup::Table);
        let module = naga::front::wgsl::parse_str(kernel.wgsl()).unwrap();
        let (_, found) = module.types.iter().find(|(_, t)| t.name.as_deref() == Some(name)).unwrap();
        let naga::TypeInner::Struct { members, span } = &found.inner else { panic!("{name} is no struct") };
        (members.iter().map(|m| (m.name.clone().unwrap(), m.offset as usize)).collect(), *span as usize)
    }

    #[test]
    fn parameters_in_rust_and_in_wgsl_have_one_layout() {
        use crate::plan::{CountParams, Params, ViewParams};
        use std::mem::offset_of;

        macro_rules! members {
            ($type:ident: $($member:ident)*) => {
                [$((stringify!($member).to_owned(), offset_of!($type, $member))),*]
            };
        }
        let (params, size) = layout(KernelKind::Edge, UNIFORM, "Params");
        assert_eq!(size, size_of::<Params>());
        let all = members!(Params: count source_word source_bit source_last destination_word destination_bit pitch
            sentinel_word sentinel destination_end);
        assert_eq!(params, all);

        let start = size.next_multiple_of(16);
        let behind = |members: &[(String, usize)]| {
            members.iter().map(|(name, offset)| (name.clone(), start + offset)).collect::<Vec<_>>()
        };
        let (view, size) = layout(KernelKind::Strided, UNIFORM, "Params");
        assert_eq!(size, start + size_of::<ViewParams>());
        assert_eq!(view[..params.len()], params);
        let all = members!(ViewParams: source_strides destination_strides first axes row source_step tail columns
            column_step view_padding column_rows column_blocks invocations shape);
        assert_eq!(view[view.len() - all.len()..], behind(&all));

        let (counted, size) = layout(KernelKind::Edge, ParameterSpace::Counted, "CountedParams");
        assert_eq!(size, start + size_of::<CountParams>());
        assert_eq!(counted[1..], behind(&members!(CountParams: first unit rest count_word)));
    }

    /// Parses and validates a kernel, and looks at its bindings and types. Returns its invocations per workgroup.
    fn check(
        conversion: &Conversion,
        kind: KernelKind,
        access: Access,
        space: ParameterSpace,
        lookup: CodeLookup,
    ) -> u32 {
        let narrow = conversion.from.code_bits().min(conversion.to.code_bits());
        // The planner never asks for these.
        let wide = kind == KernelKind::Blocks && access == Access::Shared && narrow < 8;
        let transposed = kind != KernelKind::Transposed || Block::new(conversion, access, lookup).is_some();
        let together = kind == KernelKind::Together && access != Access::Shared;
        if wide || together || !transposed {
            return 0;
        }
        let kernel = compose(conversion, kind, access, space, lookup);
        let context = || format!("{} to {}, {kind:?}, {access:?}, {space:?}", conversion.from, conversion.to);
        let module = naga::front::wgsl::parse_str(kernel.wgsl());
        let module = module.unwrap_or_else(|e| panic!("{}: {e}\n{}", context(), kernel.wgsl()));
        let immediate = space == ParameterSpace::Immediate;
        let capabilities = if immediate { Capabilities::IMMEDIATES } else { Capabilities::empty() };
        let mut validator = Validator::new(ValidationFlags::all(), capabilities);
        validator.validate(&module).unwrap_or_else(|e| panic!("{}: {e:?}", context()));
        let bindings = module.global_variables.iter().filter(|(_, v)| v.binding.is_some()).count();
        let sides = if access == Access::Shared { 1 } else { 2 };
        let parameters = match space {
            ParameterSpace::Immediate => 0,
            ParameterSpace::Uniform => 1,
            ParameterSpace::Table | ParameterSpace::Counted => 2,
        };
        assert_eq!(bindings, sides + parameters, "{}", context());
        assert!(!module.types.iter().any(|(_, t)| t.inner.scalar_kind() == Some(naga::ScalarKind::Float)));
        kernel.workgroup_size()
    }

    /// The kernels for slices that start anywhere. `tests/host/shaders.rs` checks the public kernels. Besides the
    /// uniform buffer, each pair takes one of the other parameter spaces, with one access.
    #[test]
    fn kernels_of_every_kind_access_and_parameter_space_are_valid() {
        let numeric = || ElementType::ALL.iter().copied().filter(|t| t.is_numeric());
        let pairs = numeric().flat_map(|from| numeric().map(move |to| (from, to)));
        let ways = [
            (Access::Separate, CodeLookup::Table),
            (Access::Separate, CodeLookup::Computed),
            (Access::Writable, CodeLookup::Table),
            (Access::Shared, CodeLookup::Table),
        ];
        let spaces = [ParameterSpace::Immediate, ParameterSpace::Table, ParameterSpace::Counted];
        let mut most = 0;
        for (index, (from, to)) in pairs.enumerate() {
            let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
            for kind in KernelKind::ALL {
                for (access, lookup) in ways {
                    most = most.max(check(&conversion, kind, access, UNIFORM, lookup));
                }
                if !kind.is_of_views() {
                    let (access, lookup) = ways[index / 3 % 4];
                    most = most.max(check(&conversion, kind, access, spaces[index % 3], lookup));
                }
            }
        }
        assert_eq!(most, Kernel::MOST_INVOCATIONS);
    }

    /// Loads and stores of kernels are not checked at run time, so their indices must stay in range.
    #[test]
    fn kernels_with_few_units_or_codes_stay_within_their_memory() {
        let text = |from, space| {
            let conversion = Conversion::new(from, ElementType::FLOAT16, &CastOptions::default()).unwrap();
            compose(&conversion, KernelKind::Blocks, Access::Separate, space, CodeLookup::Table).wgsl().to_owned()
        };
        for (space, is_checked) in [(UNIFORM, false), (ParameterSpace::Table, false), (ParameterSpace::Counted, true)] {
            assert_eq!(text(ElementType::INT8, space).contains("if (params.count == 0u)"), is_checked, "{space:?}");
        }
        assert!(text(ElementType::FLOAT6E2M3, UNIFORM).contains("if (local.x < 64u)"));
        assert!(!text(ElementType::INT8, UNIFORM).contains("if (local.x <"));
    }
}
