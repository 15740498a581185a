/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "tools/serve/commands/document.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define PAUSE_NS 1000000000ull
#define MOST_NS  (120 * PAUSE_NS)
enum { PAUSES = 4, MOST_BYTES = 16 * 1024 * 1024 };

static struct spex_document_stamp stamp_of(const char *path, const char *behind) {
    struct spex_document_stamp stamp;
    struct stat about;
    char name[4096];
    memset(&stamp, 0, sizeof(stamp));
    if ((size_t)snprintf(name, sizeof(name), "%s%s", path, behind) < sizeof(name) &&
        stat(name, &about) == 0) {
        stamp.device = about.st_dev;
        stamp.file = about.st_ino;
        stamp.bytes = about.st_size;
        stamp.modified = about.st_mtim;
    }
    return stamp;
}

/* Whether it is not as it was when it was read. */
static bool has_changed(struct spex_document *document) {
    const struct spex_document_stamp now[2] = {stamp_of(document->path, ""),
                                               stamp_of(document->path, "-wal")};
    bool written = document->is_written && document->is_written(document->path);
    if (document->version && written == document->written &&
        memcmp(now, document->stamps, sizeof(now)) == 0)
        return false;
    memcpy(document->stamps, now, sizeof(now));
    document->written = written;
    return true;
}

static bool is_same(const struct spex_document *document, const struct spex_child *child) {
    return document->text && child->text && child->bytes == document->bytes &&
           memcmp(child->text, document->text, child->bytes) == 0;
}

static void say_why(struct spex_document *document, const struct spex_child *child) {
    if (child->status == -EFBIG)
        snprintf(document->why, sizeof(document->why), "%s: more than %d MiB would be told",
                 document->path, MOST_BYTES >> 20);
    else if (child->status == -ETIMEDOUT)
        snprintf(document->why, sizeof(document->why), "%s: reading it took too long",
                 document->path);
    else
        snprintf(document->why, sizeof(document->why), "%s",
                 *child->why ? child->why : "it cannot be read");
}

static void take(void *user, struct spex_child *child) {
    struct spex_document *document = user;
    uint64_t now = spex_clock_ns(CLOCK_MONOTONIC);
    uint64_t pause = (now - document->began_ns) * PAUSES;
    bool whole = child->status == 0 && child->text;
    document->child = NULL;
    document->next_ns = now + (pause > PAUSE_NS ? pause : PAUSE_NS);
    if (whole && is_same(document, child))
        return;
    document->version++;
    free(document->text);
    document->text = whole ? child->text : NULL;
    document->bytes = whole ? child->bytes : 0;
    if (whole)
        child->text = NULL;
    else
        say_why(document, child);
}

bool spex_document_look(struct spex_document *document, struct spex_children *children,
                        uint64_t now_ns) {
    const struct spex_child_task task = {.arguments = document->arguments,
                                         .folder = -1,
                                         .most = MOST_BYTES,
                                         .most_ns = MOST_NS,
                                         .over = take,
                                         .user = document};
    if (document->child || !document->path || now_ns < document->next_ns || !has_changed(document))
        return document->child != NULL;
    document->began_ns = now_ns;
    document->child = spex_children_start(children, &task, now_ns);
    if (document->child)
        return true;
    /* It is tried again. */
    memset(document->stamps, 0, sizeof(document->stamps));
    document->next_ns = now_ns + PAUSE_NS;
    return false;
}

void spex_document_free(struct spex_document *document) {
    free(document->text);
    document->text = NULL;
}
