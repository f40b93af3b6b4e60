// f32_to_f64.wgsl — binary32 to binary64, exactly; NaN becomes the canonical NaN

fn f32_to_f64(value: u32) -> vec2<u32> {
    var magnitude = value & 0x7fffffffu;
    // The difference of the biases, 1023 - 127, in the exponent field.
    var rebias = 0x38000000u;
    if (magnitude < 0x00800000u) {
        // A subnormal's leading bit moves to the place of the implicit bit, where it adds one to the exponent.
        let shift = (countLeadingZeros(magnitude) - 8u) & 31u;
        rebias = select(0x38000000u - (shift << 20u), 0u, magnitude == 0u);
        magnitude = magnitude << shift;
    }
    var low = magnitude << 29u;
    var high = (magnitude >> 3u) + rebias;
    if (magnitude >= 0x7f800000u) {
        low = 0u;
        high = select(0x7ff00000u, 0x7ff80000u, magnitude > 0x7f800000u);
    }
    return vec2<u32>(low, high | (value & 0x80000000u));
}
