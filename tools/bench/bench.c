/* SPDX-License-Identifier: MIT */
/* `spex bench`: runs programs of benchmarks, two of them in turns, or one against what it has
 * measured before. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/files/whole_file.h"
#include "base/random.h"
#include "harness/machine.h"
#include "tools/bench/bench_output.h"
#include "tools/bench/bench_verdict.h"
#include "tools/bench/program.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/json.h"
#include "tools/common/options.h"
#include "tools/common/progress.h"

static const char bench_usage[] =
    "usage: spex bench PROGRAM [OPTION…] [-- PROGRAM'S OPTION…]\n"
    "       spex bench A B [OPTION…] [-- PROGRAMS' OPTION…]\n"
    "\n"
    "Runs a program of benchmarks (spex/bench.h, or Google Benchmark) again and\n"
    "again, each time in a new process; or two programs in turns, in random order,\n"
    "and tells which benchmarks differ. Options of the programs are as\n"
    "--benchmark_filter=REGEX.\n"
    "\n"
    "  --rounds N         how often each program runs (40)\n"
    "  --min-time S       seconds for each benchmark in a run (0.05)\n"
    "  --allow PERCENT    exit with 3 if a benchmark is worse by more, surely (0%)\n"
    "  --figure NAME      what is compared: real_time, cpu_time, or another member\n"
    "                     (real_time)\n"
    "  --save FILE        keeps what one program has measured\n"
    "  --baseline FILE    compares one program with what was kept, as A\n"
    "  --seed N           of the random order\n"
    "  --json             prints JSON\n";

static const struct spex_syntax bench_syntax = {
    "bench", bench_usage, "one or two programs were expected", 1, 2, SPEX_OPTIONS_PROGRAM};

/* From this share of the CPUs on other programs disturb. */
#define OTHERS_MOST 0.1

enum { DOUBTS_MAX = 16 };

struct request {
    const char *programs[2];
    unsigned program_count;
    char *const *options;
    unsigned long rounds, seed;
    double min_seconds, allowed;
    const char *figure, *save, *baseline;
    bool json;
};

/* What a run of the command makes. */
struct session {
    const struct request *request;
    struct spex_bench_results results;
    /* Rows of repetitions for --save. */
    json_t *kept;
    char *doubts[DOUBTS_MAX];
    size_t doubt_count;
    struct spex_bench_verdict *verdicts;
    size_t verdict_count;
    double others;
    uint64_t begin_ns;
};

/* "2%" or "2"; 0 to 1000. */
static bool read_percent(const char *text, double *share) {
    char *end;
    if (text[strspn(text, "0123456789.%")] != '\0')
        return false;
    *share = strtod(text, &end) / 100;
    return end != text && (*end == '\0' || strcmp(end, "%") == 0) && *share <= 10;
}

static int bench_parse(int argc, char **argv, struct request *request) {
    const struct spex_option known[] = {{"rounds", .count = &request->rounds, .range = {1, 100000},
                                         .error = "1 to 100000 rounds were expected"},
                                        {"min-time", .number = &request->min_seconds,
                                         .range = {1e-4, 3600},
                                         .error = "0.0001 to 3600 seconds were expected"},
                                        {"allow", .number = &request->allowed, .read = read_percent,
                                         .error = "a percentage of 0 to 1000 was expected"},
                                        {"figure", .text = &request->figure},
                                        {"save", .text = &request->save},
                                        {"baseline", .text = &request->baseline},
                                        {"seed", .count = &request->seed, .range = {0, 1e15},
                                         .error = "a number of 0 to 1e15 was expected"},
                                        {"json", .flag = &request->json},
                                        {.name = NULL}};
    struct spex_operands operands;
    int status = spex_options_take(&bench_syntax, known, argc, argv, &operands);
    if (status)
        return status;
    request->program_count = (unsigned)operands.count;
    for (int p = 0; p < operands.count; p++)
        request->programs[p] = operands.list[p];
    request->options = operands.program;
    if (operands.count == 2 && (request->save || request->baseline))
        return spex_complain(SPEX_EXIT_USAGE, "bench: --save and --baseline are of one program");
    return SPEX_EXIT_OK;
}

/* Without memory a doubt is not told. */
static void doubt_add(struct session *session, const char *text) {
    char *copy = strdup(text);
    if (copy && session->doubt_count < DOUBTS_MAX)
        session->doubts[session->doubt_count++] = copy;
    else
        free(copy);
}

static void doubt_machine(struct session *session) {
    struct spex_bench_machine machine;
    char text[160];
    const char *doubt;
    spex_bench_machine_find(&machine);
    for (size_t i = 0; (doubt = spex_bench_machine_doubt(&machine, i, text, sizeof(text))); i++)
        doubt_add(session, doubt);
}

