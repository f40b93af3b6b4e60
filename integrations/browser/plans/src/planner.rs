//! Plans, as bytes, and the kernels that they use.

use std::cell::RefCell;
use std::hash::{Hash, Hasher};

use wasm_bindgen::prelude::*;
use wgpu_cast::wgsl::Kernel;
use wgpu_cast::{
    CastSpec, CodeLookup, Error, Placement, Plan, PlanLimits, PlanSettings, PlanTuning, PlannedDispatch, PlannedSlice,
    Position, Side, View,
};

use crate::{error, spec};

/// Plans casts within the limits of a device. Each kernel has a number, under which its text can be asked for.
#[wasm_bindgen]
pub struct Planner {
    settings: PlanSettings,
    kernels: RefCell<Kernels>,
}

#[wasm_bindgen]
impl Planner {
    /// `limits`: the largest buffer and the largest storage binding in bytes, the alignment of a binding's start, the
    /// workgroups in one dimension. `tuning`: the most elements of a dispatch, the elements from which the main kernel is
    /// used (NaN: those of a workgroup), and whether codes are looked up in tables.
    #[wasm_bindgen(constructor)]
    pub fn new(limits: &[f64], dispatch_elements: f64, blocks_from: f64, tables: bool) -> Planner {
        let limits = PlanLimits::default()
            .with_buffer_size(limits[0] as u64)
            .with_binding_size(limits[1] as u64)
            .with_offset_alignment(limits[2] as u64)
            .with_workgroups(limits[3] as u32);
        let tuning = PlanTuning::default()
            .with_dispatch_elements(dispatch_elements as u64)
            .with_blocks_from((!blocks_from.is_nan()).then_some(blocks_from as u64))
            .with_lookup(if tables { CodeLookup::Table } else { CodeLookup::Computed });
        Planner { settings: PlanSettings::new(limits, tuning), kernels: RefCell::default() }
    }

    /// Plans a cast of so many elements; see `places`.
    pub fn plan(&self, cast: u32, elements: f64, places: &[f64]) -> Result<Vec<u8>, JsValue> {
        let (spec, len) = (spec(cast), elements as u64);
        let plan = || {
            check(&spec, [len, len], places)?;
            Plan::new(&spec, len, &placement(places), &self.settings)
        };
        plan().map(|plan| self.bytes(&plan)).map_err(|e| error::of(&e))
    }

    /// Plans a cast between views; see `places`. No strides are those of a dense tensor.
    #[wasm_bindgen(js_name = planView)]
    pub fn plan_view(
        &self,
        cast: u32,
        shape: &[f64],
        source_strides: Option<Box<[f64]>>,
        destination_strides: Option<Box<[f64]>>,
        places: &[f64],
    ) -> Result<Vec<u8>, JsValue> {
        let (spec, owned) = (spec(cast), OwnedView::new(shape, source_strides, destination_strides));
        let view = owned.view();
        let plan = || {
            check(&spec, view.extents(&spec)?, places)?;
            Plan::view(&spec, &view, &placement(places), &self.settings)
        };
        plan().map(|plan| self.bytes(&plan)).map_err(|e| error::of(&e))
    }

    /// The text of the kernel of a number. It is composed anew each time.
    pub fn wgsl(&self, kernel: usize) -> String {
        // The registered kernel stays without its text.
        self.kernels.borrow().list[kernel].clone().wgsl().to_owned()
    }
}

impl Planner {
    /// For each dispatch nine numbers and the bytes of its parameters. The numbers are the kernel, the workgroups along x
    /// and y, how it binds (0: a source that is read only, 1: a source that is not, 2: no source), the offset and size
    /// of each binding, and the number of bytes of the parameters. Zeros may follow the last dispatch.
    fn bytes(&self, plan: &Plan) -> Vec<u8> {
        let mut kernels = self.kernels.borrow_mut();
        let numbers: Vec<usize> = plan.kernels().iter().map(|kernel| kernels.number(kernel)).collect();
        let dispatches = plan.dispatches();
        let each = dispatches.first().map_or(0, |dispatch| NUMBERS * size_of::<f64>() + dispatch.parameters().len());
        let mut size = dispatches.len() * each;
        if size > PAGE {
            // Few sizes, so that the memory of one plan serves others: see `ALLOCATOR`.
            size = size.next_power_of_two();
        }
        let mut bytes = Vec::with_capacity(size);
        for dispatch in dispatches {
            write(&mut bytes, numbers[dispatch.kernel()], dispatch);
        }
        bytes.resize(size.max(bytes.len()), 0);
        bytes
    }
}

/// The numbers of a dispatch before the bytes of its parameters.
const NUMBERS: usize = 9;

/// Bytes of a page of WebAssembly's memory.
const PAGE: usize = 1 << 16;

