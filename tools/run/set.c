/* SPDX-License-Identifier: MIT */
/* `spex set`: sends a selection or a budget to a program, or to all of a name, and prints how many
 * sites are on. A selection that matches no probe is a failure, although the program has taken it. With
 * --follow the selection is also left where programs of that name find it when they start. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/deadline.h"
#include "observe/control_client.h"
#include "observe/workers.h"
#include "rate/budget.h"
#include "site/selection.h"
#include "text/variables.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/duration.h"
#include "tools/common/options.h"
#include "tools/common/process_argument.h"
#include "wire/listening_socket.h"
#include "wire/standing.h"

static const char set_usage[] =
    "usage: spex set [-f] [--for TIME] [-b PERCENT] PID|NAME PROBES…\n"
    "       spex set -b PERCENT PID|NAME\n"
    "\n"
    "Changes which probes of the running program PID are on, or of all programs\n"
    "called NAME, and how much of its time they may take. A PID without spex stands\n"
    "for the processes that it has started.\n"
    "\n"
    "  -f, --follow          also of children of forks, and of all programs of that\n"
    "                        name that start later\n"
    "  --for TIME            for so long, such as 60s; then again what was on before\n"
    "  -b, --budget PERCENT  how much of its time probes may take, such as 2%; off:\n"
    "                        as it was started with. A lesser budget of the program\n"
    "                        itself is kept\n"
    "\n"
    "  spex set 4711 '*'               all\n"
    "  spex set 4711 query@100 parse   these, instead of those there are\n"
    "  spex set 4711 +query parse      these besides\n"
    "  spex set 4711 +query@off        without this one\n"
    "  spex set 4711 off               none\n"
    "  spex set --for 60s 4711 +query  this one besides, for a minute\n"
    "  spex set -b 2% 4711 '*'         all, within 2 % of the program's CPU time\n"
    "  spex set -f nginx query         in workers that come, too\n"
    "  spex set -f nginx off           until then\n"
    "\n"
    "`man spex_probes` has the syntax. Several arguments are joined by commas.\n";

static const struct spex_syntax set_syntax = {
    "set", set_usage, "a process and probes were expected", 1, INT_MAX, SPEX_OPTIONS_FIRST};

/* Timeout for all answers together: any user may have thousands of programs that do not answer. */
enum { ALL_MS = 10000 };

/* Joins the arguments by commas. Free the text; NULL: out of memory. */
static char *join_arguments(char *const *arguments, int count) {
    size_t size = 1;
    for (int i = 0; i < count; i++)
        size += strlen(arguments[i]) + 1;
    char *joined = calloc(1, size), *end = joined;
    for (int i = 0; joined && i < count; i++)
        end = stpcpy(i ? stpcpy(end, ",") : end, arguments[i]);
    return joined;
}

/* What is to be changed. */
struct change {
    /* NULL: the budget alone. */
    const char *text;
    /* A share; 0: as the program was started with; below 0: as it is. */
    double budget;
    bool follow;
    /* Seconds; 0: until another selection. */
    double lease;
    /* NULL: by the number of a process. */
    const char *name;
    /* There may be several processes: what is printed tells of which one it is. */
    bool several;
};

/* Whether the selection is left for programs that start. What is left has no end of its own, so
 * that a lease is followed by children of forks alone. */
static bool leaves(const struct change *change) {
    return change->text && change->follow && change->lease <= 0;
}

static bool selects_nothing(const char *text) {
    struct spex_selection selection;
    struct spex_error error;
    if (spex_selection_parse(text, &selection, &error) != 0)
        return false;
    bool nothing = selection.count == 0;
    spex_selection_free(&selection);
    return nothing;
}

/* Leaves the selection for programs that start, or removes the one that was left, if the text
 * selects nothing. 0 or a negative errno value. */
static int leave_in(int directory, const char *program, const char *text) {
    return spex_standing_write(directory, program, selects_nothing(text) ? NULL : text);
}

static int complain_of_leaving(int err) {
    return err ? spex_complain(SPEX_EXIT_FAILED,
                               "the selection cannot be left for programs that start: %s",
                               strerror(-err))
               : SPEX_EXIT_OK;
}

/* Leaves the selection beside the socket of a process. Where `text` adds to a selection, the sum is
 * left, as far as the process can tell it. */
