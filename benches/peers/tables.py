"""Writes the tables of docs/performance.md, docs/charts/data/*/README.md, README.md and integrations/python/README.md, from the figures
in docs/charts/data and those of benches/instructions. Measures nothing.
"""

import csv
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles

import chains
import files
import gpu
from compare import best, disagreements, speeds
from elements import TYPES
from ours import ROOT
from report import DATA, GPU, IN_PLACE, IN_RUST, MACHINES, REFERENCE, gbps, ratio, read_lines, table, widest

PAGE = ROOT / "docs" / "performance.md"
README = ROOT / "README.md"
PYTHON = ROOT / "integrations" / "python" / "README.md"
INSTRUCTIONS = ROOT / "benches" / "instructions"
# The rows of the README.
SHOWN = [
    ("float", "float16"),
    ("float", "float8e4m3fn"),
    ("float8e4m3fn", "float"),
    ("int64", "int32"),
]
CHIPS = {"navi21": "RDNA 2", "gfx1100": "RDNA 3"}


def main() -> None:
    for machine in MACHINES:
        every_figure(*machine)
    blocks = {
        "cpu": cpu(),
        "small": small(),
        "instructions": instructions(),
        "decoders": decoders(),
        "files": converted_files(),
        "gpu": on_gpu(),
    }
    for name, text in blocks.items():
        replace(PAGE, name, text)
    head, lines = lines_of(REFERENCE / "cpu.jsonl")
    found = {(line["from"], line["to"]): line for line in lines if line["threads"] == 1}
    rows = [readme_row(found[pair]) for pair in SHOWN]
    heads = ["cast", "wgpu-cast, GB/s", "ratio to memcpy", "fastest other library"]
    replace(README, "speed", f"{speed_of(head)}\n\n{table(heads, rows)}")
    if (DATA / "python.jsonl").exists():
        replace(PYTHON, "speed", in_python())


