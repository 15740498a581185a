/* SPDX-License-Identifier: MIT */
/* Measures what a budget costs and what it tells, for rates, budgets, threads and numbers of probes:
 * a cell is one of each.
 *
 *     cells [--json] [--quick] [--runs N] [--seconds N] [--busy N] [--rate HZ]… [--budget PERCENT]…
 *           [--threads N]… [--probes N]…
 *
 * A run is a process. Its threads execute the probes around work of a chosen length, that is, at that
 * rate of their CPU time: a second without spex, some seconds with it and the budget, and a second
 * without it again. So the slowdown is by the same process's own speed: CPU time of the whole process
 * for an execution, start of spex and its threads included. What spex tells at the end of its time
 * is compared with how often the threads have executed the probes. All cells are run once, then all
 * again: the interval of a slowdown is by how the runs of a cell differ.
 *
 * Probes: 1 is a LAT; 3 are a LAT around a LAT and a SNAPSHOT; 1000 are LATs that are executed in turn.
 *
 * Beside each cell stands what an ideal sampler would tell, who knows what an execution and a record
 * cost: the bench has measured the first in the fastest loop, with hardly a record, the second with
 * records of all in a slow one. He counts all where that fits into the budget, and spends the rest
 * for records; otherwise he counts in as much of the time as fits.
 *
 * --busy has so many processes compute beside all this. */
#define _GNU_SOURCE
#include <err.h>
#include <getopt.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <spex/probe.h>
#include <spex/spex.h>

#include "base/student.h"
#include "bench.h"
#include "collect/metrics.h"
#include "profile/confidence.h"
#include "rate/controller.h"
#include "serve/own_profile.h"
#include "sites.h"
#include "stats/values.h"

/* Without spex before and after; and with it. */
#define BARE_SECONDS  1.0
#define SECONDS       5.0
#define SECONDS_QUICK 2.0
#define SECONDS_MOST  3600.0

/* A budget is kept where the slowdown's upper end is at most that. */
#define BOUND_TIMES 1.25
#define BOUND_MORE  0.003

/* Costs are measured by so many runs of so many seconds, of an execution at a rate at which it can be
 * told, and of a record at one that a collector can follow. */
enum { COST_RUNS = 3 };
#define COST_SECONDS 1.0
#define COUNT_RATE   1e8
#define RECORD_RATE  3e5
#define COST_LEAST   1e-10

/* Work is calibrated by the fastest of so many loops. */
enum { LOOPS = 20, LOOP_STEPS = 1 << 16 };

enum { THREADS_MOST = 64, CHOICES_MOST = 16, RUNS_MOST = 100 };

/* Executions between two looks at whether the phase is over. */
#define BATCH_SECONDS 20e-6

enum phase { BARE, WITH, BARE_AGAIN, PHASES };

/* What a run says, in memory that it shares with the bench. */
struct run {
    double cpu_seconds[PHASES], executions[PHASES];
    /* Of the budget, what spex believes to have spent, and the CPU time that it is a share of. */
    double spent, seconds;
    unsigned probes;
    /* Probes whose count is exact, and whose margin holds the truth. */
    unsigned exact, held;
    /* Of the probe that is worst: the count's error, and what is told of it; INFINITY: a bound. */
    double error, margin;
    /* The part of the time for which probes were on. */
    double on;
    /* Of the LAT whose mean is told worst: relative margin, NAN: none; and the relative deviation of
     * its values. */
    double mean_margin, deviation;
};

/* What is asked of a run. `budget`, NULL: none. */
struct setting {
    double rate;
    unsigned threads, probes;
    const char *selection, *budget;
    double seconds;
};

static double seconds_of(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now) != 0)
        err(1, "clock_gettime");
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Seconds that a step of work takes. */
static double step_seconds(void) {
    static uint64_t number = 1;
    double least = INFINITY;
    for (int loop = 0; loop < LOOPS; loop++) {
        double begin = seconds_of(CLOCK_THREAD_CPUTIME_ID);
        number = site_work(number, LOOP_STEPS);
        least = fmin(least, seconds_of(CLOCK_THREAD_CPUTIME_ID) - begin);
    }
    return least / LOOP_STEPS;
}

enum { OUTER = 1, INNER, VALUE, ALONE };

