use crate::bits::reference::EncodeFloat;

/// The code of a float of at most 16 bits from its magnitude's code and the hub's sign; NaN. `code` is at most
/// `overflow`, which is what NaN of the hub, beyond all numbers, has there too.
pub(crate) fn pack_float(hub: u32, code: u32, to: &EncodeFloat) -> u32 {
    let mut sign = (hub >> (to.hub.bits - to.bits)) & (1 << (to.bits - 1));
    if to.fnuz {
        // There is no -0.
        sign = if code == 0 { 0 } else { sign };
    }
    let packed = code | sign;
    if to.overflow == to.nan && (to.nan_keep != 0 || to.fnuz) {
        return packed;
    }
    let nan = hub & ((1 << (to.hub.bits - 1)) - 1) > to.hub.top;
    if to.nan_flip != 0 {
        // Formats without NaN: from ±max, all ones but for the sign, to zero with the other sign.
        return packed ^ if nan { to.max | to.nan_flip } else { 0 };
    }
    if nan { to.nan | (sign & to.nan_keep) } else { packed }
}
