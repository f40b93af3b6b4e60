use super::*;
use crate::types::side::Side;
use ElementType::{BOOL, DOUBLE, FLOAT, FLOAT16, INT4, INT8, STRING};

fn cast(to: ElementType, cause: CastFault) -> String {
    Error::cast(FLOAT, to, cause).to_string()
}

/// Every result has the size of an error, also when a cast succeeds, so errors must be small.
#[test]
fn errors_are_small() {
    let size = if cfg!(target_pointer_width = "64") { 80 } else { 48 };
    assert_eq!((size_of::<Error>(), size_of::<Result<(), Error>>()), (size, size));
}

#[test]
fn memory_that_belongs_to_no_cast_names_no_types() {
    for (bytes, text) in [(0, ""), (1, " (requested 1 byte)"), (2, " (requested 2 bytes)")] {
        let text = format!("out of memory{text}");
        assert_eq!(Error::OutOfMemory { bytes }.to_string(), text);
        assert_eq!(cast(INT8, CastFault::OutOfMemory { bytes }), format!("casting float to int8: {text}"));
    }
}

#[test]
fn an_entry_of_a_list_is_named_first() {
    let error = Error::Cast { from: FLOAT, to: INT8, entry: Some(3), cause: CastFault::Incomplete };
    assert_eq!(error.to_string(), "entry 3: casting float to int8: the device did not complete the work");
}

#[test]
fn slices_and_their_buffers() {
    let slice = |to, side, fault| cast(to, CastFault::Slice { side, offset: 6, fault });
    let (source, destination) = (Some(Side::Source), Some(Side::Destination));
    let length = |expected, found| SliceFault::Length { expected, found };
    let count = "invalid slice of the count at byte 6:";
    for (to, side, fault, text) in [
        (
            INT8,
            source,
            length(400, 512),
            "the source slice needs 400 bytes to hold the cast's elements, got 512; a longer slice is given as \
             Source::part(slice, 0)"
                .to_owned(),
        ),
        (
            INT8,
            destination,
            length(1, 512),
            "the destination slice needs 1 byte to hold the cast's elements, got 512; a longer slice is given as \
             Destination::part(slice, 0)"
                .to_owned(),
        ),
        (
            INT4,
            destination,
            length(50, 512),
            "the destination slice needs 50 bytes to hold the cast's elements, got 512; a longer slice is given as \
             Destination::part(slice, 0), which keeps the unused bits of the last byte instead of zeroing them"
                .to_owned(),
        ),
        (
            INT8,
            source,
            length(400, 8),
            "the source slice needs 400 bytes to hold the cast's elements, got 8".to_owned(),
        ),
        (
            INT8,
            source,
            SliceFault::Alignment { alignment: 4 },
            "the source slice starts at byte 6, which is not a multiple of 4".to_owned(),
        ),
        (
            INT8,
            destination,
            SliceFault::OutOfRange { end: 24, size: 22 },
            "the elements in the destination slice at byte 6 end at byte 24 (in whole 32-bit words), but the buffer has \
             22 bytes"
                .to_owned(),
        ),
        (
            INT8,
            source,
            SliceFault::MissingUsage { usage: "STORAGE" },
            "the source buffer lacks the usage STORAGE".to_owned(),
        ),
        (
            INT8,
            destination,
            SliceFault::ForeignBuffer,
            "the destination buffer belongs to another device than the caster".to_owned(),
        ),
        (INT8, source, SliceFault::DestroyedBuffer, "the source buffer was destroyed".to_owned()),
        (INT8, None, length(4, 8), format!("{count} it must have 4 bytes")),
        (INT8, None, SliceFault::Alignment { alignment: 4 }, format!("{count} its offset must be a multiple of 4")),
        (
            INT8,
            None,
            SliceFault::OutOfRange { end: 10, size: 8 },
            format!("{count} it ends at byte 10, but its buffer has 8 bytes"),
        ),
        (
            INT8,
            None,
            SliceFault::MissingUsage { usage: "STORAGE" },
            format!("{count} its buffer lacks the usage STORAGE"),
        ),
        (
            INT8,
            None,
            SliceFault::ForeignBuffer,
            format!("{count} its buffer belongs to another device than the caster"),
        ),
        (INT8, None, SliceFault::DestroyedBuffer, format!("{count} its buffer was destroyed")),
    ] {
        assert_eq!(slice(to, side, fault), format!("casting float to {to}: {text}"));
    }
}