static int leave_with(pid_t process, const struct spex_profile_process *told, const char *text,
                      struct spex_deadline until) {
    struct spex_error error;
    int directory = spex_client_directory(process, spex_deadline_share_ms(until, 1), &error);
    if (directory < 0)
        return spex_complain(SPEX_EXIT_FAILED, "%s", error.text);
    bool sum = text[0] == '+' && strcmp(told->selection, SPEX_PROFILE_LONG_SELECTION) != 0;
    int err = leave_in(directory, told->command, sum ? told->selection : text);
    close(directory);
    return complain_of_leaving(err);
}

/* Removes what was left in a directory, if there is one. 0 or a negative errno value. */
static int remove_from(const char *path, const char *program) {
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int err = directory < 0 ? 0 : spex_standing_write(directory, program, NULL);
    if (directory >= 0)
        close(directory);
    return err;
}

/* Removes what root has left for programs of any user, of which none may run now. */
static int remove_of_all_users(const char *program) {
    static const char *const patterns[] = {"/run/user/*/spex", "/tmp/spex-*", "/dev/shm/spex-*"};
    glob_t found = {0};
    int err = 0;
    for (size_t p = 0; p < sizeof(patterns) / sizeof(patterns[0]); p++)
        glob(patterns[p], p ? GLOB_APPEND : 0, NULL, &found);
    for (size_t f = 0; f < found.gl_pathc; f++) {
        int one = remove_from(found.gl_pathv[f], program);
        err = one ? one : err;
    }
    globfree(&found);
    return err;
}

/* Removes what was left for programs of a name, wherever programs of this user have their sockets;
 * root removes it for all users. With SPEX_CONTROL from that directory alone. */
static int remove_everywhere(const char *program) {
    char path[SPEX_CONTROL_PATH_BYTES];
    const char *chosen = spex_variable_text(SPEX_VARIABLE_CONTROL);
    const char *runtime = spex_listening_socket_runtime_directory();
    int err = 0;
    for (unsigned n = 0; spex_control_directory(n, chosen, runtime, geteuid(), path); n++) {
        int one = remove_from(path, program);
        err = one ? one : err;
    }
    if (!chosen && geteuid() == 0) {
        int others = remove_of_all_users(program);
        err = others ? others : err;
    }
    return complain_of_leaving(err);
}

/* Leaves the selection where no program of the name runs: in the directory in which programs of
 * this user have their sockets. */
static int leave_for_later(const struct change *change) {
    char path[SPEX_CONTROL_PATH_BYTES];
    const char *chosen = spex_variable_text(SPEX_VARIABLE_CONTROL);
    const char *runtime = spex_listening_socket_runtime_directory();
    int directory = -ENOENT;
    for (unsigned n = 0;
         directory < 0 && spex_control_directory(n, chosen, runtime, geteuid(), path); n++)
        directory = spex_control_directory_open(path).number;
    int err = directory < 0 ? directory : leave_in(directory, change->name, change->text);
    if (directory >= 0)
        close(directory);
    if (!err)
        printf("no program called %s runs; the selection is for those that this user starts\n",
               change->name);
    return complain_of_leaving(err);
}

static void print_lease(const struct spex_profile_process *process) {
    char text[64];
    if (process->lease_seconds > 0)
        printf("; leased for %s", spex_profile_lease_text(process, text, sizeof(text)));
}

/* Ends the line. */
static void print_budget(const struct change *change) {
    if (change->budget > 0)
        printf("; budget %.4g %%", 100 * change->budget);
    else if (change->budget >= 0)
        printf("; budget as the program was started with");
    putchar('\n');
}

/* Prints how many sites are on. `reader` has the answer to the selection, and is used for
 * another request. The number of all sites is left out when the program has ended meanwhile. */
