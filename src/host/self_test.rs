//! Known answers: casts difficult codes on a device and compares the results with those of the reference.

mod arrangement;
mod codes;
mod known;
mod report;

pub use report::SelfTestReport;

use crate::caster::Caster;
use crate::host::device_link::DeviceLink;
use crate::plan::Coverage;
use crate::types::conversion::Conversion;
use crate::types::element::ElementType;
use crate::types::error::{CastFault, Error};
use crate::types::spec::CastSpec;
use arrangement::{Order, arrangements};
use codes::ELEMENTS;
use known::{Known, outcome};

/// Elements in the test of a newly opened device. They are so few that the test compiles only one kernel.
const FEW: usize = 75;

impl Caster {
    /// Tests the kernels of some casts on this device. It casts edge cases with every kernel of the coverage, and
    /// compares the results bit by bit with the right ones, which the CPU computes. So an engine can find out which
    /// casts it may run on a device, and which must run on the CPU because of a faulty driver.
    ///
    /// `queue` must be the device's queue. No handler is set. Kernels are compiled as by
    /// [`prepare_async`](Self::prepare_async). Otherwise the future blocks while it computes the expected results and
    /// while it waits for the device, except in a browser. The kernels of [`bind_many`](Self::bind_many) and
    /// [`bind_counted`](crate::Prepared::bind_counted) are not run. They differ from the tested ones in how they get
    /// their parameters.
    ///
    /// ```
    /// # fn main() -> Result<(), wgpu_cast::Error> {
    /// # use wgpu_cast::{Context, DeviceChoice};
    /// # let Ok(context) = pollster::block_on(Context::open(DeviceChoice::Gpu)) else { return Ok(()) };
    /// # let (Some(caster), Some(queue)) = (context.caster(), context.queue()) else { return Ok(()) };
    /// use wgpu_cast::{CastSpec, ElementType, Coverage};
    ///
    /// let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT8E4M3FN);
    /// let report = pollster::block_on(caster.self_test(queue, &[spec], Coverage::Aligned))?;
    /// if report.passed(&spec) {
    ///     // Casts of this spec may run on the device.
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Costs
    /// Most of the time is taken by the driver's compiler. It compiles as many kernels as for
    /// [`warm_up`](Self::warm_up); some drivers do so when a kernel first runs. Beside that, a kernel takes a few
    /// milliseconds. [`docs::engine`](crate::docs::engine) has figures. It also says how to keep the answer, so that a
    /// driver is tested only once.
    ///
    /// Kernels that the caster did not have before are dropped after the test of their cast. To keep them, call
    /// `warm_up` first. So the test takes the memory of the kernels of one cast, and less than 16 MiB for buffers. The
    /// latter holds if the device's offset alignment is at most 256 bytes, as on every WebGPU device.
    ///
    /// # Errors
    /// An error ends the whole test, and says nothing about any cast: [`CastFault::DeviceLost`] if the device was lost;
    /// [`CastFault::Timeout`] if it does not answer. After a cast that failed, a few bytes are copied to the device and
    /// back; an error of this copy ends the test too. It is [`CastFault::Device`], for instance, if only the
    /// application is told of the loss of its device. The errors of single casts are in the report.
    pub async fn self_test(
        &self,
        queue: &wgpu::Queue,
        specs: &[CastSpec],
        coverage: Coverage,
    ) -> Result<SelfTestReport, Error> {
        let link = DeviceLink::borrowed(self.device(), queue, self);
        let mut results = Vec::with_capacity(specs.len());
        for spec in specs {
            let result = check(&link, spec, coverage).await;
            if let Err(error) = &result {
                check_device(&link, spec, error).await?;
            }
            results.push((*spec, result));
        }
        Ok(SelfTestReport::new(results))
    }
}

/// Casts a few difficult codes, which shows whether a device works at all. The pipeline is not kept. So if the
/// application adds a pipeline cache later, the cache gets every kernel.
pub(crate) async fn known_answers(device: &wgpu::Device, queue: &wgpu::Queue) -> Result<(), Error> {
    let link = DeviceLink::borrowed(device, queue, &Caster::new(device));
    let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16);
    Known::new(&spec, FEW)?.check_host(&link).await
}

/// Casts difficult codes on the device with every kernel of a coverage. Drops the kernels that the caster did not have
/// before: a test of many casts would otherwise keep more memory than it needs at any time.
async fn check(link: &DeviceLink, spec: &CastSpec, coverage: Coverage) -> Result<(), Error> {
    let known = Known::new(spec, ELEMENTS)?;
    let missing = link.caster.missing(link.caster.keys(&known.conversion, coverage));
    let result = match link.caster.compile_async(missing.iter().copied()).await {
        Ok(()) => check_orders(link, &known, coverage).await,
        Err(error) => Err(error),
    };
    link.caster.drop_kernels(&missing);
    result
}

