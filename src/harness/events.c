/* SPDX-License-Identifier: MIT */
#include "harness/events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spex/probe.h>

#include "text/message.h"
#include "text/printable.h"

static int event_add(struct spex_bench_events *events, const char *name, enum spex_counter counter,
                     unsigned value) {
    if (events->count == SPEX_BENCH_EVENTS_MAX) {
        spex_message("--benchmark_perf_counters: %d events at most were expected",
                     SPEX_BENCH_EVENTS_MAX);
        return -E2BIG;
    }
    struct spex_bench_event *event = &events->items[events->count++];
    *event = (struct spex_bench_event){.counter = counter, .value = value};
    snprintf(event->name, sizeof(event->name), "%s", name);
    spex_make_printable(event->name);
    return 0;
}

/* What is called here writes why an event cannot be counted. */
static int event_take(struct spex_bench_events *events, const char *name, unsigned *pcid) {
    enum spex_counter counter = strcmp(name, "faults") == 0     ? SPEX_COUNTER_FAULTS
                                : strcmp(name, "switches") == 0 ? SPEX_COUNTER_SWITCHES
                                : strcmp(name, "llc") == 0      ? SPEX_COUNTER_LLC
                                                                : SPEX_COUNTER_PERFCNTR;
    int err = 0;
    if (counter == SPEX_COUNTER_PERFCNTR) {
        if (*pcid == SPEX_PERFCNTRS) {
            spex_message("--benchmark_perf_counters: %d events by name at most were expected",
                         SPEX_PERFCNTRS);
            return -E2BIG;
        }
        err = spex_perfcntr_set_name(*pcid, name);
        counter += (*pcid)++;
    }
    err = err ? err : spex_counters_prepare(counter);
    if (!err && counter == SPEX_COUNTER_LLC)
        err = event_add(events, "llc_references", counter, 0);
    return err ? err
               : event_add(events, counter == SPEX_COUNTER_LLC ? "llc_misses" : name, counter,
                           counter == SPEX_COUNTER_LLC);
}

int spex_bench_events_take(struct spex_bench_events *events, const char *list) {
    unsigned pcid = 0;
    int err = 0;
    *events = (struct spex_bench_events){.count = 0};
    char *copy = strdup(list ? list : "");
    if (!copy)
        return -ENOMEM;
    for (char *rest = NULL, *name = strtok_r(copy, ",", &rest); name && !err;
         name = strtok_r(NULL, ",", &rest)) {
        err = event_take(events, name, &pcid);
        if (err)
            spex_message("--benchmark_perf_counters: \"%s\" cannot be counted here: %s", name,
                         strerror(-err));
    }
    free(copy);
    return err;
}
