/// An integer of up to 64 bits taken apart. The sign is in the top bit, the others of its word are 0.
#[derive(Clone, Copy)]
pub(crate) struct Integer {
    pub sign: u32,
    pub low: u32,
    pub high: u32,
}
