/* SPDX-License-Identifier: MIT */
/* A site that is reached through slots counts in a stub (slots/region.h) which is in the program, and is on while its slots have
 * the stub's address. All others are breakpoints. */
#define _GNU_SOURCE
#include "attach/kind.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/slots/imports.h"
#include "attach/slots/region.h"
#include "attach/slots/stub.h"
#include "attach/tasks/beside.h"

struct stub {
    struct spex_stub_region region;
    size_t count;
    uint64_t slots[];
};

struct spex_sites {
    /* NULL: there are none, for this reason. */
    struct spex_sites *breakpoints;
    int without;
    struct spex_error why;
    pid_t process;
    /* Its memory, to be written; -1: until it is needed. */
    int memory;
    /* Puts slots back when this process is killed. */
    struct spex_beside beside;
    bool beside_open;
    size_t count;
    /* NULL: a breakpoint. */
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
        switch_slot(sites->memory, stub->slots[s], stub->region.stub, stub->region.function);
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
    spex_uprobes.close(sites->breakpoints);
    if (sites->beside_open)
        spex_beside_close(&sites->beside);
    for (size_t s = 0; s < sites->count; s++) {
        if (sites->stubs[s])
            spex_stub_region_leave(&sites->stubs[s]->region);
        free(sites->stubs[s]);
    }
    if (sites->memory >= 0)
        close(sites->memory);
    free(sites);
}

static int slots_open(struct spex_sites **opened, size_t count, pid_t thread,
                      struct spex_error *error) {
    *opened = NULL;
    struct spex_sites *sites = calloc(1, sizeof(*sites) + count * sizeof(struct stub *));
    if (!sites)
        return spex_fail(error, -ENOMEM, "out of memory");
    sites->process = thread;
    sites->memory = -1;
    sites->count = count;
    sites->without = spex_uprobes.open(&sites->breakpoints, count, thread, &sites->why);
    *opened = sites;
    return 0;
}

/* Opens the memory of the process to be written, with who puts slots back. */
static int open_memory(struct spex_sites *sites, struct spex_error *error) {
    char path[64];
    if (sites->memory >= 0)
        return 0;
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)sites->process);
    sites->memory = open(path, O_RDWR | O_CLOEXEC);
    if (sites->memory < 0)
        return spex_fail(error, -errno, "its memory may not be written: %s", strerror(errno));
    spex_beside_open(&sites->beside);
    sites->beside.left = sites;
    sites->beside.orphaned = put_all_back;
    sites->beside_open = true;
    return sites->beside.process ? 0 : spex_fail(error, -EAGAIN, "there is no room for a process");
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
            cleaning->cleaned += switch_slot(cleaning->sites->memory, slot->address, slot->value,
                                             cleaning->left[r].function);
}

static size_t clean(struct spex_sites *sites) {
    struct cleaning cleaning = {.sites = sites};
    struct spex_slot_objects objects = {.items = NULL};
    struct spex_error error;
    cleaning.left = spex_stub_regions_left(sites->process, &cleaning.count);
    if (cleaning.count && open_memory(sites, &error) == 0 &&
        spex_slot_objects_read(&objects, sites->process, sites->memory, &error) == 0)
        spex_slot_objects_visit(&objects, clean_slot, &cleaning);
    spex_slot_objects_free(&objects);
    free(cleaning.left);
    return cleaning.cleaned;
}

static int reach(struct spex_sites *sites, size_t number, const struct spex_imports *imports,
                 struct spex_error *error) {
    int err = open_memory(sites, error);
    if (err)
        return err;
    struct stub *stub = calloc(1, sizeof(*stub) + imports->count * sizeof(stub->slots[0]));
    if (!stub)
        return spex_fail(error, -ENOMEM, "out of memory");
    stub->region.function = imports->function;
    err = spex_stub_region_make(sites->process, sites->memory, &stub->region, error);
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
    const struct stub *stub = first < sites->count ? sites->stubs[first] : NULL;
    size_t on = 0;
    if (!stub && !sites->breakpoints)
        return spex_fail(error, sites->without, "%s", sites->why.text);
    if (!stub)
        return spex_uprobes.switch_on(sites->breakpoints, first, list, count, error);
    for (size_t s = 0; s < stub->count; s++)
        on += switch_slot(sites->memory, stub->slots[s], stub->region.function, stub->region.stub);
    if (on == stub->count)
        return 0;
    put_back(sites, stub);
    return spex_fail(error, -EBUSY, "its slots are others' now, or the program has ended");
}

static void switch_off(struct spex_sites *sites, size_t first, void (*soon)(void *user),
                       void *user) {
    if (!sites->stubs[first] && sites->breakpoints) {
        spex_uprobes.switch_off(sites->breakpoints, first, soon, user);
        return;
    }
    if (sites->stubs[first])
        put_back(sites, sites->stubs[first]);
    if (soon)
        soon(user);
}

static double linger(struct spex_sites *sites) {
    return sites->breakpoints ? spex_uprobes.linger(sites->breakpoints) : 0;
}

static double used_elsewhere(struct spex_sites *sites) {
    return (sites->breakpoints ? spex_uprobes.used_elsewhere(sites->breakpoints) : 0) +
           (sites->beside_open ? spex_beside_used(&sites->beside) : 0);
}

static uint64_t executions(const struct spex_sites *sites, size_t number) {
    if (sites->stubs[number])
        return spex_stub_calls(sites->stubs[number]->region.counters);
    return sites->breakpoints ? spex_uprobes.executions(sites->breakpoints, number) : 0;
}

static uint64_t lost(const struct spex_sites *sites, size_t number) {
    return sites->breakpoints ? spex_uprobes.lost(sites->breakpoints, number) : 0;
}

/* Calls through slots wake nobody. */
static void set_alarm(struct spex_sites *sites, size_t number, uint64_t count) {
    if (!sites->stubs[number] && sites->breakpoints)
        spex_uprobes.set_alarm(sites->breakpoints, number, count);
}

static int alarms(const struct spex_sites *sites) {
    return sites->breakpoints ? spex_uprobes.alarms(sites->breakpoints) : -1;
}

static void note_alarms(struct spex_sites *sites) {
    if (sites->breakpoints)
        spex_uprobes.note_alarms(sites->breakpoints);
}

static size_t take_records(struct spex_sites *sites, struct spex_site_record *records,
                           size_t room) {
    return sites->breakpoints ? spex_uprobes.records(sites->breakpoints, records, room) : 0;
}

const struct spex_kind_of_site spex_slots = {.name = "slot",
                                             .open = slots_open,
                                             .close = slots_close,
                                             .clean = clean,
                                             .reach = reach,
                                             .switch_on = switch_on,
                                             .switch_off = switch_off,
                                             .linger = linger,
                                             .used_elsewhere = used_elsewhere,
                                             .executions = executions,
                                             .lost = lost,
                                             .set_alarm = set_alarm,
                                             .alarms = alarms,
                                             .note_alarms = note_alarms,
                                             .records = take_records};
