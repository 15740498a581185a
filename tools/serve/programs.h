/* SPDX-License-Identifier: MIT */
/* The programs that the server follows: their processes, which come and go, and what these have
 * measured. Processes are asked when somebody wants to know, all at once: a round. */
#ifndef SPEX_TOOLS_SERVE_PROGRAMS_H
#define SPEX_TOOLS_SERVE_PROGRAMS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "observe/caller.h"
#include "tools/attach/wanted.h"
#include "tools/common/complain.h"
#include "tools/serve/metrics.h"
#include "tools/serve/recent.h"
#include "tools/serve/sums.h"

/* Processes that are followed, names that are kept, and probes of all programs together. */
enum { SPEX_PROGRAMS_PROCESSES = 256, SPEX_PROGRAMS_NAMES = 256, SPEX_PROGRAMS_TRIES = 65536 };

struct spex_program;

struct spex_program_process {
    struct spex_caller caller;
    struct spex_programs *programs;
    /* What its user may have of the memory. */
    struct spex_share *share;
    /* By the name that it gives itself; NULL: it has not answered yet. */
    struct spex_program *program;
    struct spex_sums sums;
    /* Of the report that is coming. */
    struct spex_sums coming;
    /* The last report, and the one of the last event; empty where nobody watches. */
    struct spex_profile latest, before;
    /* Earlier ones, where quantiles are told. */
    struct spex_recent recent;
    /* An event was made of the last report. */
    bool told;
    /* Of the last report: seconds since the collection began. */
    double seconds;
    /* When it was asked; 0: it has answered. */
    uint64_t asked_ns;
    /* Something was changed in it since then. */
    bool stale;
    /* It did not answer in time, and is not waited for. */
    bool silent;
};

/* Processes of one name. */
struct spex_program {
    char name[SPEX_PROFILE_NAME_BYTES];
    size_t processes;
    /* Since when there are none. */
    uint64_t empty_ns;
    /* Of processes that have ended, and what was shown last: of the memory of the user whose process
     * has come first. */
    struct spex_sums gone, shown;
};

struct spex_programs {
    /* NULL: no programs are followed. */
    const struct spex_wanted *wanted;
    /* Probes of all programs that get series. */
    size_t probes_max;
    /* Quantiles of recent times are told: reports of all processes are kept. */
    bool quantiles;
    struct spex_program_process *processes[SPEX_PROGRAMS_PROCESSES];
    size_t process_count;
    struct spex_program *programs[SPEX_PROGRAMS_NAMES];
    size_t program_count;
    size_t processes_left_out;
    /* Memory for all that is kept of processes. */
    struct spex_shares shares;
    /* Reports that were not taken: too large for what is left, or malformed. */
    uint64_t refused;
    struct spex_repeated complaints;
    /* Processes have left since memory was given back to the system. */
    bool left;
    /* When new processes are looked for again, and when all are. A pass over them is made in steps,
     * of which one has ended at look_from; 0: none is under way. */
    uint64_t look_ns, all_ns;
    pid_t look_from;
    /* Processes that this step may still try, and the last one that it has tried. */
    unsigned look_left;
    pid_t look_at;
    /* The pass is over all, and has taken so much CPU time. */
    bool look_all;
    uint64_t look_cpu_ns;
    /* How often processes were tried lately, by the last digits of their numbers. */
    uint8_t tries[SPEX_PROGRAMS_TRIES];
    /* A round is under way until then; 0: none is. */
    uint64_t round_ns;
    /* Whether reports of a process are kept, for who wants more than sums. NULL: of none are
     * they. */
    bool (*is_watched)(void *user, pid_t process);
    void *user;
};

/* All zero but for wanted, probes_max, quantiles, is_watched and user. */
void spex_programs_open(struct spex_programs *programs);
void spex_programs_close(struct spex_programs *programs);

/* Looks for processes where it is time to. */
void spex_programs_look(struct spex_programs *programs, uint64_t now_ns);

/* For whom processes are asked: who wants sums of all, events, or the report of a process. */
enum spex_programs_wish { SPEX_PROGRAMS_SUMS, SPEX_PROGRAMS_EVENTS, SPEX_PROGRAMS_REPORT };

/* Asks the processes of which the wish needs newer figures than there are, and whose budget pays for a
 * report again: for sums all whose figures are older than 50 ms, and for events those that somebody
 * watches and, each 5 s, the others. `process`: the one of which a report is wanted. Returns whether a
 * round is under way. */
bool spex_programs_ask(struct spex_programs *programs, enum spex_programs_wish wish, pid_t process,
                       uint64_t now_ns);

/* What the process has told before is old, however short ago that was: something was changed. */
void spex_programs_expire(struct spex_programs *programs, pid_t process);

/* How often the process is asked at most for who watches it: each second, or more seldom where its
 * budget pays for no more. */
double spex_programs_report_seconds(const struct spex_program_process *process);

/* Events were made of the last reports: the next ones are of the time since then. */
void spex_programs_told(struct spex_programs *programs);

/* Forgets the reports of a process, of which nobody has had events. */
void spex_programs_begin(struct spex_programs *programs, pid_t process);

/* Sets descriptors to poll, one for each process. Returns when spex_programs_take is to be called
 * at the latest; UINT64_MAX: only where a descriptor is readable. */
uint64_t spex_programs_wait(const struct spex_programs *programs, struct pollfd *fds);

/* Takes what has come: `fds` after poll. */
void spex_programs_take(struct spex_programs *programs, const struct pollfd *fds, uint64_t now_ns);

/* Adds up what all processes have told. `list` has room for SPEX_PROGRAMS_NAMES. Returns their
 * number, or -ENOMEM. The list is valid until the programs change. */
long spex_programs_sums(struct spex_programs *programs, struct spex_metrics_program *list);

/* Programs for which there was no memory. */
size_t spex_programs_left_out(const struct spex_programs *programs);

/* The process of a number; NULL: it is not followed. */
struct spex_program_process *spex_programs_find(struct spex_programs *programs, pid_t process);

#endif
