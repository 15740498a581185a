/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "fleet/trials/work_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "explore/abandoned.h"
#include "explore/trial/agent_filled.h"
#include "explore/trial/load.h"

/* A run ends when the rules of the space say so: what else a policy would end it by is with the
 * explorer. */
static const struct spex_policy_ops rules_alone = {SPEX_POLICY_NAMED("rules", "the space's rules")};

static int fail_place(const struct spex_work_place *place, int err, struct spex_error *error) {
    return spex_fail(error, err, "the place for trials %s: %s", place->home, strerror(-err));
}

/* Whether what is locked is still what others find there. */
static bool is_current(const struct spex_work_place *place) {
    struct stat ours, there;
    return fstat(place->lock, &ours) == 0 && lstat(place->home, &there) == 0 &&
           ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

static int check_owner(const struct spex_work_place *place, struct spex_error *error) {
    struct stat status;
    if (fstat(place->lock, &status) < 0)
        return fail_place(place, -errno, error);
    if (status.st_uid != geteuid() || (status.st_mode & (S_IRWXG | S_IRWXO)))
        return spex_fail(error, -EPERM,
                         "the place for trials %s: a directory that this user alone can read was "
                         "expected",
                         place->home);
    return 0;
}

/* -EAGAIN: the one before has just removed it. */
static int lock_place(struct spex_work_place *place, struct spex_error *error) {
    if (mkdir(place->home, 0700) < 0 && errno != EEXIST)
        return fail_place(place, -errno, error);
    place->lock = open(place->home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int err = place->lock < 0 ? fail_place(place, -errno, error) : check_owner(place, error);
    if (!err && flock(place->lock, LOCK_EX | LOCK_NB) < 0)
        err = spex_fail(error, -EBUSY,
                        "another process of this user runs trials on this host already (%s), and "
                        "two at a time would disturb each other",
                        place->home);
    if (!err && !is_current(place))
        err = -EAGAIN;
    if (err && place->lock >= 0) {
        close(place->lock);
        place->lock = -1;
    }
    return err;
}

/* Its name is the same each time, so that whoever comes next cleans up after one that was
 * killed. */
static int take_place(struct spex_work_place *place, struct spex_error *error) {
    const char *parent = secure_getenv("TMPDIR");
    char *whole = realpath(parent && *parent ? parent : "/tmp", NULL);
    if (!whole)
        return spex_fail(error, -errno, "no directory for temporary files: %s", strerror(errno));
    snprintf(place->home, sizeof(place->home), "%.4000s/spex-agent-%u", whole, (unsigned)geteuid());
    free(whole);
    int err;
    do
        err = lock_place(place, error);
    while (err == -EAGAIN);
    if (err)
        return err;
    snprintf(place->directory, sizeof(place->directory), "%s/spex-trials", place->home);
    spex_abandoned_clean(place->directory);
    if (mkdir(place->directory, 0700) < 0)
        return fail_place(place, -errno, error);
    return 0;
}

static int read_work(const char *space, struct spex_work_place *place, struct spex_error *error) {
    int err = spex_space_read(space, &place->file, error);
    err = err ? err : spex_agent_check_arguments(&place->file->space, place->argv, error);
    return err ? err : spex_load_check(place->file->agent, error);
}

int spex_work_place_open(const char *space, char *const *argv, struct spex_work_place *place,
                         struct spex_error *error) {
    struct spex_instant begin = spex_instant_now();
    *place = (struct spex_work_place){.argv = argv, .lock = -1};
    int err = read_work(space, place, error);
    err = err ? err : take_place(place, error);
    const struct spex_trial_setup setup = {
        .file = place->file,
        .policy = &rules_alone,
        .argv = argv,
        .directory = place->directory,
        .ticks_per_second = spex_tick_rate_since(begin),
        .stop_fd = -1,
    };
    err = err ? err : spex_runner_create(&setup, NULL, &place->runner, error);
    if (err)
        spex_work_place_close(place);
    return err;
}

/* Nobody else comes to the place until it is removed. */
void spex_work_place_close(struct spex_work_place *place) {
    spex_runner_destroy(place->runner);
    spex_space_free(place->file);
    if (place->lock >= 0) {
        rmdir(place->directory);
        rmdir(place->home);
        close(place->lock);
    }
    *place = (struct spex_work_place){.lock = -1};
}
