//! Finds an adapter and opens a device on it.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use crate::cpu::isa::is_fast;
use crate::gpu::device::{is_software, shares_memory};
use crate::types::error::Error;

/// The reason of a route that the caller chose.
pub(crate) const REQUESTED: &str = "requested";

/// The device that casts host tensors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceChoice {
    /// The faster device: a GPU if there is one and the tensors are large enough, otherwise the CPU. If the target has
    /// vector instructions (x86 with SSE2, aarch64, WebAssembly with simd128), copying a tensor to a GPU and back takes
    /// as long as [casting it on the CPU](crate::cpu::cast). On such targets a GPU is used only for a
    /// [`Batch`](crate::Batch) whose results are cast again. Software adapters are not used.
    #[default]
    Auto,
    /// The best adapter that works, including software adapters; an error if there is none.
    Gpu,
    /// The CPU.
    Cpu,
    /// The first adapter with this text in its name, in upper or lower case; an error if there is none.
    Adapter(String),
}

/// An adapter, and whether [`DeviceChoice::Auto`] uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdapterSummary {
    /// The adapter's name.
    pub name: String,
    /// The graphics API of the adapter.
    pub backend: wgpu::Backend,
    /// The kind of device.
    pub device_type: wgpu::DeviceType,
    /// The driver and its version.
    pub driver: String,
    /// Whether [`DeviceChoice::Auto`] uses the adapter.
    pub chosen: bool,
    /// Why the adapter is used or not.
    pub reason: String,
}

/// Says why the environment variable `WGPU_BACKEND` leaves no backend, if that is so.
fn no_known_backend() -> Option<String> {
    if !wgpu::Backends::from_env()?.is_empty() {
        return None;
    }
    let held = std::env::var("WGPU_BACKEND").unwrap_or_default();
    let held = crate::types::error::cut(&held, 80);
    Some(format!("WGPU_BACKEND is {held:?}, which names no backend (vulkan, metal, dx12, gl, webgpu or noop)"))
}

/// All adapters, the best first. The environment variable `WGPU_BACKEND` restricts the backends.
pub async fn adapters() -> Vec<AdapterSummary> {
    let found = enumerate(Search::Everywhere).await;
    let chosen = found.iter().position(|adapter| !is_software(&adapter.get_info()));
    let summaries = found.iter().enumerate().map(|(i, adapter)| {
        let info = adapter.get_info();
        let reason = if is_software(&info) {
            "software adapter, slower than casts on the CPU"
        } else if chosen == Some(i) {
            if is_fast() { "best GPU, used for models; single casts are faster on the CPU" } else { "best GPU" }
        } else {
            "another GPU is preferred"
        };
        AdapterSummary {
            name: name(&info),
            backend: info.backend,
            device_type: info.device_type,
            driver: [info.driver, info.driver_info].join(" ").trim().to_owned(),
            chosen: chosen == Some(i),
            reason: reason.to_owned(),
        }
    });
    summaries.collect()
}

/// The adapter's name, or a text in its place: most browsers do not tell the name.
pub(crate) fn name(info: &wgpu::AdapterInfo) -> String {
    if info.name.is_empty() { format!("unnamed adapter ({})", info.backend) } else { info.name.clone() }
}

