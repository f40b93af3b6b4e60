"""Writes docs/performance/tables.md and the speed table of the README from the figures in docs/charts/data and
benches/instructions/counts.csv. Measures nothing.
"""

import csv
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median, quantiles

import chains
import files
import gpu
import llvmpipe
from compare import best, disagreements, speeds
from elements import TYPES, ElementType
from ours import ROOT
from report import AVX512, DATA, GPU, IN_PLACE, MACHINES, gbps, ratio, read_lines, table

TABLES = ROOT / "docs" / "performance" / "tables.md"
README = ROOT / "README.md"
COUNTS = ROOT / "benches" / "instructions" / "counts.csv"
# The rows of the README.
SHOWN = [
    ("float", "float16"),
    ("float", "float8e4m3fn"),
    ("float8e4m3fn", "float"),
    ("float", "int8"),
    ("int64", "int32"),
]
# The share of memcpy's speed that a pair should reach.
GOAL = 0.7


def main() -> None:
    software = adapters("Software adapters", [DATA / "adapter.jsonl", DATA / "swiftshader.jsonl"])
    sections = [HEAD, *map(peers, MACHINES), *map(every_pair, MACHINES), software, on_llvmpipe(), instructions()]
    sections += [transfer("Host tensors", DATA), recording("Recording", DATA), strings(), converted_files(), *on_gpu()]
    TABLES.parent.mkdir(exist_ok=True)
    TABLES.write_text("\n".join(sections))
    write_readme()


HEAD = """\
# Performance tables

`benches/peers/run.sh tables` writes this page from the recorded figures in `docs/charts/data`. The page on performance
explains the method and the conclusions. All casts are of 16 Mi elements unless stated otherwise. GB/s are 10⁹ bytes read
and written per second.
"""


def lines_of(name: str, folder: Path = DATA) -> tuple[dict, list[dict]]:
    head, *lines = read_lines(folder / name)
    return head, lines


def arrow(line: dict) -> str:
    return f"{line['from']} → {line['to']}"


Machine = tuple[str, Path, str]


def peers(machine: Machine) -> str:
    name, folder, _ = machine
    head, lines = lines_of("cpu.jsonl", folder)
    parts = [
        f"## CPU and other libraries: {name}",
        f"{head['machine']}; {', '.join(head['versions'])}; median of {head['runs']} runs. In parentheses the ratio to "
        "memcpy, in brackets the slowest and the fastest run. All libraries write into preallocated memory, except "
        "“new memory”, `numpy astype` and `torch .to`.",
        head["note"],
    ]
    for threads, title in (1, "### One thread"), (2, "### Two threads (numpy: one thread)"):
        parts += [title, speeds([line for line in lines if line["threads"] == threads])]
    parts += ["### Different results", disagreements([line for line in lines if line["threads"] == 1])]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def kind(of: ElementType) -> str:
    """The row or column of an element type in the table of all pairs."""
    if of.bits in (64, 32, 6):
        return f"{of.bits} bits"
    if of.bits in (4, 2):
        return "4 and 2 bits"
    integer = "8-bit integers, bool" if of.bits == 8 else "16-bit integers"
    return f"{of.bits}-bit floats" if of.kind in ("float", "scale") else integer