static void execute(uint64_t *number, unsigned probes, unsigned times, unsigned steps) {
    static __thread unsigned site;
    if (probes == 1) {
        for (unsigned t = 0; t < times; t++) {
            SPEX_LAT_PROBE_BEGIN(ALONE, 1);
            *number = site_work(*number, steps);
            SPEX_LAT_PROBE_END(ALONE);
        }
        return;
    }
    if (probes == 3) {
        for (unsigned t = 0; t < times; t++) {
            SPEX_LAT_PROBE_BEGIN(OUTER, 1);
            SPEX_LAT_PROBE_BEGIN(INNER, 1);
            *number = site_work(*number, steps);
            SPEX_LAT_PROBE_END(INNER);
            SPEX_SNAPSHOT_PROBE(VALUE, 1, *number >> 40);
            SPEX_LAT_PROBE_END(OUTER);
        }
        return;
    }
    for (unsigned t = 0; t < times; t++) {
        site_execute(number, site, steps);
        site = (site + 1) % SITES;
    }
}

static struct {
    unsigned probes, times, steps;
    /* Written by the first thread between barriers. */
    double until;
    pthread_barrier_t begin, end;
} work;

struct worker {
    _Alignas(64) double executions;
    uint64_t number;
};

static void worker_phase(struct worker *worker) {
    worker->executions = 0;
    do {
        execute(&worker->number, work.probes, work.times, work.steps);
        worker->executions += work.times;
    } while (seconds_of(CLOCK_MONOTONIC) < work.until);
}

static void *worker_run(void *arg) {
    for (;;) {
        pthread_barrier_wait(&work.begin);
        worker_phase(arg);
        pthread_barrier_wait(&work.end);
    }
    return NULL;
}

/* Has all threads work for a while. */
static void phase_run(struct run *run, enum phase phase, struct worker *workers, unsigned threads,
                      double seconds) {
    work.until = seconds_of(CLOCK_MONOTONIC) + seconds;
    pthread_barrier_wait(&work.begin);
    worker_phase(&workers[0]);
    pthread_barrier_wait(&work.end);
    for (unsigned t = 0; t < threads; t++)
        run->executions[phase] += workers[t].executions;
}

/* Adds what is told of a probe that was executed `truth` times. */
static void run_note(struct run *run, const struct spex_profile_row *row, double truth) {
    const struct spex_profile_probe *probe = &row->probe;
    double told = spex_profile_executions(probe), margin = spex_count_margin(probe);
    double error = fabs(told - truth);
    bool bound = !spex_count_known(probe);
    run->probes++;
    run->exact += error < 0.5 && margin <= 0;
    /* A bound is true where it is no more than the truth. */
    run->held += bound ? probe->count <= truth : error <= margin + 0.5;
    run->error = fmax(run->error, error / truth);
    run->margin = fmax(run->margin, bound ? INFINITY : margin / truth);
    run->on = fmin(run->on, 1 - spex_profile_off(probe));
    if (probe->probe_type != SPEX_LAT || !row->values[0] || !(row->values[0]->mean > 0))
        return;
    double mean = spex_mean_margin(probe, row->values[0]) / row->values[0]->mean;
    mean = mean < 0 ? INFINITY : mean;
    if (isnan(run->mean_margin) || mean > run->mean_margin) {
        run->mean_margin = mean;
        run->deviation = spex_values_deviation(row->values[0]) / row->values[0]->mean;
    }
}

/* What spex tells of its time. */
static void run_tell(struct run *run, double truth) {
    spex_metrics_lock();
    struct spex_controller_totals totals = spex_controller_totals();
    run->spent = totals.spent;
    run->seconds = totals.seconds;
    run->on = 1;
    run->mean_margin = NAN;
    for (uint32_t i = 0; i < spex_sites_count(); i++) {
        struct spex_profile_row row = {.probe.records = 0};
        if (spex_site_info(i)->probe != i || !spex_site_used(i))
            continue;
        spex_profile_probe_now(i, &row);
        if (row.probe.declared > ALONE + 1 || work.probes != SITES)
            run_note(run, &row, truth);
    }
    spex_metrics_unlock();
}

