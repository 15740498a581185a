/* SPDX-License-Identifier: MIT */
#include "tools/top/top_switch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "observe/control_client.h"

/* Selections that a socket holds while the program does not read them. */
enum { UNANSWERED_MAX = 32 };

void spex_top_switch_open(struct spex_top_switch *by, pid_t process) {
    *by = (struct spex_top_switch){.process = process, .socket = -1};
}

static void hang_up(struct spex_top_switch *by) {
    if (by->socket >= 0)
        close(by->socket);
    by->socket = -1;
    by->unanswered = 0;
}

void spex_top_switch_close(struct spex_top_switch *by) {
    hang_up(by);
    spex_profile_reader_free(&by->reader);
}

int spex_top_switch_send(struct spex_top_switch *by, const char *selection,
                         struct spex_error *error) {
    if (by->unanswered == UNANSWERED_MAX)
        return spex_fail(error, -ETIMEDOUT, "the program does not answer");
    if (by->socket < 0)
        by->socket = spex_client_connect(by->process, error);
    if (by->socket < 0)
        return by->socket;
    int err = spex_client_send(by->socket, SPEX_CONTROL_SELECT, 0, selection, error);
    if (err)
        hang_up(by);
    else
        by->unanswered++;
    return err;
}

/* A program closes connections that are silent, so the connection is closed here once every
 * selection is answered. */
int spex_top_switch_take(struct spex_top_switch *by, char *line, size_t size) {
    struct spex_error error;
    int got = by->socket < 0 ? -ETIMEDOUT : spex_client_receive(by->socket, &by->reader, 0, &error);
    if (got == -ETIMEDOUT || got == -EINTR)
        return -EAGAIN;
    if (got < 0) {
        snprintf(line, size, "%s", error.text);
        hang_up(by);
        return got;
    }
    if (--by->unanswered == 0)
        hang_up(by);
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
