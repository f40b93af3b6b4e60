"""Writes files/src/onnx_model/extensions.txt, the operator versions that only extend the ones before, from the Python package
onnx.

    pip install onnx==1.23.2 && python files/tests/onnx/extensions.py >files/src/onnx_model/extensions.txt

A line is an operator of ONNX's default domain and the opset of a version. A node that is valid at the version before is valid
at this one and computes the same, so that the opset of a model can be raised past it. That takes two things:

- By the schemas, the version only adds types, optional inputs and outputs, and attributes that need not be given. Those that
  were there keep their order, their defaults and what binds their types to each other.
- Its texts are the same words, or a person has read the differences: READ has the versions for which they only describe what
  was added or say the same in other words, CHANGED those for which they do not, with the reason. Versions before opset 8 are
  left out unless the words are the same.

The script fails if a version is in none of these, as when a new release of onnx adds one.
"""

import re
import sys

import onnx
from onnx import defs

OPTION = defs.OpSchema.FormalParameterOption

READ = """
Abs 13  Add 14  ArgMax 11 12 13  ArgMin 11 12 13  AveragePool 10 11 19  BatchNormalization 15  BitShift 28  Cast 9 13 19
CastLike 19  Ceil 13  Clip 13  Compress 11  Concat 11  Constant 11 12  Conv 11  DepthToSpace 11  DequantizeLinear 13 19 21 23
Div 14  Dropout 22  EyeLike 22  Flatten 11  Floor 13  GRU 14  Gather 11 13  GatherElements 13  GatherND 12 13  Gemm 11
Hardmax 11  If 11  LSTM 14 22  LogSoftmax 11  Loop 11 13  LpPool 11 18  Max 8  MaxPool 8 10 11 12  MaxUnpool 11  Mean 8
Min 8  Mod 13  Mul 14  OptionalGetElement 18  OptionalHasElement 18  Pad 13 18 19
QuantizeLinear 13 21 23 24 25  RNN 14  Range 27  ReduceL1 11 13  ReduceL2 11 13  ReduceLogSum 11 13  ReduceLogSumExp 11 13
ReduceMax 11 12 13 20  ReduceMean 11 13  ReduceMin 11 12 13 20  ReduceProd 11 13  ReduceSum 11  ReduceSumSquare 11 13
Reshape 14  Resize 18 19  Scan 11  ScatterElements 16 18  ScatterND 16 18  Shape 15  Slice 11 13  Softmax 11
SpaceToDepth 28  Split 11  Squeeze 11 23  Sub 14  Sum 8  TopK 11  Transpose 21 25  Unsqueeze 11 23
"""

CHANGED = {
    ("Attention", 24): "the place of the causal mask is another one where there is a cache",
    ("Attention", 25): "rows that are masked wholly are zero",
    ("AveragePool", 22): "windows that start in the right pads are ignored",
    ("Cast", 24): "what integers of 4 bits become outside their range",
    ("CastLike", 24): "as Cast",
    ("ConvTranspose", 11): "on which side auto_pad adds more",
    ("MaxPool", 22): "windows that start in the right pads are ignored",
    ("MeanVarianceNormalization", 13): "onnx.checker refuses its body",
    ("Mod", 28): "which types each value of fmod allows",
    ("NonMaxSuppression", 11): "boxes at the threshold are kept",
    ("OneHot", 11): "negative indices count from the end",
    ("QuantizeLinear", 28): "what saturate does for further types",
    ("Resize", 13): "one of the coordinate transformations is gone",
    ("RoiAlign", 16): "the default shifts coordinates by half a pixel",
    ("Split", 18): "without sizes the number of outputs must be given",
}


def read_versions():
    versions = set()
    name = None
    for word in READ.split():
        if word.isdigit():
            versions.add((name, int(word)))
        else:
            name = word
    return versions


def default(attribute):
    return attribute.default_value.SerializeToString()


def bound(schema, inputs, outputs):
    """Which of the first parameters have the same type."""
    parameters = list(schema.inputs)[:inputs] + list(schema.outputs)[:outputs]
    names = [parameter.type_str for parameter in parameters]
    return {(a, b) for a in range(len(names)) for b in range(a) if names[a] == names[b]}


def only_adds(old, new):
    if old.deprecated or new.deprecated:
        return False
    for before, after in [(list(old.inputs), list(new.inputs)), (list(old.outputs), list(new.outputs))]:
        if len(after) < len(before):
            return False
        for a, b in zip(before, after):
            is_freer = a.option == OPTION.Single and b.option == OPTION.Optional
            if not set(a.types) <= set(b.types) or not (a.option == b.option or is_freer):
                return False
            if b.is_homogeneous and not a.is_homogeneous:
                return False
        if any(parameter.option != OPTION.Optional for parameter in after[len(before) :]):
            return False
    ends = len(old.inputs), len(old.outputs)
    # Types that were free of each other must stay so, and an output must have the type that it had.
    if bound(new, *ends) - bound(old, *ends) or not keeps_outputs(old, new):
        return False
    for name, attribute in old.attributes.items():
        after = new.attributes.get(name)
        if after is None or attribute.type != after.type or default(attribute) != default(after):
            return False
        if after.required and not attribute.required:
            return False
    return not any(name not in old.attributes and new.attributes[name].required for name in new.attributes)


def keeps_outputs(old, new):
    """Whether each output that had the type of an input has that of one of those inputs still."""
    inputs, outputs = len(old.inputs), len(old.outputs)
    before, after = bound(old, inputs, outputs), bound(new, inputs, outputs)
    for output in range(inputs, inputs + outputs):
        had = {at for at in range(inputs) if (output, at) in before}
        if had and not any((output, at) in after for at in had):
            return (old.name, new.since_version) in BY_ATTRIBUTE
    return True


# An attribute tells the type of the output, which is that of the input as before where the attribute is not given.
BY_ATTRIBUTE = {("DequantizeLinear", 23)}


def words(schema):
    texts = [schema.doc or ""]
    texts += [f"{parameter.name} {parameter.description}" for parameter in [*schema.inputs, *schema.outputs]]
    texts += [f"{name} {schema.attributes[name].description}" for name in sorted(schema.attributes)]
    return re.findall(r"[a-z0-9_.+/^<>=-]*[a-z0-9]+|[()\[\]]", " ".join(texts).lower().replace("`", "").replace("*", " "))


def main():
    by_name = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == "":
            by_name.setdefault(schema.name, []).append(schema)
    read, unknown = read_versions(), []
    print(f"# The versions that extend the ones before, by onnx {onnx.__version__} and files/tests/onnx/extensions.py.")
    for name, schemas in sorted(by_name.items()):
        schemas.sort(key=lambda schema: schema.since_version)
        for old, new in zip(schemas, schemas[1:]):
            version = (name, new.since_version)
            if not only_adds(old, new):
                if version in read or version in CHANGED:
                    print(f"{name} {new.since_version}: the schema changed", file=sys.stderr)
                continue
            if words(old) == words(new) or version in read:
                print(name, new.since_version)
            elif version not in CHANGED and new.since_version >= 8:
                unknown.append(f"{name} {new.since_version}")
    if unknown:
        sys.exit(f"not read yet: {', '.join(unknown)}")


if __name__ == "__main__":
    main()
