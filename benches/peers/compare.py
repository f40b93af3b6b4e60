"""Measures casts on a CPU: this crate, numpy with ml_dtypes, PyTorch and ONNX Runtime.

For every pair and number of threads, a copy of the same number of bytes, this crate with AVX2 and, if the processor has it,
with AVX-512, and the other libraries run in turns, fifteen times. All read the same codes. Bytes are counted as ONNX packs
them, although numpy stores a 4-bit element in a byte. First, every library's result is compared with that of this crate: for
ordinary values that the target can hold, and for random codes.
"""

import argparse
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

import peers as peers_of
from elements import TILE, USUAL, Bytes, Pair, all_pairs, any_bits, differing, ordinary, parse_pairs
from ours import Ours
from peers import Peer, Task
from report import ALLOCATING, AVX2, AVX512, DATA, IN_PLACE, NEW, WARM_UPS
from report import facts, gbps, has_avx512, ratio, read_lines, table, widest, write_lines

# Elements of the comparison on random codes.
RANDOM = 1 << 16
# More than those of other scripts, since the differences are small.
RUNS = 15


def main() -> None:
    args = arguments()
    if args.table:
        print(markdown(read_lines(args.json)))
        return
    peers = peers_of.present()
    pairs = all_pairs() if args.all else args.pairs
    versions = [peer.version() for peer in peers if peer.name not in ALLOCATING]
    lines = [facts(args.note, elements=args.elements, runs=RUNS, versions=versions)]
    sets = {AVX2: "avx2"} | ({AVX512: "avx512"} if has_avx512() else {})
    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        builds = {name: stack.enter_context(Ours(isa)) for name, isa in sets.items()}
        for number, pair in enumerate(pairs, 1):
            measured = compare(builds, Path(folder), peers, pair, args.elements, args.threads)
            lines += measured
            print(f"{number}/{len(pairs)}", *map(summary, measured or [named(pair)]), sep="  ", file=sys.stderr)
            write_lines(args.json, lines)
    print(markdown(lines))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--elements", type=int, default=1 << 24, help="elements per tensor [16 Mi]")
    parser.add_argument(
        "--pairs", type=parse_pairs, default=USUAL, help='for example "float>float16 float<>int8" [common pairs]'
    )
    parser.add_argument("--all", action="store_true", help="measure every pair that any other library supports")
    parser.add_argument("--threads", type=thread_counts, default=[1, 2], help="numbers of threads [1,2]")
    parser.add_argument("--json", type=Path, default=DATA / "cpu.jsonl", help="the file that the figures are written to")
    parser.add_argument("--note", default="", help="a note on the run, for tables and charts")
    parser.add_argument("--table", action="store_true", help="only print the table of the recorded figures")
    return parser.parse_args()


