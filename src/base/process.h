/* SPDX-License-Identifier: MIT */
/* Whether a fork that made this process called the library's handlers. */
#ifndef SPEX_BASE_PROCESS_H
#define SPEX_BASE_PROCESS_H

#include <stdbool.h>

/* Forks of this process call the library's handlers from now on. */
void spex_process_keep(void);

/* In the child of a fork, by such a handler. */
void spex_process_fork_child(void);

/* Whether that, and so whether a thread may have a lock. */
bool spex_process_is_kept(void);

/* The calling process is the child of a fork that calls no handlers (_Fork, clone), or shares the
 * memory of its parent. It has neither the library's threads nor the owners of its locks, which
 * nobody can take there. */
bool spex_process_is_unknown(void);

/* The text that functions return then. */
#define SPEX_PROCESS_UNKNOWN "this process was made by a fork that calls no handlers"

#endif
