//! Known answers: source codes, their right results, and the comparison with the results of a device.

use super::arrangement::{Arrangement, GUARD, Order};
use super::codes::{ELEMENTS, codes};
use crate::bits::packing::{pack_codes, read_code};
use crate::caster::{Destination, Source};
use crate::gpu::error_scope::watched;
use crate::host::device_link::DeviceLink;
use crate::host::pipelined;
use crate::types::conversion::Conversion;
use crate::types::element::ElementType;
use crate::types::error::{CastFault, Error};
use crate::types::spec::CastSpec;

/// The content of a buffer before a cast.
const POISON: u8 = 0xa5;

/// Packed source codes and the expected results. The reference computes the results. The fast loops of the CPU path
/// would be most of a program that casts on devices only.
pub(super) struct Known {
    spec: CastSpec,
    pub conversion: Conversion,
    elements: usize,
    source: Vec<u8>,
    pub expected: Vec<u8>,
}

impl Known {
    pub(super) fn new(spec: &CastSpec, elements: usize) -> Result<Self, Error> {
        let conversion = Conversion::new(spec.from, spec.to, &spec.options)?;
        let source = packed(&conversion, spec.from, codes(spec.from).step_by(ELEMENTS / elements).take(elements))?;
        let expected = conversion.cast_packed(&source, elements)?;
        Ok(Self { spec: *spec, conversion, elements, source, expected })
    }

    /// Casts in the way of host tensors, which proves that the device executes submissions at all.
    pub(super) async fn check_host(&self, link: &DeviceLink) -> Result<(), Error> {
        let mut got = vec![0; self.expected.len()];
        pipelined::cast(link, &self.conversion, &self.source, self.elements as u64, &mut got).await?;
        self.compare(&got, &self.expected, self.elements, 0, |i| i)
    }

    /// The packed results of a cast that reads the source in the given order.
    pub(super) fn expected_in(&self, order: Order) -> Result<Vec<u8>, Error> {
        if order == Order::Dense {
            return Ok(self.expected.clone());
        }
        let to = self.conversion.to;
        let code = |i| read_code(&self.expected, to.code_bits(), order.source_index(i));
        packed(&self.conversion, to, (0..order.elements()).map(code))
    }

    /// Casts between slices of buffers as an engine does, and checks that nothing around the destination changes.
    /// `expected` has the results in the arrangement's order.
    pub(super) async fn check_slices(
        &self,
        link: &DeviceLink,
        arrangement: &Arrangement,
        expected: &[u8],
    ) -> Result<(), Error> {
        let (conversion, offsets) = (&self.conversion, arrangement.offsets);
        let prepared = arrangement.prepare(&link.caster, &self.spec)?;
        let [start, result_start] = [offsets.source / 8, offsets.destination / 8];
        // The destination's buffer as it must be after the cast. Before the cast, it holds the poison, or the source if
        // that is in the same buffer.
        let mut memory = Vec::new();
        put(&mut memory, start, &self.source);
        let mut image = if offsets.one_buffer { memory.clone() } else { Vec::new() };
        put(&mut image, result_start, expected);
        memory.resize(memory.len().max(image.len()), POISON);
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
        let record = || {
            let source = link.filled(conversion, "cast self-test", &memory, usage)?;
            let destination = match offsets.one_buffer {
                true => source.clone(),
                false => link.filled(conversion, "cast self-test", &vec![POISON; image.len()], usage)?,
            };
            let input = source.slice(start..start + prepared.source_bytes());
            let output = destination.slice(result_start..result_start + prepared.destination_bytes());
            let mut encoder = link.encoder(conversion)?;
            prepared.record(&mut encoder, Source::whole(input), Destination::whole(output))?;
            Ok((encoder, [source, destination]))
        };
        let got = outcome(link, conversion, (memory.len() + image.len()) as u64, record).await?;
        if got == image {
            return Ok(());
        }
        let result = result_start as usize..(result_start + prepared.destination_bytes()) as usize;
        let (order, elements) = (arrangement.order, arrangement.order.elements());
        self.compare(&got[result], expected, elements, result_start, |i| order.source_index(i))?;
        self.compare_outside(&got, &image)
    }

