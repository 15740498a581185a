/* SPDX-License-Identifier: MIT */
/* Runs trials on threads, one for each place. A thread runs a single trial; it sets place->done
 * under the runner's lock and raises the event `done`. The caller's thread joins it then, so that
 * all other members of a place need no lock: thread start and join order the accesses. */
#define _GNU_SOURCE
#include "explore/trial/runner.h"
#include "text/waits.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* Attempts of a trial that fails because this process was held up. */
#define HELD_UP_ATTEMPTS 5

/* A place where a trial can run: its thread, directory, CPUs and the trial. */
struct place {
    struct spex_runner *runner;
    pthread_t thread;
    bool running; /* from spex_runner_start to spex_runner_wait */
    bool done;    /* guarded by the runner's lock */
    char *directory;
    const cpu_set_t *cpus; /* NULL: all */
    size_t *levels;
    char *probes;
    struct spex_plan plan;
    uint64_t asked, told; /* numbers of the plan and of the trials told before it */
    struct spex_trial trial;
    int err;
    struct spex_error error;
};

/* `setup` is passed to every trial, with the place's directory and CPUs. */
struct spex_runner {
    struct spex_trial_setup setup;
    int stop_fd;            /* stop_fd of the caller's setup */
    int stop;               /* eventfd: all trials are to end */
    int done;               /* eventfd: a trial has ended */
    pthread_mutex_t lock;   /* guards `done` of the places */
    pthread_mutex_t policy; /* held in every call of the policy */
    struct place *places;
    size_t place_count;
    size_t running;
    bool stopping;
    int err; /* first error of a place */
    struct spex_error error;
};

/* The descriptor is non-blocking: an event that is raised already stays so. */
static void raise_event(int fd) {
    uint64_t one = 1;
    ssize_t put;
    do
        put = write(fd, &one, sizeof(one));
    while (put < 0 && errno == EINTR);
}

/* Runs a trial again while it fails because this process was held up, which says nothing about the
 * program. */
static int run_until_valid(const struct spex_trial_setup *setup, struct place *place) {
    int err = -EAGAIN;
    for (int attempt = 0; attempt < HELD_UP_ATTEMPTS && err == -EAGAIN; attempt++) {
        spex_trial_free(&place->trial);
        if (spex_trial_init(&place->trial, &setup->file->space, place->plan.levels))
            return spex_fail(&place->error, -ENOMEM, "out of memory");
        place->trial.asked = place->asked;
        place->trial.told = place->told;
        place->trial.block = place->plan.block;
        place->trial.reference = place->plan.reference;
        err = spex_trial_run(setup, &place->plan, &place->trial, &place->error);
    }
    return err;
}

/* The thread of a place. */
static void *place_run(void *argument) {
    struct place *place = argument;
    struct spex_runner *runner = place->runner;
    struct spex_trial_setup setup = runner->setup;
    setup.directory = place->directory;
    setup.cpus = place->cpus;
    place->err = run_until_valid(&setup, place);
    pthread_mutex_lock(&runner->lock);
    place->done = true;
    pthread_mutex_unlock(&runner->lock);
    raise_event(runner->done);
    return NULL;
}

/* Makes the directory of a place and assigns its CPUs. */
static int place_init(struct spex_runner *runner, size_t p, const struct spex_cpu_parts *parts,
                      struct spex_error *error) {
    struct place *place = &runner->places[p];
    size_t parameters = runner->setup.file->space.parameter_count;
    place->runner = runner;
    place->cpus = parts && parts->parts ? &parts->parts[p] : NULL;
    place->levels = calloc(parameters, sizeof(*place->levels));
    if (asprintf(&place->directory, "%s/%zu", runner->setup.directory, p) < 0)
        place->directory = NULL;
    if (!place->levels || !place->directory)
        return spex_fail(error, -ENOMEM, "out of memory");
    if (mkdir(place->directory, 0700) < 0)
        return spex_fail(error, -errno, "cannot make a directory %s: %s", place->directory,
                         strerror(errno));
    return 0;
}

/* Trials watch the runner's event and not the caller's stop_fd, so that an error of one trial can
 * end the others, too. */
int spex_runner_create(const struct spex_trial_setup *setup, const struct spex_cpu_parts *parts,
                       struct spex_runner **out, struct spex_error *error) {
    struct spex_runner *runner = *out = calloc(1, sizeof(*runner));
    if (!runner)
        return spex_fail(error, -ENOMEM, "out of memory");
    runner->setup = *setup;
    runner->stop_fd = setup->stop_fd;
    runner->place_count = parts ? parts->count : 1;
    runner->places = calloc(runner->place_count, sizeof(*runner->places));
    runner->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    runner->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    runner->setup.stop_fd = runner->stop;
    pthread_mutex_init(&runner->lock, NULL);
    pthread_mutex_init(&runner->policy, NULL);
    runner->setup.policy_lock = &runner->policy;
    int err = 0;
    if (!runner->places)
        err = spex_fail(error, -ENOMEM, "out of memory");
    else if (runner->stop < 0 || runner->done < 0)
        err = spex_fail(error, -errno, "cannot make an event: %s", strerror(errno));
    for (size_t p = 0; p < runner->place_count && !err; p++)
        err = place_init(runner, p, parts, error);
    if (err) {
        spex_runner_destroy(runner);
        *out = NULL;
    }
    return err;
}

