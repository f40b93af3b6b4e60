#!/usr/bin/env python3
"""Counts the cycles of each pair's loop on aarch64, without such a processor: an emulator says which instructions run, and
llvm-mca's models of processors say how many cycles they take.

    cycles.py PROGRAM             writes cycles.csv and peers.csv
    cycles.py PROGRAM --check     compares with them
    cycles.py PROGRAM FROM TO     prints the loops of one pair

run.sh builds PROGRAM. The models know no caches: memory is as fast as the first-level cache. LLVM has no model of its own
for two of the cores: it takes Cyclone's for apple-m1, and Cortex-A57's for cortex-a78, which have fewer units than the cores.
"""

import csv
import math
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter

CORES = ["apple-m1", "neoverse-v2", "cortex-a78"]
LEVELS = ["portable", "neon"]
ELEMENTS = 4096  # As in src/main.rs.
ITERATIONS = 64
TRACE = re.compile(r"^Trace \d+: \S+ \[[0-9a-f]+/([0-9a-f]+)/")


def instructions(program):
    """The text of each instruction, by address, and the address of `mark`."""
    listing = subprocess.run(
        ["llvm-objdump-19", "-d", "--no-show-raw-insn", program], capture_output=True, text=True, check=True
    ).stdout
    found = {}
    for line in listing.splitlines():
        match = re.match(r"^\s*([0-9a-f]+):\s+(\S+)(.*)$", line)
        if match:
            address, name, operands = match.groups()
            operands = operands.split("//")[0].strip()
            # A target of a branch is any label.
            operands = re.sub(r"(#?0x|#?-?)[0-9a-f]+ <.*>", "target", operands)
            found[int(address, 16)] = (name, operands)
    symbols = subprocess.run(["llvm-nm-19", "-C", program], capture_output=True, text=True, check=True).stdout
    (mark,) = [int(line.split()[0], 16) for line in symbols.splitlines() if "cycles::mark" in line]
    return found, mark


def steps(program, argument, level, code, mark):
    """For each line that the program prints: its text, and how often each run of blocks runs for ELEMENTS elements.

    A run is a list of blocks, as (address, instructions). A jump back ends it, if it is neither a call nor a return: so the
    body of a loop is one run.
    """
    environment = dict(os.environ, WGPU_CAST_ISA=level)
    with tempfile.TemporaryDirectory() as folder:
        fifo = os.path.join(folder, "trace")
        os.mkfifo(fifo)
        process = subprocess.Popen(
            ["qemu-aarch64-static", "-cpu", "neoverse-n1", "-d", "exec,nochain,in_asm", "-D", fifo, program, *argument],
            stdout=subprocess.PIPE, text=True, env=environment,
        )
        lengths = {}
        counts, run, last, marks = Counter(), [], -1, 0
        parts = []
        with open(fifo) as trace:
            block, length = None, 0
            for line in trace:
                if line.startswith("Trace"):
                    if block is not None:
                        lengths[block] = length
                        block = None
                    address = int(TRACE.match(line).group(1), 16)
                    if address <= last and code[last + 4 * lengths[last] - 4][0] not in ("bl", "blr", "ret"):
                        counts[tuple(run)] += 1
                        run = []
                    if address == mark:
                        parts.append(counts)
                        counts, run, last = Counter(), [], -1
                        continue
                    run.append(address)
                    last = address
                elif line.startswith("0x"):
                    if block is None:
                        block, length = int(line[2:].split(":")[0], 16), 0
                    length += 1
        names = process.stdout.read().splitlines()
        if process.wait() != 0:
            sys.exit("the program failed in the emulator")
    if len(parts) != 3 * len(names):
        sys.exit(f"{len(parts)} marks for {len(names)} casts")
    for i, name in enumerate(names):
        once, twice = parts[3 * i + 1], parts[3 * i + 2]
        yield name, {
            tuple((address, lengths[address]) for address in run): twice[run] - once[run]
            for run in twice
            if twice[run] - once[run] > 0
        }


def cycles(runs, code):
    """The cycles of one repetition of each run, on each core."""
    regions = []
    for i, run in enumerate(runs):
        lines = [code[address + 4 * j] for address, length in run for j in range(length)]
        body = "\n".join(f"{name} {operands}" for name, operands in lines)
        regions.append(f"# LLVM-MCA-BEGIN {i}\n{body}\n# LLVM-MCA-END\n")
    made = {run: [] for run in runs}
    for core in CORES:
        with tempfile.NamedTemporaryFile("w", suffix=".s") as file:
            file.write(".arch armv8.2-a+fp16\n" + "".join(regions))
            file.flush()
            result = subprocess.run(
                ["llvm-mca-19", "-mtriple=aarch64-linux-gnu", f"-mcpu={core}", f"-iterations={ITERATIONS}",
                 "-instruction-info=0", "-resource-pressure=0", file.name],
                capture_output=True, text=True,
            )
        if result.returncode != 0:
            sys.exit(result.stderr)
        totals = [int(line.split()[-1]) for line in result.stdout.splitlines() if line.startswith("Total Cycles:")]
        if len(totals) != len(runs):
            sys.exit(f"{len(totals)} results for {len(runs)} regions\n{result.stderr}")
        for run, total in zip(runs, totals):
            made[run].append(total / ITERATIONS)
    return made


