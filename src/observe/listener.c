/* SPDX-License-Identifier: MIT */
/* The listening socket of a command, and the connections it has accepted. The socket is in the
 * first directory for control sockets that can be used: the one of SPEX_CONTROL, then the
 * user's own. */
#define _GNU_SOURCE
#include "observe/listener.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "text/variables.h"
#include "text/waits.h"

/* Whether the whole path fits into sockaddr_un, by which programs connect. */
static bool socket_path_fits(const struct spex_listening_socket *listening) {
    return strlen(listening->path) + 1 + strlen(listening->name) <
           sizeof(((struct sockaddr_un *)NULL)->sun_path);
}

/* Adds to the text of `error` that there is no socket at this path, and why. */
static void add_refusal(struct spex_error *error, const char *path, int err) {
    struct spex_error before = *error;
    bool first = !error->text[0];
    spex_error_set(error, "%s%s %s: %s", first ? "no socket in" : before.text, first ? "" : ",",
                   path,
                   err == -EPERM ? "it does not belong to this user alone" SPEX_CONTROL_ANOTHER
                                 : strerror(-err));
}

/* Opens the socket in the first usable directory of those that `chosen` gives; NULL: of those
 * that programs use by default. 0, or a negative errno value with the reasons of all. */
static int listening_socket_open_in(struct spex_listening_socket *listening, const char *chosen,
                                    struct spex_error *error) {
    const char *runtime = spex_listening_socket_runtime_directory();
    int err = -ENOENT;
    for (unsigned n = 0; spex_control_directory(n, chosen, runtime, geteuid(), listening->path);
         n++) {
        err =
            socket_path_fits(listening) ? spex_listening_socket_open_at(listening) : -ENAMETOOLONG;
        if (!err)
            return 0;
        add_refusal(error, listening->path, err);
    }
    return err;
}

/* The name begins as the name of the control socket of this process would. Programs that remove
 * files of dead processes by that name keep it while this process runs. */
int spex_listener_open(struct spex_listener *listener, struct spex_error *error) {
    char name[SPEX_CONTROL_NAME_BYTES];
    const char *chosen = spex_variable_text(SPEX_VARIABLE_CONTROL);
    int err = -ENOENT;
    error->text[0] = '\0';
    *listener = (struct spex_listener){.listening.socket = SPEX_NO_DESCRIPTOR,
                                       .handover = SPEX_NO_HANDOVER};
    spex_handover_open(&listener->handover);
    spex_control_name(name);
    snprintf(listener->listening.name, sizeof(listener->listening.name), "%.40s" SPEX_CONTROL_RUN,
             name);
    if (chosen && strcmp(chosen, "off") != 0)
        err = listening_socket_open_in(&listener->listening, chosen, error);
    const struct spex_error of_chosen = *error;
    if (err)
        err = listening_socket_open_in(&listener->listening, NULL, error);
    const struct spex_error places = *error;
    if (err)
        spex_error_set(error,
                       "%s; SPEX_CONTROL or XDG_RUNTIME_DIR can name a directory of this user",
                       places.text);
    else
        *error = of_chosen; /* that a default place is not there is usual */
    return err;
}

void spex_listener_output(const struct spex_listener *listener, const char *prefix, char *text,
                          size_t size) {
    snprintf(text, size, "%s:%s/%s", prefix, listener->listening.path, listener->listening.name);
}

/* Whether the other end of the caller's socket is open, be there frames to take or not. */
static bool is_open(const struct spex_caller *caller) {
    struct pollfd fd = {.fd = caller->socket, .events = POLLRDHUP};
    return caller->socket >= 0 && spex_wait_ready(&fd, 1, 0) == 0;
}

/* Whether the process has another connection. */
static bool has_another(const struct spex_listener *listener, const struct spex_caller *caller) {
    for (size_t c = 0; c < listener->count; c++)
        if (listener->callers[c]->process == caller->process && is_open(listener->callers[c]))
            return true;
    return false;
}

/* Accepts a connection unless there are SPEX_CALLERS_MAX already, or memory is short. NULL: the
 * connection was closed and counted as refused. */
static struct spex_caller *listener_add(struct spex_listener *listener, int socket) {
    struct spex_caller *caller =
        listener->count < SPEX_CALLERS_MAX ? calloc(1, sizeof(*caller)) : NULL;
    if (!caller) {
        listener->refused++;
        close(socket);
        return NULL;
    }
    spex_caller_open(caller, socket);
    caller->keeps_rings = true;
    caller->beside = has_another(listener, caller);
    listener->callers[listener->count++] = caller;
    return caller;
}

/* -EPERM means that a process of another user was refused; the next connection is tried. After
 * another error, mostly for lack of descriptors, the socket is closed: poll would report it
 * again and again. */
int spex_listener_accept_socket(struct spex_listener *listener) {
    for (int tries = 0; tries < SPEX_CALLERS_MAX; tries++) {
        int socket = listener->listening.socket.number >= 0
                         ? spex_listening_socket_accept(&listener->listening).number
                         : -EAGAIN;
        if (socket == -EAGAIN)
            socket = spex_handover_accept(&listener->handover);
        if (socket == -EPERM)
            continue;
        if (socket < 0 && socket != -EAGAIN) {
            listener->refused++;
            spex_listener_shut(listener);
        }
        return socket;
    }
    return -EAGAIN;
}

struct spex_caller *spex_listener_accept(struct spex_listener *listener) {
    struct spex_caller *caller = NULL;
    for (int tries = 0; !caller && tries < SPEX_CALLERS_MAX; tries++) {
        int socket = spex_listener_accept_socket(listener);
        if (socket < 0)
            return NULL;
        caller = listener_add(listener, socket);
    }
    return caller;
}

void spex_listener_shut(struct spex_listener *listener) {
    spex_listening_socket_close(&listener->listening);
    listener->listening.socket = SPEX_NO_DESCRIPTOR;
    spex_handover_close(&listener->handover);
}

void spex_listener_close(struct spex_listener *listener) {
    spex_listener_shut(listener);
    for (size_t c = 0; c < listener->count; c++) {
        spex_caller_free(listener->callers[c]);
        free(listener->callers[c]);
    }
    listener->count = 0;
}
