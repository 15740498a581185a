/* SPDX-License-Identifier: MIT */
/* Loads are run by stress-ng, one process for each <load>, whose children are the workers. They run
 * on the CPUs of the trial, which they are to disturb. */
#define _GNU_SOURCE
#include "explore/trial/load.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The command, which PATH must have; also the beginning of its workers' names. */
#define STRESS_NG "stress-ng"

/* Returns whether a list of words contains this one; words are separated by blanks or newlines. */
static bool has_word(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; *at; at += strcspn(at, " \n")) {
        at += strspn(at, " \n");
        if (strncmp(at, word, length) == 0 && strchr(" \n", at[length]))
            return true;
    }
    return false;
}

/* The names of all stressors, to be freed; NULL when stress-ng cannot be run. */
static char *list_stressors(void) {
    char *list = NULL;
    size_t room = 0;
    FILE *out = popen(STRESS_NG " --stressors 2>/dev/null", "re");
    if (!out)
        return NULL;
    ssize_t length = getdelim(&list, &room, '\0', out);
    if (pclose(out) == 0 && length > 0)
        return list;
    free(list);
    return NULL;
}

/* Runs stress-ng once, and only for a space with loads. */
int spex_load_check(const struct spex_agent *agent, struct spex_error *error) {
    if (agent->load_count == 0)
        return 0;
    char *list = list_stressors();
    if (!list)
        return spex_fail(error, -ENOENT,
                         "the space has a <load>, which needs stress-ng: install Debian's package "
                         "\"stress-ng\"");
    int err = 0;
    for (size_t l = 0; l < agent->load_count && !err; l++)
        if (!has_word(list, agent->loads[l].stressor))
            err = spex_fail(error, -EINVAL,
                            "<load>: stressor=\"%s\": one of those that \"stress-ng --stressors\" "
                            "lists was expected",
                            agent->loads[l].stressor);
    free(list);
    return err;
}

/* stress-ng runs until it is torn down: a timeout of 0 is none. */
int spex_load_start(struct spex_program *program, const struct spex_load_filled *load,
                    const struct spex_launch *base, const char *directory,
                    struct spex_error *error) {
    char stressor[128], workers[16];
    size_t options = 0;
    while (load->options[options])
        options++;
    const char *const first[] = {STRESS_NG, stressor,      workers,  "--timeout",
                                 "0",       "--temp-path", directory};
    enum { FIRST = sizeof(first) / sizeof(first[0]) };
    const char **argv = calloc(FIRST + options + 1, sizeof(*argv));
    if (!argv)
        return spex_fail(error, -ENOMEM, "out of memory");
    snprintf(stressor, sizeof(stressor), "--%s", load->stressor);
    snprintf(workers, sizeof(workers), "%u", load->workers);
    memcpy(argv, first, sizeof(first));
    memcpy(argv + FIRST, load->options, options * sizeof(*argv));
    const struct spex_launch launch = {
        .argv = (char *const *)(uintptr_t)argv, .config = base->config, .cpus = base->cpus};
    int err = spex_program_launch(program, &launch, error);
    free(argv);
    return err;
}

/* For nftw, which visits the contents of a directory before the directory and follows no links. */
static int remove_file(const char *path, const struct stat *file, int kind, struct FTW *where) {
    (void)file;
    (void)kind;
    (void)where;
    return remove(path);
}

void spex_load_remove_files(const char *directory) {
    nftw(directory, remove_file, 8, FTW_DEPTH | FTW_PHYS);
}

/* Returns whether a child of stress-ng has begun: it takes the name "stress-ng-STRESSOR" right
 * before. */
static bool is_worker(long pid) {
    char path[64], name[32] = "";
    snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
    FILE *in = fopen(path, "re");
    bool read = in && fgets(name, sizeof(name), in);
    if (in)
        fclose(in);
    return read && strncmp(name, STRESS_NG "-", strlen(STRESS_NG "-")) == 0;
}

/* True where the kernel does not list children: then the trial begins without this check. */
bool spex_load_runs(const struct spex_program *program, unsigned workers) {
    char path[64];
    char *list = NULL, *end;
    size_t room = 0;
    unsigned found = 0;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)program->pid, (int)program->pid);
    FILE *children = fopen(path, "re");
    if (!children)
        return true; /* kernel without /proc/PID/task/TID/children */
    ssize_t length = getdelim(&list, &room, '\0', children);
    fclose(children);
    for (const char *at = list; length > 0; at = end) {
        long pid = strtol(at, &end, 10);
        if (end == at)
            break;
        found += is_worker(pid);
    }
    free(list);
    return found >= workers;
}
