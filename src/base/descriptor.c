/* SPDX-License-Identifier: MIT */
/* Moves descriptors to high numbers, and checks that they still are the same file. */
#define _GNU_SOURCE
#include "base/descriptor.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Descriptors are moved to the last quarter of the numbers that the process may have, but of at
 * most so many numbers, because the kernel's table of descriptors grows with the highest one. */
#define NUMBERS_MAX 1024

int spex_descriptor_raise(int number) {
    struct rlimit numbers;
    if (getrlimit(RLIMIT_NOFILE, &numbers) != 0)
        return number;
    rlim_t end = numbers.rlim_cur < NUMBERS_MAX ? numbers.rlim_cur : NUMBERS_MAX;
    int high = fcntl(number, F_DUPFD_CLOEXEC, (int)(end / 4 * 3));
    if (high < 0)
        return number;
    close(number);
    return high;
}

struct spex_descriptor spex_descriptor_of(int number) {
    struct spex_descriptor descriptor = {.number = spex_descriptor_raise(number)};
    struct stat identity = {0};
    fstat(descriptor.number, &identity);
    descriptor.device = identity.st_dev;
    descriptor.inode = identity.st_ino;
    return descriptor;
}

void spex_descriptor_text(const struct spex_descriptor *descriptor,
                          char text[SPEX_DESCRIPTOR_TEXT_BYTES]) {
    snprintf(text, SPEX_DESCRIPTOR_TEXT_BYTES, "%d:%llu:%llu", descriptor->number,
             (unsigned long long)descriptor->device, (unsigned long long)descriptor->inode);
}

struct spex_descriptor spex_descriptor_read(const char *text) {
    unsigned long long numbers[3];
    for (unsigned n = 0; n < 3; n++) {
        char *end;
        if (!text || *text < '0' || *text > '9')
            return SPEX_NO_DESCRIPTOR;
        numbers[n] = strtoull(text, &end, 10);
        text = *end == ':' ? end + 1 : NULL;
    }
    return (struct spex_descriptor){(int)numbers[0], (dev_t)numbers[1], (ino_t)numbers[2]};
}

bool spex_descriptor_is_ours(const struct spex_descriptor *descriptor) {
    struct stat now;
    return descriptor->number >= 0 && fstat(descriptor->number, &now) == 0 &&
           now.st_dev == descriptor->device && now.st_ino == descriptor->inode;
}

void spex_descriptor_close(struct spex_descriptor *descriptor) {
    if (spex_descriptor_is_ours(descriptor))
        close(descriptor->number);
    descriptor->number = -1;
}

void spex_descriptor_pass(struct msghdr *message, union spex_passed_descriptor *passed,
                          int number) {
    passed->head = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(number)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&passed->head), &number, sizeof(number));
    message->msg_control = passed;
    message->msg_controllen = sizeof(passed->space);
}
