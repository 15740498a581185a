/* SPDX-License-Identifier: MIT */
#include "ring/reserve.h"

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static void *memory_take(size_t bytes, int protection) {
    void *memory =
        mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

bool spex_mappings_are_locked(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *tried = memory_take(page, PROT_READ | PROT_WRITE);
    unsigned char resident = 0;
    if (!tried)
        return false;
    mincore(tried, page, &resident);
    munmap(tried, page);
    return resident & 1;
}

void *spex_memory_reserve(size_t bytes, bool locked) {
    void *memory = memory_take(bytes, locked ? PROT_NONE : PROT_READ | PROT_WRITE);
    if (memory && locked &&
        (munlock(memory, bytes) != 0 || mprotect(memory, bytes, PROT_READ | PROT_WRITE) != 0)) {
        munmap(memory, bytes);
        return NULL;
    }
    return memory;
}
