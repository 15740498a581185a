/* SPDX-License-Identifier: MIT */
/* Which functions are counted through slots, and what is said of them. */
#include "attach/process_functions.h"

#include <stdio.h>
#include <stdlib.h>

void spex_process_function_leave_slots(struct spex_process_function *function, const char *why) {
    snprintf(function->rung, sizeof(function->rung), "by a breakpoint, not through slots: %.200s",
             why);
    if (function->imports)
        spex_imports_free(function->imports);
    free(function->imports);
    function->imports = NULL;
    function->placement.entry.hit = function->placement.breakpoint;
}

static void say_slots(struct spex_process_function *function) {
    const struct spex_imports *imports = function->imports;
    snprintf(function->rung, sizeof(function->rung), "calls through slots of %u object%s%s%s",
             imports->objects, imports->objects == 1 ? "" : "s",
             *imports->missed ? "; without those of " : "", imports->missed);
}

static void find(const struct spex_slot_objects *objects, struct spex_process_function *function) {
    char why[256];
    function->placement.breakpoint = function->placement.entry.hit;
    function->imports = calloc(1, sizeof(*function->imports));
    if (!function->imports ||
        spex_imports_find(objects, function->in_process, function->name, function->imports) != 0) {
        spex_process_function_leave_slots(function, "out of memory");
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
    spex_process_function_leave_slots(function, why);
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
                find(&objects, &functions->items[f]);
    spex_slot_objects_free(&objects);
}
