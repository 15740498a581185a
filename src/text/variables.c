/* SPDX-License-Identifier: MIT */
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

#include "text/message.h"

enum { NAME_BYTES = 32, SLIPS_MAX = 2 };

static const char prefix[] = "SPEX_";

static const char *const names[SPEX_VARIABLES] = {
    [SPEX_VARIABLE_PROBES] = "SPEX_PROBES",
    [SPEX_VARIABLE_FUNCTIONS] = "SPEX_FUNCTIONS",
    [SPEX_VARIABLE_OUT] = "SPEX_OUT",
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
    [SPEX_VARIABLE_FORKS] = "SPEX_FORKS",
    [SPEX_VARIABLE_CONFIG] = "SPEX_CONFIG",
};

const char *spex_variable_name(enum spex_variable variable) {
    return names[variable];
}

const char *spex_variable_text(enum spex_variable variable) {
    const char *text = secure_getenv(names[variable]);
    return text && *text ? text : NULL;
}

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* Letters to put in, leave out, change or exchange with their neighbour, at least, to make one of the
 * other (the optimal string alignment distance); both shorter than NAME_BYTES. Cases are the same. */
static unsigned slips_between(const char *a, const char *b) {
    unsigned slips[NAME_BYTES][NAME_BYTES];
    size_t a_length = strlen(a), b_length = strlen(b);
    for (size_t i = 0; i <= a_length; i++) {
        for (size_t j = 0; j <= b_length; j++) {
            slips[i][j] = (unsigned)(i + j);
            if (i == 0 || j == 0)
                continue;
            bool differ = toupper((unsigned char)a[i - 1]) != b[j - 1];
            slips[i][j] =
                least(least(slips[i - 1][j], slips[i][j - 1]) + 1, slips[i - 1][j - 1] + differ);
            if (i > 1 && j > 1 && toupper((unsigned char)a[i - 1]) == b[j - 2] &&
                toupper((unsigned char)a[i - 2]) == b[j - 1])
                slips[i][j] = least(slips[i][j], slips[i - 2][j - 2] + 1);
        }
    }
    return slips[a_length][b_length];
}

/* The variable that was probably meant, or NULL. */
static const char *meant_by(const char *name) {
    const char *nearest = NULL;
    unsigned fewest = SLIPS_MAX + 1;
    for (size_t v = 0; v < SPEX_VARIABLES && strlen(name) < NAME_BYTES; v++) {
        unsigned slips = slips_between(name, names[v]);
        if (slips < fewest) {
            nearest = names[v];
            fewest = slips;
        }
    }
    return nearest;
}

static void say_unknown(const char *name) {
    const char *meant = meant_by(name);
    char all[SPEX_VARIABLES * NAME_BYTES] = "";
    if (meant) {
        spex_message("%.64s is no variable of spex's; did you mean %s?", name, meant);
        return;
    }
    for (size_t v = 0, length = 0; v < SPEX_VARIABLES; v++)
        length +=
            (size_t)snprintf(all + length, sizeof(all) - length, "%s%s", v ? ", " : "", names[v]);
    spex_message("%.64s is no variable of spex's; there are: %s", name, all);
}

/* `spex explore` gives commands of a space the configuration in these, and they may run any program. */
static const char parameter_prefix[] = "SPEX_PARAMETER_";

static bool is_known(const char *name) {
    if (strncmp(name, parameter_prefix, strlen(parameter_prefix)) == 0)
        return true;
    for (size_t v = 0; v < SPEX_VARIABLES; v++)
        if (strcmp(name, names[v]) == 0)
            return true;
    return false;
}

/* "NAME=text". */
static void check(const char *entry) {
    const char *equals = strchr(entry, '=');
    if (strncmp(entry, prefix, strlen(prefix)) != 0 || !equals || !equals[1])
        return;
    char *name = strndup(entry, (size_t)(equals - entry));
    if (name && !is_known(name))
        say_unknown(name);
    free(name);
}

void spex_variables_check(void) {
    static bool checked;
    if (checked || getauxval(AT_SECURE))
        return;
    checked = true;
    for (char **entry = environ; entry && *entry; entry++)
        check(*entry);
}
