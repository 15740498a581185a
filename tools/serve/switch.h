/* SPDX-License-Identifier: MIT */
/* POST /api/set: switches probes of a process, or of all processes of a program. One request is
 * carried out at a time; the loop goes on while programs answer. */
#ifndef SPEX_TOOLS_SERVE_SWITCH_H
#define SPEX_TOOLS_SERVE_SWITCH_H

#include "tools/serve/programs.h"

struct spex_request;

struct spex_switch_target {
    pid_t process;
    struct spex_caller caller;
    /* It has answered, or cannot be reached. `status`: sites that are on, or a negative errno
     * value. */
    bool over;
    int status;
    char text[SPEX_CONTROL_ANSWER_BYTES];
};

struct spex_switch {
    /* NULL: none is carried out. */
    struct spex_request *request;
    uint64_t end_ns;
    struct spex_switch_target *targets;
    size_t count;
};

/* As spex_programs_wait: sets a descriptor for each target. */
uint64_t spex_switch_wait(const struct spex_switch *by, struct pollfd *fds);

/* Takes what has come. Resumes the request when all is over, or its time. */
void spex_switch_take(struct spex_switch *by, uint64_t now_ns);

/* The request has gone, or is answered. */
void spex_switch_end(struct spex_switch *by);

#endif
