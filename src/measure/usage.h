/* SPDX-License-Identifier: MIT */
/* What a process that has ended has used, with those of its descendants that were waited for. */
#ifndef SPEX_USAGE_H
#define SPEX_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct spex_usage {
    bool known; /* else all is 0 */
    double user_seconds;
    double system_seconds;
    uint64_t
        max_rss_bytes; /* of the largest of the processes; what spex had at the fork counts, too */
    uint64_t minor_faults;
    uint64_t major_faults;
    uint64_t voluntary_switches;
    uint64_t involuntary_switches;

    /* Of /proc/PID/io, which not everyone may read. */
    bool io_known;
    uint64_t read_bytes; /* by system calls */
    uint64_t written_bytes;
    uint64_t storage_read_bytes; /* from and to what lies below the page cache */
    uint64_t storage_written_bytes;
};

/* Waits for a child and takes what it has used. */
void spex_usage_reap(pid_t pid, struct spex_usage *usage);

#endif
