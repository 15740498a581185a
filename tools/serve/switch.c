/* SPDX-License-Identifier: MIT */
/* Each target has a connection of its own, as in `spex top`: answers do not wait for reports. */
#include "tools/serve/switch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "observe/control_client.h"
#include "tools/serve/api.h"

/* Programs have so long to answer. */
#define ANSWER_NS 5000000000ull

static void target_fail(struct spex_switch_target *target, int status, const char *text) {
    target->over = true;
    target->status = status;
    snprintf(target->text, sizeof(target->text), "%s", text);
}

/* What the body says: {"process": PID} or {"program": NAME}, with {"probes": SELECTION}, and
 * {"for": SECONDS} for a lease, or with {"budget": SHARE}, where 0 ends the one that was set so. */
struct order {
    json_int_t process;
    const char *program;
    enum spex_control_kind kind;
    /* The selection, or the share. */
    const char *text;
    char share[32];
    /* 0: until another selection. */
    uint32_t lease_ms;
};

static void target_ask(struct spex_switch_target *target, pid_t process,
                       const struct order *order) {
    struct spex_error error;
    int socket = spex_client_connect(process, 0, &error);
    *target =
        (struct spex_switch_target){.process = process, .caller = {.socket = -1, .pidfd = -1}};
    if (socket < 0) {
        target_fail(target, socket, error.text);
        return;
    }
    spex_caller_open(&target->caller, socket);
    int err = spex_client_send(socket, order->kind, order->lease_ms, order->text, &error);
    if (err)
        target_fail(target, err, error.text);
}

static void target_take(struct spex_switch_target *target) {
    int taken = spex_caller_take(&target->caller);
    if (taken < 0)
        target_fail(target, -ECONNRESET, "the program has gone");
    else if (taken > 0)
        target_fail(target, target->caller.reader.status, target->caller.reader.text);
}

static bool all_over(const struct spex_switch *by) {
    for (size_t t = 0; t < by->count; t++)
        if (!by->targets[t].over)
            return false;
    return true;
}

uint64_t spex_switch_wait(const struct spex_switch *by, struct pollfd *fds) {
    for (size_t t = 0; t < by->count; t++)
        fds[t] = (struct pollfd){.fd = by->targets[t].over ? -1 : by->targets[t].caller.socket,
                                 .events = POLLIN};
    return by->request ? by->end_ns : UINT64_MAX;
}

void spex_switch_take(struct spex_switch *by, uint64_t now_ns) {
    if (!by->request)
        return;
    for (size_t t = 0; t < by->count; t++) {
        struct spex_switch_target *target = &by->targets[t];
        if (!target->over)
            target_take(target);
        if (!target->over && now_ns >= by->end_ns)
            target_fail(target, -ETIMEDOUT, "the program does not answer");
    }
    if (!by->request->suspended || !all_over(by))
        return;
    by->request->suspended = false;
    spex_http_go_on(by->request->connection);
}

void spex_switch_end(struct spex_switch *by) {
    for (size_t t = 0; t < by->count; t++)
        spex_caller_free(&by->targets[t].caller);
    free(by->targets);
    *by = (struct spex_switch){.request = NULL};
}

/* NULL, or what is wrong. */
static const char *probes_read(const json_t *probes, const json_t *seconds, struct order *order) {
    double ms = json_number_value(seconds) * 1e3;
    order->text = json_string_value(probes);
    if (!order->text || !*order->text || strlen(order->text) > SPEX_CONTROL_TEXT_BYTES)
        return "a selection of probes was expected, of 16 KiB at most";
    if (seconds && !(ms >= SPEX_CONTROL_LEASE_MIN_MS && ms <= SPEX_CONTROL_LEASE_MAX_MS))
        return "\"for\": seconds from 0.05 to 86400 were expected";
    order->lease_ms = seconds ? (uint32_t)ms : 0;
    order->kind = seconds ? SPEX_CONTROL_LEASE : SPEX_CONTROL_SELECT;
    return NULL;
}

static const char *budget_read(const json_t *budget, struct order *order) {
    double share = json_number_value(budget);
    if (!json_is_number(budget) || !(share >= 0 && share <= 1))
        return "\"budget\": a share of the program's time from 0 to 1 was expected";
    snprintf(order->share, sizeof(order->share), "%.15g", share);
    order->text = order->share;
    order->kind = SPEX_CONTROL_BUDGET;
    return NULL;
}

