//! The parts of `--help` around the list of arguments.

use wgpu_cast::ElementType;

pub const EXIT_STATUS: &str = "Exit status: 0 success, 1 error, 2 usage error. Messages go to stderr.";

/// The order of the parts of `convert --help`: examples come before the options.
pub const EXAMPLES_FIRST: &str = "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}";

/// The examples of `convert -h`.
pub const FEW_EXAMPLES: &str = "\
Examples (more in --help):
  wgpu-cast convert model.safetensors model-bf16.safetensors --to bfloat16
  wgpu-cast convert Llama/ Llama-fp8/ --to float8e4m3fn --except '*norm*' --copy-others
  wgpu-cast convert DeepSeek-V3/ DeepSeek-V3-bf16/ --dequantize --copy-others
  wgpu-cast convert model.onnx model-fp16.onnx --graph --to float16 --keep-io-types";

/// The examples of `convert --help`.
pub const EXAMPLES: &str = "\
Examples:
  wgpu-cast convert model.safetensors model-bf16.safetensors --to bfloat16
        The floats of a checkpoint become bfloat16; integers stay.
  wgpu-cast convert model.safetensors model-bf16.safetensors --to bfloat16 --dry-run
        Shows what would be done, and whether it would be refused.
  wgpu-cast convert Llama/ Llama-fp8/ --to float8e4m3fn --except '*norm*' --copy-others
        All shards of a model but for its norms, with its configuration and its tokenizer.
  wgpu-cast convert Llama/ Llama-fp8/ --to float8e4m3fn --except '*norm*' --copy-others --resume
        The same, continued where it was interrupted.
  wgpu-cast convert model.safetensors mixed.safetensors --map '*.bias=float' --map '*=float16' --stats
        A type for each pattern, and what each tensor lost.
  wgpu-cast convert DeepSeek-V3/ DeepSeek-V3-bf16/ --dequantize --copy-others
        Codes times their scales, as bfloat16, without the scales and quantization_config.
  wgpu-cast convert Qwen3/ Qwen3-fp8/ --quantize block --copy-others
        Weights of linear layers as float8 with a scale for each 128 x 128 elements.
  wgpu-cast convert model.onnx small.onnx --to float16
        The weights of a model are stored in float16, and it computes in float as before.
  wgpu-cast convert model.onnx model-fp16.onnx --graph --to float16 --keep-io-types
        The model computes in float16.
  wgpu-cast convert weights.npy codes.bin --to float8e4m3fn
        An array becomes raw codes.";

/// The element types and the file formats.
pub fn convert() -> String {
    let mut types = String::new();
    let mut column = 0;
    for &t in ElementType::ALL {
        let name = format!(" {t}");
        let wraps = column + name.len() > 98;
        column = if wraps { name.len() } else { column + name.len() };
        types += if wraps { "\n" } else { "" };
        types += &name;
    }
    format!("Element types (spellings of numpy and safetensors such as f32 and F8_E4M3 also work):\n{types}\n\n{FILES}")
}

const FILES: &str = "\
Values are cast, and no scale is computed without --quantize. What a type cannot hold is counted and printed.
Values beyond the range of float16, bfloat16 and float become infinite, as ONNX says; with --clamp they
become the largest finite number, for example in masks of -3.4e38. Infinities and NaN stay.

