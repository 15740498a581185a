/* SPDX-License-Identifier: MIT */
/* Moves descriptors to high numbers, and checks that they still are the same file. */
#define _GNU_SOURCE
#include "base/descriptor.h"

#include <errno.h>
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

int spex_descriptor_high(int number) {
    struct rlimit numbers;
    if (getrlimit(RLIMIT_NOFILE, &numbers) != 0)
        return -1;
    rlim_t end = numbers.rlim_cur < NUMBERS_MAX ? numbers.rlim_cur : NUMBERS_MAX;
    return fcntl(number, F_DUPFD_CLOEXEC, (int)(end / 4 * 3));
}

struct spex_descriptor spex_descriptor_kept(int number) {
    struct stat now;
    if (number < 0 || fstat(number, &now) != 0)
        return SPEX_NO_DESCRIPTOR;
    return (struct spex_descriptor){number, now.st_dev, now.st_ino};
}

struct spex_descriptor spex_descriptor_of(int number) {
    struct spex_descriptor low = spex_descriptor_kept(number), high = low;
    if (low.number < 0)
        return low;
    high.number = spex_descriptor_high(number);
    if (!spex_descriptor_is_ours(&high))
        return low;
    spex_descriptor_close(&low);
    return high;
}

struct spex_descriptor spex_descriptor_brief(int number) {
    return number > STDERR_FILENO ? spex_descriptor_kept(number) : spex_descriptor_of(number);
}

/* A path that has been replaced meanwhile is no proof, either. What is no file of its own, such as
 * a link of /proc to a pipe, has none. */
bool spex_descriptor_is_at(const struct spex_descriptor *descriptor, int directory,
                           const char *path, bool follow) {
    struct stat at;
    return fstatat(directory, path, &at, follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0 &&
           at.st_dev == descriptor->device && at.st_ino == descriptor->inode;
}

ssize_t spex_descriptor_read_path(const char *path, char *text, size_t size) {
    struct spex_descriptor file = spex_descriptor_brief(open(path, O_RDONLY | O_CLOEXEC));
    ssize_t length = 0, got = -1;
    while (spex_descriptor_is_ours(&file) && (size_t)length < size - 1 &&
           (got = pread(file.number, text + length, size - 1 - (size_t)length, length)) > 0)
        length += got;
    spex_descriptor_close(&file);
    text[length] = '\0';
    return got < 0 ? -1 : length;
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

int spex_descriptor_close(struct spex_descriptor *descriptor) {
    int err = -EBADF;
    if (spex_descriptor_is_ours(descriptor))
        err = close(descriptor->number) == 0 ? 0 : -errno;
    descriptor->number = -1;
    return err;
}

void spex_descriptor_pass(struct msghdr *message, union spex_passed_descriptor *passed,
                          int number) {
    passed->head = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(number)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&passed->head), &number, sizeof(number));
    message->msg_control = passed;
    message->msg_controllen = sizeof(passed->space);
}
