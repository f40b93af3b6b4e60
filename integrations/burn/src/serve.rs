//! Burn's own casts for benches/peers/llvmpipe.py: reads commands from stdin and answers each line with a line.
//!
//! | line | answer |
//! |---|---|
//! | `adapter` | its name |
//! | `load TYPE ELEMENTS FILE`, codes, repeated to that many | `yes`, or `no` if Burn lacks the type on this device |
//! | `to TYPE`: what the next lines cast to | the same |
//! | `resident TIMES`: casts on the device, each to memory of Burn's pool | seconds of all |
//! | `keep ELEMENTS FILE`: the first of a cast's result | bytes |

use std::io::{self, BufRead, Write};
use std::time::Instant;

use burn_tensor::{DType, FloatDType, Int, IntDType, Tensor};
use burn_wgpu::{CubeTensor, Wgpu};
use wgpu_cast::ElementType;

use crate::device::{Burn, Result, primitive};
use crate::extension::dtype;

const NOTHING: &str = "load and to come first";

/// Burn's kinds of tensors that have numbers.
enum Source {
    Float(Tensor<1>),
    Int(Tensor<1, Int>),
}

struct Stage<'a> {
    burn: &'a Burn,
    source: Option<Source>,
    to: Option<DType>,
}

pub fn run(burn: &Burn) -> Result<()> {
    let mut stage = Stage { burn, source: None, to: None };
    for line in io::stdin().lock().lines() {
        let answer = stage.answer(line?.trim_end())?;
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{answer}")?;
        stdout.flush()?;
    }
    Ok(())
}

impl Stage<'_> {
    fn answer(&mut self, line: &str) -> Result<String> {
        let words: Vec<&str> = line.split(' ').collect();
        Ok(match words[..] {
            ["adapter"] => {
                let info = self.burn.setup.adapter.get_info();
                format!("{} ({}, {})", info.name, info.backend, info.driver_info)
            }
            ["load", from, elements, ref path @ ..] => {
                self.load(from.parse()?, elements.parse()?, &path.join(" "))?.into()
            }
            ["to", to] => {
                self.to = self.supported(to.parse()?);
                answer(self.to.is_some()).into()
            }
            ["resident", times] => self.seconds(times.parse()?)?.to_string(),
            ["keep", elements, ref path @ ..] => self.keep(elements.parse()?, &path.join(" "))?.to_string(),
            _ => return Err(format!("not understood: {line}").into()),
        })
    }

    /// Burn's type, if it has it on this device.
    fn supported(&self, element_type: ElementType) -> Option<DType> {
        dtype(element_type).filter(|dtype| self.burn.device.supports_dtype(*dtype))
    }

    fn load(&mut self, from: ElementType, elements: usize, path: &str) -> Result<&'static str> {
        // Gone before the next ones are made.
        (self.source, self.to) = (None, None);
        let Some(dtype) = self.supported(from) else { return Ok(answer(false)) };
        let bytes = elements * dtype.size();
        let codes: Vec<u8> = std::fs::read(path)?.into_iter().cycle().take(bytes).collect();
        let CubeTensor { client, device, .. } = primitive(Tensor::<1>::zeros([1], &self.burn.device))?;
        let handle = client.create_from_slice(&codes);
        let tensor = CubeTensor::new_contiguous(client, device, [elements].into(), handle, dtype);
        self.source = Some(if dtype.is_float() {
            Source::Float(Tensor::from_primitive::<Wgpu>(tensor))
        } else {
            Source::Int(Tensor::from_primitive::<Wgpu>(tensor))
        });
        Ok(answer(true))
    }

    fn cast(&self) -> Result<CubeTensor> {
        let (source, to) = self.source.as_ref().zip(self.to).ok_or(NOTHING)?;
        match (source, to.is_float()) {
            (Source::Float(source), true) => primitive(source.clone().cast(FloatDType::from(to))),
            (Source::Float(source), false) => primitive(source.clone().cast(IntDType::from(to))),
            (Source::Int(source), true) => primitive(source.clone().cast(FloatDType::from(to))),
            (Source::Int(source), false) => primitive(source.clone().cast(IntDType::from(to))),
        }
    }

    /// From nothing on the queue to nothing on it.
    fn seconds(&self, times: usize) -> Result<f64> {
        self.burn.wait()?;
        let start = Instant::now();
        for _ in 0..times {
            drop(self.cast()?);
        }
        self.burn.wait()?;
        Ok(start.elapsed().as_secs_f64())
    }

    fn keep(&self, elements: usize, path: &str) -> Result<usize> {
        let cast = self.cast()?;
        let mut bytes = self.burn.read(&cast.handle)?;
        bytes.truncate(elements * cast.dtype.size());
        std::fs::write(path, &bytes)?;
        Ok(bytes.len())
    }
}

fn answer(supported: bool) -> &'static str {
    if supported { "yes" } else { "no" }
}
