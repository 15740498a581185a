/* SPDX-License-Identifier: MIT */
/* When the controller has experiments (experiment.h), and what it makes of their findings. Under
 * the metrics' lock. */
#ifndef SPEX_RATE_EXPERIMENTS_H
#define SPEX_RATE_EXPERIMENTS_H

#include <stdbool.h>
#include <stddef.h>

/* The budget is overdrawn, or much of what was saved has gone since the last decision, or little
 * is known of a probe: the next decision is urgent. */
bool spex_experiments_rush(void);

/* Goes on with the session. True: nothing is to be decided, as there is a session, or has just
 * been one. It ends when there is a rush. */
bool spex_experiments_pass(void);

/* Decided: a session may begin with the probes that are on, out of the first `classes` classes. */
void spex_experiments_begin(size_t classes);

#endif
