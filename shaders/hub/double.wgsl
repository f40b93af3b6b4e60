// double.wgsl — binary64 to the hub: binary32 bits rounded to odd

fn double_to_hub(code: vec2<u32>) -> u32 {
    let low = code.x;
    let magnitude = code.y & 0x7fffffffu;
    var hub = ((magnitude - 0x38000000u) << 3u) | (low >> 29u) | select(0u, 1u, (low << 3u) != 0u);
    if (magnitude < 0x38100000u) {
        // Below 2^-126 the hub is subnormal.
        let significand = 0x00800000u | ((magnitude & 0x000fffffu) << 3u) | (low >> 29u);
        let shift = min(897u - (magnitude >> 20u), 31u);
        let lost = (significand & ((1u << shift) - 1u)) | (low << 3u);
        hub = (significand >> shift) | select(0u, 1u, lost != 0u);
        hub = select(hub, 0u, (magnitude | low) == 0u);
    }
    hub = select(hub, 0x7f7fffffu, magnitude >= 0x47f00000u);
    if (magnitude >= 0x7ff00000u) {
        hub = select(0x7f800000u, 0x7fc00000u, magnitude > 0x7ff00000u || low != 0u);
    }
    return hub | (code.y & 0x80000000u);
}
