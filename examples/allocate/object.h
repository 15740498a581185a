/* SPDX-License-Identifier: MIT */
/* An object on the heap, and lists of them that need no memory of their own. */
#ifndef ALLOCATE_OBJECT_H
#define ALLOCATE_OBJECT_H

#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "sizes.h"

struct object {
    struct object *next; /* of a list */
    size_t size;
};

#define PAGE 4096

/* Allocated, and used as its owner would: small ones are filled, of buffers every page is written
 * to, of tables every 32nd. */
static inline struct object *object_new(const struct request *request) {
    size_t size = request->size, step = request->zeroed ? 32 * (size_t)PAGE : PAGE;
    struct object *object = request->zeroed ? calloc(1, size) : malloc(size);
    if (!object)
        errx(1, "out of memory");
    if (size < PAGE)
        memset(object, 1, size);
    for (size_t at = 0; at < size; at += step)
        ((volatile char *)object)[at] = 1;
    object->next = NULL;
    object->size = size;
    return object;
}

static inline void objects_free(struct object *object) {
    while (object) {
        struct object *next = object->next;
        free(object);
        object = next;
    }
}

#endif
