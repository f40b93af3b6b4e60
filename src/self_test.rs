//! Known answers: what a device makes of hard codes, beside what the CPU path makes of them.

use crate::caster::CastSpec;
use crate::conversion::Conversion;
use crate::cpu;
use crate::element::ElementType;
use crate::error::Error;
use crate::gpu::transfer::Link;
use crate::tensor::Tensor;

/// Elements of a test: several workgroups of every kernel for units, and a rest for that of the edges.
const ELEMENTS: usize = (1 << 16) + 77;

/// Casts hard codes on the device.
pub(crate) async fn check(link: &Link, spec: &CastSpec) -> Result<(), Error> {
    let (from, to) = (spec.from, spec.to);
    let conversion = Conversion::new(from, to, &spec.options)?;
    let tensor = Tensor::from_codes(from, [ELEMENTS], codes(from))?;
    let expected = cpu::cast(&tensor, to, &spec.options)?;
    let mut got = vec![0; expected.bytes().unwrap_or_default().len()];
    let source = tensor.bytes().unwrap_or_default();
    link.cast(&conversion, source, ELEMENTS as u64, &mut got).await?;
    let got = Tensor::from_bytes(to, [ELEMENTS], got)?;
    let pairs = got.codes().zip(expected.codes()).zip(tensor.codes());
    match pairs.into_iter().find(|((got, expected), _)| got != expected) {
        Some(((got, expected), code)) => Err(Error::SelfTest { from, to, code, got, expected }),
        None => Ok(()),
    }
}

/// Every code of at most 16 bits. Of wider ones, a few significant bits after any number of leading zeros or ones, which
/// meets every exponent of a float and every magnitude of an integer, and what lies beside them.
fn codes(element_type: ElementType) -> impl Iterator<Item = u64> {
    let bits = element_type.code_bits();
    let mask = u64::MAX >> (64 - bits);
    (0..ELEMENTS as u64).map(move |i| {
        if bits <= 16 {
            return i & mask;
        }
        let (place, near) = (i % 64, (i >> 6) % 4);
        let pattern = (i >> 8).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (place % u64::from(bits));
        let signed = if i & (1 << 15) == 0 { pattern } else { !pattern };
        (signed >> (64 - bits)).wrapping_add(near).wrapping_sub(2) & mask
    })
}
