/* SPDX-License-Identifier: MIT */
/* Each cost is the median of some rounds. With a warm cache the function is called on end, by the thread's
 * CPU time, so that other processes do not count. With a cold one memory is read before each call, twice
 * what the first cache of a CPU holds: where hits are so many that their cost matters, a program uses that
 * between two of them for something else, but not all of the next. What the same takes without the site is
 * taken off. All sites are on at a time, each in a function of its own, as switching them off waits. */
#define _GNU_SOURCE
#include "attach/calibrate.h"

#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/patches/trampoline.h"
#include "attach/slots/stub.h"
#include "attach/test_functions.h"
#include "base/ascending.h"
#include "base/clock.h"
#include "base/loaded_object.h"

enum {
    ROUNDS = 25,
    COLDEST_ROUNDS = 5,
    CALLS = 40,
    STUB_CALLS = 2000,
    LINE = 64,
    CACHE_BYTES = 1 << 15,
    SECOND_BYTES = 1 << 20
};

/* Sites: one for each kind of hit and task, and one for each kind's end. */
enum { ENDS = SPEX_HITS * SPEX_SITE_TASKS, SITES = ENDS + SPEX_HITS };

struct measuring {
    const struct spex_kind_of_site *kind;
    struct spex_sites *sites;
    /* The file of the functions, which is this program. */
    int fd;
    volatile uint8_t *memory;
    /* Twice what the first cache of a CPU has, and the second one. */
    size_t memory_bytes, second_bytes;
    struct spex_hit_costs *costs;
    struct spex_error *error;
};