def every_pair(machine: Machine) -> str:
    name, folder, _ = machine
    kinds = ["64 bits", "32 bits", "16-bit floats", "16-bit integers", "8-bit floats", "8-bit integers, bool"]
    kinds += ["6 bits", "4 and 2 bits"]
    parts = [
        f"## All pairs on the CPU: {name}",
        "One thread, random codes: the median ratio to memcpy for each kind of source and destination, and the number of "
        f"pairs that reach {GOAL}.",
    ]
    for title, file in ("AVX-512", "cpu-all-avx512.jsonl"), ("AVX2", "cpu-all.jsonl"):
        if not (folder / file).exists():
            continue
        lines = read_lines(folder / file)
        found: dict[tuple[str, str], list[float]] = {}
        for line in lines:
            found.setdefault((kind(TYPES[line["from"]]), kind(TYPES[line["to"]])), []).append(line["ratio"])
        rows = [[source, *(share(found[source, target]) for target in kinds)] for source in kinds]
        parts += [f"### {title}", spread([line["ratio"] for line in lines]), table(["from \\ to", *kinds], rows)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def share(ratios: list[float]) -> str:
    return f"{median(ratios):.2f} ({reached(ratios)} of {len(ratios)})"


def reached(ratios: Iterable[float]) -> int:
    return sum(one >= GOAL for one in ratios)


def spread(ratios: list[float]) -> str:
    lower, middle, upper = quantiles(ratios, method="inclusive")
    return (
        f"{reached(ratios)} of {len(ratios)} pairs reach {GOAL}. Minimum {min(ratios):.2f}, quartiles {lower:.2f}, "
        f"{middle:.2f} and {upper:.2f}, maximum {max(ratios):.2f}."
    )


# The pairs of the table of llvmpipe.
ON_ADAPTER = """
float>float16 float16>float float>bfloat16 bfloat16>float float>float8e4m3fn float8e4m3fn>float float>float8e8m0
float>double double>float double>float16 float>int8 int32>float float>int64 int64>float16 int64>int32 int32>int64
float>int4 int4>float float>float4e2m1 float6e2m3>float bool>float uint8>float16 float16>float8e5m2
float8e4m3fn>float16 float8e4m3fn>float8e5m2 float16>float16
"""


def adapters(title: str, paths: list[Path]) -> str:
    parts = [f"## {title}", "Casts of tensors on the device, compared with a copy kernel."]
    for path in paths:
        head, *lines = read_lines(path)
        found = {(line["from"], line["to"]): line for line in lines}
        ratios = [line["ratio"] for line in lines]
        lower, middle, upper = quantiles(ratios, method="inclusive")
        parts += [
            f"### {head['adapter']}",
            f"{head['elements']} elements, {head['clock']}. Ratios to the copy over all {len(lines)} pairs: minimum "
            f"{min(ratios):.2f}, quartiles {lower:.2f}, {middle:.2f} and {upper:.2f}, maximum {max(ratios):.2f}.",
        ]
        # A run that was stopped has not all pairs.
        shown = [found[pair] for word in ON_ADAPTER.split() if (pair := tuple(word.split(">"))) in found]
        rows = [[arrow(o), f"{o['gbps']:.2f}", f"{o['copy_gbps']:.2f}", f"{o['ratio']:.2f}"] for o in shown]
        parts.append(table(["cast", "GB/s", "copy, GB/s", "ratio"], rows))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def on_llvmpipe() -> str:
    parts = [
        "## Other libraries on llvmpipe",
        "Casts of tensors on the device, compared with a copy kernel (in parentheses the ratio to it). ONNX Runtime is its "
        "WebGPU execution provider.",
        llvmpipe.markdown(read_lines(DATA / "llvmpipe.jsonl")).strip(),
    ]
    return "\n\n".join(parts) + "\n"


def instructions() -> str:
    first, *rest = COUNTS.read_text().splitlines()
    chips: dict[str, list[tuple[str, float]]] = {}
    for row in csv.DictReader(rest):
        source, target = TYPES[row["from"]].bits, TYPES[row["to"]].bits
        if source <= 8:
            group = "maximum, sources of at most 8 bits"
        elif source == 16 and target <= 16:
            group = "maximum, 16-bit sources to at most 16 bits"
        else:
            group = "maximum, other pairs"
        chips.setdefault(row["chip"], []).append((group, float(row["per_byte"])))
    groups = sorted({group for rows in chips.values() for group, _ in rows})
    rows = [["median", *(f"{sorted(o for _, o in rows)[len(rows) // 2]:.2f}" for rows in chips.values())]]
    for group in groups:
        rows.append([group, *(f"{max(o for g, o in of if g == group):.2f}" for of in chips.values())])
    names = {"navi21": "navi21 (RDNA 2)", "gfx1100": "gfx1100 (RDNA 3)"}
    count = len(next(iter(chips.values())))
    parts = [
        "## Instructions of the kernels",
        f"Instructions per byte moved, as compiled by {first.removeprefix('# ')}'s RADV, for {count} pairs and options. "
        "`benches/instructions/counts.csv` has every kernel.",
        table(["", *(names.get(chip, chip) for chip in chips)], rows),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def transfer(title: str, folder: Path) -> str:
    head, lines = lines_of("transfer.jsonl", folder)

    def rows(what: str, *columns: str) -> list[list[str]]:
        return [[arrow(line), *(number(line, name) for name in columns)] for line in lines if line["what"] == what]

    parts = [
        f"## {title}",
        f"{head['adapter']}, {head['machine']}; microseconds, medians of {head['runs']} runs.",
        "`Context::cast`, compared with the sum of its parts:",
        table(
            ["cast", "elements", "upload", "dispatches", "read-back", "`Context::cast`", "ratio to the sum"],
            rows("parts", "elements", "upload", "dispatches", "read_back", "cast", "ratio"),
        ),
        "The first cast of a pair on a new device, without the driver's shader cache:",
        table(
            ["cast", "text and module", "pipeline", "first cast of 5000 elements"],
            rows("first", "module", "pipeline", "cast"),
        ),
        "The host's copies for any device, compared with `cpu::cast` into new memory:",
        table(
            ["cast", "elements", "copies", "`cpu::cast`", "ratio to the copies"],
            rows("host", "elements", "copies", "cast", "ratio"),
        ),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def number(line: dict, name: str) -> str:
    value = line[name]
    if name == "elements":
        power = (value.bit_length() - 1) // 10
        return f"{value >> 10 * power} {['', 'Ki', 'Mi', 'Gi'][power]}".strip()
    if name == "ratio":
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 10 and isinstance(value, float) else f"{value:,.0f}"


def recording(title: str, folder: Path) -> str:
    head, lines = lines_of("record.jsonl", folder)
    rows = [[o["step"], f"{o['median']:.2f}", f"{o['fastest']:.2f} to {o['slowest']:.2f}"] for o in lines]
    parts = [
        f"## {title}",
        f"{head['adapter']}; microseconds per cast of 10,000 casts of 1 KiB, medians of 7 runs.",
        table(["step", "median", "fastest to slowest"], rows),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def strings() -> str:
    head, lines = lines_of("strings.jsonl")
    rows = []
    for line in lines:
        cells = [f"{line[way]:.1f} ({line[way] / line['std']:.1f} ×)" for way in ("one", "all")]
        rows.append([line["cast"].replace(" to ", " → "), *cells, f"{line['std']:.1f}"])
    parts = [
        "## Strings",
        f"{head['machine']}; 1 Mi elements; 10⁶ elements per second, in parentheses the ratio to the standard library.",
        table(["cast", "one thread", f"{lines[0]['threads']} threads", "standard library, one thread"], rows),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def converted_files() -> str:
    lines = read_lines(DATA / "files.jsonl")
    about = (
        f"Medians of {lines[0]['rounds']} rounds, in parentheses the fastest and the slowest; the time ends when the outputs "
        "are on the disk. The last column compares the results bit by bit with those of wgpu-cast on the CPU, and for the "
        "model with those of `--graph`."
    )
    return "\n\n".join(["## Files", about, files.markdown(lines).strip()]) + "\n"


def on_gpu() -> list[str]:
    """What was measured on a hardware GPU, if anything was."""

    def own(title: str, name: str, markdown: Callable[[list[dict]], str]) -> str:
        return f"## {title}\n\n{markdown(read_lines(GPU / name)).strip()}\n"

    sections = {
        "adapter.jsonl": lambda: adapters("GPU", [GPU / "adapter.jsonl"]),
        "gpu.jsonl": lambda: own("GPU: other libraries", "gpu.jsonl", gpu.markdown),
        "transfer.jsonl": lambda: transfer("GPU: host tensors", GPU),
        "chains.jsonl": lambda: own("GPU: models of several casts", "chains.jsonl", chains.markdown),
        "record.jsonl": lambda: recording("GPU: recording", GPU),
    }
    return [section() for name, section in sections.items() if (GPU / name).exists()]


def write_readme() -> None:
    """Replaces the table that begins with the same heads."""
    _, lines = lines_of("cpu.jsonl")
    found = {(line["from"], line["to"]): line for line in lines if line["threads"] == 1}
    rows = [readme_row(found[pair]) for pair in SHOWN]
    heads = ["cast", "wgpu-cast, GB/s", "ratio to memcpy", "fastest other library"]
    new = table(heads, rows)
    text = README.read_text()
    begin = text.index(new.splitlines()[0])
    end = text.index("\n\n", begin) + 1
    README.write_text(text[:begin] + new + text[end:])


def readme_row(line: dict) -> list[str]:
    seconds, moved = line["seconds"], line["bytes"]
    other = best(seconds)
    against = ratio(seconds[AVX512], seconds["memcpy"])
    bar = "█" * round(10 * against)
    name = {"torch copy_": "PyTorch", "ORT": "ONNX Runtime"}.get(other, other)
    assert other in IN_PLACE
    return [
        arrow(line),
        f"{gbps(moved, seconds[AVX512]):.1f}",
        f"{bar} {against:.2f}",
        f"{gbps(moved, seconds[other]):.1f} ({name})",
    ]


if __name__ == "__main__":
    main()
