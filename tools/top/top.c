/* SPDX-License-Identifier: MIT */
/* `spex top`: shows the reports of a program on the terminal, or with -b prints a table for
 * each interval. */
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/process_place.h"
#include "observe/workers.h"
#include "profile/table.h"
#include "rate/budget.h"
#include "text/waits.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/options.h"
#include "tools/common/process_argument.h"
#include "tools/top/top_feed.h"
#include "tools/top/top_functions.h"
#include "tools/top/top_live.h"
#include "tools/top/top_sum.h"
#include "tools/top/top_view.h"

static const char top_usage[] =
    "usage: spex top [PID|NAME] [-d SECONDS] [-b] [-t] [-n COUNT] [--verbose]\n"
    "       spex top PID|NAME -e FUNCTIONS [--budget PERCENT] [-d SECONDS] [-b] [-t]\n"
    "                [-n COUNT]\n"
    "\n"
    "Shows the probes of the running program PID, or of the one called NAME, with\n"
    "what they have measured in the last interval, and switches them: the key h tells\n"
    "how. A PID without spex stands for the processes that it has started. Several\n"
    "are summed, with -b alone. Without PID and NAME it takes the only program that\n"
    "runs, or lists those that do.\n"
    "\n"
    "  -d SECONDS  from one refresh to the next, 0.05 to 3600; the default is 1\n"
    "  -b          prints tables one after the other, without a terminal, until the\n"
    "              program ends\n"
    "  -t          figures since the program has started spex, not those of an\n"
    "              interval\n"
    "  -n COUNT    ends after so many refreshes\n"
    "  --verbose   with -b, all notes below tables\n"
    "  -e FUNCTIONS  functions of a program that was built without spex, such as\n"
    "                func:malloc; see spex attach --help\n"
    "  --budget PERCENT  with -e: how much of the program's CPU time it may take; 2%\n"
    "                    when absent\n";

static const struct spex_syntax top_syntax = {"top", top_usage, "one program at most was expected",
                                              0,     1,         SPEX_OPTIONS_ANYWHERE};

struct request {
    /* Seconds. */
    double interval;
    bool batch;
    /* Figures are totals, since the program has started spex. */
    bool totals;
    bool verbose;
    /* 0: no limit. */
    unsigned long count;
    /* The processes that run now, of which there is one at least, the first: `process`. */
    struct spex_workers_of of;
    long processes;
    pid_t process;
    /* NULL: its probes. */
    const char *functions;
    double budget;
};

/* Says which programs there are to choose from. */
static int complain_of_choice(const pid_t *processes, long count) {
    for (long p = 0; p < count; p++) {
        struct spex_process_place place;
        if (spex_process_place(processes[p], &place) != 0)
            continue;
        fprintf(stderr, "%7d  %s\n", (int)processes[p], place.command);
        spex_process_place_free(&place);
    }
    return spex_complain(SPEX_EXIT_USAGE, "top: %ld programs are running; one of them was expected",
                         count);
}

/* Sets the only program that runs. An exit status. */
static int find_only(struct request *request) {
    pid_t *found = NULL;
    long count = spex_processes_list(&found);
    int status = SPEX_EXIT_OK;
    request->processes = count;
    if (count < 0)
        status = spex_complain_of_looking(count);
    else if (count == 0)
        status = spex_complain_of_no_program(NULL);
    else if (count > 1)
        status = complain_of_choice(found, count);
    else
        request->process = request->of.process = *found;
    free(found);
    return status;
}

/* Sets the processes that the operand stands for: a number without any stands for itself, and the
 * failure to connect says why it cannot be. An exit status. */
static int find_processes(const char *whom, struct request *request) {
    pid_t *found = NULL;
    int status = SPEX_EXIT_OK;
    if (spex_is_number(whom))
        status = spex_process_argument("top", whom, &request->of.process);
    else
        request->of.name = whom;
    if (status)
        return status;
    request->processes = spex_workers_find(&request->of, NULL, 0, &found);
    request->process = request->processes > 0 ? *found : request->of.process;
    free(found);
    if (request->processes < 0)
        return spex_complain_of_looking(request->processes);
    return request->process ? SPEX_EXIT_OK : spex_complain_of_no_program(whom);
}

/* An exit status. */
static int top_parse(int argc, char **argv, struct request *request) {
    const struct spex_option known[] = {
        {.letter = 'd',
         .number = &request->interval,
         .read = spex_top_delay,
         .error = "0.05 to 3600 seconds were expected"},
        {.letter = 'b', .flag = &request->batch},
        {.letter = 't', .flag = &request->totals},
        {"verbose", .flag = &request->verbose},
        {.letter = 'e', .text = &request->functions},
        {"budget", .number = &request->budget, .read = spex_budget_parse,
         .error = SPEX_BUDGET_EXPECTED},
        {.letter = 'n',
         .count = &request->count,
         .range = {1, 1e18},
         .error = "a number above 0 was expected"},
        {.name = NULL},
    };
    struct spex_operands operands;
    int status = spex_options_take(&top_syntax, known, argc, argv, &operands);
    if (!status && !request->batch && spex_top_live_lacks)
        return spex_complain(SPEX_EXIT_FAILED,
                             "top: this spex was built without %s; -b prints tables",
                             spex_top_live_lacks);
    if (status)
        return status;
    if (request->budget > 0 && !request->functions)
        return spex_complain(SPEX_EXIT_USAGE, "top: --budget goes with -e");
    if (request->functions && !operands.count)
        return spex_complain(SPEX_EXIT_USAGE, "top: with -e a process was expected");
    if (request->functions)
        return spex_called_process("top", operands.list[0], &request->process);
    return operands.count ? find_processes(operands.list[0], request) : find_only(request);
}

