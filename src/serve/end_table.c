/* SPDX-License-Identifier: MIT */
/* The table at the end: where it goes is checked when the collection begins, and it is written when
 * spex stops, on the thread that stops it. The text is made in memory first and written at once. */
#define _GNU_SOURCE
#include "serve/end_table.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/files/trusted_path.h"
#include "base/memory/memory.h"
#include "base/terminal.h"
#include "profile/table.h"
#include "serve/own_profile.h"
#include "text/message.h"
#include "text/waits.h"
#include "text/write_signals.h"

/* How long the reader of a pipe, or a terminal that is held, may keep the program waiting each time
 * it is full. */
enum { READER_MS = 2000 };

/* The process in which there was the first table; its children inherit it. 0: there was none. */
static pid_t first_process;

/* Where the table goes. */
struct spex_end_table {
    /* Absolute. NULL: a standard stream. */
    char *path;
    /* Standard output; otherwise standard error. */
    bool to_stdout;
    /* Found early: threads may change the environment later, and a sandbox that the program enters may
     * end it for asking a terminal. */
    unsigned width;
    bool verbose;
};

/* Opens the file to append to it, and makes it if it is not there. The program must not wait:
 * -ENXIO where nobody reads a pipe. */
static struct spex_descriptor file_open(const char *path) {
    int fd =
        spex_path_open(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return (struct spex_descriptor){.number = fd};
    return spex_descriptor_brief(fd);
}

/* Makes or empties the file. A file that this process or its parent has emptied before keeps its
 * contents: tables are appended. `emptied` is inherited by the children of forks, which is how they
 * know. The absolute path is kept, because the program may change its directory. */
static void file_prepare(struct spex_end_table *output, const char *out) {
    static char *emptied;
    struct spex_descriptor file = file_open(out);
    if (file.number < 0) {
        spex_message("SPEX_OUT: cannot open %s: %s; the table goes to standard error", out,
                     strerror(-file.number));
        return;
    }
    output->path = realpath(out, NULL); /* the program may change its directory */
    if (output->path && (!emptied || strcmp(emptied, output->path) != 0)) {
        /* EINVAL: a device or a pipe, which cannot be emptied and need not be. */
        if (spex_descriptor_is_ours(&file) && ftruncate(file.number, 0) != 0 && errno != EINVAL)
            spex_message("SPEX_OUT: cannot empty %s: %s", out, strerror(errno));
        spex_free(emptied);
        emptied = spex_strdup(output->path);
    }
    spex_descriptor_close(&file);
}

/* A pipe has a reader when the table is written. Opening and closing it now would end the reader's
 * input. */
static bool is_pipe(const char *out) {
    struct stat found;
    return stat(out, &found) == 0 && S_ISFIFO(found.st_mode);
}

static FILE *stream_of(const struct spex_end_table *output) {
    return output->to_stdout ? stdout : stderr;
}

int spex_end_table_open(const char *out, bool verbose, struct spex_end_table **output) {
    struct spex_end_table *made = spex_calloc(1, sizeof(*made));
    if (!made)
        return -ENOMEM;
    made->to_stdout = out && strcmp(out, "-") == 0;
    made->verbose = verbose;
    if (out && !made->to_stdout && is_pipe(out))
        made->path = realpath(out, NULL);
    else if (out && !made->to_stdout)
        file_prepare(made, out);
    made->width = spex_text_width();
    if (!made->path)
        made->width = spex_terminal_width(stream_of(made), made->width);
    if (!first_process)
        first_process = getpid();
    *output = made;
    return 0;
}

void spex_end_table_abandon(struct spex_end_table *output) {
    if (output)
        spex_free(output->path);
    spex_free(output);
}

/* Writes `part` bytes at once, where there is room. A signal of the program may interrupt it. False
 * with EAGAIN: a pipe stays full. */
static bool write_all(const struct spex_descriptor *to, const char *text, size_t size,
                      size_t part) {
    struct pollfd full = {.fd = to->number, .events = POLLOUT};
    while (size > 0) {
        bool room = spex_wait_ready(&full, 1, READER_MS) != 0, ours = spex_descriptor_is_ours(to);
        ssize_t written = room && ours ? write(to->number, text, size < part ? size : part) : -1;
        if (!room || !ours)
            errno = ours ? EAGAIN : EBADF;
        if (!room || !ours || (written < 0 && errno != EINTR && errno != EAGAIN))
            return false;
        text += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

/* The file is opened only to write it: the program may close descriptors that it does not know, and
 * reuse their numbers. One write keeps the tables of several processes apart. */
static bool file_append(const char *path, const char *text, size_t size) {
    struct spex_descriptor file = file_open(path);
    int fd = file.number;
    bool good = fd >= 0 && write_all(&file, text, size, size);
    int err = fd < 0 ? fd : good ? spex_descriptor_close(&file) : -errno;
    spex_descriptor_close(&file);
    errno = -err;
    return !err;
}

/* Writes behind what the program has left in the stream's buffer. The stream may block: a pipe with
 * room takes PIPE_BUF bytes at once. */
static bool stream_append(FILE *file, const char *text, size_t size) {
    struct pollfd out = {.fd = fileno(file), .events = POLLOUT};
    errno = EBADF;
    if (!spex_standard_is_open(out.fd))
        return false;
    struct spex_descriptor stream = spex_descriptor_kept(out.fd);
    errno = EAGAIN;
    return spex_wait_ready(&out, 1, READER_MS) != 0 && fflush(file) == 0 &&
           write_all(&stream, text, size, PIPE_BUF);
}

static bool output_write(const struct spex_end_table *output, const char *text, size_t size) {
    struct spex_write_signals signals;
    spex_write_signals_hold(&signals);
    bool good = output->path ? file_append(output->path, text, size)
                             : stream_append(stream_of(output), text, size);
    spex_write_signals_release(&signals);
    return good;
}

/* A table of a child of a fork comes beside others in one place. */
static void print(FILE *file, const struct spex_profile *profile,
                  const struct spex_end_table *output) {
    const struct spex_table_look look = {.width = output->width, .verbose = output->verbose};
    if (getpid() != first_process)
        fprintf(file, "process %d, a child of a fork:\n", (int)getpid());
    spex_table_print(file, profile, look);
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
        print(memory, &profile, output);
    bool good = memory && fclose(memory) == 0 && output_write(output, text, size);
    int error = errno;
    spex_profile_now_free(&profile);
    spex_free(text);
    errno = error;
    return good;
}

void spex_end_table_finish(struct spex_end_table *output) {
    const char *standard = output->to_stdout ? "standard output" : "standard error";
    if (!table_put(output))
        spex_message("SPEX_OUT: cannot write the table to %s: %s",
                     output->path ? output->path : standard,
                     errno == ENXIO || errno == EAGAIN ? "nobody reads it" : strerror(errno));
    spex_end_table_abandon(output);
}
