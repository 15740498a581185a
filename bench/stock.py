#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How right models are that `spex train` makes of functions of libraries that know nothing of spex.

A program calls functions of zlib, zstd and SQLite, as the system has them, with sizes that chance chooses. How the time of each
depends on its arguments follows from its source: in proportion to a length, or not at all. Functions that are not there, or cannot
be timed, are left out, and named.

usage: stock.py [--json] [--calls N] [--seed N] [--page JSON] SPEX
"""

import argparse
import ctypes
import json
import os
import random
import subprocess
import sys
import tempfile

from page import page_of, tell

MOST = 200_000
LEVEL = 1

# Of each library its name, and functions: with their arguments as `spex train` takes them, the argument by which the time grows in
# proportion ("": by none), and why, as the sources tell.
ZLIB = {
    "crc32_z": ("_,_,n", "n", "a loop over the bytes"),
    "adler32_z": ("_,_,n", "n", "a loop over the bytes"),
    "compress2": ("_,_,_,n,level", "n", "each byte is looked at"),
    "uncompress": ("_,_,_,n", "n", "each byte is decoded"),
    "compressBound": ("n", "", "arithmetic"),
    "adler32_combine": ("_,_,n", "", "arithmetic"),
    "zlibCompileFlags": ("", "", "constants"),
    "zError": ("n:i32", "", "a table"),
}
ZSTD = {
    "ZSTD_compress": ("_,_,_,n,level:i32", "n", "each byte is looked at"),
    "ZSTD_decompress": ("_,_,_,n", "n", "each byte is decoded"),
    "ZSTD_compressBound": ("n", "", "arithmetic"),
    "ZSTD_isError": ("n", "", "a comparison"),
    "ZSTD_getFrameContentSize": ("_,n", "", "a header"),
    "ZSTD_findFrameCompressedSize": ("_,n", "n", "headers of blocks of a fixed size"),
    "ZSTD_createCCtx": ("", "", "an allocation"),
    "ZSTD_freeCCtx": ("", "", "a release"),
    "ZSTD_estimateCCtxSize": ("level:i32", "level", "a loop over the levels up to it"),
    "ZSTD_getErrorName": ("n", "", "a table"),
}
SQLITE = {
    "sqlite3_randomness": ("n:i32,_", "n", "a loop over the bytes"),
    "sqlite3_strnicmp": ("_,_,n:i32", "n", "a loop over the characters"),
    "sqlite3_bind_blob": ("_,_,_,n:i32,_", "n", "a copy"),
    "sqlite3_blob_read": ("_,_,n:i32,at:i32", "n", "a copy of pages"),
    "sqlite3_blob_write": ("_,_,n:i32,at:i32", "n", "a copy to pages"),
    "sqlite3_memory_used": ("", "", "a counter"),
    "sqlite3_libversion_number": ("", "", "a constant"),
    "sqlite3_keyword_check": ("_,n:i32", "", "a hash of three characters"),
    "sqlite3_compileoption_get": ("n:i32", "", "a table"),
    "sqlite3_errmsg": ("", "", "a table"),
    "sqlite3_reset": ("", "", "a statement that has not begun"),
    "sqlite3_changes": ("", "", "a member"),
    "sqlite3_msize": ("", "", "a member"),
}
LIBRARIES = {"libz.so.1": ZLIB, "libzstd.so.1": ZSTD, "libsqlite3.so.0": SQLITE}


def text_of(size, chance):
    """What compresses to a half or so, in the same way at each place."""
    return bytes(chance.choices(b"etaoin shrdlu", k=size))


class Driver:
    """Calls each function by the C interface, with no other library between."""

    def __init__(self, calls, seed):
        self.chance, self.calls = random.Random(seed), calls
        self.text = text_of(MOST, self.chance)
        self.out, self.back = ctypes.create_string_buffer(2 * MOST), ctypes.create_string_buffer(2 * MOST)
        self.text_at = ctypes.c_char_p(self.text)

    def sizes(self):
        """As many of each magnitude as of all lengths."""
        sizes = [int(10 ** self.chance.uniform(1, 5.3)) for _ in range(self.calls // 2)]
        sizes += [self.chance.randrange(1, MOST) for _ in range(self.calls // 2)]
        self.chance.shuffle(sizes)
        return [min(size, MOST) for size in sizes]

    def zlib(self):
        z, length = ctypes.CDLL("libz.so.1"), ctypes.c_ulong()
        for n in self.sizes():
            z.crc32_z(0, self.text_at, ctypes.c_size_t(n))
            z.adler32_z(0, self.text_at, ctypes.c_size_t(n))
            length.value = 2 * MOST
            z.compress2(self.out, ctypes.byref(length), self.text_at, ctypes.c_ulong(n), LEVEL)
            packed, length.value = length.value, 2 * MOST
            z.uncompress(self.back, ctypes.byref(length), self.out, ctypes.c_ulong(packed))
            z.compressBound(ctypes.c_ulong(n))
            z.adler32_combine(1, 1, ctypes.c_long(n))
            z.zlibCompileFlags()
            z.zError(n % 7 - 6)

    def zstd(self):
        z = ctypes.CDLL("libzstd.so.1")
        z.ZSTD_compress.restype = z.ZSTD_createCCtx.restype = ctypes.c_size_t
        for n in self.sizes():
            packed = z.ZSTD_compress(self.out, ctypes.c_size_t(2 * MOST), self.text_at, ctypes.c_size_t(n), LEVEL)
            z.ZSTD_decompress(self.back, ctypes.c_size_t(2 * MOST), self.out, ctypes.c_size_t(packed))
            z.ZSTD_compressBound(ctypes.c_size_t(n))
            z.ZSTD_isError(ctypes.c_size_t(n))
            z.ZSTD_getFrameContentSize(self.out, ctypes.c_size_t(packed))
            z.ZSTD_findFrameCompressedSize(self.out, ctypes.c_size_t(packed))
            z.ZSTD_freeCCtx(ctypes.c_size_t(z.ZSTD_createCCtx()))
            z.ZSTD_estimateCCtxSize(1 + n % 19)
            z.ZSTD_getErrorName(ctypes.c_size_t(n))

    def sqlite(self):
        s, base, statement, blob = ctypes.CDLL("libsqlite3.so.0"), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        s.sqlite3_malloc.restype = ctypes.c_void_p
        s.sqlite3_open(b":memory:", ctypes.byref(base))
        s.sqlite3_exec(base, b"CREATE TABLE t(b); INSERT INTO t VALUES(zeroblob(%d))" % MOST, None, None, None)
        s.sqlite3_blob_open(base, b"main", b"t", b"b", ctypes.c_int64(1), 1, ctypes.byref(blob))
        s.sqlite3_prepare_v2(base, b"SELECT ?", -1, ctypes.byref(statement), None)
        memory = ctypes.c_void_p(s.sqlite3_malloc(1000))
        for n in self.sizes():
            s.sqlite3_randomness(n, self.out)
            s.sqlite3_strnicmp(self.text_at, self.text_at, n)
            s.sqlite3_bind_blob(statement, 1, self.text_at, n, ctypes.c_void_p(-1))
            s.sqlite3_blob_read(blob, self.out, n, 0)
            s.sqlite3_blob_write(blob, self.text_at, n, 0)
            s.sqlite3_memory_used()
            s.sqlite3_libversion_number()
            s.sqlite3_keyword_check(b"selects" * 9, n % 60)
            s.sqlite3_compileoption_get(n % 30)
            s.sqlite3_errmsg(base)
            s.sqlite3_reset(statement)
            s.sqlite3_changes(base)
            s.sqlite3_msize(memory)


def drive(options):
    driver = Driver(options.calls, options.seed)
    for library in (driver.zlib, driver.zstd, driver.sqlite):
        try:
            library()
        except OSError as missing:
            print(missing, file=sys.stderr)


def chosen():
    for library, functions in LIBRARIES.items():
        for name, (arguments, grows, why) in functions.items():
            yield library, name, arguments, grows, why


def models_of(options):
    """{function: its model} of one run, and what was said."""
    functions = ",".join(f"func:{library}:{name}" + (f"({arguments})" if arguments else "") for library, name, arguments, *_ in chosen())
    with tempfile.TemporaryDirectory() as folder:
        # Libraries that a program loads itself are found within a second; these are there from the begin.
        result = subprocess.run([options.spex, "train", os.path.join(folder, "models"), "-e", functions, "-b", "100%", "--json", "--",
                                 sys.executable, os.path.abspath(__file__), "--drive", "--calls", str(options.calls), "--seed",
                                 str(options.seed)], env={**os.environ, "LD_PRELOAD": ":".join(LIBRARIES)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if result.returncode:
        raise SystemExit("stock.py: " + result.stderr)
    return {model["path"]: model for model in json.loads(result.stdout)["models"]}


def row_of(library, name, grows, why, model):
    known = "linear" if grows else "constant"
    return {"library": library, "function": name, "known": known, "by": grows, "why": why, "right": model["class"] == known, **model}


def result_of(options):
    models = models_of(options)
    rows = [row_of(library, name, grows, why, models[name]) for library, name, _, grows, why in chosen() if name in models]
    return {"bench": "stock", "calls": options.calls, "seed": options.seed, "results": rows, "right": sum(row["right"] for row in rows),
            "missing": [f"{library}: {name}" for library, name, *_ in chosen() if name not in models]}


def print_page(result):
    print("\n## Models of functions of libraries, by their arguments (`bench/stock.py`)\n")
    print(f"{result['calls']} calls of each, from Python's ctypes, with sizes up to {MOST:,} that chance chooses, in one run.\n")
    print("| library | function | known | why | class | model | adjusted R² |")
    print("| --- | --- | --- | --- | --- | --- | ---: |")
    for row in result["results"]:
        known = f"linear in {row['by']}" if row["by"] else "constant"
        print(f"| {row['library']} | `{row['function']}` | {known} | {row['why']} | {row['class']}{'' if row['right'] else ' (wrong)'} | "
              f"`{row['model']}` | {row['adjusted_r2']:.3f} |")
    print(f"\n{result['right']} of {len(result['results'])} classes are right.")
    if result["missing"]:
        print(f"Not there, or not timed: {', '.join(result['missing'])}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--calls", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--drive", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--page", metavar="JSON")
    parser.add_argument("spex", nargs="?")
    options = parser.parse_args()
    if options.drive:
        drive(options)
        return
    if options.page:
        page_of(options.page, print_page)
        return
    if not options.spex or options.calls < 2:
        parser.error("SPEX, and 2 calls or more, were expected")
    tell(result_of(options), options.json, print_page)


if __name__ == "__main__":
    main()
