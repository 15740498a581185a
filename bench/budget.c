/* SPDX-License-Identifier: MIT */
/* Measures whether a program with a budget is slowed down by no more than the budget, and
 * whether the library knows by how much.
 *
 *     budget [--json] [--alone] [--quick] [--no-control] [--object FILE]… [--workload NAME]…
 *            [--budget PERCENT]… [--seconds N]
 *
 * Each workload runs in two processes, A with all probes on and a budget, and B without spex, which
 * is the same code. One runs at a time, for a slice of 10 ms, in the order A B B A or B A A B by
 * chance, both on the same CPU. After some 5 s spex is stopped in A and started in B, and both are
 * measured as long again: one process may be faster than the other by some per cent for as long as
 * they live, by the pages that they have. What each has in its first second with spex is not
 * counted. Ten times four slices in either half are a figure. (Longer slices make intervals wider,
 * by what others do to the machine; after shorter ones a program finds its caches cold. So those of
 * 64 threads are of 50 ms, two times four in a figure: after 10 ms each they paid twice what they do
 * in one process that goes on.) The slowdown is how much more CPU time, that of the threads of spex
 * included, an operation takes (budget_estimate.h has the statistics). The clock of the library and
 * the sleep of its collectors stand still while a process is stopped (budget_clock.h). A measurement
 * ends when it is known whether the budget is kept, that of a control when its interval is ± 0.3 %
 * or less; or after so many seconds (60; with --quick 6).
 *
 * A budget is kept when the upper end of the slowdown's interval is at most 1.25 times the
 * budget and 0.3 points more; it is not when the lower end is above that. What the library
 * believes is true when it is within a quarter of the slowdown, or 0.3 points, of its interval.
 *
 * What the library believes is made comparable: `believed` is what it says it has spent, over
 * the CPU time without that; `used` is the share of the budget, which is a share of the time
 * that goes by, that it has spent.
 *
 * Both processes have a second thread, which sleeps, as most programs have several: libc omits
 * locks in a process with one thread, and spex starts a thread, its collector (--alone measures
 * a process without the second thread). There are two controls: `off`, spex started and no
 * probe on, which is the error of the bench itself; and `thread`, no spex, and the second
 * thread in A alone, which is what the first thread besides its own costs a program. --no-control
 * leaves them out.
 *
 * --object adds a workload of a shared object; foreign/build makes two of programs that others have
 * written, zstd and LevelDB.
 *
 * SPEX_PROBES and SPEX_RATE_POLICY hold for what is measured: `fixed` measures what is selected
 * instead of a budget. */
#define _GNU_SOURCE
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "budget_estimate.h"
#include "budget_process.h"
#include "budget_random.h"
#include "budget_workload.h"

#define WARM_UP       1.0 /* seconds with spex; at most as long as the measurement */
#define WARM_UP_BARE  0.1
#define PRECISION     0.003
#define FIGURES_LEAST 12 /* before the interval counts */
#define ATTEMPTS      50 /* for each figure that is wanted */
#define SECONDS_LEAST 0.1
#define SECONDS       60.0
#define SECONDS_QUICK 6.0
#define SLICE         0.01 /* seconds */
/* A budget's bound on the slowdown, and how far off a belief may be. */
#define BOUND_TIMES   1.25
#define BOUND_MORE    0.003
#define BELIEF_SHARE  0.25
/* Of a figure: more is no belief of what the program pays. */
#define BELIEVED_MOST 1.0
/* What is decided early is looked at many times, so that it needs wider intervals. */
#define EARLY         1.33
#define SECONDS_MOST  3600.0

enum { BUDGETS_MAX = 16, WORKLOADS_MAX = 16 };
/* Times four slices: half of a figure. As many figures at most before the processes change. */
enum { FOURS = 10, FIGURES_IN_TURN = 12 };

/* What A has and B has not. */
enum what { BUDGET, SPEX_OFF, THREAD };

enum verdict { KEPT, BROKEN, UNKNOWN };

struct budget {
    enum what what;
    const char *text;
    double share;
};

/* The process with spex, at the beginning of a slice. */
struct account {
    double cpu_seconds;
    double seconds;
    struct budget_belief belief;
};

