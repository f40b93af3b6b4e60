// integer.wgsl — an integer of up to 64 bits as sign and magnitude

// The sign is the top bit of its word; the other bits are 0.
struct Integer {
    sign: u32,
    low: u32,
    high: u32,
}
