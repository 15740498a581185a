/* SPDX-License-Identifier: MIT */
/* The functions of an ELF object, by its symbols. The file may come from anyone: whatever it says of
 * itself is checked. */
#ifndef SPEX_ATTACH_OBJECT_FUNCTIONS_H
#define SPEX_ATTACH_OBJECT_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/code/near_jumps.h"
#include "attach/code/placement.h"
#include "text/error.h"

/* Symbols of an object at most; more are refused. */
enum { SPEX_OBJECT_SYMBOLS_MAX = 1 << 22 };

struct spex_object_function {
    /* Without the version behind "@". Printable. */
    char *name;
    /* As the object is linked. */
    uint64_t address;
    /* 0: the symbol does not tell. */
    uint64_t size;
    /* It is run once, and returns which function the name stands for (STT_GNU_IFUNC). */
    bool resolver;
};

struct spex_object_functions {
    /* By address; several may have the same one. */
    struct spex_object_function *items;
    size_t count;
    /* The segment with code: what of it is in the file, its address and its place in the file. */
    uint8_t *text;
    struct spex_code code;
    uint64_t offset;
    /* For an object with functions; found when they are first asked for. */
    struct spex_near_jumps jumps;
    bool jumps_found;
    /* It is of Go: a function may be left at any instruction by a handler, and gone on with later. */
    bool preempted;
};

/* Reads the functions of the object behind `fd`, which stays the caller's; `name` is for messages. Only
 * those in the first segment with code are taken, which is the only one of almost all objects. 0; -E2BIG:
 * there are too many; or an error of spex_elf_file_open. To be freed after 0. */
int spex_object_functions_read(int fd, const char *name, struct spex_object_functions *functions,
                               struct spex_error *error);
void spex_object_functions_free(struct spex_object_functions *functions);

/* The index of the first function at `address`, or of the first one above it; `count`: there is none. */
size_t spex_object_functions_at(const struct spex_object_functions *functions, uint64_t address);

/* Finds where breakpoints can be in the function with this index. 0 or -ENOMEM. */
int spex_object_functions_place(struct spex_object_functions *functions, size_t index,
                                struct spex_placement *placement);

/* Whether an instruction begins at an address, behind the first of a function. */
bool spex_object_functions_is_instruction(const struct spex_object_functions *functions,
                                          uint64_t address);

/* Whether a symbol tells that the address is within an instruction. */
bool spex_object_functions_is_within(const struct spex_object_functions *functions,
                                     uint64_t address);

/* The place in the file of an address within the code. */
static inline uint64_t spex_object_functions_offset(const struct spex_object_functions *functions,
                                                    uint64_t address) {
    return address - functions->code.address + functions->offset;
}

/* The code from an address within it on, and how many bytes of it there are. */
static inline const uint8_t *spex_object_functions_bytes(
    const struct spex_object_functions *functions, uint64_t address, size_t *bytes) {
    uint64_t into = address - functions->code.address;
    *bytes = functions->code.size - into;
    return functions->code.bytes + into;
}

#endif
