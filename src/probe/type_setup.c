/* SPDX-License-Identifier: MIT */
#include "probe/type_setup.h"

#include <errno.h>
#include <stdio.h>

#include <spex/record.h>
#include <spex/spex.h>

#include "counters/counters.h"
#include "probe/calibration.h"
#include "probe/recording.h"
#include "ring/rings.h"
#include "site/registry.h"

static bool is_calibrating;

/* The counter that a type reads; SPEX_COUNTERS for those that read none. */
static enum spex_counter counter_of(uint32_t type, unsigned detail) {
    switch (type) {
    case SPEX_FLT:
        return SPEX_COUNTER_FAULTS;
    case SPEX_CTXSW:
        return SPEX_COUNTER_SWITCHES;
    case SPEX_LLC:
    case SPEX_PERFCNTR:
        return spex_counter_of(type, detail);
    default:
        return SPEX_COUNTERS;
    }
}

/* The registry lets one caller at a time do this, for a type or for another counter of PERFCNTR. */
static void prepare_type(uint32_t type, unsigned detail) {
    enum spex_counter counter = counter_of(type, detail);
    if (!(spex_rings_used() & type))
        spex_rings_touch(type);
    /* A counter that is not available here has said so; its records will, too. */
    if (counter != SPEX_COUNTERS && spex_counters_prepare(counter) != 0)
        return;
    if (is_calibrating)
        spex_calibrate(type, detail);
}

void spex_type_setup_begin(bool calibrate) {
    is_calibrating = calibrate;
    spex_sites_prepare_types(prepare_type);
}

int spex_describe(uint32_t type, unsigned pcid, char *text, size_t size) {
    if (!spex_probe_type_valid(type) || pcid >= SPEX_PERFCNTRS)
        return -EINVAL;
    enum spex_counter counter = counter_of(type, pcid);
    if (counter == SPEX_COUNTERS)
        snprintf(text, size, "%s", spex_probe_type_ticks(type) ? "time stamp counter" : "");
    else
        spex_counters_describe(counter, text, size);
    return 0;
}
