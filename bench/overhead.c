/* SPDX-License-Identifier: MIT */
/* Measures what a probe costs the thread that executes it, beside reading the time stamp
 * counter, and compares that with the limits that spex has set itself.
 *
 *     overhead [--json] [--rounds N]
 *
 * Each setting has a process of its own; one of them has no control socket (closed). Each round
 * times each case once, in each process in turn. The figure of a case is the median over the
 * calm rounds (calm.h) of its ticks beyond those of the empty loop of the same round. There are
 * rounds until each figure has N calm ones, 5 N rounds at most. */
#define _GNU_SOURCE
#include <dirent.h>
#include <err.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <spex/spex.h>

#include "base/service_thread.h"
#include "calm.h"
#include "harness/machine.h"
#include "overhead.h"
#include "queues/commit_rseq.h"

enum { CASES_MAX = 128, LARGE_RECORDS = 1 << 22, ROUNDS_FOR_CALM = 5 };

static const char *const type_names[] = {"CNT",   "LAT",      "TPT",      "LLC",    "FLT",
                                         "CTXSW", "PERFCNTR", "SNAPSHOT", "KERNEL", "SPAN"};

/* One setting's process, and what it has measured. */
struct process {
    const char *commit;
    unsigned ring_records;
    bool closed;
    int socket;
    pid_t pid;
    /* By case and round: ticks beyond those of the empty loop, and the references of both. */
    double *net[CASES_MAX];
    double *references[CASES_MAX];
    double *empty;
};

static struct process processes[SETTINGS] = {
    [BEST] = {.commit = "rseq"},
    [ATOMIC] = {.commit = "atomic"},
    [LARGE] = {.commit = "rseq", .ring_records = LARGE_RECORDS},
    [CLOSED] = {.commit = "rseq", .closed = true},
};

/* Above this, collectors wait for processors, and records for collectors. */
#define OTHERS_MOST 0.1

/* What other programs have taken of the machine meanwhile. */
static double taken_by_others;

/* The least reference of all. */
static double fastest = INFINITY;

static char control_directory[] = "/tmp/spex-overhead-XXXXXX";

static bool case_in_setting(size_t c, enum bench_setting setting) {
    return bench_cases[c].settings & 1u << setting;
}

/* Stays on one CPU, and writes the whole ring once, so that its memory is there. */
static void warm_up_large(void) {
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET((unsigned)sched_getcpu(), &here);
    if (sched_setaffinity(0, sizeof(here), &here) != 0)
        err(1, "sched_setaffinity");
    spex_set("*");
    for (size_t c = FIRST_PROBE; c < bench_case_count; c++)
        if (case_in_setting(c, LARGE))
            bench_cases[c].run(LARGE_RECORDS);
}

/* Figures with an open control socket need a control thread that runs. It gives itself its name
 * when it begins. */
static bool control_thread_runs(void) {
    spex_service_threads_await(&(struct spex_patience){INT64_MAX, UINT64_MAX});
    DIR *threads = opendir("/proc/self/task");
    bool found = false;
    for (const struct dirent *thread; threads && !found && (thread = readdir(threads));) {
        char path[300], name[32] = "";
        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", thread->d_name);
        FILE *file = fopen(path, "r");
        found = file && fgets(name, sizeof(name), file) && strcmp(name, "spex-control\n") == 0;
        if (file)
            fclose(file);
    }
    if (threads)
        closedir(threads);
    return found;
}

static void process_start_spex(const struct process *process) {
    struct spex_options options = {.size = sizeof(options),
                                   .out = "/dev/null",
                                   .commit = process->commit,
                                   .ring_records = process->ring_records};
    /* The environment overrides the options. */
    if (setenv("SPEX_CONTROL", process->closed ? "off" : control_directory, 1) != 0 ||
        spex_start(&options) != 0)
        errx(1, "cannot start");
    if (control_thread_runs() == process->closed)
        errx(1, "the control socket is not as it is to be");
}

/* Answers each byte with the figures of a round, until the socket is closed. */
static void process_serve(enum bench_setting setting, int socket) {
    struct bench_sample samples[CASES_MAX];
    char asked;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    bench_counter_setup();
    process_start_spex(&processes[setting]);
    if (setting == LARGE)
        warm_up_large();
    bench_round(setting, samples);
    while (read(socket, &asked, 1) == 1) {
        bench_round(setting, samples);
        if (write(socket, samples, sizeof(samples)) != sizeof(samples))
            break;
    }
    spex_stop();
}

