#!/usr/bin/env python3
"""Prints the loops of the CPU path's casts in an aarch64 build, those with the smallest share of vector instructions first.

    cargo rustc --release --package wgpu-cast --target aarch64-unknown-linux-gnu --lib -- -C symbol-mangling-version=v0
    aarch64-linux-gnu-objdump -dC --no-show-raw-insn target/aarch64-unknown-linux-gnu/release/libwgpu_cast.rlib >/tmp/code.s
    tests/vector_code.py /tmp/code.s

Of each cast it takes the innermost loop with the most vector instructions, and prints how many these are, how many
instructions the loop has, and the cast's types. A cast without loops copies memory, or calls what it does not inline.
"""

import re
import sys

VECTOR = re.compile(r"\bv\d+\.|\b(?:ld|st)n?p?u?r?p?\tq\d+")
BRANCH = re.compile(r"(?:b(?:\.\w+)?|cbn?z|tbn?z)\t(?:.*, )?([0-9a-f]+) <")
CODE = re.compile(r" *([0-9a-f]+):\t(.*)")


def functions(lines):
    """Names, and (address, instruction) pairs."""
    name, body = "", []
    for line in lines:
        if heading := re.fullmatch(r"[0-9a-f]+ <(.*)>:", line.rstrip()):
            yield name, body
            name, body = heading[1], []
        elif code := CODE.match(line):
            body.append((int(code[1], 16), code[2]))
    yield name, body


def vector_loop(body):
    """Vector instructions and all instructions of the innermost loop with the most vector instructions."""
    branches = ((address, BRANCH.match(code)) for address, code in body)
    loops = {(int(branch[1], 16), address) for address, branch in branches if branch and int(branch[1], 16) <= address}
    inner = [a for a in loops if not any(a[0] <= b[0] and b[1] <= a[1] for b in loops - {a})]
    codes = [[code for address, code in body if first <= address <= last] for first, last in inner]
    return max(((sum(bool(VECTOR.search(code)) for code in loop), len(loop)) for loop in codes), default=(0, 0))


with open(sys.argv[1]) as file:
    loop = " as wgpu_cast::cpu::cast_loop::CastLoop>::convert_steps"
    casts = [(*vector_loop(body), name) for name, body in functions(file) if loop in name]
if not casts:
    sys.exit("no casts found: was the library built with -C symbol-mangling-version=v0?")
for vectors, instructions, name in sorted(casts, key=lambda cast: cast[0] / max(cast[1], 1)):
    print(f"{vectors:5} {instructions:5}  {re.sub(r'wgpu_cast::cpu::(?:[a-z_0-9]+::)*', '', name)}")
