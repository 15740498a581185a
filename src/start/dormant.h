/* SPDX-License-Identifier: MIT */
/* This program as a dormant one (wire/dormant.h): whether it may be, and how it wakes up. */
#ifndef SPEX_START_DORMANT_H
#define SPEX_START_DORMANT_H

#include <stdbool.h>

#include "serve/control.h"
#include "text/error.h"

/* Opens the control socket of a dormant program, by the settings of the process, as
 * spex_control_start, with its result in *err. False: it may not be dormant, and nothing has been
 * done. With the lock of start and stop. */
bool spex_dormant_begin(const struct spex_control_requests *requests, int *err,
                        struct spex_error *error);

/* Starts the thread of a program that is dormant: it has other threads of the library from now on.
 * In an ordinary place, not in a handler of a signal. */
void spex_dormant_wake(void);

/* Ends it without a thread: spex stops; or in the child of a fork. */
void spex_dormant_end(void);

#endif
