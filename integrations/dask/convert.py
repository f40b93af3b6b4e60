"""Converts a sharded safetensors checkpoint on the workers of a dask cluster: one task for each part, then merge-index.

    python convert.py MODEL OUT --to TYPE --parts N [--cast PATH] [--scheduler ADDRESS] [-- OPTION...]

MODEL is the folder of the checkpoint, or its index. OPTIONs are further options of `wgpu-cast convert`. Without an address,
the workers are two processes on this machine. All machines need `wgpu-cast`, MODEL and OUT at the same paths.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time

from dask.distributed import Client, as_completed

RETRIES = 3
# Dask repeats a failed task at once. A file server, or the tool of a killed worker, may need a moment more.
SECONDS_BEFORE_RETRY = 1


def run(command):
    """Runs the tool on a worker. Returns its stdout and the last line of its stderr."""
    # Without this, the tool would go on after its worker was killed, and would lock the file that the next worker
    # continues. setpriv asks the kernel (Linux only) to kill the tool when the worker ends.
    tied = ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []
    done = subprocess.run(tied + command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    lines = done.stderr.splitlines()
    if done.returncode != 0:
        time.sleep(SECONDS_BEFORE_RETRY)
        raise RuntimeError(lines[-1] if lines else f"{command[0]}: exit status {done.returncode}")
    return done.stdout, lines[-1] if lines else "done"


def convert(client, command, parts):
    """Converts all parts. Returns whether all succeeded."""
    # --resume continues the part of a lost worker: finished shards stay, and the partial one is checked and continued.
    # A task with pure=False runs even if dask has seen an equal one, since its effect is files.
    futures = {
        client.submit(run, [*command, "--resume", "--part", f"{part}/{parts}"], pure=False, retries=RETRIES): part
        for part in range(1, parts + 1)
    }
    failed = 0
    for future in as_completed(futures):
        try:
            output, line = future.result()
            print(output, end="", flush=True)
        except Exception as error:
            failed += 1
            line = f"FAILED: {error}"
        print(f"part {futures[future]} of {parts}: {line}", file=sys.stderr, flush=True)
        # Dask would convert a finished part again if the worker that holds its result were lost later.
        future.release()
    return failed == 0


def main():
    arguments = sys.argv[1:]
    end = arguments.index("--") if "--" in arguments else len(arguments)
    usage = "convert.py MODEL OUT --to TYPE --parts N [--cast PATH] [--scheduler ADDRESS] [-- OPTION...]"
    parser = argparse.ArgumentParser(usage=usage, allow_abbrev=False)
    parser.add_argument("model", help="the folder of a sharded checkpoint, or its index")
    parser.add_argument("out", help="the folder of the converted checkpoint")
    parser.add_argument("--to", required=True, help="the element type, such as bfloat16")
    parser.add_argument("--parts", required=True, type=int, help="number of parts")
    parser.add_argument("--cast", default="wgpu-cast", help="the path of the program (default: wgpu-cast, found in PATH)")
    parser.add_argument("--scheduler", help="the address of dask's scheduler, such as tcp://host:8786")
    options = parser.parse_args(arguments[:end])
    if options.parts < 1:
        parser.error("--parts must be at least 1")

    # Workers have other current folders.
    model, out = os.path.abspath(options.model), os.path.abspath(options.out)
    cast = os.path.abspath(options.cast) if os.path.dirname(options.cast) else options.cast
    command = [cast, "convert", model, out, "--to", options.to, *arguments[end + 1 :]]
    local = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with Client(options.scheduler) if options.scheduler else Client(**local) as client:
        if not convert(client, command, options.parts):
            sys.exit("Not all parts were converted. The same command continues when the cause is removed.")
    sys.exit(subprocess.run([cast, "merge-index", out]).returncode)


if __name__ == "__main__":
    main()
