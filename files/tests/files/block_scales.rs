//! The scales of weights that are quantized.

use support::random::Random;
use wgpu_cast::{CastOptions, ElementType, Tensor, cpu};
use wgpu_cast_files::{
    self as files, FileCause, FileError, FilePlan, Part, ScaleTensor, ScaledCast, SecondScale, StreamSettings,
    TensorCast, TensorStorage, ZeroPoints,
};

/// The bytes before the weight in its input.
const OFFSET: usize = 5;

fn plan(rows: u64, columns: u64, block: [u64; 2], from: ElementType, offset: u64) -> FilePlan {
    let [from, to] = [from, ElementType::FLOAT8E4M3FN].map(TensorStorage::packed);
    let (name, options, column_major) = ("w".to_owned(), CastOptions::default(), Vec::new());
    let (elements, input, clamp) = (rows * columns, 0, false);
    let cast = TensorCast { name, elements, input, offset: OFFSET as u64, from, to, options, column_major, clamp };
    let scales = ScaleTensor { name: "w_scale".to_owned(), input: 1, offset, element_type: ElementType::FLOAT };
    let cast = ScaledCast { cast, columns, block, scales, second: None, zero_points: None, transposed: false };
    FilePlan { parts: vec![Part::Scaled(Box::new(cast))] }
}

