/* SPDX-License-Identifier: MIT */
/* `spex list`: asks every process with a control socket for its profile, with a short timeout,
 * and prints a line for each, also for those that do not answer. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/deadline.h"
#include "observe/control_client.h"
#include "observe/process_place.h"
#include "observe/workers.h"
#include "profile/columns.h"
#include "text/quantity.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/json.h"
#include "tools/common/options.h"
#include "tools/common/process_argument.h"
#include "tools/common/profile_json.h"

/* Bytes of a selection that the table shows. */
enum { SELECTION_MAX = 40 };

/* Timeout for an answer, so that a program that is stopped does not hold up the list; and for all
 * answers together: any user may have thousands of such programs. */
enum { ANSWER_MS = 2000, ALL_MS = 10000 };

/* Bytes of the text for how long leases hold. */
enum { LEASE_BYTES = 64 };

static const char list_usage[] =
    "usage: spex list [--json] [--verbose]\n"
    "\n"
    "Lists the running programs that spex can control: those of this user, or, for\n"
    "root, all.\n"
    "\n"
    "  --json     the same as JSON\n"
    "  --verbose  all columns, however wide that is\n";

static const struct spex_syntax list_syntax = {"list", list_usage, "no argument was expected",
                                               0,      0,          SPEX_OPTIONS_ANYWHERE};

struct program {
    /* The process id as this PID namespace sees it. */
    pid_t process;
    bool answers;
    char command[SPEX_PROFILE_NAME_BYTES];
    /* Set if it answers. */
    struct spex_profile_process told;
    char lease[LEASE_BYTES];
};

/* How long the next of `left` programs is waited for, to connect and then to answer: its share of
 * the time, so that those that answer do so however many do not. */
static int answer_ms(struct spex_deadline all, long left) {
    int share = spex_deadline_share_ms(all, left);
    return share < ANSWER_MS ? share : ANSWER_MS;
}

/* 0 or a negative errno value. */
static int program_ask_status(pid_t process, int timeout_ms, struct spex_profile_reader *reader) {
    struct spex_error error;
    int fd = spex_client_connect(process, timeout_ms, &error);
    if (fd < 0)
        return fd;
    int err = spex_client_send(fd, SPEX_CONTROL_STATUS, 0, NULL, &error);
    err = err ? err : spex_client_receive(fd, reader, timeout_ms, &error);
    spex_client_close(fd);
    return err > 0 ? 0 : err;
}

/* Takes the name of the command from /proc, for a program that does not answer. */
static void program_take_command(struct program *program) {
    struct spex_process_place place;
    if (spex_process_place(program->process, &place) != 0)
        return;
    snprintf(program->command, sizeof(program->command), "%s", place.command);
    spex_process_place_free(&place);
}

/* False when the process has ended meanwhile, or has closed its socket. A program that is
 * stopped, or has another version of the protocol, is listed. */
static bool program_ask(pid_t process, int timeout_ms, struct program *program) {
    struct spex_profile_reader reader = {.of_process = true};
    *program = (struct program){.process = process};
    int err = program_ask_status(process, timeout_ms, &reader);
    program->answers = !err && reader.complete;
    if (program->answers) {
        program->told = reader.profile.process;
        spex_profile_lease_text(&program->told, program->lease, sizeof(program->lease));
        memcpy(program->command, program->told.command, sizeof(program->command));
    } else {
        program_take_command(program);
    }
    spex_profile_reader_free(&reader);
    return program->answers || err == -ETIMEDOUT || err == -EPROTONOSUPPORT;
}

/* Returns their number, or a negative errno value. Free `*programs`. */
static long find_programs(struct program **programs) {
    pid_t *processes;
    struct spex_deadline all = spex_deadline_in(ALL_MS / 1e3);
    long count = 0, there = spex_processes_list(&processes);
    *programs = there > 0 ? calloc((size_t)there, sizeof(**programs)) : NULL;
    if (there > 0 && !*programs)
        count = -ENOMEM;
    for (long i = 0; *programs && i < there; i++)
        count += program_ask(processes[i], answer_ms(all, there - i), &(*programs)[count]);
    free(processes);
    return there < 0 ? there : count;
}

/* The bytes of a selection that are shown. A long one is cut at a character: bytes 10xxxxxx
 * continue a character in UTF-8. */
static int shown_bytes(const char *selection) {
    size_t length = strlen(selection);
    if (length <= SELECTION_MAX)
        return (int)length;
    length = SELECTION_MAX;
    while (length && ((unsigned char)selection[length] & 0xc0) == 0x80)
        length--;
    return (int)length;
}

