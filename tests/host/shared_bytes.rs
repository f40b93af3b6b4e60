//! Tensors whose bytes something else owns.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use support::{cases, numeric};
use wgpu_cast::{Bytes, CastOptions, ElementType, Error, Tensor, cpu};

/// Bytes that can be read once, and a count of how often they are asked for.
struct Owner {
    bytes: Vec<u8>,
    looks: AtomicUsize,
}

impl Owner {
    fn new(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(Self { bytes, looks: 0.into() })
    }
}

struct Shared(Arc<Owner>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        if self.0.looks.fetch_add(1, Ordering::Relaxed) == 0 { &self.0.bytes } else { &[] }
    }
}

fn shared(owner: &Arc<Owner>) -> Bytes {
    Bytes::from_owner(Shared(owner.clone()))
}

fn address(tensor: &Tensor) -> *const u8 {
    tensor.bytes().unwrap().as_ptr()
}

#[test]
fn shared_bytes_give_what_own_bytes_give() {
    for from in numeric() {
        for len in [0, 1, 3, 8, 1001] {
            let own = Tensor::from_codes(from, [len], cases::random(from, len, 7)).unwrap();
            let owner = Owner::new(own.clone().into_bytes().unwrap());
            let tensor = Tensor::from_shared(from, [len], shared(&owner)).unwrap();
            assert_eq!(address(&tensor), owner.bytes.as_ptr(), "{from}: no copy");
            assert_eq!((&tensor, tensor.len(), tensor.codes().len()), (&own, len, len));
            assert!(tensor.codes().eq(own.codes()), "{from}");
            for to in ElementType::ALL.iter().copied() {
                let cast = |tensor| cpu::cast(tensor, to, &CastOptions::default()).unwrap();
                assert!(cast(&tensor) == cast(&own), "{len} {from} to {to}");
                let mut destination = vec![0x5a; to.packed_bytes(len as u64).unwrap_or(0) as usize];
                if to.is_numeric() {
                    cpu::cast_into(&tensor, to, &CastOptions::default(), &mut destination).unwrap();
                    assert!(cast(&own).bytes() == Some(&destination[..]), "{len} {from} into {to}");
                }
            }
            // A clone and another shape share the bytes; a vector does not.
            let clone = tensor.clone().reshape([1, len]).unwrap();
            assert_eq!(address(&clone), owner.bytes.as_ptr());
            assert_eq!(clone.into_bytes().unwrap(), owner.bytes);
            let back = tensor.into_shared().unwrap();
            assert_eq!(back.as_ptr(), owner.bytes.as_ptr());
            drop(back);
            assert_eq!(owner.looks.load(Ordering::Relaxed), 1, "{from}");
            assert_eq!(Arc::strong_count(&owner), 1, "{from}");
        }
    }
}

#[test]
fn casts_to_the_same_codes_share_the_bytes() {
    use ElementType::*;
    for (from, to) in [(UINT8, INT8), (INT64, UINT64), (UINT4, INT4), (INT32, INT32)] {
        let owner = Owner::new(vec![0x91; 8]);
        let tensor = Tensor::from_shared(from, [64 / from.bits().unwrap() as usize], shared(&owner)).unwrap();
        let cast = cpu::cast(&tensor, to, &CastOptions::default()).unwrap();
        assert_eq!((address(&cast), cast.element_type()), (owner.bytes.as_ptr(), to));
    }
}

/// A tensor's own bytes can be shared while a clone holds them, and can become a tensor again.
#[test]
fn own_bytes_are_not_copied_to_be_shared() {
    let own = Tensor::from_slice([2], &[1.0f32, 2.0]).unwrap();
    let shared = own.clone().into_shared().unwrap();
    let again = Tensor::from_shared(ElementType::FLOAT, [2], shared).unwrap();
    assert_eq!(address(&again), address(&own));
    assert_eq!(again, own);
    assert!(Tensor::from_strings([1], ["x"]).unwrap().into_shared().is_none());
}

#[test]
fn owners_of_several_kinds() {
    let bytes = [0x00, 0x3c, 0x00, 0xc0];
    let slice: Arc<[u8]> = Arc::from(bytes);
    let fixed: &'static [u8] = &[0x00, 0x3c, 0x00, 0xc0];
    let boxed: Box<[u8]> = Box::from(bytes);
    let owners = [Bytes::from_owner(slice), Bytes::from_static(fixed), Bytes::from_owner(bytes), boxed.into()];
    for bytes in owners {
        let tensor = Tensor::from_shared(ElementType::FLOAT16, [2], bytes).unwrap();
        assert_eq!(tensor.codes().collect::<Vec<_>>(), [0x3c00, 0xc000]);
        assert_eq!(format!("{tensor:?}").matches(r#"b"\0<\0\xc0""#).count(), 1, "{tensor:?}");
    }
}

/// The owner's memory cannot be written. So bytes are copied if their unused bits are not zero.
#[test]
fn set_bits_after_the_last_element_are_cleared_in_a_copy() {
    for element_type in numeric().filter(|t| t.bits().unwrap() < 8) {
        for len in 1..8 {
            let clean = Tensor::from_codes(element_type, [len], cases::random(element_type, len, 7)).unwrap();
            let mut bytes = clean.bytes().unwrap().to_vec();
            let used = len as u64 * u64::from(element_type.bits().unwrap()) % 8;
            *bytes.last_mut().unwrap() |= if used > 0 { 0xff << used } else { 0 };
            let owner = Owner::new(bytes);
            let tensor = Tensor::from_shared(element_type, [len], shared(&owner)).unwrap();
            assert_eq!(tensor.bytes(), clean.bytes(), "{len} of {element_type}");
            assert_eq!(address(&tensor) == owner.bytes.as_ptr(), used == 0, "{len} of {element_type}");
        }
    }
}

#[test]
fn shared_bytes_of_another_length_are_refused() {
    let error = Tensor::from_shared(ElementType::FLOAT, [2], Bytes::from_static(&[0; 7])).unwrap_err();
    assert_eq!(error.to_string(), "shape [2] of float needs 8 bytes, got 7");
    let error = Tensor::from_shared(ElementType::STRING, [0], Bytes::new()).unwrap_err();
    assert_eq!(error.to_string(), "string elements have no fixed width");
    let error = Tensor::from_shared(ElementType::DOUBLE, [usize::MAX], Bytes::new()).unwrap_err();
    assert!(matches!(error, Error::Shape { element_type: ElementType::DOUBLE, expected: None, .. }));
}
