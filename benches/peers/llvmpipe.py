"""Measures casts of tensors on a software GPU: this crate, ONNX Runtime's WebGPU provider and Burn, and a copy kernel.

run.sh runs this script with Mesa's llvmpipe as the only Vulkan driver; Burn has to be built first, which takes about 15
minutes on two cores. All tensors stay on the device. A figure is the time of one cast without the call around it: the
difference between a call with six casts of the same tensor and a call with one, divided by five. In each of nine rounds,
after two to warm up, all take turns. Before that, every result is compared with that of this crate, for ordinary values that
the target can hold and for random codes.
"""

import argparse
import sys
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from elements import TILE, Bytes, Pair, all_pairs, any_bits, differing, ordinary, parse_pairs
from ort_webgpu import Ort, OrtTask
from ours import ROOT, Ours, Program, build
from report import DATA, WARM_UPS, facts, gbps, ratio, read_lines, table, write_lines

RUNS = 9
BURN = "integrations/burn/Cargo.toml"
# Casts of the longer call.
CASTS = 6
# Elements of the comparison on random codes.
RANDOM = 1 << 16
# The peers' names in the recorded figures, and the titles of their columns.
PEERS = {"ORT": "ONNX Runtime", "Burn": "Burn"}
COMMON = """
float<>float16 float<>double float<>int32 float<>uint32 float<>int64 float<>uint8 float<>bool
float16<>int32 float16<>int64 float16<>uint8 float16<>bool double<>float16 double<>int64 int32<>int64 int64<>uint8
"""

# Seconds of a call with so many casts.
Call = Callable[[int], float]


def main() -> None:
    args = arguments()
    if args.table:
        print(markdown(read_lines(args.json)))
        return
    with Ours() as ours, Burn() as burn, tempfile.TemporaryDirectory() as folder:
        ort = Ort()
        adapters = {side.ask("adapter") for side in (ours, burn)}
        if len(adapters) != 1 or "llvmpipe" not in "".join(adapters):
            raise SystemExit(f"Not one adapter, or not llvmpipe: {', '.join(adapters)}. Run this script by run.sh.")
        versions = [ort.version(), burn.version()]
        lines = [facts(args.note, adapter=adapters.pop(), runs=args.runs, versions=versions)]
        stage = Stage(ours, burn, ort, Path(folder))
        pairs = all_pairs() if args.all else args.pairs
        for number, pair in enumerate(pairs, 1):
            for line in stage.compare(pair, args.elements, args.runs):
                lines.append(line)
                print(f"{number}/{len(pairs)}", summary(line), sep="  ", file=sys.stderr)
                write_lines(args.json, lines)
    print(markdown(lines))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--elements", type=counts, default="4194304,16777216", help="elements per tensor [%(default)s]")
    parser.add_argument("--pairs", type=parse_pairs, default=COMMON, help='for example "float<>float16" [common pairs]')
    parser.add_argument("--all", action="store_true", help="measure every pair that a peer supports")
    parser.add_argument("--runs", type=int, default=RUNS, help="measured rounds [%(default)s]")
    parser.add_argument(
        "--json", type=Path, default=DATA / "llvmpipe.jsonl", help="the file that the figures are written to"
    )
    parser.add_argument("--note", default="", help="a note on the run, for the table")
    parser.add_argument("--table", action="store_true", help="only print the table of the recorded figures")
    return parser.parse_args()


