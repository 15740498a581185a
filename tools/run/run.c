/* SPDX-License-Identifier: MIT */
/* `spex run`: starts a program with SPEX_PROBES set, and with SPEX_OUT set so that each of its
 * processes connects to the socket of this command. The exit status is that of the program, and
 * a signal that kills the program kills this process as well. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "rate/budget.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/functions_argument.h"
#include "tools/common/launch_probed.h"
#include "tools/common/options.h"
#include "tools/common/process_argument.h"
#include "tools/run/run_functions.h"
#include "tools/run/run_watch.h"
#include "wire/control_format.h"

static const char run_usage[] =
    "usage: spex run [-e PROBES] [--functions GLOBS] [-o OUT] [-b PERCENT]\n"
    "                [--thread-budget PERCENT] [-i SECONDS] [-f] [--preload]\n"
    "                [--json] [--verbose] -- PROGRAM [ARGUMENT…]\n"
    "\n"
    "Runs PROGRAM with probes switched on and prints a table of them when it has\n"
    "ended. Its input, output, signals and exit status are its own.\n"
    "\n"
    "  -e PROBES               which probes; SPEX_PROBES or all when absent: man\n"
    "                          spex_probes; or functions of a program that was built\n"
    "                          without spex, such as func:malloc: see spex attach\n"
    "                          --help\n"
    "  --functions GLOBS       makes kernels of these functions, in a program that\n"
    "                          was compiled with -finstrument-functions\n"
    "  -b, --budget PERCENT    how much of its time probes may take, such as 2%;\n"
    "                          SPEX_BUDGET, or as much as they do, when absent\n"
    "  --thread-budget PERCENT how much of any 10 ms a thread may lose to its records\n"
    "  -o OUT                  where tables go: a file, or - for standard output;\n"
    "                          standard error when absent\n"
    "  -i, --interval SECONDS  every so often a table of what has happened since the\n"
    "                          last\n"
    "  -f, --follow-forks      also children of forks that do not start spex\n"
    "                          themselves\n"
    "  --preload               brings spex to a program without it whose libraries\n"
    "                          have probes, such as Python with extension modules\n"
    "  --json                  JSON instead of tables\n"
    "  --verbose               all notes below tables\n";

static const struct spex_syntax run_syntax = {"run", run_usage, "a program was expected",
                                              1,     INT_MAX,   SPEX_OPTIONS_FIRST};

struct request {
    const char *probes;
    const char *out;
    /* NULL: the environment's, if it has one. */
    const char *budget, *thread_budget, *globs;
    /* As numbers. */
    double share;
    /* Seconds; 0: no tables before the program's end. */
    double interval;
    bool follow, preload;
    bool json, verbose;
    char *const *argv;
};

/* Checks the budgets, but gives them to the program as text: the program reads them itself. */
static int run_parse(int argc, char **argv, struct request *request) {
    double share;
    const struct spex_option known[] = {
        {"budget", 'b', .text = &request->budget, .number = &request->share,
         .read = spex_budget_parse, .error = SPEX_BUDGET_EXPECTED},
        {"thread-budget", .text = &request->thread_budget, .number = &share,
         .read = spex_budget_parse, .error = SPEX_THREAD_BUDGET_EXPECTED},
        {.letter = 'e', .text = &request->probes},
        {"functions", .text = &request->globs, .check = spex_functions_argument},
        {.letter = 'o', .text = &request->out},
        {"interval", 'i', .number = &request->interval,
         .range = {SPEX_CONTROL_INTERVAL_MIN_MS / 1e3, SPEX_CONTROL_INTERVAL_MAX_MS / 1e3},
         .error = "0.05 to 86400 seconds were expected"},
        {"follow-forks", 'f', .flag = &request->follow},
        {"preload", .flag = &request->preload},
        {"json", .flag = &request->json},
        {"verbose", .flag = &request->verbose},
        {.name = NULL},
    };
    struct spex_operands operands;
    int status = spex_options_take(&run_syntax, known, argc, argv, &operands);
    request->argv = operands.list;
    return status;
}

/* Opens the output first, so that a bad path is reported before the program starts. An exit
 * status. */
