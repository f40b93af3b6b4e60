"""Draws docs/charts/*.svg from the figures in docs/charts/data. Measures nothing.

The same figures and the same version of matplotlib give the same bytes.
"""

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from elements import ROWS
from gpu import COPIES
from report import AVX512, DATA, GPU, IN_PLACE, REFERENCE, gbps, ratio, read_lines

CHARTS = DATA.parent
INK, FAINT = "#24292f", "#d0d7de"
# The palette of Okabe and Ito, which colour-blind readers can distinguish.
OURS, OURS_AVX512 = "#0072b2", "#a6cee3"
# Colour, mark, and position in a row, so that marks do not hide each other.
MARKS = {
    "numpy": ("#e69f00", "o", -0.2),
    "torch .to": ("#cc79a7", "D", -0.07),
    "torch copy_": ("#d55e00", "D", 0.07),
    "ORT": ("#009e73", "s", 0.2),
    "cupy astype": ("#e69f00", "o", 0.2),
}


def main() -> None:
    style()
    for path, draw, ending in [
        (REFERENCE / "cpu.jsonl", cpu, ""),
        (DATA / "adapter.jsonl", adapter, ""),
        (GPU / "adapter.jsonl", adapter, "-gpu"),
        (GPU / "growth.jsonl", growth, "-gpu"),
    ]:
        if path.exists():
            head, *lines = read_lines(path)
            draw(head, lines, ending)
    for path, draw in (GPU / "gpu.jsonl", gpu), (DATA / "strings.jsonl", strings), (DATA / "python.jsonl", python):
        if path.exists():
            head, *lines = read_lines(path)
            draw(head, lines)


def style() -> None:
    mpl.use("svg")
    mpl.rcParams.update(
        {
            "svg.hashsalt": "wgpu-cast",
            # Text stays text: small files.
            "svg.fonttype": "none",
            "font.family": ["DejaVu Sans", "sans-serif"],
            "font.size": 8,
            "figure.facecolor": "#ffffff",
            "figure.constrained_layout.use": True,
            "axes.edgecolor": FAINT,
            "axes.labelcolor": INK,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.axisbelow": True,
            "text.color": INK,
            "xtick.color": INK,
            "ytick.color": INK,
            "grid.color": FAINT,
            "grid.linewidth": 0.6,
            "legend.frameon": False,
        }
    )


def save(figure: Figure, name: str, *caption: str) -> None:
    figure.supxlabel("\n".join(text for text in caption if text), fontsize=7, x=0.01, ha="left", color="#57606a")
    path = CHARTS / name
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    # matplotlib leaves spaces at the ends of lines.
    path.write_text("".join(line.rstrip() + "\n" for line in path.read_text().splitlines()))
    print(path.relative_to(CHARTS.parents[1]), path.stat().st_size)


Row = tuple[str, dict[str, float]]