#[test]
fn ranges_that_overlap() {
    let range = |entry, side, bytes| BufferRange { entry, side, bytes };
    let (source, destination) = (Some(Side::Source), Some(Side::Destination));
    let overlap = |one, other, is_view| cast(INT8, CastFault::Overlap { ranges: Box::new([one, other]), is_view });
    let both =
        "casting float to int8: the source at bytes 0..16 and the destination at bytes 4..8 of one buffer overlap";
    for (is_view, allowed) in [
        (false, "tensors of types of the same width must start at the same bit, or be apart"),
        (true, "source and destination of a view must be apart"),
    ] {
        let text = overlap(range(None, source, 0..16), range(None, destination, 4..8), is_view);
        assert_eq!(text, format!("{both}; {allowed}"));
    }
    for (side, name) in [(source, "source"), (destination, "destination"), (None, "count")] {
        assert_eq!(
            overlap(range(Some(2), destination, 4..8), range(Some(0), side, 0..16), false),
            format!(
                "casting float to int8: the destination of entry 2 at bytes 4..8 and the {name} of entry 0 at bytes \
                 0..16 of one buffer overlap; the casts of a list run in no order"
            )
        );
    }
    assert_eq!(
        overlap(range(None, None, 0..260), range(None, destination, 256..300), false),
        "casting float to int8: the bindings of the count at bytes 0..260 and the destination at bytes 256..300 of one buffer \
         overlap; a binding starts at the device's alignment, and one over both tensors has all that lies between them"
    );
}

