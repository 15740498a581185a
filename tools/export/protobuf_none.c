/* SPDX-License-Identifier: MIT */
/* In the place of perfetto.c and pprof.c where spex is built without protobuf-c. */
#include "tools/export/exporter.h"

const struct spex_exporter spex_export_perfetto = {.name = "perfetto", .lacks = "protobuf-c"};
const struct spex_exporter spex_export_pprof = {.name = "pprof", .lacks = "protobuf-c"};
