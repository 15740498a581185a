/* SPDX-License-Identifier: MIT */
/* A hash table with open addressing: an entry is at its place or behind it, without a gap between. */
#include "attach/pairing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/splitmix.h"

struct open {
    uint64_t stack_pointer, ns;
    /* 1 + the function's number; 0: the entry is free. */
    uint64_t function;
    uint64_t registers[SPEX_ARGUMENTS_MAX];
};

struct spex_pairing {
    struct spex_unpaired *of;
    size_t functions;
    /* A power of two, and more than `most`. */
    size_t room, most, count;
    struct open entries[];
};

int spex_pairing_create(struct spex_pairing **pairing, size_t functions, size_t open_most) {
    size_t room = 2;
    while (room < 2 * open_most)
        room *= 2;
    struct spex_pairing *made = calloc(1, sizeof(*made) + room * sizeof(made->entries[0]));
    *pairing = made;
    if (!made)
        return -ENOMEM;
    made->of = calloc(functions + 1, sizeof(*made->of));
    made->functions = functions;
    made->room = room;
    made->most = open_most;
    if (made->of)
        return 0;
    free(made);
    *pairing = NULL;
    return -ENOMEM;
}

void spex_pairing_destroy(struct spex_pairing *pairing) {
    if (!pairing)
        return;
    free(pairing->of);
    free(pairing);
}

static size_t place_of(const struct spex_pairing *pairing, uint64_t function,
                       uint64_t stack_pointer) {
    return spex_splitmix_mix(stack_pointer + function * SPEX_SPLITMIX_STEP) & (pairing->room - 1);
}

/* The entry of an execution, or the free one where it would be. */
static struct open *find(struct spex_pairing *pairing, uint64_t function, uint64_t stack_pointer) {
    size_t at = place_of(pairing, function, stack_pointer);
    while (pairing->entries[at].function && (pairing->entries[at].function != function ||
                                             pairing->entries[at].stack_pointer != stack_pointer))
        at = (at + 1) & (pairing->room - 1);
    return &pairing->entries[at];
}

/* Closes the gap: an entry behind it moves there unless its place is behind the gap. */
static void take_out(struct spex_pairing *pairing, struct open *entry) {
    size_t mask = pairing->room - 1, gap = (size_t)(entry - pairing->entries);
    for (size_t at = (gap + 1) & mask; pairing->entries[at].function; at = (at + 1) & mask) {
        const struct open *other = &pairing->entries[at];
        size_t place = place_of(pairing, other->function, other->stack_pointer);
        if (((at - place) & mask) >= ((at - gap) & mask)) {
            pairing->entries[gap] = *other;
            gap = at;
        }
    }
    pairing->entries[gap].function = 0;
    pairing->count--;
}

void spex_pairing_begin(struct spex_pairing *pairing, size_t function, uint64_t stack_pointer,
                        uint64_t ns, const uint64_t registers[SPEX_ARGUMENTS_MAX]) {
    struct open *entry = find(pairing, function + 1, stack_pointer);
    struct spex_unpaired *of = &pairing->of[function];
    if (entry->function) {
        of->abandoned++;
        entry->ns = ns;
    } else if (pairing->count == pairing->most) {
        of->refused++;
        return;
    } else {
        *entry = (struct open){.stack_pointer = stack_pointer, .ns = ns, .function = function + 1};
        of->open++;
        pairing->count++;
    }
    memcpy(entry->registers, registers, sizeof(entry->registers));
}

bool spex_pairing_end(struct spex_pairing *pairing, size_t function, uint64_t stack_pointer,
                      uint64_t ns, uint64_t *took, uint64_t registers[SPEX_ARGUMENTS_MAX]) {
    struct open *entry = find(pairing, function + 1, stack_pointer);
    struct spex_unpaired *of = &pairing->of[function];
    if (!entry->function) {
        of->begun_before++;
        return false;
    }
    *took = ns > entry->ns ? ns - entry->ns : 0;
    memcpy(registers, entry->registers, sizeof(entry->registers));
    take_out(pairing, entry);
    of->open--;
    return true;
}

void spex_pairing_forget(struct spex_pairing *pairing) {
    for (size_t f = 0; f < pairing->functions; f++) {
        pairing->of[f].abandoned += pairing->of[f].open;
        pairing->of[f].open = 0;
    }
    for (size_t e = 0; e < pairing->room; e++)
        pairing->entries[e].function = 0;
    pairing->count = 0;
}

/* An entry that moves into the gap is looked at again. */
void spex_pairing_forget_function(struct spex_pairing *pairing, size_t function) {
    struct spex_unpaired *of = &pairing->of[function];
    for (size_t e = 0; of->open && e < 2 * pairing->room; e++) {
        struct open *entry = &pairing->entries[e & (pairing->room - 1)];
        while (entry->function == function + 1) {
            take_out(pairing, entry);
            of->open--;
            of->abandoned++;
        }
    }
}

struct spex_unpaired spex_pairing_unpaired(const struct spex_pairing *pairing, size_t function) {
    return pairing->of[function];
}
