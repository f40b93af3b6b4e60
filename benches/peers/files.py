"""Measures conversions of files: `wgpu-cast convert`, PyTorch with safetensors, and onnxconverter-common, beside a copy.

The checkpoint is that of tests/checkpoint.py, the ONNX model that of `files/tests/onnx/models.sh --large`. In each round the
files are copied and converted by each program. A figure is that of a whole process: its seconds until the outputs are
on the disk (fsync), and its largest resident set. The inputs are in the page cache, and nothing else is left to be
written when a program starts. In the last round the results are compared bit by bit.

The disk needs room for 2.5 times the larger input. onnxconverter-common needs about three times the model's bytes of
memory.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

from ours import ROOT, build
from report import DATA, facts, ratio, read_lines, table, write_lines

# This program does not import the libraries: Linux counts its memory for the programs that it starts, too.
HERE = Path(__file__).parent
FOLDER = ROOT / "target" / "peers" / "files"
# What converts, by the names in the recorded figures.
TITLES = {
    "copy": "copy",
    "ours": "wgpu-cast, CPU",
    "ours, adapter": "wgpu-cast, adapter",
    "ours, graph": "wgpu-cast, `--graph --keep-io-types`",
    "torch": "PyTorch",
    "onnxconverter-common": "onnxconverter-common, `keep_io_types`",
}
# The ways of each input, in the order of the table.
WAYS = {
    "checkpoint": ["torch", "ours", "ours, adapter"],
    "model": ["onnxconverter-common", "ours, graph", "ours"],
}
# The types that the checkpoint is converted to, and their names in torch.
CHECKPOINT = {"bfloat16": "bfloat16", "float8e4m3fn": "float8_e4m3fn"}
Command = list[str | Path]
# -I ignores PYTHONPYCACHEPREFIX of run.sh, with which Python would compile the installed libraries again.
PYTHON = [sys.executable, "-I"]


class Job(NamedTuple):
    """Ways to convert the same files, each a command that writes into `results(way)`, and pairs of ways to compare."""

    source: Path
    to: str
    commands: dict[str, Command]
    pairs: list[tuple[str, str]]


def main() -> None:
    args = arguments()
    if args.table:
        print(markdown(read_lines(args.json)))
        return
    # run.sh sets it; here the programs run as they usually do.
    os.environ.pop("NUMPY_MADVISE_HUGEPAGE", None)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    try:
        measure(args)
    finally:
        shutil.rmtree(FOLDER)
    print(markdown(read_lines(args.json)))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=int, default=2 << 30, help="bytes of the checkpoint [2 GiB]")
    parser.add_argument("--model", type=int, default=3 << 30, help="bytes of the ONNX model [3 GiB]")
    parser.add_argument("--rounds", type=int, default=3, help="rounds [%(default)s]")
    parser.add_argument("--cast", type=Path, help="the example binary [it is built]")
    parser.add_argument("--json", type=Path, default=DATA / "files.jsonl", help="the file for the figures")
    parser.add_argument("--note", default="", help="a note on the run, for tables")
    parser.add_argument("--table", action="store_true", help="only print the table of the recorded figures")
    return parser.parse_args()


def measure(args: argparse.Namespace) -> None:
    free = shutil.disk_usage(FOLDER).free
    needed = 5 * max(args.checkpoint, args.model) // 2
    if free < needed:
        print(f"NOT RUN: conversions of files: disk: {needed} bytes needed, {free} free", file=sys.stderr)
        raise SystemExit(3)
    cast = args.cast.resolve() if args.cast else build("--bin", "wgpu-cast")
    adapter = adapter_of(cast)
    packages = [name for name in ("torch", "safetensors", "onnxconverter-common", "onnx") if there(name)]
    versions = [f"{name} {version(name)}" for name in packages]
    lines = [facts(args.note, rounds=args.rounds, adapter=adapter, versions=versions)]
    for jobs, maker, size in (checkpoint, "tests/checkpoint.py", args.checkpoint), (model, "files/tests/onnx/large.py", args.model):
        source = FOLDER / jobs.__name__
        subprocess.run([sys.executable, ROOT / maker, "make", source, str(size)], check=True)
        lines += take_turns(jobs(cast, source, adapter), args.rounds)
        write_lines(args.json, lines)
        shutil.rmtree(source)


def there(package: str) -> bool:
    return find_spec(package.replace("-", "_")) is not None


def not_measured(what: str) -> None:
    print(f"NOT MEASURED: {what}", file=sys.stderr)


def adapter_of(cast: Path) -> str | None:
    """The name of the adapter that `--device gpu` uses."""
    tiny = ROOT / "examples" / "cast" / "data" / "tiny.safetensors"
    command = [cast, "convert", tiny, FOLDER / tiny.name, "--to", "float16", "--device", "gpu", "--quiet", "--json"]
    found = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if found.returncode:
        not_measured("conversions on an adapter, because there is none")
        return None
    route = json.loads(found.stdout.splitlines()[-1])["route"]
    return re.fullmatch(r"on (.+) \(--device gpu\)", route)[1]


def results(way: str) -> Path:
    return FOLDER / way


def copy(source: Path) -> Job:
    return Job(source, "", {"copy": ["cp", "-r", "--reflink=never", f"{source}/.", results("copy")]}, [])


def checkpoint(cast: Path, source: Path, adapter: str | None) -> list[Job]:
    jobs = [copy(source)]
    for to, name in CHECKPOINT.items():
        commands: dict[str, Command] = {}
        if there("torch"):
            commands["torch"] = [*PYTHON, HERE / "by_torch.py", source, results("torch"), name]
        for way, device in {"ours": "cpu", "ours, adapter": "gpu" if adapter else None}.items():
            if device:
                ours = [cast, "convert", source, results(way), "--to", to]
                commands[way] = [*ours, "--device", device, "--quiet"]
        jobs.append(Job(source, to, commands, [("torch", "ours"), ("ours, adapter", "ours")]))
    return jobs


def model(cast: Path, source: Path, adapter: str | None) -> list[Job]:
    name = "model.onnx"
    commands: dict[str, Command] = {}
    memory = 3 * size_of(source)
    if available() < memory:
        not_measured(f"onnxconverter-common, which needs {memory} bytes of memory")
    else:
        # It warns of values that it replaces, for every tensor.
        script = [*PYTHON, "-W", "ignore", HERE / "by_onnxconverter.py"]
        commands["onnxconverter-common"] = [*script, source / name, results("onnxconverter-common") / name]
    for way, options in {"ours, graph": ["--graph", "--keep-io-types"], "ours": []}.items():
        ours = [cast, "convert", source / name, results(way) / name, "--to", "float16", *options]
        commands[way] = [*ours, "--device", "cpu", "--quiet"]
    return [copy(source), Job(source, "float16", commands, [("onnxconverter-common", "ours, graph")])]


def available() -> int:
    """Bytes of memory that programs can have."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))


