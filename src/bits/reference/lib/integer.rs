/// An integer of up to 64 bits as sign and magnitude. The sign is the top bit of its word; the other bits are 0.
#[derive(Clone, Copy)]
pub(crate) struct Integer {
    pub sign: u32,
    pub low: u32,
    pub high: u32,
}
