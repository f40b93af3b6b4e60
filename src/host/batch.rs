//! Casts that build on each other. On a device, their results stay there until they are read back.

mod report;
mod tensor;

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use crate::cpu;
use crate::host::adapter;
use crate::host::context::{Context, Gpu, NO_STRING_KERNEL, Route};
use crate::host::device_batch::{DeviceBatch, Resident, Wanted};
use crate::types::conversion::{Conversion, has_kernel};
use crate::types::element::ElementType;
use crate::types::error::{CastFault, Error};
use crate::types::options::CastOptions;
use crate::types::tensor::{Tensor, zeroed};
use tensor::Value;

pub use report::BatchReport;
pub use tensor::BatchTensor;

/// The bytes of tensors that are read back together, at most. They are read back together because each read-back waits
/// for the device.
const READ_BACK_BYTES: u64 = 64 << 20;

/// The most casts whose proofs are kept on the device at a time. The proofs of this number take 4 MiB.
const MOST_PROOFS: usize = 1 << 20;

/// The size of a batch, by which [`Context::batch`] chooses where its casts run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchDescriptor {
    /// The number of casts, counted as at least 1 and at most 2²⁰. More casts are allowed: the batch waits for the device
    /// once after each such group of casts.
    pub casts: usize,
    /// The packed bytes that all the casts together read and write.
    pub bytes: u64,
    /// Whether a result is cast again before it is read back. A device then copies fewer bytes per cast.
    pub is_chain: bool,
}

/// Casts of host tensors and of each other's results. A batch runs all its casts on the context's device, or all on the
/// CPU, as [`Context::batch`] chooses. On a device it copies each tensor there once, and copies back only the tensors
/// that [`read_back`](Self::read_back) asks for.
///
/// Strings are always cast on the CPU. Tensors that exceed the device's largest buffer are copied from and to the host
/// in parts. The results are those of [`Context::cast`], bit by bit.
///
/// ```
/// use wgpu_cast::{BatchDescriptor, CastOptions, Context, DeviceChoice, ElementType, Tensor};
///
/// # let choice = DeviceChoice::Cpu;
/// # pollster::block_on(async {
/// let context = Context::open(choice).await?;
/// let mut batch = context.batch(&BatchDescriptor { casts: 2, bytes: 24, is_chain: true });
/// let floats = batch.insert(Tensor::from_slice([2], &[1.5f32, -70000.0])?);
/// let options = CastOptions::default();
/// let half = batch.cast(&floats, ElementType::FLOAT16, &options).await?;
/// let doubles = batch.cast(&half, ElementType::DOUBLE, &options).await?;
/// assert_eq!(batch.read_back(&[&doubles]).await?[0].to_vec::<f64>()?, [1.5, f64::NEG_INFINITY]);
/// println!("{}", batch.report());
/// # Ok::<(), wgpu_cast::Error>(())
/// # })?;
/// # Ok::<(), wgpu_cast::Error>(())
/// ```
#[derive(Debug)]
pub struct Batch<'a> {
    context: &'a Context,
    /// The device, if the numeric casts are to run on it.
    gpu: Option<&'a Gpu>,
    /// Why the casts run on the device or on the CPU.
    reason: String,
    /// The number of casts whose proofs are kept.
    casts: usize,
    /// Made by the first cast that needs it.
    device: Option<DeviceBatch<'a>>,
    /// Each tensor of the batch holds a clone, by which the batch recognises it.
    identity: Arc<()>,
    /// Why the CPU has converted something, if it has.
    cpu: Option<String>,
    /// Dispatches of tensors that are copied in parts.
    dispatches: u32,
    uploads: u32,
    read_backs: u32,
}

impl Context {
    /// An empty batch of casts. With [`DeviceChoice::Auto`](crate::DeviceChoice::Auto) the descriptor decides whether a
    /// device or the CPU does the casts. With every choice it decides how often the batch waits for the device.
    pub fn batch(&self, descriptor: &BatchDescriptor) -> Batch<'_> {
        let (gpu, reason) = self.device_for(descriptor.bytes, descriptor.is_chain);
        Batch {
            context: self,
            gpu,
            reason,
            casts: descriptor.casts.clamp(1, MOST_PROOFS),
            device: None,
            identity: Arc::default(),
            cpu: None,
            dispatches: 0,
            uploads: 0,
            read_backs: 0,
        }
    }
}

impl<'a> Batch<'a> {
    /// Takes a host tensor. The first cast on the device copies it there.
    pub fn insert(&self, tensor: Tensor) -> BatchTensor {
        self.on_host(tensor)
    }