static int print_figures(const struct spex_top_feed *feed, const struct spex_profile *figures,
                         bool verbose) {
    char process[32];
    snprintf(process, sizeof(process), "%d", (int)feed->process);
    return spex_top_print(feed->now.process.command, process, figures, verbose);
}

/* Prints tables until the program ends, is lost, or `count` tables are printed (0: no limit).
 * The first report begins the first interval; of totals it is the first table. */
static int print_tables(struct spex_top_feed *feed, const struct request *request) {
    struct pollfd fds[SPEX_TOP_FEED_FDS];
    unsigned long printed = 0;
    bool silent = false;
    while (feed->state == SPEX_TOP_FOLLOWS || feed->state == SPEX_TOP_SEARCHES) {
        spex_wait_ready(fds, SPEX_TOP_FEED_FDS, spex_top_feed_wait(feed, fds));
        while (spex_top_feed_take(feed)) {
            if (!feed->has_difference && !request->totals)
                continue;
            int err = print_figures(feed, request->totals ? &feed->now : &feed->difference,
                                    request->verbose);
            if (err)
                return spex_complain(SPEX_EXIT_FAILED, "the table cannot be written: %s",
                                     strerror(-err));
            if (++printed == request->count)
                return SPEX_EXIT_OK;
        }
        if (feed->silent && !feed->has_now)
            return spex_complain(SPEX_EXIT_FAILED, "process %d does not answer",
                                 (int)feed->process);
        if (feed->silent && !silent)
            spex_complain(0, "process %d does not answer", (int)feed->process);
        silent = feed->silent;
    }
    if (feed->state == SPEX_TOP_LEFT)
        return spex_complain(feed->final ? SPEX_EXIT_OK : SPEX_EXIT_FAILED, "%s", feed->error.text);
    return SPEX_EXIT_OK;
}

static int show(struct spex_top_feed *feed, const struct request *request) {
    return request->batch ? print_tables(feed, request)
                          : spex_top_live(feed, request->count, request->totals);
}

/* Functions are counted by this command, and shown in the same way. */
static int show_functions(const struct request *request) {
    const struct spex_function_watch_request asked = {
        .command = "top",
        .process = request->process,
        .functions = request->functions,
        .budget = request->budget > 0 ? request->budget : SPEX_FUNCTIONS_BUDGET,
        .seconds = SPEX_FUNCTIONS_SECONDS,
        .stop_fd = -1,
        .quiet = !request->batch};
    struct spex_function_watch watch;
    struct spex_top_feed feed;
    int status = spex_function_watch_open(&watch, &asked);
    if (!status) {
        spex_top_functions_open(&feed, &watch, (uint32_t)lround(request->interval * 1000));
        status = show(&feed, request);
        spex_top_feed_close(&feed);
    }
    spex_function_watch_close(&watch);
    return status;
}

/* Widths of characters and the conversion to wide characters depend on the locale. */
int spex_command_top(int argc, char **argv) {
    struct request request = {.interval = 1};
    struct spex_top_feed feed;
    int status = top_parse(argc, argv, &request);
    if (status)
        return status;
    /* What is named by a name or a parent may have more processes later. */
    bool several =
        request.processes > 0 && (request.of.name || request.process != request.of.process);
    if (several && request.batch)
        return spex_top_sum(&(struct spex_top_summed){.of = request.of,
                                                      .interval = request.interval,
                                                      .totals = request.totals,
                                                      .verbose = request.verbose,
                                                      .count = request.count});
    if (request.processes > 1)
        return spex_complain(SPEX_EXIT_USAGE,
                             "top: %ld processes are summed with -b alone; one of "
                             "them was expected without it",
                             request.processes);
    if (!request.batch && (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)))
        return spex_complain(SPEX_EXIT_USAGE, "top: standard input and output are no terminal; -b "
                                              "prints tables without one");
    setlocale(LC_CTYPE, "");
    if (request.functions)
        return show_functions(&request);
    if (spex_top_feed_open(&feed, request.process, (uint32_t)lround(request.interval * 1000)) != 0)
        status = spex_complain(SPEX_EXIT_FAILED, "%s", feed.error.text);
    else
        status = show(&feed, &request);
    spex_top_feed_close(&feed);
    return status;
}
