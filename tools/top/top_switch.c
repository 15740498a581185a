/* SPDX-License-Identifier: MIT */
/* The connection that sends selections. It is opened by the first selection, and closed when
 * every selection is answered. */
#include "tools/top/top_switch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "observe/control_client.h"

/* Limit of selections without an answer: the socket would be full, and sending would wait,
 * while the program does not read them. */
enum { UNANSWERED_MAX = 32 };

void spex_top_switch_open(struct spex_top_switch *by, pid_t process) {
    *by = (struct spex_top_switch){.process = process, .socket = -1};
}

static void switch_disconnect(struct spex_top_switch *by) {
    if (by->socket >= 0)
        spex_client_close(by->socket);
    by->socket = -1;
    by->unanswered = 0;
}

void spex_top_switch_close(struct spex_top_switch *by) {
    switch_disconnect(by);
    spex_profile_reader_free(&by->reader);
}

/* Does not wait for the answer: spex_top_switch_take() takes it. */
int spex_top_switch_send(struct spex_top_switch *by, const char *selection,
                         struct spex_error *error) {
    if (by->unanswered == UNANSWERED_MAX)
        return spex_fail(error, -ETIMEDOUT, "the program does not answer");
    if (by->socket < 0)
        by->socket = spex_client_connect(by->process, SPEX_CLIENT_CONNECT_MS, error);
    if (by->socket < 0)
        return by->socket;
    int err = spex_client_send(by->socket, SPEX_CONTROL_SELECT, 0, selection, error);
    if (err)
        switch_disconnect(by);
    else
        by->unanswered++;
    return err;
}

/* A program closes connections that are silent, so that this end closes the connection once
 * every selection is answered. */
int spex_top_switch_take(struct spex_top_switch *by, char *line, size_t size) {
    struct spex_error error;
    int got = by->socket < 0 ? -ETIMEDOUT : spex_client_receive(by->socket, &by->reader, 0, &error);
    if (got == -ETIMEDOUT)
        return -EAGAIN;
    if (got < 0) {
        snprintf(line, size, "%s", error.text);
        switch_disconnect(by);
        return got;
    }
    if (--by->unanswered == 0)
        switch_disconnect(by);
    const char *text = by->reader.text;
    int status = by->reader.status;
    if (text[0])
        snprintf(line, size, "%s", text);
    else if (status < 0)
        snprintf(line, size, "nothing was switched: %s", strerror(-status));
    else
        snprintf(line, size, "%d probe site%s on", status, status == 1 ? " is" : "s are");
    return status;
}
