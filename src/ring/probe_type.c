/* SPDX-License-Identifier: MIT */
/* The table of probe types. A new type is a row at its end. */
#include "ring/probe_type.h"

#include <string.h>

/* The types by the number of their ring, which is the number of the type's bit. `values` is the
 * most values that a record stores beside its weight. */
static const struct {
    uint32_t type;
    const char *name;
    uint32_t values;
} probe_types[SPEX_PROBE_TYPES] = {
    {SPEX_CNT, "cnt", 0},
    {SPEX_LAT, "lat", 1},
    {SPEX_TPT, "tpt", 1},
    {SPEX_SNAPSHOT, "snapshot", SPEX_MAX_FIELDS},
    {SPEX_LLC, "llc", 2},
    {SPEX_FLT, "flt", 1},
    {SPEX_CTXSW, "ctxsw", 1},
    {SPEX_PERFCNTR, "perfcntr", 1},
    {SPEX_KERNEL, "kernel", SPEX_MAX_FIELDS},
    {SPEX_SPAN, "span", 2},
};

uint32_t spex_probe_type_of_ring(unsigned ring) {
    return probe_types[ring].type;
}

const char *spex_probe_type_name(uint32_t type) {
    for (unsigned i = 0; i < SPEX_PROBE_TYPES; i++)
        if (probe_types[i].type == type)
            return probe_types[i].name;
    return "?";
}

uint32_t spex_probe_type_named(const char *name, size_t length) {
    for (unsigned i = 0; i < SPEX_PROBE_TYPES; i++)
        if (strlen(probe_types[i].name) == length && memcmp(probe_types[i].name, name, length) == 0)
            return probe_types[i].type;
    return 0;
}

uint32_t spex_probe_type_values(uint32_t type) {
    return probe_types[spex_probe_type_ring(type)].values;
}
