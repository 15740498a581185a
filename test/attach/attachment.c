/* SPDX-License-Identifier: MIT */
/* Budgets and estimates of an attachment, with sites that are made here, of a program whose rates are known,
 * by a clock that moves on when somebody sleeps. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "attach/attachment.h"
#include "attach/code/decode.h"
#include "attach/tasks/cpu_meter.h"
#include "profile/confidence.h"

/* What a hit costs; what switching on takes by the clock; and for how long it is looked at. */
enum { COST_NS = 700, SWITCH_NS = 12000000, STEP_NS = 20000, RUN_S = 30 };

/* A program of bursts has all its executions in such a part of each of its turns. */
static const double turn_seconds = 3e-4, burst_part = 0.02;

int busy_function(int value);
int calm_function(int value);

/* An instruction that the kernel emulates comes first. */
#ifdef __x86_64__
#define FIRST   "push %%rax; pop %%rax"
#define CHANGED "rax"
#else
#define FIRST   "nop"
#define CHANGED "memory"
#endif

__attribute__((noinline, used)) int busy_function(int value) {
    __asm__ volatile(FIRST : "+r"(value)::CHANGED);
    return value + 1;
}

__attribute__((noinline, used)) int calm_function(int value) {
    __asm__ volatile(FIRST : "+r"(value)::CHANGED);
    return value + 2;
}

/* The program: it runs all the time, and does `rate` executions a second of what is left of it. */
static struct {
    uint64_t now_ns;
    double rates[2], swing, pace, phase;
    /* Executions, also those without a probe; and hits of each site that is on. */
    double executed[2], hits[2];
    bool on[2];
    uint64_t alarms[2];
    /* The CPUs that it uses, 0: one; and what a pass, and switching on or off, takes of this process's CPU time. */
    double cpus;
    uint64_t pass_ns, switch_ns, own_ns;
    bool unmetered;
    /* Executions come in bursts. What a hit costs, as a multiple of the guess; and the time that was the program's own. */
    bool bursts;
    double cost_factor, own_s;
    /* From when on it does 1,000,000 executions a second, and from when on a hundredth of its rates; 0: never. */
    uint64_t busy_ns, calm_ns;
    /* Calls that are timed, if any: one begins each `between_ns`, and takes `took_ns`. What it leaves. */
    uint64_t between_ns, took_ns;
    uint64_t late_ns;
    struct spex_site_record records[1 << 14];
    size_t record_count;
} made;

/* The first site that is on belongs to the function that is timed; its end follows. */
static void leave(uint64_t call, uint64_t ns, uint64_t site) {
    assert_true(made.record_count < COUNT_OF(made.records));
    made.records[made.record_count++] = (struct spex_site_record){
        .stack_pointer = 0x10000 + call % 64 * 64, .ns = ns, .site = site};
}

/* The beginnings and ends from a moment up to another. */
static void call_and_return(uint64_t from, uint64_t to) {
    for (uint64_t call = from / made.between_ns; call * made.between_ns < to; call++) {
        uint64_t begin = call * made.between_ns;
        if (begin >= from)
            leave(call, begin, 0);
        uint64_t before = made.took_ns / made.between_ns;
        uint64_t end = begin + made.took_ns % made.between_ns;
        if (call >= before && end >= from && end < to)
            leave(call - before, end, 1);
    }
}

static double rate_now(unsigned site) {
    double seconds = (double)made.now_ns / 1e9;
    if (made.bursts && made.on[0])
        return fmod(made.own_s, turn_seconds) < burst_part * turn_seconds
                   ? made.rates[site] / burst_part
                   : 0;
    if (made.busy_ns && made.now_ns >= made.busy_ns)
        return 1e6;
    double rate = made.rates[site] / (made.calm_ns && made.now_ns >= made.calm_ns ? 100 : 1);
    return rate * (1 + made.swing * sin(made.pace * seconds + made.phase));
}

/* Within this time rates are as they are now: up to the begin or the end of a burst. */
static uint64_t step_most(void) {
    double at = fmod(made.own_s, turn_seconds), begin = burst_part * turn_seconds;
    double own = at < begin ? begin - at : turn_seconds - at;
    double load = rate_now(0) * made.cost_factor * COST_NS / 1e9;
    return made.bursts && made.on[0] ? (uint64_t)(own * (1 + load) * 1e9) + 1 : STEP_NS;
}

