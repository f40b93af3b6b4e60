//! Running models of casts. Tensors stay on the device between nodes.

use std::fmt;
use std::sync::Arc;

use crate::context::{Context, Gpu, NO_STRING_KERNEL, Route};
use crate::conversion::{Conversion, has_kernel};
use crate::cpu;
use crate::element::ElementType;
use crate::error::{Error, ModelFault, counted};
use crate::gpu::batch::{Batch, Resident, Wanted};
use crate::onnx::{Model, NamedTensor, Node};
use crate::options::CastOptions;
use crate::tensor::Tensor;

/// Outputs are read back together, up to so many bytes, because each read-back waits for the device.
const READ_BACK_BYTES: u64 = 64 << 20;

/// Where and why a model was run, and how much it moved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunReport {
    /// Where the casts were done: on a device if it did any of them, on the CPU if that did all, a copy if nothing was
    /// converted.
    pub route: Route,
    /// Why they were done there.
    pub reason: String,
    /// The adapter's name, if a device did any of the casts.
    pub adapter: Option<String>,
    /// The number of nodes that were run, which are those that an output depends on.
    pub nodes: u32,
    /// Dispatches submitted.
    pub dispatches: u32,
    /// Tensors copied to the device.
    pub uploads: u32,
    /// Tensors copied from the device: outputs, and sources of casts to strings.
    pub read_backs: u32,
}

impl fmt::Display for RunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.route.describe(self.adapter.as_deref(), &self.reason);
        write!(f, "{}, {place}", counted(self.nodes.into(), "node"))
    }
}

impl Context {
    /// Runs a model of casts on host tensors. `inputs` has one tensor for each input of the graph, in its order, or one
    /// for each input without a default. Nodes that no output depends on are not run.
    ///
    /// On a device, tensors stay there between nodes, and only outputs are copied back. Strings are cast on the CPU.
    /// Tensors that exceed the device's largest buffer are copied from and to the host in parts. A UINT16 tensor is
    /// accepted for a BFLOAT16 input, because ONNX's older test data stores BFLOAT16 so.
    ///
    /// # Errors
    /// [`Error::Model`] if the inputs do not match the graph, before any work; [`Error::Node`] with the error of a
    /// node, which is one of [`cast`](Self::cast).
    pub async fn run(&self, model: &Model, inputs: Vec<Tensor>) -> Result<(Vec<NamedTensor>, RunReport), Error> {
        let inputs = check_inputs(model, inputs)?;
        let needed = model.needed();
        let mut run = Run::new(self, model, inputs, &needed);
        for node in model.nodes().iter().filter(|node| needed[node.output]) {
            if let Err(error) = run.node(node, model.element_type(node.output)).await {
                let error = Box::new(run.diagnose(error).await);
                return Err(Error::Node { node: node.name.clone(), error });
            }
        }
        if let Err(error) = run.read_outputs(model).await {
            return Err(run.diagnose(error).await);
        }
        let mut outputs = Vec::new();
        for output in model.outputs() {
            outputs.push(NamedTensor { name: output.name.clone(), tensor: run.output(output.value)? });
        }
        Ok((outputs, run.report()))
    }
}

/// The inputs with their defaults, each of the type that the graph says.
fn check_inputs(model: &Model, inputs: Vec<Tensor>) -> Result<Vec<(usize, Tensor)>, Error> {
    let all = model.inputs().len();
    let required = model.inputs().iter().filter(|input| !input.has_default).count();
    let found = inputs.len();
    if found != all && found != required {
        return Err(ModelFault::InputCount { required, all, found }.into());
    }
    let given = model.inputs().iter().filter(|input| found == all || !input.has_default);
    let mut values: Vec<(usize, Tensor)> = Vec::new();
    for (input, tensor) in given.zip(inputs) {
        let (expected, found) = (input.element_type, tensor.element_type());
        let tensor = if (expected, found) == (ElementType::BFLOAT16, ElementType::UINT16) {
            tensor.with_type(expected)
        } else {
            tensor
        };
        if tensor.element_type() != expected {
            let name = input.name.clone();
            return Err(ModelFault::ValueType { what: "input", name, expected, found }.into());
        }
        values.push((input.value, tensor));
    }
    Ok(values)
}

/// A value that is on the host, on the device, or on both.
struct Value {
    element_type: ElementType,
    shape: Arc<[usize]>,
    elements: u64,
    host: Option<Tensor>,
    device: Option<Resident>,
    /// The last cast that the value went through, for messages.
    made_by: Option<Conversion>,
}

impl Value {
    fn host(tensor: Tensor) -> Self {
        let (element_type, elements) = (tensor.element_type(), tensor.len() as u64);
        let shape = tensor.shared_shape();
        Self { element_type, shape, elements, host: Some(tensor), device: None, made_by: None }
    }
}

