/* SPDX-License-Identifier: MIT */
#include "serve/report.h"

#include <math.h>

#include "base/clock.h"
#include "collect/collector.h"
#include "rate/controller.h"

/* A report comes after so many seconds, whatever it costs: somebody looks at it. */
#define REST_SECONDS_MOST 10.0

/* The time from this report to the next one. */
static uint64_t report_distance(struct spex_connection *connection) {
    uint64_t interval = (uint64_t)connection->interval_ms * 1000000, early = connection->early_ns;
    connection->early_ns = early < interval ? 2 * early : 0;
    return early && early < interval ? early : interval;
}

/* How long collectors that rest have for a pass before a report. */
#define FETCH_NS 2000000u

/* Whether collectors take in the records first that they have left in the rings, so that the report's
 * times are of the same moment as its counts. */
static bool records_come_first(struct spex_connection *connection) {
    connection->fetches = !connection->fetches && spex_collectors_hurry();
    return connection->fetches;
}

/* A report is left out while the answer before it is still under way, so a slow reader gets fewer
 * and memory stays bounded. Due times keep to the interval; when one has been missed, the next
 * counts from now. */
void spex_report_begin(struct spex_connection *connection, uint64_t now_ns, bool final) {
    if (!connection->reports || spex_connection_busy(connection) ||
        (!final && now_ns < connection->due_ns))
        return;
    uint64_t fetching_ns = connection->fetches ? FETCH_NS : 0;
    if (!final && records_come_first(connection)) {
        connection->due_ns += FETCH_NS;
        return;
    }
    uint64_t distance = report_distance(connection);
    connection->due_ns += distance - fetching_ns;
    if (connection->due_ns < now_ns)
        connection->due_ns = now_ns + distance;
    connection->fetches = false;
    connection->profiling = true;
    spex_reply_profile(&connection->reply, connection->report_number, final);
}

void spex_report_cost(struct spex_connection *connection, uint64_t cost_ns) {
    if (!connection->profiling)
        return;
    connection->cost_ns += cost_ns;
    if (connection->reply.next)
        return;
    double rest = (double)connection->cost_ns / 1e9 / spex_controller_reports();
    connection->rest_ms = (uint32_t)(fmin(rest, REST_SECONDS_MOST) * 1e3);
    connection->profiling = false;
    connection->cost_ns = 0;
    uint64_t due = spex_clock_ns(CLOCK_MONOTONIC) + (uint64_t)connection->rest_ms * 1000000;
    if (connection->rest_ms && due > connection->due_ns)
        connection->due_ns = due;
}