/// The information about a device's adapter. If a browser tells no name, the name is made of the vendor, the
/// architecture and the backend. wgpu's own information has neither vendor nor architecture there.
pub(crate) fn info(device: &wgpu::Device) -> wgpu::AdapterInfo {
    let info = device.adapter_info();
    #[cfg(all(target_family = "wasm", feature = "backends"))]
    if let (true, Some(device)) = (info.name.is_empty(), device.as_webgpu()) {
        let told = device.adapter_info();
        let known: Vec<String> =
            [told.vendor(), told.architecture()].into_iter().filter(|text| !text.is_empty()).collect();
        if !known.is_empty() {
            let name = format!("{} ({})", known.join(" "), info.backend);
            return wgpu::AdapterInfo { name, ..info };
        }
    }
    info
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Search {
    /// All backends.
    Everywhere,
    /// OpenGL only if the other backends find no GPU, because loading it takes time.
    UntilGpu,
}

async fn enumerate(search: Search) -> Vec<wgpu::Adapter> {
    let groups = match search {
        Search::Everywhere => vec![wgpu::Backends::all()],
        Search::UntilGpu => vec![wgpu::Backends::PRIMARY, wgpu::Backends::SECONDARY],
    };
    let mut found = Vec::new();
    for backends in groups {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
        descriptor.backends &= backends;
        // An instance without backends finds nothing, and asking it is an error on some platforms.
        if descriptor.backends.is_empty() {
            continue;
        }
        let backends = descriptor.backends;
        found.extend(wgpu::Instance::new(descriptor).enumerate_adapters(backends).await);
        found.retain(|adapter: &wgpu::Adapter| {
            adapter.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS)
        });
        if found.iter().any(|adapter| !is_software(&adapter.get_info())) {
            break;
        }
    }
    found.sort_by_key(|adapter| match adapter.get_info().device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    });
    found
}

/// The adapters of a choice other than the CPU, in the order in which they are tried. There is at least one; otherwise
/// the text says why `Auto` has none.
pub(crate) async fn choose(choice: &DeviceChoice) -> Result<Result<Vec<wgpu::Adapter>, String>, Error> {
    match choice {
        DeviceChoice::Cpu => Ok(Err(REQUESTED.to_owned())),
        DeviceChoice::Auto => {
            let mut found = enumerate(Search::UntilGpu).await;
            let software = found.first().map(|adapter| name(&adapter.get_info()));
            found.retain(|adapter| !is_software(&adapter.get_info()));
            if !found.is_empty() {
                return Ok(Ok(found));
            }
            Ok(Err(match software {
                Some(name) => format!("no GPU found; the software adapter {name} is slower than the CPU"),
                None => no_known_backend().unwrap_or_else(|| "no GPU adapter found".to_owned()),
            }))
        }
        DeviceChoice::Gpu => {
            let found = enumerate(Search::UntilGpu).await;
            let none = || "no backend found an adapter with compute shaders".to_owned();
            if found.is_empty() {
                return Err(Error::NoAdapter { reason: no_known_backend().unwrap_or_else(none) });
            }
            Ok(Ok(found))
        }
        DeviceChoice::Adapter(wanted) => {
            let found = enumerate(Search::Everywhere).await;
            if let Some(reason) = no_known_backend() {
                return Err(Error::NoAdapter { reason });
            }
            let available = found.iter().map(|adapter| name(&adapter.get_info())).collect();
            let matches = |name: String| name.to_lowercase().contains(&wanted.to_lowercase());
            let found = found.into_iter().find(|adapter| matches(name(&adapter.get_info())));
            let none = || Error::AdapterNotFound { wanted: wanted.clone(), available };
            found.map(|adapter| Ok(vec![adapter])).ok_or_else(none)
        }
    }
}

/// Opens a device with the adapter's own limits. If the adapter has them, the device gets timestamp queries, pipeline
/// caches and, with shared memory, the mapping of buffers that kernels use, which saves copies.
pub(crate) async fn open(adapter: &wgpu::Adapter) -> Result<(wgpu::Device, wgpu::Queue), Error> {
    let mut features = wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::PIPELINE_CACHE;
    features.set(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS, shares_memory(&adapter.get_info()));
    let descriptor = wgpu::DeviceDescriptor {
        label: Some("wgpu-cast"),
        required_features: adapter.features() & features,
        required_limits: adapter.limits(),
        memory_hints: wgpu::MemoryHints::Performance,
        ..Default::default()
    };
    request(adapter, &descriptor).await
}

