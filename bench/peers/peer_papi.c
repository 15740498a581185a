/* SPDX-License-Identifier: MIT */
/* PAPI: a counter that every machine has, read at the begin and at the end, and PAPI's clock. */
#include <papi.h>

#include "peer.h"

enum { KEPT = 4096 };

static struct { long long begin, begin_value, end, end_value; } kept[KEPT];

static int events = PAPI_NULL;

/* clang-format off */
PEER_LOOP(pairs, kept[i % KEPT].begin = PAPI_get_real_cyc();
          PAPI_read(events, &kept[i % KEPT].begin_value); PEER_WORK();
          PAPI_read(events, &kept[i % KEPT].end_value); kept[i % KEPT].end = PAPI_get_real_cyc();)
/* clang-format on */

/* The event is one of PAPI's part perf_event, which does not start on all machines. */
static const char *why(int status) {
    int part = PAPI_get_component_index("perf_event");
    const PAPI_component_info_t *info = part < 0 ? NULL : PAPI_get_component_info(part);
    return info && info->disabled ? info->disabled_reason : PAPI_strerror(status);
}

static const char *start(void) {
    int status = PAPI_library_init(PAPI_VER_CURRENT);
    if (status != PAPI_VER_CURRENT)
        return "PAPI_library_init has failed";
    status = PAPI_create_eventset(&events);
    if (status == PAPI_OK)
        status = PAPI_add_named_event(events, "perf::PAGE-FAULTS");
    if (status == PAPI_OK)
        status = PAPI_start(events);
    return status == PAPI_OK ? NULL : why(status);
}

const struct peer_case peer_cases[] = {{.name = "read", .pairs = pairs, .start = start},
                                       {.name = NULL}};
