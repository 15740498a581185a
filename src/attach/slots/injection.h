/* SPDX-License-Identifier: MIT */
/* Has a thread of another process make some system calls. It is stopped for a moment, in which its registers are others.
 *
 * Nothing depends on this process: the calls are in code that itself gives the thread its registers back, and lets it go on
 * where it was. This is killed at any moment, and the thread goes on. */
#ifndef SPEX_ATTACH_SLOTS_INJECTION_H
#define SPEX_ATTACH_SLOTS_INJECTION_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "text/error.h"

/* Bytes of code at most. */
enum { SPEX_INJECTION_BYTES = 640, SPEX_INJECTION_CALLS = 4 };

struct spex_injected_call {
    uint32_t number;
    uint64_t arguments[4];
    /* Otherwise it has failed, and no other one is made. */
    uint64_t result;
};

struct spex_injection {
    pid_t process;
    /* Its memory, to be read and written. */
    int memory;
    /* Executable bytes that nothing uses, as many as there are at most. They are put back. */
    uint64_t room;
    struct spex_injected_call calls[SPEX_INJECTION_CALLS];
    unsigned count;
};

/* Why a process is left alone; NULL: nothing speaks against it. */
const char *spex_injection_refused(pid_t process);

/* 0 or a negative errno value: then the process may have made some of the calls. It takes a millisecond, and some tenths of a
 * second where no thread can be stopped. */
int spex_injection_run(const struct spex_injection *injection, struct spex_error *error);

#endif