struct Run<'a> {
    context: &'a Context,
    /// The device, where the numeric casts are to run on it.
    gpu: Option<&'a Gpu>,
    batch: Option<Batch<'a>>,
    /// The number of cast nodes, each of which may leave a proof.
    casts: usize,
    /// For each value, the one it is the same as: `Identity` passes values on that a cast or the caller has made.
    origins: Vec<usize>,
    /// Those that are there. A model may have many more values than are there at a time.
    values: Vec<Option<Box<Value>>>,
    /// How many nodes and outputs still need each value.
    uses: Vec<usize>,
    /// Why the CPU has converted something, if it has.
    cpu: Option<String>,
    report: RunReport,
}

impl<'a> Run<'a> {
    fn new(context: &'a Context, model: &Model, inputs: Vec<(usize, Tensor)>, needed: &[bool]) -> Self {
        let nodes = || model.nodes().iter().filter(|node| needed[node.output]);
        let mut origins: Vec<usize> = (0..model.values()).collect();
        for node in nodes().filter(|node| node.operation.options().is_none()) {
            origins[node.output] = origins[node.input];
        }
        let mut uses = vec![0; model.values()];
        let casts = || nodes().filter(|node| node.operation.options().is_some());
        let wanted = casts().map(|node| node.input).chain(model.outputs().iter().map(|output| output.value));
        wanted.for_each(|value| uses[origins[value]] += 1);
        let mut values: Vec<Option<Box<Value>>> = std::iter::repeat_with(|| None).take(model.values()).collect();
        let constants = model.constants().iter().map(|(value, tensor)| (*value, tensor.clone()));
        for (value, tensor) in constants.chain(inputs).filter(|(value, _)| uses[*value] > 0) {
            values[value] = Some(Box::new(Value::host(tensor)));
        }
        // How many bytes the casts read and write. A cast's result has as many elements as its input.
        let mut elements: Vec<u64> = values.iter().map(|value| value.as_ref().map_or(0, |v| v.elements)).collect();
        let (mut bytes, mut is_chain) = (0u64, false);
        for node in casts() {
            let input = origins[node.input];
            is_chain |= values[input].is_none();
            elements[node.output] = elements[input];
            let packed = |value: usize| model.element_type(value).packed_bytes(elements[value]).unwrap_or(0);
            bytes = bytes.saturating_add(packed(input)).saturating_add(packed(node.output));
        }
        let (gpu, reason) = context.device_for(bytes, is_chain);
        let report = RunReport {
            route: Route::Copy,
            reason,
            adapter: None,
            nodes: nodes().count() as u32,
            dispatches: 0,
            uploads: 0,
            read_backs: 0,
        };
        Self { context, gpu, batch: None, casts: casts().count(), origins, values, uses, cpu: None, report }
    }

    async fn node(&mut self, node: &Node, to: ElementType) -> Result<(), Error> {
        if let Some(options) = node.operation.options() {
            let input = self.origins[node.input];
            self.values[node.output] = Some(Box::new(self.cast(input, to, &options).await?));
            self.release(input);
        }
        Ok(())
    }

    async fn cast(&mut self, input: usize, to: ElementType, options: &CastOptions) -> Result<Value, Error> {
        let source = self.value(input)?;
        let (from, elements, shape) = (source.element_type, source.elements, source.shape.clone());
        if !has_kernel(from, to) {
            let host = self.on_host(input).await?;
            if from != to && elements > 0 {
                self.cpu.get_or_insert_with(|| NO_STRING_KERNEL.to_owned());
            }
            return Ok(Value::host(cpu::cast(&host, to, options)?));
        }
        let conversion = Conversion::new(from, to, options)?;
        let Some(gpu) = self.gpu.filter(|_| elements > 0) else {
            let host = self.on_host(input).await?;
            if !conversion.is_copy() && elements > 0 {
                self.cpu = Some(self.report.reason.clone());
            }
            return Ok(Value::host(cpu::cast_numbers(&host, &conversion)?));
        };
        if let (true, Some(host)) = (conversion.is_copy(), &self.value(input)?.host) {
            return Ok(Value::host(host.with_type(to)));
        }
        let fits = |t: ElementType| t.packed_bytes(elements).is_some_and(|b| Batch::fits(&gpu.link, b, self.casts));
        if !fits(from) || !fits(to) {
            let host = self.on_host(input).await?;
            let (result, report) = self.context.cast_numbers(&host, &conversion).await?;
            match report.route {
                Route::Gpu => {
                    self.report.dispatches += report.dispatches;
                    self.report.uploads += 1;
                    self.report.read_backs += 1;
                }
                Route::Cpu => self.cpu = Some(report.reason),
                Route::Copy => {}
            }
            return Ok(Value::host(result));
        }
        let resident = self.on_device(input, gpu, &conversion)?;
        let device = if conversion.is_copy() {
            resident
        } else {
            self.batch(gpu, &conversion)?.cast(&conversion, elements, &resident).await?
        };
        let made_by = Some(conversion);
        Ok(Value { element_type: to, shape, elements, host: None, device: Some(device), made_by })
    }

    fn value(&self, value: usize) -> Result<&Value, Error> {
        // Reading the model has checked that every value is made before it is used.
        let unknown = || ModelFault::Unknown { value: value.to_string() };
        self.values[value].as_deref().ok_or_else(|| unknown().into())
    }