fn scales(plan: &FilePlan, weight: &[u8]) -> Result<Vec<f32>, FileError> {
    let input = [&[0xff; OFFSET], weight].concat();
    let scales = files::block_scales(plan, &[&input], &mut |_| Ok(()))?;
    Ok(scales.as_chunks().0.iter().map(|scale| f32::from_le_bytes(*scale)).collect())
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Blocks that buffers divide everywhere, of all types of weights.
#[test]
fn scales_are_those_of_the_definition() {
    let mut random = Random::new(3);
    for from in [ElementType::FLOAT, ElementType::FLOAT16, ElementType::BFLOAT16] {
        for (rows, columns, block) in [
            (400u64, 700u64, [128, 128]),
            (3, 190_000, [2, 1000]),
            (150_001, 2, [7, 1]),
            (500, 512, [500, 512]),
            (500, 512, [1, 512]),
            (1, 1, [128, 128]),
        ] {
            let (elements, width) = ((rows * columns) as usize, from.bits().unwrap() as usize / 8);
            let mut codes: Vec<u8> = (0..elements * width).map(|_| random.below(256) as u8).collect();
            // Exponents without the highest bit: neither NaN nor infinity.
            codes.chunks_mut(width).for_each(|code| code[width - 1] &= 0xbf);
            let tensor = Tensor::from_bytes(from, [elements], codes.clone()).unwrap();
            let values =
                cpu::cast(&tensor, ElementType::FLOAT, &CastOptions::default()).unwrap().to_vec::<f32>().unwrap();
            let of_row = columns.div_ceil(block[1]);
            let mut expected = vec![0f32; (rows.div_ceil(block[0]) * of_row) as usize];
            for (at, value) in values.iter().enumerate() {
                let (row, column) = (at as u64 / columns, at as u64 % columns);
                let scale = &mut expected[(row / block[0] * of_row + column / block[1]) as usize];
                *scale = scale.max(value.abs());
            }
            let scale = |m: &f32| if *m == 0.0 { 1.0 } else { (m / 448.0).max(f32::MIN_POSITIVE) };
            let expected: Vec<f32> = expected.iter().map(scale).collect();
            let found = scales(&plan(rows, columns, block, from, 0), &codes).unwrap();
            assert!(found == expected, "{from} {rows} x {columns} {block:?}");
        }
    }
}

#[test]
fn scales_of_zeros_and_of_tiny_blocks() {
    let least = f32::from_bits(1);
    let rows = [
        [0.0, -0.0],
        [-least, 0.0],
        [447.0 * f32::MIN_POSITIVE, 0.0],
        [-449.0 * f32::MIN_POSITIVE, least],
        [f32::MAX, 1.0],
    ];
    let found = scales(&plan(5, 2, [1, 2], ElementType::FLOAT, 0), &floats(rows.as_flattened())).unwrap();
    let tiny = f32::MIN_POSITIVE;
    assert_eq!(found, [1.0, tiny, tiny, 449.0 * tiny / 448.0, f32::MAX / 448.0]);
}

/// Two weights in one plan. The other parts are those of any plan.
#[test]
fn scales_lie_where_the_plan_says() {
    let mut two = plan(1, 2, [1, 2], ElementType::FLOAT, 8);
    two.parts.insert(0, Part::Bytes(vec![1; 3]));
    two.parts.extend(plan(2, 1, [1, 1], ElementType::FLOAT, 0).parts);
    let weight = floats(&[448.0, -896.0]);
    assert_eq!(scales(&two, &weight).unwrap(), [1.0, 2.0, 2.0]);
    // None is in the second input.
    let input = [&[0xff; OFFSET], &weight[..]].concat();
    assert!(files::block_scales(&two, &[&input, &input], &mut |_| Ok(())).unwrap().is_empty());
    let empty = plan(0, 4, [1, 4], ElementType::FLOAT, 0);
    assert!(scales(&empty, &[]).unwrap().is_empty());

    let computed = files::block_scales(&two, &[&input], &mut |_| Ok(())).unwrap();
    let (settings, mut output) = (StreamSettings::default(), Vec::new());
    let casters = (&cpu::cast_counted, &cpu::cast_divided_counted);
    files::write_scaled(&two, &[&input, &computed], &settings, casters.0, casters.1, &mut |finished| {
        output.extend_from_slice(finished.bytes);
        Ok(())
    })
    .unwrap();
    // 224, -448, 448 and -448
    assert_eq!(output, [1, 1, 1, 0x76, 0xfe, 0x7e, 0xfe]);
}

/// The output from the end of any piece on, with scales that are computed anew.
#[test]
fn an_interrupted_output_is_continued() {
    let plan = plan(300, 1000, [128, 128], ElementType::FLOAT, 0);
    let weight = floats(&(0..300_000).map(|at| (at as f32).sin() * at as f32).collect::<Vec<_>>());
    let input = [&[0xff; OFFSET], &weight[..]].concat();
    let make = |start: u64| {
        let scales = files::block_scales(&plan, &[&input], &mut |_| Ok(())).unwrap();
        let (mut settings, mut made) = (StreamSettings::default(), (Vec::new(), Vec::new()));
        (settings.memory, settings.start) = (1 << 20, start);
        let casters = (&cpu::cast_counted, &cpu::cast_divided_counted);
        files::write_scaled(&plan, &[&input, &scales], &settings, casters.0, casters.1, &mut |finished| {
            made.0.extend_from_slice(finished.bytes);
            made.1.push(finished.piece.output.end);
            Ok(())
        })
        .unwrap();
        made
    };
    let (whole, ends) = make(0);
    assert!(ends.len() > 10, "several pieces in a row of blocks");
    for end in ends {
        assert!(make(end).0 == whole[end as usize..], "{end}");
    }
}

#[test]
fn what_has_no_scale_is_an_error() {
    let told = |plan: &FilePlan, weight: &[u8]| scales(plan, weight).unwrap_err().to_string();
    let two_rows = plan(2, 2, [1, 2], ElementType::FLOAT, 0);
    for (value, shown) in
        [(f32::NAN, "a NaN"), (-f32::NAN, "a NaN"), (f32::INFINITY, "an infinity"), (-f32::INFINITY, "an infinity")]
    {
        let error = scales(&two_rows, &floats(&[1.0, 2.0, value, f32::INFINITY.copysign(value)])).unwrap_err();
        let expected = format!("tensor \"w\": block 1 has {shown}, so that it has no scale");
        assert_eq!((error.to_string(), error.tensor()), (expected, Some("w")));
        assert!(matches!(error.cause(), FileCause::Malformed(_)));
    }
    let integers = plan(2, 2, [1, 2], ElementType::INT8, 0);
    assert_eq!(told(&integers, &[0; 4]), "tensor \"w\": expected float, float16 or bfloat16, got int8");
    let no_matrix = plan(2, 2, [0, 2], ElementType::FLOAT, 0);
    let expected = "tensor \"w\": 4 elements in rows of 2 are no matrix with blocks of 0 x 2";
    assert_eq!(told(&no_matrix, &[0; 16]), expected);
    assert_eq!(told(&two_rows, &[0; 15]), "tensor \"w\": cannot read 4 bytes at offset 17: unexpected end of file");
    let of_halves = changed(&two_rows, |cast| cast.scales.element_type = ElementType::FLOAT16);
    assert_eq!(told(&of_halves, &[0; 16]), "tensor \"w\": expected scales of float, got float16");
    let only_scales = "tensor \"w\": a weight that is quantized has neither a second scale nor zero points";
    let second = changed(&two_rows, |cast| cast.second = Some(SecondScale::Multiply(2.0)));
    assert_eq!(told(&second, &[0; 16]), only_scales);
    let zero_points = changed(&two_rows, |cast| cast.zero_points = Some(ZeroPoints::One(0)));
    assert_eq!(told(&zero_points, &[0; 16]), only_scales);
    // The second of two matrices of a weight.
    let mut matrices = two_rows.clone();
    matrices.parts.extend(changed(&two_rows, |cast| (cast.cast.offset, cast.scales.offset) = (21, 8)).parts);
    let weight = floats(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, f32::NAN, 1.0]);
    assert_eq!(told(&matrices, &weight), "tensor \"w\": block 3 has a NaN, so that it has no scale");
}

