/* SPDX-License-Identifier: MIT */
/* Other commands of spex, each a process of its own: what they read may be long, damaged or
 * hostile, and the server must neither wait for it nor end by it. Their output is bounded, and so
 * is their time. */
#ifndef SPEX_TOOLS_SERVE_COMMANDS_CHILDREN_H
#define SPEX_TOOLS_SERVE_COMMANDS_CHILDREN_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Children at one time, and the descriptors to poll of each. */
enum { SPEX_CHILDREN = 24, SPEX_CHILD_FDS = 3, SPEX_CHILDREN_FDS = SPEX_CHILDREN * SPEX_CHILD_FDS };

struct spex_child;

struct spex_child_task {
    /* What stands after "spex", up to NULL. Used at the start alone. */
    const char *const *arguments;
    /* The folder in which it works; -1: that of this process. */
    int folder;
    /* Bytes of output: more end it. With `line`, those of a line: longer ones are left out. */
    size_t most;
    /* It is ended after so long; 0: never. */
    uint64_t most_ns;
    /* Bytes of a file that it writes; 0: as many as it likes. */
    uint64_t most_file;
    /* Gets each line of the output; NULL: the output is kept until the end. */
    void (*line)(void *user, const char *line, size_t bytes);
    /* It has ended. The child is valid until this returns. */
    void (*over)(void *user, struct spex_child *child);
    void *user;
};

struct spex_child {
    struct spex_child_task task;
    /* 0: the place is free. */
    pid_t process;
    int pidfd, out, error;
    /* The output, or the beginning of a line; it belongs to who sets it to NULL. */
    char *text;
    size_t bytes;
    /* The exit status; negative: a signal has ended it, or this one has: -EFBIG, -ETIMEDOUT. */
    int status;
    /* The last line of its standard error, printable. */
    char why[256];
    size_t why_bytes;
    bool why_ended;
    /* The line is too long. */
    bool skips;
    /* When it is ended; when it is killed. */
    uint64_t end_ns, kill_ns;
};

struct spex_children {
    struct spex_child list[SPEX_CHILDREN];
};

/* NULL: there are too many, or the system lets none begin. */
struct spex_child *spex_children_start(struct spex_children *children,
                                       const struct spex_child_task *task, uint64_t now_ns);

/* Asks it to end, which its task will hear of. */
void spex_child_end(struct spex_child *child, uint64_t now_ns);

/* The same, but its task hears nothing more. */
void spex_child_stop(struct spex_child *child, uint64_t now_ns);

/* Sets SPEX_CHILDREN_FDS descriptors to poll. Returns when spex_children_take is to be called at
 * the latest. */
uint64_t spex_children_wait(const struct spex_children *children, struct pollfd *fds);
void spex_children_take(struct spex_children *children, const struct pollfd *fds, uint64_t now_ns);

/* Stops all, and waits for their end for a while. */
void spex_children_close(struct spex_children *children);

#endif
