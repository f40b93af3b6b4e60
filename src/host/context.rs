//! The convenience layer: casts of host tensors, each with a report.

use std::fmt;

use crate::caster::{Caster, CasterDescriptor};
use crate::cpu;
use crate::cpu::isa::is_fast;
use crate::host::adapter::{self, DeviceChoice};
use crate::host::device_link::DeviceLink;
use crate::host::pipelined;
use crate::host::self_test::known_answers;
use crate::types::conversion::{Conversion, has_kernel};
use crate::types::element::ElementType;
use crate::types::error::Error;
use crate::types::options::CastOptions;
use crate::types::tensor::{Tensor, zeroed};

/// The number of bytes read and written from which [`DeviceChoice::Auto`] casts host tensors on a GPU. This is an
/// estimate, because no GPU was available for measurements. If the CPU path uses vector instructions, single casts
/// never go to a GPU: for a GPU the host has to copy the source and the result, and `cpu::cast` takes about as long as
/// these copies (docs/performance.md, "Small tensors").
const GPU_FROM_BYTES: u64 = 4 << 20;

const CPU_IS_FASTER: &str = "faster than copying to a GPU and back";

/// The reason why a cast from or to STRING is done on the CPU.
pub(crate) const NO_STRING_KERNEL: &str = "strings have no GPU kernel";

/// A device that casts host tensors, or the CPU.
///
/// A context is `Send` and `Sync`. Casts from several threads share its device and pipelines.
#[derive(Debug)]
pub struct Context {
    choice: DeviceChoice,
    gpu: Option<Gpu>,
    /// Why there is no GPU, or which better adapters do not work and why. Empty if all is well.
    reason: String,
}

#[derive(Debug)]
pub(crate) struct Gpu {
    pub info: wgpu::AdapterInfo,
    pub link: DeviceLink,
}

impl Gpu {
    /// Opens a device, and tests it if `is_tested`. The error says why the adapter does not work.
    async fn open(adapter: &wgpu::Adapter, is_tested: bool) -> Result<Self, String> {
        let named = |info: &wgpu::AdapterInfo, error| match error {
            Error::NoAdapter { reason } => reason,
            error => format!("{}: {error}", adapter::name(info)),
        };
        let (device, queue) = adapter::open(adapter).await.map_err(|error| named(&adapter.get_info(), error))?;
        let info = adapter::info(&device);
        let link = DeviceLink::new(device, queue);
        if is_tested {
            known_answers(&link.device, &link.queue).await.map_err(|error| named(&info, error))?;
        }
        Ok(Self { info, link })
    }
}

/// Opens the candidates in turn until one works. Also returns why those before it do not work; the text is empty if
/// there are none. If no candidate works, this text is the error.
async fn first_that_works<A, T>(
    candidates: &[A],
    open: impl AsyncFn(&A) -> Result<T, String>,
) -> Result<(T, String), String> {
    let mut reasons = Vec::new();
    for candidate in candidates {
        match open(candidate).await {
            Ok(opened) => return Ok((opened, reasons.join("; "))),
            Err(reason) => {
                log::warn!("an adapter does not work: {reason}");
                reasons.push(reason);
            }
        }
    }
    Err(reasons.join("; "))
}

/// Where a cast was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Route {
    /// Nothing was converted: there are no elements, or both types have the same codes and no device was named.
    Copy,
    /// On the CPU.
    Cpu,
    /// On a device.
    Gpu,
}

impl Route {
    /// The start of a report: where and why a cast was done.
    pub(crate) fn describe(self, adapter: Option<&str>, reason: &str) -> String {
        match (self, adapter) {
            (Route::Gpu, Some(adapter)) => format!("on {adapter} ({reason})"),
            (Route::Copy, _) => format!("copied ({reason})"),
            _ => format!("on the CPU ({reason})"),
        }
    }
}

/// Where and why a cast was done, and how much it moved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CastReport {
    /// Where the cast was done.
    pub route: Route,
    /// Why it was done there.
    pub reason: String,
    /// The adapter's name, if a device did the cast.
    pub adapter: Option<String>,
    /// Dispatches submitted.
    pub dispatches: u32,
    /// Bytes read and written: of packed elements, or of strings.
    pub bytes: u64,
}

impl fmt::Display for CastReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.route.describe(self.adapter.as_deref(), &self.reason))
    }
}