    fn batch(&mut self, gpu: &'a Gpu, conversion: &Conversion) -> Result<&mut Batch<'a>, Error> {
        let batch = match self.batch.take() {
            Some(batch) => batch,
            None => Batch::new(&gpu.link, conversion, self.casts)?,
        };
        Ok(self.batch.insert(batch))
    }

    /// The value on the device, uploaded where it is not there yet. It stays there.
    fn on_device(&mut self, value: usize, gpu: &'a Gpu, conversion: &Conversion) -> Result<Resident, Error> {
        let held = self.value(value)?;
        if let Some(resident) = &held.device {
            return Ok(resident.clone());
        }
        let host = held.host.clone();
        let bytes = host.as_ref().map(Tensor::packed).transpose()?.unwrap_or_default();
        let resident = self.batch(gpu, conversion)?.upload(conversion, bytes)?;
        self.report.uploads += 1;
        if let Some(held) = &mut self.values[value] {
            held.device = Some(resident.clone());
        }
        Ok(resident)
    }

    /// The value on the host, read back where it is not there yet. It stays there.
    async fn on_host(&mut self, value: usize) -> Result<Tensor, Error> {
        self.read_back(&[value]).await?;
        self.host(value)
    }

    fn host(&self, value: usize) -> Result<Tensor, Error> {
        let unknown = || ModelFault::Unknown { value: value.to_string() };
        Ok(self.value(value)?.host.clone().ok_or_else(unknown)?)
    }

    /// Reads back those of the values that are only on the device, in one submission.
    async fn read_back(&mut self, values: &[usize]) -> Result<(), Error> {
        let mut read_backs = Vec::new();
        for &value in values {
            let held = self.value(value)?;
            if let (None, Some(device), Some(made_by)) = (&held.host, &held.device, held.made_by) {
                let size = held.element_type.packed_bytes(held.elements).and_then(|bytes| usize::try_from(bytes).ok());
                let bytes = crate::tensor::zeroed(made_by.from, made_by.to, size.unwrap_or(usize::MAX))?;
                read_backs.push((value, made_by, device.clone(), bytes));
            }
        }
        let Some(batch) = &mut self.batch else { return Ok(()) };
        let wanted = read_backs.iter_mut().map(|(_, conversion, source, bytes)| Wanted {
            conversion: *conversion,
            source: source.clone(),
            bytes,
        });
        batch.read_back(&mut wanted.collect::<Vec<_>>()).await?;
        for (value, _, _, bytes) in read_backs {
            self.report.read_backs += 1;
            if let Some(held) = &mut self.values[value] {
                held.host = Some(Tensor::with_shape(held.element_type, held.shape.clone(), bytes)?);
            }
        }
        Ok(())
    }

    /// Reads back all outputs, up to [`READ_BACK_BYTES`] and as many as fit a buffer at a time.
    async fn read_outputs(&mut self, model: &Model) -> Result<(), Error> {
        let mut values: Vec<usize> = model.outputs().iter().map(|output| self.origins[output.value]).collect();
        values.sort_unstable();
        values.dedup();
        let room = self.gpu.map_or(u64::MAX, |gpu| Batch::room(&gpu.link, self.casts)).min(READ_BACK_BYTES);
        let mut together = Vec::new();
        let mut bytes = 0;
        for value in values {
            let held = self.value(value)?;
            let size = Batch::taken(held.element_type.packed_bytes(held.elements).unwrap_or(0));
            if bytes + size > room && !together.is_empty() {
                self.read_back(&std::mem::take(&mut together)).await?;
                bytes = 0;
            }
            bytes += size;
            together.push(value);
        }
        self.read_back(&together).await
    }

    /// An output; two of the same value share its memory.
    fn output(&mut self, value: usize) -> Result<Tensor, Error> {
        let value = self.origins[value];
        let host = self.host(value)?;
        self.release(value);
        Ok(host)
    }

    /// Drops a value that is no longer needed.
    fn release(&mut self, value: usize) {
        self.uses[value] -= 1;
        if self.uses[value] == 0 {
            self.values[value] = None;
        }
    }

    async fn diagnose(&self, error: Error) -> Error {
        match self.gpu {
            Some(gpu) => gpu.link.diagnose(error).await,
            None => error,
        }
    }

    fn report(self) -> RunReport {
        let dispatches = self.report.dispatches + self.batch.map_or(0, |batch| batch.dispatches);
        let gpu = self.gpu.filter(|_| dispatches > 0);
        let adapter = gpu.map(|gpu| crate::gpu::adapter::name(&gpu.info));
        let (route, reason) = match (gpu, self.cpu) {
            (Some(_), _) => (Route::Gpu, self.report.reason),
            (None, Some(reason)) => (Route::Cpu, reason),
            (None, None) => (Route::Copy, "nothing to convert".to_owned()),
        };
        RunReport { route, reason, adapter, dispatches, ..self.report }
    }
}