static const char *context_text(const json_t *context, const char *name) {
    const char *text = json_string_value(json_object_get(context, name));
    return text ? text : "";
}

/* What the programs tell about themselves. */
static void doubt_programs(struct session *session) {
    static const char *const same[] = {"host_name", "num_cpus"};
    const struct request *request = session->request;
    json_t *const *contexts = session->results.contexts;
    char text[512];
    for (unsigned p = 0; p < request->program_count; p++) {
        unsigned side = request->baseline ? 1 : p;
        if (strcmp(context_text(contexts[side], "library_build_type"), "debug") == 0) {
            snprintf(text, sizeof(text), "%s says that it is a debug build", request->programs[p]);
            doubt_add(session, text);
        }
    }
    for (size_t s = 0; s < sizeof(same) / sizeof(same[0]) && request->baseline; s++)
        if (!json_equal(json_object_get(contexts[0], same[s]),
                        json_object_get(contexts[1], same[s])))
            doubt_add(session, s ? "the baseline was measured with another number of CPUs"
                                 : "the baseline was measured on another machine");
}

static void doubt_rounds(struct session *session) {
    const struct request *request = session->request;
    char text[160];
    size_t values = request->rounds;
    if (session->others > OTHERS_MOST) {
        snprintf(text, sizeof(text), "other programs took %.0f %% of the CPUs meanwhile",
                 100 * session->others);
        doubt_add(session, text);
    }
    if (session->verdict_count &&
        spex_bench_least_chance(values, session->verdict_count, !request->baseline) >=
            SPEX_BENCH_CHANCE_MOST)
        doubt_add(session, "too few rounds to tell any difference: --rounds");
}

/* Adds the rows of a run to what is kept. 0 or -ENOMEM. */
static int keep_rows(struct session *session, const json_t *output, unsigned long round) {
    size_t index;
    json_t *row;
    int err = 0;
    if (!session->request->save)
        return 0;
    if (!session->kept && !(session->kept = json_array()))
        return -ENOMEM;
    json_array_foreach(json_object_get(output, "benchmarks"), index, row) {
        const char *type = json_string_value(json_object_get(row, "run_type"));
        if (!type || strcmp(type, "iteration") != 0)
            continue;
        err |= json_object_set_new(row, "repetition_index", json_integer((json_int_t)round));
        err |= json_object_set_new(row, "repetitions",
                                   json_integer((json_int_t)session->request->rounds));
        err |= json_array_append(session->kept, row);
    }
    return err ? -ENOMEM : 0;
}

/* Runs one program once. An exit status. */
static int run_once(struct session *session, unsigned which, unsigned long round) {
    const struct request *request = session->request;
    const struct spex_bench_program program = {request->programs[which], request->options,
                                               request->min_seconds, round == 0};
    struct spex_error error;
    json_t *output = NULL;
    int err = spex_bench_program_run(&program, &output, &error);
    if (!err) {
        err = spex_bench_results_add(&session->results, request->baseline ? 1 : which, output,
                                     request->figure, false, program.path, &error);
        if (!err && keep_rows(session, output, round))
            err = spex_fail(&error, -ENOMEM, "out of memory");
        json_decref(output);
    }
    return err == -EINTR ? SPEX_EXIT_INTERRUPTED
           : err         ? spex_complain(SPEX_EXIT_FAILED, "%s", error.text)
                         : SPEX_EXIT_OK;
}

/* Runs all rounds. An exit status. */
static int run_rounds(struct session *session) {
    const struct request *request = session->request;
    struct spex_progress_bar bar;
    struct spex_random random;
    int status = SPEX_EXIT_OK;
    spex_random_seed(&random, request->seed, 0);
    spex_progress_bar_init(&bar, stderr);
    spex_bench_others();
    for (unsigned long round = 0; round < request->rounds && !status; round++) {
        unsigned first = request->program_count == 2 && spex_random_next(&random) >> 63;
        spex_progress_bar_part(&bar, round, request->rounds);
        for (unsigned p = 0; p < request->program_count && !status; p++)
            status = run_once(session, p ^ first, round);
    }
    spex_progress_bar_end(&bar);
    session->others = spex_bench_others();
    return status;
}