impl Context {
    /// Finds an adapter by `choice` and opens a device on it.
    ///
    /// With [`DeviceChoice::Auto`] and [`DeviceChoice::Gpu`], the device is tested with a few known codes. If the test
    /// fails, or if an adapter provides no device, the next adapter is tried.
    /// [`skipped_adapters`](Self::skipped_adapters), the reasons in reports of casts and the log say so. With `Auto`,
    /// if no GPU works, the context casts on the CPU.
    ///
    /// # Errors
    /// [`Error::NoAdapter`] or [`Error::AdapterNotFound`] (with the available adapters), unless the choice is `Auto` or
    /// `Cpu`.
    pub async fn open(choice: DeviceChoice) -> Result<Self, Error> {
        let adapters = match adapter::choose(&choice).await? {
            Ok(adapters) => adapters,
            Err(reason) => return Ok(Self { choice, gpu: None, reason }),
        };
        // An adapter that the caller named is used even if it is faulty.
        let is_tested = !matches!(choice, DeviceChoice::Adapter(_));
        match first_that_works(&adapters, async |adapter| Gpu::open(adapter, is_tested).await).await {
            Ok((gpu, reason)) => Ok(Self { choice, gpu: Some(gpu), reason }),
            Err(reason) => Self::without_gpu(choice, reason),
        }
    }

    /// A context for the case that no adapter works.
    fn without_gpu(choice: DeviceChoice, reason: String) -> Result<Self, Error> {
        if choice == DeviceChoice::Auto {
            Ok(Self { choice, gpu: None, reason })
        } else {
            Err(Error::NoAdapter { reason })
        }
    }

