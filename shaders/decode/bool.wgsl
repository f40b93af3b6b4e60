// bool.wgsl — a BOOL code to 0 or 1: any byte but zero is true

fn decode_bool(code: u32) -> u32 {
    return select(0u, 1u, code != 0u);
}