File formats, chosen by the file extension or --in-format and --out-format:
  .safetensors  Tensors with names; names, shapes and metadata stay. An index
        (*.safetensors.index.json, also with a variant such as .fp16) is a sharded model: it is
        compared with its shards, every shard is converted, and the index is written last, with the
        new size. The format has no 2- and 4-bit integers.
  .onnx Models. Initializers and Constant nodes that the rules select are stored in the new type,
        with a Cast back behind each, so that the model computes as before with the rounded weights.
        Parameters of operators, such as scales and sizes, stay as they are unless --map names them.
        With --graph the graph computes in the new type, apart from sizes, positions and other values
        that come from integers. Beyond 2 GiB, data goes to OUT.data beside the model. The opset is
        raised if the type needs it and that changes no operator of the model.
  .npz  numpy's archive of arrays, by name like safetensors. Arrays that are not cast are copied byte
        for byte, also objects, complex numbers and others that cannot be cast. Strings are cast
        if --map names them. --from 'GLOB=TYPE' is the type of raw codes by name.
  .npy  numpy arrays of bool, integers, floats and strings, in either byte order, in C or Fortran
        order. Written little-endian in C order. Types that numpy lacks are written as ml_dtypes
        writes them: bfloat16 as '<V2', types of 8 bits and less as '<V1', one code per byte.
        Such raw codes, and unsigned integers, are read with --from TYPE.
  .pb   ONNX TensorProto, with its name. Data is read from raw_data, from typed fields or from an
        external file inside the same folder, or if the .pb file is a link, inside that of the file
        it leads to. Written as raw_data. --from reads unsigned integers as raw codes of the same
        width; older files store bfloat16 as uint16.
  .bin  ONNX raw_data: little-endian codes. Codes narrower than a byte are packed, low bits first
        (two 4-bit or four 2-bit codes per byte, four 6-bit codes per three bytes). k bytes
        contain floor(8 k / bits) elements unless --len N is given; N elements need exactly
        ceil(N bits / 8) bytes. A .bin file has no shape; it is read as one dimension.
One tensor (.npy, .pb, .bin) can change its format. String tensors are cast on the CPU.
A tensor that has the type already is not cast: its codes are copied, whatever the other options.

Of a folder, everything that can be converted is: the models of its indexes, its other files, and those
in its folders, which get the same names in OUT (.bin only with --in-format bin). Hidden folders and links
to folders are not entered. Of an index, only its shards are converted.

