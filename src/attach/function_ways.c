/* SPDX-License-Identifier: MIT */
/* Which functions are counted through slots or by a patch, and what is said of others. */
#include "attach/process_functions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void spex_process_function_leave_way(struct spex_process_function *function, const char *why) {
    snprintf(function->rung, sizeof(function->rung), "by a breakpoint, not %s: %.200s",
             function->slots ? "through slots" : "by a patch", why);
    if (function->imports)
        spex_imports_free(function->imports);
    free(function->imports);
    free(function->moved);
    function->imports = NULL;
    function->moved = NULL;
    function->placement.entry.hit = function->placement.breakpoint;
}

static void say_slots(struct spex_process_function *function) {
    const struct spex_imports *imports = function->imports;
    snprintf(function->rung, sizeof(function->rung), "calls through slots of %u object%s%s%s",
             imports->objects, imports->objects == 1 ? "" : "s",
             *imports->missed ? "; without those of " : "", imports->missed);
}

static void find_slots(const struct spex_slot_objects *objects,
                       struct spex_process_function *function) {
    char why[256];
    function->placement.breakpoint = function->placement.entry.hit;
    function->imports = calloc(1, sizeof(*function->imports));
    if (!function->imports ||
        spex_imports_find(objects, function->in_process, function->name, function->imports) != 0) {
        spex_process_function_leave_way(function, "out of memory");
        return;
    }
    const char *missed = function->imports->missed;
    if (function->imports->count) {
        function->placement.entry.hit = SPEX_HIT_SLOT;
        say_slots(function);
        return;
    }
    snprintf(why, sizeof(why), "no object calls it through one that can be switched%s%s%s",
             *missed ? " (" : "", missed, *missed ? ")" : "");
    spex_process_function_leave_way(function, why);
}

void spex_process_functions_find_slots(struct spex_process_functions *functions, size_t from,
                                       const struct spex_program *program) {
    struct spex_slot_objects objects = {.items = NULL};
    struct spex_error error;
    bool wanted = false;
    for (size_t f = from; f < functions->count; f++) {
        struct spex_process_function *one = &functions->items[f];
        one->slots &= !one->timed && !one->arguments.count && !*one->refused;
        wanted |= one->slots;
    }
    if (wanted && spex_slot_objects_read(&objects, program->thread, program->memory, &error) == 0)
        for (size_t f = from; f < functions->count; f++)
            if (functions->items[f].slots)
                find_slots(&objects, &functions->items[f]);
    spex_slot_objects_free(&objects);
}

/* Bytes of a patch that are not its first ones. */
static bool is_within(const struct spex_patchable *patch, uint64_t address) {
    return address - patch->address < patch->bytes;
}

/* Whether something else that is looked at would have a breakpoint in its bytes. */
static bool is_shared(const struct spex_process_functions *functions,
                      const struct spex_process_function *function) {
    const struct spex_patchable *patch = &function->placement.patch;
    for (size_t f = 0; f < functions->count; f++) {
        const struct spex_process_function *other = &functions->items[f];
        if (other == function || other->fd != function->fd)
            continue;
        for (unsigned s = 0; s < other->site_count; s++)
            if (is_within(patch, other->sites[s].offset - other->to_offset))
                return true;
        if (!other->site_count && is_within(patch, spex_process_function_entry(other)->address))
            return true;
    }
    return false;
}

/* A handler of signals may tell by the address of an instruction which one has failed. */
static const char *why_not(const struct spex_process_functions *functions,
                           const struct spex_process_function *function,
                           const struct spex_program *program) {
    const struct spex_patchable *patch = &function->placement.patch;
    if (patch->refused)
        return patch->refused;
    if (patch->may_fault && spex_program_handles_faults(program))
        return "the program handles SIGSEGV or SIGBUS, and one of its first instructions may fault";
    return is_shared(functions, function) ? "something else is looked at in its first instructions"
                                          : NULL;
}

/* The bytes are the file's: else there would be no breakpoint either. One may stand there. */
static const char *take_moved(struct spex_process_function *function,
                              const struct spex_program *program) {
    const struct spex_patchable *patch = &function->placement.patch;
    struct spex_moved *moved = calloc(1, sizeof(*moved));
    uint8_t expected[SPEX_MOVED_BYTES_MAX];
    function->moved = moved;
    if (!moved)
        return "out of memory";
    moved->address = function->in_process + (patch->address - function->address);
    moved->bytes = patch->bytes;
    if (spex_program_read(program, moved->address, moved->before, moved->bytes) != moved->bytes ||
        pread(function->fd, expected, moved->bytes,
              (off_t)(patch->address + function->to_offset)) != (ssize_t)moved->bytes ||
        memcmp(moved->before, expected, moved->bytes) != 0)
        return "its code in memory is not the file's";
    return NULL;
}

static void find_moved(const struct spex_process_functions *functions,
                       struct spex_process_function *function, const struct spex_program *program) {
    const char *why = why_not(functions, function, program);
    function->placement.breakpoint = function->placement.entry.hit;
    why = why ? why : take_moved(function, program);
    if (why)
        spex_process_function_leave_way(function, why);
    else
        function->placement.entry.hit = SPEX_HIT_PATCH;
}

void spex_process_functions_find_moved(struct spex_process_functions *functions, size_t from,
                                       const struct spex_program *program) {
    for (size_t f = from; f < functions->count; f++) {
        struct spex_process_function *one = &functions->items[f];
        one->patched &= !one->slots && !one->timed && !one->arguments.count && !*one->refused;
        if (one->patched)
            find_moved(functions, one, program);
    }
}
