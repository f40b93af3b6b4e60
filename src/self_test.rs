//! Known answers: casts difficult codes on a device and compares the results with those of the CPU path.

use crate::caster::{Caster, Destination, Prepared, Source};
use crate::conversion::Conversion;
use crate::cpu;
use crate::element::{ElementType, Kind};
use crate::error::Error;
use crate::gpu::device_link::DeviceLink;
use crate::gpu::error_scope::watched;
use crate::gpu::pipelined;
use crate::plan::{Coverage, Offsets, PlanLimits};
use crate::spec::CastSpec;
use crate::tensor::Tensor;

/// Elements of a test: several workgroups of every kernel for whole units, and a rest for the edge kernel. A multiple
/// of 7.
const ELEMENTS: usize = (1 << 16) + 75;

/// The shapes of views: transposed rows that are whole blocks, rows that are not whole windows, and rows shorter than any.
const TRANSPOSED: [usize; 2] = [8, 8192];
const UNEVEN: [usize; 2] = [7, ELEMENTS / 7];
const SHORT: [usize; 2] = [ELEMENTS / 3, 3];

/// Elements of the test of a device that was just opened: few, so that it compiles only one kernel.
const FEW: usize = 75;

/// What a buffer holds before a cast.
const POISON: u8 = 0xa5;

/// Bytes around slices that must stay as they are.
const GUARD: u64 = 64;

impl Caster {
    /// Tests the kernels of some casts on this device: casts edge cases with every kernel of that coverage, and
    /// compares the results bit by bit with those of the CPU. This takes a few milliseconds per kernel, in addition to
    /// its compilation.
    ///
    /// An engine can use this to reject a faulty driver. `queue` must be the device's queue. No handler is set. Kernels
    /// are compiled as by [`prepare_async`](Self::prepare_async); otherwise the future blocks while it computes the
    /// expected results and while it waits for the device, except in a browser.
    ///
    /// # Errors
    /// [`Error::SelfTest`] for the first wrong element; [`Error::SelfTestOutside`] if other bytes were changed;
    /// [`Error::Incomplete`] if the device did nothing; and as [`Context::cast`](crate::Context::cast).
    pub async fn self_test(&self, queue: &wgpu::Queue, specs: &[CastSpec], coverage: Coverage) -> Result<(), Error> {
        let link = DeviceLink::borrowed(self.device(), queue, self);
        for spec in specs {
            check(&link, spec, coverage).await?;
        }
        Ok(())
    }
}

/// Casts a few difficult codes, which shows whether a device works at all. Its pipeline is not kept, so that a pipeline cache
/// that the application adds later gets every kernel.
pub(crate) async fn known_answers(device: &wgpu::Device, queue: &wgpu::Queue) -> Result<(), Error> {
    let link = DeviceLink::borrowed(device, queue, &Caster::new(device));
    let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16);
    Known::new(&spec, FEW)?.check_host(&link).await
}

/// Casts difficult codes on the device, by every kernel of a coverage.
async fn check(link: &DeviceLink, spec: &CastSpec, coverage: Coverage) -> Result<(), Error> {
    let known = Known::new(spec, ELEMENTS)?;
    link.caster.compile_async(link.caster.keys(&known.conversion, coverage)).await?;
    known.check_host(link).await?;
    for arrangement in arrangements(&known.conversion, coverage, link.caster.limits()) {
        known.check_slices(link, &arrangement).await?;
    }
    Ok(())
}

/// Source codes and the expected results.
struct Known {
    spec: CastSpec,
    conversion: Conversion,
    source: Tensor,
    expected: Tensor,
}

impl Known {
    fn new(spec: &CastSpec, elements: usize) -> Result<Self, Error> {
        let conversion = Conversion::new(spec.from, spec.to, &spec.options)?;
        let codes = codes(spec.from).step_by(ELEMENTS / elements).take(elements);
        let source = Tensor::from_codes(spec.from, [elements], codes)?;
        let expected = cpu::cast_numbers(&source, &conversion)?;
        Ok(Self { spec: *spec, conversion, source, expected })
    }

    /// Casts as host tensors are cast, which proves that the device executes submissions at all.
    async fn check_host(&self, link: &DeviceLink) -> Result<(), Error> {
        let mut got = vec![0; self.expected.bytes().unwrap_or_default().len()];
        let source = self.source.bytes().unwrap_or_default();
        pipelined::cast(link, &self.conversion, source, self.source.len() as u64, &mut got).await?;
        self.compare(got, &self.expected, |i| i)
    }

