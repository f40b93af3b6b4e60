//! The convenience layer: host tensors in, host tensors out, with a report of what was done.

use std::fmt;

use crate::caster::Caster;
use crate::conversion::{Conversion, has_kernel};
use crate::cpu;
use crate::element::ElementType;
use crate::error::Error;
use crate::gpu::adapter::{self, DeviceChoice};
use crate::gpu::device_link::DeviceLink;
use crate::gpu::pipelined;
use crate::options::CastOptions;
use crate::tensor::{Tensor, zeroed};

/// With [`DeviceChoice::Auto`], the bytes that casts read and write from which on host tensors go to a GPU: an estimate, for
/// want of a GPU to measure on. Where the target has vector instructions, single casts never do: whatever the
/// GPU, the host has to copy the source in and the result out and to wait for it, and `cpu::cast` takes less time than that,
/// or as much (docs/performance.md, "Host tensors on a device").
const GPU_FROM_BYTES: u64 = 4 << 20;

const NO_LONGER: &str = "a cast takes no longer than the way to a GPU";

/// A device, or the decision to do without one.
///
/// Send and Sync; casts from several threads share its device and pipelines.
#[derive(Debug)]
pub struct Context {
    choice: DeviceChoice,
    gpu: Option<Gpu>,
    /// Why there is no GPU, if there is none.
    reason: String,
}

#[derive(Debug)]
pub(crate) struct Gpu {
    pub info: wgpu::AdapterInfo,
    pub link: DeviceLink,
}

/// Which way a tensor went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Route {
    /// Nothing was converted: there are no elements, or the codes are the same.
    Copy,
    /// The CPU path.
    Cpu,
    /// A device.
    Gpu,
}

/// What a cast did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CastReport {
    /// Which way.
    pub route: Route,
    /// Why this way.
    pub reason: String,
    /// The adapter, where a device did it.
    pub adapter: Option<String>,
    /// Dispatches submitted.
    pub dispatches: u32,
    /// Packed bytes, or those of strings, read and written.
    pub bytes: u64,
}

impl fmt::Display for CastReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.route, &self.adapter) {
            (Route::Gpu, Some(adapter)) => write!(f, "on {adapter}: {}", self.reason),
            (Route::Copy, _) => write!(f, "copied: {}", self.reason),
            _ => write!(f, "on the CPU: {}", self.reason),
        }
    }
}

impl Context {
    /// Finds an adapter and opens a device on it, as the choice says.
    ///
    /// With [`DeviceChoice::Auto`] this does not fail for want of a GPU: the context casts on the CPU then.
    ///
    /// # Errors
    /// [`Error::NoAdapter`], [`Error::AdapterNotFound`] (with the adapters there are) where one was asked for.
    pub async fn open(choice: DeviceChoice) -> Result<Self, Error> {
        let adapter = match adapter::choose(&choice).await? {
            Ok(adapter) => adapter,
            Err(reason) => return Ok(Self { choice, gpu: None, reason }),
        };
        match adapter::open(&adapter).await {
            Ok((device, queue)) => {
                let gpu = Gpu { info: adapter.get_info(), link: DeviceLink::new(device, queue) };
                Ok(Self { choice, gpu: Some(gpu), reason: String::new() })
            }
            Err(error) if choice == DeviceChoice::Auto => Ok(Self { choice, gpu: None, reason: error.to_string() }),
            Err(error) => Err(error),
        }
    }

