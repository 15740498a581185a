/* SPDX-License-Identifier: MIT */
/* Runs a program in the foreground, as if the user had started it directly: with the input and
 * output of this process, in its process group, and with the signal mask that this process was
 * given; SIGCHLD is ignored where this process was given it so. */
#ifndef SPEX_OBSERVE_LAUNCH_H
#define SPEX_OBSERVE_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct spex_launched {
    pid_t process;
    /* Readable when the program has ended. */
    int pidfd;
    /* Set by spex_launched_ended, with the exit status or the signal that killed the program. */
    bool ended;
    int status;
    int by_signal;
    /* A negative errno value where the system did not tell how it ended; the status is 1 then. */
    int untold;
};

/* A variable of the environment to set in the program. */
struct spex_launch_variable {
    const char *name;
    const char *value;
};

/* For a command, when it begins: its children are waited for. Where SIGCHLD is ignored, as the
 * parent of the command may have had it, nobody learns how they have ended. */
void spex_launch_take_children(void);

/* Starts the program argv[0], which is looked for in PATH. `argv` ends with NULL, `variables`
 * with one without a name. The program inherits the descriptor `inherited`; -1: none. `mask` is
 * the signal mask of the program. 0, or the negative errno value of fork, exec or pidfd_open. */
int spex_launch_program(struct spex_launched *program, char *const *argv,
                        const struct spex_launch_variable *variables, int inherited,
                        const sigset_t *mask);

/* The same, without variables and descriptors; and the program is traced by this process, and stopped before anything of it
 * is executed. */
int spex_launch_traced(struct spex_launched *program, char *const *argv, const sigset_t *mask);

/* Whether the program has ended, or is stopped by a signal such as SIGSTOP. Both return at
 * once. */
bool spex_launched_ended(struct spex_launched *program);
bool spex_launched_stopped(const struct spex_launched *program);

/* Ends this process by the signal that has killed the program, for a parent that looks at our
 * status. Writes no core file. Returns when the signal does not kill. */
void spex_launched_die_of(int signal_number);

#endif