    /// Casts between slices of buffers as an engine does, and checks that nothing around the destination changes.
    async fn check_slices(&self, link: &DeviceLink, arrangement: &Arrangement) -> Result<(), Error> {
        let (conversion, offsets) = (&self.conversion, arrangement.offsets);
        let prepared = arrangement.prepare(link, &self.spec)?;
        let expected = arrangement.expected(&self.expected)?;
        // The destination's buffer as it should be in the end; before that it is poison, or the source's.
        let mut memory = Vec::new();
        put(&mut memory, offsets.source / 8, self.source.bytes().unwrap_or_default());
        let mut image = if offsets.one_buffer { memory.clone() } else { Vec::new() };
        put(&mut image, offsets.destination / 8, expected.bytes().unwrap_or_default());
        memory.resize(memory.len().max(image.len()), POISON);
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
        let [start, result_start] = [offsets.source / 8, offsets.destination / 8];
        let record = || {
            let source = link.filled(conversion, "cast self-test", &memory, usage)?;
            let destination = match offsets.one_buffer {
                true => source.clone(),
                false => link.filled(conversion, "cast self-test", &vec![POISON; image.len()], usage)?,
            };
            let input = source.slice(start..start + prepared.source_bytes());
            let output = destination.slice(result_start..result_start + prepared.destination_bytes());
            let mut encoder = link.encoder(conversion)?;
            prepared.record(&mut encoder, Source::new(input), Destination::new(output))?;
            Ok((encoder, [source, destination]))
        };
        let (recorded, verdict) = watched(&link.device, record);
        let recorded = verdict.with(conversion, (memory.len() + image.len()) as u64, recorded).await;
        let got = match recorded {
            Ok((encoder, buffers)) => {
                let got = link.contents(conversion, encoder, &buffers[1]).await;
                buffers.iter().for_each(wgpu::Buffer::destroy);
                got
            }
            Err(error) => Err(error),
        };
        let got = match got {
            Ok(got) => got,
            Err(error) => return Err(link.diagnose(error).await),
        };
        let result = result_start as usize..(result_start + prepared.destination_bytes()) as usize;
        self.compare(got[result].to_vec(), &expected, |i| arrangement.order.source_index(i))?;
        self.compare_outside(&got, &image)
    }

    /// Compares a destination's buffer whose result is right with what it should hold.
    fn compare_outside(&self, got: &[u8], image: &[u8]) -> Result<(), Error> {
        let Conversion { from, to, .. } = self.conversion;
        match image.iter().zip(got).position(|(expected, got)| expected != got) {
            Some(offset) => Err(Error::SelfTestOutside { from, to, offset: offset as u64 }),
            None => Ok(()),
        }
    }

    /// Compares a result's codes with the expected ones. `source_index` says from which source code an element came.
    fn compare(&self, got: Vec<u8>, expected: &Tensor, source_index: impl Fn(usize) -> usize) -> Result<(), Error> {
        let (from, to) = (self.conversion.from, self.conversion.to);
        let got = Tensor::from_bytes(to, expected.shape(), got)?;
        let wrong = got.codes().zip(expected.codes()).enumerate().find(|(_, (got, expected))| got != expected);
        let Some((index, (got, expected))) = wrong else { return Ok(()) };
        let code = self.source.codes().nth(source_index(index)).unwrap_or_default();
        Err(Error::SelfTest { from, to, code, got, expected })
    }
}

/// Copies bytes into memory, which grows so that guard bytes follow them.
fn put(memory: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let offset = offset as usize;
    let end = (offset + bytes.len()).next_multiple_of(4) + GUARD as usize;
    memory.resize(end.max(memory.len()), POISON);
    memory[offset..offset + bytes.len()].copy_from_slice(bytes);
}

/// In which order a cast reads its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Dense,
    /// As the transpose of a matrix.
    Transposed,
    /// As the transpose of a matrix with too few columns for the kernel of transposed views.
    Gathered,
    /// The rows of a matrix from the last to the first.
    Upwards,
    /// The same of rows that are too short for whole windows.
    ShortUpwards,
}

impl Order {
    /// Those of views. Together they take every kernel of views.
    const VIEWS: [Order; 4] = [Order::Transposed, Order::Gathered, Order::Upwards, Order::ShortUpwards];

    /// The view's shape.
    fn shape(self) -> [usize; 2] {
        match self {
            Order::Dense => [1, ELEMENTS],
            Order::Transposed => TRANSPOSED,
            Order::Gathered | Order::Upwards => UNEVEN,
            Order::ShortUpwards => SHORT,
        }
    }

