"""Feeds mutated files to the program `wgpu-cast`: no crash, no hang, no litter.

    python3 tests/tool_fuzz.py CAST SECONDS [SEED]

The seeds are small files of the repository, models of ONNX's node tests if files/tests/onnx/fetch.sh has brought them, and files
made here. Each case changes one of them and runs `info`, `convert` or `run` on it with 2 GiB of addresses and 20 seconds.
A case is printed, and its files are kept, if the tool is killed by a signal or by the limits, if its exit status is not
0, 1 or 2, if a failure has no line that begins with "wgpu-cast: ", if it prints more than 20 lines of messages, or if a failed
run leaves any file. The same seed gives the same cases: a later run continues with another seed.
"""

import glob
import json
import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time

ADDRESSES = 2 << 30
SECONDS = 20
MOST_LINES = 20
LARGEST_SEED = 1 << 16
TYPES = "float double float16 bfloat16 float8e4m3fn float8e5m2 float8e8m0 float4e2m1 float6e2m3 int4 uint2 int8 uint16 int64 bool string"


def safetensors(tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def npy(descr, shape, data, fortran=False):
    text = f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {shape!r}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def seeds(root):
    """The extension and the bytes of each seed."""
    numbers = struct.pack("<12f", *(x * 1.7**x for x in range(12)))
    found = [
        (".safetensors", safetensors({"a.w": ("F32", [3, 4], numbers), "b": ("I64", [2], bytes(16)), "e": ("F32", [0], b"")})),
        (".safetensors", safetensors({"h": ("BF16", [6], bytes(12)), "f": ("F8_E4M3", [5], b"\x01\x7f\xff\x80\x08")})),
        (".npy", npy("<f4", (3, 4), numbers)),
        (".npy", npy(">f4", (4, 3), numbers, True)),
        (".npy", npy("<U3", (2,), "ab\0-1e".encode("utf-32-le"))),
        (".npy", npy("|S4", (3,), b"1.5\0-inf nan")),
        (".npy", npy("<V2", (6,), bytes(12))),
        (".bin", numbers),
    ]
    paths = ["examples/cast/data/tiny.safetensors", "files/tests/golden/*.npz", "tests/fuzz/corpus/*", "files/tests/fuzz/corpus/*"]
    paths += ["examples/cast/tests/golden/scales/*/*.safetensors", "examples/cast/tests/golden/quantized/*.safetensors"]
    paths += ["target/onnx-node-data/*/**/*.onnx", "target/onnx-node-data/*/**/*.pb", "target/onnx-models/models/*.onnx"]
    for pattern in paths:
        for path in sorted(glob.glob(os.path.join(root, pattern), recursive=True)):
            extension = os.path.splitext(path)[1]
            if extension in (".onnx", ".pb", ".npz", ".safetensors") and os.path.getsize(path) <= LARGEST_SEED:
                with open(path, "rb") as file:
                    found.append((extension, file.read()))
    return found


def mutate(data, other, random):
    """A few changes: bits, bytes, numbers, cuts, repeats, pieces of another seed."""
    data = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        place = random.randrange(len(data) + 1)
        match random.randrange(8):
            case 0 if data:
                data[place % len(data)] ^= 1 << random.randrange(8)
            case 1 if data:
                data[place % len(data)] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
            case 2:
                number = random.choice((0, 1, 2**31 - 1, 2**32 - 1, 2**53, 2**63 - 1, 2**64 - 1, random.getrandbits(40)))
                data[place : place + 8] = struct.pack("<Q", number)
            case 3:
                del data[place:]
            case 4:
                del data[place : place + random.randrange(1, 9)]
            case 5:
                piece = data[place : place + random.randrange(1, 65)]
                data[place:place] = piece * random.choice((1, 2, 100))
            case 6:
                start = random.randrange(len(other) + 1)
                data[place:place] = other[start : start + random.randrange(1, 65)]
            case 7:
                # A decimal number of a text header.
                digits = str(random.choice((0, -1, 7, 2**31, 2**63, 2**64, 10**30)))
                data[place : place + random.randrange(0, 4)] = digits.encode()
    return bytes(data)


def arguments(extension, random):
    to = random.choice(TYPES.split())
    match random.randrange(8):
        case 0 | 1:
            return ["info", "in" + extension]
        case 2 if extension == ".onnx":
            inputs = ["in.pb"] if random.random() < 0.5 else []
            return ["run", "in.onnx", *inputs, "-o", "out", "--device", "cpu"]
    options = ["--to", to, "--memory", "1MiB", "--device", "cpu"]
    choices = [["--stats"], ["--strict"], ["--resume"], ["--dry-run"], ["--map", "*=int8"], ["--from", random.choice(TYPES.split())]]
    if extension == ".onnx":
        choices += [["--graph"], ["--graph", "--keep-io-types"], ["--external-from", "16B"]] * 2
    if extension == ".safetensors":
        choices += [["--dequantize"]] * 4
        if random.random() < 0.25:
            options[1] = "float8e4m3fn"
            choices = [["--stats"], ["--strict"], ["--resume"], ["--dry-run"], ["--map", "*=float8e4m3fn"]]
            options += ["--quantize", random.choice(("tensor", "row", "block"))]
    for choice in choices:
        if random.random() < 0.25 and choice[0] not in options:
            options += choice
    result = random.choice((".npy", ".pb", ".bin")) if extension in (".npy", ".pb", ".bin") else extension
    return ["convert", "in" + extension, "out" + result, *options]


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def fault(cast, words, folder):
    """What is wrong with a run; None if nothing is."""
    before = set(os.listdir(folder))
    try:
        done = subprocess.run([cast, *words], cwd=folder, capture_output=True, timeout=SECONDS, preexec_fn=limit)
    except subprocess.TimeoutExpired:
        return f"more than {SECONDS} s"
    messages = done.stderr.decode(errors="replace").splitlines()
    if done.returncode not in (0, 1, 2):
        return f"status {done.returncode}: {' '.join(messages)[:300]}"
    if done.returncode and not any(line.startswith("wgpu-cast: ") for line in messages):
        return f"status {done.returncode} without a message"
    if len(messages) > MOST_LINES:
        return f"{len(messages)} lines of messages"
    left = set(os.listdir(folder)) - before
    if done.returncode and left:
        return f"status {done.returncode}, left: {sorted(left)}"
    if any("partial" in name or "finished" in name for name in left):
        return f"status 0, left: {sorted(left)}"
    return None


def main():
    cast, seconds, seed = os.path.abspath(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    known, chance = seeds(root), random.Random(seed)
    by_kind = {}
    for extension, data in known:
        by_kind.setdefault(extension, []).append(data)
    kinds = sorted(by_kind)
    cases, accepted, faults, end = 0, 0, 0, time.monotonic() + seconds
    while time.monotonic() < end:
        with tempfile.TemporaryDirectory() as folder:
            kind = chance.choice(kinds)
            data = mutate(chance.choice(by_kind[kind]), chance.choice(known)[1], chance)
            with open(os.path.join(folder, "in" + kind), "wb") as file:
                file.write(data)
            if kind == ".onnx" and by_kind.get(".pb"):
                with open(os.path.join(folder, "in.pb"), "wb") as file:
                    file.write(chance.choice(by_kind[".pb"]))
            words = arguments(kind, chance)
            found = fault(cast, words, folder)
            cases += 1
            accepted += bool(set(os.listdir(folder)) - {"in" + kind, "in.pb"})
            if found:
                faults += 1
                kept = tempfile.mkdtemp(prefix="cast-fault-")
                shutil.copytree(folder, kept, dirs_exist_ok=True)
                print(f"{kept}: cast {' '.join(words)}: {found}", flush=True)
    kinds = ", ".join(f"{len(by_kind[kind])} {kind}" for kind in kinds)
    print(f"seed {seed}: {cases} cases from {kinds}; {accepted} wrote an output; {faults} faults")
    return 1 if faults or not accepted else 0


if __name__ == "__main__":
    sys.exit(main())
