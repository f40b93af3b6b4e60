"""The table of `benches/chains.rs`: models that cast host tensors several times, on the adapter and on the CPU."""

from report import table


def markdown(lines: list[dict]) -> str:
    head, *lines = lines
    sizes = [line for line in lines if "elements" in line]
    rows = [
        [
            line["chain"].replace(">", "→"),
            f"{line['bytes'] / 2**20:,.2f}",
            f"{line['gpu'] * 1e3:.3f}",
            f"{line['cpu'] * 1e3:.3f}",
            f"{line['cpu'] / line['gpu']:.2f}",
        ]
        for line in sizes
    ]
    found = {line["chain"]: line["gpu_faster_from_bytes"] for line in lines if "gpu_faster_from_bytes" in line}
    parts = [
        f"{head['adapter']}, {head['machine']}; {head['threads']} threads; milliseconds, medians of {head['runs']} runs.",
        head["note"],
        table(["chain", "MiB read and written", "GPU", "CPU", "CPU / GPU"], rows),
        *(crossover(chain, bytes) for chain, bytes in found.items()),
    ]
    return "\n\n".join(part.strip() for part in parts if part)


def crossover(chain: str, bytes: int | None) -> str:
    faster = "the CPU is faster at every size" if bytes is None else f"the GPU is faster from {bytes:,} bytes on"
    return f"{chain.replace('>', '→')}: {faster}."
