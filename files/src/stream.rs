//! Executes a [`FilePlan`]: reads, casts and writes piece by piece.

use std::io;

use wgpu_cast::{CastSpec, ElementType, Error, LossCounts, cpu};

use super::clamp::clamp;
use super::error::{FileCause, FileError, PlanFault};
use super::input::{ReadAt, read_at};
use super::memory::resize;
use super::pieces::{Fragment, Piece, pieces};
use super::plan::{CodeStorage, FilePlan, Part, TensorCast, TensorStorage};
use super::repack::{code_bits, repack, swap_bytes};
use super::scaled::{CastScaledPiece, Operands, Transposed};
use super::transpose::RowMajorReader;

/// The most bytes that a piece reads and writes. Larger pieces are not faster.
const LARGEST_PIECE: u64 = 8 << 20;

/// The most pieces in memory at once. While one is read, one is cast and one is handed to `sink`; the fourth waits
/// between two of these.
const BUFFERS: u64 = 4;

/// How an output is made.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StreamSettings {
    /// The memory for buffers of tensor data in bytes. Less than 1 MiB is taken as 1 MiB.
    ///
    /// It bounds two things. Up to four pieces are in memory at once, and each of them reads and writes at most a
    /// sixteenth of this memory, and at most 8 MiB. An array in column-major order is read in slabs of at most half of
    /// this memory (or one element), and 1 MiB more for reads that cover gaps.
    ///
    /// The products of a piece of codes with scales take 4 bytes for each element more if relative errors are computed, or
    /// if one of them is clamped.
    ///
    /// It does not bound what the plan and its caller hold: headers and other [`Part::Bytes`], the structure of an ONNX
    /// model, values that were decoded for a plan ([`ModelPlan::decoded`](super::ModelPlan::decoded)), scales that were
    /// computed for it ([`block_scales`](super::block_scales)), and strings, which are read as a whole. It does not bound
    /// what the caster allocates either.
    pub memory: u64,
    /// The number of bytes of the output that exist already. It is the end of a [`Piece`] that was made from the same
    /// plan with the same `memory`. Nothing before it is read or cast.
    pub start: u64,
    /// Whether [`CastLoss::relative_error`] is computed. That takes longer than the cast.
    pub relative_errors: bool,
}

impl Default for StreamSettings {
    /// 256 MiB of memory, from the beginning of the output, without relative errors.
    fn default() -> Self {
        Self { memory: 256 << 20, start: 0, relative_errors: false }
    }
}

/// A function that casts pieces. It has the arguments and the result of [`cpu::cast_counted`], which casts on the CPU.
pub type CastPiece<'a> = dyn Fn(&CastSpec, &[u8], usize, &mut [u8]) -> Result<LossCounts, Error> + Sync + 'a;

/// What the cast of a tensor, or of a part of it, lost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CastLoss {
    /// The number of values of each kind that were lost by more than rounding.
    pub counts: LossCounts,
    /// The result of [`cpu::largest_relative_error`]; 0 without [`StreamSettings::relative_errors`].
    pub relative_error: f64,
}

impl std::ops::AddAssign for CastLoss {
    fn add_assign(&mut self, other: Self) {
        self.counts += other.counts;
        self.relative_error = self.relative_error.max(other.relative_error);
    }
}

/// A piece that has been made.
#[derive(Debug)]
#[non_exhaustive]
pub struct FinishedPiece<'a> {
    /// The piece, with its place in the output.
    pub piece: &'a Piece,
    /// The bytes of the piece.
    pub bytes: &'a [u8],
    /// What each cast in the piece lost, with the index of its part in [`FilePlan::parts`].
    pub losses: &'a [(usize, CastLoss)],
}

