#!/usr/bin/env python3
"""Compares the speed of two builds of the crate, or of the instruction sets of one: every pair of element types, on one
thread.

    # The builds read WGPU_CAST_ISA, and their innermost loops begin at a cache line of code.
    export RUSTFLAGS='--cfg wgpu_cast_isa -Cllvm-args=-x86-experimental-pref-innermost-loop-alignment=6'
    cargo build --release --bench casts                   # at the old commit; copy target/release/deps/casts-* aside
    cargo build --release --bench casts                   # at the new one
    benches/compare/compare.py OLD NEW                    # the whole comparison, about 45 minutes
    benches/compare/compare.py OLD NEW --isa avx2 --elements 65536 --pairs 'float>float16 int*>float'
    benches/compare/compare.py OLD NEW --groups 'f32>small float' --json /tmp/run.json
    benches/compare/compare.py --levels                   # each instruction set beside the one below, in a build of this tree

NEW is built from this working tree if only OLD is named. With --levels, one build is compared with itself: the new side
has an instruction set, the old side the one below it. Three processes (the old side, the new one and the old one again)
cast the same codes in turns of about a millisecond; the order rotates, and all pairs have had a turn before the first has
its next, so that whatever else the machine does meets all three. Long casts are a turn each, counted in time of the
processor. A pair's figure is the fastest turn, and its ratio the old side's over the new one's: 0.5 is half as fast. Pairs
whose ratios lie off 1 get more turns.

For each instruction set and length the median ratio of the pairs must be at least 0.98, and the geometric mean of every
group of pairs (kind of source by kind of destination) at least 0.95; with --levels, both at least 0.97. The old side
against itself must pass the same limits in the same run, in both directions; otherwise the machine was too noisy and the
run does not count. Both sides must give the same bits; if they do not, the run fails even if the machine was noisy. Exit
status: 0 passed, 1 failed, 2 usage error, or nothing could be compared, 3 the run does not count.
"""

import argparse
import fnmatch
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[2]
# The least ratios of the median and of each group, where two builds are compared, and where two instruction sets are.
BUILDS, LEVELS = (0.98, 0.95), (0.97, 0.97)
ISAS = ["portable", "avx2", "avx512", "neon"]
LENGTHS = [1 << 16, 1 << 24]
SIDES = ["old", "new", "again"]
VALUES = ["random", "ordinary"]
# Ratios that are off by more than the first (as logarithms) get more turns, up to so many times; beyond the second it is
# no noise.
OFF, FAR, AGAIN = 0.03, 0.3, 6
# Then pairs for which the old side is off beside itself get more turns on all sides, up to so many times.
NOISY = 12
# Elements up to which a cast takes several turns in a row, of several blocks each; casts.rs has the same limit.
SHORT = 1 << 18
# Bits of a result are compared at this length.
CHECKED = 1 << 16
# On x86, innermost loops begin at multiples of 2^6 bytes. Otherwise it depends on the code before it whether a short loop lies
# in one cache line of code or in two, and of two builds with the same instructions one can have 0.75 of the other's speed.
ALIGNED = "-Cllvm-args=-x86-experimental-pref-innermost-loop-alignment=6"
assert __doc__ and ALIGNED in __doc__, "OLD and NEW are to be built alike"
# Large memory comes in pages of 2 MiB where Linux has them for the asking: with pages of 4 KiB the time of a cast past the
# caches depends on where each of them lies, so that two processes of one program are up to a quarter apart.
HUGE_PAGES = "glibc.malloc.hugetlb=1"
# The least time of a cast in nanoseconds: a clock may answer 0, which has no ratio.
LEAST = 1e-3

KINDS = {
    "bool": ["bool"],
    "small float": ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"]
    + ["float6e2m3", "float6e3m2", "float4e2m1"],
    "e8m0": ["float8e8m0"],
    "16-bit float": ["float16", "bfloat16"],
    "f32": ["float"],
    "f64": ["double"],
    "int2-4": ["int2", "uint2", "int4", "uint4"],
    "int8": ["int8", "uint8"],
    "int16": ["int16", "uint16"],
    "int32": ["int32", "uint32"],
    "int64": ["int64", "uint64"],
}
KIND = {name: kind for kind, names in KINDS.items() for name in names}

Pair = tuple[str, str]


def group(pair: Pair) -> str:
    return f"{KIND[pair[0]]}>{KIND[pair[1]]}"


