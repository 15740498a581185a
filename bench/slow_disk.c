/* SPDX-License-Identifier: MIT */
/* A library to be preloaded: half of the calls of pread, at random, take 2 ms longer while the
 * first byte of the file that SLOW_DISK names is "1". */
/* It would make one function of pread and pread64. */
#undef _FILE_OFFSET_BITS
#define _GNU_SOURCE
#include <dlfcn.h>
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef ssize_t reading(int fd, void *buf, size_t bytes, off64_t offset);

static const volatile char *slow_switch;
static reading *real_pread64;

__attribute__((constructor)) static void slow_disk_open(void) {
    const char *path = getenv("SLOW_DISK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *map = fd < 0 ? MAP_FAILED : mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        err(1, "SLOW_DISK");
    close(fd);
    slow_switch = map;
    *(void **)&real_pread64 = dlsym(RTLD_NEXT, "pread64");
}

/* Xorshift64 (Marsaglia, Journal of Statistical Software 8:14, 2003). */
static int random_bit(void) {
    static __thread uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> 63;
}

static ssize_t read_slowly(int fd, void *buf, size_t bytes, off64_t offset) {
    const struct timespec delay = {.tv_nsec = 2000000};
    if (*slow_switch == '1' && random_bit())
        nanosleep(&delay, NULL);
    return real_pread64(fd, buf, bytes, offset);
}

__attribute__((visibility("default"))) ssize_t pread64(int fd, void *buf, size_t bytes,
                                                       off64_t offset) {
    return read_slowly(fd, buf, bytes, offset);
}

__attribute__((visibility("default"))) ssize_t pread(int fd, void *buf, size_t bytes,
                                                     off_t offset) {
    return read_slowly(fd, buf, bytes, offset);
}