def bars(axes: Axes, rows: list[Row], label: str) -> None:
    """In each row one or two bars for this crate and a mark for each other library; a line at the speed of the copy."""
    names = [name for name, _ in rows]
    two = all(AVX512 in values for _, values in rows)
    if two:
        wide = [values[AVX512] for _, values in rows]
        axes.barh(names, wide, height=0.7, color=OURS_AVX512, label="wgpu-cast")
    axes.barh(names, [values["ours"] for _, values in rows], height=0.4 if two else 0.7, color=OURS, label=f"wgpu-cast{', AVX2' if two else ''}")
    for series, (colour, mark, lower) in MARKS.items():
        there = [(values[series], row + lower) for row, (_, values) in enumerate(rows) if series in values]
        if there:
            drawn = {"marker": mark, "color": colour, "edgecolor": "#ffffff", "linewidth": 0.6, "zorder": 3}
            axes.scatter(*zip(*there, strict=True), s=22, label=series, **drawn)
    axes.axvline(1, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.set_xlim(left=0)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel(label)
    axes.grid(axis="x")
    axes.tick_params(length=0)


def named(line: dict) -> str:
    return f"{line['from']} → {line['to']}"


def cpu(head: dict, lines: list[dict], ending: str) -> None:
    for threads in sorted({line["threads"] for line in lines}):
        of = [line for line in lines if line["threads"] == threads]
        figure, axes = plt.subplots(figsize=(7.2, 0.9 + 0.22 * len(of)))
        bars(axes, [(named(line), relative(line["seconds"])) for line in of], "ratio to memcpy (dashed)")
        title(axes, f"Casts on a CPU, {'one thread' if threads == 1 else f'{threads} threads (numpy: one)'}")
        legend(figure)
        save(
            figure,
            f"cpu-{threads}{ending}.svg",
            f"{head['machine']}; {head['elements']} elements",
            ", ".join(head["versions"]),
            head["note"],
        )


def relative(seconds: dict[str, list[float]]) -> dict[str, float]:
    return {name: ratio(seconds[name], seconds["memcpy"]) for name in ("ours", AVX512, *IN_PLACE) if name in seconds}


def gpu(head: dict, lines: list[dict]) -> None:
    figure, axes = plt.subplots(figsize=(7.2, 0.9 + 0.22 * len(lines)))
    of = [
        {name: line["gbps"][name] / line["gbps"][COPIES[name]] for name in COPIES if name in line["gbps"]}
        for line in lines
    ]
    bars(axes, list(zip(map(named, lines), of, strict=True)), "ratio to the same library's copy (dashed)")
    title(axes, "Casts on a GPU")
    legend(figure)
    save(
        figure, "gpu.svg", f"{head['adapter']}; {head['elements']} elements", ", ".join(head["versions"]), head["note"]
    )


def title(axes: Axes, text: str) -> None:
    axes.set_title(text, loc="left", fontweight="bold", fontsize=9)


def legend(figure: Figure) -> None:
    """Above the axes, bars first."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    bars_first = sorted(zip(handles, labels, strict=True), key=lambda entry: not isinstance(entry[0], BarContainer))
    figure.legend(*zip(*bars_first, strict=True), loc="outside upper left", ncols=4)


def adapter(head: dict, lines: list[dict], ending: str) -> None:
    """Every pair's ratio to the copy as a colour, the types from wide to narrow."""
    found = {(line["from"], line["to"]): line["ratio"] for line in lines}
    # The rows' own order within a width.
    names = [row.name for row in sorted(ROWS, key=lambda row: -row.bits) if (row.name, row.name) in found]
    # A run that was stopped has not all pairs.
    grid = [[found.get((source, target), float("nan")) for target in names] for source in names]
    figure, axes = plt.subplots(figsize=(6.4, 6))
    # In steps, so that a colour can be found in the scale.
    steps = [step / 10 for step in range(13)]
    norm = mpl.colors.BoundaryNorm(steps, 256, extend="max")
    image = axes.imshow(grid, cmap="viridis", norm=norm, interpolation="nearest")
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_ylabel("from")
    axes.set_xlabel("to")
    title(axes, "All pairs, compared with a copy of the same number of bytes")
    figure.colorbar(image, ax=axes, shrink=0.7, label="ratio to the copy")
    ordered = sorted(found.values())
    spread = f"minimum {ordered[0]:.2f}, median {ordered[len(ordered) // 2]:.2f}, maximum {ordered[-1]:.2f}"
    save(
        figure,
        f"adapter{ending}.svg",
        f"{head['adapter']}, {head['machine']}; {head['elements']} elements; {spread}",
        head["note"],
    )


LINES = {
    "CPU, 1": ("CPU, one thread", "#0072b2", "-"),
    "CPU, 2": ("CPU, two threads", "#56b4e9", "-"),
    "adapter": ("adapter, tensors on the device", "#009e73", "-"),
    "host by gpu": ("adapter, host tensors", "#d55e00", "-"),
    "host by cpu": ("CPU, host tensors into new memory", "#cc79a7", "-"),
    "memcpy, 1": ("memcpy, one thread", "#57606a", "--"),
    "memcpy, 2": ("memcpy, two threads", "#8c959f", "--"),
    "copy on the adapter": ("copy on the adapter", "#8c959f", ":"),
}


def growth(head: dict, lines: list[dict], ending: str) -> None:
    growing(head, lines, LINES, f"growth{ending}.svg", [head["machine"], head.get("adapter")])


def growing(head: dict, lines: list[dict], ways: dict[str, tuple[str, str, str]], file: str, about: list[str | None]) -> None:
    """A panel for each pair, with a line for each way."""
    pairs = list(dict.fromkeys((line["from"], line["to"]) for line in lines))
    figure, all_axes = plt.subplots(1, len(pairs), figsize=(4.4 * len(pairs), 3.8), sharey=True, squeeze=False)
    for pair, axes in zip(pairs, all_axes[0], strict=True):
        for way, (label, colour, dashes) in ways.items():
            there = [line for line in lines if (line["from"], line["to"]) == pair and line["way"] == way]
            counts, rates = [line["elements"] for line in there], [line["gbps"] for line in there]
            axes.plot(counts, rates, dashes, color=colour, label=label, linewidth=1.3, marker=".", markersize=4)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        counts = sorted({line["elements"] for line in lines})
        axes.set_xticks(counts, map(binary, counts))
        axes.minorticks_off()
        axes.set_yticks([0.01, 0.1, 1, 10, 100], ["0.01", "0.1", "1", "10", "100"])
        axes.tick_params(axis="x", rotation=90)
        axes.set_xlabel("elements")
        axes.grid()
        axes.tick_params(length=0)
        title(axes, " → ".join(pair))
    all_axes[0][0].set_ylabel("GB/s, read and written")
    legend(figure)
    save(figure, file, ", ".join(filter(None, about)), head["note"])


def binary(count: int) -> str:
    power = count.bit_length() - 1
    return f"{1 << power % 10} {['', 'Ki', 'Mi', 'Gi'][power // 10]}".strip()


def strings(head: dict, lines: list[dict]) -> None:
    """Bars by three: one thread, all threads, the standard library."""
    ways = {
        "one": ("one thread", "#0072b2"),
        "all": (f"{lines[0]['threads']} threads", "#56b4e9"),
        "std": ("standard library", "#8c959f"),
    }
    figure, axes = plt.subplots(figsize=(7.2, 0.9 + 0.42 * len(lines)))
    for place, (way, (label, colour)) in enumerate(ways.items()):
        axes.barh(
            [row + 0.26 * (place - 1) for row in range(len(lines))],
            [line[way] for line in lines],
            height=0.24,
            color=colour,
            label=label,
        )
    axes.set_yticks(range(len(lines)), [line["cast"].replace(" to ", " → ") for line in lines])
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.set_xlabel("10⁶ elements per second")
    axes.grid(axis="x")
    axes.tick_params(length=0)
    title(axes, "Strings")
    legend(figure)
    save(figure, "strings.svg", f"{head['machine']}; 1 Mi elements", head["note"])


def python(head: dict, lines: list[dict]) -> None:
    """A panel for each number of elements: bars of the module, marks of the others."""
    shown = {"new": ("Rust", "#000000", "|"), "numpy astype": ("numpy astype", "#e69f00", "o"), "torch .to": ("torch .to", "#cc79a7", "D")}
    counts = sorted({line["elements"] for line in lines})
    pairs = list(dict.fromkeys(map(named, lines)))
    figure, panels = plt.subplots(1, len(counts), figsize=(9.6, 0.9 + 0.22 * len(pairs)), sharey=True, squeeze=False)
    for count, axes in zip(counts, panels[0], strict=True):
        of = [line for line in lines if line["elements"] == count]
        rates = [{name: gbps(line["bytes"], times) for name, times in line["seconds"].items()} for line in of]
        axes.barh(list(map(named, of)), [rate["cast"] for rate in rates], height=0.7, color=OURS, label="wgpu_cast.cast")
        for name, (label, colour, mark) in shown.items():
            there = [(rate[name], row) for row, rate in enumerate(rates) if name in rate]
            if there:
                axes.scatter(*zip(*there, strict=True), s=22, marker=mark, color=colour, label=label, zorder=3)
        axes.set_xlim(left=0)
        axes.set_ylim(len(of) - 0.4, -0.6)
        axes.set_xlabel("GB/s, read and written")
        axes.grid(axis="x")
        axes.tick_params(length=0)
        title(axes, f"{binary(count)} elements")
    legend(figure)
    save(figure, "python.svg", f"{head['machine']}; Python {head['python']}, one thread, into new memory", ", ".join(head["versions"]), head["note"])


if __name__ == "__main__":
    main()
