/* SPDX-License-Identifier: MIT */
/* Trampolines of functions that are made here, executed with all registers and flags. */
#include "attach/patches/trampoline.h"

#include <sys/mman.h>

#include "../check.h"
#include "attach/code/decode.h"

#ifdef __x86_64__

/* Registers but the stack pointer, flags, and what is below the stack pointer of a function's caller. */
enum {
    RAX,
    RBX,
    RCX,
    RDX,
    RSI,
    RDI,
    RBP,
    R8,
    R15 = 14,
    FLAGS,
    BELOW,
    BELOW_WORDS = 12,
    ALL = BELOW + BELOW_WORDS
};
enum { FLAGS_SET = 0x202, FLAGS_FREE = 0xcd5 };

/* Calls a function with these, and sets them to what they are afterwards. */
void trampolines_call(void (*function)(void), uint64_t all[ALL]);
__asm__(".text\n"
        ".type trampolines_call, @function\n"
        "trampolines_call:\n"
        "push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
        "push %rsi\n push %rdi\n"
        "mov $12, %ecx\n"
        "1: mov 120(%rsi,%rcx,8), %rax\n neg %rcx\n mov %rax, -16(%rsp,%rcx,8)\n neg %rcx\n"
        "dec %ecx\n jnz 1b\n"
        "pushq 120(%rsi)\n popfq\n"
        "mov 0(%rsi), %rax\n mov 8(%rsi), %rbx\n mov 16(%rsi), %rcx\n mov 24(%rsi), %rdx\n"
        "mov 40(%rsi), %rdi\n mov 48(%rsi), %rbp\n mov 56(%rsi), %r8\n mov 64(%rsi), %r9\n"
        "mov 72(%rsi), %r10\n mov 80(%rsi), %r11\n mov 88(%rsi), %r12\n mov 96(%rsi), %r13\n"
        "mov 104(%rsi), %r14\n mov 112(%rsi), %r15\n mov 32(%rsi), %rsi\n"
        "call *(%rsp)\n"
        "pushfq\n push %rsi\n mov 24(%rsp), %rsi\n"
        "mov %rax, 0(%rsi)\n mov %rbx, 8(%rsi)\n mov %rcx, 16(%rsi)\n mov %rdx, 24(%rsi)\n"
        "mov %rdi, 40(%rsi)\n mov %rbp, 48(%rsi)\n mov %r8, 56(%rsi)\n mov %r9, 64(%rsi)\n"
        "mov %r10, 72(%rsi)\n mov %r11, 80(%rsi)\n mov %r12, 88(%rsi)\n mov %r13, 96(%rsi)\n"
        "mov %r14, 104(%rsi)\n mov %r15, 112(%rsi)\n"
        "pop %rax\n mov %rax, 32(%rsi)\n pop %rax\n mov %rax, 120(%rsi)\n cld\n"
        "mov $12, %ecx\n"
        "2: neg %rcx\n mov -16(%rsp,%rcx,8), %rax\n neg %rcx\n mov %rax, 120(%rsi,%rcx,8)\n"
        "dec %ecx\n jnz 2b\n"
        "pop %rdi\n pop %rsi\n"
        "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n ret\n"
        ".size trampolines_call, . - trampolines_call\n");

/* The code, the gate, counters, a page with a function, and one with data. */
enum { FUNCTION = 3 * SPEX_STUB_PAGE, DATA = 4 * SPEX_STUB_PAGE, BYTES = 5 * SPEX_STUB_PAGE };
static uint8_t *region;
static uint64_t chance = 1;

