/* SPDX-License-Identifier: MIT */
/* A site that is reached through slots counts in a stub (slots/region.h) which is in the program, and is on while its slots have
 * the stub's address. */
#define _GNU_SOURCE
#include "attach/kind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/slots/imports.h"
#include "attach/slots/region.h"
#include "attach/slots/stub.h"
#include "attach/tasks/program_memory.h"

struct stub {
    struct spex_stub_region region;
    size_t count;
    uint64_t slots[];
};

struct spex_sites {
    pid_t process;
    struct spex_program_memory memory;
    size_t count;
    /* NULL: the site is of another kind. */
    struct stub *stubs[];
};

/* What the slot has is looked at right before it is written, in the one byte that differs. Makes system calls alone. */
static bool switch_slot(int memory, uint64_t slot, uint64_t from, uint64_t to) {
    uint64_t there = 0;
    if (syscall(SYS_pread64, memory, &there, sizeof(there), slot) != sizeof(there) || there != from)
        return false;
    return syscall(SYS_pwrite64, memory, (const uint8_t *)&to + SPEX_STUB_BYTE, 1,
                   slot + SPEX_STUB_BYTE) == 1;
}

static void put_back(const struct spex_sites *sites, const struct stub *stub) {
    for (size_t s = 0; s < stub->count; s++)
        switch_slot(sites->memory.fd, stub->slots[s], stub->region.stub, stub->region.function);
}

static void put_all_back(void *left) {
    const struct spex_sites *sites = left;
    for (size_t s = 0; s < sites->count; s++)
        if (sites->stubs[s])
            put_back(sites, sites->stubs[s]);
}

static void slots_close(struct spex_sites *sites) {
    if (!sites)
        return;
    put_all_back(sites);
    spex_program_memory_close(&sites->memory);
    for (size_t s = 0; s < sites->count; s++) {
        if (sites->stubs[s])
            spex_stub_region_leave(&sites->stubs[s]->region);
        free(sites->stubs[s]);
    }
    free(sites);
}

static int slots_open(struct spex_sites **opened, size_t count, pid_t thread,
                      struct spex_error *error) {
    struct spex_sites *sites = calloc(1, sizeof(*sites) + count * sizeof(struct stub *));
    *opened = sites;
    if (!sites)
        return spex_fail(error, -ENOMEM, "out of memory");
    sites->process = thread;
    sites->count = count;
    return 0;
}

static int open_memory(struct spex_sites *sites, struct spex_error *error) {
    return spex_program_memory_open(&sites->memory, sites->process, put_all_back, sites, error);
}

/* Slots that have what a command which was killed has left. */
struct cleaning {
    const struct spex_sites *sites;
    struct spex_stub_region *left;
    size_t count, cleaned;
};

/* For spex_slot_objects_visit. */
static void clean_slot(void *user, const struct spex_slot *slot) {
    struct cleaning *cleaning = user;
    for (size_t r = 0; slot->object->stays && r < cleaning->count; r++)
        if (slot->value == cleaning->left[r].stub)
            cleaning->cleaned += switch_slot(cleaning->sites->memory.fd, slot->address, slot->value,
                                             cleaning->left[r].function);
}

static size_t clean(struct spex_sites *sites) {
    struct cleaning cleaning = {.sites = sites};
    struct spex_slot_objects objects = {.items = NULL};
    struct spex_error error;
    cleaning.left = spex_stub_regions_left(sites->process, &cleaning.count);
    if (cleaning.count && open_memory(sites, &error) == 0 &&
        spex_slot_objects_read(&objects, sites->process, sites->memory.fd, &error) == 0)
        spex_slot_objects_visit(&objects, clean_slot, &cleaning);
    spex_slot_objects_free(&objects);
    free(cleaning.left);
    return cleaning.cleaned;
}

static int reach(struct spex_sites *sites, size_t number, const struct spex_way *way,
                 struct spex_error *error) {
    const struct spex_imports *imports = way->imports;
    int err = open_memory(sites, error);
    if (err)
        return err;
    struct stub *stub = calloc(1, sizeof(*stub) + imports->count * sizeof(stub->slots[0]));
    if (!stub)
        return spex_fail(error, -ENOMEM, "out of memory");
    stub->region.function = imports->function;
    err = spex_stub_region_make(sites->process, sites->memory.fd, &stub->region, error);
    if (err) {
        free(stub);
        return err;
    }
    stub->count = imports->count;
    memcpy(stub->slots, imports->slots, imports->count * sizeof(stub->slots[0]));
    sites->stubs[number] = stub;
    return 0;
}

static int switch_on(struct spex_sites *sites, size_t first,
                     const struct spex_instruction_site *list, unsigned count,
                     struct spex_error *error) {
    const struct stub *stub = sites->stubs[first];
    size_t on = 0;
    (void)list;
    (void)count;
    for (size_t s = 0; s < stub->count; s++)
        on +=
            switch_slot(sites->memory.fd, stub->slots[s], stub->region.function, stub->region.stub);
    if (on == stub->count)
        return 0;
    put_back(sites, stub);
    return spex_fail(error, -EBUSY, "its slots are others' now, or the program has ended");
}

static void switch_off(struct spex_sites *sites, size_t first, void (*soon)(void *user),
                       void *user) {
    put_back(sites, sites->stubs[first]);
    if (soon)
        soon(user);
}

static double used_elsewhere(struct spex_sites *sites) {
    return spex_program_memory_used(&sites->memory);
}

static uint64_t executions(const struct spex_sites *sites, size_t number) {
    return spex_stub_calls(sites->stubs[number]->region.counters);
}

const struct spex_kind_of_site spex_slots = {.name = "slot",
                                             .open = slots_open,
                                             .close = slots_close,
                                             .clean = clean,
                                             .reach = reach,
                                             .switch_on = switch_on,
                                             .switch_off = switch_off,
                                             .used_elsewhere = used_elsewhere,
                                             .executions = executions};
