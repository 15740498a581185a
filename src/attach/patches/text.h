/* SPDX-License-Identifier: MIT */
/* Changes code of another process while all of its threads are stopped, none of which is in these bytes, or will return to them
 * from a handler of a signal. It makes system calls alone, and allocates nothing. Whoever does this may be killed at any moment:
 * each change is made or not, and the threads go on. */
#ifndef SPEX_ATTACH_PATCHES_TEXT_H
#define SPEX_ATTACH_PATCHES_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/code/patchable.h"

/* Threads of a process at most. */
enum { SPEX_TEXT_THREADS_MAX = 1024 };

struct spex_text_change {
    uint64_t address;
    /* What is there, and is to be. */
    uint8_t from[SPEX_PATCH_BYTES], to[SPEX_PATCH_BYTES];
    /* Bytes in which no thread may be, but at the first one. */
    unsigned bytes;
    /* It is wanted; it was made. */
    bool wanted, made;
};

struct spex_text_thread {
    pid_t thread;
    int status;
    uint64_t stack, stack_end;
};

struct spex_text {
    pid_t process;
    /* Its memory, to be read and written. */
    int memory;
    /* Where the process has the code of slots/unfinished.h. */
    uint64_t unfinished;
    struct spex_text_change *changes;
    size_t count;
    /* This process, without which nothing is to be changed; 0: in any case. */
    pid_t command;
    /* Seconds of CPU time that this has taken in other processes. */
    double used;
    /* For what is done. */
    struct spex_text_thread threads[SPEX_TEXT_THREADS_MAX];
    unsigned thread_count;
    char listing[1 << 16];
};

/* Makes all changes that are wanted, of bytes that are as they are said to be, at once; it is tried for up to so many seconds. 0;
 * -EAGAIN: a thread could not be stopped without noticing, or was in these bytes; -E2BIG: it has too many threads; or another
 * negative errno value. */
int spex_text_change(struct spex_text *text, double seconds);

/* What such a value means. */
const char *spex_text_error(int err);

#endif