static void process_start(enum bench_setting setting, size_t rounds) {
    struct process *process = &processes[setting];
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        err(1, "socketpair");
    process->pid = fork();
    if (process->pid < 0)
        err(1, "fork");
    if (process->pid == 0) {
        close(sockets[0]);
        process_serve(setting, sockets[1]);
        exit(0);
    }
    close(sockets[1]);
    process->socket = sockets[0];
    process->empty = calloc(rounds, sizeof(double));
    for (size_t c = 0; c < bench_case_count; c++) {
        process->net[c] = calloc(rounds, sizeof(double));
        process->references[c] = calloc(rounds, sizeof(double));
    }
}

static void process_end(const struct process *process) {
    int status;
    /* Processes that were started later have the socket, too, so that closing is not enough. */
    shutdown(process->socket, SHUT_RDWR);
    close(process->socket);
    if (waitpid(process->pid, &status, 0) != process->pid || status != 0)
        errx(1, "a measuring process has failed");
}

static void process_round(struct process *process, size_t round) {
    struct bench_sample samples[CASES_MAX];
    if (write(process->socket, "", 1) != 1 ||
        recv(process->socket, samples, sizeof(samples), MSG_WAITALL) != sizeof(samples))
        errx(1, "a measuring process has ended");
    process->empty[round] = samples[EMPTY].ticks;
    for (size_t c = 0; c < bench_case_count; c++) {
        process->net[c][round] = samples[c].ticks - samples[EMPTY].ticks;
        process->references[c][round] = fmax(samples[c].reference, samples[EMPTY].reference);
    }
    fastest = fmin(fastest, samples[EMPTY].reference);
}

static struct bench_calm_result result_of(enum bench_setting setting, size_t c, size_t rounds) {
    const struct process *process = &processes[setting];
    return bench_calm_median(process->net[c], process->references[c], rounds, fastest);
}

static size_t calm_rounds(const double *references, size_t rounds) {
    size_t calm = 0;
    for (size_t r = 0; r < rounds; r++)
        calm += bench_is_calm(references[r], fastest);
    return calm;
}

/* Whether each case of each setting has been timed in so many calm rounds. */
static bool are_calm(size_t enough, size_t rounds) {
    for (int s = 0; s < SETTINGS; s++)
        for (size_t c = 0; c < bench_case_count; c++)
            if (case_in_setting(c, (enum bench_setting)s) &&
                calm_rounds(processes[s].references[c], rounds) < enough)
                return false;
    return true;
}

/* A figure with a limit: (of - less) / (times × than), or the difference alone. */
struct limit {
    const char *text;
    enum bench_setting setting;
    size_t of, less, than;
    double times;
    double limit;
    bool at_least;
};

#define NO_CASE SIZE_MAX

static struct bench_calm_result figure_of(const struct limit *limit, size_t rounds) {
    const struct process *process = &processes[limit->setting];
    double *figures = malloc(rounds * sizeof(*figures));
    double *references = malloc(rounds * sizeof(*references));
    for (size_t r = 0; r < rounds; r++) {
        figures[r] = process->net[limit->of][r] - process->net[limit->less][r];
        references[r] =
            fmax(process->references[limit->of][r], process->references[limit->less][r]);
        if (limit->than == NO_CASE)
            continue;
        figures[r] /= limit->times * process->net[limit->than][r];
        references[r] = fmax(references[r], process->references[limit->than][r]);
    }
    struct bench_calm_result result = bench_calm_median(figures, references, rounds, fastest);
    free(figures);
    free(references);
    return result;
}

static bool is_busy(struct bench_calm_result result) {
    return result.busy || taken_by_others > OTHERS_MOST;
}

/* Whether a limit is kept; on a busy machine a figure beyond it tells nothing of spex. */
static const char *limit_verdict(const struct limit *limit, struct bench_calm_result result,
                                 const char *kept, const char *broken, const char *unknown) {
    if (limit->at_least ? result.median >= limit->limit : result.median <= limit->limit)
        return kept;
    return is_busy(result) ? unknown : broken;
}

static bool type_is_counted(const char *type) {
    char text[512];
    return strcmp(type, "LLC") != 0 ||
           (spex_describe(SPEX_LLC, 0, text, sizeof(text)) == 0 && !strstr(text, "not available"));
}

/* Whether the case is in the tables: CLOSED also runs cases that only limits need. */
static bool case_is_shown(int setting, size_t c) {
    const struct bench_case *one = &bench_cases[c];
    if (!case_in_setting(c, (enum bench_setting)setting) || !type_is_counted(one->type))
        return false;
    return setting != CLOSED ||
           (one->state && (strcmp(one->state, "off") == 0 || strcmp(one->state, "skipped") == 0));
}

/* A SPAN is two sites. */
static double off_limit(const char *type) {
    return strcmp(type, "SPAN") == 0 ? 1 : 0.5;
}