static int baseline_read(struct session *session) {
    const struct request *request = session->request;
    struct spex_error error;
    char *text = NULL;
    size_t length;
    int err = spex_whole_file_read(request->baseline, SPEX_FILE_ANY, SPEX_BENCH_OUTPUT_MAX, &text,
                                   &length, &error);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "%s", error.text);
    json_t *output = spex_bench_output_read(text, length, request->baseline, &error);
    err = output ? spex_bench_results_add(&session->results, 0, output, request->figure, true,
                                          request->baseline, &error)
                 : -EBADMSG;
    json_decref(output);
    free(text);
    return err ? spex_complain(SPEX_EXIT_FAILED, "%s", error.text) : SPEX_EXIT_OK;
}

/* Writes the first run's context and the rows of all runs, as a program of benchmarks does. */
static int save(struct session *session) {
    const struct request *request = session->request;
    json_t *context = session->results.contexts[request->baseline ? 1 : 0];
    struct spex_error error;
    json_t *all = json_pack("{s:O?, s:O}", "context", context, "benchmarks", session->kept);
    char *text = all ? json_dumps(all, JSON_INDENT(1)) : NULL;
    int err = text ? spex_whole_file_write(request->save, text, strlen(text), &error)
                   : spex_fail(&error, -ENOMEM, "out of memory");
    free(text);
    json_decref(all);
    return err ? spex_complain(SPEX_EXIT_FAILED, "%s", error.text) : SPEX_EXIT_OK;
}

/* Judges two sides. An exit status. */
static int judge(struct session *session) {
    const struct request *request = session->request;
    static const char rate[] = "_per_second";
    size_t length = strlen(request->figure), end = sizeof(rate) - 1;
    const struct spex_bench_criterion criterion = {
        .paired = !request->baseline,
        .greater = length > end && strcmp(request->figure + length - end, rate) == 0,
        .allowed = request->allowed};
    if (spex_bench_judge(&session->results, &criterion, &session->verdicts,
                         &session->verdict_count) != 0)
        return spex_complain(SPEX_EXIT_FAILED, "out of memory");
    return SPEX_EXIT_OK;
}

/* Prints; SPEX_EXIT_FOUND if a benchmark is worse. */
static int tell(const struct session *session, bool two) {
    const struct request *request = session->request;
    const struct spex_bench_findings findings = {
        .results = &session->results,
        .verdicts = session->verdicts,
        .verdict_count = session->verdict_count,
        .sides = two ? 2 : 1,
        .names = {request->baseline ? request->baseline : request->programs[0],
                  request->baseline ? request->programs[0] : request->programs[1]},
        .figure = request->figure,
        .allowed = request->allowed,
        .rounds = request->rounds,
        .seed = request->seed,
        .others = session->others,
        .doubts = (char **)(uintptr_t)session->doubts,
        .doubt_count = session->doubt_count};
    for (size_t d = 0; d < session->doubt_count; d++)
        spex_complain(SPEX_EXIT_OK, "warning: %s", session->doubts[d]);
    if (!request->json)
        spex_bench_findings_print(&findings, stdout);
    else if (spex_json_print(spex_bench_findings_json(&findings), stdout) != 0)
        return spex_complain(SPEX_EXIT_FAILED, "out of memory");
    int err = spex_written(stdout);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "the figures cannot be written: %s", strerror(-err));
    spex_bench_tell_verdict(&findings,
                            (double)(spex_clock_ns(CLOCK_MONOTONIC) - session->begin_ns) / 1e9,
                            request->save);
    for (size_t v = 0; v < session->verdict_count; v++)
        if (session->verdicts[v].worse)
            return SPEX_EXIT_FOUND;
    return SPEX_EXIT_OK;
}

static int bench(struct session *session) {
    const struct request *request = session->request;
    bool two = request->baseline || request->program_count == 2;
    doubt_machine(session);
    int status = request->baseline ? baseline_read(session) : SPEX_EXIT_OK;
    status = status ? status : run_rounds(session);
    if (!status && request->save)
        status = save(session);
    if (!status && two)
        status = judge(session);
    if (status)
        return status;
    doubt_programs(session);
    doubt_rounds(session);
    return tell(session, two);
}

int spex_command_bench(int argc, char **argv) {
    struct request request = {.rounds = 40,
                              .seed = spex_clock_ns(CLOCK_REALTIME) % 1000000,
                              .min_seconds = 0.05,
                              .figure = "real_time"};
    int status = bench_parse(argc, argv, &request);
    if (status)
        return status;
    struct session session = {.request = &request, .begin_ns = spex_clock_ns(CLOCK_MONOTONIC)};
    status = bench(&session);
    spex_bench_results_free(&session.results);
    json_decref(session.kept);
    free(session.verdicts);
    for (size_t d = 0; d < session.doubt_count; d++)
        free(session.doubts[d]);
    return status;
}
