/* SPDX-License-Identifier: MIT */
#include "tools/explore/duet.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* In a template "{{" and "}}" are a brace each. NULL: out of memory. */
static char *without_parameters(const char *line) {
    char *copy = malloc(2 * strlen(line) + 1), *to = copy;
    for (; copy && *line; line++) {
        if (*line == '{' || *line == '}')
            *to++ = *line;
        *to++ = *line;
    }
    if (copy)
        *to = '\0';
    return copy;
}

int spex_shell_lines_make(struct spex_shell_lines *lines, const char *const commands[2]) {
    *lines = (struct spex_shell_lines){.names = {"A", "B"}};
    for (int s = 0; s < 2; s++) {
        if (!(lines->lines[s] = without_parameters(commands[s])))
            return -ENOMEM;
        lines->argv[s][0] = "/bin/sh";
        lines->argv[s][1] = "-c";
        lines->argv[s][2] = lines->lines[s];
    }
    return 0;
}

void spex_shell_lines_free(struct spex_shell_lines *lines) {
    for (int s = 0; s < 2; s++)
        free(lines->lines[s]);
}

/* The level of the only parameter is the side. */
static int run_in(const struct spex_single_runs *runs, unsigned place,
                  const struct spex_shell_lines *lines, struct spex_one_run *one,
                  struct spex_error *error) {
    char *const *argv = (char *const *)(uintptr_t)lines->argv[one->side];
    size_t level = one->side;
    struct spex_trial trial;
    int err = spex_single_run(runs, place, argv, &level, one->cpus, &trial, error);
    if (err)
        return err;
    one->value = trial.measured[0].value;
    if (!trial.ok)
        err = spex_fail(error, -EINVAL, "%s cannot be measured: %s", lines->names[one->side],
                        trial.status);
    else if (!(one->value > 0))
        err = spex_fail(error, -EINVAL,
                        "a figure above 0 was expected of %s, not %g: there is no ratio otherwise",
                        lines->names[one->side], one->value);
    spex_trial_free(&trial);
    return err;
}

int spex_run_one(const struct spex_single_runs *runs, const struct spex_shell_lines *lines,
                 struct spex_one_run *one, struct spex_error *error) {
    return run_in(runs, 0, lines, one, error);
}

/* What a thread runs. */
struct beside {
    const struct spex_single_runs *runs;
    const struct spex_shell_lines *lines;
    struct spex_one_run *one;
    int err;
    struct spex_error error;
};

static void *run_beside(void *argument) {
    struct beside *beside = argument;
    beside->err = run_in(beside->runs, 1, beside->lines, beside->one, &beside->error);
    return NULL;
}

int spex_run_both(const struct spex_single_runs *runs, const struct spex_shell_lines *lines,
                  struct spex_one_run both[2], struct spex_error *error) {
    struct beside beside = {.runs = runs, .lines = lines, .one = &both[1]};
    pthread_t thread;
    int err = pthread_create(&thread, NULL, run_beside, &beside);
    if (err)
        return spex_fail(error, -err, "cannot start a thread: %s", strerror(err));
    err = run_in(runs, 0, lines, &both[0], error);
    pthread_join(thread, NULL);
    if (!err && beside.err)
        return spex_fail(error, beside.err, "%s", beside.error.text);
    return err;
}