    /// The context for single casts of host tensors, if these need no device to be looked for.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn for_casts() -> Option<Self> {
        let context = || Self { choice: DeviceChoice::Auto, gpu: None, reason: NO_LONGER.to_owned() };
        cpu::is_fast().then(context)
    }

    /// Casts on a device that the application has opened, and on which nothing is set: no handler of errors, none of its
    /// loss. Host tensors then go to the device whatever their size, but for strings.
    pub fn on_device(device: &wgpu::Device, queue: &wgpu::Queue) -> Self {
        let link = DeviceLink::borrowed(device, queue, &Caster::new(device));
        let gpu = Gpu { info: device.adapter_info(), link };
        Self { choice: DeviceChoice::Gpu, gpu: Some(gpu), reason: String::new() }
    }

    /// The same context, compiling through the application's pipeline cache, which needs the device's feature
    /// `PIPELINE_CACHE`: [`open`](Self::open) asks for it where the adapter has it. Without a device there is nothing
    /// to compile.
    #[must_use]
    pub fn with_pipeline_cache(mut self, cache: wgpu::PipelineCache) -> Self {
        if let Some(gpu) = &mut self.gpu {
            gpu.link.caster = gpu.link.caster.clone().with_pipeline_cache(cache);
        }
        self
    }

    /// The adapter, where there is one.
    pub fn adapter_info(&self) -> Option<&wgpu::AdapterInfo> {
        self.gpu.as_ref().map(|gpu| &gpu.info)
    }

    /// The device, where there is one. It belongs to a [`wgpu::Instance`] of its own: see [`Caster::new`].
    pub fn device(&self) -> Option<&wgpu::Device> {
        self.gpu.as_ref().map(|gpu| &gpu.link.device)
    }

    /// The device's queue, where there is one.
    pub fn queue(&self) -> Option<&wgpu::Queue> {
        self.gpu.as_ref().map(|gpu| &gpu.link.queue)
    }

    /// The resident layer on this context's device, where there is one.
    pub fn caster(&self) -> Option<&Caster> {
        self.gpu.as_ref().map(|gpu| &gpu.link.caster)
    }

    /// Whether the device is gone; every cast that needs it fails then, and a new context has to be opened.
    pub fn is_lost(&self) -> bool {
        self.gpu.as_ref().is_some_and(|gpu| gpu.link.lost().is_some())
    }

    /// ONNX `Cast` (version 28; [`onnx::CastNode`](crate::onnx::CastNode) has the rules of others): the tensor's
    /// elements as another type, in the same shape.
    ///
    /// The bits are those of [`cpu::cast`], whatever the route; strings take the CPU path whatever the choice. Work on the
    /// CPU is done, and natively a device is waited for, when the future is polled; in a browser it is pending
    /// meanwhile.
    ///
    /// # Errors
    /// [`Error::InvalidLiteral`] and [`Error::LiteralOutOfRange`] from strings; [`Error::OutOfMemory`],
    /// [`Error::DeviceLost`], [`Error::Timeout`], [`Error::Device`], [`Error::Incomplete`], [`Error::Kernel`] and
    /// [`Error::Limit`] from a device. There is no result then.
    pub async fn cast(
        &self,
        tensor: &Tensor,
        to: ElementType,
        options: &CastOptions,
    ) -> Result<(Tensor, CastReport), Error> {
        let from = tensor.element_type();
        if !has_kernel(from, to) {
            let (route, reason) = if from == to {
                (Route::Copy, "the strings are the same")
            } else {
                (Route::Cpu, "strings are for the CPU")
            };
            let result = cpu::cast(tensor, to, options)?;
            let bytes = tensor.data_len() + result.data_len();
            return Ok((result, CastReport { route, reason: reason.to_owned(), adapter: None, dispatches: 0, bytes }));
        }
        self.cast_numbers(tensor, &Conversion::new(from, to, options)?).await
    }

    /// Casts a numeric tensor by a conversion that the caller has made.
    pub(crate) async fn cast_numbers(
        &self,
        tensor: &Tensor,
        conversion: &Conversion,
    ) -> Result<(Tensor, CastReport), Error> {
        let (from, to) = (conversion.from, conversion.to);
        let elements = tensor.len() as u64;
        let overflow = || Error::ShapeOverflow { element_type: to, shape: tensor.shape().to_vec() };
        let size = to.packed_bytes(elements).ok_or_else(overflow)?;
        let source = tensor.bytes().ok_or(Error::NoKernel { from, to })?;
        let bytes = size.saturating_add(source.len() as u64);
        let (route, reason) = self.route(conversion, elements, bytes);
        let report = CastReport { route, reason, adapter: None, dispatches: 0, bytes };
        let (Route::Gpu, Some(gpu)) = (route, &self.gpu) else {
            return Ok((cpu::cast_numbers(tensor, conversion)?, report));
        };
        let mut destination = zeroed(from, to, usize::try_from(size).map_err(|_| overflow())?)?;
        let dispatches = pipelined::cast(&gpu.link, conversion, source, elements, &mut destination).await?;
        let report = CastReport { adapter: Some(gpu.info.name.clone()), dispatches, ..report };
        Ok((tensor.with_bytes(to, destination), report))
    }

    /// ONNX `CastLike`: as [`cast`](Self::cast), to the element type of `like`, of which nothing else is looked at.
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
            return (Route::Copy, "there are no elements".to_owned());
        }
        if self.choice == DeviceChoice::Auto && conversion.is_copy() {
            return (Route::Copy, "the codes are the same".to_owned());
        }
        let (gpu, reason) = self.device_for(bytes, false);
        (if gpu.is_some() { Route::Gpu } else { Route::Cpu }, reason)
    }

    /// The device, if it is to do numeric casts of host tensors that read and write so many bytes, and why. In a chain,
    /// results are cast again before they come back.
    pub(crate) fn device_for(&self, bytes: u64, is_chain: bool) -> (Option<&Gpu>, String) {
        match &self.gpu {
            None => (None, self.reason.clone()),
            Some(gpu) if self.choice != DeviceChoice::Auto => (Some(gpu), "asked for".to_owned()),
            Some(_) if cpu::is_fast() && !is_chain => (None, NO_LONGER.to_owned()),
            Some(_) if bytes < GPU_FROM_BYTES => (None, format!("{bytes} bytes are not worth the way to the GPU")),
            Some(gpu) => (Some(gpu), "the best GPU".to_owned()),
        }
    }
}

