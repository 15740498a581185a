/* SPDX-License-Identifier: MIT */
/* Divides the CPUs that the process may use into parts, core by core, by the topology in sysfs. */
#define _GNU_SOURCE
#include "explore/trial/cpu_parts.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Divides cores, in the order of their first CPUs, into parts of equally many. A core counts as one
 * even if only some of its CPUs are ours; *cpus is the number of CPUs of the smallest part.
 * O(count²), without reading the machine, so that tests can pass any topology. */
int spex_cpu_parts_divide(const size_t *cores, size_t count, size_t parts, size_t *part_of,
                          size_t *cpus) {
    size_t core_count = 0;
    /* The number of each CPU's core, in the order of cores. */
    size_t *order = calloc(count ? count : 1, sizeof(*order));
    size_t *sizes = calloc(parts ? parts : 1, sizeof(*sizes));
    int err = order && sizes ? 0 : -ENOMEM;
    for (size_t c = 0; c < count && !err; c++) {
        size_t same = 0;
        while (cores[same] != cores[c])
            same++;
        order[c] = same == c ? core_count++ : order[same];
    }
    if (!err && (parts == 0 || core_count < parts))
        err = -EINVAL;
    for (size_t c = 0; c < count && !err; c++) {
        size_t part = order[c] / (core_count / parts);
        part_of[c] = part < parts ? part : SIZE_MAX;
        if (part < parts)
            sizes[part]++;
    }
    *cpus = SIZE_MAX;
    for (size_t p = 0; p < parts && !err; p++)
        *cpus = sizes[p] < *cpus ? sizes[p] : *cpus;
    free(order);
    free(sizes);
    return err;
}

/* The lowest CPU of the same core, from sysfs; the CPU itself where the kernel does not tell. */
static size_t core_of(size_t cpu) {
    char path[96];
    char line[32] = "";
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%zu/topology/thread_siblings_list",
             cpu);
    FILE *in = fopen(path, "re");
    if (!in)
        return cpu;
    char *got = fgets(line, sizeof(line), in), *end;
    fclose(in);
    unsigned long first = strtoul(line, &end, 10); /* the first of "0-1" or "0,4" */
    return got && end != line ? first : cpu;
}

/* CPUs that are left over are in no part and stay idle, so that all parts have as many cores. */
static int parts_divide_cpus(const cpu_set_t *ours, struct spex_cpu_parts *parts,
                             struct spex_error *error) {
    size_t cpus[CPU_SETSIZE], cores[CPU_SETSIZE], part_of[CPU_SETSIZE], count = 0;
    for (size_t c = 0; c < CPU_SETSIZE; c++)
        if (CPU_ISSET(c, ours)) {
            cpus[count] = c;
            cores[count++] = core_of(c);
        }
    int err = spex_cpu_parts_divide(cores, count, parts->count, part_of, &parts->cpus);
    if (err == -EINVAL)
        return spex_fail(error, err,
                         "%zu trials at a time would disturb each other on %zu CPUs: at most one a "
                         "core was expected, or that they may share CPUs",
                         parts->count, count);
    for (size_t c = 0; c < count && !err; c++)
        if (part_of[c] < parts->count)
            CPU_SET(cpus[c], &parts->parts[part_of[c]]);
    return err ? spex_fail(error, err, "out of memory") : 0;
}

/* Only CPUs that this process may use are divided, as a container or taskset has set them. */
int spex_cpu_parts_make(size_t count, struct spex_cpu_parts *parts, struct spex_error *error) {
    cpu_set_t ours;
    *parts = (struct spex_cpu_parts){.parts = calloc(count, sizeof(cpu_set_t)), .count = count};
    int err = parts->parts ? 0 : spex_fail(error, -ENOMEM, "out of memory");
    if (!err && sched_getaffinity(0, sizeof(ours), &ours) < 0)
        err = spex_fail(error, -errno, "cannot tell which CPUs may be used: %s", strerror(errno));
    err = err ? err : parts_divide_cpus(&ours, parts, error);
    if (err)
        spex_cpu_parts_free(parts);
    return err;
}

void spex_cpu_parts_free(struct spex_cpu_parts *parts) {
    free(parts->parts);
    *parts = (struct spex_cpu_parts){NULL, 0, 0};
}
