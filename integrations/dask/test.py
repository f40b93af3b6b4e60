"""Converts a checkpoint with convert.py, kills a worker in the middle of a part, and compares the result with one run.

    python test.py CAST FOLDER   makes the checkpoints in a temporary folder inside FOLDER

convert.py is given a script in place of `wgpu-cast`, which calls this file as `test.py attempt ...`.
"""

import filecmp
import json
import os
import select
import shlex
import signal
import subprocess
import sys
import tempfile

CONVERT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "convert.py")
INDEX = "model.safetensors.index.json"
# The part whose worker is killed, and its shards. The killed attempt has made the first, and is making the second.
PART = "2/2"
FINISHED, INTERRUPTED = "model-00002-of-00004.safetensors", "model-00003-of-00004.safetensors"
# As many bytes behind the output in a partial file are the journal of several pieces.
JOURNAL = 2000


def make(folder, shards):
    """A checkpoint of shards, which are given as tensors by name."""
    from safetensors.numpy import save_file

    os.mkdir(folder)
    weight_map, total = {}, 0
    for number, tensors in enumerate(shards, 1):
        name = f"model-{number:05}-of-{len(shards):05}.safetensors"
        save_file(tensors, os.path.join(folder, name), metadata={"format": "pt"})
        weight_map.update(dict.fromkeys(tensors, name))
        total += sum(tensor.nbytes for tensor in tensors.values())
    with open(os.path.join(folder, INDEX), "w") as file:
        json.dump({"metadata": {"total_size": total}, "weight_map": weight_map}, file)
    with open(os.path.join(folder, "config.json"), "w") as file:
        file.write("{}")