#[cfg(all(test, feature = "onnx"))]
mod tests {
    use super::*;
    use crate::onnx::{CastNode, Model};

    fn noop(choice: DeviceChoice) -> Context {
        let (device, queue) = wgpu::Device::noop(&wgpu::DeviceDescriptor::default());
        let gpu = Gpu { info: device.adapter_info(), link: DeviceLink::new(device, queue) };
        Context { choice, gpu: Some(gpu), reason: String::new() }
    }

    #[test]
    fn host_tensors_go_to_a_gpu_where_that_is_faster() {
        let goes = |choice, bytes, is_chain| noop(choice).device_for(bytes, is_chain).0.is_some();
        for bytes in [1, GPU_FROM_BYTES - 1, GPU_FROM_BYTES, u64::MAX] {
            let large = bytes >= GPU_FROM_BYTES;
            assert_eq!(goes(DeviceChoice::Auto, bytes, false), large && !cpu::is_fast(), "{bytes} bytes");
            assert_eq!(goes(DeviceChoice::Auto, bytes, true), large, "{bytes} bytes");
            assert!(goes(DeviceChoice::Gpu, bytes, false), "{bytes} bytes");
        }
    }

    /// wgpu's backend that accepts everything and does nothing: what a broken driver looks like.
    #[test]
    fn what_a_device_did_not_do_is_no_result() {
        let context = noop(DeviceChoice::Gpu);
        let (from, same, other) = (ElementType::UINT8, ElementType::INT8, ElementType::FLOAT16);
        let tensor = Tensor::from_slice([3], &[1u8, 200, 3]).unwrap();
        let run = |to| {
            let node = CastNode::with_target(25, to, None, None).unwrap();
            let model = Model::of_cast(&node, from, &[3]).unwrap();
            pollster::block_on(context.run(&model, vec![tensor.clone()]))
        };
        assert!(matches!(run(other), Err(Error::Incomplete { .. })), "{:?}", run(other));
        // The codes are the same: no device is asked.
        let (outputs, report) = run(same).unwrap();
        assert_eq!((report.route, report.uploads, report.read_backs), (Route::Copy, 0, 0));
        assert_eq!(outputs[0].tensor.bytes(), tensor.bytes());
    }
}
