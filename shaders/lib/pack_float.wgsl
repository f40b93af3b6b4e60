// pack_float.wgsl — joins a magnitude's code with the hub's sign, and replaces NaN, for a float of at most 16 bits
// reads: HUB_BITS HUB_TOP DST_BITS DST_MAX DST_OVERFLOW DST_NAN DST_NAN_KEEP DST_NAN_FLIP DST_FNUZ

// `code` is at most DST_OVERFLOW. For NaN it is DST_OVERFLOW, since a NaN's magnitude in the hub is beyond all numbers.
fn pack_float(hub: u32, code: u32) -> u32 {
    var sign = (hub >> (HUB_BITS - DST_BITS)) & (1u << (DST_BITS - 1u));
    if (DST_FNUZ) {
        // There is no -0.
        sign = select(sign, 0u, code == 0u);
    }
    let packed = code | sign;
    if (DST_OVERFLOW == DST_NAN && (DST_NAN_KEEP != 0u || DST_FNUZ)) {
        return packed;
    }
    let nan = (hub & ((1u << (HUB_BITS - 1u)) - 1u)) > HUB_TOP;
    if (DST_NAN_FLIP != 0u) {
        // A format without NaN. In `code`, NaN is the largest number, so all bits but the sign are ones. The XOR makes it
        // zero with the other sign.
        return packed ^ select(0u, DST_MAX | DST_NAN_FLIP, nan);
    }
    return select(packed, DST_NAN | (sign & DST_NAN_KEEP), nan);
}