static int make_region(void **state) {
    (void)state;
    region =
        mmap(NULL, BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return region == MAP_FAILED;
}

static unsigned below(unsigned count) {
    return (unsigned)(random_next(&chance) >> 33) % count;
}

/* A register, but the stack pointer. */
static unsigned some_register(void) {
    unsigned reg = below(7);
    return reg + (reg >= 4);
}

static size_t put_rex(uint8_t *code, unsigned opcode) {
    code[0] = (uint8_t)(0x48 | (below(2) ? 4 : 0) | (below(2) ? 1 : 0));
    if (code[0] & 1 || opcode == 0x8b)
        code[0] &= 0x4d;
    return 1;
}

/* An instruction between two registers that have these numbers or 8 more. */
static size_t put_registers(uint8_t *code, const uint8_t *opcode, size_t bytes) {
    size_t at = put_rex(code, *opcode);
    memcpy(code + at, opcode, bytes);
    code[at + bytes] = (uint8_t)(0xc0 | some_register() << 3 | some_register());
    return at + bytes + 1;
}

/* One with a word of the data at a relative address, and `more` bytes behind that. */
static size_t put_data(uint8_t *code, const uint8_t *opcode, size_t bytes, unsigned reg,
                       size_t more) {
    memcpy(code, opcode, bytes);
    code[bytes] = (uint8_t)(0x05 | reg << 3);
    int32_t distance = (int32_t)(region + DATA + 8 * (size_t)below(64) - (code + bytes + 5 + more));
    memcpy(code + bytes + 1, &distance, sizeof(distance));
    for (size_t m = 0; m < more; m++)
        code[bytes + 5 + m] = (uint8_t)below(256);
    return bytes + 5 + more;
}

/* Some instruction, at its place in the function. */
static size_t put_any(uint8_t *code) {
    static const uint8_t nop[] = {0x0f, 0x1f, 0x44, 0, 0};
    static const uint8_t two[][2] = {
        {0x0f, 0x44}, {0x0f, 0x4c}, {0x0f, 0x42}, {0x0f, 0xaf}, {0x0f, 0xb6}};
    static const uint8_t one[] = {0x01, 0x09, 0x11, 0x19, 0x21, 0x29, 0x31, 0x39, 0x85, 0x89, 0x8b};
    static const uint8_t data[][3] = {{0x48, 0x8b}, {0x48, 0x8d}, {0x48, 0x03},
                                      {0x48, 0x89}, {0x48, 0x01}, {0x48, 0x3b}};
    switch (below(9)) {
    case 0:
        return put_registers(code, two[below(COUNT_OF(two))], 2);
    case 1:
        return put_registers(code, &one[below(COUNT_OF(one))], 1);
    case 2:
        return put_data(code, data[below(COUNT_OF(data))], 2, some_register(), 0);
    case 3: /* cmpb $…, …(%rip) */
        return put_data(code, (const uint8_t[]){0x80}, 1, 7, 1);
    case 4: /* movq $…, …(%rip) */
        return put_data(code, (const uint8_t[]){0x48, 0xc7}, 2, 0, 4);
    case 5: /* setc and others */
        code[0] = 0x0f;
        code[1] = (uint8_t)(0x90 + below(16));
        code[2] = (uint8_t)(0xc0 + below(4));
        return 3;
    case 6:
        code[0] = 0x50;
        code[0] |= (uint8_t)some_register();
        return 1;
    case 7:
        memcpy(code, nop, sizeof(nop));
        return sizeof(nop);
    default: /* xor $…, register */
        code[0] = 0x48;
        code[1] = 0x83;
        code[2] = (uint8_t)(0xc0 | below(8) << 3 | some_register());
        code[3] = (uint8_t)below(256);
        return 4;
    }
}

/* Makes a function of some instructions, which gives up what it has pushed. */
static void make_function(uint8_t *code, struct spex_patchable *patch) {
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa}, lea[] = {0x48, 0x8d, 0xa4, 0x24};
    size_t size = 0;
    int32_t pushed = 0;
    if (below(2)) {
        memcpy(code, endbr64, sizeof(endbr64));
        size = 4;
    }
    for (unsigned i = 0; i < 8; i++) {
        struct spex_instruction instruction;
        size_t bytes = put_any(code + size);
        assert_true(spex_decode(code + size, bytes, (uintptr_t)code + size, &instruction));
        assert_int_equal(instruction.bytes, bytes);
        pushed += (int32_t)instruction.sinks;
        size += bytes;
    }
    memcpy(code + size, lea, sizeof(lea));
    memcpy(code + size + 4, &pushed, sizeof(pushed));
    code[size + 8] = 0xc3;
    spex_patchable_find(code, size + 9, (uintptr_t)code, patch);
    assert_null(patch->refused);
    assert_false(patch->may_fault);
}

