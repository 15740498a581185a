/* SPDX-License-Identifier: MIT */
/* Descriptors of the library in a program that does not know them. The program may close all
 * numbers that it does not know, and then get such a number for a file of its own. The library's
 * descriptors therefore have high numbers, and are checked before they are used or closed. */
#ifndef SPEX_BASE_DESCRIPTOR_H
#define SPEX_BASE_DESCRIPTOR_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

struct spex_descriptor {
    /* -1: none. */
    int number;
    /* The identity of the file, by which it is recognised. Sockets and pipes have one, too. */
    dev_t device;
    ino_t inode;
};

/* The initial value of a descriptor that is not open. */
#define SPEX_NO_DESCRIPTOR ((struct spex_descriptor){.number = -1})

/* Moves a file to a high number, which programs that get the lowest free numbers do not reach.
 * Closes `number` and returns the high one; or returns `number` when no high number is free. */
int spex_descriptor_raise(int number);

/* Raises `number`, and returns it with the identity of its file. */
struct spex_descriptor spex_descriptor_of(int number);

/* Bytes of a descriptor as text, NUMBER:DEVICE:INODE, for a program that inherits it. */
enum { SPEX_DESCRIPTOR_TEXT_BYTES = 64 };

void spex_descriptor_text(const struct spex_descriptor *descriptor,
                          char text[SPEX_DESCRIPTOR_TEXT_BYTES]);

/* Reads such a text. NULL and what cannot be read are SPEX_NO_DESCRIPTOR: only spex writes them. */
struct spex_descriptor spex_descriptor_read(const char *text);

/* Returns whether the number still is the same file. */
bool spex_descriptor_is_ours(const struct spex_descriptor *descriptor);

/* Room for a descriptor that goes with a message. */
union spex_passed_descriptor {
    struct cmsghdr head;
    char space[CMSG_SPACE(sizeof(int))];
};

/* Has the message carry the descriptor `number`; `passed` is needed until it is sent. */
void spex_descriptor_pass(struct msghdr *message, union spex_passed_descriptor *passed, int number);

/* Closes the descriptor if it still is the same file, and marks it as not open. */
void spex_descriptor_close(struct spex_descriptor *descriptor);

#endif