/* The process with spex, while it was counted. */
struct result {
    const struct budget_workload *workload;
    const struct budget *budget;
    struct budget_estimate estimate;
    size_t figures;
    double cpu_seconds;
    /* CPUs that it kept busy while it ran. */
    double cpus;
    double believed;
    double used;
    double seconds; /* that it ran */
    struct budget_belief done;
};

struct side {
    struct budget_process process;
    /* A slice is so many times SLICE. */
    unsigned longer;
    /* CPU time and operations in all, and how long it ran. */
    double cpu_seconds;
    double operations;
    double seconds;
    /* `first` and `begin`: since it is counted, and in this figure. */
    struct account first, begin, last;
    bool known, begun; /* first and last are set; begin is */
};

/* Keeps the first and the last account. The process reports its belief at the beginning of a
 * slice, unless it did not get the processor. */
static void side_take_account(struct side *side, const struct account *begin) {
    const struct budget_shared *shared = side->process.shared;
    if (shared->told != shared->slice)
        return;
    side->last = *begin;
    side->last.belief = shared->belief;
    if (!side->known)
        side->first = side->last;
    if (!side->begun)
        side->begin = side->last;
    side->known = side->begun = true;
}

static unsigned slice_times(const struct budget_workload *workload) {
    return workload->longer ? workload->longer : 1;
}

static void side_run_slice(struct side *side) {
    const struct account begin = {.cpu_seconds = side->cpu_seconds, .seconds = side->seconds};
    uint64_t operations = budget_process_operations(&side->process);
    uint64_t cpu_ns = budget_process_cpu_ns(&side->process);
    side->seconds +=
        (double)budget_process_run(&side->process, (uint64_t)(side->longer * SLICE * 1e9)) / 1e9;
    side->cpu_seconds += (double)(budget_process_cpu_ns(&side->process) - cpu_ns) / 1e9;
    side->operations += (double)(budget_process_operations(&side->process) - operations);
    side_take_account(side, &begin);
}

static void side_warm_up(struct side *side, double seconds) {
    double until = side->cpu_seconds + seconds;
    while (side->cpu_seconds < until)
        side_run_slice(side);
    side->known = false;
}

/* Whether the slowdown is within the budget's bound. */
static enum verdict budget_verdict(const struct result *result, double half) {
    double bound = BOUND_TIMES * result->budget->share + BOUND_MORE;
    if (result->estimate.slowdown + half <= bound)
        return KEPT;
    return result->estimate.slowdown - half > bound ? BROKEN : UNKNOWN;
}

static bool belief_is_true(const struct result *result) {
    double slowdown = result->estimate.slowdown;
    return fabs(result->believed - slowdown) <=
           fmax(BELIEF_SHARE * slowdown, BOUND_MORE) + result->estimate.ci95;
}

static bool result_is_precise(const struct result *result) {
    return result->figures >= FIGURES_LEAST && result->estimate.ci95 <= PRECISION;
}

static bool result_is_enough(const struct result *result) {
    if (result->budget->what != BUDGET)
        return result_is_precise(result);
    return result->figures >= FIGURES_LEAST &&
           budget_verdict(result, EARLY * result->estimate.ci95) != UNKNOWN;
}

/* A B B A or B A A B: by chance, so that what returns at regular times meets both alike. */
static void run_four_slices(struct side *with, struct side *without) {
    static uint64_t random = 1;
    bool first = budget_random(&random, 2);
    struct side *outer = first ? with : without, *inner = first ? without : with;
    side_run_slice(outer);
    side_run_slice(inner);
    side_run_slice(inner);
    side_run_slice(outer);
}

/* Seconds of CPU time for an operation since `before`; 0: there was none. */
static double side_cost_since(const struct side *side, const struct side *before) {
    double operations = side->operations - before->operations;
    return operations > 0 ? (side->cpu_seconds - before->cpu_seconds) / operations : 0;
}

/* What probes have taken, of the CPU time without that. INFINITY where that is all, as at the
 * start, while nothing is known of costs. */
static double believed_between(const struct budget_belief *from, const struct budget_belief *to,
                               double cpu_seconds) {
    double spent = to->spent - from->spent;
    return spent < cpu_seconds ? spent / (cpu_seconds - spent) : INFINITY;
}

