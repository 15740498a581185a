/* SPDX-License-Identifier: MIT */
/* What the instances of a fleet have measured, summed over all of them. The last profile of each
 * one counts, once: an instance is a collection of a program in a process of a boot of a host. What
 * is known to be over, or was silent for long, is joined with others that are; their names are
 * kept, so that nothing counts twice. Without a clock and a network: callers bring messages and
 * times.
 *
 * Histograms are added bucket by bucket, so that quantiles are those of all records put together.
 * Times are in the clock of the first instance: those of one that counts differently (by more than
 * 0.1 %) go where the middle of their bucket goes. */
#ifndef SPEX_FLEET_LEAD_FLEET_SUMS_H
#define SPEX_FLEET_LEAD_FLEET_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "fleet/decide/message.h"
#include "fleet/lead/profile_message.h"
#include "fleet/lead/reported_row.h"
#include "text/error.h"

/* Most bytes, instances that are kept apart, and names of those that are over. */
#define SPEX_FLEET_SUMS_BYTES (UINT64_C(512) << 20)
enum { SPEX_FLEET_SUMS_INSTANCES = 100000, SPEX_FLEET_SUMS_OVER = 65536 };

/* Seconds of silence after which an instance is joined with those that are over; and the fewest,
 * where there is no room for others. */
#define SPEX_FLEET_SUMS_SILENT 3600.0
#define SPEX_FLEET_SUMS_LEAST  60.0

/* How a profile was not taken, beside negative errno values. */
enum spex_fleet_refused {
    SPEX_FLEET_TAKEN,
    /* It is older than what is known. */
    SPEX_FLEET_STALE,
    /* Its instance was counted as over. */
    SPEX_FLEET_OVER,
    /* There is no room for it. */
    SPEX_FLEET_NO_ROOM
};

struct spex_fleet_reports_instance {
    uint64_t id;
    char host[SPEX_FLEET_NAME_BYTES];
    struct spex_fleet_reports_by by;
    uint64_t began_ns;
    /* When its last message came, and how long its collection had lasted then. */
    double heard, seconds;
    uint32_t threads;
    char program[SPEX_PROFILE_NAME_BYTES];
    struct spex_reported_types types;
    /* By the probes' numbers. */
    struct spex_reported_row *rows;
    size_t count;
};

struct spex_fleet_sums {
    uint64_t bytes_most, bytes;
    double ticks_per_second;
    /* All probes that were told, by their numbers: what names them alone. */
    struct spex_profile_probe *probes;
    size_t probe_count;
    struct spex_fleet_reports_instance *instances;
    size_t count;
    /* The sum of those that are over, their number, and the ids of the last ones. */
    struct spex_fleet_reports_instance gone;
    uint64_t gone_count;
    uint64_t *over;
    size_t over_next;
    /* Messages, and those that were not taken, by enum spex_fleet_refused. */
    uint64_t messages, refused[SPEX_FLEET_NO_ROOM + 1];
    size_t probes_left_out;
};

void spex_fleet_sums_init(struct spex_fleet_sums *sums);
void spex_fleet_sums_free(struct spex_fleet_sums *sums);

/* Takes what an agent has told. An enum spex_fleet_refused, or -ENOMEM. */
int spex_fleet_sums_take(struct spex_fleet_sums *sums, const char *host,
                         const struct spex_fleet_reports_by *by, const struct spex_profile *profile,
                         double now);

/* Joins those that were silent for long with those that are over. 0 or -ENOMEM. */
int spex_fleet_sums_age(struct spex_fleet_sums *sums, double now);

/* The last one of the process; NULL: there is none. */
const struct spex_fleet_reports_instance *spex_fleet_sums_find(const struct spex_fleet_sums *sums,
                                                               const char *host, int32_t process);

/* The reports about a probe: those of one instance, or, with NULL, of the whole fleet. */
struct spex_fleet_sum {
    /* With one row and the costs of the clocks. */
    struct spex_profile profile;
    struct spex_reported_between between;
    /* How many have told of it; 0: none, and the rest is empty. */
    size_t instances;
};

/* 0 or -ENOMEM. Free the sum by spex_profile_free. */
int spex_fleet_sums_of(const struct spex_fleet_sums *sums, size_t probe,
                       const struct spex_fleet_reports_instance *instance,
                       struct spex_fleet_sum *sum);

#endif
