/* SPDX-License-Identifier: MIT */
#include "base/process.h"

#include <unistd.h>

#include <spex/atomic.h>

/* 0: no process has started spex. Relaxed: no thread of this process writes another value. */
static pid_t process;

void spex_process_keep(void) {
    spex_store_relaxed(&process, getpid());
}

bool spex_process_is_kept(void) {
    return spex_load_relaxed(&process) != 0;
}

void spex_process_fork_child(void) {
    if (spex_process_is_kept())
        spex_process_keep();
}

bool spex_process_is_unknown(void) {
    pid_t kept = spex_load_relaxed(&process);
    return kept && kept != getpid();
}
