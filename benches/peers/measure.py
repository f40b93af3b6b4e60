"""Measures this crate alone, for tables and charts.

measure.py adapter    every pair with `wgpu-cast bench`, on the best adapter
measure.py small      small tensors of every pair with `cargo bench --bench cpu`, on one thread
measure.py growth     GB/s for growing tensors: the CPU, the adapter, and host tensors on both
measure.py record     `cargo bench --bench record`
measure.py strings    `cargo bench --bench strings`
measure.py transfer   `cargo bench --bench transfer`
"""

import argparse
import json
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from elements import TILE, TYPES, Pair, ordinary, parse_pairs
from ours import ROOT, Ours, build
from report import DATA, RUNS, WARM_UPS, facts, gbps, write_lines

# Small casts are repeated for about this many seconds, so that the resolution of the clock does not matter.
REGION = 2e-3
GROWING = "float>float16 float8e4m3fn>float"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["adapter", "growth", "record", "small", "strings", "transfer"])
    parser.add_argument("--elements", type=int, default=1 << 24, help="adapter: elements per tensor [16 Mi]")
    parser.add_argument("--pairs", type=parse_pairs, default=GROWING, help="growth: the pairs [%(default)s]")
    parser.add_argument("--most", type=int, default=1 << 28, help="growth: elements of the largest tensor [256 Mi]")
    parser.add_argument("--note", default="", help="a note on the run, for tables and charts")
    args = parser.parse_args()
    measures = {"adapter": adapter, "growth": growth, "record": record, "small": small, "strings": strings, "transfer": transfer}
    measures[args.what](args)


def cast_bench(*options: object) -> Iterator[dict]:
    """The lines of `wgpu-cast bench --json`: for each number of elements what was measured on, and the pairs."""
    command = [build("--bin", "wgpu-cast"), "bench", "--json", *map(str, options)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        yield from map(json.loads, running.stdout)
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, command)


def adapter(args: argparse.Namespace) -> None:
    head, *pairs = cast_bench("--elements", args.elements)
    write_lines(DATA / "adapter.jsonl", [facts(args.note, **head), *pairs])


def small(args: argparse.Namespace) -> None:
    """For each number of elements the nanoseconds of a cast, median of all pairs and the most, and the median ratio to a copy."""
    counts = [16, 1024, 65536]
    options = ["--all", "--threads", "1", "--elements", ",".join(map(str, counts)), "--json"]
    lines = [json.loads(line) for line in cargo_bench("cpu", *options).splitlines()]
    found = []
    for count in counts:
        of = [line for line in lines if line["elements"] == count]
        # GB/s are bytes per nanosecond.
        took = [sum(TYPES[line[side]].packed_bytes(count) for side in ("from", "to")) / line["gb_s"] for line in of]
        middle = median(line["ratio"] for line in of)
        found.append({"elements": count, "pairs": len(of), "median": median(took), "most": max(took), "ratio": middle})
    write_lines(DATA / "small.jsonl", [facts(args.note), *found])


def growth(args: argparse.Namespace) -> None:
    """Each line is a way, a pair, a number of elements, and GB/s."""
    pairs = args.pairs
    # By fours, from 1 Ki.
    counts = [1 << power for power in range(10, args.most.bit_length(), 2)]
    on_device = {pair: on_adapter(pair, counts) for pair in pairs}
    head, _ = on_device[pairs[0]]
    lines = [facts(args.note, **head, runs=RUNS)]
    with Ours() as ours, tempfile.TemporaryDirectory() as folder:
        for pair in pairs:
            tile = Path(folder) / pair[0].name
            ordinary(pair, TILE).tofile(tile)
            for count in counts:
                resident = [line for line in on_device[pair][1] if line["elements"] == count]
                measured = on_cpu(ours, tile, pair, count) + end_to_end(ours, tile, pair, count) + resident
                lines += measured
                print(count, *(f"{line['way']} {line['gbps']:.2f}" for line in measured), sep="  ", flush=True)
                write_lines(DATA / "growth.jsonl", lines)
            print(crossover([line for line in lines[1:] if line["to"] == pair[1].name]))


def on_cpu(ours: Ours, tile: Path, pair: Pair, count: int) -> list[dict]:
    lines = []
    for threads in (1, 2):
        place(ours, tile, pair, count, threads)
        ways = {"CPU": "into", "memcpy": "memcpy"}
        lines += take_turns({f"{name}, {threads}": asked(ours, what) for name, what in ways.items()}, pair, count)
    return lines


def end_to_end(ours: Ours, tile: Path, pair: Pair, count: int) -> list[dict]:
    """Host tensors to new host tensors, on the adapter and on the CPU with all threads."""
    place(ours, tile, pair, count, 0)
    return take_turns({f"host by {device}": asked(ours, device) for device in ("gpu", "cpu")}, pair, count)


def place(ours: Ours, tile: Path, pair: Pair, count: int, threads: int) -> None:
    ours.ask("load", pair[0].name, count, tile)
    ours.ask("to", pair[1].name, threads)


def asked(ours: Ours, what: str, region: float = REGION) -> Callable[[], float]:
    """Times it, repeated often enough for the clock."""
    times = repetitions(lambda times: ours.seconds(what, times), region)
    return lambda: ours.seconds(what, times)


