/* SPDX-License-Identifier: MIT */
/* Functions are switched on and off, with accounts of the time for which they were. */
#include "attach/attached.h"

#include <math.h>
#include <pthread.h>
#include <time.h>

#include "attach/tasks/cpu_meter.h"
#include "base/clock.h"

double spex_attached_now(void) {
    return spex_clock_seconds(CLOCK_MONOTONIC);
}

uint64_t spex_attached_executions(const struct spex_attachment *attachment,
                                  const struct spex_attached_function *one) {
    uint64_t sum = 0;
    for (unsigned s = 0; s < one->counting; s++)
        sum += attachment->options.kind->executions(attachment->sites, one->site + s);
    return sum;
}

double spex_attached_spent(const struct spex_attachment *attachment, unsigned guess) {
    double spent = 0;
    for (size_t f = 0; f < attachment->count; f++)
        if (attachment->of[f].sites)
            spent += attachment->of[f].cost[guess] *
                     (double)spex_attached_executions(attachment, &attachment->of[f]);
    return spent;
}

double spex_attached_own(const struct spex_attachment *attachment) {
    return spex_clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - attachment->own_begin +
           attachment->options.kind->used_elsewhere(attachment->sites);
}

double spex_attached_spent_all(const struct spex_attachment *attachment) {
    return spex_attached_spent(attachment, SPEX_COST_LIKELY) + attachment->lingered +
           spex_attached_own(attachment);
}

struct spex_attached_time spex_attached_time(const struct spex_attachment *attachment) {
    double wall = spex_attached_now();
    double since = wall - attachment->asked.wall;
    return (struct spex_attached_time){wall, attachment->asked.cpu + attachment->cpus * since};
}

/* So long that a few milliseconds more or less change little; and where there is no choice. */
static const double ask_seconds = 0.2, ask_seconds_least = 0.05;

/* The CPU time of a program that has ended goes on for the moment until that is noticed. */
void spex_attached_ask(struct spex_attachment *attachment, bool now) {
    double wall = spex_attached_now(), since = wall - attachment->asked.wall;
    if (!now && since < ask_seconds)
        return;
    double cpu = (double)spex_program_cpu_ns(attachment->program) / 1e9;
    if (cpu <= 0)
        return;
    double used = cpu - attachment->asked.cpu;
    if (since >= ask_seconds_least && attachment->asked.wall > 0)
        attachment->cpus = fmax(used, 0) / since;
    attachment->asked = (struct spex_attached_time){wall, fmax(cpu, attachment->asked.cpu)};
}

/* The site of a function, or of a probe, with this number among its own. */
static struct spex_instruction_site site_of(const struct spex_process_function *function,
                                            const struct spex_attached_function *one, unsigned s) {
    bool end = s >= one->counting;
    const struct spex_place *place =
        end ? &function->placement.ends[s - one->counting] : spex_process_function_entry(function);
    struct spex_instruction_site site = {.fd = function->fd,
                                         .offset = place->address + function->to_offset,
                                         .hit = place->hit,
                                         .task = end ? SPEX_SITE_ENDS
                                                     : spex_process_function_task(function)};
    if (function->site_count) {
        site.offset = function->sites[s].offset;
        site.semaphore = function->sites[s].semaphore;
    }
    return site;
}

static int switch_sites_on(struct spex_attachment *attachment, size_t f, struct spex_error *error) {
    attachment->switchings++;
    const struct spex_process_function *function = &attachment->functions.items[f];
    const struct spex_attached_function *one = &attachment->of[f];
    struct spex_instruction_site list[SPEX_SITES_TOGETHER_MAX];
    for (unsigned s = 0; s < one->sites; s++)
        list[s] = site_of(function, one, s);
    return attachment->options.kind->switch_on(attachment->sites, one->site, list, one->sites,
                                               error);
}

/* A thread that switches a function on and off, since it waits for a while when that is done; and what it
 * tells before. `started` and `ended`: when the sites were on, and executions then. */