fn write(bytes: &mut Vec<u8>, kernel: usize, dispatch: &PlannedDispatch) {
    let (mut access, mut ranges) = (2, [0; 4]);
    for bound in dispatch.bindings() {
        let at = if bound.side == Side::Source { 0 } else { 2 };
        ranges[at..at + 2].copy_from_slice(&[bound.offset, bound.size]);
        if bound.side == Side::Source {
            access = u64::from(!bound.read_only);
        }
    }
    let ([x, y, _], parameters) = (dispatch.workgroups(), dispatch.parameters());
    let [source, source_size, destination, destination_size] = ranges;
    let numbers = [kernel as u64, x.into(), y.into(), access, source, source_size, destination, destination_size];
    for number in numbers.into_iter().chain([parameters.len() as u64]) {
        bytes.extend((number as f64).to_le_bytes());
    }
    bytes.extend(parameters);
}

/// The numbers of elements from the lowest to the highest, on both sides of a view.
#[wasm_bindgen]
pub fn extents(
    cast: u32,
    shape: &[f64],
    source_strides: Option<Box<[f64]>>,
    destination_strides: Option<Box<[f64]>>,
) -> Result<Vec<f64>, JsValue> {
    let view = OwnedView::new(shape, source_strides, destination_strides);
    let extents = view.view().extents(&spec(cast)).map_err(|e| error::of(&e))?;
    Ok(extents.map(|extent| extent as f64).to_vec())
}

/// A view with numbers of Rust.
struct OwnedView {
    shape: Vec<u64>,
    source: Option<Vec<i64>>,
    destination: Option<Vec<i64>>,
}

impl OwnedView {
    fn new(shape: &[f64], source: Option<Box<[f64]>>, destination: Option<Box<[f64]>>) -> Self {
        let strides =
            |given: Option<Box<[f64]>>| given.map(|given| given.iter().map(|&stride| stride as i64).collect());
        let shape = shape.iter().map(|&size| size as u64).collect();
        Self { shape, source: strides(source), destination: strides(destination) }
    }

    fn view(&self) -> View<'_> {
        let mut view = View::new(&self.shape);
        if let Some(strides) = &self.source {
            view = view.with_source_strides(strides);
        }
        if let Some(strides) = &self.destination {
            view = view.with_destination_strides(strides);
        }
        view
    }
}

/// Numbers of one side in `places`: the offset in bytes; the elements before a part, or -1 for a whole tensor; and, only
/// if slices are to be checked, their bytes, those of the buffer, and 1 if it has the usage STORAGE.
const OF_SIDE: usize = 5;

/// `places` has the numbers of both sides, and then 0 for two buffers, 1 for one buffer, 2 for two allocations, and 1 if
/// the slices are to be checked.
fn placement(places: &[f64]) -> Placement {
    let [source, destination] = [position(places), position(&places[OF_SIDE..])];
    match places[2 * OF_SIDE] as u32 {
        0 => Placement::two_buffers(source, destination),
        1 => Placement::one_buffer(source, destination),
        _ => Placement::two_allocations(source, destination),
    }
}

fn position(side: &[f64]) -> Position {
    let offset = side[0] as u64;
    if side[1] < 0.0 { Position::whole(offset) } else { Position::part(offset, side[1] as u64) }
}

/// Checks both slices, as `Prepared::bind` does in Rust. A cast without elements checks nothing.
fn check(spec: &CastSpec, lens: [u64; 2], places: &[f64]) -> Result<(), Error> {
    if places[2 * OF_SIDE + 1] == 0.0 || lens == [0, 0] {
        return Ok(());
    }
    for ((side, len), numbers) in [Side::Source, Side::Destination].into_iter().zip(lens).zip(places.chunks(OF_SIDE)) {
        let slice = PlannedSlice {
            position: position(numbers),
            size: numbers[2] as u64,
            buffer_size: numbers[3] as u64,
            has_storage: numbers[4] != 0.0,
        };
        slice.check(spec, side, len)?;
    }
    Ok(())
}

/// Kernels by their numbers. The standard library's map would be larger.
#[derive(Default)]
struct Kernels {
    list: Vec<Kernel>,
    /// The numbers of the kernels whose hashes begin with the bits of the index.
    buckets: [Vec<usize>; 1 << BITS],
}

const BITS: u32 = 5;

impl Kernels {
    fn number(&mut self, kernel: &Kernel) -> usize {
        let mut hasher = Fnv::default();
        kernel.hash(&mut hasher);
        let bucket = &mut self.buckets[(hasher.finish() >> (u64::BITS - BITS)) as usize];
        if let Some(&number) = bucket.iter().find(|&&number| self.list[number] == *kernel) {
            return number;
        }
        let number = self.list.len();
        bucket.push(number);
        self.list.push(kernel.clone());
        number
    }
}

/// FNV-1a: the standard library's hasher is larger, and its protection is not needed for keys that this crate makes.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