static int print_selected(pid_t process, const struct change *change,
                          struct spex_profile_reader *reader, struct spex_deadline until) {
    struct spex_error error;
    int on = reader->status;
    int status = reader->unmatched ? SPEX_EXIT_FAILED : SPEX_EXIT_OK;
    if (reader->text[0])
        fprintf(stderr, "spex: %s\n", reader->text);
    if (change->several)
        printf("process %d: ", (int)process);
    if (spex_client_ask_until(process, SPEX_CONTROL_STATUS, NULL, reader, until, &error) != 0) {
        printf("%d probe sites are on\n", on);
        return leaves(change) ? spex_complain(SPEX_EXIT_FAILED, "%s", error.text) : SPEX_EXIT_OK;
    }
    const struct spex_profile_process *now = &reader->profile.process;
    printf("%d of %u probe sites are on", on, now->sites_loaded);
    print_lease(now);
    print_budget(change);
    int left = leaves(change) ? leave_with(process, now, change->text, until) : 0;
    return left ? left : status;
}

/* -EINVAL is the status of a selection that the program could not parse: an error of the
 * command line. The text of an answer may be longer than a struct spex_error holds. */
static int complain_of_answer(int err, const struct spex_profile_reader *reader,
                              const struct spex_error *error) {
    return spex_complain(err == -EINVAL ? SPEX_EXIT_USAGE : SPEX_EXIT_FAILED, "%s",
                         reader->text[0] ? reader->text : error->text);
}

/* The program does it later, of which the user is told once. Returns 0. */
static int note_later(const struct spex_error *error, struct spex_profile_reader *reader) {
    if (error)
        spex_complain(0, "%s", error->text);
    reader->status = 0;
    reader->text[0] = '\0';
    return 0;
}

/* A lease brings its budget along. */
static int set_budget(pid_t process, const struct change *change,
                      struct spex_profile_reader *reader, struct spex_deadline until) {
    struct spex_error error;
    char share[32];
    if (change->budget < 0 || change->lease > 0)
        return SPEX_EXIT_OK;
    snprintf(share, sizeof(share), "%.15g", change->budget);
    int err = spex_client_ask_until(process, SPEX_CONTROL_BUDGET, share, reader, until, &error);
    if (err == -EINPROGRESS)
        err = note_later(change->text ? NULL : &error, reader);
    if (err)
        return complain_of_answer(err, reader, &error);
    if (change->text)
        return SPEX_EXIT_OK;
    printf("process %d", (int)process);
    print_budget(change);
    return SPEX_EXIT_OK;
}

/* "0.02 PROBES", as a lease with a budget has it. Free the text; NULL: out of memory. */
static char *text_with_budget(const struct change *change) {
    char *text;
    return asprintf(&text, "%.15g %s", change->budget, change->text) < 0 ? NULL : text;
}

static int set_probes(pid_t process, const struct change *change,
                      struct spex_profile_reader *reader, struct spex_deadline until) {
    struct spex_error error;
    bool budgeted = change->lease > 0 && change->budget > 0;
    char *text = budgeted ? text_with_budget(change) : NULL;
    if (budgeted && !text)
        return spex_complain(SPEX_EXIT_FAILED, "out of memory");
    const struct spex_client_selection selection = {.probes = budgeted ? text : change->text,
                                                    .lease_ms =
                                                        (uint32_t)lround(change->lease * 1e3),
                                                    .holder = budgeted ? (uint32_t)getpid() : 0,
                                                    .follow = change->follow,
                                                    .budgeted = budgeted};
    int err = spex_client_select(process, &selection, reader, until, &error);
    free(text);
    if (err == -EINPROGRESS)
        err = note_later(&error, reader);
    return err ? complain_of_answer(err, reader, &error)
               : print_selected(process, change, reader, until);
}

static int set_process(pid_t process, const struct change *change, struct spex_deadline until) {
    struct spex_profile_reader reader = {.of_process = true};
    int status = set_budget(process, change, &reader, until);
    if (!status && change->text)
        status = set_probes(process, change, &reader, until);
    spex_profile_reader_free(&reader);
    return status;
}

/* `status`: that of the programs that run. */
static int remove_and_say(const char *name, bool any_runs, int status) {
    int removed = remove_everywhere(name);
    if (!any_runs && !removed)
        printf("no program called %s runs; none that starts gets a selection\n", name);
    return removed ? removed : status;
}

/* Sets one process after the other. Each gets its share of the time, so that those that answer do
 * so however many do not. The status is that of the last process for which it is not 0. */
