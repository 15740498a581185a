/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "attach/patches/trampolines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/slots/unfinished.h"

/* The region, from its code to its last counters; how far a jump goes, less what an object has at most between its code and what
 * that refers to; and what is kept free around a region where there is room, as stacks and heaps grow. */
enum { REGION_BYTES = (2 + SPEX_TRAMPOLINES) * SPEX_STUB_PAGE };
static const uint64_t reach = (UINT64_C(1) << 31) - (UINT64_C(1) << 28),
                      free_around = UINT64_C(1) << 30, address_least = 1 << 16,
                      address_most = UINT64_C(1) << 47;

static bool read_page(int memory, uint64_t code, uint8_t page[SPEX_STUB_PAGE]) {
    return pread(memory, page, SPEX_STUB_PAGE, (off_t)code) == SPEX_STUB_PAGE;
}

static bool is_same(const struct spex_moved *one, const struct spex_moved *other) {
    return one->address == other->address && one->bytes == other->bytes &&
           memcmp(one->before, other->before, one->bytes) == 0;
}

/* Whether a page has trampolines and nothing else. */
static bool is_page(uint64_t code, const uint8_t page[SPEX_STUB_PAGE]) {
    struct spex_moved moved;
    if (!spex_trampoline_read(code, 0, page, &moved))
        return false;
    uint8_t unfinished[SPEX_UNFINISHED_BYTES];
    spex_unfinished_write(unfinished);
    if (memcmp(page + spex_trampoline_unfinished(0), unfinished, sizeof(unfinished)) != 0)
        return false;
    for (unsigned n = 1; n < SPEX_TRAMPOLINES; n++) {
        const uint8_t *one = page + (size_t)n * SPEX_TRAMPOLINE_BYTES;
        if (!spex_trampoline_is_free(one) && !spex_trampoline_read(code, n, one, &moved))
            return false;
    }
    return true;
}

/* The number of one that does this already, or of one that is free; SPEX_TRAMPOLINES: there is none, or it would be too far. */
static unsigned find_number(uint64_t code, const uint8_t page[SPEX_STUB_PAGE],
                            const struct spex_moved *moved) {
    uint8_t bytes[SPEX_TRAMPOLINE_BYTES];
    unsigned found = SPEX_TRAMPOLINES;
    for (unsigned n = 0; n < SPEX_TRAMPOLINES; n++) {
        const uint8_t *one = page + (size_t)n * SPEX_TRAMPOLINE_BYTES;
        struct spex_moved there;
        if (spex_trampoline_read(code, n, one, &there) && is_same(&there, moved))
            return n;
        if (found == SPEX_TRAMPOLINES && spex_trampoline_is_free(one) &&
            spex_trampoline_write(code, n, moved, bytes))
            found = n;
    }
    return found;
}

/* The place for a region. */
struct making {
    const struct spex_trampolines *trampolines;
    const struct spex_moved *moved;
    /* One that a command has left. */
    uint64_t left;
    /* The end of what was mapped last; and the best place so far, with what is free around it. */
    uint64_t end, best, room;
};

static void look_at_left(void *user, uint64_t code, bool used) {
    struct making *making = user;
    uint8_t page[SPEX_STUB_PAGE];
    if (!used && !making->left && read_page(making->trampolines->memory, code, page) &&
        is_page(code, page) && find_number(code, page, making->moved) < SPEX_TRAMPOLINES)
        making->left = code;
}

/* The place within reach that is farthest from both ends of a gap. */
static void look_at_gap(struct making *making, uint64_t start, uint64_t end) {
    uint64_t function = making->moved->address;
    uint64_t least = function > reach + address_least ? function - reach : address_least;
    uint64_t most = function + reach - REGION_BYTES, middle = start + (end - start) / 2;
    if (end - start < 3 * REGION_BYTES || start >= most || end <= least + REGION_BYTES)
        return;
    uint64_t place = middle < least ? least : middle > most ? most : middle;
    place = (place + SPEX_STUB_PAGE - 1) & ~(uint64_t)(SPEX_STUB_PAGE - 1);
    if (place < start || place + REGION_BYTES > end)
        return;
    uint64_t below = place - start, above = end - place - REGION_BYTES;
    uint64_t room = below < above ? below : above;
    uint8_t bytes[SPEX_TRAMPOLINE_BYTES];
    if (room > free_around)
        room = free_around;
    if ((!making->best || room > making->room) &&
        spex_trampoline_write(place, 0, making->moved, bytes)) {
        making->best = place;
        making->room = room;
    }
}

static void look_at_mapping(void *user, uint64_t start, uint64_t end) {
    struct making *making = user;
    if (start > making->end && start <= address_most)
        look_at_gap(making, making->end, start);
    making->end = end;
}

static int place(void *user, uint64_t *code, bool *made, struct spex_error *error) {
    struct making *making = user;
    pid_t process = making->trampolines->process;
    making->end = address_least;
    making->left = making->best = 0;
    spex_code_regions_visit(process, look_at_left, making);
    *made = making->left != 0;
    *code = making->left;
    if (*made)
        return 0;
    if (!spex_mappings_visit(process, look_at_mapping, making) || !making->best)
        return spex_fail(error, -ENOMEM, "there is no free place near it");
    *code = making->best;
    return 0;
}

