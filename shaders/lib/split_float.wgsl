// split_float.wgsl — floats taken apart for truncation
// reads: DST_BITS

// A float's parts: the place of its leading bit (∞ and NaN: beyond every integer), then its significand in two words
// with the leading bit at the top. Below 1 the significand does not matter.
struct Significand {
    negative: bool,
    nan: bool,
    place: i32,
    top: u32,
    rest: u32,
}

fn split_f32(value: u32) -> Significand {
    let magnitude = value & 0x7fffffffu;
    return Significand(
        value >= 0x80000000u,
        magnitude > 0x7f800000u,
        i32(magnitude >> 23u) - 127,
        0x80000000u | (magnitude << 8u),
        0u,
    );
}

fn split_f16(code: u32) -> Significand {
    let magnitude = code & 0x7fffu;
    var place = i32(magnitude >> 10u) - 15;
    // The low six bits of what ∞ and NaN would be as numbers are 0 as they are.
    if (DST_BITS > 6u) {
        place = select(place, 64, magnitude >= 0x7c00u);
    }
    return Significand(
        (code & 0x8000u) != 0u,
        magnitude > 0x7c00u,
        place,
        0x80000000u | (magnitude << 21u),
        0u,
    );
}

fn split_f64(code: vec2<u32>) -> Significand {
    let magnitude = code.y & 0x7fffffffu;
    return Significand(
        code.y >= 0x80000000u,
        magnitude > 0x7ff00000u || (magnitude == 0x7ff00000u && code.x != 0u),
        i32(magnitude >> 20u) - 1023,
        0x80000000u | (magnitude << 11u) | (code.x >> 21u),
        code.x << 11u,
    );
}

// The integer part of a float whose leading bit stands at `place` 0..=63, as two words.
fn truncate(place: i32, top: u32, rest: u32) -> vec2<u32> {
    let shift = u32(63 - place);
    let part = shift & 31u;
    let low = (rest >> part) | ((top << 1u) << (31u - part));
    let high = top >> part;
    return select(vec2<u32>(low, high), vec2<u32>(high, 0u), shift >= 32u);
}