/* Probes take time in which nothing else is done. */
static void pass(uint64_t ns) {
    if (made.late_ns)
        call_and_return(made.late_ns, made.late_ns + 3 * made.between_ns);
    made.late_ns = 0;
    for (uint64_t step; ns > 0; ns -= step) {
        step = ns < step_most() ? ns : step_most();
        if (made.between_ns && made.on[0])
            call_and_return(made.now_ns, made.now_ns + step);
        double load = 0;
        for (unsigned s = 0; s < 2; s++)
            load += made.on[s] ? rate_now(s) * made.cost_factor * COST_NS / 1e9 : 0;
        for (unsigned s = 0; s < 2; s++) {
            double executions = rate_now(s) * (double)step / 1e9 / (1 + load);
            made.executed[s] += executions;
            made.hits[s] += made.on[s] ? executions : 0;
        }
        made.now_ns += step;
        made.own_s += (double)step / 1e9 / (1 + load);
    }
}

uint64_t __wrap_spex_clock_ns(clockid_t clock);
double __wrap_spex_clock_seconds(clockid_t clock);
int __wrap_spex_clock_read(clockid_t clock, uint64_t *ns);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_spex_hit_costs_measure(const struct spex_kind_of_site *kind,
                                  struct spex_hit_costs *costs, struct spex_error *error);

uint64_t __wrap_spex_clock_ns(clockid_t clock) {
    return clock == CLOCK_MONOTONIC ? made.now_ns : made.own_ns;
}

double __wrap_spex_clock_seconds(clockid_t clock) {
    return (double)__wrap_spex_clock_ns(clock) / 1e9;
}

