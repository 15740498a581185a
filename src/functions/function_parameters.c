/* SPDX-License-Identifier: MIT */
#include "functions/function_parameters.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spex/atomic.h>
#include <spex/functions.h>

#include "text/message.h"

/* An object that gives parameters and is loaded. */
struct module {
    struct module *next;
    struct spex_parameter_place *places;
    struct spex_parameter_place *places_end;
};

static struct {
    pthread_mutex_t lock;
    struct module *modules;
    bool given;
    unsigned count;
    char *names[SPEX_KERNEL_PARAMETERS];
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *name_of(const struct spex_parameter_place *place) {
    return (const char *)&place->name_offset + place->name_offset;
}

/* 0: it has none. */
static uint32_t slot_of(const char *name) {
    for (unsigned n = 0; n < known.count; n++)
        if (strcmp(known.names[n], name) == 0)
            return n + 1;
    return 0;
}

static uint32_t slot_make(const char *name) {
    if (known.count == SPEX_KERNEL_PARAMETERS) {
        spex_message("spex_parameter(\"%.64s\"): functions have %d parameters at most, and this "
                     "one is left out",
                     name, SPEX_KERNEL_PARAMETERS);
        return 0;
    }
    char *copy = strdup(name);
    if (!copy)
        return 0;
    known.names[known.count] = copy;
    return ++known.count;
}

static void module_give(const struct module *module, bool make) {
    for (struct spex_parameter_place *place = module->places; place < module->places_end; place++) {
        uint32_t slot = slot_of(name_of(place));
        if (!slot && make)
            slot = slot_make(name_of(place));
        spex_store_relaxed(&place->slot, slot);
    }
}

/* The link to the module whose first place this is. */
static struct module **module_link(const struct spex_parameter_place *places) {
    struct module **link = &known.modules;
    while (*link && (*link)->places != places)
        link = &(*link)->next;
    return link;
}

void spex_parameters_register(struct spex_parameter_place *places,
                              struct spex_parameter_place *places_end) {
    pthread_mutex_lock(&known.lock);
    struct module **link = module_link(places);
    if (places != places_end && !*link && (*link = malloc(sizeof(**link)))) {
        **link = (struct module){.places = places, .places_end = places_end};
        if (known.given)
            module_give(*link, false);
    }
    pthread_mutex_unlock(&known.lock);
}

void spex_parameters_unregister(struct spex_parameter_place *places) {
    pthread_mutex_lock(&known.lock);
    struct module **link = module_link(places), *module = *link;
    if (module) {
        *link = module->next;
        free(module);
    }
    pthread_mutex_unlock(&known.lock);
}

unsigned spex_parameters_give(void) {
    pthread_mutex_lock(&known.lock);
    known.given = true;
    for (const struct module *module = known.modules; module; module = module->next)
        module_give(module, true);
    unsigned count = known.count;
    pthread_mutex_unlock(&known.lock);
    return count;
}

void spex_parameters_text(char *text, size_t size) {
    size_t length = 0;
    text[0] = '\0';
    pthread_mutex_lock(&known.lock);
    for (unsigned n = 0; n < known.count && length < size; n++)
        length +=
            (size_t)snprintf(text + length, size - length, "%s%s", n ? ", " : "", known.names[n]);
    pthread_mutex_unlock(&known.lock);
}
