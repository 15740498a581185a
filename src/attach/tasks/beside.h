/* SPDX-License-Identifier: MIT */
/* Sets and removes what holds breakpoints, beside this process. A process that is killed while the kernel sets several
 * breakpoints, or removes one, at its call leaves some behind ("failed to unregister, leaking uprobe"); what a process holds
 * when it ends is always removed. So another process makes the calls that set some; and the last descriptors are those of
 * another process, which ends. */
#ifndef SPEX_ATTACH_TASKS_BESIDE_H
#define SPEX_ATTACH_TASKS_BESIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

/* A process that shares memory and descriptors with this one, makes calls for it, one at a time, and ends with it. What this
 * one held then is removed soon after its end. */
struct spex_beside {
    pid_t process;
    void *stack;
    clockid_t clock;
    /* Readable when there is a call to make, and when it is done; when this process has ended, and when the other one has. */
    int wanted, done, end, ended;
    /* NULL: it is to end. */
    int (*call)(void *argument);
    void *argument;
    int result;
    /* The highest descriptor that calls have made. */
    int highest;
    /* NULL, or what is to be done when this process has ended without a word; and what that needs. */
    void (*orphaned)(void *left);
    void *left;
    int kept;
};

/* Without room there is none, and calls are made by this process. It stays where it is until it is closed, by
 * a thread that lives as long. */
void spex_beside_open(struct spex_beside *beside);
/* One that makes no calls, but this one when this process has ended without a word: it may make system calls alone, and has no
 * descriptor but `kept`. */
void spex_beside_open_for(struct spex_beside *beside, void (*orphaned)(void *left), void *left,
                          int kept);
void spex_beside_close(struct spex_beside *beside);

/* Returns what `call` returns: the highest descriptor that it has made, or a negative errno value. It may make system calls
 * alone. -EINTR: somebody has killed the other process. */
int spex_beside_call(struct spex_beside *beside, int (*call)(void *argument), void *argument);

/* Has a process that does nothing else make a call, and ends. It may make system calls alone. Returns what that does; -EINTR: it was
 * killed; -EAGAIN: there is no room for it. `used` has the seconds of CPU time that it has taken added. */
int spex_beside_apart(int (*call)(void *argument), void *argument, double *used);

/* Seconds of CPU time that it has taken. */
double spex_beside_used(const struct spex_beside *beside);

/* Gives up descriptors, and returns when the kernel has removed what they hold: the seconds of CPU time that it has taken
 * elsewhere. One process ends with all of them; or several at a time, each with some. */
double spex_beside_end(const int *descriptors, size_t count);
double spex_beside_end_many(const int *descriptors, size_t count);

#endif
