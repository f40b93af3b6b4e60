"""Writes files/src/onnx_model/schemas.txt, the operators of ONNX's default domain, from the Python package onnx.

    pip install onnx==1.23.2 && python files/tests/onnx/schemas.py >files/src/onnx_model/schemas.txt

A line is a version of an operator: its name, the opset that introduced it, its inputs and outputs, and its type
variables. Inputs and outputs are letters that name type variables; a last one followed by * repeats. A variable lists
what it allows of f float, d double, h float16 and b bfloat16, then o if it allows tensors of other types, and s if it
allows sequences, optionals or maps. An operator that ends with a version is marked as deprecated there.
"""

import string
import sys

import onnx
from onnx import defs

FLOATS = {"tensor(float)": "f", "tensor(double)": "d", "tensor(float16)": "h", "tensor(bfloat16)": "b"}


def allowed(types):
    floats = "".join(letter for name, letter in FLOATS.items() if name in types)
    others = {"o" if name.startswith("tensor(") else "s" for name in types if name not in FLOATS}
    return floats + "".join(sorted(others))


def line(schema):
    head = f"{schema.name} {schema.since_version}"
    if schema.deprecated:
        return f"{head} deprecated"
    variables = {}

    def letters(parameters):
        text = ""
        for parameter in parameters:
            new = string.ascii_lowercase[len(variables)]
            letter, _ = variables.setdefault(parameter.type_str, (new, allowed(parameter.types)))
            repeats = parameter.option == defs.OpSchema.FormalParameterOption.Variadic
            assert not repeats or parameter is parameters[-1]
            text += letter + ("*" if repeats else "")
        return text

    inputs, outputs = letters(list(schema.inputs)), letters(list(schema.outputs))
    return " ".join([head, f"{inputs}>{outputs}", *(f"{letter}={types}" for letter, types in variables.values())])


def main():
    schemas = [schema for schema in defs.get_all_schemas_with_history() if schema.domain == ""]
    schemas.sort(key=lambda schema: (schema.name, schema.since_version))
    newest = defs.onnx_opset_version()
    print(f"# The operators of onnx {onnx.__version__} up to opset {newest}, by files/tests/onnx/schemas.py.")
    for schema in schemas:
        print(line(schema))


if __name__ == "__main__":
    sys.exit(main())