/* The program's CPU time, a tick of 4 ms behind; or exactly, where it sleeps between two. */
int __wrap_spex_clock_read(clockid_t clock, uint64_t *ns) {
    (void)clock;
    *ns = made.cpus > 0 ? (uint64_t)(made.cpus * (double)made.now_ns)
                        : made.now_ns / 4000000 * 4000000 + 1;
    return 0;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left) {
    (void)left;
    pass((uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec);
    return 0;
}

void __wrap_spex_cpu_meter_open(struct spex_cpu_meter *meter, pid_t process);
void __wrap_spex_cpu_meter_close(struct spex_cpu_meter *meter);
double __wrap_spex_cpu_meter_read(const struct spex_cpu_meter *meter);

void __wrap_spex_cpu_meter_open(struct spex_cpu_meter *meter, pid_t process) {
    (void)process;
    meter->count = 0;
}

void __wrap_spex_cpu_meter_close(struct spex_cpu_meter *meter) {
    (void)meter;
}

double __wrap_spex_cpu_meter_read(const struct spex_cpu_meter *meter) {
    (void)meter;
    return made.unmetered ? -1 : (made.cpus > 0 ? made.cpus : 1) * (double)made.now_ns / 1e9;
}

/* Threads of this process switch sites on and off. */
size_t __wrap_spex_program_threads(const struct spex_program *program);

size_t __wrap_spex_program_threads(const struct spex_program *program) {
    (void)program;
    return 1;
}

/* The guess is off by a tenth at most. */
int __wrap_spex_hit_costs_measure(const struct spex_kind_of_site *kind,
                                  struct spex_hit_costs *costs, struct spex_error *error) {
    (void)kind;
    (void)error;
    memset(costs, 0, sizeof(*costs));
    for (int h = 0; h < SPEX_HITS; h++)
        for (int t = 0; t < SPEX_SITE_TASKS; t++)
            costs->of[h][t] = (struct spex_hit_cost){0.9 * COST_NS, 1.1 * COST_NS, 1.1 * COST_NS};
    costs->switching = 200000;
    pass(200000000);
    return 0;
}

static int open_made(struct spex_sites **sites, size_t count, pid_t thread,
                     struct spex_error *error) {
    (void)count;
    (void)thread;
    (void)error;
    *sites = (struct spex_sites *)&made;
    return 0;
}

static void close_made(struct spex_sites *sites) {
    (void)sites;
}

static int switch_on_made(struct spex_sites *sites, size_t first,
                          const struct spex_instruction_site *list, unsigned count,
                          struct spex_error *error) {
    (void)sites;
    (void)list;
    (void)error;
    assert_int_equal(count, made.between_ns ? 2 : 1);
    pass(SWITCH_NS);
    made.own_ns += made.switch_ns;
    made.on[first] = true;
    return 0;
}

static void switch_off_made(struct spex_sites *sites, size_t first, void (*soon)(void *user),
                            void *user) {
    (void)sites;
    made.on[first] = false;
    made.own_ns += made.switch_ns;
    /* It is on for a moment longer, of which records come later. */
    made.late_ns = made.between_ns ? made.now_ns : 0;
    soon(user);
}

static double linger_made(struct spex_sites *sites) {
    (void)sites;
    return 0;
}

static double used_elsewhere_made(struct spex_sites *sites) {
    (void)sites;
    return 0;
}

static uint64_t executions_made(const struct spex_sites *sites, size_t number) {
    (void)sites;
    return (uint64_t)made.hits[number];
}

static uint64_t lost_made(const struct spex_sites *sites, size_t number) {
    (void)sites;
    (void)number;
    return 0;
}

static void set_alarm_made(struct spex_sites *sites, size_t number, uint64_t executions) {
    (void)sites;
    made.alarms[number] = executions;
}

static int alarms_made(const struct spex_sites *sites) {
    (void)sites;
    return -1;
}

static void note_alarms_made(struct spex_sites *sites) {
    (void)sites;
    memset(made.alarms, 0, sizeof(made.alarms));
}

static bool alarm_made(void) {
    for (int s = 0; s < 2; s++)
        if (made.alarms[s] && made.hits[s] >= (double)made.alarms[s])
            return true;
    return false;
}

static size_t records_made(struct spex_sites *sites, struct spex_site_record *records,
                           size_t room) {
    size_t got = made.record_count < room ? made.record_count : room;
    (void)sites;
    memcpy(records, made.records, got * sizeof(*records));
    made.record_count -= got;
    memmove(made.records, made.records + got, made.record_count * sizeof(*records));
    return got;
}

static const struct spex_kind_of_site made_kind = {.name = "made",
                                                   .open = open_made,
                                                   .close = close_made,
                                                   .switch_on = switch_on_made,
                                                   .switch_off = switch_off_made,
                                                   .linger = linger_made,
                                                   .used_elsewhere = used_elsewhere_made,
                                                   .executions = executions_made,
                                                   .lost = lost_made,
                                                   .set_alarm = set_alarm_made,
                                                   .alarms = alarms_made,
                                                   .note_alarms = note_alarms_made,
                                                   .records = records_made};

static char said[4096];

static void say(const char *line) {
    snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", line);
}

static void unreadable(void *user, const char *why) {
    (void)user;
    (void)why;
}

static void name_seen(void *user, const char *name, bool probe) {
    (void)user;
    (void)probe;
    (void)name;
}

static const struct spex_function_search search = {NULL, unreadable, name_seen};

/* What one run has told of the two functions, and how often they were executed since it began. */
struct run {
    struct spex_profile_probe probes[2];
    double executed[2], spent, budget_seconds;
    /* The shortest and the longest time. */
    double least, most;
};

static const struct spex_profile_probe *probe_called(const struct spex_profile *profile,
                                                     const char *name) {
    for (size_t r = 0; r < profile->row_count; r++)
        if (strcmp(profile->rows[r].probe.name, name) == 0)
            return &profile->rows[r].probe;
    return NULL;
}

static struct run run_with(const char *functions, double budget) {
    struct spex_function_choices choices = {NULL, 0};
    struct spex_attachment *attachment;
    struct spex_attachment_options options = {
        .kind = &made_kind, .budget = budget, .seconds = RUN_S, .search = &search, .say = say};
    struct spex_program program;
    struct spex_profile profile;
    struct spex_error error;
    struct run run = {.spent = 0};
    said[0] = '\0';
    assert_int_equal(spex_function_choices_add(&choices, functions, &error), 0);
    assert_int_equal(spex_program_open(getpid(), &program, &error), 0);
    assert_int_equal(spex_attachment_open(&attachment, &options, &program, &choices, &error), 0);
    memset(made.executed, 0, sizeof(made.executed));
    for (uint64_t end = made.now_ns + RUN_S * UINT64_C(1000000000); made.now_ns < end;) {
        uint64_t left = end - made.now_ns,
                 ns = (uint64_t)spex_attachment_pass(attachment) * 1000000;
        ns = ns < left ? ns : left;
        for (uint64_t step; ns && !alarm_made(); ns -= step)
            pass(step = ns < 1000000 ? ns : 1000000);
        made.own_ns += made.pass_ns;
    }
    assert_true(spex_attachment_is_settled(attachment));
    spex_attachment_end(attachment, &profile);
    run.probes[0] = *probe_called(&profile, "busy_function");
    if (probe_called(&profile, "calm_function"))
        run.probes[1] = *probe_called(&profile, "calm_function");
    if (profile.rows[0].values[0])
        run.least = profile.rows[0].values[0]->min, run.most = profile.rows[0].values[0]->max;
    memcpy(run.executed, made.executed, sizeof(run.executed));
    run.spent = (made.hits[0] + made.hits[1]) * COST_NS / 1e9;
    run.budget_seconds = profile.process.budget_seconds;
    spex_attachment_tell(attachment, say);
    spex_attachment_close(attachment);
    spex_program_close(&program);
    spex_function_choices_free(&choices);
    return run;
}

static void make(double busy, double calm, double swing, double phase) {
    memset(&made, 0, sizeof(made));
    made.now_ns = 1000000000;
    made.rates[0] = busy;
    made.rates[1] = calm;
    made.swing = swing;
    made.pace = 2.1;
    made.cost_factor = 1;
    made.phase = phase;
}

/* Sites are given out in the order of addresses. */
TEST(expect_order) {
    assert_true((uintptr_t)busy_function < (uintptr_t)calm_function);
}

#define BOTH "func:busy_function,func:calm_function"

TEST(what_fits_is_on_all_the_time) {
    make(15000, 3000, 0.3, 0);
    struct run run = run_with(BOTH, 0.02);
    assert_string_equal(said, "");
    for (int f = 0; f < 2; f++) {
        assert_true(run.probes[f].held_seconds <= 0);
        assert_true(fabs(run.probes[f].count - floor(made.hits[f])) < 1);
        assert_true(spex_count_margin(&run.probes[f]) <= 0);
    }
}

TEST(without_a_budget_all_is_on) {
    make(1e6, 3000, 0.3, 0);
    struct run run = run_with(BOTH, 1);
    assert_true(run.probes[0].held_seconds <= 0 && run.probes[1].held_seconds <= 0);
}

/* The intervals of 95 % have the truth, and the budget is kept, at all rates. It is the same in each run of
 * the test. */
TEST(slices_tell_the_rest) {
    unsigned within = 0, told = 0, runs = 0;
    for (int r = 0; r < 60; r++) {
        make(100000 * pow(10, r % 3 * 0.5), 3000, 0.5, r);
        struct run run = run_with(BOTH, 0.02);
        double count = spex_profile_executions(&run.probes[0]);
        double margin = spex_count_margin(&run.probes[0]);
        assert_non_null(strstr(said, "busy_function: "));
        assert_null(strstr(said, "calm_function: "));
        assert_true(run.probes[1].held_seconds <= 0);
        assert_true(run.spent <= 0.02 * RUN_S * 1.1);
        runs++;
        told += spex_count_known(&run.probes[0]);
        within += fabs(count - run.executed[0]) <= margin;
    }
    assert_int_equal(told, runs);
    /* Of 60 with a chance of 95 % each, less are within in one case of 1000. */
    assert_int_equal(runs, 60);
    assert_true(within >= 52);
}

/* Hits of a burst take longer than what lies between two bursts: a slice that ended by the clock would end within one. What
 * is told has the truth, and what it is at least is less. */
TEST(bursts_are_told_or_bounded) {
    unsigned right = 0, told = 0;
    for (int r = 0; r < 100; r++) {
        make(10000 * pow(10, r % 4), 0, 0, r);
        made.bursts = true;
        made.now_ns += (uint64_t)r * 1000003;
        made.cost_factor = 0.92 + r / 4 % 5 * 0.04;
        struct run run = run_with("func:busy_function", 0.02);
        const struct spex_profile_probe *one = &run.probes[0];
        bool known = spex_count_known(one);
        double off = fabs(spex_profile_executions(one) - run.executed[0]);
        /* The first is on a moment after the begin. */
        right += known ? off <= spex_count_margin(one) + run.executed[0] / 1000
                       : spex_profile_executions_least(one) <= run.executed[0];
        told += known;
        assert_true(known || strstr(said, "hits took most of the time in slices") ||
                    strstr(said, "slices were too few"));
        assert_true(known || spex_profile_executions_least(one) > 1.01 * one->count);
    }
    /* Of 100 with a chance of 95 % each, less are right in one case of 1000. */
    assert_true(right >= 88);
    assert_true(told >= 50);
}

/* A program that is idle most of the time pays for little: of this command's own work, too. Slices are as long as is worth
 * their switching, which is dearer than was measured. */
TEST(an_idle_program_keeps_its_budget) {
    unsigned within = 0, told = 0;
    for (int r = 0; r < 20; r++) {
        make(1200, 0, 0.3, r);
        made.cpus = 0.03;
        made.pass_ns = 60000;
        made.switch_ns = 200000;
        struct run run = run_with("func:busy_function", 0.02);
        double count = spex_profile_executions(&run.probes[0]);
        double cpu = RUN_S * made.cpus;
        assert_true(run.probes[0].held_seconds > 0);
        assert_true(run.spent + (double)made.own_ns / 1e9 <= 0.02 * cpu * 1.1);
        told += spex_count_known(&run.probes[0]);
        within += fabs(count - run.executed[0]) <= spex_count_margin(&run.probes[0]);
        assert_non_null(strstr(said, " % of the program's CPU time: "));
    }
    assert_int_equal(told, 20);
    /* Less with a chance of 95 % each in 3 of 1000 cases. */
    assert_true(within >= 16);
}

/* What the command itself takes of an idle program is no reason to miss a function's executions: to switch it off and on
 * again would cost more than they do. */
TEST(a_function_that_costs_nothing_stays_on) {
    for (unsigned executions = 0; executions < 2; executions++) {
        make(executions, 0, 0, 0);
        made.cpus = 0.001;
        made.pass_ns = 60000;
        made.switch_ns = 200000;
        struct run run = run_with("func:busy_function", 0.02);
        assert_true(run.probes[0].held_seconds <= 0);
        assert_true(fabs(spex_profile_executions(&run.probes[0]) - run.executed[0]) <= 1);
        assert_string_equal(said, "");
    }
}

/* A program that was idle for long, and is looked at seldom, becomes busy all of a sudden: the command is woken. */
TEST(alarms_go_off_at_once) {
    make(10, 0, 0, 0);
    made.cpus = 0.05;
    made.pass_ns = 60000;
    made.busy_ns = made.now_ns + UINT64_C(20000000000);
    struct run run = run_with("func:busy_function", 0.02);
    assert_non_null(strstr(said, "it has become more"));
    /* Some milliseconds of what would have been 10 s. */
    assert_true(run.spent < 0.03);
}

/* Of a burst of a few hits it is not known yet that it is too much. */
TEST(a_few_hits_are_no_rate) {
    for (int r = 0; r < 20; r++) {
        make(1000, 0, 0.9, r);
        made.pace = 300;
        made.cpus = 0.03;
        struct run run = run_with("func:busy_function", 0.03);
        assert_true(run.probes[0].held_seconds <= 0);
        assert_string_equal(said, "");
    }
}

/* A function that becomes busy is taken out of those that are on all the time. */
TEST(rates_that_change) {
    make(20000, 3000, 1, 0);
    made.rates[0] = 12000;
    struct run run = run_with(BOTH, 0.005);
    assert_true(run.probes[0].held_seconds > 0);
    assert_true(run.spent <= 0.005 * RUN_S * 1.2);
}

static unsigned times_said(const char *what) {
    unsigned times = 0;
    for (const char *at = said; (at = strstr(at, what)); at++)
        times++;
    return times;
}

/* A function that calms down is on all the time again, and what is told has the truth. */
TEST(what_calms_down_is_on_again) {
    unsigned within = 0;
    for (int r = 0; r < 40; r++) {
        make(100000, 3000, 0.3, r);
        made.calm_ns = made.now_ns + UINT64_C(3000000000);
        struct run run = run_with(BOTH, 0.02);
        assert_int_equal(times_said("it has become less: on all the time again"), 1);
        assert_true(run.probes[0].held_seconds > 1 && run.probes[0].held_seconds < 10);
        assert_true(run.spent <= 0.02 * RUN_S * 1.1);
        double off = fabs(spex_profile_executions(&run.probes[0]) - run.executed[0]);
        within += off <= spex_count_margin(&run.probes[0]);
    }
    /* Less with a chance of 95 % each in one case of 1000. */
    assert_true(within >= 33);
}

/* And it is in slices when it becomes busy again. */
TEST(what_was_calm_can_be_busy) {
    make(100000, 0, 0, 0);
    made.calm_ns = made.now_ns + UINT64_C(3000000000);
    made.busy_ns = made.now_ns + UINT64_C(25000000000);
    struct run run = run_with("func:busy_function", 0.02);
    assert_int_equal(times_said("it has become less: on all the time again"), 1);
    assert_int_equal(times_said("it has become more: in slices"), 1);
    assert_true(run.spent <= 0.02 * RUN_S * 1.1);
}

/* The time of the few short slices of a busy phase is known less well than that of the long ones before. */
TEST(what_was_calm_is_within_when_it_is_busy) {
    unsigned within = 0;
    for (int r = 0; r < 20; r++) {
        make(30000, 3000, 0.1, r);
        made.busy_ns = made.now_ns + UINT64_C(1000000000) * (uint64_t)(15 + r % 10);
        made.cost_factor = 0.92 + r % 5 * 0.04;
        struct run run = run_with("func:busy_function", 0.02);
        double off = fabs(spex_profile_executions(&run.probes[0]) - run.executed[0]);
        within += off <= spex_count_margin(&run.probes[0]);
    }
    /* Less with a chance of 95 % each in one case of 3000. */
    assert_true(within >= 15);
}

/* One that changes again and again comes back after 10 slices, and then after twice as many each time. */
TEST(what_comes_back_waits_longer) {
    make(60000, 0, 1, 0);
    made.pace = 2.1;
    run_with("func:busy_function", 0.02);
    assert_in_range(times_said("on all the time again"), 1, 2);
}

/* A slice of it costs more than is granted for ten of them. */
TEST(what_is_too_much_for_slices) {
    make(1e6, 10, 0, 0);
    struct run run = run_with(BOTH, 0.00001);
    assert_non_null(strstr(said, "too much for slices"));
    assert_true(run.probes[0].held_seconds > 0.9 * RUN_S);
    assert_false(spex_count_known(&run.probes[0]));
    /* What would tell more follows from what slices cost. */
    static const char lacking[] = "slices were too few, as they cost: -b ";
    const char *advice = strstr(said, lacking);
    assert_non_null(advice);
    double percent = strtod(advice + strlen(lacking), NULL);
    make(1e6, 10, 0, 0);
    run = run_with(BOTH, percent / 100);
    assert_true(spex_count_known(&run.probes[0]) && run.probes[0].held_seconds > 0);
}

/* Calls take 50 ms, and slices 10 ms at most. Each time that is told is a call's: none is cut off, and no
 * beginning is taken for that of another call. */
TEST(slices_have_whole_times) {
    if (!spex_can_decode())
        skip();
    make(10000, 0, 0, 0);
    made.between_ns = 1000000;
    made.took_ns = 50300000;
    struct run run = run_with("func:busy_function:lat", 0.002);
    assert_true(run.probes[0].held_seconds > 0);
    assert_true(run.probes[0].records > 20);
    assert_true(run.least >= 50300000 && run.most <= 50300000);
}
