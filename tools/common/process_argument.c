/* SPDX-License-Identifier: MIT */
/* Arguments that name processes and probes, checked with the messages of a command. */
#include "tools/common/process_argument.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "site/selection.h"
#include "text/variables.h"
#include "tools/common/complain.h"

bool spex_is_number(const char *text) {
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

int spex_complain_of_looking(long err) {
    return spex_complain(SPEX_EXIT_FAILED, "programs cannot be looked for: %s",
                         strerror((int)-err));
}

int spex_complain_of_no_program(const char *name) {
    return spex_complain(SPEX_EXIT_FAILED, "no program %s%s%sis running that %s can control",
                         name ? "called " : "", name ? name : "", name ? " " : "",
                         geteuid() == 0 ? "spex" : "you");
}

/* A number that is too large for a process id names no process; it is no error of syntax. */
int spex_process_argument(const char *command, const char *text, pid_t *process) {
    if (!spex_is_number(text))
        return spex_complain(SPEX_EXIT_USAGE,
                             "%s: the number of a process was expected, not \"%s\"", command, text);
    errno = 0;
    long number = strtol(text, NULL, 10);
    if (errno || number < 1 || number > INT_MAX)
        return spex_complain(SPEX_EXIT_FAILED, "there is no process %s", text);
    *process = (pid_t)number;
    return SPEX_EXIT_OK;
}

bool spex_names_functions(const char *text) {
    struct spex_selection selection;
    struct spex_error error;
    if (strncmp(text, "func:", 5) != 0 && strncmp(text, "usdt:", 5) != 0)
        return false;
    bool probes = spex_selection_parse(text, &selection, &error) == 0;
    if (probes)
        spex_selection_free(&selection);
    return !probes;
}

/* The selection is parsed for its errors only; the program parses it itself. */
int spex_probes_argument(const char *command, const char *origin, const char *text) {
    struct spex_selection selection;
    struct spex_error error;
    if (spex_names_functions(text))
        return spex_complain(SPEX_EXIT_USAGE,
                             "%s: %s: \"%s\": functions of any program are looked at by spex "
                             "attach, record, run, top, train and watch",
                             command, origin, text);
    if (spex_selection_parse(text, &selection, &error) != 0)
        return spex_complain(SPEX_EXIT_USAGE, "%s: %s: %s", command, origin, error.text);
    spex_selection_free(&selection);
    return SPEX_EXIT_OK;
}

int spex_probes_chosen(const char *command, const char **probes) {
    const char *origin = *probes ? "-e" : spex_variable_name(SPEX_VARIABLE_PROBES);
    if (!*probes)
        *probes = spex_variable_text(SPEX_VARIABLE_PROBES);
    if (!*probes)
        *probes = "*";
    return spex_probes_argument(command, origin, *probes);
}
