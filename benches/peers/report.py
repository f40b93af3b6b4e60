"""What the scripts share: medians, the description of a run, and the files of figures."""

import json
import os
import platform
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from statistics import median

from ours import ROOT

DATA = Path(os.environ.get("PEERS_RESULTS", ROOT / "docs" / "charts" / "data"))
RUNS = 7
WARM_UPS = 2
# Ours on AVX2, and on AVX-512 where the processor has it.
AVX2, AVX512 = "ours", "ours, avx512"
# The libraries that write into preallocated memory, as this crate does.
IN_PLACE = ["numpy", "torch copy_", "ORT"]
# Those that allocate, and this crate when it does.
NEW, ALLOCATING = "ours, new", ["numpy astype", "torch .to"]
# The ways of the Python module, into new and into given memory, and the same in Rust.
IN_RUST = {"cast": "new", "cast, out": "into"}

# The folder of the figures of a hardware GPU, where there are any; the others are a software adapter's.
GPU = DATA / "gpu"

# The processors whose comparison with other libraries is recorded, and the one whose figures docs/performance.md has.
RECORDED = ROOT / "docs" / "charts" / "data"
MACHINES = [
    ("AMD EPYC (Zen 3)", RECORDED / "zen3"),
    ("AMD EPYC (Zen 4)", RECORDED / "zen4"),
    ("AMD EPYC (Zen 5)", RECORDED / "zen5"),
    ("Intel Xeon (Emerald Rapids)", RECORDED / "xeon"),
]
REFERENCE = RECORDED / "xeon"


def processor() -> dict[str, str]:
    """What Linux tells of the first processor."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    # Of several processors the first one's lines stay.
    return dict([part.strip() for part in line.partition(":")[::2]] for line in reversed(lines))


def has_avx512() -> bool:
    """Whether the processor has all of AVX-512 that this crate needs."""
    return {f"avx512{part}" for part in ("f", "bw", "cd", "dq", "vl")} <= set(processor().get("flags", "").split())


def cpu() -> str:
    """The processor's name, with its family and model, since virtual machines hide the real name."""
    facts = processor()
    if "model name" not in facts:
        return platform.processor() or platform.machine()
    numbered = [f"{name} {facts[key]}" for name, key in (("family", "cpu family"), ("model", "model")) if key in facts]
    return f"{facts['model name']} ({', '.join(numbered)})" if numbered else facts["model name"]


def facts(note: str, **more: object) -> dict:
    """The description of a run, the first line of every file."""
    today = date.today().isoformat()
    return {"machine": f"{os.cpu_count()} cores, {cpu()}", "recorded": today, "note": note, **more}


def gbps(moved: int, seconds: list[float]) -> float:
    return moved / median(seconds) / 1e9


def ratio(of: list[float], to: list[float]) -> float:
    """How much faster `of` is than `to`: the median of the runs' ratios, so that other load affects both alike."""
    return median(other / one for one, other in zip(of, to, strict=True))


def widest(names: Iterable[str]) -> str:
    """Ours on the widest instruction set that was measured, which a process uses if nothing is forced."""
    return AVX512 if AVX512 in names else AVX2


def table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def write_lines(path: Path, lines: list[dict]) -> None:
    """Replaces the file; an interrupted run leaves the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    beside.write_text("".join(json.dumps(line) + "\n" for line in lines))
    beside.replace(path)


def read_lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]
