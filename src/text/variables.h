/* SPDX-License-Identifier: MIT */
/* The environment variables of spex's, all of them: what is read anywhere has its name from here. */
#ifndef SPEX_TEXT_VARIABLES_H
#define SPEX_TEXT_VARIABLES_H

enum spex_variable {
    SPEX_VARIABLE_PROBES,
    SPEX_VARIABLE_FUNCTIONS,
    SPEX_VARIABLE_OUT,
    SPEX_VARIABLE_BUDGET,
    SPEX_VARIABLE_THREAD_BUDGET,
    SPEX_VARIABLE_RATE_POLICY,
    SPEX_VARIABLE_PROBING,
    SPEX_VARIABLE_MODELS,
    SPEX_VARIABLE_SAMPLES,
    SPEX_VARIABLE_COLLECTORS,
    SPEX_VARIABLE_RING_RECORDS,
    SPEX_VARIABLE_BATCH_RECORDS,
    SPEX_VARIABLE_RING_CPUS,
    SPEX_VARIABLE_COMMIT,
    SPEX_VARIABLE_CALIBRATE,
    SPEX_VARIABLE_COUNTERS,
    SPEX_VARIABLE_CONTROL,
    SPEX_VARIABLE_FORKS,
    SPEX_VARIABLE_CONFIG, /* read by the part that explores */
    SPEX_VARIABLES
};

const char *spex_variable_name(enum spex_variable variable);

/* NULL when it is not set or empty, and in set-user-ID programs. */
const char *spex_variable_text(enum spex_variable variable);

/* Says in one line each, once in a process, which variables look like spex's and are not; nothing in
 * set-user-ID programs. Any thread, one at a time. */
void spex_variables_check(void);

#endif