def repetitions(seconds: Callable[[int], float], region: float = REGION) -> int:
    """The number of repetitions that take the seconds `region`. `seconds(n)` gives the time of one of `n` repetitions."""
    first = max(seconds(1), seconds(1))
    if first < region / 20:
        # Most of it may be the time in which a thread of the pool wakes up, or in which caches fill.
        first = seconds(1000)
    return min(int(region / max(first, 1e-9)) + 1, 100_000)


def take_turns(ways: dict[str, Callable[[], float]], pair: Pair, count: int) -> list[dict]:
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for run in range(WARM_UPS + RUNS):
        for name, way in ways.items():
            took = way()
            if run >= WARM_UPS:
                seconds[name].append(took)
    moved = sum(of.packed_bytes(count) for of in pair)
    return [line(name, pair, count, gbps(moved, times)) for name, times in seconds.items()]


def on_adapter(pair: Pair, counts: list[int]) -> tuple[dict, list[dict]]:
    """What was measured on, and tensors on the device. Sizes that exceed one binding have no lines."""
    head, lines = {}, []
    numbers = ",".join(map(str, counts))
    found = list(cast_bench("--from", pair[0].name, "--to", pair[1].name, "--elements", numbers))
    for count, about, measured in zip(counts, found[::2], found[1::2], strict=True):
        head = {key: about[key] for key in ("adapter", "clock")}
        if about["elements"] == count:
            names = {"adapter": measured["gbps"], "copy on the adapter": measured["copy_gbps"]}
            lines += [line(name, pair, count, rate) for name, rate in names.items()]
    return head, lines


def line(way: str, pair: Pair, count: int, rate: float) -> dict:
    return {"way": way, "from": pair[0].name, "to": pair[1].name, "elements": count, "gbps": rate}


def crossover(lines: list[dict]) -> str:
    """The size from which the adapter is faster than the CPU for host tensors."""
    rates: dict[int, dict[str, float]] = {}
    for one in lines:
        rates.setdefault(one["elements"], {})[one["way"]] = one["gbps"]
    faster = [count for count, by in rates.items() if by["host by gpu"] > by["host by cpu"]]
    slower = [count for count in rates if count not in faster]
    name = f"{lines[0]['from']} -> {lines[0]['to']}, host tensors"
    above = [count for count in faster if count > max(slower, default=0)]
    return f"{name}: " + (f"the adapter is faster from {min(above)} elements" if above else "the CPU is faster at every size")


# `float to string   1 thread   37.1 (36.0 to 38.0)  5.0 x   2 threads …   std …`
STRINGS = re.compile(
    r"(?P<cast>.+? to .+?)\s+1 thread\s+(?P<one>[\d.]+).*?"
    r"(?P<count>\d+) threads?\s+(?P<all>[\d.]+).*?std\s+(?P<std>[\d.]+)"
)


def cargo_bench(name: str, *options: str) -> str:
    """The output of a benchmark, which is also printed."""
    command = ["cargo", "bench", "--locked", "--bench", name, "--", *options]
    printed = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    print(printed)
    return printed


def some(lines: list[dict]) -> list[dict]:
    """What was parsed, which must not be nothing."""
    if not lines:
        raise SystemExit("no figures in the output of the benchmark")
    return lines


def strings(args: argparse.Namespace) -> None:
    lines = some(parse_strings(cargo_bench("strings")))
    write_lines(DATA / "strings.jsonl", [facts(args.note), *lines])


def parse_strings(printed: str) -> list[dict]:
    """Millions of elements per second."""
    found = [match for match in map(STRINGS.match, printed.splitlines()) if match]
    return [
        {
            "cast": match["cast"],
            "threads": int(match["count"]),
            **{way: float(match[way]) for way in ("one", "all", "std")},
        }
        for match in found
    ]


def transfer(args: argparse.Namespace) -> None:
    printed = cargo_bench("transfer")
    lines = some(parse_transfer(printed))
    adapter = printed.partition(", microseconds")[0]
    write_lines(DATA / "transfer.jsonl", [facts(args.note, adapter=adapter, runs=RUNS), *lines])


# What each line of `benches/transfer.rs` measures, by its number of figures.
TRANSFER = {
    3: ("first", ["module", "pipeline", "cast"]),
    6: ("parts", ["elements", "upload", "dispatches", "read_back", "cast", "ratio"]),
    4: ("host", ["elements", "copies", "cast", "ratio"]),
}


def parse_transfer(printed: str) -> list[dict]:
    """Microseconds."""
    lines = []
    for match in filter(None, map(re.compile(r"(\w+) to (\w+)\s+([\d.\s]+)$").match, printed.splitlines())):
        figures = [float(word) if "." in word else int(word) for word in match[3].split()]
        what, names = TRANSFER[len(figures)]
        lines.append({"what": what, "from": match[1], "to": match[2], **dict(zip(names, figures, strict=True))})
    return lines


def record(args: argparse.Namespace) -> None:
    printed = cargo_bench("record")
    lines = some(parse_record(printed))
    adapter = printed.splitlines()[0].partition(" on ")[2]
    write_lines(DATA / "record.jsonl", [facts(args.note, adapter=adapter), *lines])


def parse_record(printed: str) -> list[dict]:
    """Microseconds per cast."""
    found = map(re.compile(r"(.+?)\s+([\d.]+) \(([\d.]+) to ([\d.]+)\)$").match, printed.splitlines())
    return [
        {"step": match[1], "median": float(match[2]), "fastest": float(match[3]), "slowest": float(match[4])}
        for match in found
        if match
    ]


if __name__ == "__main__":
    main()