#[test]
fn casts_that_cannot_be_done() {
    for (error, text) in [
        (
            cast(STRING, CastFault::NoKernel),
            "casting float to string is supported only on the CPU: strings have no GPU kernel",
        ),
        (
            cast(INT8, CastFault::NoKernel),
            "casting float to int8: unsupported strided view: a count needs elements that follow one another",
        ),
        (
            cast(INT8, CastFault::Limit { limit: "max_buffer_size", needed: 8, allowed: 4 }),
            "casting float to int8 exceeds the limit max_buffer_size: 8 needed, 4 allowed",
        ),
        (
            cast(INT8, CastFault::DestinationLength { expected: 1, found: 2 }),
            "casting float to int8: the destination must have 1 byte, got 2",
        ),
        (
            cast(INT8, CastFault::Strides { axis: None }),
            "casting float to int8: unsupported strided view: the numbers of strides and axes differ",
        ),
        (
            cast(INT8, CastFault::Strides { axis: Some(1) }),
            "casting float to int8: the elements of the destination overlap along axis 1",
        ),
    ] {
        assert_eq!(error, text);
    }
    let literal = |to, is_number| {
        let fault = CastFault::Literal { index: 7, literal: "a\n".to_owned(), is_number };
        Error::cast(STRING, to, fault).to_string()
    };
    assert_eq!(literal(INT8, false), r#"casting string to int8: element 7 is not a number: "a\n""#);
    assert_eq!(literal(BOOL, false), r#"casting string to bool: element 7 is not a boolean or a number: "a\n""#);
    assert_eq!(literal(INT8, true), r#"casting string to int8: element 7 is out of range for 64-bit integers: "a\n""#);
}

#[test]
fn devices() {
    let message = || "a text".to_owned();
    for (fault, text) in [
        (CastFault::Kernel { message: message() }, "the device rejected the kernel: a text"),
        (CastFault::Device { message: message() }, "a text"),
        (CastFault::DeviceLost { reason: message() }, "the device was lost: a text"),
        (CastFault::Timeout { seconds: 120 }, "the device did not answer within 120 s"),
        (
            CastFault::SelfTest { code: Some(0x10), got: 0x1f, expected: 0, offset: 4 },
            "self-test failed: the device converts 0x10 to 0x1f, expected 0x0",
        ),
        (
            CastFault::SelfTest { code: None, got: 0x1f, expected: 0, offset: 4 },
            "self-test failed: the device changed byte 4, which is outside the destination",
        ),
    ] {
        assert_eq!(cast(INT8, fault), format!("casting float to int8: {text}"));
    }
    let adapters = |names: &[&str]| {
        let available = names.iter().map(|&name| name.to_owned()).collect();
        Error::AdapterNotFound { wanted: "x".to_owned(), available }.to_string()
    };
    assert_eq!(adapters(&[]), r#"no adapter's name contains "x" (available: none)"#);
    assert_eq!(adapters(&["a", "b"]), r#"no adapter's name contains "x" (available: a, b)"#);
}

#[test]
fn element_types_names_and_shapes() {
    let width = |element_type, allowed| Error::ElementWidth { element_type, allowed }.to_string();
    assert_eq!(width(STRING, 64), "string elements have no fixed width");
    assert_eq!(width(DOUBLE, 16), "double elements have 64 bits, at most 16 are allowed");
    let name = |name: &str, taken| Error::WgslName { name: name.to_owned(), taken }.to_string();
    for (text, reason) in [
        ("", "it is empty"),
        ("_", "an underscore alone is no name"),
        ("__a", "names that start with two underscores are reserved"),
        ("1a", "it starts with a digit"),
        ("a b", "only ASCII letters, digits and underscores are supported"),
        ("a_", "it ends with an underscore"),
    ] {
        assert_eq!(name(text, false), format!("{text:?} cannot be used in names of WGSL: {reason}"));
    }
    assert_eq!(
        name("a_", true),
        r#""a_" cannot be used in names of WGSL: an earlier function under the same prefix takes it for an array of other elements, or has the name that this function would have"#
    );
    assert_eq!("flaot".parse::<ElementType>().unwrap_err().to_string(), r#"unknown element type "flaot""#);
    assert_eq!(
        "Up".parse::<crate::types::options::RoundMode>().unwrap_err().to_string(),
        r#"unknown round_mode "Up" (expected up, down or nearest)"#
    );
    let shape = |expected, found, unit| {
        Error::Shape { element_type: FLOAT16, shape: vec![2, 3], expected, found, unit }.to_string()
    };
    assert_eq!(shape(Some(12), Some(1), "byte"), "shape [2, 3] of float16 needs 12 bytes, got 1");
    assert_eq!(shape(Some(6), None, "element"), "shape [2, 3] of float16 needs 6 elements, got more");
    assert_eq!(shape(None, None, "element"), "shape [2, 3] of float16 is too large: its size overflows");
}

#[test]
fn quoted_text_shows_all_that_it_has() {
    assert_eq!(quoted("ä \"\\\0\t\n\r'漢😀"), r#""ä \"\\\0\t\n\r'漢😀""#);
    assert_eq!(quoted("a\u{202e}b\u{200b}\u{feff}\u{e0041}"), r#""a\u{202e}b\u{200b}\u{feff}\u{e0041}""#);
    // As `{:?}`, but for marks that `{:?}` escapes where they come first.
    let letters = (0..0x300).chain(0x2000..0x2070).filter_map(char::from_u32);
    for text in letters.map(|letter| letter.to_string()).filter(|text| text != "\u{2065}") {
        assert_eq!(quoted(&text), format!("{text:?}"));
    }
    // One letter of each range further up.
    for letter in ['\u{3000}', '\u{e000}', '\u{f8ff}', '\u{feff}', '\u{fff9}', '\u{fffb}', '\u{e0001}', '\u{10ffff}'] {
        assert_eq!(quoted(&letter.to_string()), format!("\"\\u{{{:x}}}\"", letter as u32));
    }
    // `{:?}` escapes the first four of these: not assigned, a noncharacter, a format character, a mark that comes first.
    for letter in ['\u{378}', '\u{fffe}', '\u{1d173}', '\u{301}', '\u{3164}'] {
        let text = letter.to_string();
        assert_eq!(quoted(&text), format!("\"{text}\""));
        assert_eq!(format!("{text:?}") == quoted(&text), letter == '\u{3164}');
    }
    assert_eq!(quoted(&"x".repeat(81)), format!("\"{}…\"", "x".repeat(80)));
}
