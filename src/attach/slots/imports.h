/* SPDX-License-Identifier: MIT */
/* The slots through which the objects of a process call a function, and which of its calls go elsewhere. */
#ifndef SPEX_ATTACH_SLOTS_IMPORTS_H
#define SPEX_ATTACH_SLOTS_IMPORTS_H

#include <stddef.h>
#include <stdint.h>

#include "attach/slots/slot_objects.h"

enum { SPEX_IMPORTS_MAX = 256 };

struct spex_imports {
    /* The function, in the process. */
    uint64_t function;
    /* Slots, by address, and of how many objects they are. None: there are none that can be switched. */
    uint64_t *slots;
    size_t count;
    unsigned objects;
    /* Calls that do not go through them, as a list of reasons; "": none is known. */
    char missed[192];
};

/* Finds those of a function by its address and one of its names. 0 or -ENOMEM. To be freed in any case. */
int spex_imports_find(const struct spex_slot_objects *objects, uint64_t function, const char *name,
                      struct spex_imports *imports);
void spex_imports_free(struct spex_imports *imports);

/* The function whose stub is at an address of a process; 0: there is none. */
uint64_t spex_imports_function_at(int memory, uint64_t stub);

#endif
