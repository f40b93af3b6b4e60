//! Files of raw codes.

use wgpu_cast::{CastOptions, ElementType};
use wgpu_cast_files::{ReadAt, raw_plan, raw_tensor};

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
    assert_eq!(read(float, Some(2)), "expected 8 bytes for 2 elements of float, got 7");
    assert_eq!(read(ElementType::INT4, Some(12)), "expected 6 bytes for 12 elements of int4, got 7");
    assert_eq!(
        read(float, Some(u64::MAX)),
        format!("{} elements of float are too many: their size overflows", u64::MAX)
    );
    assert_eq!(read(ElementType::STRING, None), "expected numbers, got string");
    let tensor = raw_tensor(&file, 0, ElementType::UINT8, None).unwrap();
    let strings = raw_plan(&tensor, ElementType::STRING, &CastOptions::default()).unwrap_err();
    assert_eq!(strings.to_string(), "expected numbers, got string");
}
