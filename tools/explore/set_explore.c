/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "tools/explore/set_explore.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files/whole_file.h"
#include "explore/prior.h"
#include "explore/space/space.h"
#include "tools/common/complain.h"
#include "tools/common/verdict.h"
#include "tools/explore/first_runs.h"
#include "tools/explore/set_space.h"

/* As much as is read of a space. */
#define KEPT_BYTES_MAX (1 << 20)

static const char *name_of(const char *program) {
    const char *slash = strrchr(program, '/');
    return slash && slash[1] ? slash + 1 : program;
}

/* "explore-zstd.db" with "explore-zstd.xml" beside it. */
static int make_paths(struct spex_set_explore *set) {
    int made = set->store ? asprintf(&set->store_path, "%s", set->store)
                          : asprintf(&set->store_path, "explore-%s.db", name_of(set->argv[0]));
    if (made < 0)
        set->store_path = NULL;
    set->space_path = set->store_path ? spex_set_space_path(set->store_path) : NULL;
    return set->space_path ? 0 : -ENOMEM;
}

/* Reads the kept space of an exploration that goes on: what is first. */
static int read_kept(const char *path, struct spex_set_space *space, struct spex_space_file **file,
                     char **xml, struct spex_error *error) {
    int err = spex_space_read(path, file, error);
    if (err)
        return err;
    space->threads = spex_set_space_threads(&(*file)->space);
    space->first = (*file)->space.first;
    space->first_count = (*file)->space.first_count;
    space->first_of = &(*file)->space;
    size_t length; /* what was read has the pool's rows in it */
    return spex_whole_file_read(path, SPEX_FILE_ANY, KEPT_BYTES_MAX, xml, &length, error);
}

/* Checks that the kept space is what the options make. */
static int go_on(struct spex_set_explore *set, struct spex_set_space *space,
                 struct spex_error *error) {
    struct spex_space_file *file = NULL;
    char *kept = NULL, *now = NULL;
    int err = read_kept(set->space_path, space, &file, &kept, error);
    err = err ? err : spex_set_space_write(space, &now, error);
    if (!err && strcmp(kept, now) != 0)
        err = spex_fail(error, -EEXIST,
                        "%s is of another exploration than these options are; --store with the "
                        "name of a new file was expected",
                        set->space_path);
    spex_space_free(file);
    free(kept);
    free(now);
    return err;
}

/* Tells what is known before the first trial. */
static void tell(const struct spex_set_explore *set, const struct spex_space *space,
                 const char *first, uint64_t trials) {
    unsigned long long all = spex_space_configurations(space);
    char limit[32];
    fprintf(stderr, "spex: %s\n", first);
    fprintf(stderr, "spex: %llu configuration%s", all, all == 1 ? "" : "s");
    if (trials)
        fprintf(stderr, "; about %llu trials fit into %s", (unsigned long long)trials,
                spex_elapsed_text(set->seconds, limit, sizeof(limit)));
    fprintf(stderr, "; the space is in %s, trials go to %s\n", set->space_path, set->store_path);
}

/* Finds what is to be tried first; `levels` is to be freed. */
static int read_prior(const struct spex_set_explore *set, const struct spex_space_file *file,
                      struct spex_set_space *space, size_t **levels, struct spex_error *error) {
    size_t count = 0;
    if (!set->prior)
        return 0;
    *levels = calloc(SPEX_PRIOR_MOST * file->space.parameter_count, sizeof(**levels));
    if (!*levels)
        return spex_fail(error, -ENOMEM, "out of memory");
    struct spex_error reason;
    int err = spex_prior_read(set->prior, &file->space, *levels, &count, &reason);
    space->first = *levels;
    space->first_count = count;
    space->first_of = &file->space;
    return err ? spex_fail(error, err, "--prior %s", reason.text) : 0;
}

static int begin(struct spex_set_explore *set, struct spex_set_space *space,
                 struct spex_error *error) {
    struct spex_space_file *file = NULL;
    char *xml = NULL, first[256];
    size_t *prior = NULL;
    uint64_t trials = 0;
    int err = spex_set_space_write(space, &xml, error);
    err = err ? err : spex_set_space_read(space, xml, &file, error);
    err = err ? err : spex_set_space_check(file, set->argv, error);
    err = err ? err : read_prior(set, file, space, &prior, error);
    err = err ? err
              : spex_first_runs(file, set->argv, set->stop_fd, set->seconds, &trials, first,
                                sizeof(first), error);
    free(xml);
    xml = NULL;
    space->threads = !err && spex_set_space_threads(&file->space);
    err = err ? err : spex_set_space_write(space, &xml, error);
    err = err ? err : spex_whole_file_write(set->space_path, xml, strlen(xml), error);
    if (!err)
        tell(set, &file->space, first, trials);
    if (!err && space->first_count)
        fprintf(stderr, "spex: it begins with %llu configurations that were good in %s\n",
                (unsigned long long)space->first_count, set->prior);
    spex_space_free(file);
    free(prior);
    free(xml);
    return err;
}

int spex_set_explore_prepare(struct spex_set_explore *set) {
    struct spex_error error = {"out of memory"};
    int err = make_paths(set);
    /* The kept space may lie in another folder. */
    char *pool = set->pool ? realpath(set->pool, NULL) : NULL;
    struct spex_set_space space = {.name = name_of(set->argv[0]),
                                   .sets = set->sets,
                                   .goals = set->goals,
                                   .services = set->services,
                                   .readies = set->readies,
                                   .pool = pool,
                                   .finals = set->finals,
                                   .zone = set->zone,
                                   .sure = set->sure};
    if (!err && set->pool && !pool)
        err = spex_fail(&error, -errno, "cannot read %s: %s", set->pool, strerror(errno));
    if (!err)
        err = access(set->space_path, F_OK) == 0 ? go_on(set, &space, &error)
                                                 : begin(set, &space, &error);
    free(pool);
    if (err == -EINTR)
        return spex_complain(SPEX_EXIT_INTERRUPTED, "interrupted; no trial has begun");
    if (err)
        return spex_complain(err == -EINVAL ? SPEX_EXIT_USAGE : SPEX_EXIT_FAILED, "explore: %s",
                             error.text);
    return SPEX_EXIT_OK;
}
