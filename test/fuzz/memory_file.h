/* SPDX-License-Identifier: MIT */
/* A file that is not on any disk, for what reads from a path. */
#ifndef SPEX_FUZZ_MEMORY_FILE_H
#define SPEX_FUZZ_MEMORY_FILE_H

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

/* The path of a file with these bytes; there is one at a time. */
static inline const char *memory_file(const uint8_t *data, size_t size) {
    static char path[64];
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("input", MFD_CLOEXEC);
        FUZZ_CHECK(fd >= 0);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    }
    FUZZ_CHECK(ftruncate(fd, 0) == 0);
    FUZZ_CHECK(pwrite(fd, data, size, 0) == (ssize_t)size);
    return path;
}

#endif