/* A KERNEL enters its context, and a SPAN looks its key up twice. */
static double skipped_limit(const char *type) {
    if (strcmp(type, "SPAN") == 0)
        return 25;
    return strcmp(type, "KERNEL") == 0 ? 18 : 3;
}

static size_t limits_make(struct limit *limits) {
    size_t lat = bench_case_find("LAT", "on"), tpt = bench_case_find("TPT", "on");
    size_t perfcntr = bench_case_find("PERFCNTR", "on"), llc = bench_case_find("LLC", "on");
    size_t kernel = bench_case_find("KERNEL", "on");
    size_t count = 0;
    for (size_t t = 0; t < sizeof(type_names) / sizeof(type_names[0]); t++) {
        double off = off_limit(type_names[t]), skipped = skipped_limit(type_names[t]);
        size_t is_off = bench_case_find(type_names[t], "off");
        size_t is_skipped = bench_case_find(type_names[t], "skipped");
        limits[count++] =
            (struct limit){"off, over the empty loop", BEST, is_off, EMPTY, NO_CASE, 1, off, false};
        limits[count++] = (struct limit){"off without a control socket, over the empty loop",
                                         CLOSED,
                                         is_off,
                                         EMPTY,
                                         NO_CASE,
                                         1,
                                         off,
                                         false};
        limits[count++] = (struct limit){"skipped (sc 1000), over the empty loop",
                                         BEST,
                                         is_skipped,
                                         EMPTY,
                                         NO_CASE,
                                         1,
                                         skipped,
                                         false};
    }
    const struct limit others[] = {
        {"recorded / RDTSC", BEST, bench_case_find("CNT", "on"), EMPTY, RDTSC, 1, 1.15, false},
        {"recorded / two RDTSC", BEST, lat, EMPTY, TWO_RDTSC, 1, 1.1, false},
        {"recorded / two RDTSC", BEST, tpt, EMPTY, TWO_RDTSC, 1, 1.1, false},
        {"ring above 64 MiB / two RDTSC", LARGE, lat, EMPTY, TWO_RDTSC, 1, 1.35, false},
        {"ring above 64 MiB / two RDTSC", LARGE, tpt, EMPTY, TWO_RDTSC, 1, 1.35, false},
        {"recorded / LAT", BEST, bench_case_find("FLT", "on"), EMPTY, lat, 1, 1.2, false},
        {"recorded / LAT", BEST, bench_case_find("CTXSW", "on"), EMPTY, lat, 1, 1.2, false},
        {"recorded / LAT", BEST, bench_case_find("SPAN", "on"), EMPTY, lat, 1, 3.5, false},
        {"(recorded - LAT) / two counter reads", BEST, perfcntr, lat, COUNTER_READ, 2, 1.1, false},
        {"(recorded - LAT) / two counter reads", BEST, llc, lat, COUNTER_READ, 2, 1.1, false},
        {"recorded, over LAT", BEST, kernel, lat, NO_CASE, 1, 15, false},
        {"added / two RDTSC", BEST, CHASE_ON, CHASE, TWO_RDTSC, 1, 1.1, false},
        {"2 threads / 1", BEST, LAT_TWO_THREADS, EMPTY, LAT_ONE_THREAD, 1, 1.05, false},
        {"8 threads / 1", BEST, LAT_EIGHT_THREADS, EMPTY, LAT_ONE_THREAD, 1, 1.1, false},
        {"atomic push / rseq push", BEST, PUSH_ATOMIC, EMPTY, PUSH_RSEQ, 1, 3, true},
    };
    for (size_t l = 0; l < sizeof(others) / sizeof(others[0]); l++)
        if (type_is_counted(bench_cases[others[l].of].type))
            limits[count++] = others[l];
    return count;
}

static void print_json_results(size_t rounds) {
    const char *comma = "";
    for (int s = 0; s < SETTINGS; s++)
        for (size_t c = LAT_ONE_THREAD; c < bench_case_count; c++) {
            if (!case_is_shown(s, c) || s == LARGE)
                continue;
            struct bench_calm_result result = result_of(s, c, rounds);
            printf(
                "%s\n  {\"type\": \"%s\", \"state\": \"%s\", \"threads\": %u, \"clock\": \"%s\", "
                "\"commit\": \"%s\", \"control\": \"%s\", \"cycles_per_pair\": %.3f, \"ci95\": "
                "[%.3f, %.3f]",
                comma, bench_cases[c].type, bench_cases[c].state,
                bench_cases[c].threads ? bench_cases[c].threads : 1,
                bench_cases[c].threads ? "cpu" : "wall", processes[s].commit,
                processes[s].closed ? "off" : "open", result.median, result.low, result.high);
            bench_print_calm(result);
            putchar('}');
            comma = ",";
        }
}