def measured(program, argument, level):
    """For each line that the program prints: the cycles of an element on each core."""
    code, mark = instructions(program)
    found = list(steps(program, argument, level, code, mark))
    cost = cycles(loops(found), code)
    return {
        tuple(name.split()): [
            sum(count * cost[run][core] for run, count in counts.items() if run in cost) / ELEMENTS
            for core in range(len(CORES))
        ]
        for name, counts in found
    }


def loops(found):
    """The runs that are loops: what runs a few times is none."""
    return sorted({run for _, counts in found for run, count in counts.items() if count > 2})


def show(program, pair):
    code, mark = instructions(program)
    for level in LEVELS:
        ((_, counts),) = steps(program, pair, level, code, mark)
        cost = cycles(loops([(pair, counts)]), code)
        for run, count in sorted(counts.items(), key=lambda item: -item[1]):
            if run in cost:
                print(f"{level}: {count} times for {ELEMENTS} elements; cycles a time: {cost[run]}")
                for address, length in run:
                    for j in range(length):
                        print("   ", *code[address + 4 * j])


def versions():
    rust = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    llvm = subprocess.run(["llvm-mca-19", "--version"], capture_output=True, text=True, check=True).stdout
    return f"rustc {rust} llvm-mca {re.search('version ([0-9.]+)', llvm).group(1)}"


def write(path, title, names, rows):
    with open(path, "w", newline="") as file:
        file.write(f"# {title}\n")
        table = csv.writer(file, lineterminator="\n")
        table.writerow(names)
        for pair, values in rows.items():
            table.writerow([*pair, *(f"{value:.3f}" for value in values)])


def read(path):
    with open(path, newline="") as file:
        title = file.readline()[2:].rstrip("\n")
        return title, {(row[0], row[1]): [float(value) for value in row[2:]] for row in list(csv.reader(file))[1:]}


def more(new, old):
    """Whether a number of cycles is larger by more than rounding and the ends of loops explain."""
    return new > 1.02 * old + 0.005


def mean_ratio(new, old):
    return math.prod(a / b for a, b in zip(new, old)) ** (1 / len(new))


def problems(table, peers, old_table, old_peers):
    columns = [f"{level} {core}" for level in LEVELS for core in CORES]
    for pair, values in table.items():
        name = " to ".join(pair)
        for column, new, old in zip(columns, values, old_table.get(pair, values)):
            if more(new, old):
                yield f"{name}: {column} takes {new:.3f} cycles an element, and took {old:.3f}"
        portable, neon = values[: len(CORES)], values[len(CORES) :]
        if mean_ratio(neon, portable) > 1.005:
            yield f"{name}: NEON takes {mean_ratio(neon, portable):.3f} of the cycles of portable code"
        for core, new, old in zip(CORES, neon, peers.get(pair, [math.inf] * len(CORES))):
            if new > old:
                yield f"{name}: {core} takes {new:.3f} cycles an element, and half {old:.3f}"
    if table.keys() != old_table.keys() or peers.keys() != old_peers.keys():
        yield "other pairs than in cycles.csv and peers.csv"


def main():
    program, *what = sys.argv[1:]
    if len(what) == 2:
        return show(program, what)
    here = os.path.dirname(os.path.abspath(__file__))
    paths = [os.path.join(here, name) for name in ["cycles.csv", "peers.csv"]]
    if what == ["--check"]:
        (title, old_table), (_, old_peers) = map(read, paths)
        if title != versions():
            print(f"NOT RUN: cycles on aarch64: cycles.csv is of {title}, and here is {versions()}", file=sys.stderr)
            sys.exit(3)
    portable, neon = [measured(program, [], level) for level in LEVELS]
    table = {pair: portable[pair] + neon[pair] for pair in portable}
    peers = measured(program, ["peers"], LEVELS[0])
    if what != ["--check"]:
        write(paths[0], versions(), ["from", "to"] + [f"{level} {core}" for level in LEVELS for core in CORES], table)
        write(paths[1], versions(), ["from", "to", *CORES], peers)
        old_table, old_peers = table, peers
    found = list(problems(table, peers, old_table, old_peers))
    print("\n".join(found) or f"no loop of {len(table)} takes more cycles")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
