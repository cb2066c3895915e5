"""Every crate comes from one registry, under a licence that may be linked into a wheel.

The same as `cargo deny check licenses sources`, without the minutes it takes to build cargo-deny.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys

ALLOWED = {
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "bzip2-1.0.6",
}
METADATA = ["cargo", "metadata", "--locked", "--format-version=1", "--all-features"]


def is_allowed(expression: str) -> bool:
    """Whether an SPDX expression leaves a choice that is allowed; `AND` binds closer than `OR`."""
    expression = expression.replace("/", " OR ")
    while inner := re.search(r"\(([^()]*)\)", expression):
        word = "MIT" if is_allowed(inner[1]) else "refused"
        expression = expression[: inner.start()] + word + expression[inner.end() :]
    choices = re.split(r"\s+OR\s+", expression)
    return any(
        all(part.strip() in ALLOWED for part in re.split(r"\s+AND\s+", choice))
        for choice in choices
    )


def main() -> int:
    found = subprocess.run(METADATA, check=True, capture_output=True, encoding="utf-8")
    packages = json.loads(found.stdout)["packages"]
    sources = {package["source"] for package in packages} - {None}
    registry = {source for source in sources if source.startswith("registry+")}
    faults = [f"crates come from {source}" for source in sources - registry]
    if len(registry) > 1:
        faults.append(f"crates come from several registries: {', '.join(sorted(registry))}")
    for package in packages:
        name = f"{package['name']} {package['version']}"
        if not is_allowed(package["license"] or ""):
            faults.append(f"{name} is under {package['license']!r}, which is not in ALLOWED")
    print("\n".join(faults) or f"{len(packages)} crates, all allowed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