def take_turns(jobs: list[Job], rounds: int) -> list[dict]:
    """A line for each way of each job."""
    lines: dict[tuple[str, str], dict] = {}
    for number in range(1, rounds + 1):
        for job in jobs:
            for way, command in job.commands.items():
                out = results(way)
                run = run_once(command, out)
                head = {"source": job.source.name, "to": job.to, "way": way}
                moved = {"read": size_of(job.source), "written": size_of(out)}
                line = lines.setdefault((job.to, way), head | moved | {name: [] for name in run})
                for name, figure in run.items():
                    line[name].append(figure)
                print(f"{number}/{rounds}", job.source.name, job.to, way, run, sep="  ", file=sys.stderr)
                if number < rounds:
                    shutil.rmtree(out)
            if number == rounds:
                for one, other in job.pairs:
                    if {one, other} <= job.commands.keys():
                        lines[job.to, one]["differs"] = differences(job, one, other)
                for way in job.commands:
                    shutil.rmtree(results(way))
    return list(lines.values())


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def run_once(command: Command, out: Path) -> dict[str, float]:
    """Seconds, those of them in which the libraries started, and MiB of memory."""
    out.mkdir()
    os.sync()
    begin = perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    for path in [*out.iterdir(), out]:
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
    seconds = perf_counter() - begin
    if process.returncode:
        raise SystemExit(f"exit status {process.returncode}: {' '.join(map(str, command))}")
    return {"seconds": seconds, "start": float(printed or 0), "peak": usage.ru_maxrss / 1024}


def differences(job: Job, one: str, other: str) -> dict:
    name = "model.onnx" if job.source.name == "model" else ""
    command = [sys.executable, HERE / "differences.py", results(one) / name, results(other) / name]
    found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    if one == "ours, adapter" and found["ways"]:
        raise SystemExit(f"the adapter and the CPU differ: {found}")
    return found


def markdown(lines: list[dict]) -> str:
    head, *lines = lines
    adapter = f"adapter: {head['adapter']}" if head["adapter"] else "no adapter"
    parts = ["; ".join([head["machine"], adapter, ", ".join(head["versions"])]), head["note"]]
    for source, title in ("checkpoint", "Safetensors checkpoint"), ("model", "ONNX model with external data"):
        parts += [f"### {title}", rows([line for line in lines if line["source"] == source]).strip()]
    return "\n\n".join(part for part in parts if part)


HEADS = ["to", "by", "seconds", "ratio to the copy", "GiB read and written", "peak memory, MiB", "different elements"]


def rows(lines: list[dict]) -> str:
    """The conversions of one input. What could not be measured has a row, too."""
    found = {(line["to"], line["way"]): line for line in lines}
    beside = found["", "copy"]
    cells = []
    for to in dict.fromkeys(line["to"] for line in lines):
        for way in WAYS[beside["source"]] if to else ["copy"]:
            line = found.get((to, way))
            shown = figures(line, beside) if line else ["NOT MEASURED", "–", "–", "–", "–"]
            cells.append([to or "–", TITLES[way], *shown])
    return table(HEADS, cells)


def figures(line: dict, beside: dict) -> list[str]:
    seconds, start = line["seconds"], median(line["start"])
    shown = f"{median(seconds):.1f} ({min(seconds):.1f} to {max(seconds):.1f})"
    if start:
        shown += f", {start:.1f} of them to start"
    moved = (line["read"] + line["written"]) / 2**30
    against = f"{ratio(beside['seconds'], seconds):.2f}"
    # `cp` needs less than this program, whose memory counts for it.
    peak = f"{median(line['peak']):.0f}" if line["to"] else "–"
    return [shown, against, f"{moved:.1f}", peak, disagreement(line.get("differs"))]


def disagreement(differs: dict | None) -> str:
    if not differs:
        return "–"
    ways = [f"{count} ({way})" for way, count in differs["ways"].items()]
    return f"{', '.join(ways) or 'none'} of {differs['elements']}"


if __name__ == "__main__":
    main()
