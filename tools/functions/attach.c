/* SPDX-License-Identifier: MIT */
/* `spex attach`: counts and times functions of a running program that needs nothing of spex. Breakpoints
 * of the kernel do it, which end with this process, however it ends. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/attachment.h"
#include "base/deadline.h"
#include "profile/table.h"
#include "rate/budget.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/duration.h"
#include "tools/common/json.h"
#include "tools/common/options.h"
#include "tools/common/output_file.h"
#include "tools/common/process_argument.h"
#include "tools/common/profile_json.h"
#include "tools/common/stop_signals.h"
#include "tools/functions/function_search.h"

static const char attach_usage[] =
    "usage: spex attach PID|NAME -e FUNCTIONS [--for TIME] [-b PERCENT] [-o OUT]\n"
    "                   [--json] [--verbose]\n"
    "\n"
    "Counts and times functions of a running program that was built without spex, counts its\n"
    "USDT probes, and prints a table in the end. Nothing is put into the program: the kernel has\n"
    "breakpoints there, until this command ends. Needs root, or the capabilities BPF, PERFMON and\n"
    "SYS_PTRACE.\n"
    "\n"
    "  -e FUNCTIONS          which ones, separated by commas:\n"
    "                          func:NAME            in the program or any library\n"
    "                          func:OBJECT:NAME     in this one, such as libc.so.6\n"
    "                          func:OBJECT+0xADDRESS  by an address, as nm and objdump print it\n"
    "                          usdt:PROVIDER:NAME   a USDT probe, at all its sites\n"
    "                        NAME, PROVIDER and OBJECT may have * ? and […]. Behind a function "
    ":cnt,\n"
    "                        executions, as without, or :lat, times, too\n"
    "  --for TIME            for so long, such as 60s; until Ctrl-C, or the program ends, when\n"
    "                        absent\n"
    "  -b, --budget PERCENT  how much of the program's CPU time it may take; 2% when absent. What\n"
    "                        does not fit is on in slices of the time. 100%: all is on all the\n"
    "                        time\n"
    "  -o OUT                where the table goes: a file, or - for standard output, as when\n"
    "                        absent\n"
    "  --json                JSON instead of the table\n"
    "  --verbose             more notes below the table\n"
    "\n"
    "  spex attach redis-server -e 'func:malloc,func:*Command:lat' --for 10s\n"
    "\n"
    "`spex probes` can list the functions of a process, with what a hit of each costs.\n";

static const struct spex_syntax attach_syntax = {
    "attach", attach_usage, "a process was expected", 1, 1, SPEX_OPTIONS_ANYWHERE};

/* The budget, where none is said. */
static const double default_budget = 0.02;

struct request {
    const char *functions, *out;
    double seconds, budget;
    bool json, verbose;
    pid_t process;
};

struct watching {
    struct spex_program program;
    struct spex_function_choices choices;
    struct spex_attachment *attachment;
    struct spex_wanted_search wanted;
    struct spex_function_search search;
    struct spex_output_file output;
    int signals;
};

static int attach_parse(int argc, char **argv, struct request *request) {
    const struct spex_option known[] = {
        {.letter = 'e', .text = &request->functions},
        {"for", .number = &request->seconds, .read = spex_duration_read,
         .error = SPEX_DURATION_EXPECTED},
        {"budget", 'b', .number = &request->budget, .read = spex_budget_parse,
         .error = "a percentage of the program's CPU time was expected, such as 2%"},
        {.letter = 'o', .text = &request->out},
        {"json", .flag = &request->json},
        {"verbose", .flag = &request->verbose},
        {.name = NULL},
    };
    struct spex_operands operands;
    int status = spex_options_take(&attach_syntax, known, argc, argv, &operands);
    if (status)
        return status;
    if (!request->functions)
        return spex_complain(SPEX_EXIT_USAGE, "attach: functions were expected, such as -e "
                                              "func:malloc; see spex attach --help");
    return spex_called_process("attach", operands.list[0], &request->process);
}

static void say(const char *line) {
    spex_complain(0, "%s", line);
}

/* Whether any function can be looked at. */
static bool any_to_look_at(const struct spex_process_functions *functions) {
    for (size_t f = 0; f < functions->count; f++)
        if (!*functions->items[f].refused)
            return true;
    return false;
}

static void say_refused(const struct spex_process_functions *functions) {
    for (size_t f = 0; f < functions->count; f++)
        if (*functions->items[f].refused)
            spex_complain(0, "%s of %s: %s", functions->items[f].name, functions->items[f].object,
                          functions->items[f].refused);
    if (functions->left_out)
        spex_complain(0, "%zu more functions are left out: %d at most are looked at",
                      functions->left_out, SPEX_FUNCTIONS_MAX);
}

