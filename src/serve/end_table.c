/* SPDX-License-Identifier: MIT */
/* The table at the end: where it goes is checked when the collection begins, and it is written when
 * spex stops, on the thread that stops it. The text is made in memory first and written at once. */
#define _GNU_SOURCE
#include "serve/end_table.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/deadline.h"
#include "profile/table.h"
#include "serve/own_profile.h"
#include "text/message.h"

/* Where the table goes. */
struct spex_end_table {
    /* Absolute. NULL: a standard stream. */
    char *path;
    /* Standard output; otherwise standard error. */
    bool to_stdout;
};

/* Time for a pipe's or a terminal's reader to take the table. */
#define WRITE_SECONDS 2

/* Waits for nobody: a pipe that nobody reads is ENXIO. */
static int out_open(const char *path) {
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
}

/* Makes or empties the file. A file that this process or its parent has emptied before keeps its
 * contents: tables are appended. `emptied` is inherited by the children of forks, which is how they
 * know. The absolute path is kept, because the program may change its directory. */
static void file_prepare(struct spex_end_table *output, const char *out) {
    static char *emptied;
    int fd = out_open(out);
    if (fd < 0) {
        spex_message("SPEX_OUT: cannot open %s: %s; the table goes to standard error", out,
                     errno == ENXIO ? "nobody reads the pipe" : strerror(errno));
        return;
    }
    output->path = realpath(out, NULL); /* the program may change its directory */
    if (output->path && (!emptied || strcmp(emptied, output->path) != 0)) {
        /* EINVAL: a device or a pipe, which cannot be emptied and need not be. */
        if (ftruncate(fd, 0) != 0 && errno != EINVAL)
            spex_message("SPEX_OUT: cannot empty %s: %s", out, strerror(errno));
        free(emptied);
        emptied = strdup(output->path);
    }
    close(fd);
}

int spex_end_table_open(const char *out, struct spex_end_table **output) {
    struct spex_end_table *made = calloc(1, sizeof(*made));
    if (!made)
        return -ENOMEM;
    made->to_stdout = out && strcmp(out, "-") == 0;
    if (out && !made->to_stdout)
        file_prepare(made, out);
    *output = made;
    return 0;
}

void spex_end_table_abandon(struct spex_end_table *output) {
    if (output)
        free(output->path);
    free(output);
}

/* Waits until the reader has room. False, and ETIMEDOUT, at the deadline. */
static bool wait_for_room(int fd, struct spex_deadline deadline) {
    struct pollfd reader = {.fd = fd, .events = POLLOUT};
    int left = spex_deadline_left_ms(deadline);
    if (left > 0)
        poll(&reader, 1, left);
    else
        errno = ETIMEDOUT;
    return left > 0;
}

/* A signal of the program may interrupt the write. */
static bool write_all(int fd, const char *text, size_t size) {
    struct spex_deadline deadline = spex_deadline_in(WRITE_SECONDS);
    while (size > 0) {
        ssize_t written = write(fd, text, size);
        if (written < 0 && errno == EAGAIN && !wait_for_room(fd, deadline))
            return false;
        if (written < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        text += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

/* The file is opened only to write it: the program may close descriptors that it does not know, and
 * reuse their numbers. One write keeps the tables of several processes apart. */
static bool file_append(const char *path, const char *text, size_t size) {
    int fd = out_open(path);
    bool good = fd >= 0 && write_all(fd, text, size);
    if (fd >= 0 && close(fd) != 0)
        good = false;
    return good;
}

/* The standard streams are written through stdio, behind what the program has left in their
 * buffers. */
static bool output_write(const struct spex_end_table *output, const char *text, size_t size) {
    if (output->path)
        return file_append(output->path, text, size);
    FILE *file = output->to_stdout ? stdout : stderr;
    return fwrite(text, 1, size, file) == size && fflush(file) == 0;
}

/* False: errno says why. The frees may change errno, so it is saved. */
static bool table_put(const struct spex_end_table *output) {
    struct spex_profile profile;
    char *text = NULL;
    size_t size;
    errno = -spex_profile_now(&profile);
    if (errno)
        return false;
    FILE *memory = open_memstream(&text, &size);
    if (memory)
        spex_table_print(memory, &profile);
    bool good = memory && fclose(memory) == 0 && output_write(output, text, size);
    int error = errno;
    spex_profile_now_free(&profile);
    free(text);
    errno = error;
    return good;
}

void spex_end_table_finish(struct spex_end_table *output) {
    const char *standard = output->to_stdout ? "standard output" : "standard error";
    if (!table_put(output))
        spex_message("SPEX_OUT: cannot write the table to %s: %s",
                     output->path ? output->path : standard, strerror(errno));
    spex_end_table_abandon(output);
}