/* False: one of the processes did not get the processor. */
static bool run_figure(struct side *with, struct side *without, struct budget_figure *figure) {
    const struct side with_before = *with, without_before = *without;
    with->begun = false;
    for (unsigned four = 0; four < FOURS / with->longer; four++)
        run_four_slices(with, without);
    figure->with = side_cost_since(with, &with_before);
    figure->without = side_cost_since(without, &without_before);
    if (!with->begun || with->begin.cpu_seconds >= with->last.cpu_seconds ||
        !(figure->with > 0 && figure->without > 0))
        return false;
    figure->believed = fmin(believed_between(&with->begin.belief, &with->last.belief,
                                             with->last.cpu_seconds - with->begin.cpu_seconds),
                            BELIEVED_MOST);
    return true;
}

/* What a process without the processor would be a figure of is run again, so that a busy machine
 * makes the bench take longer. */
static void run_figures(struct side *with, struct side *without, size_t count,
                        struct budget_figure *figures) {
    size_t done = 0;
    for (size_t attempt = 0; attempt < ATTEMPTS * count && done < count; attempt++)
        done += run_figure(with, without, &figures[done]);
    if (done < count)
        errx(1, "%s: the processes hardly got the processor", with->process.name);
}

/* Adds what the process with spex has done since it was warm. */
static void result_add(const struct side *side, struct result *result) {
    const struct budget_belief *from = &side->first.belief, *to = &side->last.belief;
    struct budget_belief *done = &result->done;
    result->cpu_seconds += side->last.cpu_seconds - side->first.cpu_seconds;
    result->seconds += side->last.seconds - side->first.seconds;
    done->seconds += to->seconds - from->seconds;
    done->spent += to->spent - from->spent;
    done->executions += to->executions - from->executions;
    done->records += to->records - from->records;
    done->lost += to->lost - from->lost;
}

/* Measures one way round. */
static void run_half(struct side *with, struct side *without, double seconds, size_t count,
                     struct budget_figure *figures, struct result *result) {
    budget_process_switch(&with->process, true);
    budget_process_switch(&without->process, false);
    side_warm_up(without, fmin(WARM_UP_BARE, seconds));
    side_warm_up(with, fmin(WARM_UP, seconds));
    run_figures(with, without, count, figures);
    result_add(with, result);
}

/* The figure of both ways round, in which it does not matter which process is the faster one. */
static struct budget_figure figure_of_both(const struct budget_figure *one,
                                           const struct budget_figure *other) {
    return (struct budget_figure){.with = sqrt(one->with * other->with),
                                  .without = sqrt(one->without * other->without),
                                  .believed =
                                      sqrt((1 + one->believed) * (1 + other->believed)) - 1};
}

/* The halves are in memory behind the figures. A second thread cannot be taken away: its control
 * has it in one process all the time. */
static void sides_compare(struct side *a, struct side *b, double seconds, struct result *result) {
    bool swaps = result->budget->what != THREAD;
    double all = seconds / (2 * 4 * FOURS * SLICE);
    size_t turn = all < FIGURES_IN_TURN ? (size_t)all : FIGURES_IN_TURN;
    if (turn < BUDGET_FIGURES_LEAST)
        turn = BUDGET_FIGURES_LEAST;
    size_t turns = (size_t)fmax(all / (double)turn, 1);
    struct budget_figure *figures = calloc((turns + 2) * turn, sizeof(*figures));
    if (!figures)
        err(1, "calloc");
    struct budget_figure *one = figures + turns * turn, *other = one + turn;
    for (size_t t = 0; t < turns && !result_is_enough(result); t++) {
        run_half(a, b, seconds, turn, one, result);
        run_half(swaps ? b : a, swaps ? a : b, seconds, turn, other, result);
        for (size_t f = 0; f < turn; f++)
            figures[result->figures++] = figure_of_both(&one[f], &other[f]);
        result->estimate = budget_estimate(figures, result->figures);
    }
    free(figures);
}

static void result_conclude(struct result *result) {
    const struct budget_belief *done = &result->done;
    static const struct budget_belief nothing;
    result->cpus = result->cpu_seconds / result->seconds;
    result->believed = believed_between(&nothing, done, result->cpu_seconds);
    result->used = done->seconds > 0 ? done->spent / done->seconds / result->budget->share : 0;
}