@dataclass(frozen=True)
class Build:
    """A build of casts.rs, and the instruction set that it casts with."""

    program: Path
    isa: str


class Sides:
    """Running processes of casts.rs, by name; with `with`, until the end of it."""

    def __init__(self, builds: dict[str, Build], core: int | None) -> None:
        def pin() -> None:
            os.sched_setaffinity(0, {core})

        def start(build: Build) -> subprocess.Popen:
            pipe, pinned = subprocess.PIPE, None if core is None else pin
            environment = {"GLIBC_TUNABLES": HUGE_PAGES} | os.environ | {"WGPU_CAST_ISA": build.isa}
            return subprocess.Popen(
                [build.program], stdin=pipe, stdout=pipe, text=True, bufsize=1, env=environment, preexec_fn=pinned
            )

        self.builds = builds
        self.processes = {side: start(build) for side, build in builds.items()}

    def __enter__(self) -> "Sides":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for process in self.processes.values():
            process.communicate()

    def ask(self, side: str, *words: object) -> str:
        process, line = self.processes[side], " ".join(map(str, words))
        assert process.stdin and process.stdout
        process.stdin.write(line + "\n")
        process.stdin.flush()
        answer = process.stdout.readline().strip()
        if not answer:
            stop(f"{self.builds[side].program} ended at: {line}")
        return answer

    def nanoseconds(self, side: str, pair: Pair, elements: int, values: str) -> float:
        """One turn: nanoseconds of a cast."""
        words = (*pair, elements, values)
        if elements <= SHORT:
            return self.timed(side, *words, 4, 80_000)
        # A long cast is interrupted wherever other programs run: the time of the processor does not count those.
        self.ask(side, "load", *words)
        start = processor_time(self.processes[side].pid)
        elapsed = self.timed(side, *words, 1, 0)
        end = processor_time(self.processes[side].pid)
        return elapsed if start is None or end is None or end <= start else float(end - start)

    def timed(self, side: str, *words: object) -> float:
        """Nanoseconds of a cast by the program's own clock."""
        return max(float(self.ask(side, "time", *words)), LEAST)


def stop(text: str) -> NoReturn:
    """Ends a run that cannot compare."""
    print(text, file=sys.stderr)
    raise SystemExit(2)


def processor_time(process: int) -> int | None:
    """Nanoseconds for which a process has had a processor, where the system is Linux."""
    # The system counts the time of a process when it stops running: it has answered, and is about to wait for a line.
    time.sleep(0.001)
    # The clock that the C function clock_getcpuclockid names.
    return time.clock_gettime_ns(~process << 3 | 2) if sys.platform == "linux" else None


@dataclass
class Figures:
    """Nanoseconds of a pair's turns, for each side."""

    pair: Pair
    turns: dict[str, list[float]] = field(default_factory=lambda: {side: [] for side in SIDES})

    def ratio(self, side: str) -> float:
        """How fast a side is beside the old one."""
        return min(self.turns["old"]) / min(self.turns[side])

    def is_noisy(self) -> bool:
        """Whether the old side has not had equal figures on both of its sides yet."""
        return abs(math.log(self.ratio("again"))) > OFF

    def is_off(self) -> bool:
        return any(OFF < abs(math.log(self.ratio(side))) < FAR for side in SIDES[1:])


def main() -> int:
    args = arguments()
    if not args.new:
        args.new = args.old if args.levels and args.old else build()
    args.old = args.old or args.new
    limits = LEVELS if args.levels else BUILDS
    lines, wrong, failed, noisy = [], [], [], []
    for title, old, new in compared(args):
        builds = dict(zip(SIDES, [old, new, old]))
        with Sides(builds, args.core) as sides:
            differing = differences(sides, args.wanted)
        if differing:
            wrong.append(f"{title}: {len(differing)} pairs have other bits: {named(differing)}")
        for elements in args.elements:
            start = time.monotonic()
            figures = measure(lambda: Sides(builds, args.core), elements, args)
            lines += [as_line(title, elements, each) for each in figures]
            problems = {side: judge(figures, side, limits) for side in SIDES[1:]}
            print(table(f"{title}, {elements} elements", figures, limits, args.all_groups), end="")
            print(f"  {time.monotonic() - start:.0f} s\n", flush=True)
            failed += [f"{title}, {elements} elements: {problem}" for problem in problems["new"]]
            noisy += [f"{title}, {elements} elements: old against itself: {problem}" for problem in problems["again"]]
            if args.json:
                args.json.write_text("".join(json.dumps(line) + "\n" for line in lines))
    if not lines:
        print("NOT COMPARED: no instruction set could be compared")
        return 2
    return verdict(wrong, failed, noisy)


