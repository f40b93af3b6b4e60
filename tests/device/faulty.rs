//! A driver that fails: `faulty_driver.c` of `tests/support` in front of the installed driver, in a process of its own.

use std::process::Command;

use support::assert_fault;
use support::buffers::buffer;
use support::faulty_driver::FaultyDriver;
use wgpu_cast::{
    CastFault, CastSpec, Caster, Context, Coverage, Destination, DeviceChoice, ElementType, Error, Route, Source,
    Tensor, wgpu,
};

const FROM: ElementType = ElementType::FLOAT;
const TO: ElementType = ElementType::INT8;

/// Runs the work of a test in a process that has only the faulty driver, which is a Vulkan driver.
fn with_fault(test: &str, fault: &str, work: impl FnOnce()) {
    const CHILD: &str = "WGPU_CAST_TEST_FAULT";
    if std::env::var_os(CHILD).is_some() {
        work();
        println!("met the fault");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let driver = match FaultyDriver::build(folder.path()) {
        Ok(driver) => driver,
        Err(reason) => return support::not_tested(reason),
    };
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("faulty::{test}"), "--nocapture"])
        .envs(driver.variables(fault))
        .envs([("WGPU_BACKEND", "vulkan"), (CHILD, "1")])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("met the fault"), "{text}");
}

fn open(choice: DeviceChoice) -> Result<Context, Error> {
    pollster::block_on(Context::open(choice))
}

fn three() -> Tensor {
    Tensor::from_slice([3], &[1.0f32, 2.0, -3.0]).unwrap()
}

fn cast(context: &Context, tensor: &Tensor, to: ElementType) -> Result<Tensor, Error> {
    pollster::block_on(context.cast(tensor, to, &Default::default())).map(|(result, _)| result)
}

fn has_no_adapter() {
    let error = open(DeviceChoice::Gpu).map(drop).unwrap_err();
    let named = |reason: &str| reason.contains("llvmpipe") && reason.contains("cannot open a device");
    assert!(matches!(&error, Error::NoAdapter { reason, .. } if named(reason)), "{error}");
    let context = open(DeviceChoice::Auto).unwrap();
    let (result, report) = pollster::block_on(context.cast(&three(), TO, &Default::default())).unwrap();
    assert_eq!((result.bytes(), report.route), (Some(&[1, 2, 0xfd][..]), Route::Cpu));
}

#[test]
fn an_adapter_without_a_device_is_no_adapter() {
    with_fault("an_adapter_without_a_device_is_no_adapter", "device", has_no_adapter);
}

/// wgpu makes pipelines of its own with each device, and panics without them.
#[test]
fn an_adapter_without_wgpu_s_own_pipelines_is_no_adapter() {
    with_fault("an_adapter_without_wgpu_s_own_pipelines_is_no_adapter", "pipeline:0", has_no_adapter);
}

/// 0x7fffffff is the mask of a magnitude: without its lowest bit, only what lies next to a tie is rounded wrongly.
#[test]
fn a_driver_that_computes_wrong_bits_is_found_out() {
    with_fault("a_driver_that_computes_wrong_bits_is_found_out", "module:7fffffff", || {
        // An adapter that is named is used as it is.
        let context = open(DeviceChoice::Adapter("llvmpipe".to_owned())).unwrap();
        let (caster, queue) = (context.caster().unwrap(), context.queue().unwrap());
        let wrong = CastSpec::new(FROM, ElementType::FLOAT16);
        let right = CastSpec::new(ElementType::INT32, TO);
        let report = pollster::block_on(caster.self_test(queue, &[right, wrong, right], Coverage::Aligned)).unwrap();
        let error = report.results().find_map(|(_, result)| result.err()).unwrap();
        assert!(
            matches!(
                error,
                Error::Cast {
                    from: FROM,
                    to: ElementType::FLOAT16,
                    cause: CastFault::SelfTest { code: Some(_), .. },
                    ..
                }
            ),
            "{error}"
        );
        let expected = [(&right, Ok(())), (&wrong, Err(error)), (&right, Ok(()))];
        assert_eq!(report.results().collect::<Vec<_>>(), expected, "the casts that the device does right are known");
        assert_eq!([report.passed(&right), report.passed(&wrong)], [true, false]);
        assert_eq!(cast(&context, &three(), TO).unwrap().bytes(), Some(&[1, 2, 0xfd][..]), "others work");
    });
}

/// The results before the loss do not say whether the driver is right.
#[test]
fn a_device_that_is_lost_during_a_self_test_ends_the_test() {
    with_fault("a_device_that_is_lost_during_a_self_test_ends_the_test", "submit:6", || {
        let context = open(DeviceChoice::Adapter("llvmpipe".to_owned())).unwrap();
        let (device, queue) = (context.device().unwrap(), context.queue().unwrap());
        let specs = [TO, ElementType::FLOAT16, TO, ElementType::FLOAT16].map(|to| CastSpec::new(FROM, to));
        let error = pollster::block_on(Caster::new(device).self_test(queue, &specs, Coverage::Anywhere)).unwrap_err();
        assert!(
            matches!(
                error,
                Error::Cast {
                    cause: CastFault::DeviceLost { .. } | CastFault::Device { .. } | CastFault::Incomplete,
                    ..
                }
            ),
            "{error}"
        );
    });
}

