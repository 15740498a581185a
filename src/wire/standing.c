/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "wire/standing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/memory.h"
#include "wire/listening_socket.h"

enum { FILE_BYTES = 128 };

/* Whether the name of a program can be part of a file's, and be shown. */
static bool is_plain(const char *program) {
    bool plain = *program != '\0';
    for (; *program; program++)
        plain = plain && *program != '/' && (unsigned char)*program >= ' ' && *program != 0x7f;
    return plain;
}

/* The name of the file; -EINVAL for a program that can have none. */
static int file_name(const char *program, char name[FILE_BYTES]) {
    int length = snprintf(name, FILE_BYTES, "select-%s", program);
    return is_plain(program) && length < FILE_BYTES ? 0 : -EINVAL;
}

/* Whether a file is a regular one of this user or of root. */
static int check_file(int fd) {
    struct stat found;
    if (fstat(fd, &found) != 0)
        return -errno;
    return S_ISREG(found.st_mode) && (found.st_uid == geteuid() || found.st_uid == 0) ? 0 : -EPERM;
}

/* The text without the newline at its end. -E2BIG, -EINVAL: it holds a 0. */
static int read_text(int fd, char text[SPEX_CONTROL_TEXT_BYTES + 1]) {
    ssize_t got = pread(fd, text, SPEX_CONTROL_TEXT_BYTES + 1, 0);
    if (got < 0)
        return -errno;
    if (got > SPEX_CONTROL_TEXT_BYTES)
        return -E2BIG;
    text[got] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return memchr(text, '\0', (size_t)got) == text + got - 1 ? 0 : -EINVAL;
}

/* Mostly there is no such file, which spares the directory's check. */
static bool is_missing(const char *directory, const char *name) {
    char path[SPEX_CONTROL_PATH_BYTES + FILE_BYTES];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return access(path, F_OK) != 0 && errno == ENOENT;
}

static int read_file(int directory, const char *name, char **text) {
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct spex_descriptor file = spex_descriptor_brief(fd);
    int err =
        spex_descriptor_is_at(&file, directory, name, false) ? check_file(file.number) : -EBADF;
    if (!err && !(*text = spex_malloc(SPEX_CONTROL_TEXT_BYTES + 1)))
        err = -ENOMEM;
    err = err ? err : read_text(file.number, *text);
    if (err) {
        spex_free(*text);
        *text = NULL;
    }
    spex_descriptor_close(&file);
    return err;
}

int spex_standing_read(const char *directory, const char *program, char **text) {
    char name[FILE_BYTES];
    *text = NULL;
    if (file_name(program, name) != 0 || is_missing(directory, name))
        return -ENOENT;
    struct spex_descriptor place = spex_control_directory_open(directory);
    if (place.number < 0)
        return place.number;
    int err = read_file(place.number, name, text);
    spex_descriptor_close(&place);
    return err;
}

static int write_file(int directory, const char *name, const char *text) {
    int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    /* The program's user reads what root writes; nobody else can enter the directory. */
    int err = dprintf(fd, "%s\n", text) < 0 || fchmod(fd, 0644) != 0 ? -EIO : 0;
    return close(fd) != 0 || err ? -EIO : 0;
}

/* Under another name until it is complete. */
int spex_standing_write(int directory, const char *program, const char *text) {
    char name[FILE_BYTES], incomplete[FILE_BYTES + 16];
    int err = file_name(program, name);
    if (err)
        return err;
    if (!text)
        return unlinkat(directory, name, 0) == 0 || errno == ENOENT ? 0 : -errno;
    snprintf(incomplete, sizeof(incomplete), "new-%s.%d", name, (int)getpid());
    err = write_file(directory, incomplete, text);
    if (!err && renameat(directory, incomplete, directory, name) != 0)
        err = -errno;
    if (err)
        unlinkat(directory, incomplete, 0);
    return err;
}
