#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rooms of libspex.a take memory by base/memory/memory.h, since threads of spex must not use the C library's heap.

    own_memory.py SOURCE_ROOT
"""

import pathlib
import re
import sys

# Below base/memory.
BELOW = {"text", "base", "base/memory"}
OTHERS = re.compile(r"(?<![\w>.])(?:malloc|calloc|realloc|reallocarray|free|strdup|strndup|v?asprintf|open_memstream|qsort)\(")
# Comments and texts.
NO_CODE = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\])*"', re.DOTALL)
# Of the program's threads alone, or of a thread that a command or the program has asked for.
ALLOWED = {
    "open_memstream": {"measure/criterion.c", "profile/columns_within.c", "profile/table.c", "serve/end_table.c"},
    "qsort": {"kernels/function_search.c", "measure/steady.c", "measure/in_order.c",
              "probe/calibration.c"},
}


def main(root):
    source = pathlib.Path(root) / "src"
    rooms = re.search(r"^spex_rooms = \{.*?^\}", (source / "meson.build").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    names = [name for name in re.findall(r"^  '([\w/]+)': \[", rooms.group(0), re.MULTILINE) if name not in BELOW]
    errors, files = [], 0
    for path in sorted(path for name in names for path in (source / name).glob("*.[ch]")):
        files += 1
        text = NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found.group(0)), path.read_text(encoding="utf-8"))
        for found in OTHERS.finditer(text):
            what, name = found.group(0)[:-1], str(path.relative_to(source))
            if name not in ALLOWED.get(what, ()):
                errors.append("src/%s:%u: %s of base/memory/memory.h was expected" % (name, text.count("\n", 0, found.start()) + 1, what))
    if files < 100:
        errors.append("only %u files found: is this the right place?" % files)
    print("\n".join(errors) or "%u files" % files)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