static int set_each(const pid_t *processes, long count, const struct change *change) {
    struct spex_deadline all = spex_deadline_in(ALL_MS / 1e3);
    int status = SPEX_EXIT_OK;
    for (long p = 0; p < count; p++) {
        int share_ms = spex_deadline_share_ms(all, count - p);
        int one = set_process(processes[p], change, spex_deadline_in(share_ms / 1e3));
        status = one ? one : status;
    }
    return status;
}

static int set_named(const struct change *change) {
    pid_t *processes;
    long found =
        spex_workers_find(&(struct spex_workers_of){.name = change->name}, NULL, 0, &processes);
    if (found < 0)
        return spex_complain_of_looking(found);
    int status = set_each(processes, found, change);
    free(processes);
    if (leaves(change) && selects_nothing(change->text))
        return remove_and_say(change->name, found > 0, status);
    if (found)
        return status;
    if (leaves(change))
        return leave_for_later(change);
    return spex_complain_of_no_program(change->name);
}

/* A process without a socket stands for those that descend from it. Where there are none, it is
 * asked itself, and the failure says why it cannot be. */
static int set_numbered(pid_t process, struct change *change) {
    pid_t *processes;
    long found =
        spex_workers_find(&(struct spex_workers_of){.process = process}, NULL, 0, &processes);
    if (found < 0)
        return spex_complain_of_looking(found);
    change->several = found > 1 || (found == 1 && *processes != process);
    int status = found ? set_each(processes, found, change) : set_each(&process, 1, change);
    free(processes);
    return status;
}

/* A text for programs that do not run yet is checked here, and so is one that no program takes. */
static int set_programs(const char *whom, struct change *change) {
    pid_t process;
    if (change->text && spex_names_functions(change->text))
        return spex_probes_argument("set", "PROBES", change->text);
    if (spex_is_number(whom)) {
        int status = spex_process_argument("set", whom, &process);
        return status ? status : set_numbered(process, change);
    }
    change->name = whom;
    change->several = true;
    int status = leaves(change) ? spex_probes_argument("set", "PROBES", change->text) : 0;
    return status ? status : set_named(change);
}

static bool lease_read(const char *text, double *seconds) {
    return spex_duration_read(text, seconds) && *seconds >= SPEX_CONTROL_LEASE_MIN_MS / 1e3 &&
           *seconds <= SPEX_CONTROL_LEASE_MAX_MS / 1e3;
}

/* "2%" or "off". */
static bool budget_read(const char *text, double *share) {
    *share = 0;
    return strcmp(text, "off") == 0 || spex_budget_parse(text, share);
}

static int complain_of_usage(const char *what) {
    return spex_complain(SPEX_EXIT_USAGE, "set: %s", what);
}

/* A selection may begin with "-", so options come first; but this is none. */
static bool is_late_option(char *const *operands, int count) {
    for (int o = 1; o < count; o++)
        if (strncmp(operands[o], "--", 2) == 0 ||
            (strcmp(operands[o], "-b") == 0 && o + 1 < count && strchr(operands[o + 1], '%')))
            return true;
    return false;
}

int spex_command_set(int argc, char **argv) {
    struct change change = {.budget = -1};
    const struct spex_option known[] = {
        {"follow", 'f', .flag = &change.follow},
        {"for", .number = &change.lease, .read = lease_read,
         .error = "0.05 to 86400 seconds were expected, such as 60s or 10min"},
        {"budget", 'b', .number = &change.budget, .read = budget_read,
         .error = "a percentage above 0% and up to 100%, such as 2%, or off was expected"},
        {.name = NULL},
    };
    struct spex_operands operands;
    int status = spex_options_take(&set_syntax, known, argc, argv, &operands);
    if (status)
        return status;
    if (is_late_option(operands.list, operands.count))
        return complain_of_usage("options come before the process: spex set -b 3% PID");
    if (operands.count == 1 && (change.budget < 0 || change.lease > 0))
        return complain_of_usage("a process and probes were expected, not 1");
    if (change.lease > 0 && (change.budget == 0 || (change.budget > 0 && change.follow)))
        return complain_of_usage("--for was expected without --follow where there is a budget");
    char *text = operands.count > 1 ? join_arguments(operands.list + 1, operands.count - 1) : NULL;
    if (operands.count > 1 && !text)
        return spex_complain(SPEX_EXIT_FAILED, "out of memory");
    change.text = text;
    status = set_programs(operands.list[0], &change);
    free(text);
    return status;
}