static void spex_begin(const struct setting *setting) {
    struct spex_options options = {.size = sizeof(options),
                                   .probes = setting->selection,
                                   .budget = setting->budget,
                                   .out = "/dev/null"};
    if (spex_start(&options) != 0)
        errx(1, "cannot start spex");
}

/* The selection of a cell's probes. */
static const char *selection_of(unsigned probes) {
    return probes == 1 ? "4" : probes == 3 ? "1,2,3" : "*";
}

/* The process of a run. */
static void run_process(const struct setting *setting, double step, struct run *run) {
    static struct worker workers[THREADS_MOST];
    pthread_t threads[THREADS_MOST];
    work.probes = setting->probes;
    work.steps = (unsigned)fmax(round(1 / setting->rate / step), 1);
    work.times = (unsigned)fmax(BATCH_SECONDS * setting->rate, 1);
    if (work.probes == SITES)
        work.times += SITES - work.times % SITES;
    pthread_barrier_init(&work.begin, NULL, setting->threads);
    pthread_barrier_init(&work.end, NULL, setting->threads);
    for (unsigned t = 0; t < setting->threads; t++) {
        workers[t].number = t + 1;
        if (t && pthread_create(&threads[t], NULL, worker_run, &workers[t]) != 0)
            errx(1, "cannot start a thread");
    }
    for (enum phase phase = BARE; phase < PHASES; phase++) {
        double begin = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        if (phase == WITH)
            spex_begin(setting);
        phase_run(run, phase, workers, setting->threads,
                  phase == WITH ? setting->seconds : BARE_SECONDS);
        run->cpu_seconds[phase] = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - begin;
        if (phase == WITH) {
            run_tell(run, run->executions[WITH] / (setting->probes == SITES ? SITES : 1));
            spex_stop();
        }
    }
    _exit(0);
}

static void run_do(const struct setting *setting, double step, struct run *result) {
    pid_t parent = getpid();
    struct run *run =
        mmap(NULL, sizeof(*run), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (run == MAP_FAILED)
        err(1, "mmap");
    pid_t pid = fork();
    if (pid < 0)
        err(1, "fork");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            run_process(setting, step, run);
        _exit(1);
    }
    int status;
    if (waitpid(pid, &status, 0) != pid || status != 0)
        errx(1, "a run has ended with status %d", status);
    *result = *run;
    munmap(run, sizeof(*run));
}

/* The CPU time of an execution without spex: of the seconds before and after. */
static double run_bare(const struct run *run) {
    return (run->cpu_seconds[BARE] + run->cpu_seconds[BARE_AGAIN]) /
           (run->executions[BARE] + run->executions[BARE_AGAIN]);
}

static double run_slowdown(const struct run *run) {
    return run->cpu_seconds[WITH] / run->executions[WITH] / run_bare(run) - 1;
}

/* Seconds that an execution of the loop takes more with all probes on and hardly a record; and that a
 * record of each probe takes. */
struct costs {
    double count, record;
};

/* A mean over runs, with half its 95 % interval; NAN: of one run. */
struct figure {
    double mean, half;
};

static struct figure figure_of(const double *values, unsigned count) {
    struct figure figure = {0, NAN};
    double squares = 0;
    for (unsigned v = 0; v < count; v++)
        figure.mean += values[v] / count;
    for (unsigned v = 0; v < count; v++)
        squares += (values[v] - figure.mean) * (values[v] - figure.mean);
    if (count > 1)
        figure.half = spex_student_95(count - 1) * sqrt(squares / (count - 1) / count);
    return figure;
}

struct plan {
    double rates[CHOICES_MOST], budgets[CHOICES_MOST], threads[CHOICES_MOST], probes[CHOICES_MOST];
    size_t rate_count, budget_count, threads_count, probes_count;
    unsigned runs, busy;
    double seconds, step;
    bool json, quick;
};

struct cell {
    double rate, budget;
    unsigned threads, probes;
    struct costs costs;
    struct run *runs;
};

/* What the ideal sampler has for records; negative: not even for all counts. */
static double ideal_left(const struct cell *cell) {
    return cell->budget - cell->costs.count * cell->rate;
}

static double ideal_on(const struct cell *cell) {
    return ideal_left(cell) >= 0 ? 1 : cell->budget / (cell->costs.count * cell->rate);
}

