/* SPDX-License-Identifier: MIT */
/* The objects of a process, and where each calls functions of others: slots with their addresses (GOT). */
#ifndef SPEX_ATTACH_SLOTS_SLOT_OBJECTS_H
#define SPEX_ATTACH_SLOTS_SLOT_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "text/error.h"

struct spex_slot_object {
    int fd;
    /* The last part of its path, and its own name; "": it has none. */
    char *file, *name;
    /* The names of those that it needs. */
    char **needed;
    size_t needed_count;
    /* What added to an address of the object gives that in the process. */
    uint64_t base;
    /* Its code, as it is linked, and in the file. */
    uint64_t code, code_bytes, code_offset;
    /* It is there as long as the program: it is the program, or was loaded with it. */
    bool program, stays;
};

struct spex_slot_objects {
    pid_t process;
    int memory;
    struct spex_slot_object *items;
    size_t count;
};

/* How an object has an address. */
enum spex_slot_use {
    /* Calls and jumps go through it, and nothing else reads it. */
    SPEX_SLOT_CALLED,
    /* As that, if its code tells. */
    SPEX_SLOT_READ,
    /* A pointer. */
    SPEX_SLOT_POINTER
};

struct spex_slot {
    const struct spex_slot_object *object;
    enum spex_slot_use use;
    /* Where it is, and what it has now. */
    uint64_t address, value;
    /* The function's name; "": an address alone. */
    const char *name;
};

/* Reads the objects with code. `memory` is the process's, and stays the caller's. 0 or a negative errno value. To be freed in
 * any case. */
int spex_slot_objects_read(struct spex_slot_objects *objects, pid_t process, int memory,
                           struct spex_error *error);
void spex_slot_objects_free(struct spex_slot_objects *objects);

/* Visits all slots of all objects. */
void spex_slot_objects_visit(const struct spex_slot_objects *objects,
                             void (*seen)(void *user, const struct spex_slot *slot), void *user);

/* Counts the places in an object's code that have an address of the process relative to themselves; `other`: of these, those
 * that neither call nor jump through it. */
size_t spex_slot_objects_references(const struct spex_slot_object *object, uint64_t address,
                                    size_t *other);

/* An address with so many executable bytes that nothing uses, of an object that stays; 0: there is none. */
uint64_t spex_slot_objects_room(const struct spex_slot_objects *objects, size_t bytes);

#endif