def thread_counts(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def named(pair: Pair) -> dict:
    return {"from": pair[0].name, "to": pair[1].name}


def compare(
    builds: dict[str, Ours], folder: Path, peers: list[Peer], pair: Pair, elements: int, thread_counts: list[int]
) -> list[dict]:
    """A line for each number of threads; none if no other library supports the pair."""
    ours = builds[AVX2]
    tile_elements = min(TILE, elements)
    tile = ordinary(pair, tile_elements)
    wrong_any = check(ours, folder, peers, pair, any_bits(pair, RANDOM), RANDOM)
    peers = [peer for peer in peers if peer.name in wrong_any]
    if not peers:
        return []
    wrong = check(ours, folder, peers, pair, tile, tile_elements)
    differs = {name: {"ordinary": wrong[name], "any": wrong_any[name]} for name in wrong}
    lines = []
    for threads in thread_counts:
        for one in builds.values():
            load(one, folder, pair, tile, elements, threads)
        tasks = {peer.name: peer.task(pair, tile, tile_elements, elements, threads) for peer in peers}
        seconds = take_turns(builds, {name: task for name, task in tasks.items() if task})
        moved = sum(of.packed_bytes(elements) for of in pair)
        lines.append({**named(pair), "threads": threads, "bytes": moved, "seconds": seconds, "differs": differs})
    return lines


def load(ours: Ours, folder: Path, pair: Pair, tile: Bytes, elements: int, threads: int) -> None:
    path = folder / "source"
    tile.tofile(path)
    ours.ask("load", pair[0].name, elements, path)
    ours.ask("to", pair[1].name, threads)


def check(ours: Ours, folder: Path, peers: list[Peer], pair: Pair, tile: Bytes, elements: int) -> dict[str, float]:
    """The share of elements that differ from ours, for each library that supports the pair."""
    load(ours, folder, pair, tile, elements, 1)
    ours.ask("into")
    path = folder / "result"
    ours.ask("save", elements, path)
    result = np.fromfile(path, np.uint8)
    tasks = {peer.name: peer.task(pair, tile, elements, elements, 1) for peer in peers}
    results = {name: task.result(elements) for name, task in tasks.items() if task}
    return {name: differing(result, theirs, pair[1], elements) for name, theirs in results.items()}


def take_turns(builds: dict[str, Ours], tasks: dict[str, Task]) -> dict[str, list[float]]:
    """The seconds of every run."""
    ways = {"memcpy": lambda: builds[AVX2].seconds("memcpy")}
    ways |= {name: (lambda one=one: one.seconds("into")) for name, one in builds.items()}
    ways[NEW] = lambda: builds[widest(builds)].seconds("new")
    ways |= {name: (lambda task=task: timed(task)) for name, task in tasks.items()}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for run in range(WARM_UPS + RUNS):
        for name, way in ways.items():
            took = way()
            if run >= WARM_UPS:
                seconds[name].append(took)
    return seconds


def timed(task: Task) -> float:
    start = perf_counter()
    task()
    return perf_counter() - start


def best(seconds: dict[str, list[float]], names: list[str] = IN_PLACE) -> str | None:
    """The fastest library of those that were measured; by default of those that write into preallocated memory."""
    there = [name for name in names if name in seconds]
    return min(there, key=lambda name: median(seconds[name]), default=None)


def summary(line: dict) -> str:
    name = f"{line['from']} -> {line['to']}"
    if "seconds" not in line:
        return f"{name}: supported by no other library"
    seconds, first = line["seconds"], best(line["seconds"])
    ours = [name for name in (AVX2, AVX512) if name in seconds]
    figures = ", ".join(f"{gbps(line['bytes'], seconds[name]):.2f}" for name in ours)
    against = ", ".join(f"{ratio(seconds[name], seconds[first]):.2f}" for name in ours) if first else ""
    against = f", {against} x {first}" if first else ""
    return f"{name} ({line['threads']}): ours {figures} GB/s{against}"


def markdown(lines: list[dict]) -> str:
    """A table for each number of threads, and one of differing results."""
    head, *pairs = lines
    parts = [", ".join([head["machine"], f"{head['elements']} elements", *head["versions"]]), head["note"]]
    for threads in sorted({line["threads"] for line in pairs}):
        word = "one thread" if threads == 1 else f"{threads} threads (numpy: one)"
        parts += [f"**{word[0].upper()}{word[1:]}**", speeds([line for line in pairs if line["threads"] == threads])]
    first = min((line["threads"] for line in pairs), default=1)
    different = disagreements([line for line in pairs if line["threads"] == first])
    return "\n\n".join(part for part in [*parts, different] if part)


# The names in the recorded figures, and the titles of their columns.
TITLES = {
    AVX512: "wgpu-cast",
    AVX2: "wgpu-cast, AVX2",
    "numpy": "numpy",
    "torch copy_": "torch copy_",
    "ORT": "ONNX Runtime",
    NEW: "wgpu-cast, new memory",
    "numpy astype": "numpy astype",
    "torch .to": "torch .to",
}


def speeds(lines: list[dict]) -> str:
    names = [name for name in TITLES if any(name in line["seconds"] for line in lines)]
    ratios = ["ratio to the best other", *(["AVX2"] if AVX512 in names else []), "new memory"]
    return table(["cast", "memcpy", *(TITLES[name] for name in names), *ratios], [speed_row(line, names) for line in lines])


def speed_row(line: dict, names: list[str]) -> list[str]:
    seconds, moved = line["seconds"], line["bytes"]

    def cell(name: str) -> str:
        if name not in seconds:
            return "–"
        shown = f"{gbps(moved, seconds[name]):.2f} ({ratio(seconds[name], seconds['memcpy']):.2f})"
        if name in (AVX2, AVX512):
            low, high = (moved / extreme(seconds[name]) / 1e9 for extreme in (max, min))
            shown += f" [{low:.2f} to {high:.2f}]"
        return shown

    first = best(seconds)
    ours = [name for name in (AVX512, AVX2) if name in seconds]
    against = [f"{ratio(seconds[of], seconds[first]):.2f} × {first}" if first else "–" for of in ours]
    first = best(seconds, ALLOCATING)
    against.append(f"{ratio(seconds[NEW], seconds[first]):.2f} × {first}" if first else "–")
    memcpy = f"{gbps(moved, seconds['memcpy']):.2f}"
    return [f"{line['from']} → {line['to']}", memcpy, *map(cell, names), *against]


def disagreements(lines: list[dict]) -> str:
    """The share of elements whose bits differ from ours: for ordinary values / for random codes."""

    def cell(differs: dict[str, dict], name: str) -> str:
        shares = differs.get(name)
        if shares is None:
            return "–"
        if not any(shares.values()):
            return "same"
        return f"{shares['ordinary'] * 100:.3g} % / {shares['any'] * 100:.3g} %"

    rows = [
        [f"{line['from']} → {line['to']}", *(cell(line["differs"], name) for name in IN_PLACE)]
        for line in lines
        if any(any(shares.values()) for shares in line["differs"].values())
    ]
    if not rows:
        return "All results are bit-identical to ours."
    return "The share of elements whose bits differ from ours, for ordinary values / for random codes:\n\n" + table(
        ["cast", *(TITLES[name] for name in IN_PLACE)], rows
    )


if __name__ == "__main__":
    main()