static int start(struct watching *watching, const struct request *request) {
    struct spex_error error;
    if (spex_function_choices_add(&watching->choices, request->functions, &error) != 0)
        return spex_complain(SPEX_EXIT_USAGE, "attach: -e: %s", error.text);
    watching->search = spex_wanted_search_of(&watching->wanted, &watching->choices);
    const struct spex_attachment_options options = {.kind = &spex_uprobes,
                                                    .budget = request->budget,
                                                    .seconds = request->seconds,
                                                    .search = &watching->search,
                                                    .say = say};
    if (spex_program_open(request->process, &watching->program, &error) != 0 ||
        spex_attachment_open(&watching->attachment, &options, &watching->program,
                             &watching->choices, &error) != 0)
        return spex_complain(SPEX_EXIT_FAILED, "attach: %s", error.text);
    const struct spex_process_functions *functions =
        spex_attachment_functions(watching->attachment);
    say_refused(functions);
    if (spex_wanted_search_complain(&watching->wanted, functions) || !any_to_look_at(functions))
        return SPEX_EXIT_FAILED;
    return SPEX_EXIT_OK;
}

/* Waits until a signal comes, the program has ended, or the next thing is due. Whether that is all. */
static bool wait_for(const struct watching *watching, int ms) {
    struct pollfd ends[] = {{.fd = watching->signals, .events = POLLIN},
                            {.fd = watching->program.pidfd, .events = POLLIN}};
    return poll(ends, 2, ms) > 0;
}

/* "3 functions" */
static void add_number(char *text, size_t size, size_t count, const char *what) {
    size_t length = strlen(text);
    if (count)
        snprintf(text + length, size - length, "%s%zu %s%s", length ? " and " : "", count, what,
                 count == 1 ? "" : "s");
}

static void say_settled(const struct watching *watching) {
    const struct spex_process_functions *all = spex_attachment_functions(watching->attachment);
    size_t functions = 0, probes = 0;
    char text[96] = "";
    for (size_t f = 0; f < all->count; f++) {
        bool on = *all->items[f].refused == '\0', probe = all->items[f].site_count > 0;
        functions += on && !probe;
        probes += on && probe;
    }
    add_number(text, sizeof(text), functions, "function");
    add_number(text, sizeof(text), probes, "probe");
    spex_complain(0, "looking at %s of %s (%d)", *text ? text : "no function",
                  watching->program.command, (int)watching->program.process);
}

/* Why it is over. */
static void watch(struct watching *watching, double seconds) {
    struct spex_deadline end = spex_deadline_in(seconds);
    bool settled = false, over = false;
    while (!over && spex_deadline_left_ms(end) > 0) {
        int ms = spex_attachment_pass(watching->attachment);
        int left = spex_deadline_left_ms(end);
        if (!settled && spex_attachment_is_settled(watching->attachment))
            say_settled(watching);
        settled |= spex_attachment_is_settled(watching->attachment);
        over = wait_for(watching, ms < left ? ms : left) ||
               spex_program_state(&watching->program) != SPEX_PROGRAM_RUNS;
    }
}

static const char *state_text(const struct spex_program *program) {
    static const char *const texts[] = {"running", "ended", "replaced"};
    return texts[spex_program_state(program)];
}

static int print_json(const struct watching *watching, const struct spex_profile *profile) {
    json_t *json = spex_profile_json(profile);
    json_t *more = json_pack("{s:I, s:o, s:s, s:o}", "pid", (json_int_t)watching->program.process,
                             "command", spex_text_json(watching->program.command), "state",
                             state_text(&watching->program), "functions",
                             spex_functions_json(spex_attachment_functions(watching->attachment),
                                                 spex_attachment_costs(watching->attachment)));
    int err = !json || !more || json_object_update(more, json) != 0;
    json_decref(json);
    return spex_json_print(spex_json_unless(err, more), watching->output.file);
}

static FILE *notes;

static void note(const char *line) {
    fprintf(notes, "%s\n", line);
}

static int print_table(const struct watching *watching, const struct spex_profile *profile,
                       bool verbose) {
    FILE *file = notes = watching->output.file;
    if (spex_program_state(&watching->program) == SPEX_PROGRAM_REPLACED)
        spex_complain(0, "process %d has executed another program", (int)watching->program.process);
    spex_table_print(file, profile, spex_table_look(file, verbose));
    spex_attachment_tell(watching->attachment, note);
    return 0;
}

static int finish(struct watching *watching, const struct request *request) {
    struct spex_profile profile;
    int err = spex_attachment_end(watching->attachment, &profile);
    if (!err)
        err = request->json ? print_json(watching, &profile)
                            : print_table(watching, &profile, request->verbose);
    int closed = spex_output_file_close(&watching->output);
    err = err ? err : closed;
    return err ? spex_complain(SPEX_EXIT_FAILED, "attach: cannot write to %s: %s",
                               watching->output.name, strerror(-err))
               : SPEX_EXIT_OK;
}

int spex_command_attach(int argc, char **argv) {
    static const double for_ever = 1e9;
    struct request request = {.seconds = for_ever, .budget = default_budget};
    struct watching watching = {.program = {.pidfd = -1, .memory = -1}};
    int status = attach_parse(argc, argv, &request);
    if (status)
        return status;
    int err = spex_output_file_open(&watching.output, request.out, SPEX_OUTPUT_DOCUMENT, stdout);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "attach: cannot open %s: %s", request.out,
                             strerror(-err));
    watching.signals = spex_stop_signals_open();
    status = start(&watching, &request);
    if (!status) {
        watch(&watching, request.seconds);
        status = finish(&watching, &request);
    }
    spex_attachment_close(watching.attachment);
    spex_wanted_search_free(&watching.wanted);
    spex_function_choices_free(&watching.choices);
    spex_program_close(&watching.program);
    return status;
}