def counts(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


class Burn(Program):
    """Burn's own casts: `wgpu-cast-burn serve`, asked line by line."""

    def __init__(self) -> None:
        super().__init__(build("--manifest-path", BURN, "--bin", "wgpu-cast-burn"), "serve")

    def version(self) -> str:
        manifest = tomllib.loads((ROOT / BURN).read_text())
        return f"burn-wgpu {manifest['dependencies']['burn-wgpu']['version'].removeprefix('=')}"

    def load(self, pair: Pair, tile: Path, elements: int) -> bool:
        """Whether Burn has both types on this device."""
        return self.ask("load", pair[0].name, elements, tile) == "yes" and self.ask("to", pair[1].name) == "yes"


class Stage:
    """All sides, and a folder for what they read and write."""

    def __init__(self, ours: Ours, burn: Burn, ort: Ort, folder: Path) -> None:
        self.ours, self.burn, self.ort, self.folder = ours, burn, ort, folder

    def load(self, pair: Pair, tile: Bytes, elements: int) -> dict[str, Any]:
        """The peers that support the pair."""
        path = self.folder / "source"
        tile.tofile(path)
        self.ours.ask("load", pair[0].name, elements, path)
        self.ours.ask("to", pair[1].name, 1)
        task = self.ort.task(pair, tile, elements, CASTS)
        peers = {"ORT": task} if task else {}
        return peers | ({"Burn": self.burn} if self.burn.load(pair, path, elements) else {})

    def compare(self, pair: Pair, elements: list[int], runs: int) -> list[dict]:
        """A line for each number of elements; none if no peer supports the pair."""
        if not (wrong_any := self.check(pair, any_bits(pair, RANDOM), RANDOM)):
            return []
        wrong = self.check(pair, ordinary(pair, TILE), TILE)
        differs = {name: {"ordinary": wrong[name], "any": wrong_any[name]} for name in wrong}
        lines = []
        for count in elements:
            peers = self.load(pair, ordinary(pair, TILE), count)
            calls = {"copy": self.asked("copies"), "ours": self.asked("resident")}
            calls |= {
                name: peer.seconds if name == "ORT" else self.asked("resident", peer) for name, peer in peers.items()
            }
            moved = sum(of.packed_bytes(count) for of in pair)
            head = {"from": pair[0].name, "to": pair[1].name, "elements": count, "bytes": moved}
            lines.append({**head, "seconds": take_turns(calls, runs), "differs": differs})
        return lines

    def asked(self, what: str, side: Program | None = None) -> Call:
        return lambda casts: (side or self.ours).seconds(what, casts)

    def check(self, pair: Pair, tile: Bytes, elements: int) -> dict[str, float]:
        """The share of elements that differ from ours, for each peer that supports the pair."""
        peers, path = self.load(pair, tile, elements), self.folder / "result"

        def result(side: Any) -> Bytes:  # noqa: ANN401
            if isinstance(side, OrtTask):
                return side.result()
            side.seconds("resident", 1)
            side.ask("keep", elements, path)
            return np.fromfile(path, np.uint8)

        expected = result(self.ours)
        return {name: differing(expected, result(peer), pair[1], elements) for name, peer in peers.items()}


def take_turns(calls: dict[str, Call], runs: int) -> dict[str, list[float]]:
    """The seconds of one cast in every measured round."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for run in range(WARM_UPS + runs):
        for name, call in calls.items():
            one, more = call(1), call(CASTS)
            if run >= WARM_UPS:
                seconds[name].append((more - one) / (CASTS - 1))
    return seconds


def best(line: dict) -> str:
    """The fastest peer."""
    return min((name for name in PEERS if name in line["seconds"]), key=lambda name: median(line["seconds"][name]))


def against(line: dict) -> str:
    return f"{ratio(line['seconds']['ours'], line['seconds'][best(line)]):.2f} × {PEERS[best(line)]}"


def summary(line: dict) -> str:
    rates = [f"{name} {gbps(line['bytes'], seconds):.2f}" for name, seconds in line["seconds"].items()]
    return f"{line['from']} -> {line['to']}, {line['elements']}: {', '.join(rates)} GB/s, {against(line)}"


def markdown(lines: list[dict]) -> str:
    head, *pairs = lines
    title = f"{head['machine']}; {'; '.join([head['adapter'], *head['versions']])}; median of {head['runs']} rounds."
    parts = [title, head["note"]]
    for elements in sorted({line["elements"] for line in pairs}):
        shown = [line for line in pairs if line["elements"] == elements]
        heads = ["cast", "copy", "wgpu-cast", *PEERS.values(), "ratio to the fastest peer"]
        parts += [f"{size(elements)} elements, GB/s:", table(heads, [row(line) for line in shown])]
    rows = [[f"{one['from']} → {one['to']}", *(share(one, name) for name in PEERS)] for one in pairs]
    rows = [list(one) for one in dict.fromkeys(map(tuple, rows)) if "%" in "".join(one)]
    different = "The share of elements whose bits differ from ours, for ordinary values / for random codes:"
    return "\n\n".join(part.strip() for part in [*parts, different, table(["cast", *PEERS.values()], rows)] if part)


def size(elements: int) -> str:
    return f"{elements >> 20} Mi" if elements >> 20 else f"{elements >> 10} Ki"


def row(line: dict) -> list[str]:
    seconds, moved = line["seconds"], line["bytes"]

    def cell(name: str) -> str:
        if name not in seconds:
            return "–"
        return f"{gbps(moved, seconds[name]):.2f} ({ratio(seconds[name], seconds['copy']):.2f})"

    copy = f"{gbps(moved, seconds['copy']):.2f}"
    return [f"{line['from']} → {line['to']}", copy, cell("ours"), *map(cell, PEERS), against(line)]


def share(line: dict, name: str) -> str:
    shares = line["differs"].get(name)
    if shares is None:
        return "–"
    return f"{shares['ordinary'] * 100:.3g} % / {shares['any'] * 100:.3g} %" if any(shares.values()) else "same"


if __name__ == "__main__":
    main()