Rules for files of several tensors: the first --map that matches a name decides. Otherwise --to
applies to floats that match --only (if given) and no --except. * matches any text, and all else in a
pattern, such as [ and ?, itself. A pattern that matches no name is an error. Scales of quantized tensors
stay as they are unless --map names them; the codes that they belong to are cast only with
--ignore-scales, as if they were values, or with --dequantize.

--dequantize multiplies codes by their scales: (code - zero point) * scale, rounded once to float, and
then cast to --to. Without --to, the products become bfloat16 and all other tensors stay as they are.
Patterns match the names without _packed, _blocks and .blocks, which the output has. Codes that the
rules keep keep their scales. A scale may be in any shard of the model, also with --part. Scales that
are infinite or NaN are errors; 0 and negative ones are numbers. The layouts are known by the names,
types and shapes of the tensors and by quantization_config; all else is refused:
  X_scale_inv, X.scale     float8 by blocks of 128 x 128, or of weight_block_size (DeepSeek, Qwen)
  X_scale                  float8 or int8 by tensor or row; groups and blocks of compressed-tensors
  X.scale_weight           float8 by tensor or row (ComfyUI, musubi-tuner)
  X_scale of exponents     MXFP8, by 32
  X_blocks, X.blocks       MXFP4, by 32 (gpt-oss; X_blocks becomes [experts, columns, rows])
  X_packed, X_scale        MXFP4, by 32, and 4- or 8-bit integers (compressed-tensors)
  X_scale, X_scale_2       NVFP4, by 16, times the scale of the tensor (ModelOpt)
  X_packed, X_global_scale NVFP4, by 16, divided by the scale of the tensor (compressed-tensors)

--quantize writes weights as float8e4m3fn with scales of float, which are computed in a first pass: the
largest magnitude of a block divided by 448, and 1 for zeros. A code is the weight divided by its scale,
rounded to float, and then cast. NaN and infinity are errors. Weights are float, float16 and bfloat16
tensors of two axes whose names end with .weight, apart from embeddings, output layers and routers (*embed*,
wte, wpe, shared, relative_attention_bias, lm_head, output, gate, router, shared_expert_gate).
--map GLOB=float8e4m3fn quantizes others, --except and --map GLOB=keep leave weights as they are. All other
tensors stay as they are. Scales lie beside their weights, config.json gets a quantization_config (with
--copy-others), and --dequantize reads all layouts:
  tensor  X_scale of shape [1], and the layers in the metadata of the file (ComfyUI)
  row     X_scale of shape [rows, 1] (compressed-tensors)
  block   X_scale_inv for each 128 x 128 elements (DeepSeek, Qwen)
No activation is measured: configurations say that those are quantized while the model runs.

No output may be an input or another output. --in-place lets an output replace the input of which it is
made, such as a file or a folder that is converted onto itself. Data of a model that another model beside
it uses is not replaced. A new output has the permissions that all its inputs have.

An output is written beside its place, to NAME.cast-partial, and renamed when it is complete. Without
--resume a signal removes the partial file. After a kill it stays: --resume continues it if the other
options are the same, and any other run removes it. A .npz archive begins anew. --resume
does not continue what was made of other sources. With --part I/N several machines convert sharded models
into one folder; part 1 also converts the files that no index names.

The relative error of a value is |result - value| / |value|. Values that become 0, infinite or NaN, or
that are beyond the range of the type, are counted instead.";

pub const INFO: &str = "\
Prints the name, shape, element type and size of each tensor. The data of tensors is not read, except
from a pipe, of strings, and of .pb files that store it in typed fields.";

/// The help of `--from`, which selects no tensors here.
pub const FROM_OF_INFO: &str = "\
Element type of raw codes; required for .bin. GLOB=TYPE is that of the arrays of an archive whose names match; may be \
repeated, the first that matches counts";

pub const RUN: &str = "\
A bfloat16 input may be given as uint16, as in ONNX's older test data. Outputs are written as ONNX
TensorProto with their names in the graph. On a GPU, tensors stay on the device between nodes, and only
outputs are read back. Strings are always cast on the CPU. --device auto uses a GPU if there is one and
the model reads and writes at least 4 MiB; if the CPU has vector instructions that speed up casts, the
model must also cast the result of another cast.";

pub const SHADER: &str = "\
The WGSL is exactly the text that runs, including its constants. It begins with the comment lines
  // from: TYPE
  // to: TYPE
  // elements per invocation: N
  // workgroup size: N
The entry point is main. Bind group 0 contains the source at binding 0, the destination at binding 1 and
the parameters at binding 4. Without --edge and --computed this is the kernel that GPUs run for all but
the ends of a tensor.

Translations are made by naga, without bounds checks, loop bounding or zero-initialisation of workgroup
memory. wgpu compiles the kernels in the same way where it can:
  spirv  SPIR-V 1.3, binary, entry point main
  msl    Metal Shading Language 2.4, buffers numbered as the bindings, buffer sizes in buffer 5
  hlsl   shader model 6.0, registers numbered as the bindings in space 0, the number of workgroups
         in b0 of space 1
  glsl   GLSL ES 3.10, buffers numbered as the bindings";

pub const VERIFY: &str = "\
Sources of at most 16 bits are tested with every code. Wider sources are tested with generated edge
cases (special codes, boundaries of exponents, midpoints of all narrower floats and their neighbours,
limits of integers) and with random codes. The codes are cast as one long tensor, which uses the main
kernel, and as several small tensors, which use the edge kernel. Every combination of options that
affects a pair is tested: saturate, round_mode, and the two rules that depend on the opset. The first
mismatches are printed; with any mismatch the exit status is 1. Software adapters are tested too.

--exhaustive casts all codes of sources of at most 32 bits, and for sources of 64 bits all exponents with
significands around the boundaries of roundings, more than 10 million codes of each. The
casts are done in blocks of 2^26 codes, ascending. A cast's checksum is the XXH3 (64 bits) of those of its
blocks, which are the XXH3 of the packed results. It is the same on every device, and is compared with the
one that is recorded in this program.";

pub const BENCH: &str = "\
Each cast is compared with a copy kernel that moves the same number of bytes. GB/s are 10^9 bytes read
and written per second; the percentage is the cast's share of the copy's GB/s. Times come from timestamp
queries if the adapter supports them, otherwise from the wall clock. Casts and copies alternate; the
result is the median of 7 runs after 2 warm-up runs. Software adapters are measured too.";