static void print_json(size_t rounds, const struct limit *limits, size_t count) {
    struct bench_calm_result empty = bench_calm_median(
        processes[BEST].empty, processes[BEST].references[EMPTY], rounds, fastest);
    struct bench_calm_result counter = result_of(BEST, COUNTER_READ, rounds);
    char llc[512];
    spex_describe(SPEX_LLC, 0, llc, sizeof(llc));
    printf("{\"bench\": \"overhead\", \"rounds\": %zu, \"others\": %.3f, \"rdtsc_cycles\": %.3f, "
           "\"empty_loop_cycles\": %.3f, \"counter_read_cycles\": %.3f,\n \"llc\": \"%s\",\n"
           " \"results\": [",
           rounds, taken_by_others, result_of(BEST, RDTSC, rounds).median, empty.median,
           counter.median, llc);
    print_json_results(rounds);
    printf("],\n \"limits\": [");
    for (size_t l = 0; l < count; l++) {
        struct bench_calm_result result = figure_of(&limits[l], rounds);
        printf(
            "%s\n  {\"type\": \"%s\", \"what\": \"%s\", \"figure\": %.4f, \"ci95\": [%.4f, %.4f], "
            "\"%s\": %g, \"kept\": %s",
            l ? "," : "", bench_cases[limits[l].of].type, limits[l].text, result.median, result.low,
            result.high, limits[l].at_least ? "at_least" : "at_most", limits[l].limit,
            limit_verdict(&limits[l], result, "true", "false", "null"));
        bench_print_calm(result);
        putchar('}');
    }
    puts("]}");
}

static void print_table(size_t rounds, const struct limit *limits, size_t count) {
    printf(
        "Ticks per execution beyond the empty loop's; median of the calm ones of %zu rounds, 95 %% "
        "interval. Other programs took %.0f %% of the machine.\n\n",
        rounds, 100 * taken_by_others);
    for (int s = 0; s < SETTINGS; s++)
        for (size_t c = RDTSC; c < bench_case_count; c++) {
            if (!case_is_shown(s, c))
                continue;
            struct bench_calm_result result = result_of(s, c, rounds);
            printf("%-8s %-14s %-8s",
                   s == LARGE    ? "large"
                   : s == CLOSED ? "closed"
                                 : processes[s].commit,
                   bench_cases[c].type, bench_cases[c].state ? bench_cases[c].state : "");
            if (bench_cases[c].threads)
                printf(" %u thr", bench_cases[c].threads);
            printf(" %9.2f  (%.2f to %.2f)%s\n", result.median, result.low, result.high,
                   result.busy ? ", on a busy machine" : "");
        }
    puts("");
    for (size_t l = 0; l < count; l++) {
        struct bench_calm_result result = figure_of(&limits[l], rounds);
        printf("%-14s %-40s %7.3f (%.3f to %.3f), %s %g: %s\n", bench_cases[limits[l].of].type,
               limits[l].text, result.median, result.low, result.high,
               limits[l].at_least ? "at least" : "at most", limits[l].limit,
               limit_verdict(&limits[l], result, "kept", "NOT KEPT", "not known, busy machine"));
    }
}

int main(int argc, char **argv) {
    size_t enough = 101, rounds = 0;
    bool json;
    bench_options(argc, argv, 3, 100000, &enough, &json);
    if (!spex_rseq_available())
        processes[BEST].commit = processes[LARGE].commit = processes[CLOSED].commit = "atomic";
    spex_bench_others();
    if (!mkdtemp(control_directory))
        err(1, "%s", control_directory);
    bench_cases_setup();
    for (int s = 0; s < SETTINGS; s++)
        process_start(s, ROUNDS_FOR_CALM * enough);
    for (; rounds < ROUNDS_FOR_CALM * enough && !are_calm(enough, rounds); rounds++)
        for (int s = 0; s < SETTINGS; s++)
            process_round(&processes[s], rounds);
    for (int s = 0; s < SETTINGS; s++)
        process_end(&processes[s]);
    taken_by_others = spex_bench_others();
    if (rmdir(control_directory) != 0)
        warn("%s", control_directory);
    setenv("SPEX_CONTROL", "off", 1);
    /* This process describes what LLC counts. */
    struct spex_options quiet = {.size = sizeof(quiet), .out = "/dev/null", .probes = "5"};
    spex_start(&quiet);
    struct limit limits[64];
    size_t count = limits_make(limits);
    (json ? print_json : print_table)(rounds, limits, count);
    spex_stop();
    return 0;
}
