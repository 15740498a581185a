/* SPDX-License-Identifier: MIT */
/* The kernel begins a handler's frame with the address to which the handler returns: of code that
 * does nothing but call sigreturn. Debuggers know frames of signals by that code, and so does this
 * file. It looks at each word of the stack. What a former handler has left there may make it say
 * yes. */
#define _GNU_SOURCE
#include "base/signal_frame.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/loaded_object.h"

/* Deepest stack that is looked at. */
enum { DEEPEST = 8 << 20 };

/* Mapped code in which the code of returns may stand. */
enum { RANGES = 16 };

static struct range { uintptr_t begin, end; } ranges[RANGES];

static unsigned range_count;

/* Return addresses may be signed where a pointer has bits to spare. */
#define ADDRESS_MASK ((UINT64_C(1) << 48) - 1)

/* `mov $SYS_rt_sigreturn, %eax; syscall`, with a register of 64 or 32 bits; or `mov x8,
 * #SYS_rt_sigreturn; svc #0`. */
#if defined(__x86_64__)
static const unsigned char returns[][9] = {{0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05},
                                           {0xb8, 15, 0, 0, 0, 0x0f, 0x05}};
static const size_t return_bytes[] = {9, 7};
#else
static const unsigned char returns[][8] = {{0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4}};
static const size_t return_bytes[] = {8};
#endif

enum { RETURNS = sizeof(return_bytes) / sizeof(return_bytes[0]) };

static bool is_return(uintptr_t address) {
    for (unsigned r = 0; r < range_count; r++)
        if (address >= ranges[r].begin && address < ranges[r].end)
            for (unsigned n = 0; n < RETURNS; n++)
                if (ranges[r].end - address >= return_bytes[n] &&
                    memcmp((const void *)address, returns[n], return_bytes[n]) == 0)
                    return true;
    return false;
}

/* The objects to look at. */
struct wanted {
    uintptr_t function, kernel;
    bool program; /* the next object is the program, which comes first */
    bool function_found, full;
};

/* Only what can be read: code may be mapped for execution alone. */
static void ranges_add(const ElfW(Phdr) * segments, unsigned count, uintptr_t base,
                       struct wanted *wanted) {
    for (unsigned s = 0; s < count; s++) {
        if (segments[s].p_type != PT_LOAD || (segments[s].p_flags & (PF_X | PF_R)) != (PF_X | PF_R))
            continue;
        wanted->full |= range_count == RANGES;
        if (!wanted->full)
            ranges[range_count++] = (struct range){
                base + segments[s].p_vaddr, base + segments[s].p_vaddr + segments[s].p_memsz};
    }
}

static int object_look(struct dl_phdr_info *info, size_t size, void *user) {
    struct wanted *wanted = user;
    (void)size;
    bool program = wanted->program, function = spex_object_contains(info, wanted->function);
    wanted->program = false;
    wanted->function_found |= function && !program;
    if (program || function)
        ranges_add(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr, wanted);
    return 0;
}

/* The kernel's part is an ELF object of one segment, linked at 0. */
static void kernel_add(struct wanted *wanted) {
    const char *base = (const char *)wanted->kernel; /* NOLINT(performance-no-int-to-ptr) */
    if (!base)
        return;
    const ElfW(Ehdr) *head = (const void *)base;
    ranges_add((const void *)(base + head->e_phoff), head->e_phnum, wanted->kernel, wanted);
}

static ssize_t own_memory(void *to, const void *from, size_t bytes) {
    const struct iovec here = {.iov_base = to, .iov_len = bytes};
    const struct iovec there = {.iov_base = (void *)(uintptr_t)from, .iov_len = bytes};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0);
}

bool spex_signal_frames_expect(const void *function) {
    struct wanted wanted = {
        .function = (uintptr_t)function, .kernel = getauxval(AT_SYSINFO_EHDR), .program = true};
    uintptr_t word = 0;
    range_count = 0;
    dl_iterate_phdr(object_look, &wanted);
    kernel_add(&wanted);
    return wanted.function_found && !wanted.full &&
           own_memory(&word, &wanted.function, sizeof(word)) == sizeof(word) &&
           word == wanted.function;
}

static bool is_on_other_stack(void) {
    stack_t now;
    return syscall(SYS_sigaltstack, NULL, &now) != 0 || now.ss_flags & SS_ONSTACK;
}

/* Whether the frame of a handler begins at the address, where such a return address is: sigaction
 * leaves one on the stack, too. The frame goes on with a ucontext_t, which has the stack pointer of
 * what was interrupted, on the same stack. aarch64 has its return address in a register, which the
 * handler has saved, and sigaction leaves none. */
static bool is_frame(uintptr_t address) {
#if defined(__x86_64__)
    enum { KNOWN_FLAGS = 7, DEEPEST_FRAME = 1 << 16 };
    ucontext_t context;
    const size_t bytes = offsetof(ucontext_t, uc_mcontext.fpregs);
    if (own_memory(&context, (const void *)(address + sizeof(address)), bytes) != (ssize_t)bytes)
        return false;
    uintptr_t interrupted = (uintptr_t)context.uc_mcontext.gregs[REG_RSP];
    return !(context.uc_flags & ~(unsigned long)KNOWN_FLAGS) && !context.uc_link &&
           interrupted > address && interrupted - address < DEEPEST_FRAME;
#else
    (void)address;
    return true;
#endif
}

/* Whether a frame begins among the words, which have been read from the address. */
static bool frame_among(const uintptr_t *words, size_t count, uintptr_t address) {
    for (size_t w = 0; w < count; w++)
        if (is_return(words[w] & ADDRESS_MASK) && is_frame(address + w * sizeof(words[0])))
            return true;
    return false;
}

/* Read page by page, by a system call that fails where nothing is mapped: the stack ends there at the
 * latest. It may be that of a coroutine, in the heap; then what follows it is looked at, too. */
bool spex_signal_frame_above(void) {
    enum { PAGE = 4096 };
    uintptr_t words[PAGE / sizeof(uintptr_t)];
    uintptr_t begin = (uintptr_t)__builtin_frame_address(0) & ~(sizeof(uintptr_t) - 1), at = begin;
    int error = errno;
    bool found = is_on_other_stack();
    while (!found && at - begin < DEEPEST) {
        size_t bytes = PAGE - at % PAGE;
        if (own_memory(words, (const void *)at, bytes) != (ssize_t)bytes)
            break;
        found = frame_among(words, bytes / sizeof(words[0]), at);
        at += bytes;
    }
    errno = error;
    return found || at == begin;
}