static void fill_data(uint64_t seed) {
    for (size_t w = 0; w < SPEX_STUB_PAGE / 8; w++) {
        uint64_t word = random_next(&seed);
        memcpy(region + DATA + 8 * w, &word, sizeof(word));
    }
}

/* Has the trampoline with a number count, and the function jump to it. */
static void patch_function(const struct spex_patchable *patch, unsigned number, bool on) {
    uint64_t code = (uintptr_t)region, gate = on;
    uint8_t *first = region + (patch->address - code);
    struct spex_moved moved = {.address = patch->address, .bytes = patch->bytes}, read;
    uint8_t *there = region + (spex_trampoline_at(code, number) - code);
    memcpy(moved.before, first, patch->bytes);
    memset(region, 0, SPEX_STUB_PAGE);
    assert_true(spex_trampoline_is_free(there));
    assert_true(spex_trampoline_write(code, number, &moved, there));
    assert_false(spex_trampoline_is_free(there));
    assert_true(spex_trampoline_read(code, number, there, &read));
    assert_int_equal(read.address, moved.address);
    assert_int_equal(read.bytes, moved.bytes);
    assert_memory_equal(read.before, moved.before, moved.bytes);
    memcpy(region + (spex_trampoline_gate(code, number) - code), &gate, sizeof(gate));
    spex_trampoline_jump(patch->address, spex_trampoline_at(code, number), first);
}

static void moved_instructions_do_the_same(void **state) {
    (void)state;
    if (!spex_can_decode())
        skip();
    for (unsigned turn = 0; turn < 20000; turn++) {
        struct spex_patchable patch;
        uint64_t all[ALL], patched[ALL];
        uint8_t data[SPEX_STUB_PAGE], *code = region + FUNCTION + below(64);
        void (*function)(void) = (void (*)(void))(uintptr_t)code;
        make_function(code, &patch);
        for (unsigned a = 0; a < ALL; a++)
            all[a] = patched[a] = random_next(&chance);
        all[FLAGS] = patched[FLAGS] = (all[FLAGS] & FLAGS_FREE) | FLAGS_SET;
        fill_data(turn);
        trampolines_call(function, all);
        memcpy(data, region + DATA, sizeof(data));
        fill_data(turn);
        memset(region + 2 * SPEX_STUB_PAGE, 0, SPEX_STUB_PAGE);
        patch_function(&patch, 0, turn % 2);
        trampolines_call(function, patched);
        assert_memory_equal(patched, all, BELOW * sizeof(all[0]));
        assert_memory_equal(region + DATA, data, sizeof(data));
        assert_int_equal(spex_stub_calls(region + 2 * SPEX_STUB_PAGE), turn % 2);
    }
}

/* A function that is reached with something below its stack pointer finds it there. */
static void what_is_below_the_stack_pointer_stays(void **state) {
    static const uint8_t nothing[] = {0x0f, 0x1f, 0x44, 0, 0, 0xc3};
    uint64_t all[ALL], patched[ALL];
    struct spex_patchable patch;
    (void)state;
    if (!spex_can_decode())
        skip();
    memcpy(region + FUNCTION, nothing, sizeof(nothing));
    spex_patchable_find(region + FUNCTION, sizeof(nothing), (uintptr_t)region + FUNCTION, &patch);
    assert_null(patch.refused);
    patch_function(&patch, 0, true);
    for (unsigned a = 0; a < ALL; a++)
        all[a] = patched[a] = random_next(&chance);
    all[FLAGS] = patched[FLAGS] = FLAGS_SET;
    trampolines_call((void (*)(void))(uintptr_t)(region + FUNCTION), patched);
    assert_memory_equal(patched + BELOW, all + BELOW, BELOW_WORDS * sizeof(all[0]));
}