/// Makes an output. `sink` gets the pieces in their order. An error of `sink` ends the work, so `sink` can cancel it.
///
/// The plan refers to inputs by their index in `inputs`. Reading and casting each have a thread, except on WebAssembly.
///
/// ```
/// use wgpu_cast_files::{self as files, StreamSettings, raw_plan, raw_tensor};
/// use wgpu_cast::{CastOptions, ElementType, cpu};
///
/// let input: Vec<u8> = [1.0f32, -2.0].iter().flat_map(|value| value.to_le_bytes()).collect();
/// let tensor = raw_tensor(&input, 0, ElementType::FLOAT, None)?;
/// let plan = raw_plan(&tensor, ElementType::FLOAT16, &CastOptions::default())?;
/// let mut output = Vec::new();
/// files::write(&plan, &[&input], &StreamSettings::default(), &cpu::cast_counted, &mut |finished| {
///     output.extend_from_slice(finished.bytes);
///     Ok(())
/// })?;
/// assert_eq!(output, [0x00, 0x3c, 0x00, 0xc0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`FileCause::Read`], [`FileCause::Write`], [`FileCause::Cast`] and [`FileCause::OutOfMemory`]. What `sink` got before
/// the error is the beginning of the output.
///
/// Before any work: [`FileCause::TooLarge`] if the size of an input range or of the output overflows;
/// [`FileCause::Request`] for an input that `inputs` does not have, for strings, for
/// [`OnePerByte`](CodeStorage::OnePerByte) with codes of 8 bits or more, for [`BigEndian`](CodeStorage::BigEndian) with
/// narrower ones, for packed codes narrower than a byte in column-major order, and for codes with scales, which need
/// [`write_scaled`].
pub fn write(
    plan: &FilePlan,
    inputs: &[&dyn ReadAt],
    settings: &StreamSettings,
    caster: &CastPiece<'_>,
    sink: &mut dyn FnMut(FinishedPiece<'_>) -> io::Result<()>,
) -> Result<(), FileError> {
    make(plan, inputs, settings, (caster, None), sink)
}

/// Makes an output as [`write()`], also of a plan with codes that have scales ([`Part::Scaled`]). `scaled` casts them; that
/// on the CPU is [`cpu::cast_scaled_counted`]. For a plan that quantizes it is [`cpu::cast_divided_counted`].
///
/// # Errors
/// Those of [`write()`]. [`FileCause::Malformed`] for a scale that is no finite number; it is found when its piece is made.
/// Before any work, [`FileCause::Request`] for scales that do not fit their codes.
pub fn write_scaled(
    plan: &FilePlan,
    inputs: &[&dyn ReadAt],
    settings: &StreamSettings,
    caster: &CastPiece<'_>,
    scaled: &CastScaledPiece<'_>,
    sink: &mut dyn FnMut(FinishedPiece<'_>) -> io::Result<()>,
) -> Result<(), FileError> {
    make(plan, inputs, settings, (caster, Some(scaled)), sink)
}

/// Makes an output. A program that never casts codes with scales gives no function for that, and does not contain it.
fn make(
    plan: &FilePlan,
    inputs: &[&dyn ReadAt],
    settings: &StreamSettings,
    (caster, scaled): (&CastPiece<'_>, Option<&CastScaledPiece<'_>>),
    sink: &mut dyn FnMut(FinishedPiece<'_>) -> io::Result<()>,
) -> Result<(), FileError> {
    if let (None, Some(Part::Scaled(part))) = (scaled, plan.parts.iter().find(|part| matches!(part, Part::Scaled(_)))) {
        return Err(FileError::from(PlanFault::NoScaledCaster).of_tensor(&part.cast.name));
    }
    plan.parts.iter().try_for_each(|part| check(part, inputs.len()))?;
    plan.bytes().ok_or(PlanFault::Size)?;
    let memory = settings.memory.max(1 << 20);
    // A slab gets half of the memory, and the buffers of pieces the other half: there are `BUFFERS` of them, and each grows
    // up to `limit` bytes that are read and `limit` bytes that are written.
    let slab = usize::try_from(memory / 2).unwrap_or(usize::MAX);
    let work = Work { plan, inputs, caster, scaled, slab, relative_errors: settings.relative_errors };
    let limit = (memory / BUFFERS / 4).min(LARGEST_PIECE);
    let todo = pieces(plan, limit).skip_while(|piece| piece.output.end <= settings.start);
    let mut finish = |made: &Made| {
        let bytes = &made.buffers.output[..made.size()];
        let finished = FinishedPiece { piece: &made.piece, bytes, losses: &made.losses };
        sink(finished).map_err(|error| FileError::from(FileCause::Write(error)).at(made.piece.output.start))
    };
    run(&work, todo, &mut finish)
}

/// Checks that a part can be made from `inputs` inputs.
pub(super) fn check(part: &Part, inputs: usize) -> Result<(), FileError> {
    let (input, offset, bytes) = match part {
        Part::Bytes(_) => return Ok(()),
        Part::Copy(range) => (range.input, range.offset, Some(range.bytes)),
        Part::Cast(_) | Part::Codes(_) | Part::Scaled(_) => {
            let Some(elements) = part.elements() else { unreachable!("it has elements") };
            let refused = |fault: PlanFault| FileError::from(fault).of_tensor(elements.name);
            let sides = [elements.from, elements.to];
            if let Some(side) = sides.iter().find(|side| !side.element_type.is_numeric()) {
                return Err(refused(PlanFault::no_numbers(side.element_type)));
            }
            let is_possible = |side: &TensorStorage| match side.codes {
                CodeStorage::Packed => true,
                CodeStorage::BigEndian => code_bits(side.element_type) >= 8,
                CodeStorage::OnePerByte => code_bits(side.element_type) < 8,
            };
            if !sides.iter().all(is_possible) {
                return Err(refused(PlanFault::CodeWidth));
            }
            let is_packed = elements.from.codes == CodeStorage::Packed && code_bits(elements.from.element_type) < 8;
            if !elements.column_major.is_empty() && is_packed {
                return Err(refused(PlanFault::PackedColumns));
            }
            if let Part::Scaled(scaled) = part {
                scaled.check(inputs).map_err(|error| error.of_tensor(elements.name))?;
            }
            (elements.input, elements.offset, elements.from.bytes(elements.count))
        }
    };
    if input >= inputs {
        return Err(PlanFault::NoInput { input, inputs }.into());
    }
    bytes.and_then(|bytes| offset.checked_add(bytes)).ok_or(PlanFault::Size)?;
    Ok(())
}

/// Reads, casts and hands over one piece after the other.
#[cfg(target_family = "wasm")]
fn run(
    work: &Work<'_>,
    mut todo: impl Iterator<Item = Piece>,
    finish: &mut dyn FnMut(&Made) -> Result<(), FileError>,
) -> Result<(), FileError> {
    run_alone(work, &mut todo, finish)
}

/// Works on one piece after another.
fn run_alone(
    work: &Work<'_>,
    todo: &mut dyn Iterator<Item = Piece>,
    finish: &mut dyn FnMut(&Made) -> Result<(), FileError>,
) -> Result<(), FileError> {
    let (mut buffers, mut columns) = (Buffers::default(), None);
    for piece in todo {
        let mut made = work.read(piece, buffers, &mut columns)?;
        work.cast(&mut made)?;
        finish(&made)?;
        buffers = made.buffers;
    }
    Ok(())
}

/// Works on three pieces at once: reads one, casts the one before it, and hands over the one before that. If the system
/// refuses the threads for that, works on one piece after another.
#[cfg(not(target_family = "wasm"))]
fn run(
    work: &Work<'_>,
    mut todo: impl Iterator<Item = Piece> + Send,
    finish: &mut dyn FnMut(&Made) -> Result<(), FileError>,
) -> Result<(), FileError> {
    let done = run_on_threads(work, &mut todo, finish);
    done.unwrap_or_else(|| run_alone(work, &mut todo, finish))
}

/// As [`run`]. `None` if the system refuses a thread. Then nothing is done.
#[cfg(not(target_family = "wasm"))]
fn run_on_threads(
    work: &Work<'_>,
    todo: &mut (dyn Iterator<Item = Piece> + Send),
    finish: &mut dyn FnMut(&Made) -> Result<(), FileError>,
) -> Option<Result<(), FileError>> {
    use std::sync::mpsc::{channel, sync_channel};
    use std::thread::{Builder, scope};
    scope(|scope| {
        // This closure drops its ends of the channels when it returns. The threads then fail to send or receive, and end.
        let (give_back, free) = channel();
        for _ in 0..BUFFERS {
            let _ = give_back.send(Buffers::default());
        }
        let (send_read, read) = sync_channel::<Result<Made, FileError>>(1);
        let (send_cast, cast) = sync_channel::<Result<Made, FileError>>(1);
        let casts = move || {
            for made in read {
                let made = made.and_then(|mut made| work.cast(&mut made).map(|()| made));
                let failed = made.is_err();
                if send_cast.send(made).is_err() || failed {
                    return;
                }
            }
        };
        let reads = move || {
            let mut columns = None;
            for piece in todo {
                let Ok(buffers) = free.recv() else { return };
                let made = work.read(piece, buffers, &mut columns);
                let failed = made.is_err();
                if send_read.send(made).is_err() || failed {
                    return;
                }
            }
        };
        // The one that reads begins last, so that no piece is taken if the other one cannot begin.
        Builder::new().spawn_scoped(scope, casts).ok()?;
        Builder::new().spawn_scoped(scope, reads).ok()?;
        let finished = cast.into_iter().try_for_each(|made| {
            let made = made?;
            finish(&made)?;
            let _ = give_back.send(made.buffers);
            Ok(())
        });
        Some(finished)
    })
}

/// The inputs and settings that all pieces share.
struct Work<'a> {
    plan: &'a FilePlan,
    inputs: &'a [&'a dyn ReadAt],
    caster: &'a CastPiece<'a>,
    scaled: Option<&'a CastScaledPiece<'a>>,
    /// The memory for a slab of an array in column-major order, in bytes.
    slab: usize,
    relative_errors: bool,
}

/// What reads the elements of a part that lie in another order in the input, and the index of the part.
type Columns<'a> = Option<(usize, Reordered<'a>)>;

