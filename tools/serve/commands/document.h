/* SPDX-License-Identifier: MIT */
/* What a command of spex tells of a file as JSON, read again when the file changes: the findings of
 * an exploration, the models of kernels. */
#ifndef SPEX_TOOLS_SERVE_COMMANDS_DOCUMENT_H
#define SPEX_TOOLS_SERVE_COMMANDS_DOCUMENT_H

#include <sys/stat.h>

#include "tools/serve/commands/children.h"

/* By which a file is known to have changed. */
struct spex_document_stamp {
    dev_t device;
    ino_t file;
    off_t bytes;
    struct timespec modified;
};

/* All 0 but for the first three: nothing is read yet. */
struct spex_document {
    /* NULL: there is none. */
    const char *path;
    /* The command that tells of it. */
    const char *const *arguments;
    /* Whether somebody is writing to it now; NULL: it does not matter. */
    bool (*is_written)(const char *path);
    /* Of the file, and of the log that SQLite has beside it. */
    struct spex_document_stamp stamps[2];
    bool written;
    /* It is being read. */
    struct spex_child *child;
    uint64_t began_ns, next_ns;
    /* The text; NULL: there is none, and `why` says why. It changes with the version, which is 0
     * before the first. */
    char *text;
    size_t bytes;
    char why[256];
    unsigned version;
};

/* Begins to read it if it has changed; not more often than once a second, and with pauses of four
 * times as long as reading takes. Returns whether it is being read. */
bool spex_document_look(struct spex_document *document, struct spex_children *children,
                        uint64_t now_ns);

void spex_document_free(struct spex_document *document);

#endif
