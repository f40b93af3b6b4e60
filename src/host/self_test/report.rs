//! What a self-test found.

use crate::types::error::Error;
use crate::types::spec::CastSpec;

/// The casts that a device does right: the result of [`Caster::self_test`](crate::Caster::self_test).
///
/// It holds for the driver of the device, for this version of the crate, and for the coverage that was tested.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "casts that did not pass must not run on this device"]
pub struct SelfTestReport {
    results: Vec<(CastSpec, Result<(), Error>)>,
}

impl SelfTestReport {
    pub(super) fn new(results: Vec<(CastSpec, Result<(), Error>)>) -> Self {
        Self { results }
    }

    /// The casts in the order in which they were given, each with the first error of its test.
    ///
    /// [`CastFault::SelfTest`](crate::CastFault::SelfTest), [`CastFault::Incomplete`](crate::CastFault::Incomplete) and
    /// [`CastFault::Kernel`](crate::CastFault::Kernel) show a fault of this driver that will come again.
    /// [`CastFault::OutOfMemory`](crate::CastFault::OutOfMemory) and [`CastFault::Device`](crate::CastFault::Device)
    /// may not come again; such a cast was not tested to its end. [`CastFault::NoKernel`](crate::CastFault::NoKernel)
    /// and [`CastFault::Limit`](crate::CastFault::Limit) mean that the device cannot do the cast with any driver.
    pub fn results(&self) -> impl ExactSizeIterator<Item = (&CastSpec, Result<(), &Error>)> {
        self.results.iter().map(|(spec, result)| (spec, result.as_ref().copied()))
    }

    /// Whether a cast may run on this device: it was tested, and every result was right. False for a cast that was not
    /// tested.
    pub fn passed(&self, spec: &CastSpec) -> bool {
        let mut results = self.results.iter().filter(|(tested, _)| tested == spec).peekable();
        results.peek().is_some() && results.all(|(_, result)| result.is_ok())
    }

    /// The first error, for programs that need all of the casts.
    ///
    /// # Errors
    /// The error of the first cast that did not pass.
    pub fn into_result(self) -> Result<(), Error> {
        self.results.into_iter().try_for_each(|(_, result)| result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::element::ElementType;
    use crate::types::error::CastFault;

    #[test]
    fn a_cast_passes_if_it_was_tested_and_never_failed() {
        let [a, b, c] = [ElementType::INT8, ElementType::FLOAT16, ElementType::STRING]
            .map(|to| CastSpec::new(ElementType::FLOAT, to));
        let error = Error::cast(b.from, b.to, CastFault::Incomplete);
        let report = |results: &[(CastSpec, Result<(), Error>)]| SelfTestReport::new(results.to_vec());
        let mixed = report(&[(a, Ok(())), (b, Ok(())), (b, Err(error.clone()))]);
        assert_eq!([a, b, c].map(|spec| mixed.passed(&spec)), [true, false, false]);
        assert_eq!(
            mixed.results().collect::<Vec<_>>(),
            [(&a, Ok(())), (&b, Ok(())), (&b, Err(&error))],
            "in the order of the casts"
        );
        assert_eq!(mixed.into_result(), Err(error));
        assert_eq!(report(&[(a, Ok(())), (b, Ok(()))]).into_result(), Ok(()));
        assert_eq!(report(&[]).into_result(), Ok(()));
        assert!(!report(&[]).passed(&a), "what was not tested did not pass");
    }
}
