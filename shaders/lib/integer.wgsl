// integer.wgsl — an integer of up to 64 bits taken apart

// The sign is in the top bit, the others of its word are 0.
struct Integer {
    sign: u32,
    low: u32,
    high: u32,
}