    /// Casts a tensor to another element type, in the same shape. On a device, this only records the cast. The cast is
    /// done at the latest when a result is read back.
    ///
    /// # Errors
    /// [`Error::OtherBatch`] for a tensor of another batch, and those of [`Context::cast`]. After an error of a device,
    /// further calls may fail too.
    pub async fn cast(
        &mut self,
        tensor: &BatchTensor,
        to: ElementType,
        options: &CastOptions,
    ) -> Result<BatchTensor, Error> {
        self.check(tensor)?;
        match self.cast_value(tensor, to, options).await {
            Ok(result) => Ok(result),
            Err(error) => Err(self.diagnose(error).await),
        }
    }

    /// The tensors on the host, in the same order. A tensor that is only on the device is copied from there once. As
    /// many tensors are copied together as fit a buffer.
    ///
    /// # Errors
    /// [`Error::OtherBatch`] for a tensor of another batch; [`CastFault::OutOfMemory`], [`CastFault::DeviceLost`],
    /// [`CastFault::Timeout`], [`CastFault::Device`] and [`CastFault::Incomplete`] from a device. The error may be that
    /// of a cast whose result is not among `tensors`.
    pub async fn read_back(&mut self, tensors: &[&BatchTensor]) -> Result<Vec<Tensor>, Error> {
        tensors.iter().try_for_each(|tensor| self.check(tensor))?;
        match self.copy_back(tensors).await {
            Ok(()) => {}
            Err(error) => return Err(self.diagnose(error).await),
        }
        tensors.iter().map(|tensor| self.host(tensor)).collect()
    }

    /// What the batch has done so far.
    pub fn report(&self) -> BatchReport {
        let dispatches = self.dispatches + self.device.as_ref().map_or(0, |device| device.dispatches);
        let gpu = self.gpu.filter(|_| dispatches > 0);
        let adapter = gpu.map(|gpu| adapter::name(&gpu.info));
        let (route, reason) = match (gpu, &self.cpu) {
            (Some(_), _) => (Route::Gpu, self.reason.clone()),
            (None, Some(reason)) => (Route::Cpu, reason.clone()),
            (None, None) => (Route::Copy, "nothing to convert".to_owned()),
        };
        BatchReport { route, reason, adapter, dispatches, uploads: self.uploads, read_backs: self.read_backs }
    }

    fn check(&self, tensor: &BatchTensor) -> Result<(), Error> {
        let own = Arc::ptr_eq(&tensor.0.batch, &self.identity);
        if own { Ok(()) } else { Err(Error::OtherBatch { element_type: tensor.element_type() }) }
    }

    fn on_host(&self, tensor: Tensor) -> BatchTensor {
        BatchTensor(Arc::new(Value {
            element_type: tensor.element_type(),
            shape: tensor.shared_shape(),
            elements: tensor.len() as u64,
            host: OnceLock::from(tensor),
            device: OnceLock::new(),
            made_by: None,
            batch: self.identity.clone(),
        }))
    }

    async fn cast_value(
        &mut self,
        source: &BatchTensor,
        to: ElementType,
        options: &CastOptions,
    ) -> Result<BatchTensor, Error> {
        let Value { element_type: from, elements, ref shape, .. } = *source.0;
        if !has_kernel(from, to) {
            self.copy_back(&[source]).await?;
            if from != to && elements > 0 {
                self.cpu.get_or_insert_with(|| NO_STRING_KERNEL.to_owned());
            }
            return Ok(self.on_host(cpu::cast(&self.host(source)?, to, options)?));
        }
        let conversion = Conversion::new(from, to, options)?;
        let Some(gpu) = self.gpu.filter(|_| elements > 0) else {
            if !conversion.is_copy() && elements > 0 {
                self.cpu = Some(self.reason.clone());
            }
            return Ok(self.on_host(cpu::cast_numbers(&self.host(source)?, &conversion)?));
        };
        if let (true, Some(host)) = (conversion.is_copy(), source.0.host.get()) {
            return Ok(self.on_host(host.with_type(to)));
        }
        let fits = |t: ElementType| {
            t.packed_bytes(elements).is_some_and(|bytes| DeviceBatch::fits(&gpu.link, bytes, self.casts))
        };
        if !fits(from) || !fits(to) {
            self.copy_back(&[source]).await?;
            let (result, report) = self.context.cast_numbers(&self.host(source)?, &conversion).await?;
            match report.route {
                Route::Gpu => {
                    self.dispatches += report.dispatches;
                    self.uploads += 1;
                    self.read_backs += 1;
                }
                Route::Cpu => self.cpu = Some(report.reason),
                Route::Copy => {}
            }
            return Ok(self.on_host(result));
        }
        let resident = self.on_device(source, gpu, &conversion)?;
        let result = if conversion.is_copy() {
            resident
        } else {
            self.device(gpu, &conversion)?.cast(&conversion, elements, &resident).await?
        };
        Ok(BatchTensor(Arc::new(Value {
            element_type: to,
            shape: shape.clone(),
            elements,
            host: OnceLock::new(),
            device: OnceLock::from(result),
            made_by: Some(conversion),
            batch: self.identity.clone(),
        })))
    }