static int watch_open(struct spex_run_watch *watch, const struct request *request) {
    watch->output.json = request->json;
    watch->output.verbose = request->verbose;
    watch->output.intervals = request->interval > 0;
    int err = spex_run_output_open(&watch->output, request->out);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "run: cannot open %s: %s", request->out,
                             strerror(-err));
    int status = spex_launch_listen(&watch->listener, "run");
    if (status)
        return status;
    err = spex_passed_signals_open(&watch->signals);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "run: cannot wait for signals: %s", strerror(-err));
    return 0;
}

static struct spex_launch_probed launch_of(const struct request *request) {
    return (struct spex_launch_probed){.command = "run",
                                       .prefix = "metrics",
                                       .probes = request->probes,
                                       .budget = request->budget,
                                       .thread_budget = request->thread_budget,
                                       .follow = request->follow,
                                       .preload = request->preload,
                                       .argv = request->argv};
}

static int launch_program(struct spex_run_watch *watch, const struct request *request) {
    const struct spex_launch_probed how = launch_of(request);
    watch->interval_ms = (uint32_t)lround(request->interval * 1e3);
    watch->start_ns = spex_clock_ns(CLOCK_MONOTONIC);
    watch->begin = spex_instant_now();
    return spex_launch_probed(&watch->program, &how, &watch->listener, &watch->signals.before);
}

/* Says what is known when there is nothing to show. */
static void complain_of_silence(const struct spex_listener *listener,
                                const struct request *request) {
    const struct spex_launch_probed how = launch_of(request);
    if (listener->count)
        spex_complain(0, "%zu process%s of %s connected, and none has sent a report",
                      listener->count, listener->count > 1 ? "es" : "", request->argv[0]);
    else
        spex_launch_complain_of_silence(&how);
}

/* Whether no process has sent even the beginning of a report. */
static bool no_process_reported(const struct spex_listener *listener) {
    for (size_t c = 0; c < listener->count; c++)
        if (!spex_caller_silent(listener->callers[c]))
            return false;
    return true;
}

/* Prints the final figures. A failure to write counts only when the program itself has
 * succeeded. */
static int run_finish(struct spex_run_watch *watch, const struct request *request) {
    const struct spex_launched *program = &watch->program;
    double seconds = (double)(spex_clock_ns(CLOCK_MONOTONIC) - watch->start_ns) / 1e9;
    spex_run_watch_settle(watch);
    spex_run_output_final(&watch->output, request->argv, program, &watch->listener, seconds);
    if (no_process_reported(&watch->listener))
        complain_of_silence(&watch->listener, request);
    int err = spex_run_output_close(&watch->output);
    if (err)
        spex_complain(0, "run: cannot write to %s: %s", watch->output.to.name, strerror(-err));
    if (program->untold)
        spex_complain(0, "run: the end of the program cannot be told: %s",
                      strerror(-program->untold));
    if (program->by_signal)
        return 128 + program->by_signal;
    return err && program->status == 0 ? SPEX_EXIT_FAILED : program->status;
}

/* Functions of any program; what goes with probes of spex does not go with these. An exit status. */
static int run_functions(const struct request *request) {
    struct spex_run_functions run = {.functions = request->probes,
                                     .out = request->out,
                                     .budget = request->share,
                                     .json = request->json,
                                     .verbose = request->verbose,
                                     .argv = request->argv};
    if (request->thread_budget || request->interval > 0 || request->follow || request->preload ||
        request->globs)
        return spex_complain(SPEX_EXIT_USAGE,
                             "run: with functions (func:…, usdt:…) -b, -o, --json and --verbose "
                             "alone were expected; spex top shows them at intervals");
    int status = spex_run_functions(&run);
    if (run.by_signal)
        spex_launched_die_of(run.by_signal);
    return status;
}

/* After the listener is closed, so that its socket file is removed: the signal ends this
 * process. */
int spex_command_run(int argc, char **argv) {
    static struct spex_run_watch watch = {
        .listener = {.listening.socket.number = -1, .handover = {{.number = -1}, .own = -1}}};
    struct request request = {.probes = NULL};
    int status = run_parse(argc, argv, &request);
    if (!status && request.probes && spex_names_functions(request.probes))
        return run_functions(&request);
    status = status ? status : spex_probes_chosen("run", &request.probes);
    if (status)
        return status;
    status = watch_open(&watch, &request);
    status = status ? status : launch_program(&watch, &request);
    if (!status) {
        spex_run_watch(&watch);
        status = run_finish(&watch, &request);
    }
    spex_listener_close(&watch.listener);
    if (watch.program.by_signal)
        spex_launched_die_of(watch.program.by_signal);
    return status;
}
