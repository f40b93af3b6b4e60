use crate::bits::reference::EncodeFloat;

/// Joins the magnitude's code with the hub's sign, and replaces NaN, for a float of at most 16 bits. `code` is at most
/// `overflow`. For NaN it is `overflow`, since a NaN's magnitude in the hub is beyond all numbers.
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
        // A format without NaN. In `code`, NaN is the largest number, so all bits but the sign are ones. The XOR makes
        // it zero with the other sign.
        return packed ^ if nan { to.max | to.nan_flip } else { 0 };
    }
    if nan { to.nan | (sign & to.nan_keep) } else { packed }
}
