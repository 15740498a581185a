/* SPDX-License-Identifier: MIT */
/* A site at the beginning of a function whose first instructions are a jump to a trampoline (patches/trampoline.h). The jump is
 * written when the site is switched on first, and taken back in the end; a byte that the trampoline reads switches it meanwhile. */
#define _GNU_SOURCE
#include "attach/kind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/patches/text.h"
#include "attach/patches/trampolines.h"
#include "attach/tasks/program_memory.h"

/* For how long it is tried to stop all threads: each time, and in the end. */
static const double on_seconds = 0.1, end_seconds = 2;

struct patch {
    struct spex_trampoline trampoline;
    /* Its jump may be there. */
    bool placed;
};

struct spex_sites {
    struct spex_program_memory memory;
    struct spex_trampolines trampolines;
    /* For what this process changes, and for what is taken back. */
    struct spex_text on, back;
    size_t count;
    /* NULL: the site is of another kind. */
    struct patch **patches;
};

static struct spex_text_change change_of(const struct spex_trampoline *trampoline) {
    const struct spex_moved *moved = &trampoline->moved;
    struct spex_text_change change = {
        .address = moved->address, .bytes = moved->bytes, .wanted = true};
    memcpy(change.from, moved->before, sizeof(change.from));
    spex_trampoline_jump(moved->address, spex_trampoline_at(trampoline->code, trampoline->number),
                         change.to);
    return change;
}

/* No thread can be within a jump. */
static struct spex_text_change change_back(const struct spex_trampoline *trampoline) {
    struct spex_text_change change = change_of(trampoline), back = change;
    memcpy(back.from, change.to, sizeof(back.from));
    memcpy(back.to, change.from, sizeof(back.to));
    back.bytes = 1;
    return back;
}

/* Makes system calls alone. */
static void put_all_back(void *left) {
    struct spex_sites *sites = left;
    size_t wanted = 0;
    for (size_t s = 0; s < sites->count; s++) {
        struct spex_text_change *back = &sites->back.changes[s];
        back->wanted = sites->patches[s] && sites->patches[s]->placed;
        wanted += back->wanted;
        if (back->wanted)
            spex_trampoline_switch(sites->memory.fd, &sites->patches[s]->trampoline, false);
    }
    int err = wanted ? spex_text_change(&sites->back, end_seconds) : 0;
    if (!err || err == -ESRCH)
        for (size_t s = 0; s < sites->count; s++)
            if (sites->back.changes[s].wanted)
                sites->patches[s]->placed = false;
}

static size_t end(struct spex_sites *sites) {
    size_t left = 0;
    put_all_back(sites);
    for (size_t s = 0; s < sites->count; s++)
        left += sites->patches[s] && sites->patches[s]->placed;
    return left;
}

static void patches_close(struct spex_sites *sites) {
    if (!sites)
        return;
    if (sites->memory.opened)
        put_all_back(sites);
    spex_program_memory_close(&sites->memory);
    spex_trampolines_leave(&sites->trampolines);
    for (size_t s = 0; sites->patches && s < sites->count; s++)
        free(sites->patches[s]);
    free(sites->patches);
    free(sites->back.changes);
    free(sites);
}

static int patches_open(struct spex_sites **opened, size_t count, pid_t thread,
                        struct spex_error *error) {
    struct spex_sites *sites = calloc(1, sizeof(*sites));
    *opened = sites;
    if (!sites)
        return spex_fail(error, -ENOMEM, "out of memory");
    sites->count = count;
    sites->trampolines.process = sites->on.process = sites->back.process = thread;
    sites->on.command = getpid();
    sites->back.count = count;
    sites->back.changes = calloc(count, sizeof(*sites->back.changes));
    sites->patches = calloc(count, sizeof(struct patch *));
    if (sites->back.changes && sites->patches)
        return 0;
    patches_close(sites);
    *opened = NULL;
    return spex_fail(error, -ENOMEM, "out of memory");
}