def replace(path: Path, name: str, text: str) -> None:
    """Replaces what stands between two comments of HTML."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, _, rest = path.read_text().partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"{path} has no place for {name}")
    path.write_text(f"{before}{begin}{text.rstrip()}\n{end}{after}")


def lines_of(path: Path) -> tuple[dict, list[dict]]:
    head, *lines = read_lines(path)
    return head, lines


def arrow(line: dict) -> str:
    return f"{line['from']} → {line['to']}"


def about(head: dict, *more: str) -> str:
    """What a run was, as a sentence."""
    versions = ", ".join(head.get("versions", []))
    parts = [head["machine"], versions, head.get("recorded", ""), *more, head.get("note", "").rstrip(".")]
    return "; ".join(part for part in parts if part) + "."


def every_figure(name: str, folder: Path) -> None:
    """All figures of a processor, beside their data."""
    head, lines = lines_of(folder / "cpu.jsonl")
    parts = [
        f"# Casts on the CPU: {name}",
        "`benches/peers/run.sh tables` writes this page from `cpu.jsonl`. GB/s are 10⁹ bytes read and written per second, of 16 Mi elements, in "
        "parentheses the ratio to memcpy, in brackets the slowest and the fastest run. All libraries write into preallocated memory, "
        "except “new memory”, `numpy astype` and `torch .to`.",
        about(head, f"median of {head['runs']} runs"),
    ]
    for threads, title in (1, "## One thread"), (2, "## Two threads (numpy: one thread)"):
        parts += [title, speeds([line for line in lines if line["threads"] == threads])]
    parts += ["## Different results", disagreements([line for line in lines if line["threads"] == 1])]
    (folder / "README.md").write_text("\n\n".join(part.strip() for part in parts) + "\n")


# Those of the page; the others are beside the data.
COMMON = """
float>float16 float16>float float>bfloat16 bfloat16>float float>float8e4m3fn float8e4m3fn>float float>float8e8m0 float8e8m0>float
float>double double>float float>int8 int8>float float>int32 int32>float float>int4 int4>float float>float4e2m1 float4e2m1>float
float16>bfloat16 bfloat16>float16 int64>int32 int32>int64 double>int64 int64>float
"""


def cpu() -> str:
    head, lines = lines_of(REFERENCE / "cpu.jsonl")
    found = {(line["from"], line["to"]): line for line in lines if line["threads"] == 1}
    cells = []
    for line in (found[tuple(word.split(">"))] for word in COMMON.split()):
        ours, other = line["seconds"][widest(line["seconds"])], best(line["seconds"])
        rate = [gbps(line["bytes"], seconds) for seconds in (ours, line["seconds"][other], line["seconds"]["memcpy"])]
        cells.append([arrow(line), f"{rate[0]:.1f}", f"{rate[1]:.1f} ({called(other)})", f"{rate[2]:.1f}"])
    rows = [first + second for first, second in zip(cells[::2], cells[1::2], strict=True)]
    return table(["cast", "wgpu-cast", "fastest other library", "memcpy"] * 2, rows) + "\n" + summary(head, lines)


def summary(head: dict, lines: list[dict]) -> str:
    """How many casts are at least as fast as the fastest other library, and the median ratio to memcpy."""
    parts = []
    for threads, word in (1, "one thread"), (2, "two threads"):
        of = [line["seconds"] for line in lines if line["threads"] == threads and best(line["seconds"])]
        against = [ratio(seconds[widest(seconds)], seconds[best(seconds)]) for seconds in of]
        copied = [ratio(seconds[widest(seconds)], seconds["memcpy"]) for seconds in of]
        parts.append(
            f"With {word}, {sum(one >= 1 for one in against)} of {len(against)} casts are at least as fast as the fastest other library "
            f"(least {min(against):.2f}), and the median ratio to memcpy is {median(copied):.2f}."
        )
    return f"{about(head, 'GB/s with one thread')} {' '.join(parts)}\n"


def small() -> str:
    head, lines = lines_of(REFERENCE / "small.jsonl")
    rows = [
        [f"{line['elements']:,}", f"{line['median']:,.0f}", f"{line['most']:,.0f}", f"{line['ratio']:.2f}"] for line in lines
    ]
    return table(["elements", "ns, median of all pairs", "ns, most", "ratio to a copy, median"], rows) + "\n" + about(head) + "\n"


def counted(name: str) -> tuple[str, list[dict[str, str]]]:
    first, *rest = (INSTRUCTIONS / name).read_text().splitlines()
    return first.removeprefix("# "), list(csv.DictReader(rest))


def instructions() -> str:
    compiler, found = counted("counts.csv")
    chips: dict[str, list[tuple[str, float]]] = {}
    for row in found:
        source, target = TYPES[row["from"]].bits, TYPES[row["to"]].bits
        if source <= 8:
            group = "most, sources of at most 8 bits"
        elif source == 16 and target <= 16:
            group = "most, 16-bit sources to at most 16 bits"
        else:
            group = "most, other pairs"
        chips.setdefault(row["chip"], []).append((group, float(row["per_byte"])))
    groups = sorted({group for rows in chips.values() for group, _ in rows})
    rows = [["median", *(f"{sorted(o for _, o in rows)[len(rows) // 2]:.2f}" for rows in chips.values())]]
    rows += [[group, *(f"{max(o for g, o in of if g == group):.2f}" for of in chips.values())] for group in groups]
    count = len(next(iter(chips.values())))
    heads = [f"instructions per byte, {count} pairs and options", *(CHIPS.get(chip, chip) for chip in chips)]
    return table(heads, rows) + f"\nCompiled by RADV of {compiler}.\n"


def decoders() -> str:
    _, found = counted("decoders.csv")
    chips = list(dict.fromkeys(row["chip"] for row in found))
    rows = []
    for element_type in dict.fromkeys(row["element_type"] for row in found):
        of = [row for row in found if row["element_type"] == element_type]

        def cells(named: Callable[[str], bool], of: list[dict[str, str]] = of) -> str:
            """The instructions of each decoder on all chips."""
            names = dict.fromkeys(row["decoder"] for row in of if named(row["decoder"]))
            told = []
            for name in names:
                those = [row for row in of if row["decoder"] == name]
                wrong = those[0]["wrong_codes"]
                shown = ", ".join(row["instructions"] for row in those)
                told.append(f"{shown}{f' ({name})' if name != 'wgpu-cast' else ''}{f', {wrong} codes wrong' if wrong != '0' else ''}")
            return "; ".join(told) or "–"

        rows.append([element_type, cells(lambda name: name == "wgpu-cast"), cells(lambda name: not name.startswith("wgpu-cast"))])
    return table(["codes of a word", f"wgpu-cast ({', '.join(CHIPS.get(chip, chip) for chip in chips)})", "others"], rows)


def converted_files() -> str:
    head, *lines = read_lines(DATA / "files.jsonl")

    def shown(source: str, to: str, way: str) -> str:
        found = [line for line in lines if (line["source"], line["to"], line["way"]) == (source, to, way)]
        return f"{median(found[0]['seconds']):.1f} s, {median(found[0]['peak']):.0f} MiB" if found else "–"

    ways = {"checkpoint": ("ours", "torch"), "model": ("ours, graph", "onnxconverter-common")}
    rows = []
    for source, to in dict.fromkeys((line["source"], line["to"]) for line in lines if line["to"]):
        own, other = ways[source]
        copied = shown(source, "", "copy").partition(",")[0]
        rows.append([f"{source} to {to}", shown(source, to, own), f"{shown(source, to, other)} ({files.TITLES[other].partition(',')[0]})", copied])
    return table(["input", "wgpu-cast", "other", "copy"], rows) + f"\n{about(head)}\n"


def on_gpu() -> str:
    """What was measured on a hardware GPU, if anything was."""
    if not (GPU / "adapter.jsonl").exists():
        return "Nothing was measured on a hardware GPU: none was available.\n"
    head, lines = lines_of(GPU / "adapter.jsonl")
    lower, middle, upper = quantiles([line["ratio"] for line in lines], method="inclusive")
    parts = [
        f"All {len(lines)} pairs beside a copy kernel on {head['adapter']}, {about(head)[:-1]}: quartiles of the ratio {lower:.2f}, {middle:.2f} "
        f"and {upper:.2f}."
    ]
    more: dict[str, Callable[[list[dict]], str]] = {"gpu.jsonl": gpu.markdown, "chains.jsonl": chains.markdown}
    parts += [write(read_lines(GPU / name)).strip() for name, write in more.items() if (GPU / name).exists()]
    return "\n\n".join(parts) + "\n"


def called(name: str) -> str:
    return {"torch copy_": "PyTorch", "ORT": "ONNX Runtime"}.get(name, name)


def speed_of(head: dict) -> str:
    return (
        f"One thread of a virtual {head['machine'].partition(', ')[2]}; GB/s are bytes read and written. The others are numpy with\n"
        "ml_dtypes, PyTorch and ONNX Runtime: see [docs/performance.md][performance]."
    )


def in_python() -> str:
    """A row for each pair: microseconds of few elements, GB/s and ratios of more."""
    head, lines = lines_of(DATA / "python.jsonl")
    few, *more = sorted({line["elements"] for line in lines})
    found = {(line["from"], line["to"], line["elements"]): line for line in lines}
    others = {"numpy astype": "numpy", "torch .to": "torch"}

    def cells(line: dict) -> list[str]:
        seconds = line["seconds"]
        if line["elements"] == few:
            figures = {name: f"{1e6 * median(times):.1f}" for name, times in seconds.items()}
            ours = [figures["cast"]]
        else:
            figures = {name: f"{gbps(line['bytes'], times):.1f}" for name, times in seconds.items()}
            ours = [figures["cast"], *(f"{ratio(seconds[way], seconds[rust]):.2f}" for way, rust in IN_RUST.items())]
        return [*ours, ", ".join(figures.get(name, "–") for name in others)]

    heads = ["cast", f"{few:,}: µs", " and ".join(others.values())]
    for count in more:
        heads += [f"{count:,}: GB/s", "to Rust", "with `out=`", " and ".join(others.values())]
    pairs = dict.fromkeys((line["from"], line["to"]) for line in lines)
    rows = [[" → ".join(pair), *(cell for count in [few, *more] for cell in cells(found[*pair, count]))] for pair in pairs]
    python = f"Python {head['python']}"
    wheel = f"The wheel has {head['wheel'] / 1e6:.1f} MB, and `import wgpu_cast` takes {head['import_ms']:.0f} ms more than `import numpy`."
    return f"{table(heads, rows)}\n{wheel} {about(head, 'one thread', python)}\n"


def readme_row(line: dict) -> list[str]:
    seconds, moved = line["seconds"], line["bytes"]
    ours, other = seconds[widest(seconds)], best(seconds)
    assert other in IN_PLACE
    against = ratio(ours, seconds["memcpy"])
    bar = "█" * round(10 * against)
    return [arrow(line), f"{gbps(moved, ours):.1f}", f"{bar} {against:.2f}", f"{gbps(moved, seconds[other]):.1f} ({called(other)})"]


if __name__ == "__main__":
    main()
