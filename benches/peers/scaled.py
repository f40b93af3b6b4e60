"""Measures a checkpoint whose codes become plain tensors: `wgpu-cast convert --dequantize` and PyTorch, beside a copy.

The checkpoint is that of scaled_model.py. In each round the files are copied and converted by each program, and a figure is that of a whole
process as in files.py. At the end a conversion is killed and continued, and every element of all outputs is compared.

The disk needs room for seven times the checkpoint.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import sleep

from files import FOLDER, HERE, PYTHON, not_measured, run_once, size_of, there
from ours import build

# This program does not import the libraries: Linux counts its memory for the programs that it starts, too.
MODEL = [*PYTHON, HERE / "scaled_model.py"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=int, default=2 << 30, help="bytes of the checkpoint [2 GiB]")
    parser.add_argument("--rounds", type=int, default=3, help="rounds [%(default)s]")
    parser.add_argument("--cast", type=Path, help="the program [it is built]")
    args = parser.parse_args()
    os.environ.pop("NUMPY_MADVISE_HUGEPAGE", None)
    cast = args.cast.resolve() if args.cast else build("--bin", "wgpu-cast")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    try:
        if shutil.disk_usage(FOLDER).free < 8 * args.bytes:
            print(f"NOT RUN: scaled checkpoints: disk: {8 * args.bytes} bytes needed", file=sys.stderr)
            raise SystemExit(3)
        measure(cast, args)
    finally:
        shutil.rmtree(FOLDER)


def measure(cast: Path, args: argparse.Namespace) -> None:
    source = FOLDER / "checkpoint"
    subprocess.run([*MODEL, "make", source, str(args.bytes)], check=True)
    out = {way: FOLDER / way for way in ("copy", "torch", "ours")}
    commands = {"copy": ["cp", "-r", "--reflink=never", f"{source}/.", out["copy"]]}
    if there("torch"):
        commands["torch"] = [*PYTHON, HERE / "by_torch_scaled.py", source, out["torch"]]
    else:
        not_measured("PyTorch, which is not installed")
    commands["ours"] = [cast, "convert", source, out["ours"], "--dequantize", "--quiet"]
    runs: dict[str, list[dict[str, float]]] = {way: [] for way in commands}
    for number in range(1, args.rounds + 1):
        for way, command in commands.items():
            runs[way].append(run_once(command, out[way]))
            print(f"{number}/{args.rounds}", way, runs[way][-1], sep="  ", file=sys.stderr)
            if number < args.rounds:
                shutil.rmtree(out[way])
    moved = (size_of(source) + size_of(out["ours"])) / 2**30
    print(f"{size_of(source) / 2**30:.2f} GiB read, {moved:.2f} GiB read and written")
    for way, figures in runs.items():
        seconds = [figure["seconds"] for figure in figures]
        peak = median(figure["peak"] for figure in figures)
        print(f"{way}: {median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f}), peak memory {peak:.0f} MiB")
    out["resumed"] = FOLDER / "resumed"
    print(kill_and_resume([cast, "convert", source, out["resumed"], "--dequantize", "--resume"], out["resumed"]))
    outputs = [out[way] for way in out if way in runs and way != "copy"] + [out["resumed"]]
    found = subprocess.run([*MODEL, "compare", source, *outputs], stdout=subprocess.PIPE, check=True).stdout
    different, elements = json.loads(found)
    print(f"{different} of {elements} elements differ from numpy and ml_dtypes, here or with PyTorch")
    raise SystemExit(1 if different else 0)


def kill_and_resume(command: list, out: Path) -> str:
    """Ends a conversion by SIGKILL in its second shard, and continues it. Returns what the second run says."""
    process = subprocess.Popen([*command, "--quiet"])
    while not list(out.glob("model-00002*.cast-partial")):
        if process.poll() is not None:
            raise SystemExit("the conversion ended before it could be killed")
        sleep(0.01)
    process.kill()
    process.wait()
    left = sorted(path.name for path in out.iterdir())
    said = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True).stderr.strip()
    if "there already" not in said:
        raise SystemExit(f"it was not continued: {said}")
    return f"killed, which left {', '.join(left)}; then: {said.splitlines()[-1]}"


if __name__ == "__main__":
    main()
