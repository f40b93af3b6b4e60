"""Every pair of element types with every option, on bits."""

import numpy as np
import pytest

import golden
import wgpu_cast
from cases import cases
from differences import REFUSED, RULES, explain
from element_types import FLOAT, TYPES, Array, ElementType, Options, options_of
from expected import expected

SOURCES = [pytest.param(source, id=source.name) for source in TYPES.values()]


def cast(x: Array, to: ElementType, options: Options) -> Array:
    """The codes of a cast."""
    result = wgpu_cast.cast(x, to.name, saturate=options.saturate, round_mode=options.round_mode)
    assert isinstance(result, np.ndarray) and (result.dtype, result.shape) == (to.dtype, x.shape)
    return to.codes(result)


def assert_same(ours: Array, wanted: Array, x: Array, what: str) -> None:
    different = np.flatnonzero(ours != wanted)
    if different.size:
        told = ", ".join(f"{x.flat[n]} becomes {ours.flat[n]:x}, not {wanted.flat[n]:x}" for n in different[:4])
        pytest.fail(f"{what}: {different.size} of {x.size} elements: {told}")


@pytest.mark.parametrize("source", SOURCES)
def test_every_pair_and_option(source: ElementType) -> None:
    x = cases(source)
    for to in TYPES.values():
        for options in options_of(to):
            assert_same(cast(x, to, options), expected(x, source, to, options), x, f"{source.name} to {to.name}, {options}")


@pytest.mark.parametrize("name", golden.sections("decode.txt"))
def test_decode_table(name: str) -> None:
    source, rows = TYPES[name], golden.sections("decode.txt")[name]
    x = source.array(np.array([code for code, _ in rows]))
    got = cast(x, FLOAT, Options())
    assert [golden.same_code(int(code), text, {0x7FC00000, 0xFFC00000}) for code, (_, text) in zip(got, rows, strict=True)] == [True] * len(rows)


@pytest.mark.parametrize("name", golden.sections("encode.txt"))
def test_encode_table(name: str) -> None:
    to, rows = TYPES[name], golden.sections("encode.txt")[name]
    x = np.array([code for code, _ in rows], np.uint32).view(np.float32)
    got = cast(x, to, Options(saturate=False))
    nans = {int(code) for code in to.codes(np.array([np.nan, -np.nan], to.dtype))}
    assert [golden.same_code(int(code), text, nans) for code, (_, text) in zip(got, rows, strict=True)] == [True] * len(rows)


def test_differences_from_ml_dtypes() -> None:
    """Every difference has a rule, and every rule's number of differences is that of the table."""
    met = [0] * len(RULES)
    refused: dict[str, list[str]] = {}
    for source in TYPES.values():
        x = cases(source)
        for to in TYPES.values():
            with np.errstate(all="ignore"):
                try:
                    theirs = to.codes(x.astype(to.dtype))
                except TypeError:
                    refused.setdefault(source.name, []).append(to.name)
                    continue
            for options in options_of(to):
                with np.errstate(all="ignore"):
                    rules = explain(x, source, to, options)
                different = cast(x, to, options) != theirs
                unexplained = x[different & (rules < 0)]
                assert unexplained.size == 0, f"{source.name} to {to.name}, {options}: {unexplained[:4]}"
                for number in np.unique(rules[different]):
                    met[number] += int(np.count_nonzero(different & (rules == number)))
    assert {rule.name: count for rule, count in zip(RULES, met, strict=True) if rule.met is not None} == {
        rule.name: rule.met for rule in RULES if rule.met is not None
    }
    assert {name: sorted(names) for name, names in refused.items()} == {name: sorted(to.split()) for name, to in REFUSED.items()}
