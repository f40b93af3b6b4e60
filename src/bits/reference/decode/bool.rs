/// Any byte but zero is true.
pub(crate) fn decode_bool(code: u32) -> u32 {
    (code != 0) as u32
}
