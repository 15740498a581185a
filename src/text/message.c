/* SPDX-License-Identifier: MIT */
/* Writes each line by one call of fprintf, so that lines of several threads do not mix.
 *
 * Programs that become daemons close the three standard streams. The next file that they open, or
 * the next connection that they accept, then has such a number. */
#define _GNU_SOURCE
#include "text/message.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <spex/atomic.h>

#include "text/at_start.h"
#include "text/plain_numbers.h"
#include "text/printable.h"
#include "text/waits.h"
#include "text/write_signals.h"

/* Standard output and error as they were when the library was loaded; 0, 0: closed. */
static struct identity {
    dev_t device;
    ino_t inode;
} at_load[2] SPEX_AT_START;

__attribute__((constructor(SPEX_CONSTRUCTOR_FIRST))) static void standard_note(void) {
    struct stat found;
    for (int number = STDOUT_FILENO; number <= STDERR_FILENO; number++)
        if (fstat(number, &found) == 0)
            at_load[number - STDOUT_FILENO] = (struct identity){found.st_dev, found.st_ino};
}

static bool is_local_socket(int number) {
    int domain = 0;
    socklen_t size = sizeof(domain);
    return getsockopt(number, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

/* The one that the program was started from, and not a device that it talks to. */
static bool is_terminal(int number) {
    pid_t session = tcgetsid(number);
    return session > 0 && session == getsid(0);
}

static bool takes_output(int number, mode_t mode) {
    int flags = fcntl(number, F_GETFD);
    if (flags < 0 || flags & FD_CLOEXEC)
        return false;
    if (S_ISREG(mode))
        return fcntl(number, F_GETFL) & O_APPEND;
    return S_ISFIFO(mode) || (S_ISSOCK(mode) && is_local_socket(number)) || is_terminal(number);
}

bool spex_standard_is_open(int number) {
    struct stat now;
    if (number < 0 || fstat(number, &now) != 0)
        return false;
    if (number >= STDOUT_FILENO && number <= STDERR_FILENO) {
        const struct identity *before = &at_load[number - STDOUT_FILENO];
        if (now.st_dev == before->device && now.st_ino == before->inode)
            return true;
    }
    return takes_output(number, now.st_mode);
}

/* How long the reader of a pipe, or a terminal that is held, may keep the program waiting until it
 * is written to no more; each later line is written if there is room. */
enum { READER_MS = 200 };

/* Whether standard error is there and takes a line. The program must not wait for who reads it. */
static bool has_room(void) {
    static int wait_ms = READER_MS;
    struct pollfd out = {.fd = fileno(stderr), .events = POLLOUT};
    if (!spex_standard_is_open(out.fd))
        return false;
    bool room = spex_wait_ready(&out, 1, spex_load_relaxed(&wait_ms)) != 0;
    spex_store_relaxed(&wait_ms, room ? READER_MS : 0);
    return room;
}

/* Without the stream's lock, which a child that the program makes meanwhile could not give back. */
static void write_line(const char *line) {
    char whole[520];
    int length = snprintf(whole, sizeof(whole), "spex: %s\n", line);
    ssize_t written = write(STDERR_FILENO, whole, (size_t)length);
    (void)written;
}

/* Text of other programs may be in the arguments, so control characters are replaced. */
void spex_message(const char *format, ...) {
    struct spex_write_signals signals;
    SPEX_PLAIN_NUMBERS;
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    spex_make_printable(line);
    spex_write_signals_hold(&signals);
    if (has_room())
        write_line(line);
    spex_write_signals_release(&signals);
}
