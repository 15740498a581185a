/* SPDX-License-Identifier: MIT */
/* Descriptors of the library in a program that does not know them. The program may close all
 * numbers that it does not know, at any moment, and then get such a number for a file of its own.
 * So the library knows its files by their identity, which is taken as soon as they are open, and
 * checks it before each use and before it closes them. Those that stay open have high numbers.
 *
 * Another thread of the program can still take the number between the check and the use. The kernel
 * offers no use that is tied to a file; what is left are some 100 ns. */
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

/* Another descriptor of the same file, with a high number, which programs that get the lowest free
 * numbers do not reach; -1: there is none. */
int spex_descriptor_high(int number);

/* Takes a file that was opened just now, and that stays open: moves it to a high number where one is
 * free. SPEX_NO_DESCRIPTOR: `number` is no file; it may be -1. */
struct spex_descriptor spex_descriptor_of(int number);

/* The same without another number, for a file that the library does not close. */
struct spex_descriptor spex_descriptor_kept(int number);

/* The same for a file that is closed soon: it keeps its number, unless that is one of the three
 * standard streams, which the program may have closed. */
struct spex_descriptor spex_descriptor_brief(int number);

/* Whether the file is the one at this path, as of openat(). */
bool spex_descriptor_is_at(const struct spex_descriptor *descriptor, int directory,
                           const char *path, bool follow);

/* Reads a small file of the kernel's, of less than `size` bytes, and ends the text; returns its
 * length, or -1. What has taken the file's number meanwhile keeps its position. */
ssize_t spex_descriptor_read_path(const char *path, char *text, size_t size);

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

/* Closes the descriptor if it still is the same file, and marks it as not open. 0, or the error of
 * the close; -EBADF: it is not the same file. */
int spex_descriptor_close(struct spex_descriptor *descriptor);

#endif