    /// Compares the buffer of a destination with `image`. The result itself is right already.
    fn compare_outside(&self, got: &[u8], image: &[u8]) -> Result<(), Error> {
        match image.iter().zip(got).position(|(expected, got)| expected != got) {
            Some(offset) => {
                let [got, expected] = [got, image].map(|bytes| bytes[offset].into());
                let fault = CastFault::SelfTest { code: None, got, expected, offset: offset as u64 };
                Err(self.conversion.error(fault))
            }
            None => Ok(()),
        }
    }

    /// Compares the codes of a result with the expected ones. The result begins at byte `start` of its buffer.
    /// `source_index` gives the index of the source code for an element.
    fn compare(
        &self,
        got: &[u8],
        expected: &[u8],
        elements: usize,
        start: u64,
        source_index: impl Fn(usize) -> usize,
    ) -> Result<(), Error> {
        if got == expected {
            return Ok(());
        }
        let Conversion { from, to, .. } = self.conversion;
        let [got, expected] = [got, expected].map(|bytes| move |i| read_code(bytes, to.code_bits(), i));
        let Some(index) = (0..elements).find(|&i| got(i) != expected(i)) else { return Ok(()) };
        let code = read_code(&self.source, from.code_bits(), source_index(index));
        let offset = start + index as u64 * u64::from(to.code_bits()) / 8;
        let fault = CastFault::SelfTest { code: Some(code), got: got(index), expected: expected(index), offset };
        Err(self.conversion.error(fault))
    }
}

/// The content of a buffer after some commands. `record` makes the commands and the buffers; the last buffer is read.
/// `bytes` is the memory that they take.
pub(super) async fn outcome<const N: usize>(
    link: &DeviceLink,
    conversion: &Conversion,
    bytes: u64,
    record: impl FnOnce() -> Result<(wgpu::CommandEncoder, [wgpu::Buffer; N]), Error>,
) -> Result<Vec<u8>, Error> {
    let (recorded, verdict) = watched(&link.device, record);
    let got = match verdict.with(conversion, bytes, recorded).await {
        Ok((encoder, buffers)) => {
            let got = link.contents(conversion, encoder, &buffers[N - 1]).await;
            buffers.iter().for_each(wgpu::Buffer::destroy);
            got
        }
        Err(error) => Err(error),
    };
    match got {
        Err(error) => Err(link.diagnose(error).await),
        got => got,
    }
}

fn packed(
    conversion: &Conversion,
    element_type: ElementType,
    codes: impl Iterator<Item = u64>,
) -> Result<Vec<u8>, Error> {
    let full = |_| conversion.error(CastFault::OutOfMemory { bytes: 0 });
    pack_codes(element_type.code_bits(), codes).map_err(full)
}

/// Copies bytes into `memory`, which grows so that guard bytes follow them.
fn put(memory: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let offset = offset as usize;
    let end = (offset + bytes.len()).next_multiple_of(4) + GUARD as usize;
    memory.resize(end.max(memory.len()), POISON);
    memory[offset..offset + bytes.len()].copy_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_bit_is_found_and_named() {
        let known = Known::new(&CastSpec::new(ElementType::FLOAT16, ElementType::INT8), ELEMENTS).unwrap();
        let mut bytes = known.expected.clone();
        let (index, expected) = (20_000, u64::from(bytes[20_000]));
        bytes[index] ^= 0x40;
        let fault = CastFault::SelfTest { code: Some(20_000), got: expected ^ 0x40, expected, offset: 20_256 };
        let error = Error::cast(ElementType::FLOAT16, ElementType::INT8, fault);
        assert_eq!(known.compare(&bytes, &known.expected, ELEMENTS, 256, |i| i), Err(error));
    }

    #[test]
    fn a_byte_that_changes_beside_the_result_is_found_and_named() {
        let (from, to) = (ElementType::FLOAT16, ElementType::INT8);
        let known = Known::new(&CastSpec::new(from, to), 75).unwrap();
        let mut image = Vec::new();
        put(&mut image, GUARD, &known.expected);
        assert_eq!(known.compare_outside(&image, &image), Ok(()));
        for offset in [0, GUARD - 1, GUARD + 75, image.len() as u64 - 1] {
            let mut got = image.clone();
            got[offset as usize] ^= 1;
            let expected = u64::from(image[offset as usize]);
            let fault = CastFault::SelfTest { code: None, got: expected ^ 1, expected, offset };
            assert_eq!(known.compare_outside(&got, &image), Err(Error::cast(from, to, fault)));
        }
    }
}