struct switcher {
    struct spex_attachment *attachment;
    size_t function;
    /* Off at once; or on, and off after so long. */
    bool slice;
    double length;
    pthread_mutex_t lock;
    pthread_cond_t told;
    bool done;
    int err;
    struct spex_error *error;
    struct spex_attached_time started, ended;
    uint64_t count_started, count_ended;
    /* The program's CPU time in a slice. */
    struct spex_cpu_meter meter;
    double metered_before, used;
    /* What it had for itself beyond what was planned. */
    double beyond;
    bool cut;
};

static void sleep_for(double seconds) {
    struct timespec time = {.tv_sec = (time_t)seconds};
    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    nanosleep(&time, NULL);
}

static void read_both(const struct switcher *switcher, struct spex_attached_time *time,
                      uint64_t *count) {
    const struct spex_attachment *attachment = switcher->attachment;
    *count = spex_attached_executions(attachment, &attachment->of[switcher->function]);
    *time = spex_attached_time(attachment);
}

/* From here on the switcher, and the attachment, are the main thread's again. */
static void tell(void *user) {
    struct switcher *switcher = user;
    if (!switcher->slice || switcher->err)
        read_both(switcher, &switcher->ended, &switcher->count_ended);
    pthread_mutex_lock(&switcher->lock);
    switcher->done = true;
    pthread_cond_signal(&switcher->told);
    pthread_mutex_unlock(&switcher->lock);
}

/* How long executions that have begun in a slice are waited for, and looked at meanwhile: if all were cut
 * off at its end, those that are left would be the short ones. */
static const double wait_seconds = 0.1, wait_step_seconds = 0.001;

static void wait_for_ends(struct spex_attachment *attachment, size_t f) {
    struct spex_attached_function *one = &attachment->of[f];
    double end = spex_attached_now() + wait_seconds;
    one->over_ns = spex_clock_ns(CLOCK_MONOTONIC);
    spex_attached_take_records(attachment);
    double step = wait_step_seconds;
    while (spex_pairing_unpaired(attachment->pairing, f).open && spex_attached_now() < end) {
        sleep_for(fmin(step, fmax(end - spex_attached_now(), wait_step_seconds)));
        spex_attached_take_records(attachment);
        step *= 2;
    }
}

/* Reads what has come of a slice until now. Returns the program's CPU time in it, and what of that hits took. */
static double read_slice(struct switcher *switcher, double *hits) {
    const struct spex_attached_function *one = &switcher->attachment->of[switcher->function];
    double metered = spex_cpu_meter_read(&switcher->meter);
    read_both(switcher, &switcher->ended, &switcher->count_ended);
    bool known = metered >= 0 && switcher->metered_before >= 0;
    switcher->used = known ? metered - switcher->metered_before : -1;
    *hits = (double)(switcher->count_ended - switcher->count_started) * one->cost[SPEX_COST_LIKELY];
    return known ? switcher->used : switcher->ended.cpu - switcher->started.cpu;
}

/* What is left of the time is waited for to so much of it; in steps that timers tell apart; and altogether for so long. */
static const double left_out_most = 0.01, step_least = 1e-4, slice_most = 0.1;

/* In the time that is planned the program gets CPU time, which it would have for itself without hits: until it has had
 * that, it is waited for. */
static void wait_for_own_time(struct switcher *switcher) {
    const struct spex_attachment *attachment = switcher->attachment;
    const struct spex_attached_function *one = &attachment->of[switcher->function];
    double hits, expected = read_slice(switcher, &hits), left = hits;
    double running = fmax(attachment->cpus, 1);
    while (left > left_out_most * expected && hits < one->most &&
           switcher->ended.wall - switcher->started.wall < slice_most) {
        sleep_for(fmax(left / running, step_least));
        double used = read_slice(switcher, &hits);
        left = expected - (used - hits);
    }
    switcher->beyond = fmax(-left, 0);
    switcher->cut = left > left_out_most * expected && hits > expected;
}

/* The main thread waits meanwhile. */
static void pass_slice(struct switcher *switcher) {
    struct spex_attachment *attachment = switcher->attachment;
    read_both(switcher, &switcher->started, &switcher->count_started);
    switcher->metered_before = spex_cpu_meter_read(&switcher->meter);
    sleep_for(switcher->length);
    wait_for_own_time(switcher);
    if (spex_attached_is_timed(&attachment->of[switcher->function]))
        wait_for_ends(attachment, switcher->function);
}