async fn request(
    adapter: &wgpu::Adapter,
    descriptor: &wgpu::DeviceDescriptor<'_>,
) -> Result<(wgpu::Device, wgpu::Queue), Error> {
    let request = async { adapter.request_device(descriptor).await.map_err(|error| error.to_string()) };
    without_panic(request).await.map_err(|error| {
        let name = name(&adapter.get_info());
        Error::NoAdapter { reason: format!("{name}: cannot open a device: {}", without_trace(&error)) }
    })
}

/// Turns a panic into an error. wgpu makes pipelines of its own for each device, and panics if the driver refuses them.
/// The objects that the panic interrupted are not used again.
async fn without_panic<T>(request: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let mut request = pin!(request);
    poll_fn(|context| {
        catch_unwind(AssertUnwindSafe(|| request.as_mut().poll(context))).unwrap_or_else(|panic| {
            let literal = panic.downcast_ref::<&str>().copied();
            let text = literal.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
            Poll::Ready(Err(format!("wgpu panicked: {}", text.unwrap_or("no message"))))
        })
    })
    .await
}

/// Removes the parts of a browser's error that only a debugger shows. wgpu gives the error as `JsValue(OperationError:
/// text`, followed by a stack trace on further lines and `)`. Other texts stay as they are.
fn without_trace(error: &str) -> &str {
    let Some(error) = error.strip_prefix("JsValue(") else { return error };
    let line = error.lines().next().unwrap_or_default();
    if line.len() == error.len() { line.strip_suffix(')').unwrap_or(line) } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::device::maps_primary_buffers;

    #[test]
    fn errors_of_browsers_are_one_line() {
        let told =
            without_trace("JsValue(OperationError: no device\nOperationError: no device\n    at f (page.js:1:2))");
        assert_eq!(told, "OperationError: no device");
        assert_eq!(without_trace("JsValue(OperationError: no device)"), "OperationError: no device");
        assert_eq!(without_trace("a limit (4) is too low"), "a limit (4) is too low");
    }

    /// An adapter of wgpu's backend that does nothing.
    fn noop() -> wgpu::Adapter {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.backends = wgpu::Backends::NOOP;
        descriptor.backend_options.noop = wgpu::NoopBackendOptions::enabled();
        pollster::block_on(wgpu::Instance::new(descriptor).request_adapter(&Default::default())).unwrap()
    }

    #[test]
    fn a_panic_while_a_device_opens_is_an_error() {
        let opened = |request: fn() -> u32| pollster::block_on(without_panic(async move { Ok(request()) }));
        assert_eq!(opened(|| 5), Ok(5));
        assert_eq!(opened(|| panic!("no pipeline")), Err("wgpu panicked: no pipeline".to_owned()));
        assert_eq!(opened(|| panic!("no {}", "queue")), Err("wgpu panicked: no queue".to_owned()));
        assert_eq!(opened(|| std::panic::panic_any(7)), Err("wgpu panicked: no message".to_owned()));
    }

    #[test]
    fn a_device_that_does_not_open_is_an_error() {
        let adapter = noop();
        let mut required_limits = wgpu::Limits::downlevel_defaults();
        required_limits.max_bind_groups = u32::MAX;
        let descriptor = wgpu::DeviceDescriptor { required_limits, ..Default::default() };
        match pollster::block_on(request(&adapter, &descriptor)).map(drop) {
            Err(Error::NoAdapter { reason }) => {
                assert!(reason.contains("cannot open a device") && reason.contains("max_bind_groups"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
        // Every adapter has what the crate requests.
        assert!(pollster::block_on(open(&adapter)).is_ok());
    }

    #[test]
    fn devices_are_opened_with_what_the_adapter_has() {
        let (device, _queue) = pollster::block_on(open(&noop())).unwrap();
        let features = wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::PIPELINE_CACHE;
        assert!(device.features().contains(features | wgpu::Features::MAPPABLE_PRIMARY_BUFFERS));
        assert!(maps_primary_buffers(&device));
    }
}
