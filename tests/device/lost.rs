//! Devices that the application destroys while casts run. Drivers that fail are tested in `faulty`.

use support::adapter;
use wgpu_cast::{CastFault, ElementType, Error, Tensor, cpu};

const FROM: ElementType = ElementType::FLOAT;
const TO: ElementType = ElementType::INT8;

/// Whenever the application destroys its device, each cast is right or an error.
#[test]
fn a_device_that_is_destroyed_during_casts_is_an_error() {
    let len = 1 << 20;
    let tensor = Tensor::from_slice([len], &(0..len).map(|i| (i % 100) as f32).collect::<Vec<_>>()).unwrap();
    let expected = cpu::cast(&tensor, TO, &Default::default()).unwrap();
    for milliseconds in [0, 1, 3, 10, 30] {
        let context = adapter::open();
        let cast = || pollster::block_on(context.cast(&tensor, TO, &Default::default()));
        assert!(cast().unwrap().0 == expected);
        let error = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(milliseconds));
                context.device().unwrap().destroy();
            });
            loop {
                match cast() {
                    Ok((result, _)) => assert!(result == expected),
                    Err(error) => break error,
                }
            }
        });
        assert!(
            matches!(error, Error::Cast { from: FROM, to: TO, cause: CastFault::DeviceLost { .. }, .. }),
            "{error}"
        );
        assert!(context.is_lost());
    }
    assert!(pollster::block_on(adapter::open().cast(&tensor, TO, &Default::default())).unwrap().0 == expected);
}
