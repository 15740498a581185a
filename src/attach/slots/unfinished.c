/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "attach/slots/unfinished.h"

#include <string.h>

#ifdef __x86_64__

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Parts of a writev, at most; and what the caller may have below its stack pointer. */
enum { PARTS_MAX = 16, RED_ZONE = 128 };

/* What the thread has on its stack meanwhile, where handlers of signals do not write: at the stack pointer, so that a longjmp out of
 * one drops it. */
struct frame {
    uint64_t written, rsi, rdx, rip;
    struct iovec parts[PARTS_MAX];
    uint8_t below[RED_ZONE];
};
_Static_assert(sizeof(struct frame) - offsetof(struct frame, parts) == 384, "as in the code");

/* The kernel clobbers %rcx in any case. Flags are those before the call. */
static const uint8_t code[] = {
    0x0f, 0x05,                                     /* syscall */
    0x9c,                                           /* pushfq */
    0x48, 0x8b, 0x4c, 0x24, 0x08,                   /* mov 8(%rsp), %rcx: written */
    0x48, 0x85, 0xc0,                               /* test %rax, %rax */
    0x79, 0x02,                                     /* jns sum */
    0x31, 0xc0,                                     /* xor %eax, %eax */
    0x48, 0x01, 0xc8,                               /* sum: add %rcx, %rax */
    0x9d,                                           /* popfq */
    0x59,                                           /* pop %rcx */
    0x5e,                                           /* pop %rsi */
    0x5a,                                           /* pop %rdx */
    0x59,                                           /* pop %rcx: rip */
    0x48, 0x8d, 0xa4, 0x24, 0x80, 0x01, 0x00, 0x00, /* lea 384(%rsp), %rsp */
    0xff, 0xe1,                                     /* jmp *%rcx */
};
enum { CALL_BYTES = 2 };
_Static_assert(sizeof(code) <= SPEX_UNFINISHED_BYTES, "no room");

void spex_unfinished_write(uint8_t bytes[SPEX_UNFINISHED_BYTES]) {
    memset(bytes, 0xcc, SPEX_UNFINISHED_BYTES);
    memcpy(bytes, code, sizeof(code));
}

bool spex_unfinished_may(long number, uint64_t count) {
    return number == SYS_write || number == SYS_sendto ||
           (number == SYS_writev && count <= PARTS_MAX);
}

/* Other files may take a part of what is written for reasons of their own. */
static bool waits_for_room(pid_t thread, uint64_t descriptor) {
    char path[64];
    struct stat file;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)thread, (int)descriptor);
    return stat(path, &file) == 0 &&
           (S_ISFIFO(file.st_mode) || S_ISSOCK(file.st_mode) || S_ISCHR(file.st_mode));
}

/* Whether a signal is waiting that ends the call in any case. */
static bool takes_signal(pid_t thread) {
    static const char *const names[] = {"SigPnd:", "ShdPnd:", "SigBlk:"};
    char path[64], text[4096];
    uint64_t sets[3] = {0};
    snprintf(path, sizeof(path), "/proc/%d/status", (int)thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    for (unsigned s = 0; s < 3; s++) {
        const char *line = strstr(text, names[s]);
        sets[s] = line ? strtoull(line + strlen(names[s]), NULL, 16) : UINT64_MAX;
    }
    return (sets[0] | sets[1]) & ~sets[2];
}

/* Takes what was written off the parts. False: all was. */
static bool advance(struct frame *frame, uint64_t *count, uint64_t written) {
    uint64_t gone = 0;
    while (gone < *count && written >= frame->parts[gone].iov_len)
        written -= frame->parts[gone++].iov_len;
    *count -= gone;
    memmove(frame->parts, frame->parts + gone, *count * sizeof(frame->parts[0]));
    if (*count) {
        frame->parts[0].iov_base = (char *)frame->parts[0].iov_base + written;
        frame->parts[0].iov_len -= written;
    }
    return *count > 0;
}

/* The rest of the call, of one that is gone on with or is not yet. */
static bool take_rest(int memory, const struct user_regs_struct *registers, struct frame *frame,
                      uint64_t stack, struct user_regs_struct *rest) {
    uint64_t written = registers->rax;
    if (registers->orig_rax != SYS_writev) {
        rest->rsi += written;
        rest->rdx -= written;
        return written < registers->rdx;
    }
    size_t bytes = registers->rdx * sizeof(frame->parts[0]);
    unsigned long long count = registers->rdx;
    if (count > PARTS_MAX ||
        pread(memory, frame->parts, bytes, (off_t)registers->rsi) != (ssize_t)bytes)
        return false;
    uint64_t left = count;
    bool any = advance(frame, &left, written);
    rest->rdx = left;
    rest->rsi = stack + offsetof(struct frame, parts);
    return any;
}

bool spex_unfinished_go_on(pid_t thread, int memory, uint64_t at,
                           struct user_regs_struct *registers) {
    struct user_regs_struct rest = *registers;
    struct frame frame = {0, registers->rsi, registers->rdx, registers->rip, {{0}}, {0}};
    const size_t kept = offsetof(struct frame, below);
    bool again = registers->rip == at + CALL_BYTES;
    uint64_t stack = again ? registers->rsp : registers->rsp - sizeof(frame);
    if (!at || (int64_t)registers->rax <= 0 ||
        !spex_unfinished_may((long)registers->orig_rax, registers->rdx) ||
        !waits_for_room(thread, registers->rdi) || takes_signal(thread) ||
        (again && pread(memory, &frame, kept, (off_t)stack) != (ssize_t)kept) ||
        !take_rest(memory, registers, &frame, stack, &rest))
        return false;
    frame.written += registers->rax;
    if (pwrite(memory, &frame, kept, (off_t)stack) != (ssize_t)kept)
        return false;
    rest.rax = registers->orig_rax;
    rest.orig_rax = (uint64_t)-1;
    rest.rip = at;
    rest.rsp = stack;
    *registers = rest;
    return true;
}

#else

void spex_unfinished_write(uint8_t bytes[SPEX_UNFINISHED_BYTES]) {
    memset(bytes, 0, SPEX_UNFINISHED_BYTES);
}

bool spex_unfinished_may(long number, uint64_t count) {
    (void)number;
    (void)count;
    return false;
}

#endif
