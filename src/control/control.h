/* SPDX-License-Identifier: MIT */
/* The control thread: lets commands of the same user look at this process's probes and switch them. It sleeps until
 * one calls. */
#ifndef SPEX_CONTROL_H
#define SPEX_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts the thread with an open door. `chosen`: SPEX_CONTROL's directory, or NULL. 0, or a negative errno value
 * with the reason. */
int spex_control_start(const char *chosen, char *why, size_t why_size);

/* Calls the command that waits at the socket `path`, which will be sent a report every `interval_ms`. Starts the
 * thread if need be. When that command goes, all probes go off. */
int spex_control_call(const char *path, uint32_t interval_ms, char *why, size_t why_size);

/* Every site is off and every record collected: sends the last reports, closes all, ends the thread. Waits
 * for slow readers, two seconds at most. */
void spex_control_stop(void);

/* Around a fork; in the child there is no thread, and what it had open is the parent's. */
void spex_control_fork_prepare(void);
void spex_control_fork_parent(void);
void spex_control_fork_child(void);

#endif