def compared(args: argparse.Namespace) -> Iterator[tuple[str, Build, Build]]:
    """What is compared: a title, and two builds with their instruction sets."""
    found = []
    for isa in args.isa or ISAS:
        problem = missing(args.old, isa) or missing(args.new, isa)
        if problem and args.isa:
            stop(problem)
        if problem:
            print(f"NOT COMPARED: {isa}: {problem}", flush=True)
        else:
            found.append(isa)
    if args.levels:
        for below, isa in zip(found, found[1:]):
            yield f"{isa} beside {below}", Build(args.new, below), Build(args.new, isa)
    else:
        for isa in found:
            yield isa, Build(args.old, isa), Build(args.new, isa)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, nargs="?", help="the old build of the bench `casts`")
    parser.add_argument("new", type=Path, nargs="?", help="the new one [this working tree's, built now]")
    parser.add_argument("--levels", action="store_true", help="compare the instruction sets of one build")
    parser.add_argument("--isa", type=str.split, help=f"instruction sets [{' '.join(ISAS)}, those that exist here]")
    parser.add_argument("--elements", type=lengths, default=LENGTHS, help="lengths, separated by commas [65536,16777216]")
    parser.add_argument("--pairs", type=str.split, default=["*>*"], help='such as "float>float16 int*>*" [all 625]')
    parser.add_argument("--groups", action="append", help=f"such as 'f32>int*'; kinds: {', '.join(KINDS)}")
    parser.add_argument("--turns", type=int, help="of each side with each pair [24 where a cast is short, else 4]")
    parser.add_argument("--values", choices=VALUES, default="random", help="what is cast [random bits]")
    parser.add_argument("--core", type=int, default=core(), help="which processor core casts [the last]")
    parser.add_argument("--all-groups", action="store_true", help="list every group and not only those off 1")
    parser.add_argument("--json", type=Path, help="where the figures go, a line of JSON for each pair")
    args = parser.parse_args()
    if args.levels and args.new:
        parser.error("--levels compares one build with itself")
    if args.levels and args.isa and len(args.isa) < 2:
        parser.error("--levels compares at least two instruction sets, such as --isa 'avx2 avx512'")
    if not args.levels and not args.old:
        parser.error("name the old build")
    args.wanted = [
        (source, target)
        for source in KIND
        for target in KIND
        if any(fnmatch.fnmatch(f"{source}>{target}", pattern) for pattern in args.pairs)
        and any(fnmatch.fnmatch(group((source, target)), pattern) for pattern in args.groups or ["*"])
    ]
    if not args.wanted:
        parser.error("no such pairs")
    return args


