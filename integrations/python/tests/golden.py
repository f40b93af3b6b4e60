"""The tables of the repository's tests/golden, which ml_dtypes and numpy made."""

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "tests" / "golden"


def sections(file: str) -> dict[str, list[tuple[int, str]]]:
    """For each type the rows: a code, and the text on its right."""
    found: dict[str, list[tuple[int, str]]] = {}
    rows: list[tuple[int, str]] = []
    for line in (FOLDER / file).read_text().splitlines():
        if line.startswith("["):
            rows = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            code, text = line.split(" ", 1)
            rows.append((int(code, 16), text))
    return found


def same_code(code: int, text: str, nans: set[int]) -> bool:
    """Whether a code is what the table says, where `nan` is any NaN."""
    return code in nans if text == "nan" else code == int(text, 16)
