//! Casts of Burn's tensors to any numeric element type of ONNX, as tasks of Burn's own stream. An extension to copy.
//!
//! A cast is planned as data, and its dispatches are launched by the tensor's client, as Burn launches its own kernels:
//! Burn orders them, submits them together with others and keeps the memory as long as they need it. Nothing is flushed.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use burn_tensor::DType;
use burn_wgpu::{CubeDim, CubeTensor, KernelSource, SourceKernel, SourceTemplate};
use cubecl::prelude::{CubeCount, ExecutionMode, KernelId};
use cubecl::server::{Handle, KernelArguments, MetadataBindingInfo};
use wgpu_cast::{CastSpec, ElementType, Placement, Plan, PlanSettings, PlannedDispatch, Position, Side};

use crate::device::Result;

/// A tensor in Burn's memory, of any numeric element type of ONNX, packed as ONNX packs it.
#[derive(Clone)]
pub struct OnnxTensor {
    /// Burn's tensor. If Burn does not have the element type, its own type says nothing.
    pub tensor: CubeTensor,
    pub element_type: ElementType,
}

/// Casts on one device, whose plans are kept.
pub struct Casts {
    settings: PlanSettings,
    plans: Mutex<HashMap<(CastSpec, u64), Arc<Planned>>>,
}

struct Planned {
    plan: Plan,
    kernels: Vec<Kernel>,
}

/// A kernel as Burn takes it: its text, and what Burn knows it by.
#[derive(Clone)]
struct Kernel {
    wgsl: Arc<str>,
    hash: u64,
    size: u32,
}

impl KernelSource for Kernel {
    fn source(&self) -> SourceTemplate {
        SourceTemplate::new(&*self.wgsl)
    }

    fn id(&self) -> KernelId {
        // The planner bounds each index and each loop, so that no check at run time is needed.
        KernelId::new::<Self>().info(self.hash).cube_dim(CubeDim::new_1d(self.size).0).mode(ExecutionMode::Unchecked)
    }

    fn lang(&self) -> &'static str {
        "wgsl"
    }
}

impl OnnxTensor {
    /// A contiguous tensor of a type that Burn shares with ONNX.
    pub fn new(tensor: CubeTensor) -> Result<Self> {
        let element_type = match tensor.dtype {
            DType::F64 => ElementType::DOUBLE,
            DType::F32 | DType::Flex32 => ElementType::FLOAT,
            DType::F16 => ElementType::FLOAT16,
            DType::BF16 => ElementType::BFLOAT16,
            DType::I64 => ElementType::INT64,
            DType::I32 => ElementType::INT32,
            DType::I16 => ElementType::INT16,
            DType::I8 => ElementType::INT8,
            DType::U64 => ElementType::UINT64,
            DType::U32 => ElementType::UINT32,
            DType::U16 => ElementType::UINT16,
            DType::U8 => ElementType::UINT8,
            other => return Err(format!("{other:?} is no element type of ONNX").into()),
        };
        Ok(Self { tensor, element_type })
    }

    /// The number of elements.
    pub fn len(&self) -> u64 {
        self.tensor.meta.shape().num_elements() as u64
    }
}

impl Casts {
    /// `limits` are those of the tensors' device.
    pub fn new(settings: PlanSettings) -> Self {
        Self { settings, plans: Mutex::default() }
    }

    /// The tensor as another type, in new memory of Burn's.
    pub fn cast(&self, tensor: &OnnxTensor, to: ElementType) -> Result<OnnxTensor> {
        let CubeTensor { client, handle, device, meta, .. } = &tensor.tensor;
        let (spec, len) = (CastSpec::new(tensor.element_type, to), tensor.len());
        let planned = self.planned(spec, len)?;
        let bytes = to.packed_bytes(len).ok_or("the size overflows")?;
        let destination = client.empty(bytes as usize);
        for dispatch in planned.plan.dispatches() {
            let kernel = planned.kernels[dispatch.kernel()].clone();
            let size = CubeDim::new_1d(kernel.size);
            let [x, y, z] = dispatch.workgroups();
            let arguments = arguments(dispatch, handle, &destination);
            client.launch(Box::new(SourceKernel::new(kernel, size)), CubeCount::Static(x, y, z), arguments);
        }
        // Burn's type where it has one.
        let dtype = dtype(to).unwrap_or(DType::U8);
        let tensor =
            CubeTensor::new_contiguous(client.clone(), device.clone(), meta.shape().clone(), destination, dtype);
        Ok(OnnxTensor { tensor, element_type: to })
    }

    fn planned(&self, spec: CastSpec, len: u64) -> Result<Arc<Planned>> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(planned) = plans.get(&(spec, len)) {
            return Ok(planned.clone());
        }
        // Burn binds each tensor's memory as a whole, and does not tell where it lies.
        let placement = Placement::two_allocations(Position::whole(0), Position::whole(0));
        let plan = Plan::new(&spec, len, &placement, &self.settings)?;
        let kernel = |kernel: &wgpu_cast::wgsl::Kernel| {
            // Burn numbers the bindings: the source, the destination, the parameters.
            let wgsl = kernel.wgsl().replace("@binding(4)", "@binding(2)");
            let mut hasher = DefaultHasher::new();
            wgsl.hash(&mut hasher);
            Kernel { wgsl: wgsl.into(), hash: hasher.finish(), size: kernel.workgroup_size() }
        };
        let kernels = plan.kernels().iter().map(kernel).collect();
        let planned = Arc::new(Planned { plan, kernels });
        plans.insert((spec, len), planned.clone());
        Ok(planned)
    }
}

/// Burn's type for an element type.
pub fn dtype(element_type: ElementType) -> Option<DType> {
    let types = [
        (ElementType::DOUBLE, DType::F64),
        (ElementType::FLOAT, DType::F32),
        (ElementType::FLOAT16, DType::F16),
        (ElementType::BFLOAT16, DType::BF16),
        (ElementType::INT64, DType::I64),
        (ElementType::INT32, DType::I32),
        (ElementType::INT16, DType::I16),
        (ElementType::INT8, DType::I8),
        (ElementType::UINT64, DType::U64),
        (ElementType::UINT32, DType::U32),
        (ElementType::UINT16, DType::U16),
        (ElementType::UINT8, DType::U8),
    ];
    types.into_iter().find(|(known, _)| *known == element_type).map(|(_, dtype)| dtype)
}

/// What a dispatch binds.
fn arguments(dispatch: &PlannedDispatch, source: &Handle, destination: &Handle) -> KernelArguments {
    let mut arguments = KernelArguments::new();
    for binding in dispatch.bindings() {
        let handle = if binding.side == Side::Source { source } else { destination };
        // The range ends with a whole word, as the memory does; the handle may end before that.
        let after = handle.size_in_used().saturating_sub(binding.offset + binding.size);
        arguments = arguments.with_buffer(handle.clone().offset_start(binding.offset).offset_end(after).binding());
    }
    let words = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("a multiple of 16 bytes"));
    let parameters = dispatch.parameters().chunks_exact(8).map(words).collect();
    arguments.with_info(MetadataBindingInfo::custom(parameters))
}
