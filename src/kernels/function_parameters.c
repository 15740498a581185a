/* SPDX-License-Identifier: MIT */
/* Each place of spex_parameter() in a loaded object has a word for the slot of its name, so that
 * setting a parameter needs no search. Slots are given to names once, at the first start. One
 * lock protects modules and names. */
#include "kernels/function_parameters.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spex/atomic.h>
#include <spex/functions.h>

#include "base/lock.h"
#include "base/memory/memory.h"
#include "base/process.h"
#include "base/uninterrupted.h"
#include "text/message.h"

/* A loaded object that sets parameters: its spex_parameter places. */
struct module {
    struct module *next;
    struct spex_parameter_place *places;
    struct spex_parameter_place *places_end;
};

static struct {
    struct spex_lock lock;
    struct module *modules;
    bool given;
    unsigned count;
    char *names[SPEX_KERNEL_PARAMETERS];
} parameters = {.lock = SPEX_LOCK_FREE};

/* The place holds the distance to its name, so that it needs no relocation. */
static const char *place_name(const struct spex_parameter_place *place) {
    return (const char *)&place->name_offset + place->name_offset;
}

/* The name's slot, from 1; 0: it has none. The caller holds the lock. */
static uint32_t name_slot(const char *name) {
    for (unsigned n = 0; n < parameters.count; n++)
        if (strcmp(parameters.names[n], name) == 0)
            return n + 1;
    return 0;
}

/* A new slot for the name; 0: all are used, or there is no memory. */
static uint32_t name_slot_make(const char *name) {
    if (parameters.count == SPEX_KERNEL_PARAMETERS) {
        spex_message("spex_parameter(\"%.64s\"): functions have %d parameters at most, and this "
                     "one is left out",
                     name, SPEX_KERNEL_PARAMETERS);
        return 0;
    }
    char *copy = spex_strdup(name);
    if (!copy)
        return 0;
    parameters.names[parameters.count] = copy;
    return ++parameters.count;
}

/* Sets the slot of each place of the module; `make`: gives slots to new names, too. Slot 0 makes
 * spex_parameter_set ignore the value. Relaxed: a thread that sees the old slot leaves out one
 * value. */
static void module_set_slots(const struct module *module, bool make) {
    for (struct spex_parameter_place *place = module->places; place < module->places_end; place++) {
        uint32_t slot = name_slot(place_name(place));
        if (!slot && make)
            slot = name_slot_make(place_name(place));
        spex_store_relaxed(&place->slot, slot);
    }
}

/* The link that points to the module with these places; to NULL: it is not registered. */
static struct module **module_link(const struct spex_parameter_place *places) {
    struct module **link = &parameters.modules;
    while (*link && (*link)->places != places)
        link = &(*link)->next;
    return link;
}

/* Called by the constructor of each object with places. The second call for the same places does
 * nothing. */
void spex_parameters_register(struct spex_parameter_place *places,
                              struct spex_parameter_place *places_end) {
    struct spex_uninterrupted before;
    if (spex_process_is_unknown())
        return;
    spex_uninterrupted_begin(&before);
    spex_lock_take(&parameters.lock);
    struct module **link = module_link(places);
    if (places != places_end && !*link && (*link = spex_malloc(sizeof(**link)))) {
        **link = (struct module){.places = places, .places_end = places_end};
        if (parameters.given)
            module_set_slots(*link, false);
    }
    spex_lock_give(&parameters.lock);
    spex_uninterrupted_end(&before);
}

/* Called by the destructor of an object, whose places are unmapped afterwards. Names keep their
 * slots. */
void spex_parameters_unregister(struct spex_parameter_place *places) {
    struct spex_uninterrupted before;
    if (spex_process_is_unknown())
        return;
    spex_uninterrupted_begin(&before);
    spex_lock_take(&parameters.lock);
    struct module **link = module_link(places), *module = *link;
    if (module) {
        *link = module->next;
        spex_free(module);
    }
    spex_lock_give(&parameters.lock);
    spex_uninterrupted_end(&before);
}

unsigned spex_parameters_give(void) {
    spex_lock_take(&parameters.lock);
    parameters.given = true;
    for (const struct module *module = parameters.modules; module; module = module->next)
        module_set_slots(module, true);
    unsigned count = parameters.count;
    spex_lock_give(&parameters.lock);
    return count;
}

void spex_parameters_text(char *text, size_t size) {
    size_t length = 0;
    text[0] = '\0';
    spex_lock_take(&parameters.lock);
    for (unsigned n = 0; n < parameters.count && length < size; n++)
        length += (size_t)snprintf(text + length, size - length, "%s%s", n ? ", " : "",
                                   parameters.names[n]);
    spex_lock_give(&parameters.lock);
}