fn changed(plan: &FilePlan, change: impl FnOnce(&mut ScaledCast)) -> FilePlan {
    let mut plan = plan.clone();
    if let Part::Scaled(cast) = &mut plan.parts[0] {
        change(cast);
    }
    plan
}

/// The largest number of each type of codes has the scale 1. All other types are refused.
#[test]
fn every_type_of_codes() {
    let largest = [
        (ElementType::FLOAT8E4M3FN, 448.0),
        (ElementType::FLOAT8E4M3FNUZ, 240.0),
        (ElementType::FLOAT8E5M2, 57344.0),
        (ElementType::FLOAT8E5M2FNUZ, 57344.0),
        (ElementType::FLOAT6E2M3, 7.5),
        (ElementType::FLOAT6E3M2, 28.0),
        (ElementType::FLOAT4E2M1, 6.0),
    ];
    let plan = plan(2, 8, [1, 8], ElementType::FLOAT, 0);
    for to in ElementType::ALL {
        let known = largest.iter().find(|(code, _)| code == to).map(|(_, largest)| *largest);
        let mut weight = vec![1.0; 16];
        (weight[3], weight[9]) = (-known.unwrap_or(1.0), 2.0 * known.unwrap_or(1.0));
        let found = scales(&changed(&plan, |cast| cast.cast.to = TensorStorage::packed(*to)), &floats(&weight));
        match (known, found) {
            (Some(_), found) => assert_eq!(found.unwrap(), [1.0, 2.0], "{to}"),
            (None, Ok(found)) => panic!("{to}: {found:?}"),
            (None, Err(error)) => {
                let wanted = if to.is_numeric() { "codes of float8, float6 or float4" } else { "numbers" };
                assert_eq!(error.to_string(), format!("tensor \"w\": expected {wanted}, got {to}"));
                assert!(matches!(error.cause(), FileCause::Request(_)), "{to}");
            }
        }
    }
}

/// What a plan claims takes no memory that its inputs do not.
#[test]
fn sizes_that_no_input_has() {
    let small = plan(2, 2, [1, 2], ElementType::FLOAT, 0);
    let huge = |elements: u64, columns: u64, block: [u64; 2]| {
        changed(&small, |cast| (cast.cast.elements, cast.columns, cast.block) = (elements, columns, block))
    };
    let told = |plan: &FilePlan| scales(plan, &[0; 16]).unwrap_err().to_string();
    assert_eq!(told(&huge(1 << 62, 1 << 62, [1, 1])), "tensor \"w\": a size in bytes overflows");
    let end = "unexpected end of file";
    for block in [[1, 1], [1, 1 << 61]] {
        let offset = (1u64 << 63) + 5 - 4;
        let expected = format!("tensor \"w\": cannot read 4 bytes at offset {offset}: {end}");
        assert_eq!(told(&huge(1 << 61, 1 << 61, block)), expected);
    }
    let other_input = changed(&small, |cast| cast.cast.input = 2);
    assert_eq!(told(&other_input), "the plan reads input 2, but there are 2 inputs");
    let far = changed(&small, |cast| cast.scales.offset = 1 << 40);
    let expected =
        "tensor \"w\": scales end at byte 1099511627784 of their input, and all scales of the plan take 8 bytes";
    assert_eq!(told(&far), expected);
    // The scales themselves are no weight.
    let own_scales = changed(&small, |cast| cast.cast.input = 1);
    assert_eq!(told(&own_scales), "tensor \"w\": the plan reads input 1, but there are 1 inputs");
}

/// `on_read` gets each byte once, and may end the work.
#[test]
fn reading_can_be_ended() {
    let plan = plan(1000, 1000, [128, 128], ElementType::FLOAT, 0);
    let input = vec![0; OFFSET + 4_000_000];
    let mut read = Vec::new();
    let scales = files::block_scales(&plan, &[&input], &mut |bytes| {
        read.push(bytes);
        Ok(())
    });
    assert_eq!((scales.unwrap().len(), read), (4 * 64, vec![1 << 20, 1 << 20, 1 << 20, 4_000_000 - (3 << 20)]));
    let mut pieces = 0;
    let stopped = files::block_scales(&plan, &[&input], &mut |_| {
        pieces += 1;
        if pieces < 2 { Ok(()) } else { Err(std::io::Error::other("enough")) }
    });
    let error = stopped.unwrap_err();
    assert_eq!((error.to_string().as_str(), pieces), ("tensor \"w\": cannot write: enough", 2));
    assert!(matches!(error.cause(), FileCause::Write(_)));
}
