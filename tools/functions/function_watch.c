/* SPDX-License-Identifier: MIT */
#include "tools/functions/function_watch.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "tools/common/complain.h"

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

static void say_refused(struct spex_attachment *attachment) {
    const struct spex_process_functions *functions = spex_attachment_functions(attachment);
    spex_attachment_tell_refused(attachment, false, say);
    if (functions->left_out)
        spex_complain(0, "%zu more functions are left out: %d at most are looked at",
                      functions->left_out, SPEX_FUNCTIONS_MAX);
}

static void say_nothing(const char *line) {
    (void)line;
}

static int choose(struct spex_function_watch *watch) {
    const struct spex_function_watch_request *request = watch->request;
    struct spex_error error;
    if (spex_function_choices_add(&watch->choices, request->functions, &error) != 0)
        return spex_complain(SPEX_EXIT_USAGE, "%s: -e: %s", request->command, error.text);
    for (size_t c = 0; request->timed && c < watch->choices.count; c++) {
        if (watch->choices.items[c].probe)
            return spex_complain(SPEX_EXIT_USAGE,
                                 "%s: -e: \"%s\": a probe has no time; a function was expected",
                                 request->command, watch->choices.items[c].text);
        if (watch->choices.items[c].slots || watch->choices.items[c].patched)
            return spex_complain(
                SPEX_EXIT_USAGE,
                "%s: -e: \"%s\": calls through slots have no time, nor do patches; func:NAME was "
                "expected",
                request->command, watch->choices.items[c].text);
        watch->choices.items[c].timed = true;
    }
    return SPEX_EXIT_OK;
}

int spex_function_watch_open(struct spex_function_watch *watch,
                             const struct spex_function_watch_request *request) {
    struct spex_error error;
    *watch =
        (struct spex_function_watch){.request = request, .program = {.pidfd = -1, .memory = -1}};
    int status = choose(watch);
    if (status)
        return status;
    watch->search = spex_wanted_search_of(&watch->wanted, &watch->choices);
    const struct spex_attachment_options options = {.kind = &spex_all_kinds,
                                                    .budget = request->budget,
                                                    .seconds = request->seconds,
                                                    .search = &watch->search,
                                                    .say = request->quiet ? say_nothing : say,
                                                    .execution = request->execution,
                                                    .record = request->record,
                                                    .user = request->user};
    if (spex_program_open(request->process, &watch->program, &error) != 0 ||
        spex_attachment_open(&watch->attachment, &options, &watch->program, &watch->choices,
                             &error) != 0)
        return spex_complain(SPEX_EXIT_FAILED, "%s: %s", request->command, error.text);
    const struct spex_process_functions *functions = spex_attachment_functions(watch->attachment);
    say_refused(watch->attachment);
    if (spex_wanted_search_complain(&watch->wanted, functions, request->held) ||
        (functions->count && !any_to_look_at(functions)))
        return SPEX_EXIT_FAILED;
    while (request->held && spex_attachment_waits(watch->attachment))
        spex_attachment_pass(watch->attachment);
    if (request->held)
        spex_held_release(request->held);
    watch->end = spex_deadline_in(request->seconds);
    return SPEX_EXIT_OK;
}

void spex_function_watch_close(struct spex_function_watch *watch) {
    spex_attachment_close(watch->attachment);
    spex_wanted_search_free(&watch->wanted);
    spex_function_choices_free(&watch->choices);
    spex_program_close(&watch->program);
}

/* "3 functions" */
static void add_number(char *text, size_t size, size_t count, const char *what) {
    size_t length = strlen(text);
    if (count)
        snprintf(text + length, size - length, "%s%zu %s%s", length ? " and " : "", count, what,
                 count == 1 ? "" : "s");
}

static void say_settled(const struct spex_function_watch *watch) {
    const struct spex_process_functions *all = spex_attachment_functions(watch->attachment);
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
                  watch->program.command, (int)watch->program.process);
}

/* Waits until a signal comes, the program has ended, or the next thing is due. Whether that is all. */
static bool wait_for(const struct spex_function_watch *watch, int ms) {
    struct pollfd ends[] = {{.fd = watch->request->stop_fd, .events = POLLIN},
                            {.fd = watch->program.pidfd, .events = POLLIN},
                            {.fd = spex_attachment_alarms(watch->attachment), .events = POLLIN}};
    if (poll(ends, 3, ms) <= 0)
        return false;
    const struct spex_function_watch_request *request = watch->request;
    bool stopped = ends[0].revents && (!request->stopped || request->stopped(request->stopping));
    return stopped || ends[1].revents;
}

void spex_function_watch_tell(const struct spex_function_watch *watch) {
    spex_attachment_tell_refused(watch->attachment, false, say);
    spex_attachment_tell(watch->attachment, say);
}

int spex_function_watch_pass(struct spex_function_watch *watch) {
    int ms = spex_attachment_pass(watch->attachment);
    bool settled = spex_attachment_is_settled(watch->attachment);
    if (settled && !watch->settled && !watch->request->quiet)
        say_settled(watch);
    watch->settled |= settled;
    return ms;
}

bool spex_function_watch_goes_on(struct spex_function_watch *watch) {
    if (spex_deadline_left_ms(watch->end) <= 0)
        return false;
    int ms = spex_function_watch_pass(watch), left = spex_deadline_left_ms(watch->end);
    if (wait_for(watch, ms < left ? ms : left))
        return false;
    enum spex_program_state state = spex_program_state(&watch->program);
    if (state == SPEX_PROGRAM_REPLACED && !watch->request->quiet)
        spex_complain(0, "process %d has executed another program, which is not looked at",
                      (int)watch->program.process);
    return state == SPEX_PROGRAM_RUNS;
}
