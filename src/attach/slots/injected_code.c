/* SPDX-License-Identifier: MIT */
#include "attach/slots/injected_code.h"

#ifdef __x86_64__

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>

/* What the kernel returns of a call that is to be made again (include/linux/errno.h). */
enum { RESTART_FIRST = 512, RESTART_LAST = 514, RESTART_BY_BLOCK = 516, CALL_BYTES = 2 };

enum reg { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11 };

struct code {
    uint8_t *bytes;
    size_t count;
};

static void put(struct code *code, const void *bytes, size_t count) {
    memcpy(code->bytes + code->count, bytes, count);
    code->count += count;
}

static void put_byte(struct code *code, unsigned byte) {
    code->bytes[code->count++] = (uint8_t)byte;
}

/* movabs */
static void put_value(struct code *code, enum reg reg, uint64_t value) {
    put_byte(code, reg >= R8 ? 0x49 : 0x48);
    put_byte(code, 0xb8 + reg % R8);
    put(code, &value, sizeof(value));
}

/* mov of 4 bytes with a sign. */
static void put_small(struct code *code, enum reg reg, int32_t value) {
    put_byte(code, reg >= R8 ? 0x49 : 0x48);
    put_byte(code, 0xc7);
    put_byte(code, 0xc0 + reg % R8);
    put(code, &value, sizeof(value));
}

static void put_argument(struct code *code, enum reg reg, uint64_t value) {
    if (value <= INT32_MAX)
        put_small(code, reg, (int32_t)value);
    else
        put_value(code, reg, value);
}

/* Returns where the distance to the end belongs, to be jumped to unless the result is the expected one. */
static size_t put_call(struct code *code, const struct spex_injected_call *call) {
    static const enum reg places[] = {RDI, RSI, RDX, R10};
    static const uint8_t make[] = {0x0f, 0x05}; /* syscall */
    static const uint8_t compare[] = {
        0x48, 0x8d, 0x0c, 0x01, /* lea (%rcx,%rax), %rcx */
        0xe3, 5,                /* jrcxz, over the jump, as it reads no flags */
        0xe9,                   /* jmp */
    };
    put_argument(code, RAX, call->number);
    for (unsigned a = 0; a < 4; a++)
        put_argument(code, places[a], call->arguments[a]);
    put_small(code, R8, -1);
    put_small(code, R9, 0);
    put(code, make, sizeof(make));
    put_value(code, RCX, -call->result);
    put(code, compare, sizeof(compare));
    code->count += 4;
    return code->count - 4;
}

/* As the kernel does, a call that was interrupted is made again. */
static void set_resumed(const struct user_regs_struct *registers, uint64_t *rax, uint64_t *rip) {
    int64_t result = (int64_t)registers->rax;
    bool called = (int64_t)registers->orig_rax >= 0;
    *rax = registers->rax;
    *rip = registers->rip;
    if (called && result <= -RESTART_FIRST && result >= -RESTART_LAST)
        *rax = registers->orig_rax;
    else if (called && result == -RESTART_BY_BLOCK)
        *rax = SYS_restart_syscall;
    else
        return;
    *rip -= CALL_BYTES;
}

static void put_registers(struct code *code, const struct user_regs_struct *registers) {
    static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *(%rip), to what follows */
    uint64_t rax, rip;
    set_resumed(registers, &rax, &rip);
    put_value(code, RAX, rax);
    put_value(code, RCX, registers->rcx);
    put_value(code, RDX, registers->rdx);
    put_value(code, RSI, registers->rsi);
    put_value(code, RDI, registers->rdi);
    put_value(code, R8, registers->r8);
    put_value(code, R9, registers->r9);
    put_value(code, R10, registers->r10);
    put_value(code, R11, registers->r11);
    put(code, jump, sizeof(jump));
    put(code, &rip, sizeof(rip));
}

static void jump_to_end(const struct code *code, size_t from) {
    int32_t distance = (int32_t)(code->count - from - 4);
    memcpy(code->bytes + from, &distance, sizeof(distance));
}

/* The blocked signals are the last bytes. */
void spex_injected_code_write(const struct spex_injection *injection,
                              const struct user_regs_struct *registers, uint64_t blocked,
                              uint8_t bytes[SPEX_INJECTION_BYTES]) {
    const size_t signals = SPEX_INJECTION_BYTES - sizeof(blocked);
    const struct spex_injected_call block = {
        SYS_rt_sigprocmask, {SIG_SETMASK, injection->room + signals, 0, sizeof(blocked)}, 0};
    struct code code = {.bytes = bytes};
    size_t failed[SPEX_INJECTION_CALLS];
    memset(bytes, 0xcc, SPEX_INJECTION_BYTES);
    memcpy(bytes + signals, &blocked, sizeof(blocked));
    for (unsigned c = 0; c < injection->count; c++)
        failed[c] = put_call(&code, &injection->calls[c]);
    for (unsigned c = 0; c < injection->count; c++)
        jump_to_end(&code, failed[c]);
    jump_to_end(&code, put_call(&code, &block));
    put_registers(&code, registers);
}

#endif
