/* SPDX-License-Identifier: MIT */
/* A kind of site: one way to have the executions of an instruction of another program counted, or
 * recorded. What is above knows the kind by these functions alone. */
#ifndef SPEX_ATTACH_KIND_H
#define SPEX_ATTACH_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/code/arguments.h"
#include "attach/code/hit.h"
#include "text/error.h"

/* What a site does when it is executed, besides counting. */
enum spex_site_task {
    SPEX_SITE_COUNTS,
    /* Leaves a record, with the time when what follows begins, or when it was reached. */
    SPEX_SITE_BEGINS,
    SPEX_SITE_ENDS,
    /* As the one that begins, with the registers of arguments. */
    SPEX_SITE_TELLS,
    SPEX_SITE_TASKS
};

struct spex_site_record {
    uint64_t stack_pointer;
    /* CLOCK_MONOTONIC. */
    uint64_t ns;
    /* The kernel's id of it, in this process's PID namespace, if that has it. */
    uint32_t thread;
    uint32_t cpu;
    /* The site's number. */
    uint64_t site;
    /* Those of a site that tells. */
    uint64_t registers[SPEX_ARGUMENTS_MAX];
};

/* Sites of a process at most, and of those that are switched on together. */
enum { SPEX_SITES_MAX = 4096, SPEX_SITES_TOGETHER_MAX = 128 };

/* An instruction: its place in a file, which `fd` holds open. */
struct spex_instruction_site {
    int fd;
    uint64_t offset;
    enum spex_hit hit;
    enum spex_site_task task;
    /* The place in the file of a counter of 2 bytes that is 1 more in the process's memory while the site is on.
     * 0: there is none. */
    uint64_t semaphore;
};

struct spex_sites;
struct spex_imports;
struct spex_moved;

/* How a function is counted without a breakpoint: through slots, or by a patch of its first instructions. One is NULL. */
struct spex_way {
    const struct spex_imports *imports;
    const struct spex_moved *moved;
};

struct spex_kind_of_site {
    const char *name;
    /* Room for `count` sites in the process that this thread belongs to, which is alive. 0 or a negative
     * errno value. Closing, or the end of this process for whatever reason, switches off all that is
     * on. */
    int (*open)(struct spex_sites **sites, size_t count, pid_t thread, struct spex_error *error);
    void (*close)(struct spex_sites *sites);
    /* NULL, or puts back what commands which were killed have left. Returns how much that was. */
    size_t (*clean)(struct spex_sites *sites);
    /* NULL, or puts back what this one has written, before all is closed. Returns how much cannot be. */
    size_t (*end)(struct spex_sites *sites);
    /* NULL, or has a site be counted in this way from now on, which is copied. 0 or a negative errno value: it cannot. */
    int (*reach)(struct spex_sites *sites, size_t number, const struct spex_way *way,
                 struct spex_error *error);
    /* Switches on sites of one file, numbered from `first` on. They count in all of the process's threads,
     * also those that begin later, and nowhere else. It may wait for some hundredths of a second, and the
     * sites are on from the end of that. 0 or a negative errno value; then all are off. */
    int (*switch_on)(struct spex_sites *sites, size_t first,
                     const struct spex_instruction_site *list, unsigned count,
                     struct spex_error *error);
    /* Switches off the sites that were switched on with this one. It may wait, with the sites off, or for
     * as long as they linger; `soon` is called before that. Any thread. */
    void (*switch_off)(struct spex_sites *sites, size_t first, void (*soon)(void *user),
                       void *user);
    /* Seconds for which a site costs as much as before after it was switched off. */
    double (*linger)(struct spex_sites *sites);
    /* Seconds of CPU time that switching off has taken beside this process. */
    double (*used_elsewhere)(struct spex_sites *sites);
    /* Executions while it was on, and records of them that were lost. */
    uint64_t (*executions)(const struct spex_sites *sites, size_t number);
    uint64_t (*lost)(const struct spex_sites *sites, size_t number);
    /* Wakes who waits for alarms when a site has so many executions; 0: never. It must not have as many yet. */
    void (*set_alarm)(struct spex_sites *sites, size_t number, uint64_t executions);
    /* A descriptor that is readable when an alarm has gone off, until it is taken note of; -1: there is none. */
    int (*alarms)(const struct spex_sites *sites);
    void (*note_alarms)(struct spex_sites *sites);
    /* Takes up to `room` of the oldest records, in the order in which they were made. */
    size_t (*records)(struct spex_sites *sites, struct spex_site_record *records, size_t room);
};

/* By breakpoints of the kernel. */
extern const struct spex_kind_of_site spex_uprobes;

/* By stubs that calls through slots lead to, and by patches. They have no records and no alarms. */
extern const struct spex_kind_of_site spex_slots, spex_patches;

/* Each site by one of these: a breakpoint, unless it is reached in another way. */
extern const struct spex_kind_of_site spex_all_kinds;

#endif
