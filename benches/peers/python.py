"""Measures the Python module: `wgpu_cast.cast` beside this crate in Rust, numpy with ml_dtypes, and PyTorch.

For every pair and number of elements all ways run in turns, on one thread: `cast(x, to, out=y)` beside `cpu::cast_into`,
`cast(x, to)` beside `cpu::cast`, and the other libraries into new memory. Small casts are repeated. The pages of memory that arrays
get can cost a quarter of the speed in the caches: so the turns are made with arrays in several places, and in Rust by several
processes. All read the same codes, and the module's results are compared with those in Rust first. Bytes are counted as ONNX packs
them, although the module and numpy store a 4-bit element in a byte. Also measured are the size of the wheel, and how much longer
`import wgpu_cast` takes than `import numpy`.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import wgpu_cast

from elements import TILE, Pair, differing, from_numpy, ordinary, parse_pairs, to_numpy
from measure import asked, place, repetitions
from ours import Ours
from peers import torch
from report import DATA, IN_RUST, WARM_UPS, facts, gbps, ratio, write_lines

COUNTS = [1 << 10, 1 << 16, 1 << 24]
PLACES = 5
RUNS = 3
# The seconds of one measurement. An interpreter that has waited for another process is slow for a millisecond or two.
REGION = 2e-2
USUAL = """
float<>float16 float<>bfloat16 float<>float8e4m3fn float<>float8e5m2 float>float8e8m0 bfloat16<>float16 bfloat16>float8e4m3fn
float<>double float<>int8 int64<>int32 float<>int4 float<>float4e2m1
"""
# In the recorded figures: the module into given and into new memory.
OUT, NEW = "cast, out", "cast"
NUMPY, TORCH = "numpy astype", "torch .to"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=parse_pairs, default=USUAL, help='for example "float>float16 float<>int8" [common pairs]')
    parser.add_argument("--elements", type=lambda text: [int(word) for word in text.split(",")], default=COUNTS, help="[1 Ki, 64 Ki, 16 Mi]")
    parser.add_argument("--wheel", type=Path, required=True, help="the wheel that is installed")
    parser.add_argument("--note", default="", help="a note on the run, for tables and charts")
    args = parser.parse_args()
    wgpu_cast.set_threads(1)
    if torch:
        torch.set_num_threads(1)
    versions = [f"numpy {np.__version__} with ml_dtypes {__import__('ml_dtypes').__version__}", *([f"torch {torch.__version__}"] if torch else [])]
    about = {"wheel": args.wheel.stat().st_size, "import_ms": 1e3 * median(imports()), "runs": PLACES * RUNS, "versions": versions}
    lines = [facts(args.note, python=sys.version.split()[0], **about)]
    print(f"wheel {about['wheel'] / 1e6:.2f} MB, import {about['import_ms']:.1f} ms more than numpy")
    with tempfile.TemporaryDirectory() as folder:
        for pair in args.pairs:
            codes = ordinary(pair, TILE)
            codes.tofile(Path(folder) / "source")
            for count in args.elements:
                x = np.resize(to_numpy(codes, pair[0], TILE), count)
                seconds = in_places(Path(folder), pair, x)
                moved = sum(of.packed_bytes(count) for of in pair)
                lines.append({"from": pair[0].name, "to": pair[1].name, "elements": count, "bytes": moved, "seconds": seconds})
                print(summary(lines[-1]), flush=True)
                write_lines(DATA / "python.jsonl", lines)


def imports() -> list[float]:
    """How much longer a process takes that imports the module, too."""

    def started(what: str) -> float:
        start = perf_counter()
        subprocess.run([sys.executable, "-c", f"import numpy{what}"], check=True)
        return perf_counter() - start

    return [started(", wgpu_cast") - started("") for _ in range(WARM_UPS + PLACES * RUNS)][WARM_UPS:]


def in_places(folder: Path, pair: Pair, x: np.ndarray) -> dict[str, list[float]]:
    """The seconds of all ways, with arrays in several places."""
    seconds: dict[str, list[float]] = {}
    # Kept, so that each takes other memory.
    kept = []
    for _ in range(PLACES):
        with Ours() as ours:
            place(ours, folder / "source", pair, x.size, 1)
            check(ours, folder, pair, x)
            kept.append((x.copy(), np.zeros(x.size, pair[1].dtype)))
            for name, times in take_turns(ways(ours, pair, *kept[-1])).items():
                seconds.setdefault(name, []).extend(times)
    return seconds


def check(ours: Ours, folder: Path, pair: Pair, x: np.ndarray) -> None:
    """That both give the same bits."""
    ours.ask("into")
    ours.ask("save", x.size, folder / "result")
    rust = np.fromfile(folder / "result", np.uint8)
    python = from_numpy(wgpu_cast.cast(x, pair[1].name), pair[1])
    if differing(rust, python, pair[1], x.size):
        raise SystemExit(f"{pair[0].name} to {pair[1].name}: other bits in Python")


def ways(ours: Ours, pair: Pair, x: np.ndarray, out: np.ndarray) -> dict[str, Callable[[], float]]:
    """What is measured, by name; each gives the seconds of one cast."""
    dtype = pair[1].dtype
    cast = wgpu_cast.cast
    found = {IN_RUST[OUT]: asked(ours, IN_RUST[OUT], REGION), OUT: repeated(lambda: cast(x, dtype, out=out), False)}
    found |= {IN_RUST[NEW]: asked(ours, IN_RUST[NEW], REGION), NEW: repeated(lambda: cast(x, dtype), True)}
    found[NUMPY] = repeated(lambda: x.astype(dtype), True)
    if torch and pair[0].torch and pair[1].torch:
        tensor = torch.from_numpy(x.view(np.uint8)).view(getattr(torch, pair[0].torch))
        target = getattr(torch, pair[1].torch)
        found[TORCH] = repeated(lambda: tensor.to(target), False)
    return found


def repeated(cast: Callable[[], object], huge_pages: bool) -> Callable[[], float]:
    """Times a cast, repeated often enough for the clock. numpy's new memory is in huge pages, as it is unless run.sh forbids it."""

    def seconds(times: int) -> float:
        before = np._core.multiarray._set_madvise_hugepage(huge_pages)
        try:
            with np.errstate(all="ignore"):
                start = perf_counter()
                for _ in repeat(None, times):
                    cast()
                return (perf_counter() - start) / times
        finally:
            np._core.multiarray._set_madvise_hugepage(before)

    times = repetitions(seconds, REGION)
    return lambda: seconds(times)


def take_turns(ways: dict[str, Callable[[], float]]) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for run in range(WARM_UPS + RUNS):
        for name, way in ways.items():
            took = way()
            if run >= WARM_UPS:
                seconds[name].append(took)
    return seconds


def beside_rust(line: dict, way: str) -> float:
    return ratio(line["seconds"][way], line["seconds"][IN_RUST[way]])


def summary(line: dict) -> str:
    seconds = line["seconds"]
    figures = ", ".join(f"{name} {gbps(line['bytes'], times):.2f}" for name, times in seconds.items())
    against = f"{beside_rust(line, OUT):.2f} and {beside_rust(line, NEW):.2f} of Rust"
    return f"{line['from']} -> {line['to']}, {line['elements']}: {figures} GB/s; {against}; {1e6 * median(seconds[NEW]):.2f} µs a call"


if __name__ == "__main__":
    main()
