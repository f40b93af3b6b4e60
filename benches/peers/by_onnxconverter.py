"""Converts an ONNX model with external data to float16 with onnxconverter-common, in the usual way.

    by_onnxconverter.py MODEL OUT
"""

import sys
from pathlib import Path
from time import perf_counter

start = perf_counter()
import onnx
from onnxconverter_common.float16 import convert_float_to_float16_model_path

# How long the libraries take to start.
print(perf_counter() - start)

source, out = map(Path, sys.argv[1:])
# `convert_float_to_float16` fails beyond 2 GiB, because it gives the whole model to shape inference as one message.
converted = convert_float_to_float16_model_path(source, keep_io_types=True)
onnx.save(converted, out, save_as_external_data=True, location=f"{out.name}.data", convert_attribute=False)