def lengths(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def core() -> int | None:
    """A core that casts stay on, where the system can keep them there."""
    return max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None


def build() -> Path:
    """Builds this working tree's bench; a copy, since the next build would replace it in the middle of a run."""
    command = "cargo build --release --quiet --locked --bench casts --message-format json-render-diagnostics".split()
    flags = f"{os.environ.get('RUSTFLAGS', '')} --cfg wgpu_cast_isa"
    # LLVM takes an option once.
    flags += "" if ALIGNED in flags else f" {ALIGNED}"
    environment = os.environ | {"RUSTFLAGS": flags}
    built = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    program = Path(next(m["executable"] for m in reversed(messages) if m.get("executable")))
    copy = ROOT / "target" / "compare" / "casts"
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.unlink(missing_ok=True)
    return Path(shutil.copy2(program, copy))


def missing(program: Path, isa: str) -> str | None:
    """Why a build cannot cast with an instruction set. Its first cast reads which one it is to use."""

    def first_cast(isa: str) -> subprocess.CompletedProcess:
        environment = os.environ | {"WGPU_CAST_ISA": isa}
        line = "bits int8 float 16 random\n"
        return subprocess.run([program], input=line, env=environment, capture_output=True, text=True)

    done = first_cast(isa)
    if done.returncode:
        return f"{program}: {done.stderr.strip() or 'no answer'}"
    # No instruction set has this name, so that a build that reads the variable panics.
    return None if first_cast("none").returncode else f"{program}: ignores WGPU_CAST_ISA"


def differences(sides: Sides, pairs: list[Pair]) -> list[Pair]:
    """Pairs to which not all sides give the same bits."""

    def answers(pair: Pair, values: str) -> set[str]:
        return {sides.ask(side, "bits", *pair, CHECKED + 77, values) for side in SIDES}

    return sorted({pair for values in VALUES for pair in pairs if len(answers(pair, values)) > 1})


def measure(start: Callable[[], Sides], elements: int, args: argparse.Namespace) -> list[Figures]:
    """All pairs' turns, and more turns for those whose ratios are off."""
    is_short = elements <= SHORT
    turns = args.turns or (24 if is_short else 4)
    # Of short casts several turns at a time: a source takes longer to make than they take.
    times = 4 if is_short else 1

    def all_turns(some: list[Figures]) -> None:
        for number in range(0, turns if some else 0, times):
            # New processes get other memory, so that no side has the better one throughout.
            with start() as sides:
                for each in some:
                    for i in range(times):
                        first = (number + i) % len(SIDES)
                        for side in SIDES[first:] + SIDES[:first]:
                            each.turns[side].append(sides.nanoseconds(side, each.pair, elements, args.values))

    figures = [Figures(pair) for pair in args.wanted]
    all_turns(figures)
    for _ in range(AGAIN):
        all_turns([each for each in figures if each.is_off()])
    for _ in range(NOISY):
        all_turns([each for each in figures if each.is_noisy()])
    return figures


def geometric(ratios: Iterable[float]) -> float:
    return statistics.geometric_mean(list(ratios))


def by_group(figures: list[Figures]) -> Iterator[tuple[str, list[Figures]]]:
    for source in KINDS:
        for target in KINDS:
            name = f"{source}>{target}"
            members = [each for each in figures if group(each.pair) == name]
            if members:
                yield name, members


def judge(figures: list[Figures], side: str, limits: tuple[float, float]) -> list[str]:
    """Which limits a side breaks. The old side against itself has no better side: both directions count."""

    def low(ratio: float) -> float:
        return min(ratio, 1 / ratio) if side == "again" else ratio

    least_median, least_group = limits
    median = statistics.median(each.ratio(side) for each in figures)
    problems = [f"median {median:.3f}"] if low(median) < least_median else []
    for name, members in by_group(figures):
        mean = geometric(each.ratio(side) for each in members)
        if low(mean) < least_group:
            problems.append(f"{name} {mean:.3f}")
    return problems


def table(title: str, figures: list[Figures], limits: tuple[float, float], all_groups: bool) -> str:
    """The median of all pairs, and the groups that are off 1 with their slowest pair."""
    medians = [statistics.median(each.ratio(side) for each in figures) for side in SIDES[1:]]
    text = f"{title}: {len(figures)} pairs, median ratio {medians[0]:.3f} (old against itself {medians[1]:.3f})\n"
    rows = []
    for name, members in by_group(figures):
        new, again = (geometric(each.ratio(side) for each in members) for side in SIDES[1:])
        if not all_groups and max(abs(math.log(new)), abs(math.log(again))) <= OFF:
            continue
        worst = min(members, key=lambda each: each.ratio("new"))
        slowest = f"{'>'.join(worst.pair)} {worst.ratio('new'):.3f}"
        mark = " <<" if new < limits[1] else ""
        rows.append(f"  {name:26} {len(members):5} {new:7.3f} {again:11.3f}  {slowest}{mark}\n")
    if rows:
        text += f"  {'group':26} pairs   ratio  old itself  slowest pair\n" + "".join(rows)
    return text


def named(pairs: Iterable[Pair]) -> str:
    return ", ".join(">".join(pair) for pair in pairs)


def as_line(title: str, elements: int, figures: Figures) -> dict:
    source, target = figures.pair
    line = {"isa": title, "elements": elements, "from": source, "to": target, "group": group(figures.pair)}
    line |= {f"{side}_ns": min(times) for side, times in figures.turns.items()}
    return line | {"ratio": round(figures.ratio("new"), 4), "ratio_again": round(figures.ratio("again"), 4)}


def verdict(wrong: list[str], failed: list[str], noisy: list[str]) -> int:
    for line in wrong + failed + noisy:
        print(line)
    if wrong:
        print("FAILED: the bits differ")
        return 1
    if noisy:
        print("THE RUN DOES NOT COUNT: the old side against itself breaks the limits")
        return 3
    print("FAILED" if failed else "passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