    /// The view's strides of the source.
    fn strides(self) -> [i64; 2] {
        let [rows, columns] = self.shape().map(|size| size as i64);
        match self {
            Order::Dense => [columns, 1],
            Order::Transposed | Order::Gathered => [1, rows],
            Order::Upwards | Order::ShortUpwards => [-columns, 1],
        }
    }

    /// The number of elements of the result.
    fn elements(self) -> usize {
        self.shape().iter().product()
    }

    /// The element of the source of which an element of the result is made.
    fn source_index(self, index: usize) -> usize {
        let [rows, columns] = self.shape();
        let (row, column) = (index / columns, index % columns);
        match self {
            Order::Dense => index,
            Order::Transposed | Order::Gathered => row + column * rows,
            Order::Upwards | Order::ShortUpwards => (rows - 1 - row) * columns + column,
        }
    }
}

/// Where the slices of one cast lie, and how it reads its source.
#[derive(Clone, Copy, Debug)]
struct Arrangement {
    offsets: Offsets,
    order: Order,
    /// The largest binding, if it is less than the device's: then the slices are too far apart for one binding.
    binding_size: Option<u64>,
}

impl Arrangement {
    fn prepare(&self, link: &DeviceLink, spec: &CastSpec) -> Result<Prepared, Error> {
        let caster = link.caster.within(self.limits(link.caster.limits()));
        match self.order {
            Order::Dense => caster.prepare(spec, ELEMENTS as u64),
            order => caster.prepare_strided(spec, &order.shape().map(|size| size as u64), &order.strides()),
        }
    }

    fn limits(&self, limits: &PlanLimits) -> PlanLimits {
        PlanLimits { binding_size: self.binding_size.unwrap_or(limits.binding_size), ..*limits }
    }

    fn expected(&self, dense: &Tensor) -> Result<Tensor, Error> {
        if self.order == Order::Dense {
            return Ok(dense.clone());
        }
        let codes: Vec<u64> = dense.codes().collect();
        let elements = self.order.elements();
        let gathered = (0..elements).map(|i| codes[self.order.source_index(i)]);
        Tensor::from_codes(dense.element_type(), [elements], gathered)
    }
}

/// Slices that together take every kernel of a coverage that host tensors do not take.
fn arrangements(conversion: &Conversion, coverage: Coverage, limits: &PlanLimits) -> Vec<Arrangement> {
    let size = |t: ElementType| u64::from(t.code_bits() / 8).max(1);
    let (from, to) = (conversion.from, conversion.to);
    let after = (GUARD + from.packed_bytes(ELEMENTS as u64).unwrap_or(0)).next_multiple_of(16) + GUARD;
    let (two, one) = (Offsets::two_buffers, Offsets::one_buffer);
    let mut offsets = Vec::new();
    if coverage.includes(Coverage::Anywhere) {
        offsets.extend([two(size(from), 0), two(0, size(to))]);
    }
    if coverage.includes(Coverage::OneBuffer) {
        offsets.extend([one(GUARD, after), one(GUARD + size(from), after + 2 * size(to))]);
        // In place: between types of different widths too.
        let start = GUARD + size(from).max(size(to));
        offsets.push(one(start, start));
    }
    let arranged = |order, offsets| Arrangement { offsets, order, binding_size: None };
    let mut all: Vec<_> = offsets.into_iter().map(|offsets| arranged(Order::Dense, offsets)).collect();
    let views = if coverage == Coverage::Views { &Order::VIEWS[..] } else { &[] };
    for &order in views {
        all.extend([arranged(order, two(0, 0)), arranged(order, one(GUARD, after))]);
    }
    if coverage.includes(Coverage::OneBuffer) && limits.buffer_size > limits.binding_size {
        // Half a binding for each tensor, and slices that are farther apart than a binding is long.
        let longest = [from, to].map(|t| t.packed_bytes(ELEMENTS as u64).unwrap_or(0)).into_iter().max().unwrap_or(0);
        let half = (longest + 2 * (GUARD + limits.offset_alignment)).next_multiple_of(16);
        let binding_size = (2 * half).min(limits.binding_size);
        let far = after + binding_size;
        let apart = |order, offsets| Arrangement { offsets, order, binding_size: Some(binding_size) };
        all.push(apart(Order::Dense, one(GUARD, far)));
        all.push(apart(Order::Dense, one(GUARD + size(from), far + 2 * size(to))));
        all.extend(views.iter().map(|&order| apart(order, one(GUARD, far))));
    }
    all
}

