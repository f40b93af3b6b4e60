//! Files of raw codes.

use wgpu_cast::{CastOptions, ElementType};
use wgpu_cast_files::{RawError, ReadAt, raw_plan, raw_tensor};

use crate::plans::execute;

#[test]
fn codes_are_read_and_written_without_a_header() {
    let file = vec![0x21, 0x0f];
    let tensor = raw_tensor(&file, 0, ElementType::INT4, Some(3)).unwrap();
    let plan = raw_plan(&tensor, ElementType::INT16, &CastOptions::default()).unwrap();
    assert_eq!(execute(&plan, &[&file as &dyn ReadAt]), [1, 0, 2, 0, 0xff, 0xff]);
    assert_eq!(raw_tensor(&file, 0, ElementType::INT4, None).unwrap().shape, [4]);
    assert_eq!(raw_tensor(&vec![], 0, ElementType::FLOAT, None).unwrap().shape, [0]);
}

#[test]
fn sizes_that_do_not_match() {
    let file = vec![0; 7];
    let read = |from, elements| raw_tensor(&file, 0, from, elements).unwrap_err().to_string();
    let float = ElementType::FLOAT;
    assert_eq!(read(float, None), "the file size of 7 bytes is not a whole number of float codes of 32 bits");
    assert_eq!(read(float, Some(2)), "2 elements of float need 8 bytes, but the file has 7");
    assert_eq!(read(ElementType::INT4, Some(12)), "12 elements of int4 need 6 bytes, but the file has 7");
    assert_eq!(
        read(float, Some(u64::MAX)),
        format!("{} elements of float are too many: their size overflows", u64::MAX)
    );
    assert!(matches!(raw_tensor(&file, 0, ElementType::STRING, None), Err(RawError::Strings)));
    let tensor = raw_tensor(&file, 0, ElementType::UINT8, None).unwrap();
    assert!(matches!(raw_plan(&tensor, ElementType::STRING, &CastOptions::default()), Err(RawError::Strings)));
}
