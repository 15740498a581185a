/* SPDX-License-Identifier: MIT */
/* Resources of a child: rusage has CPU time, memory, faults and switches, /proc/PID/io has bytes
 * read and written. Reading the latter needs permission to trace the process, which is missing for
 * programs of another user or with capabilities. */
#define _GNU_SOURCE
#include "measure/usage.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

const char *const spex_usage_names[SPEX_USAGE_COUNTS] = {
    "max_rss_bytes",      "minor_faults",         "major_faults",
    "voluntary_switches", "involuntary_switches", "read_bytes",
    "written_bytes",      "storage_read_bytes",   "storage_written_bytes",
};

const struct spex_resource_kind spex_resource_kinds[SPEX_RESOURCES] = {
    [SPEX_RESOURCE_WALL] = {"wall", "wall time", "s"},
    [SPEX_RESOURCE_CPU] = {"cpu", "CPU time", "s"},
    [SPEX_RESOURCE_MEMORY] = {"memory", "peak memory", "B"},
    [SPEX_RESOURCE_FAULTS] = {"faults", "page faults", ""},
    [SPEX_RESOURCE_SWITCHES] = {"switches", "context switches", ""},
};

enum spex_resource spex_resource_named(const char *name) {
    unsigned r = 0;
    while (r < SPEX_RESOURCES && strcmp(spex_resource_kinds[r].name, name) != 0)
        r++;
    return (enum spex_resource)r;
}

double spex_usage_resource(const struct spex_usage *usage, double seconds,
                           enum spex_resource resource) {
    if (!usage->known && resource != SPEX_RESOURCE_WALL)
        return NAN;
    switch (resource) {
    case SPEX_RESOURCE_WALL:
        return seconds;
    case SPEX_RESOURCE_CPU:
        return usage->user_seconds + usage->system_seconds;
    case SPEX_RESOURCE_MEMORY:
        return (double)usage->max_rss_bytes;
    case SPEX_RESOURCE_FAULTS:
        return (double)(usage->minor_faults + usage->major_faults);
    default:
        return (double)(usage->voluntary_switches + usage->involuntary_switches);
    }
}

double spex_usage_memory_floor(void) {
    struct rusage own;
    return getrusage(RUSAGE_SELF, &own) == 0 ? (double)own.ru_maxrss * 1024 : 0;
}

/* Notes in *found, by bit, which of the four lines there were. */
static void usage_take_io_line(const char *line, struct spex_usage *usage, unsigned *found) {
    const struct {
        const char *format;
        uint64_t *value;
    } lines[] = {{"rchar: %" SCNu64, &usage->read_bytes},
                 {"wchar: %" SCNu64, &usage->written_bytes},
                 {"read_bytes: %" SCNu64, &usage->storage_read_bytes},
                 {"write_bytes: %" SCNu64, &usage->storage_written_bytes}};
    for (unsigned l = 0; l < sizeof(lines) / sizeof(lines[0]); l++)
        if (sscanf(line, lines[l].format, lines[l].value) == 1)
            *found |= 1U << l;
}

/* /proc/PID/io exists until the process has been waited for. */
static void usage_take_io(pid_t pid, struct spex_usage *usage) {
    char path[64], line[128];
    unsigned found = 0;
    snprintf(path, sizeof(path), "/proc/%d/io", (int)pid);
    FILE *in = fopen(path, "re");
    while (in && fgets(line, sizeof(line), in))
        usage_take_io_line(line, usage, &found);
    if (in)
        fclose(in);
    usage->io_known = found == 0xf;
}

static double timeval_seconds(const struct timeval *time) {
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

/* ru_maxrss is in KiB. */
static void usage_take_resources(const struct rusage *used, struct spex_usage *usage) {
    usage->known = true;
    usage->user_seconds = timeval_seconds(&used->ru_utime);
    usage->system_seconds = timeval_seconds(&used->ru_stime);
    usage->max_rss_bytes = (uint64_t)used->ru_maxrss * 1024;
    usage->minor_faults = (uint64_t)used->ru_minflt;
    usage->major_faults = (uint64_t)used->ru_majflt;
    usage->voluntary_switches = (uint64_t)used->ru_nvcsw;
    usage->involuntary_switches = (uint64_t)used->ru_nivcsw;
}

/* Blocks until the child has ended. If somebody else has waited for it, its usage is not known. */
void spex_usage_reap(pid_t pid, struct spex_usage *usage) {
    siginfo_t ended;
    struct rusage used;
    pid_t got;
    *usage = (struct spex_usage){.known = false};
    /* WNOWAIT leaves the ended process as it is, so that its /proc/PID/io can be read. */
    while (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        ;
    usage_take_io(pid, usage);
    while ((got = wait4(pid, NULL, 0, &used)) < 0 && errno == EINTR)
        ;
    if (got == pid)
        usage_take_resources(&used, usage);
    else
        *usage = (struct spex_usage){.known = false};
}
