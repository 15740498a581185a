/* SPDX-License-Identifier: MIT */
/* Each site is of one kind: a breakpoint, unless it is reached in another way. */
#include "attach/kind.h"

#include <errno.h>
#include <stdlib.h>

enum kind { UPROBES, SLOTS, PATCHES, KINDS };
static const struct spex_kind_of_site *const kinds[KINDS] = {&spex_uprobes, &spex_slots,
                                                             &spex_patches};

struct spex_sites {
    /* NULL: there are none of this kind; of breakpoints for this reason. */
    struct spex_sites *of[KINDS];
    int without;
    struct spex_error why;
    size_t count;
    uint8_t kind[];
};

static void close_all(struct spex_sites *sites) {
    if (!sites)
        return;
    for (unsigned k = KINDS; k-- > 0;)
        if (sites->of[k])
            kinds[k]->close(sites->of[k]);
    free(sites);
}

static int open_all(struct spex_sites **opened, size_t count, pid_t thread,
                    struct spex_error *error) {
    struct spex_sites *sites = calloc(1, sizeof(*sites) + count);
    int err = sites ? 0 : spex_fail(error, -ENOMEM, "out of memory");
    if (!err) {
        sites->count = count;
        sites->without = spex_uprobes.open(&sites->of[UPROBES], count, thread, &sites->why);
    }
    for (unsigned k = UPROBES + 1; !err && k < KINDS; k++)
        err = kinds[k]->open(&sites->of[k], count, thread, error);
    if (err) {
        close_all(sites);
        sites = NULL;
    }
    *opened = sites;
    return err;
}

static size_t clean(struct spex_sites *sites) {
    size_t cleaned = 0;
    for (unsigned k = 0; k < KINDS; k++)
        if (sites->of[k] && kinds[k]->clean)
            cleaned += kinds[k]->clean(sites->of[k]);
    return cleaned;
}

static size_t end(struct spex_sites *sites) {
    size_t left = 0;
    for (unsigned k = 0; k < KINDS; k++)
        if (sites->of[k] && kinds[k]->end)
            left += kinds[k]->end(sites->of[k]);
    return left;
}

static int reach(struct spex_sites *sites, size_t number, const struct spex_way *way,
                 struct spex_error *error) {
    enum kind kind = way->imports ? SLOTS : PATCHES;
    int err = kinds[kind]->reach(sites->of[kind], number, way, error);
    if (!err)
        sites->kind[number] = (uint8_t)kind;
    return err;
}

/* What a site is of; NULL: there are no breakpoints. */
static struct spex_sites *of(const struct spex_sites *sites, size_t number,
                             const struct spex_kind_of_site **kind) {
    enum kind k = number < sites->count ? (enum kind)sites->kind[number] : UPROBES;
    *kind = kinds[k];
    return sites->of[k];
}

static int switch_on(struct spex_sites *sites, size_t first,
                     const struct spex_instruction_site *list, unsigned count,
                     struct spex_error *error) {
    const struct spex_kind_of_site *kind;
    struct spex_sites *its = of(sites, first, &kind);
    return its ? kind->switch_on(its, first, list, count, error)
               : spex_fail(error, sites->without, "%s", sites->why.text);
}

static void switch_off(struct spex_sites *sites, size_t first, void (*soon)(void *user),
                       void *user) {
    const struct spex_kind_of_site *kind;
    struct spex_sites *its = of(sites, first, &kind);
    if (its)
        kind->switch_off(its, first, soon, user);
    else if (soon)
        soon(user);
}

static double linger(struct spex_sites *sites) {
    return sites->of[UPROBES] ? spex_uprobes.linger(sites->of[UPROBES]) : 0;
}

static double used_elsewhere(struct spex_sites *sites) {
    double used = 0;
    for (unsigned k = 0; k < KINDS; k++)
        used += sites->of[k] ? kinds[k]->used_elsewhere(sites->of[k]) : 0;
    return used;
}

static uint64_t executions(const struct spex_sites *sites, size_t number) {
    const struct spex_kind_of_site *kind;
    struct spex_sites *its = of(sites, number, &kind);
    return its ? kind->executions(its, number) : 0;
}

static uint64_t lost(const struct spex_sites *sites, size_t number) {
    const struct spex_kind_of_site *kind;
    struct spex_sites *its = of(sites, number, &kind);
    return its && kind->lost ? kind->lost(its, number) : 0;
}

/* Stubs and trampolines wake nobody. */
static void set_alarm(struct spex_sites *sites, size_t number, uint64_t count) {
    const struct spex_kind_of_site *kind;
    struct spex_sites *its = of(sites, number, &kind);
    if (its && kind->set_alarm)
        kind->set_alarm(its, number, count);
}

static int alarms(const struct spex_sites *sites) {
    return sites->of[UPROBES] ? spex_uprobes.alarms(sites->of[UPROBES]) : -1;
}

static void note_alarms(struct spex_sites *sites) {
    if (sites->of[UPROBES])
        spex_uprobes.note_alarms(sites->of[UPROBES]);
}

static size_t take_records(struct spex_sites *sites, struct spex_site_record *records,
                           size_t room) {
    return sites->of[UPROBES] ? spex_uprobes.records(sites->of[UPROBES], records, room) : 0;
}

const struct spex_kind_of_site spex_all_kinds = {.name = "site",
                                                 .open = open_all,
                                                 .close = close_all,
                                                 .clean = clean,
                                                 .end = end,
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
