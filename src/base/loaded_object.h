/* SPDX-License-Identifier: MIT */
/* An object that the loader has mapped, as dl_iterate_phdr tells of it (_GNU_SOURCE). */
#ifndef SPEX_BASE_LOADED_OBJECT_H
#define SPEX_BASE_LOADED_OBJECT_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

static inline bool spex_object_contains(const struct dl_phdr_info *info, uintptr_t address) {
    for (unsigned s = 0; s < info->dlpi_phnum; s++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[s];
        if (segment->p_type == PT_LOAD &&
            address - info->dlpi_addr - segment->p_vaddr < segment->p_memsz)
            return true;
    }
    return false;
}

#endif