/* The relative margin of a mean for which all probes have equal parts of the records that fit, with
 * the deviation of values that the run has seen. */
static double ideal_mean_margin(const struct cell *cell, const struct run *run) {
    bool in_turn = cell->probes == SITES;
    double all = run->executions[WITH] / (in_turn ? SITES : 1);
    double left = fmax(ideal_left(cell), 0) * run->cpu_seconds[WITH] / (1 + run_slowdown(run));
    double records = left / cell->costs.record / (in_turn ? SITES : 1);
    return records >= all ? 0 : SPEX_NORMAL_95 * run->deviation / sqrt(fmax(records, 1));
}

static double worst(const struct cell *cell, unsigned runs, double (*of)(const struct run *)) {
    double most = 0;
    for (unsigned r = 0; r < runs; r++)
        most = fmax(most, of(&cell->runs[r]));
    return most;
}

static double margin_of(const struct run *run) {
    return run->margin;
}

static double error_of(const struct run *run) {
    return run->error;
}

static double mean_margin_of(const struct run *run) {
    return isnan(run->mean_margin) ? INFINITY : run->mean_margin;
}

static double mean_of(const struct cell *cell, unsigned runs, double (*of)(const struct run *)) {
    double sum = 0;
    for (unsigned r = 0; r < runs; r++)
        sum += of(&cell->runs[r]);
    return sum / runs;
}

static double used_of(const struct run *run) {
    return run->spent / run->seconds;
}

static double on_of(const struct run *run) {
    return run->on;
}

static void print_number(const char *name, double number, const char *before) {
    if (isfinite(number))
        printf("%s\"%s\": %.6g", before, name, number);
    else
        printf("%s\"%s\": null", before, name);
}

/* What a cell's runs say. */
struct told {
    struct figure slowdown;
    unsigned probes, exact, held;
    double used, on, error, margin, mean_margin, ideal_mean_margin;
    int kept; /* -1: not known */
};

static struct told cell_told(const struct cell *cell, unsigned runs) {
    double slowdowns[RUNS_MOST];
    struct told told = {.used = mean_of(cell, runs, used_of) / cell->budget,
                        .on = mean_of(cell, runs, on_of),
                        .error = worst(cell, runs, error_of),
                        .margin = worst(cell, runs, margin_of),
                        .mean_margin = worst(cell, runs, mean_margin_of)};
    for (unsigned r = 0; r < runs; r++) {
        const struct run *run = &cell->runs[r];
        slowdowns[r] = run_slowdown(run);
        told.probes += run->probes;
        told.exact += run->exact;
        told.held += run->held;
        told.ideal_mean_margin = fmax(told.ideal_mean_margin, ideal_mean_margin(cell, run));
    }
    told.slowdown = figure_of(slowdowns, runs);
    double bound = BOUND_TIMES * cell->budget + BOUND_MORE;
    told.kept = told.slowdown.mean + told.slowdown.half <= bound  ? 1
                : told.slowdown.mean - told.slowdown.half > bound ? 0
                                                                  : -1;
    return told;
}

static void print_json(const struct cell *cell, const struct told *told, const char *before) {
    static const char *const verdicts[] = {"null", "false", "true"};
    printf("%s\n  {\"rate\": %g, \"budget\": %g, \"threads\": %u, \"probes\": %u", before,
           cell->rate, cell->budget, cell->threads, cell->probes);
    print_number("slowdown", told->slowdown.mean, ", ");
    print_number("ci95", told->slowdown.half, ", ");
    printf(", \"kept\": %s", verdicts[told->kept + 1]);
    print_number("used", told->used, ", ");
    print_number("on", told->on, ",\n   ");
    printf(", \"told\": %u, \"exact\": %u, \"true\": %u", told->probes, told->exact, told->held);
    print_number("count_error", told->error, ", ");
    print_number("count_margin", told->margin, ", ");
    print_number("mean_margin", told->mean_margin, ", ");
    print_number("count_ns", cell->costs.count * 1e9, ",\n   \"ideal\": {");
    print_number("record_ns", cell->costs.record * 1e9, ", ");
    print_number("on", ideal_on(cell), ", ");
    print_number("mean_margin", told->ideal_mean_margin, ", ");
    printf("}}");
    fflush(stdout);
}