/* Records from after the last slice are of no use: their ends may be missing. */
static void forget_before(struct spex_attachment *attachment, size_t f) {
    spex_attached_take_records(attachment);
    spex_pairing_forget_function(attachment->pairing, f);
    attachment->of[f].over_ns = 0;
}

static void *switch_beside(void *user) {
    struct switcher *switcher = user;
    struct spex_attachment *attachment = switcher->attachment;
    size_t site = attachment->of[switcher->function].site;
    if (switcher->slice) {
        attachment->switchings++;
        forget_before(attachment, switcher->function);
        spex_cpu_meter_open(&switcher->meter, attachment->program->process);
        switcher->err = switch_sites_on(attachment, switcher->function, switcher->error);
        if (!switcher->err)
            pass_slice(switcher);
        spex_cpu_meter_close(&switcher->meter);
    }
    attachment->options.kind->switch_off(attachment->sites, site, tell, switcher);
    return NULL;
}

/* Without a thread this one waits. */
static void run_switcher(struct switcher *switcher) {
    pthread_t thread;
    pthread_mutex_init(&switcher->lock, NULL);
    pthread_cond_init(&switcher->told, NULL);
    if (pthread_create(&thread, NULL, switch_beside, switcher) != 0) {
        switch_beside(switcher);
        return;
    }
    pthread_detach(thread);
    pthread_mutex_lock(&switcher->lock);
    while (!switcher->done)
        pthread_cond_wait(&switcher->told, &switcher->lock);
    pthread_mutex_unlock(&switcher->lock);
}

static void note_on(struct spex_attached_function *one, const struct spex_attached_time *time,
                    uint64_t count) {
    one->since = *time;
    one->count_since = count;
    one->on = true;
}

int spex_attached_switch_on(struct spex_attachment *attachment, size_t f,
                            struct spex_error *error) {
    struct spex_attached_function *one = &attachment->of[f];
    uint64_t count = spex_attached_executions(attachment, one);
    int err = switch_sites_on(attachment, f, error);
    if (err)
        return err;
    struct spex_attached_time now = spex_attached_time(attachment);
    note_on(one, &now, count);
    return 0;
}

void spex_attached_switch_off(struct spex_attachment *attachment, size_t f) {
    struct switcher switcher = {.attachment = attachment, .function = f};
    attachment->switchings++;
    run_switcher(&switcher);
    spex_attached_note_off(attachment, f, &switcher.ended, switcher.count_ended, -1);
}

int spex_attached_begin_slice(struct spex_attachment *attachment, size_t f,
                              struct spex_error *error) {
    struct spex_attached_function *one = &attachment->of[f];
    forget_before(attachment, f);
    int err = switch_sites_on(attachment, f, error);
    if (err)
        return err;
    struct spex_attached_time now = spex_attached_time(attachment);
    spex_attached_note_held(one, &now);
    note_on(one, &now, spex_attached_executions(attachment, one));
    one->due = now.wall + one->length;
    return 0;
}

int spex_attached_take_slice(struct spex_attachment *attachment, size_t f,
                             struct spex_error *error) {
    struct spex_attached_function *one = &attachment->of[f];
    struct switcher switcher = {.attachment = attachment,
                                .function = f,
                                .slice = true,
                                .length = one->length,
                                .error = error};
    run_switcher(&switcher);
    if (switcher.err)
        return switcher.err;
    spex_attached_note_held(one, &switcher.started);
    note_on(one, &switcher.started, switcher.count_started);
    if (switcher.used >= 0)
        switcher.ended.cpu = switcher.started.cpu + switcher.used;
    /* A slice waits for the end of a burst, behind which there is nothing to count: that is no part of it, or all is. */
    switcher.ended.cpu -= switcher.beyond;
    switcher.used -= switcher.used >= 0 ? switcher.beyond : 0;
    one->beyond = switcher.beyond;
    one->cuts += switcher.cut;
    spex_attached_look(one, &switcher.ended, switcher.count_ended);
    spex_attached_note_off(attachment, f, &switcher.ended, switcher.count_ended, switcher.used);
    return 0;
}
