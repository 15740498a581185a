/* SPDX-License-Identifier: MIT */
/* All environment variables that the library reads. Code that reads one names it by this
 * enumeration. spex/spex.h says what each of them means. */
#ifndef SPEX_TEXT_VARIABLES_H
#define SPEX_TEXT_VARIABLES_H

enum spex_variable {
    SPEX_VARIABLE_PROBES,
    SPEX_VARIABLE_FUNCTIONS,
    SPEX_VARIABLE_OUT,
    SPEX_VARIABLE_VERBOSE,
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
    SPEX_VARIABLE_WAITS,
    SPEX_VARIABLE_FORKS,
    /* Set by commands that start a program and wait for its connection. */
    SPEX_VARIABLE_OUT_SOCKET,
    /* Read by libspex-explore (spex/config.h). */
    SPEX_VARIABLE_CONFIG,
    SPEX_VARIABLE_CONFIG_FILE,
    /* The number of variables. */
    SPEX_VARIABLES
};

/* Returns the name, such as "SPEX_PROBES". */
const char *spex_variable_name(enum spex_variable variable);

/* Returns the variable's text; NULL when it is not set or empty, and in set-user-ID programs. */
const char *spex_variable_text(enum spex_variable variable);

/* Writes one line for each variable of the environment whose name begins with SPEX_ and is unknown.
 * The first call in a process does so, except in set-user-ID programs. One thread at a time. */
void spex_variables_check(void);

#endif