    /// The context for single casts of host tensors, if these run on the CPU anyway and no device has to be looked for.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn for_casts() -> Option<Self> {
        let context = || Self { choice: DeviceChoice::Auto, gpu: None, reason: CPU_IS_FASTER.to_owned() };
        is_fast().then(context)
    }

    /// Creates a context on a device of the application. It sets no handler for errors or for the loss of the device.
    /// All numeric host tensors of any size are cast on the device.
    pub fn on_device(device: &wgpu::Device, queue: &wgpu::Queue) -> Self {
        let link = DeviceLink::borrowed(device, queue, &Caster::new(device));
        let gpu = Gpu { info: adapter::info(device), link };
        Self { choice: DeviceChoice::Gpu, gpu: Some(gpu), reason: String::new() }
    }

    /// This context with the application's pipeline cache, which needs the device feature `PIPELINE_CACHE`.
    /// [`open`](Self::open) requests the feature if the adapter supports it. Without a device the cache is ignored.
    /// Pipelines that are compiled already are dropped.
    #[must_use]
    pub fn with_pipeline_cache(mut self, cache: wgpu::PipelineCache) -> Self {
        if let Some(gpu) = &mut self.gpu {
            let (limits, tuning) = (Some(*gpu.link.caster.limits()), Some(*gpu.link.caster.tuning()));
            let descriptor = CasterDescriptor { limits, tuning, pipeline_cache: Some(cache) };
            gpu.link.caster = Caster::with_descriptor(gpu.link.caster.device(), &descriptor);
        }
        self
    }

    /// The adapter, if the context has one.
    pub fn adapter_info(&self) -> Option<&wgpu::AdapterInfo> {
        self.gpu.as_ref().map(|gpu| &gpu.info)
    }

    /// The better adapters that do not work and why, if the context uses another adapter for that reason.
    pub fn skipped_adapters(&self) -> Option<&str> {
        self.gpu.as_ref().map(|_| &*self.reason).filter(|reason| !reason.is_empty())
    }

    /// The device, if the context has one. [`open`](Self::open) creates it on a separate [`wgpu::Instance`]: see
    /// [`Caster::new`].
    pub fn device(&self) -> Option<&wgpu::Device> {
        self.gpu.as_ref().map(|gpu| &gpu.link.device)
    }

    /// The device's queue, if the context has a device.
    pub fn queue(&self) -> Option<&wgpu::Queue> {
        self.gpu.as_ref().map(|gpu| &gpu.link.queue)
    }

    /// The caster on the context's device, if it has one.
    pub fn caster(&self) -> Option<&Caster> {
        self.gpu.as_ref().map(|gpu| &gpu.link.caster)
    }

    /// Whether the device was lost. Then every cast that needs it fails. Open a new context instead.
    pub fn is_lost(&self) -> bool {
        self.gpu.as_ref().is_some_and(|gpu| gpu.link.lost().is_some())
    }

    /// Casts a tensor to another element type, in the same shape. The results are those of ONNX `Cast` at the newest
    /// opset; [`onnx::CastNode`](crate::onnx::CastNode) gives the options of other opsets.
    ///
    /// The results are bit-identical to those of [`cpu::cast`] on every device. Strings are always cast on the CPU.
    /// When the future is polled, it does the work of the CPU, and blocks while the device works. In a browser it does
    /// not block, but is pending until the device is done.
    ///
    /// # Errors
    /// [`CastFault::Literal`](crate::CastFault::Literal) from strings;
    /// [`CastFault::OutOfMemory`](crate::CastFault::OutOfMemory),
    /// [`CastFault::DeviceLost`](crate::CastFault::DeviceLost), [`CastFault::Timeout`](crate::CastFault::Timeout),
    /// [`CastFault::Device`](crate::CastFault::Device), [`CastFault::Incomplete`](crate::CastFault::Incomplete),
    /// [`CastFault::Kernel`](crate::CastFault::Kernel) and [`CastFault::Limit`](crate::CastFault::Limit) from a
    /// device.
    pub async fn cast(
        &self,
        tensor: &Tensor,
        to: ElementType,
        options: &CastOptions,
    ) -> Result<(Tensor, CastReport), Error> {
        let from = tensor.element_type();
        if !has_kernel(from, to) {
            let (route, reason) =
                if from == to { (Route::Copy, "string to string") } else { (Route::Cpu, NO_STRING_KERNEL) };
            let result = cpu::cast(tensor, to, options)?;
            let bytes = tensor.data_len() + result.data_len();
            return Ok((result, CastReport { route, reason: reason.to_owned(), adapter: None, dispatches: 0, bytes }));
        }
        self.cast_numbers(tensor, &Conversion::new(from, to, options)?).await
    }

    /// Casts a numeric tensor by a conversion that was made already.
    pub(crate) async fn cast_numbers(
        &self,
        tensor: &Tensor,
        conversion: &Conversion,
    ) -> Result<(Tensor, CastReport), Error> {
        let (from, to) = (conversion.from, conversion.to);
        let elements = tensor.len() as u64;
        let overflow = || Error::shape_overflow(to, tensor.shape());
        let size = to.packed_bytes(elements).ok_or_else(overflow)?;
        let source = tensor.packed()?;
        let bytes = size.saturating_add(source.len() as u64);
        let (route, reason) = self.route(conversion, elements, bytes);
        let report = CastReport { route, reason, adapter: None, dispatches: 0, bytes };
        let (Route::Gpu, Some(gpu)) = (route, &self.gpu) else {
            return Ok((cpu::cast_numbers(tensor, conversion)?, report));
        };
        let mut destination = zeroed(from, to, usize::try_from(size).map_err(|_| overflow())?)?;
        let dispatches = pipelined::cast(&gpu.link, conversion, source, elements, &mut destination).await?;
        let report = CastReport { adapter: Some(adapter::name(&gpu.info)), dispatches, ..report };
        Ok((tensor.with_bytes(to, destination), report))
    }

    /// Casts a tensor to the element type of `like`, as ONNX `CastLike`. The shape and the data of `like` are ignored.
    ///
    /// # Errors
    /// As [`cast`](Self::cast).
    pub async fn cast_like(
        &self,
        tensor: &Tensor,
        like: &Tensor,
        options: &CastOptions,
    ) -> Result<(Tensor, CastReport), Error> {
        self.cast(tensor, like.element_type(), options).await
    }

    fn route(&self, conversion: &Conversion, elements: u64, bytes: u64) -> (Route, String) {
        if elements == 0 {
            return (Route::Copy, "no elements".to_owned());
        }
        if self.choice == DeviceChoice::Auto && conversion.is_copy() {
            return (Route::Copy, "both types have the same codes".to_owned());
        }
        let (gpu, reason) = self.device_for(bytes, false);
        (if gpu.is_some() { Route::Gpu } else { Route::Cpu }, reason)
    }

    /// The device, if numeric casts of host tensors are to run there, and the reason. `bytes` are those that the casts
    /// read and write. In a chain, results are cast again on the device before they are read back.
    pub(crate) fn device_for(&self, bytes: u64, is_chain: bool) -> (Option<&Gpu>, String) {
        match &self.gpu {
            None => (None, self.reason.clone()),
            Some(gpu) if self.choice != DeviceChoice::Auto => (Some(gpu), self.with_reason(adapter::REQUESTED)),
            Some(_) if is_fast() && !is_chain => (None, CPU_IS_FASTER.to_owned()),
            Some(_) if bytes < GPU_FROM_BYTES => {
                (None, format!("{bytes} bytes read and written, a GPU is used from {GPU_FROM_BYTES}"))
            }
            Some(gpu) => (Some(gpu), self.with_reason("best GPU")),
        }
    }

    /// The reason for the device, followed by the better adapters that do not work.
    fn with_reason(&self, reason: &str) -> String {
        match &*self.reason {
            "" => reason.to_owned(),
            others => format!("{reason}; {others}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::batch::{BatchDescriptor, BatchReport};
    use crate::types::error::CastFault;

    fn noop(choice: DeviceChoice) -> Context {
        let (device, queue) = wgpu::Device::noop(&wgpu::DeviceDescriptor::default());
        let gpu = Gpu { info: device.adapter_info(), link: DeviceLink::new(device, queue) };
        Context { choice, gpu: Some(gpu), reason: String::new() }
    }

    #[test]
    fn adapters_are_tried_until_one_works() {
        let open = async |&number: &u32| if number > 2 { Ok(number) } else { Err(format!("{number}: no device")) };
        let opened = |candidates: &[u32]| pollster::block_on(first_that_works(candidates, open));
        assert_eq!(opened(&[3, 1]), Ok((3, String::new())));
        assert_eq!(opened(&[1, 2, 4]), Ok((4, "1: no device; 2: no device".to_owned())));
        assert_eq!(opened(&[2, 1]), Err("2: no device; 1: no device".to_owned()));
    }

    /// wgpu's backend that does nothing gives a device, but not the known answers.
    #[test]
    fn a_device_without_the_known_answers_is_no_device() {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.backends = wgpu::Backends::NOOP;
        descriptor.backend_options.noop.enable = true;
        let adapters = wgpu::Instance::new(descriptor).enumerate_adapters(wgpu::Backends::NOOP);
        let [adapter] = &pollster::block_on(adapters)[..] else { panic!("one adapter") };
        let reason = pollster::block_on(Gpu::open(adapter, true)).unwrap_err();
        assert!(reason.starts_with(&adapter::name(&adapter.get_info())), "{reason}");
        let gpu = pollster::block_on(Gpu::open(adapter, false)).unwrap();
        let context = Context { choice: DeviceChoice::Gpu, gpu: Some(gpu), reason: "A: no device".to_owned() };
        assert_eq!(context.device_for(1, false).1, "requested; A: no device");
        assert_eq!(context.skipped_adapters(), Some("A: no device"));
        assert_eq!(noop(DeviceChoice::Gpu).skipped_adapters(), None);
    }

    #[test]
    fn without_an_adapter_that_works_only_auto_casts_on_the_cpu() {
        let without = |choice| Context::without_gpu(choice, "A: no device".to_owned());
        let context = without(DeviceChoice::Auto).unwrap();
        assert!(context.device().is_none() && context.skipped_adapters().is_none());
        assert_eq!(context.device_for(u64::MAX, true).1, "A: no device");
        for choice in [DeviceChoice::Gpu, DeviceChoice::Adapter("A".to_owned())] {
            let error = without(choice).map(drop).unwrap_err();
            assert_eq!(error, Error::NoAdapter { reason: "A: no device".to_owned() });
        }
    }

    #[test]
    fn host_tensors_go_to_a_gpu_where_that_is_faster() {
        let goes = |choice, bytes, is_chain| noop(choice).device_for(bytes, is_chain).0.is_some();
        for bytes in [1, GPU_FROM_BYTES - 1, GPU_FROM_BYTES, u64::MAX] {
            let large = bytes >= GPU_FROM_BYTES;
            assert_eq!(goes(DeviceChoice::Auto, bytes, false), large && !is_fast(), "{bytes} bytes");
            assert_eq!(goes(DeviceChoice::Auto, bytes, true), large, "{bytes} bytes");
            assert!(goes(DeviceChoice::Gpu, bytes, false), "{bytes} bytes");
        }
    }

    /// wgpu's backend that accepts everything and does nothing behaves like a broken driver.
    #[test]
    fn work_that_was_not_done_is_an_error() {
        let context = noop(DeviceChoice::Gpu);
        let (from, same, other) = (ElementType::UINT8, ElementType::INT8, ElementType::FLOAT16);
        let tensor = Tensor::from_slice([3], &[1u8, 200, 3]).unwrap();
        let run = |to| -> Result<(Tensor, BatchReport), Error> {
            let mut batch = context.batch(&BatchDescriptor::default());
            let source = batch.insert(tensor.clone());
            let result = pollster::block_on(batch.cast(&source, to, &CastOptions::default()))?;
            let tensors = pollster::block_on(batch.read_back(&[&result]))?;
            Ok((tensors[0].clone(), batch.report()))
        };
        assert_eq!(run(other), Err(Error::cast(from, other, CastFault::Incomplete)));
        // If the codes are the same, no device is needed.
        let (result, report) = run(same).unwrap();
        assert_eq!((report.route, report.uploads, report.read_backs), (Route::Copy, 0, 0));
        assert_eq!(result.bytes(), tensor.bytes());
    }
}