/// A code whose number has an exponent between -32 and 31, if the type is one of floats: those with at most five exponent
/// bits have no others.
fn near_one(element_type: ElementType, code: u64) -> u64 {
    let Kind::Float(format) = element_type.kind() else { return code };
    let (man, exponents) = (format.man_bits, (1 << format.exp_bits) - 1);
    let exponent = u64::from(format.bias) - 32 + (code >> man) % 64;
    code & !(exponents << man) | exponent << man
}

/// Every code of at most 16 bits. Of wider ones, a few significant bits after any number of leading zeros or ones,
/// which meets every exponent of a float (of DOUBLE all but two) and every magnitude of an integer; random bits before a
/// one and zeros, which meets ties of every narrower float; and what lies beside all of them.
fn codes(element_type: ElementType) -> impl Iterator<Item = u64> {
    let bits = element_type.code_bits();
    let mask = u64::MAX >> (64 - bits);
    (0..ELEMENTS as u64).map(move |i| {
        if bits <= 16 {
            return i & mask;
        }
        let (shift, near) = (i % 64, (i >> 6) % 4);
        let is_tie = i & (1 << 8) != 0;
        if is_tie {
            let (random, place) = (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits), shift % u64::from(bits));
            let random = if i & (1 << 9) != 0 { near_one(element_type, random) } else { random };
            return (((random >> place) | 1) << place).wrapping_add(near).wrapping_sub(2) & mask;
        }
        let pattern = (i >> 8).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (shift % u64::from(bits));
        let signed = if i & (1 << 15) == 0 { pattern } else { !pattern };
        (signed >> (64 - bits)).wrapping_add(near).wrapping_sub(2) & mask
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::CastOptions;
    use crate::plan;
    use crate::plan::{CodeLookup, PlanSettings, PlanTuning, Strided, View};
    use std::collections::HashSet;

    /// The codes of wide floats lie halfway between two numbers of each narrower float, and beside that on both sides.
    #[test]
    fn ties_of_narrower_floats_are_among_the_codes() {
        for (from, least) in [(ElementType::FLOAT, [18, 1500]), (ElementType::DOUBLE, [9, 800])] {
            let mask = u64::MAX >> (64 - from.code_bits());
            let is_narrower = |to: &ElementType| matches!(to.kind(), Kind::Float(_)) && to.bits() < from.bits();
            for to in ElementType::ALL.iter().copied().filter(is_narrower) {
                let beside: Vec<Vec<u64>> = (-2..=2)
                    .map(|step| {
                        let codes = codes(from).map(|code| code.wrapping_add_signed(step) & mask);
                        let tensor = Tensor::from_codes(from, [ELEMENTS], codes).unwrap();
                        cpu::cast(&tensor, to, &CastOptions::default()).unwrap().codes().collect()
                    })
                    .collect();
                // The code after a tie, the tie, and the code before it: the numbers around the tie differ.
                for step in 0..3 {
                    let around = beside[step].iter().zip(&beside[step + 2]);
                    let ties = around.filter(|(below, above)| below != above).count();
                    let least = least[usize::from(to.code_bits() >= 8)];
                    assert!(ties >= least, "{from} to {to}, beside ties by {}: {ties}", 1 - step as i64);
                }
            }
        }
    }

    /// Every exponent of a float with both signs (of DOUBLE all but two), and every number of leading zeros and ones of an
    /// integer.
    #[test]
    fn every_magnitude_is_among_the_codes() {
        for from in ElementType::ALL.iter().copied().filter(|t| t.is_numeric() && t.code_bits() > 16) {
            let bits = from.code_bits();
            let mut met = HashSet::new();
            for code in codes(from) {
                let sign = code >> (bits - 1);
                met.insert(match from.kind() {
                    Kind::Float(format) => (sign, (code & format.magnitude_mask()) >> format.man_bits),
                    _ => (sign, u64::from(((code ^ sign.wrapping_neg()) << (64 - bits)).leading_zeros())),
                });
            }
            let all = match from {
                ElementType::FLOAT => 512,
                ElementType::DOUBLE => 4094,
                _ => 2 * bits as usize,
            };
            assert!(met.len() >= all, "{from}: {}", met.len());
        }
    }

    /// Every kernel that `warm_up` compiles is proven by the self-test.
    #[test]
    fn self_test_runs_every_kernel() {
        let computed = PlanTuning { lookup: CodeLookup::Computed, ..PlanTuning::default() };
        for tuning in [PlanTuning::default(), computed] {
            runs_every_kernel(&PlanSettings { tuning, ..PlanSettings::default() });
        }
    }

    fn runs_every_kernel(settings: &PlanSettings) {
        let numeric = || ElementType::ALL.iter().copied().filter(|t| t.is_numeric());
        for (from, to) in numeric().flat_map(|from| numeric().map(move |to| (from, to))) {
            let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
            for coverage in [Coverage::Aligned, Coverage::Anywhere, Coverage::OneBuffer, Coverage::Views] {
                let host = Arrangement { offsets: Offsets::default(), order: Order::Dense, binding_size: None };
                let arranged = arrangements(&conversion, coverage, &settings.limits).into_iter().chain([host]);
                let dispatches = arranged.flat_map(|arrangement| {
                    let settings = PlanSettings { limits: arrangement.limits(&settings.limits), ..*settings };
                    match arrangement.order {
                        Order::Dense => {
                            plan::plan(&conversion, ELEMENTS as u64, arrangement.offsets, &settings, None).unwrap()
                        }
                        order => {
                            let (shape, strides) = (order.shape().map(|size| size as u64), order.strides());
                            let view = View::new(&shape).with_source_strides(&strides);
                            let (strided, _) = Strided::new(&view, &conversion).unwrap();
                            assert!(!strided.is_dense(to.code_bits()), "{order:?}");
                            plan::plan_view(&conversion, &strided, arrangement.offsets, &settings).unwrap()
                        }
                    }
                });
                let met: HashSet<_> = dispatches.map(|dispatch| (dispatch.kind, dispatch.access)).collect();
                let all: HashSet<_> = plan::kernels(&conversion, coverage, settings).collect();
                assert_eq!(met, all, "{from} to {to}, {coverage:?}");
            }
        }
    }

    #[test]
    fn a_wrong_bit_is_found_and_named() {
        let known = Known::new(&CastSpec::new(ElementType::FLOAT16, ElementType::INT8), ELEMENTS).unwrap();
        let mut bytes = known.expected.clone().into_bytes().unwrap();
        let (index, expected) = (20_000, u64::from(bytes[20_000]));
        bytes[index] ^= 0x40;
        let (from, to, got) = (ElementType::FLOAT16, ElementType::INT8, expected ^ 0x40);
        let error = Error::SelfTest { from, to, code: 20_000, got, expected };
        assert_eq!(known.compare(bytes, &known.expected, |i| i), Err(error));
    }

    #[test]
    fn a_byte_that_changes_beside_the_result_is_found_and_named() {
        let (from, to) = (ElementType::FLOAT16, ElementType::INT8);
        let known = Known::new(&CastSpec::new(from, to), FEW).unwrap();
        let mut image = Vec::new();
        put(&mut image, GUARD, known.expected.bytes().unwrap());
        assert_eq!(known.compare_outside(&image, &image), Ok(()));
        for offset in [0, GUARD - 1, GUARD + FEW as u64, image.len() as u64 - 1] {
            let mut got = image.clone();
            got[offset as usize] ^= 1;
            assert_eq!(known.compare_outside(&got, &image), Err(Error::SelfTestOutside { from, to, offset }));
        }
    }

    /// The slices, too, are tested on the device.
    #[test]
    fn slices_that_a_device_does_not_cast_are_found() {
        let (device, queue) = wgpu::Device::noop(&wgpu::DeviceDescriptor::default());
        let link = DeviceLink::borrowed(&device, &queue, &Caster::new(&device));
        let (from, to) = (ElementType::FLOAT16, ElementType::INT8);
        let known = Known::new(&CastSpec::new(from, to), ELEMENTS).unwrap();
        for arrangement in arrangements(&known.conversion, Coverage::Views, link.caster.limits()) {
            let error = pollster::block_on(known.check_slices(&link, &arrangement)).unwrap_err();
            let Error::SelfTest { code, expected, .. } = error else { panic!("{arrangement:?}: {error}") };
            let one = Tensor::from_codes(from, [1], [code]).unwrap();
            assert!(cpu::cast(&one, to, &CastOptions::default()).unwrap().codes().eq([expected]));
        }
        let small = PlanLimits { binding_size: 1 << 16, ..*link.caster.limits() };
        assert_eq!(link.caster.within(small).limits(), &small);
    }
}
