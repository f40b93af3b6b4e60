//! Batches: casts of each other's results, which stay on the device until they are read back.

use ElementType::*;
use support::{adapter, cases};
use wgpu_cast::{
    Batch, BatchDescriptor, BatchReport, BatchTensor, CastOptions, Context, DeviceChoice, ElementType, Error, Route,
    Tensor, cpu,
};

fn options() -> CastOptions {
    CastOptions::default()
}

fn cast(batch: &mut Batch<'_>, tensor: &BatchTensor, to: ElementType) -> BatchTensor {
    pollster::block_on(batch.cast(tensor, to, &options())).unwrap()
}

fn read(batch: &mut Batch<'_>, tensors: &[&BatchTensor]) -> Vec<Tensor> {
    pollster::block_on(batch.read_back(tensors)).unwrap()
}

/// Casts a tensor to the first type, and each result to the next type. Returns the last result.
pub fn chain(context: &Context, tensor: Tensor, types: &[ElementType]) -> Result<(Tensor, BatchReport), Error> {
    let mut batch = context.batch(&BatchDescriptor { casts: types.len(), bytes: u64::MAX, is_chain: true });
    let mut last = batch.insert(tensor);
    for &to in types {
        last = pollster::block_on(batch.cast(&last, to, &options()))?;
    }
    let tensors = pollster::block_on(batch.read_back(&[&last]))?;
    Ok((tensors[0].clone(), batch.report()))
}

fn on_host(tensor: &Tensor, types: &[ElementType]) -> Tensor {
    types.iter().fold(tensor.clone(), |tensor, &to| cpu::cast(&tensor, to, &options()).unwrap())
}

fn moved(batch: &Batch<'_>) -> (u32, u32, u32) {
    let report = batch.report();
    (report.dispatches, report.uploads, report.read_backs)
}

fn floats() -> Tensor {
    Tensor::from_codes(FLOAT, [13], cases::random(FLOAT, 13, 3)).unwrap()
}

#[test]
fn results_are_copied_back_once_and_only_where_they_are_asked_for() {
    let context = adapter::open();
    let mut batch = context.batch(&BatchDescriptor { casts: 3, bytes: 100, is_chain: true });
    let source = batch.insert(floats());
    assert_eq!((source.element_type(), source.shape(), moved(&batch)), (FLOAT, &[13][..], (0, 0, 0)));
    let half = cast(&mut batch, &source, FLOAT16);
    let left = cast(&mut batch, &half, INT8);
    let right = cast(&mut batch, &half, FLOAT8E5M2);
    assert_eq!(moved(&batch), (3, 1, 0));
    let expected = [on_host(&floats(), &[FLOAT16, FLOAT8E5M2]), floats(), on_host(&floats(), &[FLOAT16, INT8])];
    assert_eq!(read(&mut batch, &[&right, &source, &left]), expected);
    assert_eq!(moved(&batch), (3, 1, 2));
    // A tensor that is on the host already is not copied again. A tensor that is asked for twice is copied once.
    assert_eq!(read(&mut batch, &[&left, &right.clone()]), [expected[2].clone(), expected[0].clone()]);
    assert_eq!(read(&mut batch, &[&half, &half, &half.clone()]), [(); 3].map(|()| on_host(&floats(), &[FLOAT16])));
    assert_eq!(moved(&batch), (3, 1, 3));
    // A tensor that was copied back is still on the device.
    let bfloat16 = cast(&mut batch, &left, BFLOAT16);
    assert_eq!(read(&mut batch, &[&bfloat16]), [on_host(&floats(), &[FLOAT16, INT8, BFLOAT16])]);
    assert_eq!(moved(&batch), (4, 1, 4));
    let report = batch.report();
    assert_eq!(report.route, Route::Gpu);
    assert_eq!(report.to_string(), format!("on {} (requested)", report.adapter.as_deref().unwrap()));
}

