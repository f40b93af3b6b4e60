//! String rules: numbers to decimals and back.

use crate::element::ElementType;
use crate::error::Error;
use crate::options::CastOptions;
use crate::tensor::Tensor;
use crate::text::Strings;

/// Numbers to strings.
pub(crate) fn print(tensor: &Tensor) -> Result<Tensor, Error> {
    let mut strings = Strings::default();
    tensor.codes().for_each(|code| strings.push(&code.to_string()));
    Ok(tensor.with_strings(strings))
}

/// Strings to numbers.
pub(crate) fn parse(
    tensor: &Tensor,
    strings: &Strings,
    to: ElementType,
    _options: &CastOptions,
) -> Result<Tensor, Error> {
    let codes = strings.iter().map(|_| 0);
    Tensor::from_codes(to, tensor.shape(), codes)
}
