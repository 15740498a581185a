/* SPDX-License-Identifier: MIT */
/* The formats of `spex export`, in the order in which they are listed. */
#ifndef SPEX_TOOLS_EXPORT_FORMATS_H
#define SPEX_TOOLS_EXPORT_FORMATS_H

/* FORMAT(name, what a file's name ends with). */
#define SPEX_EXPORT_FORMATS(FORMAT)                                                                \
    FORMAT(perfetto, "pftrace")                                                                    \
    FORMAT(chrome, "json")                                                                         \
    FORMAT(pprof, "pb.gz")                                                                         \
    FORMAT(folded, "folded")                                                                       \
    FORMAT(flamegraph, "svg")                                                                      \
    FORMAT(csv, "csv")                                                                             \
    FORMAT(sqlite, "db")

#endif
