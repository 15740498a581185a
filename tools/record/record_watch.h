/* SPDX-License-Identifier: MIT */
/* Accompanies a program, or a process that ran before, while it is recorded. */
#ifndef SPEX_TOOLS_RECORD_RECORD_WATCH_H
#define SPEX_TOOLS_RECORD_RECORD_WATCH_H

#include "observe/launch.h"
#include "observe/listener.h"
#include "observe/passed_signals.h"
#include "tools/common/progress.h"
#include "tools/record/recorded.h"

/* Connections of which it is not known yet what comes over them. */
enum { SPEX_RECORD_NEW_MAX = 64 };

struct spex_record_watch {
    struct spex_recording recording;
    struct spex_listener listener;
    /* Who holds the lease of the probes of a process that ran before (held_lease.h), and of its
     * children; 0: the program was started. */
    uint32_t holder;
    int arrived[SPEX_RECORD_NEW_MAX];
    size_t arrived_count;
    /* Shown, if `out` of it is not NULL. */
    struct spex_progress_bar bar;
    /* When recording began. */
    uint64_t begin_ns;
    /* What it has shown last. */
    double shown_seconds;
    uint64_t shown_records;
};

/* Records until the program has ended, and then what is left of its processes. */
void spex_record_watch_program(struct spex_record_watch *watch, struct spex_launched *program,
                               struct spex_passed_signals *signals);

/* Records a process, and its children that stream by the listener's handover, until all have closed
 * their connections, or `stop_fd` is readable. */
void spex_record_watch_process(struct spex_record_watch *watch, int stop_fd);

/* Ends all traces. */
void spex_record_watch_end(struct spex_record_watch *watch);

#endif
