/* SPDX-License-Identifier: MIT */
/* What a process that has ended has used, with those of its descendants that were waited for. */
#ifndef SPEX_MEASURE_USAGE_H
#define SPEX_MEASURE_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Those from SPEX_USAGE_IO on are of /proc/PID/io. */
enum { SPEX_USAGE_IO = 5, SPEX_USAGE_COUNTS = 9 };

struct spex_usage {
    bool known; /* else all is 0 */
    double user_seconds;
    double system_seconds;
    bool io_known; /* /proc/PID/io, which not everyone may read, could be read */
    union {
        uint64_t counts[SPEX_USAGE_COUNTS];
        struct {
            /* Of the largest of the processes; what spex had at the fork counts, too. */
            uint64_t max_rss_bytes;
            uint64_t minor_faults;
            uint64_t major_faults;
            uint64_t voluntary_switches;
            uint64_t involuntary_switches;

            /* Of /proc/PID/io: by system calls, */
            uint64_t read_bytes;
            uint64_t written_bytes;
            /* and from and to what lies below the page cache. */
            uint64_t storage_read_bytes;
            uint64_t storage_written_bytes;
        };
    };
};

/* Of the counts, in their order: keys of JSON objects, columns of the store. */
extern const char *const spex_usage_names[SPEX_USAGE_COUNTS];

/* Whether a count is known, of a usage that is. */
static inline bool spex_usage_count_known(const struct spex_usage *usage, unsigned count) {
    return count < SPEX_USAGE_IO || usage->io_known;
}

/* Waits for a child and takes what it has used. */
void spex_usage_reap(pid_t pid, struct spex_usage *usage);

#endif
