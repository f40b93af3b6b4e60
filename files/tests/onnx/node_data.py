"""Writes ONNX's node test cases of Cast and CastLike into a new folder, laid out as onnx's own data folder:
<case>/model.onnx and <case>/test_data_set_<n>/{input,output}_<n>.pb.

python3 files/tests/onnx/node_data.py FOLDER WHEEL    extracts them from a wheel of onnx that contains them
python3 files/tests/onnx/node_data.py FOLDER          generates them with the installed onnx
"""

import pathlib
import re
import sys
import zipfile

IN_WHEEL = re.compile(r"onnx/backend/test/data/node/(test_cast\w*/(?:model\.onnx|test_data_set_\d+/\w+\.pb))")


def from_wheel(path):
    """The path of each file in the folder, and its bytes."""
    with zipfile.ZipFile(path) as wheel:
        for name in wheel.namelist():
            match = IN_WHEEL.fullmatch(name)
            if match:
                yield match[1], wheel.read(name)


def from_package():
    """As from_wheel, but with the files that `onnx.backend.test.cmd_tools generate-data` would write."""
    # Importing a module generates its cases. All cases named test_cast* are in these two modules.
    import onnx.backend.test.case.node as node
    import onnx.backend.test.case.node.cast
    import onnx.backend.test.case.node.castlike

    for case in node._NodeTestCases:
        if not case.name.startswith("test_cast"):
            continue
        yield f"{case.name}/model.onnx", case.model.SerializeToString()
        for n, (inputs, outputs) in enumerate(case.data_sets):
            for kind, tensors in ("input", inputs), ("output", outputs):
                for i, tensor in enumerate(tensors):
                    # Cases of Cast contain only TensorProtos; those of other operators also contain arrays and lists.
                    yield f"{case.name}/test_data_set_{n}/{kind}_{i}.pb", tensor.SerializeToString()


def main(folder, wheel=None):
    for path, content in from_wheel(wheel) if wheel else from_package():
        file = pathlib.Path(folder, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


if __name__ == "__main__":
    main(*sys.argv[1:])
