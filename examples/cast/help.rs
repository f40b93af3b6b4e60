//! What `--help` adds to the lists of arguments.

use wgpu_cast::ElementType;

pub const EXIT_STATUS: &str = "Exit status: 0 done, 2 a bad command line, 1 anything else. Messages go to stderr.";

/// Types and files.
pub fn convert() -> String {
    let mut types = String::new();
    let mut column = 0;
    for &t in ElementType::ALL {
        let name = format!(" {t}");
        column = if column + name.len() > 98 { 0 } else { column + name.len() };
        types += if column == 0 { "\n" } else { "" };
        types += &name;
    }
    format!(
        "Element types, numpy's and safetensors' spellings such as f32 and F8_E4M3 are known too:\n{types}\n\n{FILES}"
    )
}

const FILES: &str = "\
Files, by their ending:
  .bin  ONNX raw_data: little-endian codes, those of less than a byte packed low bits first (two
        4-bit or four 2-bit codes a byte, four 6-bit codes in three bytes). k bytes hold
        floor(8 k / bits) elements unless --len N says otherwise; N elements take
        ceil(N bits / 8) bytes, no more and no less.
  .npy  numpy arrays of bool, integers, float16, float32 and float64, of either byte order, in C or
        Fortran order; written little-endian in C order. Types that numpy lacks are written as the
        raw codes in the unsigned integer of that width: bfloat16 as uint16, 8 bits and less as
        uint8, one code a byte (unpacked). --from reads such raw codes back, also from the void
        types that ml_dtypes saves ('<V1', '<V2').
  .pb   ONNX TensorProto: every type, string among them, its name kept; data in raw_data, in typed
        fields or in another file below its folder, written as raw_data. --from reads uint16 and
        the like as raw codes of that width, as older writers stored bfloat16.
A .bin has no shape: read, it has one axis. Strings are for .pb alone, and are cast on the CPU.";

pub const RUN: &str = "\
Inputs of type bfloat16 may come as uint16, as ONNX's older test data has them. Outputs are written as
ONNX TensorProto under their names in the graph. On a device, tensors stay there between nodes; only
outputs are read back. Strings go through the CPU whatever the device. --device auto takes a GPU if there
is one and the tensors are worth the way there: large, and cast more than once where the CPU has vector
instructions for it.";

pub const SHADER: &str = "\
The WGSL is exactly what runs, its constants included. It begins with the comment lines
  // from: TYPE
  // to: TYPE
  // elements per invocation: N
  // workgroup size: N
and its entry point is called main. Group 0 holds the source at binding 0, the destination at
binding 1 and the parameters at binding 4. Without --edge and --computed it is the kernel that GPUs run
for the bulk of a tensor.

Translations are made by naga without bounds checks, without loop bounding and without zero-fill of
workgroup memory, as the kernel runs where wgpu allows it:
  spirv  SPIR-V 1.3, binary, entry point main
  msl    Metal Shading Language 2.4, buffers numbered as the bindings, buffer sizes in buffer 5
  hlsl   shader model 6.0, registers numbered as the bindings in space 0, the number of workgroups
         in b0 of space 1
  glsl   GLSL ES 3.10, buffers numbered as the bindings";

pub const VERIFY: &str = "\
Sources of at most 16 bits are tried with every code; wider ones with generated hard cases (special
codes, edges of exponents, midpoints of every narrower float and their neighbours, limits of
integers) and random codes. They are cast as one long tensor, for the fast kernel, and some of them as
small ones, for the kernel that ends of tensors take. Every combination of options that a pair looks
at is tried: saturate, round_mode, and the two rules that depend on the opset. The first mismatches
are printed, and the exit status is 1 if there is one. Any adapter is taken, software ones too.";

pub const BENCH: &str = "\
Each cast is timed next to a copy kernel that reads and writes (source + destination) / 2 bytes each,
by timestamp queries where the adapter has them, else by the wall clock. Both run in turn; the median
of 7 runs after 2 unmeasured ones counts. GB/s are 10^9 bytes read and written a second. Any adapter
is taken, software ones too.";