static struct result workload_measure(const struct budget_workload *workload,
                                      const struct budget *budget, double seconds, bool alone) {
    struct budget_setting a = {
        .threads = budget->what == THREAD || !alone, .budget = budget->text, .cpu = sched_getcpu()};
    if (budget->what != THREAD)
        a.probes = budget->what == BUDGET ? "*" : "";
    struct budget_setting b = a;
    b.later = true;
    b.threads = budget->what != THREAD && !alone;
    struct result result = {.workload = workload, .budget = budget};
    struct side one = {.longer = slice_times(workload)};
    struct side other = {.longer = one.longer};
    budget_process_start(&one.process, workload, &a);
    budget_process_start(&other.process, workload, &b);
    sides_compare(&one, &other, seconds, &result);
    result_conclude(&result);
    budget_process_end(&one.process);
    budget_process_end(&other.process);
    return result;
}

static void print_json_measured(const struct result *result) {
    const struct budget_estimate *estimate = &result->estimate;
    printf("\"slowdown\": %.5f, \"ci95\": %.5f, \"precise\": %s, \"figures\": %zu, "
           "\"of_sums\": %.5f, \"noise\": %.5f, \"seconds\": %.2f, \"cpus\": %.3f",
           estimate->slowdown, estimate->ci95, result_is_precise(result) ? "true" : "false",
           result->figures, estimate->of_sums, estimate->noise, result->seconds, result->cpus);
}

/* `believed` is null where it is more than all of the CPU time, as at the start, while nothing is
 * known of costs. */
static void print_json_result(const struct result *result, const char *before) {
    static const char *const verdicts[] = {"true", "false", "null"};
    char believed[32] = "null";
    if (isfinite(result->believed))
        snprintf(believed, sizeof(believed), "%.5f", result->believed);
    printf("%s\n  {\"workload\": \"%s\", \"budget\": %g, \"slice_ms\": %g, ", before,
           result->workload->name, result->budget->share,
           slice_times(result->workload) * SLICE * 1e3);
    print_json_measured(result);
    printf(", \"kept\": %s, \"believed\": %s, \"used\": %.3f,\n   \"executions\": %.0f, "
           "\"records\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"belief_true\": %s}",
           verdicts[budget_verdict(result, result->estimate.ci95)], believed, result->used,
           result->done.executions, result->done.records, result->done.lost,
           belief_is_true(result) ? "true" : "false");
    fflush(stdout);
}

static const char *control_name(const struct result *result) {
    static const char *const names[] = {[SPEX_OFF] = "off", [THREAD] = "thread"};
    return result->budget->what == BUDGET ? result->budget->text : names[result->budget->what];
}

static void print_json_control(const struct result *result, const char *before) {
    printf("%s\n  {\"workload\": \"%s\", \"what\": \"%s\", ", before, result->workload->name,
           control_name(result));
    print_json_measured(result);
    putchar('}');
    fflush(stdout);
}

static void print_line(const struct result *result) {
    static const char *const verdicts[] = {"kept", "NOT KEPT", "not known"};
    printf("%-7s %-6s slowdown %6.2f %% ± %.2f", result->workload->name, control_name(result),
           100 * result->estimate.slowdown, 100 * result->estimate.ci95);
    if (result->budget->what == BUDGET)
        printf(", believed %.2f %%%s (%.0f %% of the budget): %s; a second %.3g executions, %.3g "
               "records, %.3g lost",
               100 * result->believed, belief_is_true(result) ? "" : ", WRONGLY",
               100 * result->used, verdicts[budget_verdict(result, result->estimate.ci95)],
               result->done.executions / result->seconds,
               (double)result->done.records / result->seconds,
               (double)result->done.lost / result->seconds);
    printf("; of sums %.2f %%, noise %.2f %%, %.1f s, %.2f CPUs\n", 100 * result->estimate.of_sums,
           100 * result->estimate.noise, result->seconds, result->cpus);
    fflush(stdout);
}

struct plan {
    const struct budget_workload *only[WORKLOADS_MAX];
    size_t only_count; /* 0: all workloads */
    struct budget budgets[BUDGETS_MAX];
    size_t budget_count;
    double seconds;
    bool json;
    bool alone;
    bool no_control;
};

static bool plan_has(const struct plan *plan, const struct budget_workload *workload) {
    bool found = plan->only_count == 0;
    for (size_t w = 0; w < plan->only_count; w++)
        found |= plan->only[w] == workload;
    return found;
}

