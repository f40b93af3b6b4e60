use wgpu_cast::*;
fn main() {
    let t0 = std::time::Instant::now();
    let c = pollster::block_on(Context::open(DeviceChoice::Gpu)).unwrap();
    println!("open {:?} {:?}", t0.elapsed(), c.adapter_info().unwrap().name);
    let t = Tensor::from_slice([5], &[1.0f32, 2.5, -3.0, 1e9, f32::NAN]).unwrap();
    let t1 = std::time::Instant::now();
    let (r, rep) = pollster::block_on(c.cast(&t, ElementType::FLOAT16, &Default::default())).unwrap();
    println!("{:x?} {rep} {:?}", r.bytes(), t1.elapsed());
    let t1 = std::time::Instant::now();
    let (mut bad, mut n) = (0, 0);
    for &from in ElementType::ALL { for &to in ElementType::ALL { if !can_cast(from, to) { continue }
        let bits = from.bits().unwrap();
        let mut s = 1u64;
        let codes: Vec<u64> = (0..70003).map(|i| { s = s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407); if bits <= 16 { i & ((1 << bits) - 1) } else { (s ^ (s >> 29)) & (u64::MAX >> (64 - bits)) } }).collect();
        let t = Tensor::from_codes(from, [codes.len()], codes).unwrap();
        let (r, _) = pollster::block_on(c.cast(&t, to, &Default::default())).unwrap();
        let e = cpu::cast(&t, to, &Default::default()).unwrap();
        n += 1;
        if r != e { bad += 1; let w = t.codes().zip(r.codes().zip(e.codes())).enumerate().find(|(_, (_, (a, b)))| a != b).unwrap(); println!("{from} {to}: {w:x?}"); }
    } }
    println!("{bad} of {n} bad, {:?}", t1.elapsed());
}
