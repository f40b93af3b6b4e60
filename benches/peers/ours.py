"""The other end of ours.rs: this crate, asked line by line."""

import functools
import json
import os
import subprocess
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def build(*what: str) -> Path:
    """Builds one of the crate's programs and says where it is. With PEERS_PROGRAMS they are in that folder already."""
    if folder := os.environ.get("PEERS_PROGRAMS"):
        return Path(folder) / what[-1]
    command = [
        "cargo",
        "build",
        "--release",
        "--quiet",
        "--locked",
        "--message-format",
        "json-render-diagnostics",
        *what,
    ]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    return Path(next(m["executable"] for m in reversed(messages) if m.get("executable")))


class Ours:
    """A running ours.rs on an instruction set, the processor's best if none is named; with `with`, until the end of it."""

    def __init__(self, isa: str | None = None) -> None:
        environment = os.environ | ({"WGPU_CAST_ISA": isa} if isa else {})
        pipe = subprocess.PIPE
        program = build("--bench", "peers")
        self.process = subprocess.Popen([program], stdin=pipe, stdout=pipe, text=True, bufsize=1, env=environment)

    def __enter__(self) -> "Ours":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait()

    def ask(self, *words: object) -> str:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"our side ended at: {' '.join(map(str, words))}")
        return answer.strip()

    def seconds(self, what: str, times: int = 1) -> float:
        return float(self.ask(what, times))
