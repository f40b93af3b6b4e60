"""Programs that are asked line by line: this crate's side is ours.rs."""

import functools
import json
import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

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
    # Only such a build reads WGPU_CAST_ISA.
    flags = f"{os.environ.get('RUSTFLAGS', '')} --cfg wgpu_cast_isa"
    environment = os.environ | {"RUSTFLAGS": flags}
    built = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    return Path(next(m["executable"] for m in reversed(messages) if m.get("executable")))


class Program:
    """A running program that answers each line with a line; with `with`, until the end of it."""

    def __init__(self, program: Path, *arguments: str, **environment: str) -> None:
        pipe = subprocess.PIPE
        command = [str(program), *arguments]
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, bufsize=1, env=os.environ | environment
        )

    def __enter__(self) -> Self:
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
            raise RuntimeError(f"{self.process.args[0]} ended at: {' '.join(map(str, words))}")
        return answer.strip()

    def seconds(self, what: str, times: int = 1) -> float:
        return float(self.ask(what, times))


class Ours(Program):
    """A running ours.rs on an instruction set, the processor's best if none is named."""

    def __init__(self, isa: str | None = None) -> None:
        super().__init__(build("--bench", "peers"), **({"WGPU_CAST_ISA": isa} if isa else {}))
