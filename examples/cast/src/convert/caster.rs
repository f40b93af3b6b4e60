//! Where pieces are cast.

use std::sync::{Arc, Mutex, PoisonError};

use rayon::ThreadPool;
use wgpu_cast::cpu::Scales;
use wgpu_cast::{CastReport, CastSpec, DeviceChoice, Error, LossCounts, Tensor, cpu};
use wgpu_cast_files::CastScaledPiece;

use crate::args::DeviceArgs;
use crate::embedded;
use crate::failure::Failure;
use crate::session::Session;

/// The CPU, or a device.
pub enum Caster {
    /// On the threads of a pool, or of rayon's global one.
    Cpu(Option<Arc<ThreadPool>>),
    Device(Box<OnDevice>),
}

/// A device, and its last report.
pub struct OnDevice {
    session: Session,
    report: Mutex<Option<CastReport>>,
}

impl Caster {
    /// Opens the device of the arguments. By default this is the CPU, which is faster than copying to a device and
    /// back.
    ///
    /// # Errors
    /// The device cannot be opened.
    pub fn open(args: &DeviceArgs) -> Result<Self, Failure> {
        match args.choice()? {
            DeviceChoice::Auto | DeviceChoice::Cpu => Ok(Self::Cpu(embedded::pool())),
            choice => {
                let session = pollster::block_on(Session::open(choice))?;
                Ok(Self::Device(Box::new(OnDevice { session, report: Mutex::new(None) })))
            }
        }
    }

    /// Where the casts were done, and why.
    pub fn route(&self, args: &DeviceArgs, only_strings: bool) -> String {
        if only_strings {
            return "on the CPU (strings have no GPU kernel)".to_owned();
        }
        let Self::Device(device) = self else {
            let reason = args.reason(wgpu_cast::Route::Cpu);
            return format!("on the CPU ({})", reason.as_deref().unwrap_or("faster than copying to a GPU and back"));
        };
        let report = device.report.lock().unwrap_or_else(PoisonError::into_inner).take();
        report.map_or_else(
            || "nothing was cast".to_owned(),
            |mut report| {
                report.reason = args.reason(report.route).unwrap_or(report.reason);
                report.to_string()
            },
        )
    }

    /// Keeps the device's pipelines for the next run.
    pub fn close(&self) {
        if let Self::Device(device) = self {
            device.session.keep();
        }
    }

    /// Casts as [`cpu::cast_counted`].
    ///
    /// # Errors
    /// The cast is not possible, or the device failed.
    pub fn cast(
        &self,
        spec: &CastSpec,
        source: &[u8],
        len: usize,
        destination: &mut [u8],
    ) -> Result<LossCounts, Error> {
        let device = match self {
            Self::Device(device) => device,
            Self::Cpu(Some(pool)) => return pool.install(|| cpu::cast_counted(spec, source, len, destination)),
            Self::Cpu(None) => return cpu::cast_counted(spec, source, len, destination),
        };
        let tensor = Tensor::from_bytes(spec.from, [len], source.to_vec())?;
        let (result, report) = pollster::block_on(device.session.context.cast(&tensor, spec.to, &spec.options))?;
        destination.copy_from_slice(result.bytes().unwrap_or_default());
        *device.report.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
        cpu::count_losses(spec, source, len)
    }

    /// Casts as `cast`: [`cpu::cast_scaled_counted`] or [`cpu::cast_divided_counted`]. Scales are applied on the CPU.
    ///
    /// # Errors
    /// The cast is not possible.
    pub fn cast_scaled(
        &self,
        cast: &CastScaledPiece<'_>,
        spec: &CastSpec,
        scales: &Scales<'_>,
        source: &[u8],
        destination: &mut [u8],
    ) -> Result<LossCounts, Error> {
        let mut cast = || cast(spec, scales, source, destination);
        match self {
            Self::Cpu(Some(pool)) => pool.install(cast),
            _ => cast(),
        }
    }
}
