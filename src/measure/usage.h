/* SPDX-License-Identifier: MIT */
/* Resources that an ended process has used, with those of its descendants that were waited for. */
#ifndef SPEX_MEASURE_USAGE_H
#define SPEX_MEASURE_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Counts from SPEX_USAGE_IO on are those of /proc/PID/io. */
enum { SPEX_USAGE_IO = 5, SPEX_USAGE_COUNTS = 9 };

struct spex_usage {
    /* False: all values are 0. */
    bool known;
    double user_seconds;
    double system_seconds;
    /* /proc/PID/io could be read, which needs permission. */
    bool io_known;
    union {
        uint64_t counts[SPEX_USAGE_COUNTS];
        struct {
            /* Peak memory of the largest process; it includes that of spex at the fork. */
            uint64_t max_rss_bytes;
            uint64_t minor_faults;
            uint64_t major_faults;
            uint64_t voluntary_switches;
            uint64_t involuntary_switches;

            /* From /proc/PID/io: bytes of read and write system calls. */
            uint64_t read_bytes;
            uint64_t written_bytes;
            /* From /proc/PID/io: bytes from and to storage, below the page cache. */
            uint64_t storage_read_bytes;
            uint64_t storage_written_bytes;
        };
    };
};

/* Names of the counts, in their order: keys in JSON, columns of the store. */
extern const char *const spex_usage_names[SPEX_USAGE_COUNTS];

/* Returns whether the count is known, in a usage that is known. */
static inline bool spex_usage_count_known(const struct spex_usage *usage, unsigned count) {
    return count < SPEX_USAGE_IO || usage->io_known;
}

/* Resources of a command that a criterion can be about. */
enum spex_resource {
    SPEX_RESOURCE_WALL,
    SPEX_RESOURCE_CPU,
    SPEX_RESOURCE_MEMORY,
    SPEX_RESOURCE_FAULTS,
    SPEX_RESOURCE_SWITCHES,
    SPEX_RESOURCES
};

/* What they are called in a space ("wall") and by people ("wall time"), and their units. */
extern const struct spex_resource_kind {
    const char *name, *label, *unit;
} spex_resource_kinds[SPEX_RESOURCES];

/* SPEX_RESOURCES: none has this name. */
enum spex_resource spex_resource_named(const char *name);

/* What a command that took so many seconds has used of a resource; NaN: it is not known. */
double spex_usage_resource(const struct spex_usage *usage, double seconds,
                           enum spex_resource resource);

/* Bytes below which the memory of a child cannot be told: the kernel counts what this process had
 * when it started the child. */
double spex_usage_memory_floor(void);

/* Waits for a child to end and fills in its usage. */
void spex_usage_reap(pid_t pid, struct spex_usage *usage);

#endif
