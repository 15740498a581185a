/* SPDX-License-Identifier: MIT */
/* Prepares a type of probes when the first of its sites is switched on: on the thread that does so,
 * with the registry's lock held. */
#include "probe/type_setup.h"

#include <errno.h>
#include <stdio.h>

#include <spex/record.h>
#include <spex/spex.h>

#include "base/process.h"
#include "base/uninterrupted.h"
#include "counters/counters.h"
#include "probe/calibration.h"
#include "probe/open_spans.h"
#include "probe/recording.h"
#include "ring/rings.h"
#include "site/registry.h"
#include "text/message.h"

/* Costs are measured. Set before any site is on. */
static bool is_calibrating;

/* Returns the counter that a type reads; SPEX_COUNTERS for types that read none. */
static enum spex_counter type_counter(uint32_t type, unsigned detail) {
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

static void sites_have_no_memory(void) {
    static bool told;
    if (!told)
        spex_message("no memory for the counts of %u sites: some stay off", spex_sites_count());
    told = true;
}

/* Called by the registry before a site goes on, by one thread at a time. A type is prepared once,
 * but PERFCNTR may come again with another counter. */
static bool type_prepare(uint32_t type, unsigned detail) {
    enum spex_counter counter = type_counter(type, detail);
    if (!spex_threads_provide()) {
        sites_have_no_memory();
        return false;
    }
    if (!type) {
        if (is_calibrating)
            spex_calibrate_region();
        return true;
    }
    if (!(spex_rings_used() & type))
        spex_rings_touch(type);
    if (type == SPEX_SPAN && spex_open_spans_prepare() != 0)
        spex_message("no memory for open spans: none will be recorded");
    /* spex_counters_prepare has written why the counter is not available; its records are marked.
     * Their cost would be that of a failure, so it is not measured. */
    bool available = counter == SPEX_COUNTERS || spex_counters_prepare(counter) == 0;
    if (is_calibrating && available)
        spex_calibrate(type, detail);
    return true;
}

void spex_type_setup_begin(bool calibrate) {
    is_calibrating = calibrate;
    spex_sites_prepare_types(type_prepare);
}

/* Part of the public interface (spex/spex.h). */
int spex_describe(uint32_t type, unsigned pcid, char *text, size_t size) {
    if (!spex_probe_type_valid(type) || pcid >= SPEX_PERFCNTRS)
        return -EINVAL;
    if (spex_process_is_unknown())
        return -ENOTRECOVERABLE;
    enum spex_counter counter = type_counter(type, pcid);
    struct spex_uninterrupted before;
    spex_uninterrupted_begin(&before);
    if (counter == SPEX_COUNTERS)
        snprintf(text, size, "%s", spex_probe_type_ticks(type) ? "time stamp counter" : "");
    else
        spex_counters_describe(counter, text, size);
    spex_uninterrupted_end(&before);
    return 0;
}
