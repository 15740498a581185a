/* SPDX-License-Identifier: MIT */
/* Sends selections to a running program on a connection of their own, so that a key takes effect
 * without waiting for a report, and the screen is drawn without waiting for an answer. */
#ifndef SPEX_TOOLS_TOP_TOP_SWITCH_H
#define SPEX_TOOLS_TOP_TOP_SWITCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "observe/profile_reader.h"
#include "text/error.h"

struct spex_top_switch {
    pid_t process;
    /* To be polled for answers; -1 while no answer is expected. */
    int socket;
    unsigned unanswered;
    struct spex_profile_reader reader;
};

void spex_top_switch_open(struct spex_top_switch *by, pid_t process);
void spex_top_switch_close(struct spex_top_switch *by);

/* 0, or a negative errno value with the reason. */
int spex_top_switch_send(struct spex_top_switch *by, const char *selection,
                         struct spex_error *error);

/* Takes an answer, as a line for the user. Returns how many sites are on; a negative errno value
 * when nothing was switched; -EAGAIN when there is no answer yet. */
int spex_top_switch_take(struct spex_top_switch *by, char *line, size_t size);

#endif