/// 0x71 is the exponent field of FLOAT16's least normal number in FLOAT.
#[test]
fn known_answers_that_are_wrong_make_an_adapter_none() {
    with_fault("known_answers_that_are_wrong_make_an_adapter_none", "module:71", || {
        let error = open(DeviceChoice::Gpu).map(drop).unwrap_err();
        assert!(matches!(&error, Error::NoAdapter { reason, .. } if reason.contains("self-test failed")), "{error}");
    });
}

/// wgpu reports the loss to the device's callback only; a call on a lost device makes dead objects without an error.
#[test]
fn a_device_that_the_driver_loses_is_an_error() {
    with_fault("a_device_that_the_driver_loses_is_an_error", "submit:6", || {
        let context = open(DeviceChoice::Gpu).unwrap();
        let (device, queue) = (context.device().unwrap(), context.queue().unwrap());
        let caster = Caster::new(device);
        let prepared = caster.prepare(&CastSpec::new(FROM, TO), 5).unwrap();
        let memory = [buffer(device, 20), buffer(device, 8)];
        let error = (0..6).find_map(|_| cast(&context, &three(), TO).err()).expect("a loss");
        assert!(
            matches!(error, Error::Cast { from: FROM, to: TO, cause: CastFault::DeviceLost { .. }, .. }),
            "{error}"
        );
        assert!(context.is_lost());
        let error = cast(&context, &three(), TO).unwrap_err();
        assert!(
            matches!(error, Error::Cast { from: FROM, to: TO, cause: CastFault::DeviceLost { .. }, .. }),
            "{error}"
        );

        // What an application does that does not know of the loss.
        let is_loss = |error: &Error| {
            matches!(
                error,
                Error::Cast {
                    cause: CastFault::DeviceLost { .. }
                        | CastFault::Device { .. }
                        | CastFault::Incomplete
                        | CastFault::Kernel { .. },
                    ..
                }
            )
        };
        let bound = prepared.bind(Source::whole(memory[0].slice(..)), Destination::whole(memory[1].slice(..5)));
        if let Ok(bound) = &bound {
            let mut encoder = device.create_command_encoder(&Default::default());
            bound.record(&mut encoder);
            queue.submit([encoder.finish()]);
        }
        drop(caster.warm_up(&[CastSpec::new(FROM, ElementType::FLOAT16)], Coverage::OneBuffer));
        let spec = CastSpec::new(FROM, TO);
        let error = pollster::block_on(caster.self_test(queue, &[spec], Coverage::Aligned)).unwrap_err();
        assert!(is_loss(&error), "{error}");
        let error = cast(&Context::on_device(device, queue), &three(), TO).unwrap_err();
        assert!(is_loss(&error), "{error}");
    });
}

#[test]
fn memory_that_the_driver_refuses_is_an_error_and_small_casts_go_on() {
    const REFUSED: u64 = 512 << 20;
    let fault = format!("memory:{REFUSED}");
    with_fault("memory_that_the_driver_refuses_is_an_error_and_small_casts_go_on", &fault, || {
        let context = open(DeviceChoice::Gpu).unwrap();
        let (from, to, len) = (ElementType::UINT8, ElementType::DOUBLE, REFUSED as usize / 8);
        let tensor = Tensor::from_bytes(from, [len], vec![1; len]).unwrap();
        // A batch's results stay on the device as a whole.
        let error = crate::batches::chain(&context, tensor, &[to]).map(drop).unwrap_err();
        assert_fault!(error, [from, to], OutOfMemory { bytes: REFUSED + 4 });
        assert_eq!(cast(&context, &three(), TO).unwrap().bytes(), Some(&[1, 2, 0xfd][..]));
    });
}

/// wgpu makes some pipelines of its own with a device.
#[test]
fn a_pipeline_that_the_driver_refuses_is_an_error() {
    with_fault("a_pipeline_that_the_driver_refuses_is_an_error", "pipeline:6", || {
        let context = open(DeviceChoice::Gpu).unwrap();
        let device = context.device().unwrap();
        let caster = Caster::new(device);
        let prepare = |to| caster.prepare(&CastSpec::new(FROM, to), 5).map(drop);
        let types = [TO, ElementType::UINT8, ElementType::BFLOAT16, ElementType::INT32, ElementType::DOUBLE];
        let made: Vec<_> = types.map(prepare).into_iter().collect();
        let error = made.iter().find_map(|made| made.as_ref().err()).expect("a refusal");
        assert!(
            matches!(error, Error::Cast { cause: CastFault::OutOfMemory { .. } | CastFault::Kernel { .. }, .. }),
            "{error}"
        );
        assert!(made[0].is_ok(), "{made:?}");
        let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
        assert_eq!(prepare(TO), Ok(()), "the device works on");
        assert_eq!(pollster::block_on(scope.pop()).map(|error| error.to_string()), None);
    });
}