/* Members that are not known are refused: what they ask for would not be done. */
static const char *order_read(json_t *body, struct order *order) {
    json_t *process = json_object_get(body, "process"), *program = json_object_get(body, "program");
    json_t *probes = json_object_get(body, "probes"), *lease = json_object_get(body, "for");
    json_t *budget = json_object_get(body, "budget");
    if (!process == !program || !probes == !budget || (budget && lease) ||
        json_object_size(body) != 2 + (lease != NULL))
        return "an object with either \"process\" or \"program\", and \"probes\", if need be with "
               "\"for\", or \"budget\" was expected";
    if (process ? !json_is_integer(process) : !json_is_string(program))
        return "a number of a process, or a name of a program, was expected";
    order->process = json_integer_value(process);
    order->program = json_string_value(program);
    return probes ? probes_read(probes, lease, order) : budget_read(budget, order);
}

static bool is_meant(const struct order *order, const struct spex_program_process *process) {
    if (order->program)
        return process->program && strcmp(process->program->name, order->program) == 0;
    return process->caller.process == order->process;
}

/* Asks the processes that are meant, of those that are followed: others were not asked for when the
 * server was started. Returns their number, or -ENOMEM. */
static long switch_begin(struct spex_switch *by, const struct spex_programs *programs,
                         const struct order *order) {
    by->targets = calloc(SPEX_PROGRAMS_PROCESSES, sizeof(*by->targets));
    if (!by->targets)
        return -ENOMEM;
    for (size_t p = 0; p < programs->process_count; p++)
        if (is_meant(order, programs->processes[p]))
            target_ask(&by->targets[by->count++], programs->processes[p]->caller.process, order);
    by->end_ns = spex_clock_ns(CLOCK_MONOTONIC) + ANSWER_NS;
    return (long)by->count;
}

static enum MHD_Result begin(struct spex_request *request, json_t *body) {
    struct spex_switch *by = &request->server->by;
    struct order order = {.process = 0};
    const char *wrong = order_read(body, &order);
    if (wrong)
        return spex_http_refuse(request, MHD_HTTP_BAD_REQUEST, wrong);
    if (by->request)
        return spex_http_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE,
                                "probes are being switched already");
    long count = switch_begin(by, &request->server->programs, &order);
    if (count <= 0) {
        spex_switch_end(by);
        return count < 0
                   ? spex_http_refuse(request, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory")
                   : spex_http_refuse(request, MHD_HTTP_NOT_FOUND, "no such process is followed");
    }
    by->request = request;
    request->suspended = true;
    spex_http_suspend(request->connection);
    return MHD_YES;
}

static json_t *target_json(const struct spex_switch_target *target) {
    return json_pack("{s:I, s:b, s:o, s:o}", "pid", (json_int_t)target->process, "done",
                     target->status >= 0, "sites_on",
                     target->status >= 0 ? json_integer(target->status) : json_null(), "text",
                     spex_text_json(target->text));
}

/* The selection is wrong where programs say so, and nothing was switched where none did it. */
static unsigned status_of(const struct spex_switch *by) {
    unsigned status = MHD_HTTP_BAD_GATEWAY;
    for (size_t t = 0; t < by->count; t++) {
        if (by->targets[t].status >= 0)
            return MHD_HTTP_OK;
        if (by->targets[t].status == -EINVAL)
            status = MHD_HTTP_BAD_REQUEST;
    }
    return status;
}

static enum MHD_Result answer(struct spex_request *request) {
    const struct spex_switch *by = &request->server->by;
    json_t *list = json_array();
    int err = !list;
    for (size_t t = 0; t < by->count; t++)
        spex_programs_expire(&request->server->programs, by->targets[t].process);
    for (size_t t = 0; !err && t < by->count; t++)
        err = json_array_append_new(list, target_json(&by->targets[t]));
    return spex_http_json(request, status_of(by),
                          spex_json_unless(err, json_pack("{s:o}", "processes", list)));
}

enum MHD_Result spex_switch_answer(struct spex_request *request) {
    if (request->server->by.request == request)
        return answer(request);
    json_t *body = json_loadb(request->body, request->body_bytes, JSON_REJECT_DUPLICATES, NULL);
    enum MHD_Result begun = begin(request, body);
    json_decref(body);
    return begun;
}