static void print_share(const char *name, double share) {
    if (isfinite(share))
        printf(", %s ± %.2g %%", name, 100 * share);
    else
        printf(", %s not told", name);
}

static void print_line(const struct cell *cell, const struct told *told) {
    static const char *const verdicts[] = {"not known", "NOT KEPT", "kept"};
    printf(
        "%9.0f Hz %4.1f %% %u threads %4u probes: slowdown %5.2f %% ± %.2f, used %3.0f %%, %s; on "
        "%.3g (ideal %.3g), exact %u and true %u of %u",
        cell->rate, 100 * cell->budget, cell->threads, cell->probes, 100 * told->slowdown.mean,
        100 * told->slowdown.half, 100 * told->used, verdicts[told->kept + 1], told->on,
        ideal_on(cell), told->exact, told->held, told->probes);
    print_share("counts", told->margin);
    print_share("mean", told->mean_margin);
    print_share("ideal", told->ideal_mean_margin);
    puts("");
    fflush(stdout);
}

/* The median of some runs: what an execution takes more. */
static double cost_measure(const struct plan *plan, double rate, unsigned probes,
                           const char *selection) {
    const struct setting setting = {rate, 1, probes, selection, NULL, COST_SECONDS};
    double costs[COST_RUNS];
    for (unsigned r = 0; r < COST_RUNS; r++) {
        struct run run;
        run_do(&setting, plan->step, &run);
        costs[r] = run_slowdown(&run) * run_bare(&run);
    }
    return fmax(bench_median(costs, COST_RUNS).median, COST_LEAST);
}

static struct costs costs_measure(const struct plan *plan, unsigned probes) {
    return (struct costs){cost_measure(plan, COUNT_RATE, probes, "*@16777214"),
                          cost_measure(plan, RECORD_RATE, probes, "*")};
}

static size_t cell_count(const struct plan *plan) {
    return plan->rate_count * plan->budget_count * plan->threads_count * plan->probes_count;
}

static void cells_make(const struct plan *plan, struct cell *cells) {
    size_t c = 0;
    for (size_t p = 0; p < plan->probes_count; p++) {
        struct costs costs = costs_measure(plan, (unsigned)plan->probes[p]);
        for (size_t r = 0; r < plan->rate_count; r++)
            for (size_t t = 0; t < plan->threads_count; t++)
                for (size_t b = 0; b < plan->budget_count; b++) {
                    cells[c] = (struct cell){.rate = plan->rates[r],
                                             .budget = plan->budgets[b] / 100,
                                             .threads = (unsigned)plan->threads[t],
                                             .probes = (unsigned)plan->probes[p],
                                             .costs = costs,
                                             .runs = calloc(plan->runs, sizeof(struct run))};
                    if (!cells[c++].runs)
                        err(1, "calloc");
                }
    }
}

static void cell_run(const struct plan *plan, struct cell *cell, unsigned run) {
    char budget[32];
    snprintf(budget, sizeof(budget), "%g%%", 100 * cell->budget);
    struct setting setting = {cell->rate, cell->threads, cell->probes, selection_of(cell->probes),
                              budget,     plan->seconds};
    run_do(&setting, plan->step, &cell->runs[run]);
}

static void plan_run(const struct plan *plan) {
    size_t count = cell_count(plan);
    struct cell *cells = calloc(count, sizeof(*cells));
    if (!cells)
        err(1, "calloc");
    cells_make(plan, cells);
    if (plan->json)
        printf(
            "{\"bench\": \"cells\", \"seconds\": %g, \"runs\": %u, \"busy\": %u,\n \"results\": [",
            plan->seconds, plan->runs, plan->busy);
    for (unsigned run = 0; run < plan->runs; run++)
        for (size_t c = 0; c < count; c++) {
            cell_run(plan, &cells[c], run);
            if (run + 1 < plan->runs)
                continue;
            struct told told = cell_told(&cells[c], plan->runs);
            if (plan->json)
                print_json(&cells[c], &told, c ? "," : "");
            else
                print_line(&cells[c], &told);
        }
    if (plan->json)
        puts("]}");
    for (size_t c = 0; c < count; c++)
        free(cells[c].runs);
    free(cells);
}