#[test]
fn batches_on_the_cpu_and_on_a_device_give_the_same() {
    let cpu = pollster::block_on(Context::open(DeviceChoice::Cpu)).unwrap();
    let gpu = adapter::open();
    let strings = Tensor::from_strings([2], ["1.5", "-7"]).unwrap();
    let none = Tensor::from_slice([0, 3], &[0.0f32; 0]).unwrap();
    let scalar = Tensor::from_slice([], &[2.5f32]).unwrap();
    let nothing = "copied (nothing to convert)";
    for (tensor, types, on_cpu, device) in [
        (floats(), &[DOUBLE, BFLOAT16, INT4][..], "on the CPU (requested)", (3, 1, 1)),
        // Tensors go to the device and back before the strings and after them.
        (floats(), &[FLOAT16, STRING, DOUBLE, BFLOAT16], "on the CPU (requested)", (2, 2, 2)),
        (strings.clone(), &[STRING], nothing, (0, 0, 0)),
        (strings.clone(), &[INT8], "on the CPU (strings have no GPU kernel)", (0, 0, 0)),
        (scalar, &[UINT8, INT8], "on the CPU (requested)", (1, 1, 1)),
        (none.clone(), &[FLOAT16, STRING], nothing, (0, 0, 0)),
        (none, &[], nothing, (0, 0, 0)),
    ] {
        let expected = on_host(&tensor, types);
        let (result, report) = chain(&cpu, tensor.clone(), types).unwrap();
        assert_eq!((&result, report.to_string()), (&expected, on_cpu.to_owned()), "{types:?}");
        assert_eq!((report.dispatches, report.uploads, report.read_backs), (0, 0, 0), "{types:?}");
        let (result, report) = chain(&gpu, tensor, types).unwrap();
        assert_eq!(result, expected, "{types:?}");
        assert_eq!((report.dispatches, report.uploads, report.read_backs), device, "{types:?}");
    }
    let error = chain(&gpu, strings.reshape([1, 2]).unwrap(), &[STRING, INT8]).map(drop);
    assert_eq!(error, Ok(()));
    let wrong = Tensor::from_strings([2], ["1", "one"]).unwrap();
    let error = chain(&gpu, wrong, &[INT32]).map(drop).unwrap_err();
    assert_eq!(error.to_string(), "casting string to int32: element 1 is not a number: \"one\"");
}

/// The proofs of earlier casts are read to make room for more.
#[test]
fn a_batch_may_have_more_casts_than_it_was_described_with() {
    let context = adapter::open();
    let types = [FLOAT16, BFLOAT16, INT8, DOUBLE, UINT4, FLOAT, INT32];
    for casts in 0..=types.len() + 1 {
        let mut batch = context.batch(&BatchDescriptor { casts, ..BatchDescriptor::default() });
        let mut made = vec![batch.insert(floats())];
        for to in types {
            made.push(cast(&mut batch, &made[made.len() - 1], to));
        }
        assert_eq!(moved(&batch), (types.len() as u32, 1, 0), "{casts}");
        let tensors = read(&mut batch, &made.iter().collect::<Vec<_>>());
        for (index, tensor) in tensors.iter().enumerate() {
            assert_eq!(*tensor, on_host(&floats(), &types[..index]), "{casts}: {index}");
        }
        assert_eq!(moved(&batch), (types.len() as u32, 1, types.len() as u32), "{casts}");
    }
}

#[test]
fn tensors_of_another_batch_are_refused() {
    let context = adapter::open();
    let [mut one, mut other] = [(); 2].map(|()| context.batch(&BatchDescriptor::default()));
    let source = other.insert(floats());
    let half = cast(&mut other, &source, FLOAT16);
    for (tensor, t) in [(&source, "float"), (&half, "float16")] {
        let error = pollster::block_on(one.cast(tensor, INT8, &options())).map(drop).unwrap_err();
        assert_eq!(error.to_string(), format!("the tensor of {t} belongs to another batch"));
        assert!(matches!(error, Error::OtherBatch { element_type, .. } if element_type == tensor.element_type()));
        assert_eq!(pollster::block_on(one.read_back(&[tensor])), Err(error));
    }
    assert_eq!(one.report().to_string(), "copied (nothing to convert)");
    assert_eq!(read(&mut other, &[&half]), [on_host(&floats(), &[FLOAT16])]);
}
