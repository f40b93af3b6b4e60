//! Burn's device, and where in it a tensor lies.

use std::any::Any;
use std::error::Error;

use burn_tensor::kind::Basic;
use burn_tensor::wgpu::WgpuSetup;
use burn_tensor::{BackendPrimitive, Device, Tensor};
use burn_wgpu::{AutoCompiler, CubeTensor, Wgpu};
use cubecl::client::Client;
use cubecl::server::Handle;
use cubecl::wgpu::WgpuServer;
use wgpu_cast::{Caster, PlanSettings, wgpu};

use crate::extension::Casts;

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Burn on its own wgpu device, and a caster on the same one.
pub struct Burn {
    pub device: Device,
    pub setup: WgpuSetup,
    pub client: Client,
    pub caster: Caster,
    pub casts: Casts,
}

impl Burn {
    /// Burn chooses the adapter and opens the device, as it does for any of its users.
    pub fn start() -> Result<Self> {
        let (device, setup) = Device::wgpu_options().init_with_setup()?;
        let client = primitive(Tensor::<1>::zeros([1], &device))?.client;
        let caster = Caster::new(&setup.device);
        let settings = PlanSettings::new(*caster.limits(), *caster.tuning());
        Ok(Self { device, setup, client, caster, casts: Casts::new(settings) })
    }

    /// Where a handle's bytes lie.
    pub fn place(&self, handle: &Handle) -> Result<Place> {
        let managed = self.client.get_resource::<WgpuServer<AutoCompiler>>(handle.clone()).map_err(debug)?;
        let resource = managed.resource();
        let (buffer, offset) = (resource.buffer.clone(), resource.offset);
        Ok(Place { buffer, offset, _held: Box::new(managed) })
    }

    /// Submits commands so that they run after all that burn was asked to do before, and before all that it will be.
    pub fn submit(&self, encoder: wgpu::CommandEncoder) -> Result<()> {
        // Burn gathers its work in an encoder of its own; on the queue it is only then.
        self.client.flush().map_err(debug)?;
        self.setup.queue.submit([encoder.finish()]);
        Ok(())
    }

    /// Until the queue is empty.
    pub fn wait(&self) -> Result<()> {
        self.client.flush().map_err(debug)?;
        self.setup.device.poll(wgpu::PollType::wait_indefinitely())?;
        Ok(())
    }

    /// A handle's bytes, read by burn.
    pub fn read(&self, handle: &Handle) -> Result<Vec<u8>> {
        Ok(self.client.read_one(handle.clone()).map_err(debug)?.to_vec())
    }

    pub fn encoder(&self) -> wgpu::CommandEncoder {
        self.setup.device.create_command_encoder(&Default::default())
    }
}

/// Bytes of a buffer that stay where they are, and are given to nothing else, for as long as this lives.
pub struct Place {
    pub buffer: wgpu::Buffer,
    pub offset: u64,
    /// cubecl does not export this type.
    _held: Box<dyn Any>,
}

impl Place {
    pub fn slice(&self, bytes: u64) -> wgpu::BufferSlice<'_> {
        self.buffer.slice(self.offset..self.offset + bytes)
    }
}

/// What a tensor is in burn's wgpu backend. Not its fused one, whose tensors may not be computed yet.
pub fn primitive<K>(tensor: Tensor<1, K>) -> Result<CubeTensor>
where
    K: Basic + BackendPrimitive<Wgpu, Primitive = CubeTensor>,
{
    tensor.try_into_primitive::<Wgpu>().map_err(|error| format!("{error:?}").into())
}

/// cubecl's errors have no `Error`.
pub fn debug(error: impl std::fmt::Debug) -> Box<dyn Error> {
    format!("{error:?}").into()
}
