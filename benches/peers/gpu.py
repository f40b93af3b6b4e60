"""Measures casts on an NVIDIA GPU by PyTorch and CuPy, beside what `wgpu-cast bench` has measured there.

This script was written without a GPU. Only `--dry-run` has been run, with PyTorch on the CPU and numpy instead of CuPy.

Needs Python with ml_dtypes, numpy, and torch with CUDA or cupy or both. All tensors are on the device and as large as those
of `wgpu-cast bench`, and all times are device times (timestamp queries, CUDA events): the median of 7 runs after 2 warm-up runs.
Each side is compared with its own copy of the same number of bytes, because the sides cannot run in turns.

    wgpu-cast bench --json --elements 67108864 >pairs.jsonl
    gpu.py pairs.jsonl
    gpu.py pairs.jsonl --dry-run
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from types import ModuleType
from typing import Any

from elements import TILE, USUAL, Pair, ordinary, parse_pairs, to_numpy
from report import GPU, RUNS, WARM_UPS, facts, read_lines, table, write_lines

# Calls between two events, so that the launch of the first one hardly counts.
TIMES = 8
# What runs, and the clock that it runs by: seconds of one call.
Work = Callable[[], object]
Clock = Callable[[Work], float]


def main() -> None:
    args = arguments()
    if args.table:
        print(markdown(read_lines(args.json)))
        return
    sides = [side for side in (torch_side(args.dry_run), cupy_side(args.dry_run)) if side]
    if not sides:
        return
    head, *measured = read_lines(args.figures)
    ours = {(line["from"], line["to"]): line for line in measured}
    about = {key: head[key] for key in ("adapter", "clock", "elements")}
    lines = [facts(args.note, **about, versions=[side.version for side in sides])]
    for pair in args.pairs:
        found = ours.get((pair[0].name, pair[1].name))
        if found is None:
            print(f"NOT MEASURED: {pair[0].name} to {pair[1].name}, which {args.figures.name} lacks")
            continue
        lines.append(measure(found, sides, pair, head["elements"]))
        if not args.dry_run:
            write_lines(args.json, lines)
    print(markdown(lines))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", type=Path, nargs="?", help="what `wgpu-cast bench --json` printed")
    parser.add_argument(
        "--pairs", type=parse_pairs, default=USUAL, help='for example "float>float16 float<>int8" [common pairs]'
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="run the other libraries on the CPU, to test this script; writes no file"
    )
    parser.add_argument("--json", type=Path, default=GPU / "gpu.jsonl", help="the file that the figures are written to")
    parser.add_argument("--note", default="", help="a note on the run")
    parser.add_argument("--table", action="store_true", help="only print the table of the recorded figures")
    args = parser.parse_args()
    if not args.table and not args.figures:
        parser.error("the figures of `wgpu-cast bench --json` are needed")
    return args


class Side:
    """A library on its device."""

    def __init__(self, version: str, clock: Clock, ways: Callable[[Pair, int], dict[str, Work]]) -> None:
        self.version, self.clock, self.ways = version, clock, ways


def torch_side(dry_run: bool) -> Side | None:
    try:
        import torch
    except ImportError:
        print("NOT MEASURED: PyTorch, which is not installed")
        return None
    if not dry_run and not torch.cuda.is_available():
        print("NOT MEASURED: PyTorch, which finds no CUDA")
        return None
    device = "cpu" if dry_run else "cuda"
    if dry_run:
        torch.set_num_threads(1)

    def ways(pair: Pair, elements: int) -> dict[str, Work]:
        types = [getattr(torch, of.torch or "", None) for of in pair]
        if None in types:
            return {}
        tile = torch.from_numpy(codes(pair)).to(device)
        source = tile.repeat(-(-elements // len(tile)))[:elements].view(types[0])
        out = torch.ones(elements, device=device).to(types[1])
        half = moved(pair, elements) // 2
        copied = [torch.ones(half, dtype=torch.uint8, device=device) for _ in range(2)]
        return {
            "torch .to": lambda: source.to(types[1]),
            "torch copy_": lambda: out.copy_(source),
            "copy by torch": lambda: copied[1].copy_(copied[0]),
        }

    def events(work: Work) -> float:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(TIMES):
            work()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / 1e3 / TIMES

    name = "CPU" if dry_run else torch.cuda.get_device_name()
    return Side(f"torch {torch.__version__} on {name}", wall if dry_run else events, ways)


def cupy_side(dry_run: bool) -> Side | None:
    cupy = module(dry_run)
    if cupy is None:
        print("NOT MEASURED: CuPy, which is not installed")
        return None

    def ways(pair: Pair, elements: int) -> dict[str, Work]:
        dtypes = [of.dtype for of in pair]
        # It has numpy's own types.
        if any(dtype.kind not in "biuf" or dtype.isbuiltin != 1 for dtype in dtypes):
            return {}
        tile = cupy.asarray(codes(pair))
        source = cupy.tile(tile, -(-elements // len(tile)))[:elements].view(dtypes[0])
        half = moved(pair, elements) // 2
        copied = [cupy.ones(half, "u1") for _ in range(2)]
        return {
            "cupy astype": lambda: source.astype(dtypes[1]),
            "copy by cupy": lambda: cupy.copyto(copied[1], copied[0]),
        }

    def events(work: Work) -> float:
        begin, end = (cupy.cuda.Event() for _ in range(2))
        begin.record()
        for _ in range(TIMES):
            work()
        end.record()
        end.synchronize()
        return cupy.cuda.get_elapsed_time(begin, end) / 1e3 / TIMES

    return Side(f"{cupy.__name__} {cupy.__version__}", wall if dry_run else events, ways)


def module(dry_run: bool) -> ModuleType | None:
    """CuPy, or what has its interface without a GPU."""
    if dry_run:
        import numpy

        return numpy
    try:
        import cupy
    except ImportError:
        return None
    return cupy


def codes(pair: Pair) -> Any:  # noqa: ANN401
    """As signed integers, which all libraries move. The device repeats them, which takes less time than sending them."""
    values = to_numpy(ordinary(pair, TILE), pair[0], TILE)
    return values.view(f"i{values.itemsize}")


def moved(pair: Pair, elements: int) -> int:
    return sum(of.packed_bytes(elements) for of in pair)


def wall(work: Work) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def measure(ours: dict, sides: list[Side], pair: Pair, elements: int) -> dict:
    """One pair by all, in GB/s of bytes read and written."""
    rates = {"ours": ours["gbps"], "copy by ours": ours["copy_gbps"]}
    for side in sides:
        rates |= rates_of(side, pair, elements)
    return {"from": pair[0].name, "to": pair[1].name, "elements": elements, "gbps": rates}


def rates_of(side: Side, pair: Pair, elements: int) -> dict[str, float]:
    try:
        ways = side.ways(pair, elements)
        runs = [{name: side.clock(way) for name, way in ways.items()} for _ in range(WARM_UPS + RUNS)]
    except (NotImplementedError, RuntimeError, TypeError) as error:
        print(f"{side.version} does not cast {pair[0].name} to {pair[1].name}: {str(error).splitlines()[0]}")
        return {}
    return {name: moved(pair, elements) / median(run[name] for run in runs[WARM_UPS:]) / 1e9 for name in ways}


# Each way, and the copy it stands beside.
COPIES = {
    "ours": "copy by ours",
    "torch .to": "copy by torch",
    "torch copy_": "copy by torch",
    "cupy astype": "copy by cupy",
}


def markdown(lines: list[dict]) -> str:
    head, *pairs = lines
    title = ", ".join([head["adapter"], f"{head['elements']} elements", head["clock"], *head["versions"]])
    names = [name for name in COPIES if any(name in line["gbps"] for line in pairs)]
    copies = [name for name in dict.fromkeys(COPIES.values()) if any(name in line["gbps"] for line in pairs)]
    heads = ["cast", *names, *copies, "ours / best peer"]
    parts = [
        title,
        head["note"],
        table(heads, [row(line["from"], line["to"], line["gbps"], names, copies) for line in pairs]),
    ]
    return "\n\n".join(part for part in parts if part)


def row(source: str, target: str, rates: dict[str, float], names: list[str], copies: list[str]) -> list[str]:
    def cell(name: str) -> str:
        if name not in rates:
            return "–"
        copy = rates.get(COPIES.get(name, ""))
        return f"{rates[name]:.1f}" + (f" ({rates[name] / copy:.2f})" if copy else "")

    peers = {name: rates[name] for name in names if name != "ours" and name in rates}
    best = max(peers, key=lambda name: peers[name], default=None)
    against = f"{rates['ours'] / peers[best]:.2f} × {best}" if best else "–"
    return [f"{source} → {target}", *map(cell, names), *map(cell, copies), against]


if __name__ == "__main__":
    main()