def shards():
    """64 MiB, which are one part, and 30 MiB, 32 MiB and a small shard of many types, which are the other."""
    import ml_dtypes
    import numpy as np

    values = np.random.default_rng(1).standard_normal(16 << 20, np.float32)
    values[[0, 7, 99]] = np.inf, np.nan, -0.0
    few = values[:1001]
    mixed = {
        "bfloat16": few.astype(ml_dtypes.bfloat16),
        "float8": few.astype(ml_dtypes.float8_e4m3fn),
        "float16": few.astype(np.float16),
        "empty": np.zeros((0, 7), np.float32),
        "scalar": np.array(0.1, np.float32),
        "positions": np.arange(1000),
        "mask": np.arange(33) % 2 == 0,
    }
    second = {"double": values[: 1 << 20].astype(np.float64), "rest": values[: (22 << 20) // 4].reshape(-1, 1024)}
    return [{"embedding": values.reshape(-1, 1024)}, second, {"weight": values[: 8 << 20]}, mixed]


def attempt(cast, state, shard, size, *arguments):
    """Becomes the tool. The first attempt of the part loses its worker while it makes a shard of `size` bytes."""
    is_first = PART in arguments and not os.path.exists(state)
    if is_first:
        open(state, "w").close()
        worker, tool = os.getppid(), os.pidfd_open(os.getpid())
        if os.fork() == 0:
            kill_in_the_middle(worker, tool, shard, int(size), state)
            return
    os.execv(cast, [cast, *arguments])


def kill_in_the_middle(worker, tool, shard, size, state):
    """Stops the tool when some pieces of the shard are there, kills its worker, and records whether the tool ends."""
    partial = shard + ".cast-partial"
    ended = select.poll()
    ended.register(tool, select.POLLIN)
    while not ended.poll(1):
        if os.path.exists(partial) and os.path.getsize(partial) > size + JOURNAL:
            break
    else:
        return
    signal.pidfd_send_signal(tool, signal.SIGSTOP)
    # The tool may have completed the shard just before it stopped.
    is_in_the_middle = os.path.exists(partial)
    os.kill(worker, signal.SIGKILL)
    has_ended = bool(ended.poll(10_000))
    if not has_ended:
        signal.pidfd_send_signal(tool, signal.SIGKILL)
    with open(state, "w") as file:
        json.dump({"in the middle": is_in_the_middle, "the tool ended with its worker": has_ended}, file)


def check(holds, what):
    if not holds:
        sys.exit(f"FAILED: {what}")


def names(folder):
    return sorted(os.listdir(folder))


def convert(model, out, parts, cast, folder, *options):
    """Runs convert.py. Its stderr is also shown."""
    command = [sys.executable, "-I", CONVERT, model, out, "--to", "bfloat16", "--parts", str(parts), "--cast", cast]
    environment = {**os.environ, "DASK_TEMPORARY_DIRECTORY": folder}
    done = subprocess.run([*command, "--", *options], env=environment, capture_output=True, text=True, timeout=300)
    print(done.stderr, end="", file=sys.stderr, flush=True)
    return done


def a_lost_worker_changes_no_bit(cast, folder):
    model, whole, out = (os.path.join(folder, name) for name in ("model", "whole", "out"))
    make(model, shards())
    subprocess.run([cast, "convert", model, whole, "--to", "bfloat16", "--copy-others", "--quiet"], check=True)
    check(names(whole) == names(model), f"one run wrote {names(whole)}")

    state, script = os.path.join(folder, "state"), os.path.join(folder, "attempt")
    size = os.path.getsize(os.path.join(whole, INTERRUPTED))
    arguments = [sys.executable, "-I", os.path.abspath(__file__), "attempt", cast, state]
    arguments += [os.path.join(out, INTERRUPTED), str(size)]
    with open(script, "w") as file:
        file.write(f'#!/bin/sh\n[ "$1" = convert ] || exec {shlex.quote(cast)} "$@"\n')
        file.write(f'exec {shlex.join(arguments)} "$@"\n')
    os.chmod(script, 0o755)
    # Less memory means more and smaller pieces.
    done = convert(model, out, 2, script, folder, "--memory", "1MiB", "--copy-others", "--json")
    check(done.returncode == 0, f"convert.py: exit status {done.returncode}")
    with open(state) as file:
        killed = json.loads(file.read() or "{}")
    check(killed.get("in the middle"), "the part was complete before its worker could be killed")
    check(killed.get("the tool ended with its worker"), "the tool outlived its worker")

    summaries = [line for line in map(json.loads, done.stdout.splitlines()) if "resumed" in line]
    resumed = sorted(summary["resumed"] for summary in summaries)
    finished = os.path.getsize(os.path.join(whole, FINISHED))
    check(len(resumed) == 2 and resumed[0] == 0, f"continued parts: {resumed}")
    check(finished < resumed[1] < finished + size, f"{resumed[1]} bytes were there, of shards of {finished} and {size}")

    check(names(out) == names(whole), f"convert.py wrote {names(out)}")
    _, different, errors = filecmp.cmpfiles(whole, out, names(whole), shallow=False)
    check(not different + errors, f"these files differ: {different + errors}")
    print(f"a worker was killed: {resumed[1]} bytes of its part were not made again; all files are those of one run")


def a_part_that_fails_is_reported(cast, folder):
    import numpy as np

    model, out = os.path.join(folder, "short"), os.path.join(folder, "incomplete")
    make(model, [{"a": np.ones(100, np.float32)}, {"b": np.ones(99, np.float32)}])
    # A folder in the place of its partial file: the second shard cannot be written.
    shard = os.path.join(out, "model-00002-of-00002.safetensors")
    os.makedirs(shard + ".cast-partial")
    done = convert(model, out, 2, cast, folder)
    check(done.returncode == 1, f"convert.py: exit status {done.returncode}")
    line = f"part 2 of 2: FAILED: wgpu-cast: {shard}: "
    check(any(text.startswith(line) for text in done.stderr.splitlines()), f"no line starts with {line}")

    before = {name: os.stat(os.path.join(out, name)).st_mtime_ns for name in names(out)}
    check(INDEX + ".part-1-of-2" in before and INDEX not in before, f"convert.py wrote {list(before)}")
    merged = subprocess.run([cast, "merge-index", out], capture_output=True, text=True)
    check(merged.returncode == 1, f"merge-index: exit status {merged.returncode}")
    check("part 2 of 2 is missing" in merged.stderr, f"merge-index: {merged.stderr}")
    after = {name: os.stat(os.path.join(out, name)).st_mtime_ns for name in names(out)}
    check(after == before, f"merge-index changed {list(before)} to {list(after)}")
    print("a part failed: its error was printed, and merge-index wrote nothing")


def main(cast, folder):
    with tempfile.TemporaryDirectory(dir=os.path.abspath(folder)) as temporary:
        a_lost_worker_changes_no_bit(os.path.abspath(cast), temporary)
        a_part_that_fails_is_reported(os.path.abspath(cast), temporary)


if __name__ == "__main__":
    if sys.argv[1] == "attempt":
        attempt(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
