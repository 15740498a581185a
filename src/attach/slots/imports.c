/* SPDX-License-Identifier: MIT */
/* Only slots that calls alone read are taken: who reads an address from one could keep it. Only those of objects that are never
 * unloaded are: nothing else can be at a slot's address when it is written. And only those that have the function's address:
 * before the first call of most objects theirs have another one. */
#include "attach/slots/imports.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/slots/stub.h"

struct search {
    const struct spex_slot_objects *objects;
    const char *name;
    struct spex_imports *imports;
    const struct spex_slot_object *last, *last_left;
    /* Objects of which nothing is counted: they have not called it yet, they may be unloaded; and pointers to it. */
    unsigned unresolved, unloadable;
    size_t pointers;
};

uint64_t spex_imports_function_at(int memory, uint64_t stub) {
    uint8_t page[SPEX_STUB_PAGE];
    uint64_t code = spex_stub_code(stub);
    return pread(memory, page, sizeof(page), (off_t)code) == sizeof(page)
               ? spex_stub_function(stub, page)
               : 0;
}

static bool is_within(const struct spex_slot_object *object, uint64_t address) {
    return address - object->base - object->code < object->code_bytes;
}

/* By what differs, most others are told without reading. */
static bool is_of(const struct search *search, uint64_t value) {
    uint64_t function = search->imports->function;
    uint64_t differs = (value ^ function) & ~(UINT64_C(0xff) << (8 * SPEX_STUB_BYTE));
    return value == function ||
           (!differs && spex_imports_function_at(search->objects->memory, value) == function);
}

static void add_slot(struct search *search, const struct spex_slot *slot) {
    struct spex_imports *imports = search->imports;
    if (imports->count == SPEX_IMPORTS_MAX) {
        search->unloadable++;
        return;
    }
    imports->slots[imports->count++] = slot->address;
    imports->objects += search->last != slot->object;
    search->last = slot->object;
}

/* Whether nothing but calls reads a slot. */
static bool is_called(const struct spex_slot *slot) {
    size_t other;
    return slot->use == SPEX_SLOT_CALLED ||
           (spex_slot_objects_references(slot->object, slot->address, &other) && !other);
}

/* For spex_slot_objects_visit. */
static void take_slot(void *user, const struct spex_slot *slot) {
    struct search *search = user;
    if (!is_of(search, slot->value)) {
        if (slot->use == SPEX_SLOT_CALLED && strcmp(slot->name, search->name) == 0 &&
            is_within(slot->object, slot->value))
            search->unresolved++;
        return;
    }
    if (slot->use == SPEX_SLOT_POINTER || !is_called(slot)) {
        search->pointers++;
        return;
    }
    if (slot->object->stays) {
        add_slot(search, slot);
        return;
    }
    search->unloadable += search->last_left != slot->object;
    search->last_left = slot->object;
}

/* Places in the code of its own object that have its address. */
static size_t count_own(const struct search *search) {
    size_t other, own = 0;
    for (size_t o = 0; o < search->objects->count; o++)
        if (is_within(&search->objects->items[o], search->imports->function))
            own += spex_slot_objects_references(&search->objects->items[o],
                                                search->imports->function, &other);
    return own;
}

static void add_missed(struct spex_imports *imports, size_t count, const char *one,
                       const char *several) {
    size_t length = strlen(imports->missed);
    if (count)
        snprintf(imports->missed + length, sizeof(imports->missed) - length, "%s%zu %s",
                 length ? ", " : "", count, count == 1 ? one : several);
}

int spex_imports_find(const struct spex_slot_objects *objects, uint64_t function, const char *name,
                      struct spex_imports *imports) {
    struct search search = {.objects = objects, .name = name, .imports = imports};
    *imports = (struct spex_imports){.function = function,
                                     .slots = calloc(SPEX_IMPORTS_MAX, sizeof(*imports->slots))};
    if (!imports->slots)
        return -ENOMEM;
    if (!spex_stub_is_possible(function))
        return 0;
    spex_slot_objects_visit(objects, take_slot, &search);
    add_missed(imports, count_own(&search), "place in its own object", "places in its own object");
    add_missed(imports, search.pointers, "pointer to it", "pointers to it");
    add_missed(imports, search.unresolved, "object that has not called it yet",
               "objects that have not called it yet");
    add_missed(imports, search.unloadable, "object that may be unloaded",
               "objects that may be unloaded");
    return 0;
}

void spex_imports_free(struct spex_imports *imports) {
    free(imports->slots);
    *imports = (struct spex_imports){.slots = NULL};
}