/* Nothing counts yet: also what an earlier command has left on. */
static bool fill(void *user, uint64_t code) {
    static const uint8_t none[SPEX_TRAMPOLINES * sizeof(uint64_t)];
    const struct making *making = user;
    int memory = making->trampolines->memory;
    uint8_t bytes[SPEX_STUB_PAGE];
    if (pwrite(memory, none, sizeof(none), (off_t)spex_stub_gate(code)) != sizeof(none) ||
        !read_page(memory, code, bytes))
        return false;
    if (!spex_trampoline_is_free(bytes))
        return is_page(code, bytes);
    spex_unfinished_write(bytes);
    return pwrite(memory, bytes, SPEX_UNFINISHED_BYTES, (off_t)spex_trampoline_unfinished(code)) ==
               SPEX_UNFINISHED_BYTES &&
           spex_trampoline_write(code, 0, making->moved, bytes) &&
           pwrite(memory, bytes, SPEX_TRAMPOLINE_BYTES, (off_t)code) == SPEX_TRAMPOLINE_BYTES;
}

static int make_region(struct spex_trampolines *trampolines, const struct spex_moved *moved,
                       struct spex_error *error) {
    struct making making = {.trampolines = trampolines, .moved = moved};
    const struct spex_code_region_way way = {(size_t)SPEX_TRAMPOLINES * SPEX_STUB_PAGE, &making,
                                             place, fill};
    struct spex_trampoline_region made = {.taken = 0};
    struct spex_trampoline_region *grown =
        realloc(trampolines->regions, (trampolines->count + 1) * sizeof(*grown));
    if (!grown)
        return spex_fail(error, -ENOMEM, "out of memory");
    trampolines->regions = grown;
    int err =
        spex_code_region_make(trampolines->process, trampolines->memory, &way, &made.region, error);
    if (!err)
        grown[trampolines->count++] = made;
    return err;
}

/* Takes one of a region. Returns 1: it has none. */
static int take_of(const struct spex_trampolines *trampolines,
                   struct spex_trampoline_region *region, const struct spex_moved *moved,
                   struct spex_trampoline *taken, struct spex_error *error) {
    uint64_t code = region->region.code;
    uint8_t page[SPEX_STUB_PAGE], bytes[SPEX_TRAMPOLINE_BYTES];
    if (!read_page(trampolines->memory, code, page))
        return spex_fail(error, -ESRCH, "the program has ended");
    unsigned number = find_number(code, page, moved);
    if (number == SPEX_TRAMPOLINES)
        return 1;
    uint64_t at = spex_trampoline_at(code, number);
    if (region->taken >> number & 1)
        return spex_fail(error, -EBUSY, "it is looked at already");
    if (!spex_trampoline_write(code, number, moved, bytes) ||
        (memcmp(page + (at - code), bytes, sizeof(bytes)) != 0 &&
         pwrite(trampolines->memory, bytes, sizeof(bytes), (off_t)at) != sizeof(bytes)))
        return spex_fail(error, -EACCES, "its memory cannot be written");
    region->taken |= UINT64_C(1) << number;
    *taken = (struct spex_trampoline){*moved, code, number,
                                      (const char *)region->region.counters +
                                          (size_t)number * SPEX_STUB_PAGE};
    return 0;
}

int spex_trampolines_take(struct spex_trampolines *trampolines, const struct spex_moved *moved,
                          struct spex_trampoline *taken, struct spex_error *error) {
    int err = 1;
    for (size_t r = 0; err == 1 && r < trampolines->count; r++)
        err = take_of(trampolines, &trampolines->regions[r], moved, taken, error);
    if (err != 1)
        return err;
    err = make_region(trampolines, moved, error);
    err = err ? err
              : take_of(trampolines, &trampolines->regions[trampolines->count - 1], moved, taken,
                        error);
    return err == 1 ? spex_fail(error, -ENOMEM, "there is no free place near it") : err;
}

void spex_trampolines_leave(struct spex_trampolines *trampolines) {
    for (size_t r = 0; r < trampolines->count; r++)
        spex_code_region_leave(&trampolines->regions[r].region);
    free(trampolines->regions);
    trampolines->regions = NULL;
    trampolines->count = 0;
}

bool spex_trampoline_switch(int memory, const struct spex_trampoline *trampoline, bool on) {
    const uint8_t gate = on;
    uint64_t at = spex_trampoline_gate(trampoline->code, trampoline->number);
    return pwrite(memory, &gate, sizeof(gate), (off_t)at) == sizeof(gate);
}

/* Those that were found. */
struct finding {
    int memory;
    struct spex_trampoline *list;
    size_t count;
};

static void add_left(struct finding *finding, uint64_t code, unsigned number,
                     const struct spex_moved *moved) {
    struct spex_trampoline *grown = realloc(finding->list, (finding->count + 1) * sizeof(*grown));
    if (!grown)
        return;
    grown[finding->count++] = (struct spex_trampoline){*moved, code, number, NULL};
    finding->list = grown;
}

static void find_left(void *user, uint64_t code, bool used) {
    struct finding *finding = user;
    struct spex_moved moved;
    uint8_t page[SPEX_STUB_PAGE];
    if (used || !read_page(finding->memory, code, page) || !is_page(code, page))
        return;
    for (unsigned n = 0; n < SPEX_TRAMPOLINES; n++)
        if (spex_trampoline_read(code, n, page + (size_t)n * SPEX_TRAMPOLINE_BYTES, &moved))
            add_left(finding, code, n, &moved);
}

struct spex_trampoline *spex_trampolines_left(pid_t process, size_t *count) {
    char path[64];
    struct finding finding = {.list = NULL};
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)process);
    finding.memory = open(path, O_RDONLY | O_CLOEXEC);
    if (finding.memory >= 0) {
        spex_code_regions_visit(process, find_left, &finding);
        close(finding.memory);
    }
    *count = finding.count;
    return finding.list;
}
