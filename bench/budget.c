/* SPDX-License-Identifier: MIT */
/* Measures whether a program with a budget is slowed down by no more than the budget, and
 * whether the library knows by how much.
 *
 *     budget [--json] [--alone] [--quick] [--object FILE]… [--workload NAME]… [--budget PERCENT]…
 *            [--seconds N]
 *
 * Each workload runs in two processes, A with all probes on and a budget, and B without spex,
 * which is the same code. One runs at a time, for a slice of 20 ms, in the order A B B A or
 * B A A B by chance, both on the same CPU; the first second of each is not counted. Ten times four
 * slices are a figure. The slowdown is how much more CPU time, that of the threads of spex
 * included, an operation takes (budget_estimate.h has the statistics). The clock of the library and
 * the sleep of its collectors stand still while A is stopped (budget_clock.h). A measurement ends
 * when it is known whether the budget is kept, that of a control when its interval is ± 0.3 % or
 * less; or after so many seconds (60; with --quick 6).
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
 * thread in A alone, which is what the first thread besides its own costs a program.
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

#define WARM_UP       1.0 /* seconds; at most as long as the measurement */
#define PRECISION     0.003
#define BATCHES_LEAST 6  /* before the interval counts */
#define ATTEMPTS      50 /* for each figure that is wanted */
#define SECONDS_LEAST 0.1
#define SECONDS       60.0
#define SECONDS_QUICK 6.0
#define SLICE         0.02 /* seconds */
/* A budget's bound on the slowdown, and how far off a belief may be. */
#define BOUND_TIMES   1.25
#define BOUND_MORE    0.003
#define BELIEF_SHARE  0.25
/* Of a figure: more is no belief of what the program pays. */
#define BELIEVED_MOST 1.0
/* What is decided early is looked at many times, so that it needs wider intervals. */
#define EARLY         1.33
#define SECONDS_MOST  3600.0

enum { BUDGETS_MAX = 16, WORKLOADS_MAX = 16, FOURS = 10 /* times four slices: a figure */ };

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

static void side_run_slice(struct side *side) {
    const struct account begin = {.cpu_seconds = side->cpu_seconds, .seconds = side->seconds};
    uint64_t operations = budget_process_operations(&side->process);
    uint64_t cpu_ns = budget_process_cpu_ns(&side->process);
    side->seconds += (double)budget_process_run(&side->process, (uint64_t)(SLICE * 1e9)) / 1e9;
    side->cpu_seconds += (double)(budget_process_cpu_ns(&side->process) - cpu_ns) / 1e9;
    side->operations += (double)(budget_process_operations(&side->process) - operations);
    side_take_account(side, &begin);
}

static void side_warm_up(struct side *side, double seconds) {
    while (side->cpu_seconds < (seconds < WARM_UP ? seconds : WARM_UP))
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
    return result->figures >= (size_t)BATCHES_LEAST * BUDGET_BATCH &&
           result->estimate.ci95 <= PRECISION;
}

static bool result_is_enough(const struct result *result) {
    if (result->budget->what != BUDGET)
        return result_is_precise(result);
    return result->figures >= (size_t)BATCHES_LEAST * BUDGET_BATCH &&
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

/* What probes have taken, of the CPU time without that. INFINITY where that is all, as at the start,
 * while nothing is known of costs. */
static double believed_between(const struct account *from, const struct account *to) {
    double spent = to->belief.spent - from->belief.spent;
    double cpu_seconds = to->cpu_seconds - from->cpu_seconds;
    return spent < cpu_seconds ? spent / (cpu_seconds - spent) : INFINITY;
}

/* False: one of the processes did not get the processor. */
static bool run_figure(struct side *with, struct side *without, struct budget_figure *figure) {
    const struct side with_before = *with, without_before = *without;
    with->begun = false;
    for (int four = 0; four < FOURS; four++)
        run_four_slices(with, without);
    figure->with = side_cost_since(with, &with_before);
    figure->without = side_cost_since(without, &without_before);
    if (!with->begun || with->begin.cpu_seconds >= with->last.cpu_seconds ||
        !(figure->with > 0 && figure->without > 0))
        return false;
    figure->believed = fmin(believed_between(&with->begin, &with->last), BELIEVED_MOST);
    return true;
}

static void sides_compare(struct side *with, struct side *without, double seconds,
                          struct result *result) {
    size_t most = (size_t)(seconds / (4 * FOURS * SLICE)) + 2 * (size_t)BUDGET_BATCH;
    struct budget_figure *figures = calloc(most, sizeof(*figures));
    if (!figures)
        err(1, "calloc");
    /* What a process without the processor would be a figure of is run again, so that a busy
     * machine makes the bench take longer. */
    for (size_t f = 0; f < ATTEMPTS * most && result->figures < most && !result_is_enough(result);
         f++) {
        if (!run_figure(with, without, &figures[result->figures]))
            continue;
        result->figures++;
        if (result->figures >= 2 * BUDGET_BATCH && result->figures % BUDGET_BATCH == 0)
            result->estimate = budget_estimate(figures, result->figures);
    }
    free(figures);
    if (result->figures < 2 * BUDGET_BATCH)
        errx(1, "%s: the processes hardly got the processor", result->workload->name);
}

static void result_set_belief(const struct side *side, struct result *result) {
    const struct budget_belief *from = &side->first.belief, *to = &side->last.belief;
    double spent = to->spent - from->spent, seconds = to->seconds - from->seconds;
    result->cpu_seconds = side->last.cpu_seconds - side->first.cpu_seconds;
    result->seconds = side->last.seconds - side->first.seconds;
    result->cpus = result->cpu_seconds / result->seconds;
    result->believed = believed_between(&side->first, &side->last);
    result->used = seconds > 0 ? spent / seconds / result->budget->share : 0;
    result->done = (struct budget_belief){.seconds = seconds,
                                          .spent = spent,
                                          .executions = to->executions - from->executions,
                                          .records = to->records - from->records,
                                          .lost = to->lost - from->lost};
}

static struct result workload_measure(const struct budget_workload *workload,
                                      const struct budget *budget, double seconds, bool alone) {
    const struct budget_setting b = {.threads = budget->what != THREAD && !alone,
                                     .cpu = sched_getcpu()};
    struct budget_setting a = b;
    struct result result = {.workload = workload, .budget = budget};
    struct side with = {.known = false}, without = {.known = false};
    if (budget->what == THREAD)
        a.threads = true;
    else
        a.probes = budget->what == BUDGET ? "*" : "";
    a.budget = budget->text;
    budget_process_start(&without.process, workload, &b);
    budget_process_start(&with.process, workload, &a);
    side_warm_up(&with, seconds);
    side_warm_up(&without, seconds);
    sides_compare(&with, &without, seconds, &result);
    result_set_belief(&with, &result);
    budget_process_end(&with.process);
    budget_process_end(&without.process);
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
    printf("%s\n  {\"workload\": \"%s\", \"budget\": %g, ", before, result->workload->name,
           result->budget->share);
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
    plan_run(plan, controls, 2, print_json_control);
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
    static const struct option known[] = {
        {"json", no_argument, NULL, 'j'},         {"alone", no_argument, NULL, 'a'},
        {"object", required_argument, NULL, 'o'}, {"workload", required_argument, NULL, 'w'},
        {"budget", required_argument, NULL, 'b'}, {"seconds", required_argument, NULL, 's'},
        {"quick", no_argument, NULL, 'q'},        {NULL, 0, NULL, 0}};
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (option == 'j')
            plan->json = true;
        else if (option == 'a')
            plan->alone = true;
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