    fn device(&mut self, gpu: &'a Gpu, conversion: &Conversion) -> Result<&mut DeviceBatch<'a>, Error> {
        let device = match self.device.take() {
            Some(device) => device,
            None => DeviceBatch::new(&gpu.link, conversion, self.casts)?,
        };
        Ok(self.device.insert(device))
    }

    /// The tensor on the device. If it is not there yet, it is uploaded, and then stays there.
    fn on_device(&mut self, tensor: &BatchTensor, gpu: &'a Gpu, conversion: &Conversion) -> Result<Resident, Error> {
        if let Some(resident) = tensor.0.device.get() {
            return Ok(resident.clone());
        }
        let host = self.host(tensor)?;
        let resident = self.device(gpu, conversion)?.upload(conversion, host.packed()?)?;
        self.uploads += 1;
        Ok(tensor.0.device.get_or_init(|| resident).clone())
    }

    fn host(&self, tensor: &BatchTensor) -> Result<Tensor, Error> {
        // A tensor that is not on the device is on the host.
        let (from, to) = tensor.0.made_by.map_or((tensor.0.element_type, tensor.0.element_type), |c| (c.from, c.to));
        tensor.0.host.get().cloned().ok_or_else(|| Error::cast(from, to, CastFault::Incomplete))
    }

    /// Copies to the host the tensors that are only on the device. At a time it copies at most [`READ_BACK_BYTES`], and
    /// only as many tensors as fit a buffer.
    async fn copy_back(&mut self, tensors: &[&BatchTensor]) -> Result<(), Error> {
        let room = self.gpu.map_or(u64::MAX, |gpu| DeviceBatch::room(&gpu.link, self.casts)).min(READ_BACK_BYTES);
        let mut met = HashSet::new();
        let (mut together, mut bytes) = (Vec::new(), 0);
        for tensor in tensors.iter().map(|tensor| &*tensor.0).filter(|value| value.host.get().is_none()) {
            if !met.insert(std::ptr::from_ref(tensor)) {
                continue;
            }
            let size = DeviceBatch::taken(tensor.element_type.packed_bytes(tensor.elements).unwrap_or(0));
            if bytes + size > room && !together.is_empty() {
                self.copy_together(&std::mem::take(&mut together)).await?;
                bytes = 0;
            }
            bytes += size;
            together.push(tensor);
        }
        self.copy_together(&together).await
    }

    /// Copies tensors from the device in one submission.
    async fn copy_together(&mut self, tensors: &[&Value]) -> Result<(), Error> {
        let mut read_backs = Vec::new();
        for value in tensors {
            if let (Some(device), Some(made_by)) = (value.device.get(), value.made_by) {
                let size =
                    value.element_type.packed_bytes(value.elements).and_then(|bytes| usize::try_from(bytes).ok());
                let bytes = zeroed(made_by.from, made_by.to, size.unwrap_or(usize::MAX))?;
                read_backs.push((value, made_by, device.clone(), bytes));
            }
        }
        let (Some(device), Some((_, first, _, _))) = (&mut self.device, read_backs.first()) else { return Ok(()) };
        let first = *first;
        let wanted = read_backs.iter_mut().map(|(_, conversion, source, bytes)| Wanted {
            conversion: *conversion,
            source: source.clone(),
            bytes,
        });
        device.read_back(&first, &mut wanted.collect::<Vec<_>>()).await?;
        for (value, _, _, bytes) in read_backs {
            self.read_backs += 1;
            let tensor = Tensor::with_shape(value.element_type, value.shape.clone(), bytes)?;
            value.host.get_or_init(|| tensor);
        }
        Ok(())
    }

    async fn diagnose(&self, error: Error) -> Error {
        match self.gpu {
            Some(gpu) => gpu.link.diagnose(error).await,
            None => error,
        }
    }
}
