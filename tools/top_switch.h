/* SPDX-License-Identifier: MIT */
/* Selections sent to a running program while its profiles come on another connection: a key's effect does not wait for
 * a report, nor the screen for an answer. */
#ifndef SPEX_TOP_SWITCH_H
#define SPEX_TOP_SWITCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "profile_reader.h"
#include "why.h"

struct spex_top_switch {
    pid_t process;
    int socket; /* -1: nothing is under way; else to be polled */
    unsigned unanswered;
    struct spex_profile_reader reader;
};

void spex_top_switch_open(struct spex_top_switch *by, pid_t process);
void spex_top_switch_close(struct spex_top_switch *by);

/* 0, or a negative errno value with the reason. */
int spex_top_switch_send(struct spex_top_switch *by, const char *selection, struct spex_why *why);

/* Takes an answer, if there is one, as a line for the user: 0 or more, how many sites are on; a negative errno value
 * when nothing was switched; -EAGAIN when there is none. */
int spex_top_switch_take(struct spex_top_switch *by, char *line, size_t size);

#endif
