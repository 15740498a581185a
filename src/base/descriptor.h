/* SPDX-License-Identifier: MIT */
/* Descriptors in a stranger's program, which may close what it does not know and get the same number for a
 * file of its own: they keep out of its way, and are looked at before they are used. */
#ifndef SPEX_BASE_DESCRIPTOR_H
#define SPEX_BASE_DESCRIPTOR_H

#include <stdbool.h>
#include <sys/types.h>

struct spex_descriptor {
    int number;   /* -1: none */
    dev_t device; /* the file's identity; */
    ino_t inode;  /* sockets and pipes have one of their own */
};

#define SPEX_NO_DESCRIPTOR ((struct spex_descriptor){.number = -1})

/* The same file under a high number, which programs that count upwards do not reach; `number` itself where
 * there is none. `number` is closed otherwise. */
int spex_descriptor_raise(int number);

/* `number` raised, with its identity. */
struct spex_descriptor spex_descriptor_of(int number);

/* Whether the number still stands for that file. */
bool spex_descriptor_is_ours(const struct spex_descriptor *descriptor);

/* Closes it, if it is ours still. */
void spex_descriptor_close(struct spex_descriptor *descriptor);

#endif
