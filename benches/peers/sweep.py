"""Measures growing tensors, into preallocated memory on one thread: this crate, numpy with ml_dtypes, PyTorch and ONNX Runtime.

All ways take turns, seven times. A way is repeated for about 2 ms in each turn, so that calls that take less than the clock
shows have a figure too. Each line is a way, a pair, a number of elements, and GB/s.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import peers as peers_of
from elements import TILE, ordinary, parse_pairs
from measure import REGION, asked, place, take_turns
from ours import Ours
from peers import Task
from report import DATA, IN_PLACE, RUNS, facts, write_lines

PAIRS = "float>float16 float8e4m3fn>float double>float"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=parse_pairs, default=PAIRS, help="[%(default)s]")
    parser.add_argument("--most", type=int, default=1 << 28, help="elements of the largest tensor [256 Mi]")
    parser.add_argument("--json", type=Path, default=DATA / "sweep.jsonl", help="the file that the figures are written to")
    parser.add_argument("--note", default="", help="a note on the run, for the chart")
    args = parser.parse_args()
    peers = [peer for peer in peers_of.present() if peer.name in IN_PLACE]
    lines = [facts(args.note, runs=RUNS, versions=[peer.version() for peer in peers])]
    # By fours, from 16.
    counts = [1 << power for power in range(4, args.most.bit_length(), 2)]
    with Ours() as ours, tempfile.TemporaryDirectory() as folder:
        for pair in args.pairs:
            tile = Path(folder) / pair[0].name
            ordinary(pair, TILE).tofile(tile)
            for count in counts:
                place(ours, tile, pair, count, 1)
                ways = {"wgpu-cast": asked(ours, "into"), "memcpy": asked(ours, "memcpy")}
                elements = min(TILE, count)
                made = {peer.name: peer.task(pair, ordinary(pair, elements), elements, count, 1) for peer in peers}
                ways |= {name: repeated(task) for name, task in made.items() if task}
                lines += (measured := take_turns(ways, pair, count))
                print(count, *(f"{line['way']} {line['gbps']:.2f}" for line in measured), sep="  ", file=sys.stderr)
                write_lines(args.json, lines)


def repeated(task: Task) -> Callable[[], float]:
    """Seconds of one call, which is repeated often enough for the clock."""

    def seconds(times: int) -> float:
        start = perf_counter()
        for _ in range(times):
            task()
        return (perf_counter() - start) / times

    times = min(int(REGION / max(seconds(1), seconds(1), 1e-9)) + 1, 100_000)
    return lambda: seconds(times)


if __name__ == "__main__":
    main()