static double cpu_ns(void) {
    return (double)spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static double median(double *values, size_t count) {
    qsort(values, count, sizeof(*values), spex_ascending);
    return values[count / 2];
}

/* What a call takes on end. */
static double warm_ns(void (*call)(void)) {
    double rounds[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        double begin = cpu_ns();
        for (int c = 0; c < CALLS; c++)
            call();
        rounds[r] = (cpu_ns() - begin) / CALLS;
    }
    return median(rounds, ROUNDS);
}

static double cold_ns(const struct measuring *measuring, void (*call)(void), size_t bytes,
                      int count) {
    double rounds[ROUNDS];
    for (int r = 0; r < count; r++) {
        for (size_t at = 0; at < bytes; at += LINE)
            measuring->memory[at]++;
        uint64_t begin = spex_clock_ns(CLOCK_MONOTONIC);
        call();
        rounds[r] = (double)(spex_clock_ns(CLOCK_MONOTONIC) - begin);
    }
    return median(rounds, (size_t)count);
}

/* The place of an address of this program in its file. */
struct place {
    uintptr_t address;
    uint64_t offset;
};

static int find_offset(struct dl_phdr_info *info, size_t size, void *user) {
    struct place *place = user;
    (void)size;
    if (!spex_object_contains(info, place->address))
        return 0;
    for (unsigned s = 0; s < info->dlpi_phnum; s++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[s];
        uintptr_t into = place->address - info->dlpi_addr - segment->p_vaddr;
        if (segment->p_type == PT_LOAD && into < segment->p_memsz)
            place->offset = segment->p_offset + into;
    }
    return 1;
}

static int switch_on(const struct measuring *measuring, size_t number, uintptr_t address,
                     enum spex_hit hit, enum spex_site_task task) {
    struct place place = {.address = address};
    dl_iterate_phdr(find_offset, &place);
    const struct spex_instruction_site site = {
        .fd = measuring->fd, .offset = place.offset, .hit = hit, .task = task};
    return measuring->kind->switch_on(measuring->sites, number, &site, 1, measuring->error);
}

static void drop_records(const struct measuring *measuring) {
    struct spex_site_record records[64];
    size_t got;
    do
        got = measuring->kind->records(measuring->sites, records, 64);
    while (got);
}

static double coldest_ns(const struct measuring *measuring, void (*call)(void)) {
    return cold_ns(measuring, call, measuring->second_bytes, COLDEST_ROUNDS);
}

static int measure_task(const struct measuring *measuring, enum spex_hit hit,
                        enum spex_site_task task) {
    struct spex_test_function function = spex_test_function_of(hit, task);
    struct spex_hit_cost *cost = &measuring->costs->of[hit][task];
    double warm = warm_ns(function.call), coldest = coldest_ns(measuring, function.call);
    double cold = cold_ns(measuring, function.call, measuring->memory_bytes, ROUNDS);
    int err =
        switch_on(measuring, hit * SPEX_SITE_TASKS + task, (uintptr_t)function.call, hit, task);
    if (err)
        return err;
    cost->least = warm_ns(function.call) - warm;
    cost->most = cold_ns(measuring, function.call, measuring->memory_bytes, ROUNDS) - cold;
    cost->most = fmax(cost->most, cost->least);
    cost->coldest = fmax(coldest_ns(measuring, function.call) - coldest, cost->most);
    drop_records(measuring);
    return 0;
}

/* The time of one call, by its two records. */
static double timed_ns(const struct measuring *measuring, void (*call)(void)) {
    struct spex_site_record records[2];
    call();
    size_t got = measuring->kind->records(measuring->sites, records, 2);
    return got == 2 ? (double)(records[1].ns - records[0].ns) : 0;
}

/* Its beginning is on. */
static int measure_empty(const struct measuring *measuring, enum spex_hit hit) {
    struct spex_test_function function = spex_test_function_of(hit, SPEX_SITE_BEGINS);
    double rounds[ROUNDS];
    int err =
        switch_on(measuring, ENDS + hit, (uintptr_t)function.end, SPEX_HIT_STEPPED, SPEX_SITE_ENDS);
    for (int r = 0; !err && r < ROUNDS; r++)
        rounds[r] = timed_ns(measuring, function.call);
    if (!err)
        measuring->costs->empty[hit] = median(rounds, ROUNDS);
    return err;
}

/* Switching on and off, but for the first time, for which the kernel waits. */
static int measure_switching(const struct measuring *measuring) {
    const struct spex_test_function function =
        spex_test_function_of(SPEX_HIT_STEPPED, SPEX_SITE_COUNTS);
    double begin = cpu_ns();
    int err = switch_on(measuring, 0, (uintptr_t)function.call, SPEX_HIT_STEPPED, SPEX_SITE_COUNTS);
    measuring->kind->switch_off(measuring->sites, 0, NULL, NULL);
    measuring->costs->switching =
        cpu_ns() - begin + 1e9 * measuring->kind->used_elsewhere(measuring->sites);
    return err;
}

/* What a call takes behind a write to so much memory in turn, for which the stub's addition waits. */
static double written_ns(const struct measuring *measuring, void (*call)(void), size_t bytes) {
    double rounds[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        double begin = cpu_ns();
        for (size_t c = 0, at = 0; c < STUB_CALLS; c++) {
            measuring->memory[at]++;
            at = at + LINE < bytes ? at + LINE : 0;
            call();
        }
        rounds[r] = (cpu_ns() - begin) / STUB_CALLS;
    }
    return median(rounds, ROUNDS);
}

/* What is less than a nanosecond is not told apart. */
static void measure_stub(const struct measuring *measuring, enum spex_hit hit,
                         void (*function)(void), void (*stub)(void)) {
    const size_t bytes[] = {LINE, measuring->memory_bytes, measuring->second_bytes};
    struct spex_hit_cost *cost = &measuring->costs->of[hit][SPEX_SITE_COUNTS];
    double *costs[] = {&cost->least, &cost->most, &cost->coldest}, before = 1;
    for (unsigned b = 0; stub && b < 3; b++) {
        *costs[b] =
            fmax(written_ns(measuring, stub, bytes[b]) - written_ns(measuring, function, bytes[b]),
                 before);
        before = *costs[b];
    }
}

static void measure_stubs(const struct measuring *measuring) {
    void (*function)(void) = spex_test_function_of(SPEX_HIT_STEPPED, SPEX_SITE_COUNTS).call;
    void (*patched)(void);
    measure_stub(measuring, SPEX_HIT_SLOT, function, spex_stub_here(function));
    if (spex_trampoline_here(&function, &patched))
        measure_stub(measuring, SPEX_HIT_PATCH, function, patched);
}

/* A processor without a function for a kind of hit has no such hits. */
static int measure_all(const struct measuring *measuring) {
    measure_stubs(measuring);
    int err = measure_switching(measuring);
    for (int h = 0; !err && h < SPEX_HITS; h++) {
        if (!spex_test_function_of((enum spex_hit)h, SPEX_SITE_COUNTS).call)
            continue;
        for (int t = 0; !err && t < SPEX_SITE_TASKS; t++)
            err = measure_task(measuring, (enum spex_hit)h, (enum spex_site_task)t);
        if (!err)
            err = measure_empty(measuring, (enum spex_hit)h);
    }
    return err;
}

int spex_hit_costs_measure(const struct spex_kind_of_site *kind, struct spex_hit_costs *costs,
                           struct spex_error *error) {
    struct measuring measuring = {.kind = kind, .costs = costs, .error = error};
    memset(costs, 0, sizeof(*costs));
    int err = kind->open(&measuring.sites, SITES, getpid(), error);
    if (err)
        return err;
    long cache = sysconf(_SC_LEVEL1_DCACHE_SIZE);
    long second = sysconf(_SC_LEVEL2_CACHE_SIZE);
    measuring.memory_bytes = 2 * (size_t)(cache > 0 ? cache : CACHE_BYTES);
    measuring.second_bytes = 2 * (size_t)(second > 0 ? second : SECOND_BYTES);
    size_t bytes = measuring.memory_bytes > measuring.second_bytes ? measuring.memory_bytes
                                                                   : measuring.second_bytes;
    measuring.memory = calloc(bytes, 1);
    measuring.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (!measuring.memory || measuring.fd < 0)
        err = spex_fail(error, -ENOMEM, "the cost of a hit cannot be measured: %s",
                        measuring.memory ? "/proc/self/exe cannot be read" : "out of memory");
    else
        err = measure_all(&measuring);
    kind->close(measuring.sites);
    free((void *)measuring.memory);
    if (measuring.fd >= 0)
        close(measuring.fd);
    return err;
}
