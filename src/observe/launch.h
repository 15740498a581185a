/* SPDX-License-Identifier: MIT */
/* A program that runs in front of its user as if nobody had started it in between: with our input and output, in our
 * process group, with the signal mask that we were given. */
#ifndef SPEX_OBSERVE_LAUNCH_H
#define SPEX_OBSERVE_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct spex_launched {
    pid_t process;
    int pidfd;     /* readable once it has ended */
    bool ended;    /* then: */
    int status;    /* its exit status, or */
    int by_signal; /*   the signal that it died of */
};

struct spex_launch_variable {
    const char *name;
    const char *value;
};

/* `argv` ends with NULL, argv[0] is looked for in PATH; `variables` end with one without a name. 0, or a negative errno
 * value: what exec has failed with, or fork. */
int spex_launch_program(struct spex_launched *program, char *const *argv,
                        const struct spex_launch_variable *variables, const sigset_t *mask);

/* Without waiting. */
bool spex_launched_ended(struct spex_launched *program);
bool spex_launched_stopped(const struct spex_launched *program);

/* Dies of a signal as the program has, for who waits for us to see; without a core of our own. Returns when the
 * signal does not kill. */
void spex_launched_die_of(int signal_number);

#endif