/* Measures the controls, or the budgets. */
static void plan_run(const struct plan *plan, const struct budget *budgets, size_t count,
                     void (*print)(const struct result *, const char *)) {
    const char *before = "";
    const struct budget_workload *workload;
    for (size_t w = 0; (workload = budget_workload_at(w)); w++) {
        if (!plan_has(plan, workload))
            continue;
        for (size_t b = 0; b < count; b++) {
            struct result result =
                workload_measure(workload, &budgets[b], plan->seconds, plan->alone);
            if (plan->json)
                print(&result, before);
            else
                print_line(&result);
            before = ",";
        }
    }
}

static void plan_run_all(const struct plan *plan) {
    static const struct budget controls[] = {{SPEX_OFF, NULL, 0}, {THREAD, NULL, 0}};
    if (plan->json)
        printf("{\"bench\": \"budget\", \"slice_ms\": %g, \"precision\": %g, \"alone\": %s,\n "
               "\"control\": [",
               SLICE * 1e3, PRECISION, plan->alone ? "true" : "false");
    plan_run(plan, controls, plan->no_control ? 0 : 2, print_json_control);
    if (plan->json)
        printf("],\n \"results\": [");
    plan_run(plan, plan->budgets, plan->budget_count, print_json_result);
    if (plan->json)
        puts("]}");
}

/* As SPEX_BUDGET: "2%". */
static bool plan_add_budget(struct plan *plan, const char *text) {
    char *end;
    double percent = strtod(text, &end);
    if (plan->budget_count == BUDGETS_MAX || strcmp(end, "%") != 0 ||
        !(percent > 0 && percent <= 100))
        return false;
    plan->budgets[plan->budget_count++] = (struct budget){BUDGET, text, percent / 100};
    return true;
}

static bool plan_add_workload(struct plan *plan, const char *name) {
    const struct budget_workload *workload = budget_workload_find(name);
    if (plan->only_count == WORKLOADS_MAX || !workload)
        return false;
    plan->only[plan->only_count++] = workload;
    return true;
}

static void object_load(const char *path) {
    const char *why = budget_workload_load(path);
    if (why)
        errx(2, "--object: %s: %s", path, why);
}

static void options_parse(int argc, char **argv, struct plan *plan) {
    static const struct option known[] = {{"json", no_argument, NULL, 'j'},
                                          {"alone", no_argument, NULL, 'a'},
                                          {"object", required_argument, NULL, 'o'},
                                          {"workload", required_argument, NULL, 'w'},
                                          {"budget", required_argument, NULL, 'b'},
                                          {"seconds", required_argument, NULL, 's'},
                                          {"quick", no_argument, NULL, 'q'},
                                          {"no-control", no_argument, NULL, 'n'},
                                          {NULL, 0, NULL, 0}};
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (option == 'j')
            plan->json = true;
        else if (option == 'a')
            plan->alone = true;
        else if (option == 'n')
            plan->no_control = true;
        else if (option == 'q')
            plan->seconds = SECONDS_QUICK;
        else if (option == 'o')
            object_load(optarg);
        else if (option == 'w' && !plan_add_workload(plan, optarg))
            errx(2,
                 "--workload: sqlite, hash, json, bursts, sites, misses, threads, crowded or that "
                 "of "
                 "an --object named before was expected, %d times at most",
                 WORKLOADS_MAX);
        else if (option == 'b' && !plan_add_budget(plan, optarg))
            errx(2, "--budget: a percentage as 2%% was expected, %d times at most", BUDGETS_MAX);
        else if (option == 's')
            plan->seconds = strtod(optarg, NULL);
        else if (option == '?')
            exit(2);
    }
    if (optind < argc || !(plan->seconds >= SECONDS_LEAST && plan->seconds <= SECONDS_MOST))
        errx(2, "--seconds: a number of %g to %g was expected, and nothing else", SECONDS_LEAST,
             SECONDS_MOST);
}

int main(int argc, char **argv) {
    struct plan plan = {.seconds = SECONDS};
    options_parse(argc, argv, &plan);
    if (plan.budget_count == 0) {
        plan_add_budget(&plan, "0.5%");
        plan_add_budget(&plan, "1%");
        plan_add_budget(&plan, "2%");
        plan_add_budget(&plan, "5%");
    }
    plan_run_all(&plan);
    return 0;
}
