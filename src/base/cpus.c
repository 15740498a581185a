/* SPDX-License-Identifier: MIT */
/* Reads the kernel's list of possible CPUs. sysconf() is only the second choice, because it counts
 * the CPUs, whose numbers may have gaps. */
#define _GNU_SOURCE
#include "base/cpus.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"

/* Returns the last number of a list such as "0-3,8-11". */
static unsigned cpu_list_last(const char *list) {
    size_t length = strcspn(list, "\n");
    while (length > 0 && list[length - 1] >= '0' && list[length - 1] <= '9')
        length--;
    return (unsigned)strtoul(list + length, NULL, 10);
}

unsigned spex_cpus_possible(void) {
    char list[4096];
    if (spex_descriptor_read_path("/sys/devices/system/cpu/possible", list, sizeof(list)) > 0)
        return cpu_list_last(list) + 1;
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    return cpus > 0 ? (unsigned)cpus : 1;
}