static void busy_begin(unsigned count) {
    pid_t parent = getpid();
    for (unsigned b = 0; b < count; b++) {
        pid_t pid = fork();
        if (pid < 0)
            err(1, "fork");
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            static volatile uint64_t number = 1;
            while (getppid() == parent)
                number = site_work(number, LOOP_STEPS);
            _exit(0);
        }
    }
}

static void add(double *list, size_t *count, const char *option, double least, double most) {
    char *end;
    double number = strtod(optarg, &end);
    if (*count == CHOICES_MOST || end == optarg || *end || !(number >= least && number <= most))
        errx(2, "--%s: a number of %g to %g was expected, %d times at most", option, least, most,
             CHOICES_MOST);
    list[(*count)++] = number;
}

static double one(const char *option, double least, double most) {
    double number[CHOICES_MOST];
    size_t count = 0;
    add(number, &count, option, least, most);
    return number[0];
}

static bool is_program(unsigned probes) {
    return probes == 1 || probes == 3 || probes == SITES;
}

static void options_parse(int argc, char **argv, struct plan *plan) {
    static const struct option known[] = {
        {"json", no_argument, NULL, 'j'},         {"quick", no_argument, NULL, 'q'},
        {"runs", required_argument, NULL, 'n'},   {"seconds", required_argument, NULL, 's'},
        {"busy", required_argument, NULL, 'y'},   {"rate", required_argument, NULL, 'r'},
        {"budget", required_argument, NULL, 'b'}, {"threads", required_argument, NULL, 't'},
        {"probes", required_argument, NULL, 'p'}, {NULL, 0, NULL, 0}};
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;)
        switch (option) {
        case 'j':
            plan->json = true;
            break;
        case 'q':
            plan->quick = true;
            plan->seconds = SECONDS_QUICK;
            plan->runs = 1;
            break;
        case 'n':
            plan->runs = (unsigned)one("runs", 1, RUNS_MOST);
            break;
        case 's':
            plan->seconds = one("seconds", 0.1, SECONDS_MOST);
            break;
        case 'y':
            plan->busy = (unsigned)one("busy", 0, 1000);
            break;
        case 'r':
            add(plan->rates, &plan->rate_count, "rate", 1, 1e9);
            break;
        case 'b':
            add(plan->budgets, &plan->budget_count, "budget", 0.01, 100);
            break;
        case 't':
            add(plan->threads, &plan->threads_count, "threads", 1, THREADS_MOST);
            break;
        case 'p':
            add(plan->probes, &plan->probes_count, "probes", 1, SITES);
            break;
        default:
            exit(2);
        }
    if (optind < argc)
        errx(2, "%s: nothing else was expected", argv[optind]);
    for (size_t p = 0; p < plan->probes_count; p++)
        if (!is_program((unsigned)plan->probes[p]))
            errx(2, "--probes: 1, 3 or %d was expected", SITES);
}

static void list_complete(double *list, size_t *count, const double *usual, size_t usual_count) {
    if (*count)
        return;
    memcpy(list, usual, usual_count * sizeof(*usual));
    *count = usual_count;
}

/* Those that no option has chosen. */
static void plan_complete(struct plan *plan) {
    static const double rates[] = {1e4, 1e5, 1e6, 1e7, 1e8}, budgets[] = {0.5, 1, 2, 5}, two = 2,
                        threads[] = {1, 8}, probes[] = {1, 3, SITES};
    list_complete(plan->rates, &plan->rate_count, rates, 5);
    list_complete(plan->budgets, &plan->budget_count, plan->quick ? &two : budgets,
                  plan->quick ? 1 : 4);
    list_complete(plan->threads, &plan->threads_count, threads, 2);
    list_complete(plan->probes, &plan->probes_count, probes, 3);
}

int main(int argc, char **argv) {
    struct plan plan = {.seconds = SECONDS, .runs = 3};
    options_parse(argc, argv, &plan);
    plan_complete(&plan);
    setenv("SPEX_CONTROL", "off", 1);
    unsetenv("SPEX_PROBES");
    unsetenv("SPEX_BUDGET");
    unsetenv("SPEX_OUT");
    plan.step = step_seconds();
    busy_begin(plan.busy);
    plan_run(&plan);
    return 0;
}