static int open_memory(struct spex_sites *sites, struct spex_error *error) {
    int err = spex_program_memory_open(&sites->memory, sites->trampolines.process, put_all_back,
                                       sites, error);
    if (!err)
        sites->trampolines.memory = sites->on.memory = sites->back.memory = sites->memory.fd;
    return err;
}

/* Those whose jump is there. */
static size_t clean(struct spex_sites *sites) {
    size_t count, cleaned = 0;
    struct spex_error error;
    struct spex_trampoline *left = spex_trampolines_left(sites->trampolines.process, &count);
    struct spex_text_change *changes =
        count && open_memory(sites, &error) == 0 ? calloc(count, sizeof(*changes)) : NULL;
    for (size_t l = 0; changes && l < count; l++) {
        uint8_t there[SPEX_PATCH_BYTES];
        changes[l] = change_back(&left[l]);
        changes[l].wanted = pread(sites->memory.fd, there, sizeof(there),
                                  (off_t)changes[l].address) == sizeof(there) &&
                            memcmp(there, changes[l].from, sizeof(there)) == 0;
        cleaned += changes[l].wanted;
        sites->on.unfinished = spex_trampoline_unfinished(left[l].code);
    }
    sites->on.changes = changes;
    sites->on.count = count;
    if (!cleaned || spex_text_change(&sites->on, end_seconds) != 0)
        cleaned = 0;
    sites->on.changes = NULL;
    free(changes);
    free(left);
    return cleaned;
}

static int reach(struct spex_sites *sites, size_t number, const struct spex_way *way,
                 struct spex_error *error) {
    int err = open_memory(sites, error);
    if (err)
        return err;
    struct patch *patch = calloc(1, sizeof(*patch));
    if (!patch)
        return spex_fail(error, -ENOMEM, "out of memory");
    err = spex_trampolines_take(&sites->trampolines, way->moved, &patch->trampoline, error);
    if (err) {
        free(patch);
        return err;
    }
    sites->back.changes[number] = change_back(&patch->trampoline);
    sites->on.unfinished = sites->back.unfinished =
        spex_trampoline_unfinished(patch->trampoline.code);
    __atomic_store_n(&sites->patches[number], patch, __ATOMIC_RELEASE);
    return 0;
}

static int place(struct spex_sites *sites, struct patch *patch, struct spex_error *error) {
    struct spex_text_change change = change_of(&patch->trampoline);
    sites->on.changes = &change;
    sites->on.count = 1;
    __atomic_store_n(&patch->placed, true, __ATOMIC_RELEASE);
    int err = spex_text_change(&sites->on, on_seconds);
    if (!err && !change.made)
        err = spex_fail(error, -EBUSY, "its code in memory is not the file's");
    else if (err)
        spex_fail(error, err, "%s", spex_text_error(err));
    sites->on.changes = NULL;
    return err;
}

static int switch_on(struct spex_sites *sites, size_t first,
                     const struct spex_instruction_site *list, unsigned count,
                     struct spex_error *error) {
    struct patch *patch = sites->patches[first];
    (void)list;
    (void)count;
    int err = patch->placed ? 0 : place(sites, patch, error);
    if (!err && !spex_trampoline_switch(sites->memory.fd, &patch->trampoline, true))
        err = spex_fail(error, -ESRCH, "the program has ended");
    return err;
}

static void switch_off(struct spex_sites *sites, size_t first, void (*soon)(void *user),
                       void *user) {
    spex_trampoline_switch(sites->memory.fd, &sites->patches[first]->trampoline, false);
    if (soon)
        soon(user);
}

static double used_elsewhere(struct spex_sites *sites) {
    return spex_program_memory_used(&sites->memory) + sites->on.used + sites->back.used;
}

static uint64_t executions(const struct spex_sites *sites, size_t number) {
    return spex_stub_calls(sites->patches[number]->trampoline.counters);
}

const struct spex_kind_of_site spex_patches = {.name = "patch",
                                               .open = patches_open,
                                               .close = patches_close,
                                               .clean = clean,
                                               .end = end,
                                               .reach = reach,
                                               .switch_on = switch_on,
                                               .switch_off = switch_off,
                                               .used_elsewhere = used_elsewhere,
                                               .executions = executions};