/* What is selected, what is leased besides or instead, and the budget: "off; +query for 42 s; budget
 * 2 %". */
static void add_selection(struct spex_columns *columns, const struct program *program) {
    const struct spex_profile_process *told = &program->told;
    const char *selection = told->selection[0] ? told->selection : "off", *leased = told->leased;
    char lease[SELECTION_MAX + LEASE_BYTES + 16] = "", budget[32] = "";
    const char *between = told->budget > 0 ? "; budget " : "";
    int bytes = shown_bytes(selection), leased_bytes = shown_bytes(leased);
    if (told->lease_seconds > 0)
        snprintf(lease, sizeof(lease), "; %.*s%s for %s", leased_bytes, leased,
                 leased[leased_bytes] ? "…" : "", program->lease);
    if (told->budget > 0)
        spex_percent_text(told->budget, 4, budget, sizeof(budget));
    spex_columns_add(columns, "%.*s%s%s%s%s", bytes, selection, selection[bytes] ? "…" : "", lease,
                     between, budget);
}

/* A program that does not answer has a line with its number and command. */
static void print_programs(const struct program *programs, size_t count, bool all) {
    static const char *const headings[] = {"pid", "command", "selected", "sites", "on", "seconds"};
    static const uint8_t order[] = {5, 3, 4};
    const struct spex_columns_room room = {
        .all = all, .texts = 6, .order = order, .count = sizeof(order)};
    struct spex_columns columns;
    spex_columns_init(&columns, headings, sizeof(headings) / sizeof(headings[0]), 3);
    for (size_t p = 0; p < count; p++) {
        const struct spex_profile_process *told = &programs[p].told;
        spex_columns_add(&columns, "%d", (int)programs[p].process);
        spex_columns_add(&columns, "%s", programs[p].command);
        if (!programs[p].answers) {
            spex_columns_add(&columns, "(does not answer)");
        } else {
            add_selection(&columns, &programs[p]);
            spex_columns_add(&columns, "%u", told->sites);
            spex_columns_add(&columns, "%u", told->sites_on);
            spex_columns_add(&columns, "%.1f", told->seconds);
        }
        spex_columns_end_row(&columns);
    }
    spex_columns_print_within(&columns, stdout, &room);
}

/* A program that does not answer has "answers": false and none of the figures. */
static json_t *program_json(const struct program *program) {
    const struct spex_profile_process *told = &program->told;
    if (!program->answers)
        return json_pack("{s:i, s:s, s:b}", "pid", (int)program->process, "command",
                         program->command, "answers", 0);
    json_t *json = json_pack("{s:i, s:s, s:b, s:I, s:I, s:f, s:s}", "pid", (int)program->process,
                             "command", program->command, "answers", 1, "sites",
                             (json_int_t)told->sites, "sites_on", (json_int_t)told->sites_on,
                             "seconds", told->seconds, "selection", told->selection);
    spex_lease_json(json, told);
    if (json && told->budget > 0)
        json_object_set_new(json, "budget", json_real(told->budget));
    return json;
}

/* 0, or another number when memory is short. */
static int print_programs_json(const struct program *programs, size_t count) {
    json_t *list = json_array();
    int err = list ? 0 : -1;
    for (size_t p = 0; p < count; p++)
        err |= json_array_append_new(list, program_json(&programs[p]));
    return spex_json_print(spex_json_unless(err, list), stdout);
}

/* An empty list is a failure, so that scripts can test for a program; the JSON is an empty
 * array then. */
static int list_programs(bool json, bool all) {
    struct program *programs = NULL;
    long count = find_programs(&programs);
    if (count < 0)
        return spex_complain_of_looking(count);
    bool short_of_memory = json && print_programs_json(programs, (size_t)count) != 0;
    if (!json && count > 0)
        print_programs(programs, (size_t)count, all);
    free(programs);
    if (short_of_memory)
        return spex_complain(SPEX_EXIT_FAILED, "out of memory");
    int err = spex_written(stdout);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "the list cannot be written: %s", strerror(-err));
    return count ? SPEX_EXIT_OK : spex_complain_of_no_program(NULL);
}

int spex_command_list(int argc, char **argv) {
    bool json = false, all = false;
    const struct spex_option known[] = {
        {"json", .flag = &json}, {"verbose", .flag = &all}, {.name = NULL}};
    struct spex_operands operands;
    int status = spex_options_take(&list_syntax, known, argc, argv, &operands);
    if (status)
        return status;
    return list_programs(json, all);
}
