/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "attach/tasks/cpu_meter.h"

#include <dirent.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_event(pid_t thread) {
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.size = sizeof(attributes);
    attributes.config = PERF_COUNT_SW_TASK_CLOCK;
    return (int)syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* False: there is no room, or an event is refused. */
static bool add(struct spex_cpu_meter *meter, pid_t thread) {
    int event = meter->count < SPEX_METERED_THREADS_MAX ? open_event(thread) : -1;
    if (event >= 0)
        meter->events[meter->count++] = event;
    return event >= 0;
}

void spex_cpu_meter_open(struct spex_cpu_meter *meter, pid_t process) {
    char path[64];
    const struct dirent *entry;
    bool all = true;
    meter->count = 0;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
    DIR *threads = opendir(path);
    while (threads && all && (entry = readdir(threads))) {
        pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
        all = thread <= 0 || add(meter, thread);
    }
    if (threads)
        closedir(threads);
    if (!all)
        spex_cpu_meter_close(meter);
}

void spex_cpu_meter_close(struct spex_cpu_meter *meter) {
    while (meter->count)
        close(meter->events[--meter->count]);
}

double spex_cpu_meter_read(const struct spex_cpu_meter *meter) {
    double sum = 0;
    for (unsigned e = 0; e < meter->count; e++) {
        uint64_t ns;
        if (read(meter->events[e], &ns, sizeof(ns)) != sizeof(ns))
            return -1;
        sum += (double)ns / 1e9;
    }
    return meter->count ? sum : -1;
}