/* The trial has removed its files, so the directory is empty. */
static void place_free(struct place *place) {
    if (place->directory)
        rmdir(place->directory);
    free(place->directory);
    free(place->levels);
}

/* Joins the place's thread, which is done or was told to stop, and frees the place. */
static void place_take(struct place *place, struct spex_trial *trial) {
    pthread_join(place->thread, NULL);
    *trial = place->trial;
    place->trial = (struct spex_trial){.levels = NULL};
    free(place->probes);
    place->probes = NULL;
    place->running = place->done = false;
    place->runner->running--;
}

/* Tells all trials to end before it waits for the first. */
void spex_runner_destroy(struct spex_runner *runner) {
    if (!runner)
        return;
    if (runner->running)
        raise_event(runner->stop);
    for (size_t p = 0; runner->places && p < runner->place_count; p++) {
        struct spex_trial trial = {.levels = NULL};
        if (runner->places[p].running)
            place_take(&runner->places[p], &trial);
        spex_trial_free(&trial);
        place_free(&runner->places[p]);
    }
    if (runner->stop >= 0)
        close(runner->stop);
    if (runner->done >= 0)
        close(runner->done);
    pthread_mutex_destroy(&runner->lock);
    pthread_mutex_destroy(&runner->policy);
    free(runner->places);
    free(runner);
}

void spex_runner_lock(struct spex_runner *runner) {
    if (runner)
        pthread_mutex_lock(&runner->policy);
}

void spex_runner_unlock(struct spex_runner *runner) {
    if (runner)
        pthread_mutex_unlock(&runner->policy);
}

size_t spex_runner_running(const struct spex_runner *runner) {
    return runner->running;
}

size_t spex_runner_places(const struct spex_runner *runner) {
    return runner->place_count;
}

/* The plan's arrays are the policy's and change with its next plan, so they are copied. */
int spex_runner_start(struct spex_runner *runner, const struct spex_plan *plan, uint64_t asked,
                      uint64_t told, struct spex_error *error) {
    struct place *place = runner->places;
    size_t parameters = runner->setup.file->space.parameter_count;
    while (place->running)
        place++;
    memcpy(place->levels, plan->levels, parameters * sizeof(*plan->levels));
    place->plan = *plan;
    place->plan.levels = place->levels;
    place->plan.probes = place->probes = strdup(plan->probes);
    place->asked = asked;
    place->told = told;
    if (!place->probes)
        return spex_fail(error, -ENOMEM, "out of memory");
    int err = pthread_create(&place->thread, NULL, place_run, place);
    if (err) {
        free(place->probes);
        place->probes = NULL;
        return spex_fail(error, -err, "cannot start a thread: %s", strerror(err));
    }
    place->running = true;
    runner->running++;
    return 0;
}

size_t spex_runner_unfinished(const struct spex_runner *runner, struct spex_unfinished *all) {
    size_t count = 0;
    for (size_t p = 0; p < runner->place_count; p++)
        if (runner->places[p].running)
            all[count++] = (struct spex_unfinished){.asked = runner->places[p].asked,
                                                    .told = runner->places[p].told};
    return count;
}

int spex_runner_finished_fd(const struct spex_runner *runner) {
    return runner->done;
}

/* A running place whose trial has ended, or NULL. */
static struct place *runner_find_done(struct spex_runner *runner) {
    struct place *found = NULL;
    pthread_mutex_lock(&runner->lock);
    for (size_t p = 0; p < runner->place_count && !found; p++)
        if (runner->places[p].running && runner->places[p].done)
            found = &runner->places[p];
    pthread_mutex_unlock(&runner->lock);
    return found;
}

/* Waits for the end of a trial or for stop_fd, which ends all trials. */
static int runner_wait_for_events(struct spex_runner *runner, struct spex_error *error) {
    uint64_t events;
    struct pollfd fds[2] = {{.fd = runner->done, .events = POLLIN},
                            {.fd = runner->stopping ? -1 : runner->stop_fd, .events = POLLIN}};
    int ready = spex_wait_ready(fds, 2, -1);
    if (ready < 0 && errno != EINTR)
        return spex_fail(error, -errno, "cannot wait for the trials: %s", strerror(errno));
    if (ready > 0 && fds[0].revents && read(runner->done, &events, sizeof(events)) < 0)
        return 0;
    if (ready > 0 && fds[1].revents) {
        runner->stopping = true;
        raise_event(runner->stop);
    }
    return 0;
}

/* Keeps the first error; an error that is no interruption replaces -EINTR, which other trials
 * return because of it. All trials are told to end. */
static void runner_note_error(struct spex_runner *runner, const struct place *place) {
    if (!runner->err || (runner->err == -EINTR && place->err != -EINTR)) {
        runner->err = place->err;
        runner->error = place->error;
    }
    runner->stopping = true;
    raise_event(runner->stop);
}

/* After an error or stop_fd the loop goes on until no trial runs: those that succeed meanwhile are
 * returned one by one, the error last. */
int spex_runner_wait(struct spex_runner *runner, struct spex_trial *trial,
                     struct spex_error *error) {
    while (runner->running) {
        struct place *place = runner_find_done(runner);
        int err = place ? 0 : runner_wait_for_events(runner, error);
        if (err)
            return err;
        if (!place)
            continue;
        if (place->err)
            runner_note_error(runner, place);
        err = place->err;
        place_take(place, trial);
        if (!err)
            return 0;
        spex_trial_free(trial);
    }
    *error = runner->error;
    return runner->err;
}
