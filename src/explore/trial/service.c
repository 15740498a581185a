/* SPDX-License-Identifier: MIT */
/* A service is ready when something answers at its port, or when a command says so. Both are asked
 * before the start, too: what answers then is another one, whose figures would be taken for those of
 * the service. */
#define _GNU_SOURCE
#include "explore/trial/service.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/deadline.h"
#include "text/number.h"
#include "text/waits.h"

/* Seconds between two questions whether it is ready. */
#define LOOK_SECONDS 0.02

#define service_fail(error, ...) (spex_error_set((error), __VA_ARGS__), 1)

/* As much of a command as a message has of it. */
struct shown {
    char text[64];
};

static struct shown shown(const char *command) {
    struct shown of;
    int length = snprintf(of.text, sizeof(of.text), "%s", command);
    if (length >= (int)sizeof(of.text))
        memcpy(of.text + sizeof(of.text) - sizeof("..."), "...", sizeof("..."));
    return of;
}

/* The port that is looked at; 0: a command tells. */
static unsigned port_of(const struct spex_service_filled *filled) {
    int64_t port = 0;
    size_t length = strlen(SPEX_SERVICE_PORT);
    if (strncmp(filled->ready, SPEX_SERVICE_PORT, length) == 0)
        spex_number_integer(filled->ready + length, &port);
    return port >= 1 && port <= 65535 ? (unsigned)port : 0;
}

static bool answers_at(const struct sockaddr *address, socklen_t length) {
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool answers = fd >= 0 && connect(fd, address, length) == 0;
    if (fd >= 0)
        close(fd);
    return answers;
}

/* Of this machine, where a connection is made or refused at once. */
static bool port_answers(unsigned port) {
    const struct sockaddr_in four = {.sin_family = AF_INET,
                                     .sin_port = htons((uint16_t)port),
                                     .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const struct sockaddr_in6 six = {.sin6_family = AF_INET6,
                                     .sin6_port = htons((uint16_t)port),
                                     .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    return answers_at((const struct sockaddr *)&four, sizeof(four)) ||
           answers_at((const struct sockaddr *)&six, sizeof(six));
}

/* Waits for what happens to the service, or the command that asks for it, but not long. -EINTR:
 * stop_fd. */
static int look(const struct spex_service *service, struct spex_program *asking,
                struct spex_error *error) {
    struct pollfd fds[] = {{.fd = service->stop_fd, .events = POLLIN},
                           {.fd = service->program->output, .events = POLLIN},
                           {.fd = service->program->pidfd, .events = POLLIN},
                           {.fd = asking ? asking->output : -1, .events = POLLIN},
                           {.fd = asking ? asking->pidfd : -1, .events = POLLIN}};
    int ready = spex_wait_ready(fds, 5, spex_deadline_left_ms(spex_deadline_in(LOOK_SECONDS)));
    spex_program_output(service->program);
    if (asking)
        spex_program_output(asking);
    return ready > 0 && fds[0].revents ? spex_fail(error, -EINTR, "interrupted") : 0;
}

/* How whoever was asked has answered last. */
struct answer {
    char words[384];
};

/* Runs the command that tells whether it is ready. 1: it is; 0: not yet; or a negative errno value.
 * One that has not ended at the deadline has given no answer: the one before stays. */
static int ask_command(const struct spex_service *service, struct spex_deadline deadline,
                       struct answer *answer, struct spex_error *error) {
    const char *const argv[] = {"/bin/sh", "-c", service->filled->ready, NULL};
    const struct spex_launch launch = {.argv = (char *const *)(uintptr_t)argv,
                                       .config = service->base->config,
                                       .variables = service->variables,
                                       .cpus = service->base->cpus};
    struct spex_program asking = SPEX_NO_PROGRAM;
    struct spex_error left;
    int err = spex_program_launch(&asking, &launch, error);
    while (!err && !spex_program_ended(&asking) && spex_deadline_left_ms(deadline))
        err = look(service, &asking, error);
    bool ready = !err && asking.ended && !asking.by_signal && asking.status == 0;
    if (!err && asking.ended) {
        spex_program_output(&asking);
        spex_program_describe(&asking, answer->words, sizeof(answer->words));
    }
    if (spex_program_teardown(&asking, &left) && !err)
        err = spex_fail(error, -EPERM, "ready: %s", left.text);
    return err ? err : ready;
}

static int ask(const struct spex_service *service, struct spex_deadline deadline,
               struct answer *answer, struct spex_error *error) {
    unsigned port = port_of(service->filled);
    if (!port)
        return ask_command(service, deadline, answer, error);
    *answer = (struct answer){"refused a connection"};
    return port_answers(port);
}

int spex_service_fail_ended(struct spex_program *program, const struct spex_service_filled *filled,
                            const char *when, struct spex_error *error) {
    char words[384];
    spex_program_output(program);
    spex_program_describe(program, words, sizeof(words));
    return service_fail(error, "service %s %s: %s", shown(filled->command).text, when, words);
}

/* It has not become ready: what it and who asked for it said last. */
static int fail_overdue(const struct spex_service *service, const struct answer *answer,
                        struct spex_error *error) {
    char words[256];
    spex_program_last_output(service->program, words, sizeof(words));
    return service_fail(error, "service %s: was not ready in %g s (%s: %s)%s",
                        shown(service->filled->command).text, service->filled->timeout_seconds,
                        shown(service->filled->ready).text, answer->words, words);
}

/* It is asked first, since a service can be ready before it is seen that it has ended. */
static int wait_until_ready(const struct spex_service *service, struct spex_error *error) {
    struct answer answer = {"did not end"};
    struct spex_deadline deadline = spex_deadline_in(service->filled->timeout_seconds);
    for (;;) {
        int got = ask(service, deadline, &answer, error);
        got = got ? got : look(service, NULL, error);
        if (got < 0)
            return got;
        if (spex_program_ended(service->program))
            return spex_service_fail_ended(service->program, service->filled,
                                           "ended before it was ready", error);
        if (got)
            return 0;
        if (spex_deadline_left_ms(deadline) == 0)
            return fail_overdue(service, &answer, error);
    }
}

int spex_service_start(const struct spex_service *service, struct spex_error *error) {
    const char *const argv[] = {"/bin/sh", "-c", service->filled->command, NULL};
    const struct spex_launch launch = {.argv = (char *const *)(uintptr_t)argv,
                                       .config = service->base->config,
                                       .variables = service->variables,
                                       .cpus = service->base->cpus};
    struct answer answer;
    struct spex_error reason;
    int got = ask(service, spex_deadline_in(service->filled->timeout_seconds), &answer, error);
    if (got < 0)
        return got;
    if (got)
        return service_fail(error,
                            "service %s: %s tells that it is ready before it was started: "
                            "another one seems to run",
                            shown(service->filled->command).text,
                            shown(service->filled->ready).text);
    if (spex_program_launch(service->program, &launch, &reason))
        return service_fail(error, "service %s: %s", shown(service->filled->command).text,
                            reason.text);
    return wait_until_ready(service, error);
}
