// float4.wgsl — eight codes of 16 bits to FLOAT4E2M1: one rounding to nearest, ties to even
// A magnitude's code is the number of steps, of seven, that the source's magnitude reaches. Two codes in a word are worked
// on at once: of each half, bit 15 of a result has its meaning, and what lies below has none.
// reads: SRC_SIGNED SRC_LEAST_NAN DST_STEPS DST_NAN_FLIP

// Signs in bits 15, and magnitudes.
fn split_lanes(codes: u32) -> vec2<u32> {
    if (SRC_LEAST_NAN != 0u) {
        return vec2<u32>(codes, codes & 0x7fff7fffu);
    }
    if (SRC_SIGNED) {
        let negative = (codes >> 15u) & 0x00010001u;
        // Two's complement negation, where ones are all ones.
        let ones = (negative << 16u) - negative;
        return vec2<u32>(codes, (codes ^ ones) + negative);
    }
    // From 2^14 on, some magnitude there that leaves bit 15 free.
    return vec2<u32>(0u, (codes & 0x7fff7fffu) | ((codes >> 1u) & 0x40004000u));
}

// Magnitudes and steps are at most 0x8000, steps not 0: no half carries into the other.
fn reached(magnitudes: u32, step: u32) -> u32 {
    return magnitudes + (0x8000u - step) * 0x00010001u;
}

// Bits 15, moved down.
fn plane(bits: u32, down: u32) -> u32 {
    return (bits >> down) & (0x80008000u >> down);
}

// Two codes, each `down` bits below the top of its half.
fn lanes_to_float4(codes: u32, down: u32) -> u32 {
    let parts = split_lanes(codes);
    var signs = parts.x;
    var four = reached(parts.y, DST_STEPS[3]);
    if (SRC_LEAST_NAN != 0u) {
        let nan = reached(parts.y, SRC_LEAST_NAN);
        if (DST_NAN_FLIP != 0u) {
            // From ±max, all ones but for the sign, to zero with the other sign; `two` and `one` follow.
            four = four ^ nan;
            signs = signs ^ nan;
        } else {
            signs = signs & ~nan;
        }
    }
    // The bits of a sum, by the parity of the steps that change them.
    let two = four ^ reached(parts.y, DST_STEPS[1]) ^ reached(parts.y, DST_STEPS[5]);
    let low = two ^ reached(parts.y, DST_STEPS[0]) ^ reached(parts.y, DST_STEPS[2]);
    let one = low ^ reached(parts.y, DST_STEPS[4]) ^ reached(parts.y, DST_STEPS[6]);
    return plane(signs, down) | plane(four, down + 1u) | plane(two, down + 2u) | plane(one, down + 3u);
}

fn convert_eight(codes: vec4<u32>) -> u32 {
    // Every other code in each half. In this order half of them lie where they go.
    let even = lanes_to_float4(codes.x, 12u) | lanes_to_float4(codes.z, 8u);
    let halves = even | lanes_to_float4(codes.y, 4u) | lanes_to_float4(codes.w, 0u);
    return (halves & 0xf0f00f0fu) | ((halves << 12u) & 0x0f0f0000u) | ((halves >> 12u) & 0x0000f0f0u);
}
