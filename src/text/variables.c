/* SPDX-License-Identifier: MIT */
/* The names of the environment variables. For an unknown name that begins with SPEX_, a
 * message suggests the nearest known name by edit distance. */
#define _GNU_SOURCE
#include "text/variables.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "text/at_start.h"
#include "text/message.h"

/* Bytes of any name with its 0, and the largest distance of a name that is suggested. */
enum { NAME_BYTES = 32, EDITS_MAX = 2 };

static const char variable_prefix[] = "SPEX_";

static const char *const variable_names[SPEX_VARIABLES] = {
    [SPEX_VARIABLE_PROBES] = "SPEX_PROBES",
    [SPEX_VARIABLE_FUNCTIONS] = "SPEX_FUNCTIONS",
    [SPEX_VARIABLE_OUT] = "SPEX_OUT",
    [SPEX_VARIABLE_VERBOSE] = "SPEX_VERBOSE",
    [SPEX_VARIABLE_BUDGET] = "SPEX_BUDGET",
    [SPEX_VARIABLE_THREAD_BUDGET] = "SPEX_THREAD_BUDGET",
    [SPEX_VARIABLE_RATE_POLICY] = "SPEX_RATE_POLICY",
    [SPEX_VARIABLE_PROBING] = "SPEX_PROBING",
    [SPEX_VARIABLE_MODELS] = "SPEX_MODELS",
    [SPEX_VARIABLE_SAMPLES] = "SPEX_SAMPLES",
    [SPEX_VARIABLE_COLLECTORS] = "SPEX_COLLECTORS",
    [SPEX_VARIABLE_RING_RECORDS] = "SPEX_RING_RECORDS",
    [SPEX_VARIABLE_BATCH_RECORDS] = "SPEX_BATCH_RECORDS",
    [SPEX_VARIABLE_RING_CPUS] = "SPEX_RING_CPUS",
    [SPEX_VARIABLE_COMMIT] = "SPEX_COMMIT",
    [SPEX_VARIABLE_CALIBRATE] = "SPEX_CALIBRATE",
    [SPEX_VARIABLE_COUNTERS] = "SPEX_COUNTERS",
    [SPEX_VARIABLE_CONTROL] = "SPEX_CONTROL",
    [SPEX_VARIABLE_WAITS] = "SPEX_WAITS",
    [SPEX_VARIABLE_FORKS] = "SPEX_FORKS",
    [SPEX_VARIABLE_OUT_SOCKET] = "SPEX_OUT_SOCKET",
    [SPEX_VARIABLE_CONFIG] = "SPEX_CONFIG",
    [SPEX_VARIABLE_CONFIG_FILE] = "SPEX_CONFIG_FILE",
};

const char *spex_variable_name(enum spex_variable variable) {
    return variable_names[variable];
}

const char *spex_variable_text(enum spex_variable variable) {
    const char *text = secure_getenv(variable_names[variable]);
    return text && *text ? text : NULL;
}

/* The lesser of two counts of edits. */
static unsigned minimum_of(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* Returns the optimal string alignment distance: the fewest letters to insert, delete, change or
 * exchange with their neighbour that turn one name into the other. Upper and lower case are the
 * same in `a`; `b` is in upper case. Both are shorter than NAME_BYTES. */
static unsigned edit_distance(const char *a, const char *b) {
    unsigned edits[NAME_BYTES][NAME_BYTES];
    size_t a_length = strlen(a), b_length = strlen(b);
    for (size_t i = 0; i <= a_length; i++) {
        for (size_t j = 0; j <= b_length; j++) {
            edits[i][j] = (unsigned)(i + j);
            if (i == 0 || j == 0)
                continue;
            bool differ = toupper((unsigned char)a[i - 1]) != b[j - 1];
            edits[i][j] = minimum_of(minimum_of(edits[i - 1][j], edits[i][j - 1]) + 1,
                                     edits[i - 1][j - 1] + differ);
            if (i > 1 && j > 1 && toupper((unsigned char)a[i - 1]) == b[j - 2] &&
                toupper((unsigned char)a[i - 2]) == b[j - 1])
                edits[i][j] = minimum_of(edits[i][j], edits[i - 2][j - 2] + 1);
        }
    }
    return edits[a_length][b_length];
}

/* Returns the nearest variable to a misspelt name; NULL when none is near. */
static const char *variable_nearest(const char *name) {
    const char *nearest = NULL;
    unsigned fewest = EDITS_MAX + 1;
    for (size_t v = 0; v < SPEX_VARIABLES && strlen(name) < NAME_BYTES; v++) {
        unsigned edits = edit_distance(name, variable_names[v]);
        if (edits < fewest) {
            nearest = variable_names[v];
            fewest = edits;
        }
    }
    return nearest;
}

/* Writes the message: with the nearest name, or with all names where none is near. */
static void unknown_report(const char *name) {
    const char *meant = variable_nearest(name);
    char all[SPEX_VARIABLES * NAME_BYTES] = "";
    if (meant) {
        spex_message("%.64s is no variable of spex's; did you mean %s?", name, meant);
        return;
    }
    for (size_t v = 0, length = 0; v < SPEX_VARIABLES; v++)
        length += (size_t)snprintf(all + length, sizeof(all) - length, "%s%s", v ? ", " : "",
                                   variable_names[v]);
    spex_message("%.64s is no variable of spex's; there are: %s", name, all);
}

/* `spex explore` passes configurations to the commands of a space in variables with this prefix.
 * The commands may run programs with probes, so these variables are not unknown. */
static const char parameter_prefix[] = "SPEX_PARAMETER_";

/* Whether spex reads the variable, or sets it for the commands of a space. */
static bool variable_is_known(const char *name) {
    if (strncmp(name, parameter_prefix, strlen(parameter_prefix)) == 0)
        return true;
    for (size_t v = 0; v < SPEX_VARIABLES; v++)
        if (strcmp(name, variable_names[v]) == 0)
            return true;
    return false;
}

/* Checks an entry "NAME=text" of the environment. A variable without a text counts as not set. */
static void entry_check(const char *entry) {
    const char *equals = strchr(entry, '=');
    if (strncmp(entry, variable_prefix, strlen(variable_prefix)) != 0 || !equals || !equals[1])
        return;
    char *name = strndup(entry, (size_t)(equals - entry));
    if (name && !variable_is_known(name))
        unknown_report(name);
    free(name);
}

/* Nothing is said in set-user-ID programs, which read none of the variables. */
void spex_variables_check(void) {
    static bool checked SPEX_AT_START;
    if (checked || getauxval(AT_SECURE))
        return;
    checked = true;
    for (char **entry = environ; entry && *entry; entry++)
        entry_check(*entry);
}
