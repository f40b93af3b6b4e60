"""Makes docs/charts/data/gpu of what a visit of benches/gpu.sh left in a folder: its results, or their archive unpacked.

The tables and charts read what this writes. A file whose step was stopped (*.partial) is taken as far as it goes, and its
note says so. Measures nothing.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

from measure import parse_record, parse_transfer
from ours import ROOT
from report import GPU, RUNS, read_lines, write_lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "target" / "gpu" / "results")
    parser.add_argument("--note", default="", help="a note on the run, for tables and charts")
    args = parser.parse_args()
    machine = (args.folder / "machine.txt").read_text().strip()
    for name, (read, file) in READERS.items():
        if not (found := existing(args.folder / name)):
            print(f"{name}: NOT THERE")
            continue
        head, lines = read(found)
        if not lines:
            print(f"{found.name}: NO FIGURES")
            continue
        notes = [head.pop("note", ""), args.note, "The run was stopped." if found.suffix == ".partial" else ""]
        note = " ".join(filter(None, notes))
        write_lines(GPU / file, [{"machine": machine, **head, "note": note}, *lines])
        print(f"{file}: {len(lines)} figures")


def existing(path: Path) -> Path | None:
    """The file or what a step that was stopped has left of it, if that is anything."""
    both = (path, path.with_name(path.name + ".partial"))
    return next((one for one in both if one.exists() and one.stat().st_size), None)


def json_lines(path: Path) -> tuple[dict, list[dict]]:
    head, *lines = read_lines(path)
    return head, lines


def transfer(path: Path) -> tuple[dict, list[dict]]:
    printed = path.read_text()
    return {"adapter": printed.partition(", microseconds")[0], "runs": RUNS}, parse_transfer(printed)


def record(path: Path) -> tuple[dict, list[dict]]:
    printed = path.read_text()
    return {"adapter": printed.partition("\n")[0].partition(" on ")[2]}, parse_record(printed)


# For each file of a visit how it is read, and the file of figures.
READERS: dict[str, tuple[Callable[[Path], tuple[dict, list[dict]]], str]] = {
    "pairs.jsonl": (json_lines, "adapter.jsonl"),
    "gpu.jsonl": (json_lines, "gpu.jsonl"),
    "growth.jsonl": (json_lines, "growth.jsonl"),
    "chains.jsonl": (json_lines, "chains.jsonl"),
    "transfer.txt": (transfer, "transfer.jsonl"),
    "record.txt": (record, "record.jsonl"),
}


if __name__ == "__main__":
    main()