static void others_are_not_recognized(void **state) {
    struct spex_moved moved = {.address = 0x7f298c6f3000, .bytes = 5}, read;
    uint8_t bytes[SPEX_TRAMPOLINE_BYTES];
    const uint64_t code = 0x7f298c000000;
    (void)state;
    if (!spex_can_decode())
        skip();
    memset(moved.before, 0x90, moved.bytes);
    assert_true(spex_trampoline_write(code, 3, &moved, bytes));
    assert_true(spex_trampoline_read(code, 3, bytes, &read));
    assert_false(spex_trampoline_read(code, 4, bytes, &read));
    assert_false(spex_trampoline_read(code + SPEX_STUB_PAGE, 3, bytes, &read));
    for (unsigned b = 0; b < sizeof(bytes); b++) {
        bytes[b] ^= 1;
        /* Another function may be as far; the bytes that would be put back are then others, and still instructions. */
        assert_true(!spex_trampoline_read(code, 3, bytes, &read) || read.address != moved.address ||
                    memcmp(read.before, moved.before, moved.bytes) != 0);
        bytes[b] ^= 1;
    }
}

static void what_is_too_far_is_refused(void **state) {
    struct spex_moved moved = {
        .address = 0x7f298c6f3000, .bytes = 7, .before = {0x48, 0x8b, 0x05, 0, 0, 0, 0x40}};
    uint8_t bytes[SPEX_TRAMPOLINE_BYTES];
    (void)state;
    if (!spex_can_decode())
        skip();
    assert_true(spex_trampoline_write(moved.address - 0x1000, 0, &moved, bytes));
    assert_false(spex_trampoline_write(moved.address - 0x50000000, 0, &moved, bytes));
    assert_true(spex_trampoline_write(moved.address + 0x50000000, 0, &moved, bytes));
    assert_false(spex_trampoline_write(moved.address + 0x100000000, 0, &moved, bytes));
}

/* Whatever the bytes are: what can be moved has the same instructions elsewhere. */
static void any_bytes(void **state) {
    unsigned found = 0;
    (void)state;
    if (!spex_can_decode())
        skip();
    for (unsigned turn = 0; turn < 300000; turn++) {
        uint8_t code[24], moved[SPEX_MOVED_BYTES_MAX];
        struct spex_patchable patch;
        uint64_t from = 0x400000 + below(8192), to = 0x10000000 + below(8192);
        size_t size = below(sizeof(code) + 1);
        for (size_t b = 0; b < size; b++)
            code[b] = (uint8_t)below(256);
        spex_patchable_find(code, size, from, &patch);
        if (patch.refused)
            continue;
        const uint8_t *first = code + (patch.address - from);
        assert_in_range(patch.bytes, SPEX_PATCH_BYTES, SPEX_MOVED_BYTES_MAX);
        if (!spex_patchable_move(first, patch.bytes, patch.address, to, moved))
            continue;
        found++;
        for (unsigned at = 0; at < patch.bytes;) {
            struct spex_instruction one, other;
            assert_true(spex_decode(first + at, patch.bytes - at, patch.address + at, &one));
            assert_true(spex_decode(moved + at, patch.bytes - at, to + at, &other));
            assert_int_equal(one.bytes, other.bytes);
            assert_int_equal(one.flow, SPEX_FLOW_ON);
            at += one.bytes;
        }
    }
    assert_true(found > 1000);
}

#else

static int make_region(void **state) {
    (void)state;
    return 0;
}

#endif

int main(void) {
    const struct CMUnitTest tests[] = {
#ifdef __x86_64__
        cmocka_unit_test(moved_instructions_do_the_same),
        cmocka_unit_test(what_is_below_the_stack_pointer_stays),
        cmocka_unit_test(others_are_not_recognized),
        cmocka_unit_test(what_is_too_far_is_refused),
        cmocka_unit_test(any_bytes),
#endif
    };
#ifndef __x86_64__
    puts("SKIP: trampolines are for x86-64");
    return 77;
#endif
    return cmocka_run_group_tests(tests, make_region, NULL);
}