async fn check_orders(link: &DeviceLink, known: &Known, coverage: Coverage) -> Result<(), Error> {
    known.check_host(link).await?;
    for &order in Order::of(coverage) {
        let expected = known.expected_in(order)?;
        for arrangement in arrangements(&known.conversion, coverage, link.caster.limits(), order) {
            known.check_slices(link, &arrangement, &expected).await?;
        }
    }
    Ok(())
}

/// Called after the error of a cast. An error means that no cast can be tested, because the device is lost or does not
/// answer.
async fn check_device(link: &DeviceLink, spec: &CastSpec, error: &Error) -> Result<(), Error> {
    if matches!(error, Error::Cast { cause: CastFault::DeviceLost { .. } | CastFault::Timeout { .. }, .. }) {
        return Err(error.clone());
    }
    // Strings are not cast on devices, so their error does not come from the device.
    let Ok(conversion) = Conversion::new(spec.from, spec.to, &spec.options) else { return Ok(()) };
    const BYTES: &[u8] = b"self-test of wgpu-cast  ";
    let record = || {
        let usage = wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
        let buffer = link.filled(&conversion, "cast self-test", BYTES, usage)?;
        Ok((link.encoder(&conversion)?, [buffer]))
    };
    let got = outcome(link, &conversion, BYTES.len() as u64, record).await?;
    if got == BYTES { Ok(()) } else { Err(conversion.error(CastFault::Incomplete)) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::arrangement::Arrangement;
    use super::*;
    use crate::cpu;
    use crate::plan;
    use crate::plan::{CodeLookup, Offsets, PlanLimits, PlanSettings, PlanTuning, Strided, View};
    use crate::types::options::CastOptions;
    use crate::types::tensor::Tensor;

    /// The self-test runs every kernel that `warm_up` compiles.
    #[test]
    fn self_test_runs_every_kernel() {
        let computed = PlanTuning { lookup: CodeLookup::Computed, ..PlanTuning::default() };
        for tuning in [PlanTuning::default(), computed] {
            runs_every_kernel(&PlanSettings { tuning, ..PlanSettings::default() });
        }
    }

    fn runs_every_kernel(settings: &PlanSettings) {
        let numeric = || ElementType::ALL.iter().copied().filter(|t| t.is_numeric());
        for (from, to) in numeric().flat_map(|from| numeric().map(move |to| (from, to))) {
            let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
            for coverage in [Coverage::Aligned, Coverage::Anywhere, Coverage::OneBuffer, Coverage::Views] {
                let host = Arrangement { offsets: Offsets::default(), order: Order::Dense, binding_size: None };
                let of_order = |&order| arrangements(&conversion, coverage, &settings.limits, order);
                let arranged = Order::of(coverage).iter().flat_map(of_order).chain([host]);
                let dispatches = arranged.flat_map(|arrangement| {
                    let settings = PlanSettings { limits: arrangement.limits(&settings.limits), ..*settings };
                    match arrangement.order {
                        Order::Dense => {
                            plan::plan(&conversion, ELEMENTS as u64, arrangement.offsets, &settings, None).unwrap()
                        }
                        order => {
                            let (shape, strides) = (order.shape().map(|size| size as u64), order.strides());
                            let view = View::new(&shape).with_source_strides(&strides);
                            let (strided, _) = Strided::new(&view, &conversion).unwrap();
                            assert!(!strided.is_dense(to.code_bits()), "{order:?}");
                            plan::plan_view(&conversion, &strided, arrangement.offsets, &settings).unwrap()
                        }
                    }
                });
                let met: HashSet<_> = dispatches.map(|dispatch| (dispatch.kind, dispatch.access)).collect();
                let all: HashSet<_> = plan::kernels(&conversion, coverage, settings).collect();
                assert_eq!(met, all, "{from} to {to}, {coverage:?}");
            }
        }
    }

    /// The casts between slices are tested on the device too.
    #[test]
    fn slices_that_a_device_does_not_cast_are_found() {
        let (device, queue) = wgpu::Device::noop(&wgpu::DeviceDescriptor::default());
        let link = DeviceLink::borrowed(&device, &queue, &Caster::new(&device));
        let (from, to) = (ElementType::FLOAT16, ElementType::INT8);
        let known = Known::new(&CastSpec::new(from, to), ELEMENTS).unwrap();
        for &order in Order::of(Coverage::Views) {
            let expected = known.expected_in(order).unwrap();
            for arrangement in arrangements(&known.conversion, Coverage::Views, link.caster.limits(), order) {
                let error = pollster::block_on(known.check_slices(&link, &arrangement, &expected)).unwrap_err();
                let Error::Cast { cause: CastFault::SelfTest { code: Some(code), expected, .. }, .. } = error else {
                    panic!("{arrangement:?}: {error}")
                };
                let one = Tensor::from_codes(from, [1], [code]).unwrap();
                assert!(cpu::cast(&one, to, &CastOptions::default()).unwrap().codes().eq([expected]));
            }
        }
        let small = PlanLimits { binding_size: 1 << 16, ..*link.caster.limits() };
        assert_eq!(link.caster.within(small).limits(), &small);
    }
}