enum Reordered<'a> {
    /// An array in column-major order.
    Array(RowMajorReader<'a>),
    /// A transposed matrix with scales.
    Scaled(Transposed<'a>),
}

/// The memory of one piece. A later piece uses it again.
#[derive(Default)]
struct Buffers {
    /// The elements as the inputs store them: those that are to be cast or stored in another way.
    input: Vec<u8>,
    /// The bytes of the piece.
    output: Vec<u8>,
    /// The packed codes before and after a cast, where the input or the output stores one code per byte.
    packed: [Vec<u8>; 2],
    /// The scales of each fragment that has some, in their order.
    operands: Vec<Operands>,
}

/// A piece that was read, and perhaps cast.
struct Made {
    piece: Piece,
    buffers: Buffers,
    losses: Vec<(usize, CastLoss)>,
}

impl Made {
    fn size(&self) -> usize {
        self.piece.fragments.last().map_or(0, |fragment| fragment.bytes.end)
    }
}

/// The first `bytes` bytes of a buffer, which grows if it is shorter and never shrinks.
fn reserve(buffer: &mut Vec<u8>, bytes: usize) -> Result<&mut [u8], FileError> {
    if buffer.len() < bytes {
        resize(buffer, bytes as u64)?;
    }
    Ok(&mut buffer[..bytes])
}

fn failed(name: &str, error: Error) -> FileError {
    FileError::from(error).of_tensor(name)
}

impl<'a> Work<'a> {
    /// Reads what a piece needs. Given bytes and copied ranges go to their places in the output at once.
    fn read(&self, piece: Piece, mut buffers: Buffers, columns: &mut Columns<'a>) -> Result<Made, FileError> {
        let last = piece.fragments.last();
        let output = reserve(&mut buffers.output, last.map_or(0, |fragment| fragment.bytes.end))?;
        let read = piece.fragments.iter().map(|fragment| fragment.source.end).max();
        let input = reserve(&mut buffers.input, read.unwrap_or(0))?;
        let mut scaled = 0;
        for fragment in &piece.fragments {
            let Fragment { range, bytes, source, .. } = fragment;
            match &self.plan.parts[fragment.part] {
                Part::Bytes(own) => {
                    output[bytes.clone()].copy_from_slice(&own[range.start as usize..range.end as usize]);
                }
                Part::Copy(copied) => {
                    self.read_at(copied.input, copied.offset + range.start, &mut output[bytes.clone()])?;
                }
                part => {
                    let Some(elements) = part.elements() else { unreachable!("the other parts have none") };
                    let buffer = &mut input[source.clone()];
                    if let Part::Scaled(cast) = part {
                        if buffers.operands.len() == scaled {
                            buffers.operands.push(Operands::default());
                        }
                        let operands = &mut buffers.operands[scaled];
                        scaled += 1;
                        if !cast.transposed {
                            operands.read(cast, range.clone(), self.inputs, None)?;
                        } else {
                            if columns.as_ref().is_none_or(|(part, _)| *part != fragment.part) {
                                let reader = Transposed::new(cast, self.inputs, self.slab)?;
                                *columns = Some((fragment.part, Reordered::Scaled(reader)));
                            }
                            let Some((_, Reordered::Scaled(reader))) = columns else { unreachable!("it was made") };
                            operands.read(cast, range.clone(), self.inputs, Some(reader))?;
                            reader.codes(range.clone(), buffer)?;
                            continue;
                        }
                    }
                    if elements.column_major.is_empty() {
                        let (before, _) = elements.sizes(range.start);
                        let read = self.read_at(elements.input, elements.offset + before, buffer);
                        read.map_err(|error| error.of_tensor(elements.name))?;
                        continue;
                    }
                    let failed = |error: FileError| error.of_input(elements.input).of_tensor(elements.name);
                    if columns.as_ref().is_none_or(|(part, _)| *part != fragment.part) {
                        let (size, _) = elements.sizes(1);
                        let (from, axes) = (self.inputs[elements.input], elements.column_major);
                        let reader = RowMajorReader::new(from, elements.offset, size as usize, axes, self.slab);
                        *columns = Some((fragment.part, Reordered::Array(reader.map_err(failed)?)));
                    }
                    let Some((_, Reordered::Array(reader))) = columns else { unreachable!("the reader was made") };
                    reader.read(range.start, buffer).map_err(failed)?;
                }
            }
        }
        Ok(Made { piece, buffers, losses: Vec::new() })
    }

    fn read_at(&self, input: usize, offset: u64, buffer: &mut [u8]) -> Result<(), FileError> {
        read_at(self.inputs[input], offset, buffer).map_err(|error| error.of_input(input))
    }

    fn cast(&self, made: &mut Made) -> Result<(), FileError> {
        let Buffers { input, output, packed, operands } = &mut made.buffers;
        let mut operands = operands.iter();
        for fragment in &made.piece.fragments {
            let (source, destination) = (&mut input[fragment.source.clone()], &mut output[fragment.bytes.clone()]);
            let len = (fragment.range.end - fragment.range.start) as usize;
            match &self.plan.parts[fragment.part] {
                Part::Bytes(_) | Part::Copy(_) => {}
                Part::Codes(codes) => {
                    let stored = repack(codes.element_type, len, [codes.from, codes.to], source, destination);
                    stored.map_err(|error| failed(&codes.name, error))?;
                }
                Part::Scaled(scaled) => {
                    let (Some(operands), Some(caster)) = (operands.next(), self.scaled) else {
                        unreachable!("the plan was checked, and they were read")
                    };
                    let errors = self.relative_errors;
                    let lost = scaled.cast(operands, source, &fragment.range, destination, caster, errors);
                    made.losses.push((fragment.part, lost.map_err(|error| error.of_tensor(&scaled.cast.name))?));
                }
                Part::Cast(cast) => {
                    let lost = self.cast_fragment(cast, len, source, destination, packed)?;
                    made.losses.push((fragment.part, lost));
                }
            }
        }
        Ok(())
    }

    fn cast_fragment(
        &self,
        cast: &TensorCast,
        len: usize,
        source: &mut [u8],
        destination: &mut [u8],
        [packed_source, packed_destination]: &mut [Vec<u8>; 2],
    ) -> Result<CastLoss, FileError> {
        let [from, to] = [cast.from.element_type, cast.to.element_type];
        let spec = CastSpec::new(from, to).with_options(cast.options);
        let packed_bytes = |element_type: ElementType| element_type.packed_bytes(len as u64).unwrap_or(0) as usize;
        let source = match cast.from.codes {
            CodeStorage::Packed => source,
            CodeStorage::BigEndian => {
                swap_bytes(source, from);
                source
            }
            CodeStorage::OnePerByte => {
                let packed = reserve(packed_source, packed_bytes(from))?;
                repack(from, len, [CodeStorage::OnePerByte, CodeStorage::Packed], source, packed)
                    .map_err(|error| failed(&cast.name, error))?;
                packed
            }
        };
        let packed_result = match cast.to.codes {
            CodeStorage::OnePerByte => reserve(packed_destination, packed_bytes(to))?,
            _ => &mut *destination,
        };
        let counts = (self.caster)(&spec, source, len, packed_result);
        let counts = counts.map_err(|error| failed(&cast.name, error))?;
        let mut lost = CastLoss { counts, relative_error: 0.0 };
        if self.relative_errors {
            let error = cpu::largest_relative_error(&spec, source, len, packed_result);
            lost.relative_error = error.map_err(|error| failed(&cast.name, error))?;
        }
        if cast.clamp && lost.counts.infinite > 0 {
            clamp(from, source, to, packed_result);
            lost.counts.saturated += std::mem::take(&mut lost.counts.infinite);
        }
        match cast.to.codes {
            CodeStorage::Packed => {}
            CodeStorage::BigEndian => swap_bytes(destination, to),
            CodeStorage::OnePerByte => {
                let packed = &packed_destination[..packed_bytes(to)];
                repack(to, len, [CodeStorage::Packed, CodeStorage::OnePerByte], packed, destination)
                    .map_err(|error| failed(&cast.name, error))?;
            }
        }
        Ok(lost)
    }
}
