/* SPDX-License-Identifier: MIT */
#include "observe/listener.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "text/variables.h"

/* Programs connect by the whole path. */
static bool path_fits(const struct spex_listening_socket *door) {
    return strlen(door->path) + 1 + strlen(door->name) <
           sizeof(((struct sockaddr_un *)NULL)->sun_path);
}

/* In one of the places of `chosen`, or of everybody. */
static int open_in(struct spex_listening_socket *door, const char *chosen, char *why,
                   size_t why_size) {
    const char *runtime = spex_listening_socket_runtime_directory();
    int err = -ENOENT;
    for (unsigned n = 0; spex_control_directory(n, chosen, runtime, geteuid(), door->path); n++) {
        err = path_fits(door) ? spex_listening_socket_open_at(door) : -ENAMETOOLONG;
        if (!err)
            return 0;
        snprintf(why, why_size, "no socket in %s: %s", door->path,
                 err == -EPERM ? "it does not belong to this user alone" : strerror(-err));
    }
    return err;
}

/* Its name begins as that of this process's control socket would, so that it is cleaned away when this process is
 * gone and not before. */
int spex_listener_open(struct spex_listener *listener, char *why, size_t why_size) {
    char name[SPEX_CONTROL_NAME_BYTES];
    const char *chosen = spex_variable_text(SPEX_VARIABLE_CONTROL);
    int err = -ENOENT;
    *listener = (struct spex_listener){.door.socket = SPEX_NO_DESCRIPTOR};
    spex_control_name(name);
    snprintf(listener->door.name, sizeof(listener->door.name), "%.40s" SPEX_CONTROL_RUN, name);
    if (chosen && strcmp(chosen, "off") != 0)
        err = open_in(&listener->door, chosen, why, why_size);
    return err ? open_in(&listener->door, NULL, why, why_size) : 0;
}

void spex_listener_output(const struct spex_listener *listener, char *text, size_t size) {
    snprintf(text, size, "metrics:%s/%s", listener->door.path, listener->door.name);
}

static struct spex_caller *let_in(struct spex_listener *listener, int socket) {
    struct spex_caller *caller =
        listener->count < SPEX_CALLERS_MAX ? calloc(1, sizeof(*caller)) : NULL;
    if (!caller) {
        listener->refused++;
        close(socket);
        return NULL;
    }
    spex_caller_open(caller, socket);
    listener->callers[listener->count++] = caller;
    return caller;
}

struct spex_caller *spex_listener_accept(struct spex_listener *listener) {
    struct spex_caller *caller = NULL;
    while (!caller) {
        int socket = listener->door.socket.number >= 0
                         ? spex_listening_socket_accept(&listener->door)
                         : -EAGAIN;
        if (socket == -EPERM)
            continue;
        if (socket < 0 &&
            socket != -EAGAIN) { /* no descriptors mostly: it would come up for ever */
            listener->refused++;
            spex_listener_shut(listener);
        }
        if (socket < 0)
            return NULL;
        caller = let_in(listener, socket);
    }
    return caller;
}

void spex_listener_shut(struct spex_listener *listener) {
    spex_listening_socket_close(&listener->door);
    listener->door.socket = SPEX_NO_DESCRIPTOR;
}

void spex_listener_close(struct spex_listener *listener) {
    spex_listener_shut(listener);
    for (size_t c = 0; c < listener->count; c++) {
        spex_caller_free(listener->callers[c]);
        free(listener->callers[c]);
    }
    listener->count = 0;
}
