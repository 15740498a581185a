/* SPDX-License-Identifier: MIT */
/* Moves descriptors to high numbers, and checks that they still are the same file. */
#define _GNU_SOURCE
#include "base/descriptor.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Descriptors are moved to the last quarter of the numbers that the process may have, but of at
 * most so many numbers, because the kernel's table of descriptors grows with the highest one. */
#define NUMBERS_MAX 4096

int spex_descriptor_raise(int number) {
    struct rlimit numbers;
    if (getrlimit(RLIMIT_NOFILE, &numbers) != 0)
        return number;
    rlim_t end = numbers.rlim_cur < NUMBERS_MAX ? numbers.rlim_cur : NUMBERS_MAX;
    int high = fcntl(number, F_DUPFD_CLOEXEC, (int)(end / 4 * 3));
    if (high < 0)
        return number;
    close(number);
    return high;
}

struct spex_descriptor spex_descriptor_of(int number) {
    struct spex_descriptor descriptor = {.number = spex_descriptor_raise(number)};
    struct stat identity = {0};
    fstat(descriptor.number, &identity);
    descriptor.device = identity.st_dev;
    descriptor.inode = identity.st_ino;
    return descriptor;
}

bool spex_descriptor_is_ours(const struct spex_descriptor *descriptor) {
    struct stat now;
    return descriptor->number >= 0 && fstat(descriptor->number, &now) == 0 &&
           now.st_dev == descriptor->device && now.st_ino == descriptor->inode;
}

void spex_descriptor_close(struct spex_descriptor *descriptor) {
    if (spex_descriptor_is_ours(descriptor))
        close(descriptor->number);
    descriptor->number = -1;
}
