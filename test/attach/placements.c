/* SPDX-License-Identifier: MIT */
/* Where breakpoints go in functions that are assembled here by hand. */
#include <stdio.h>
#include <string.h>

#include "../check.h"
#include "attach/code/decode.h"
#include "attach/code/placement.h"

enum { ENTRY = 0x1000, COLD = 0x2000, OTHER = 0x3000 };

/* What is outside of a function: another function at OTHER, and perhaps a part of it at COLD. */
struct outside {
    struct spex_code part;
    /* An address to which code elsewhere jumps; 0: none. */
    uint64_t reached;
};

static enum spex_beyond beyond(void *user, uint64_t address, struct spex_code *part) {
    const struct outside *outside = user;
    *part = outside->part;
    if (address - outside->part.address < outside->part.size)
        return SPEX_BEYOND_PART;
    return address == OTHER ? SPEX_BEYOND_FUNCTION : SPEX_BEYOND_UNKNOWN;
}

static bool reached(void *user, uint64_t from, uint64_t to) {
    const struct outside *outside = user;
    return outside->reached > from && outside->reached <= to;
}

static struct spex_placement place(const char *code, size_t size, struct outside outside) {
    struct spex_placement placement;
    const struct spex_function_code function = {.code = {(const uint8_t *)code, ENTRY, size},
                                                .bounded = true,
                                                .user = &outside,
                                                .beyond = beyond,
                                                .reached = reached};
    spex_place(&function, &placement);
    return placement;
}

/* Code as text with its zeros. */
#define PLACE(code, ...) place(code, sizeof(code) - 1, (struct outside){__VA_ARGS__})

static void expect_entry(const struct spex_placement *placement, unsigned into, enum spex_hit hit,
                         int64_t sunk, const char *why) {
    assert_null(placement->refused);
    assert_int_equal(placement->entry.address, ENTRY + into);
    assert_int_equal(placement->entry.hit, hit);
    assert_int_equal(placement->entry.sunk, sunk);
    assert_string_equal(placement->why, why);
}

/* mov %rdi,%rax; mov %rax,%rdx; push %rbx; pop %rbx; ret: the third argument is overwritten before the push. */
static void arguments_are_still_there(void **state) {
    static const char text[] = "\x48\x89\xf8\x48\x89\xc2\x53\x5b\xc3";
    (void)state;
    if (!spex_can_decode())
        skip();
    struct spex_placement placement = PLACE(text, .reached = 0);
    assert_int_equal(placement.entry.written, 1 << 2);
    spex_place_for_arguments(&placement, 1 << 0 | 1 << 1 | 1 << 5);
    expect_entry(&placement, 6, SPEX_HIT_PUSH, 0, "its first instruction would be stepped");
    spex_place_for_arguments(&placement, 1 << 0 | 1 << 2);
    expect_entry(&placement, 0, SPEX_HIT_STEPPED, 0,
                 "an argument is overwritten before a cheaper instruction");
    assert_int_equal(placement.begin.address, ENTRY);
}

/* The same behind an instruction that can have no breakpoint: lock incq (%rdi). */
static void arguments_that_are_gone(void **state) {
    static const char text[] = "\xf0\x48\xff\x07\x48\x89\xc2\x53\x5b\xc3";
    (void)state;
    if (!spex_can_decode())
        skip();
    struct spex_placement placement = PLACE(text, .reached = 0);
    spex_place_for_arguments(&placement, 1 << 0);
    assert_null(placement.refused);
    spex_place_for_arguments(&placement, 1 << 2);
    assert_string_equal(placement.refused,
                        "its arguments are overwritten before there can be a breakpoint");
}

/* What begins a function, and why a jump cannot be there; NULL: it can, at an address, in the place of so many bytes. */
struct patched {
    const char *code;
    size_t size;
    const char *refused;
    unsigned into, bytes;
};
#define PATCHED(code, into, bytes)                                                                 \
    { code, sizeof(code) - 1, NULL, into, bytes }
#define UNPATCHED(code, refused)                                                                   \
    { code, sizeof(code) - 1, refused, 0, 0 }

static void patches_are_where_nothing_leads(void **state) {
    static const char unmovable[] = "one of its first instructions cannot be moved";
    static const struct patched known[] = {
        /* push %rbp; mov %rsp,%rbp; pop %rbp; ret */
        PATCHED("\x55\x48\x89\xe5\x5d\xc3", 0, 5),
        /* endbr64; push %rbp; mov %rsp,%rbp; sub $16,%rsp; leave; ret */
        PATCHED("\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\x48\x83\xec\x10\xc9\xc3", 4, 8),
        /* mov 1(%rip),%rax; ret */
        PATCHED("\x48\x8b\x05\1\0\0\0\xc3", 0, 7),
        /* xor %eax,%eax; ret */
        UNPATCHED("\x31\xc0\xc3", unmovable),
        UNPATCHED("\x31\xc0\x90\x90", "it is too short for a jump"),
        /* sub $8,%rsp; call; jmp; ret; syscall; int3; ud2; rdtsc */
        UNPATCHED("\x48\x83\xec\x08\xe8\0\0\0\0\xc3", unmovable),
        UNPATCHED("\xe9\0\x20\0\0\xc3", unmovable),
        UNPATCHED("\x89\xf8\x0f\x05\x90\xc3", unmovable),
        UNPATCHED("\xcc\x90\x90\x90\x90\xc3", unmovable),
        UNPATCHED("\x90\x0f\x0b\x90\x90\xc3", unmovable),
        UNPATCHED("\x0f\x31\x90\x90\x90\xc3", unmovable),
        /* test %edi,%edi; je to the end */
        UNPATCHED("\x85\xff\x74\x01\x90\xc3", unmovable),
        /* loop; and endbr64 where an indirect jump may lead */
        UNPATCHED("\x89\xf8\xe2\xfc\x90\xc3", unmovable),
        UNPATCHED("\x90\xf3\x0f\x1e\xfa\xc3", unmovable),
        UNPATCHED("\x06\x90\x90\x90\x90\xc3", "its first instructions cannot be decoded"),
        /* A jump back to the second instruction, and to the one behind the jump. */
        UNPATCHED("\x90\x48\x89\xf8\x90\xff\xc8\x75\xf8\xc3",
                  "a branch leads into its first instructions"),
        PATCHED("\x90\x48\x89\xf8\x90\xff\xc8\x75\xfc\xc3", 0, 5),
        /* jmp *%rax, and notrack jmp *%rax */
        UNPATCHED("\x48\xc7\xc0\1\0\0\0\xff\xe0",
                  "an indirect jump may lead into its first instructions"),
        UNPATCHED("\x48\xc7\xc0\1\0\0\0\x3e\xff\xe0",
                  "an indirect jump may lead into its first instructions"),
        /* What is behind it cannot be decoded. */
        UNPATCHED("\x48\xc7\xc0\1\0\0\0\x06", "not all of it can be decoded"),
    };
    (void)state;
    if (!spex_can_decode())
        skip();
    for (size_t k = 0; k < COUNT_OF(known); k++) {
        struct spex_placement placement =
            place(known[k].code, known[k].size, (struct outside){.reached = 0});
        const char *refused = placement.patch.refused;
        if (!known[k].refused || !refused)
            assert_ptr_equal(refused, known[k].refused);
        else
            assert_string_equal(refused, known[k].refused);
        if (refused)
            continue;
        assert_int_equal(placement.patch.address, ENTRY + known[k].into);
        assert_int_equal(placement.patch.bytes, known[k].bytes);
    }
}

static void patches_are_not_where_others_lead(void **state) {
    static const char text[] = "\x55\x48\x89\xe5\x90\x90\x5d\xc3";
    struct spex_placement placement;
    struct spex_patchable patch;
    (void)state;
    if (!spex_can_decode())
        skip();
    placement = PLACE(text, .reached = ENTRY + 4);
    assert_string_equal(placement.patch.refused, "other code may jump into its first instructions");
    placement = PLACE(text, .reached = ENTRY + 5);
    assert_null(placement.patch.refused);
    spex_patchable_find((const uint8_t *)text, sizeof(text) - 1, ENTRY - 4, &patch);
    assert_string_equal(patch.refused, "its first instructions are in two pages");
    spex_patchable_find((const uint8_t *)text, sizeof(text) - 1, ENTRY - 5, &patch);
    assert_null(patch.refused);
}

/* mov (%rdi),%rax; mov 1(%rip),%rax; push; lea (%rdi),%rax; nop (%rax) */
static void what_may_fault_is_told(void **state) {
    static const struct {
        const char *code;
        bool may_fault;
    } known[] = {{"\x48\x8b\x07\x90\x90", true},
                 {"\x48\x8b\x05\1\1\1\1", false},
                 {"\x55\x41\x57\x41\x56", false},
                 {"\x48\x8d\x07\x90\x90", false},
                 {"\x66\x0f\x1f\x04\x07", false}};
    (void)state;
    if (!spex_can_decode())
        skip();
    for (size_t k = 0; k < COUNT_OF(known); k++) {
        struct spex_patchable patch;
        spex_patchable_find((const uint8_t *)known[k].code, strlen(known[k].code), ENTRY, &patch);
        assert_null(patch.refused);
        assert_int_equal(patch.may_fault, known[k].may_fault);
    }
}

static void hits_are_told_apart(void **state) {
    static const struct {
        const char *code;
        enum spex_hit hit;
    } known[] = {
        {"\x55", SPEX_HIT_PUSH},
        {"\x41\x57", SPEX_HIT_PUSH},
        {"\x90", SPEX_HIT_NOP},
        {"\xeb\x01", SPEX_HIT_JUMP},
        {"\xe9\1\1\1\1", SPEX_HIT_JUMP},
        {"\x74\x01", SPEX_HIT_BRANCH},
        {"\x0f\x84\1\1\1\1", SPEX_HIT_BRANCH},
        {"\xe8\1\1\1\1", SPEX_HIT_CALL},
        {"\xf3\x0f\x1e\xfa", SPEX_HIT_STEPPED},
        {"\xc3", SPEX_HIT_STEPPED},
        {"\xf0\x48\xff\x07", SPEX_HIT_NONE},
        {"\x66\x2e\x90", SPEX_HIT_NONE},
        {"\x66\x90", SPEX_HIT_STEPPED},
        {"\xf3\x90", SPEX_HIT_STEPPED},
        {"\x40\x55", SPEX_HIT_STEPPED},
        {"\x0f\x05", SPEX_HIT_STEPPED},
    };
    (void)state;
    for (size_t k = 0; k < COUNT_OF(known); k++)
        assert_int_equal(spex_hit_of((const uint8_t *)known[k].code, strlen(known[k].code)),
                         known[k].hit);
    assert_int_equal(spex_hit_of((const uint8_t *)"\x0f\x1f\x44\0\0", 5), SPEX_HIT_LONG_NOP);
    assert_false(spex_hit_is_cheap(SPEX_HIT_LONG_NOP) || spex_hit_is_cheap(SPEX_HIT_NONE));
}

static void the_first_instruction_where_it_is_emulated(void **state) {
    (void)state;
    /* push %rbp; mov %rsp,%rbp; pop %rbp; ret */
    struct spex_placement placement = PLACE("\x55\x48\x89\xe5\x5d\xc3", .reached = 0);
    expect_entry(&placement, 0, SPEX_HIT_PUSH, 0, "");
    assert_null(placement.endless);
    assert_int_equal(placement.end_count, 1);
    assert_int_equal(placement.ends[0].address, ENTRY + 5);
}

static void a_later_one_of_the_entry_block(void **state) {
    (void)state;
    /* endbr64; push %rbx; pop %rbx; ret */
    struct spex_placement placement = PLACE("\xf3\x0f\x1e\xfa\x53\x5b\xc3", .reached = 0);
    expect_entry(&placement, 4, SPEX_HIT_PUSH, 0, "its first instruction would be stepped");
    /* sub $0x18,%rsp; test %edi,%edi; je 1f; nop; 1: add $0x18,%rsp; ret */
    placement = PLACE("\x48\x83\xec\x18\x85\xff\x74\x01\x90\x48\x83\xc4\x18\xc3", .reached = 0);
    expect_entry(&placement, 6, SPEX_HIT_BRANCH, 0x18, "its first instruction would be stepped");
    /* lock incq (%rdi); ret: no breakpoint on the first, and a stepped one behind it. */
    placement = PLACE("\xf0\x48\xff\x07\xc3", .reached = 0);
    expect_entry(&placement, 4, SPEX_HIT_STEPPED, 0, "no cheaper instruction before a branch");
    assert_string_equal(placement.endless, "it begins and ends with one instruction");
    /* mov %rdi,%rax; call; nop; ret: at the call, and not behind it, where it may come twice. */
    placement = PLACE("\x48\x89\xf8\xe8\xf8\x1f\0\0\x90\xc3", .reached = 0);
    expect_entry(&placement, 3, SPEX_HIT_CALL, 0, "its first instruction would be stepped");
    /* mov %rdi,%rax; call *%rax; nop; ret */
    placement = PLACE("\x48\x89\xf8\xff\xd0\x90\xc3", .reached = 0);
    expect_entry(&placement, 0, SPEX_HIT_STEPPED, 0, "no cheaper instruction before a branch");
}

static void never_where_it_is_executed_twice(void **state) {
    (void)state;
    /* mov %edi,%eax; 1: dec %eax; nop; jne 1b; ret: a loop begins behind the first. */
    struct spex_placement placement = PLACE("\x89\xf8\xff\xc8\x90\x75\xfb\xc3", .reached = 0);
    expect_entry(&placement, 0, SPEX_HIT_STEPPED, 0, "a branch leads behind it");
    /* 1: dec %edi; jne 1b; ret: and with the first. */
    placement = PLACE("\xff\xcf\x75\xfc\xc3", .reached = 0);
    assert_string_equal(placement.refused, "it begins with a loop");
    /* 1: push %rdi; pop %rdi; dec %edi; jne 1b; ret: also if it is emulated. */
    placement = PLACE("\x57\x5f\xff\xcf\x75\xfa\xc3", .reached = 0);
    assert_string_equal(placement.refused, "it begins with a loop");
    /* endbr64; nop; ret; and elsewhere a jump to the nop. */
    placement = PLACE("\xf3\x0f\x1e\xfa\x90\xc3", .reached = ENTRY + 4);
    expect_entry(&placement, 0, SPEX_HIT_STEPPED, 0, "other code may jump behind it");
    placement = PLACE("\xf3\x0f\x1e\xfa\x90\xc3", .reached = ENTRY + 5);
    expect_entry(&placement, 4, SPEX_HIT_NOP, 0, "its first instruction would be stepped");
    /* endbr64; nop; jmp *%rax: a jump table may lead anywhere. */
    placement = PLACE("\xf3\x0f\x1e\xfa\x90\xff\xe0", .reached = 0);
    expect_entry(&placement, 0, SPEX_HIT_STEPPED, 0, "an indirect jump may lead behind it");
    assert_string_equal(placement.endless, "an indirect jump may leave it");
    /* A part elsewhere comes back to the push: endbr64; push %rax; je COLD; ret */
    placement = PLACE("\xf3\x0f\x1e\xfa\x50\x0f\x84\xf5\x0f\0\0\xc3",
                      .part = {(const uint8_t *)"\xe9\xff\xef\xff\xff", COLD, 5});
    expect_entry(&placement, 0, SPEX_HIT_STEPPED, 0, "a branch leads behind it");
}

static void ends_are_all_found(void **state) {
    (void)state;
    /* push %rax; je 1f; pop %rax; ret; 1: pop %rax; jmp OTHER */
    struct spex_placement placement =
        PLACE("\x50\x74\x02\x58\xc3\x58\xe9\xf5\x1f\0\0", .reached = 0);
    assert_null(placement.endless);
    assert_int_equal(placement.end_count, 2);
    assert_int_equal(placement.ends[0].address, ENTRY + 4);
    assert_int_equal(placement.ends[1].address, ENTRY + 6);
    assert_int_equal(placement.ends[1].hit, SPEX_HIT_JUMP);
    /* push %rax; jmp *0x100(%rip): through a pointer. */
    placement = PLACE("\x50\xff\x25\0\1\0\0", .reached = 0);
    assert_null(placement.endless);
    assert_int_equal(placement.ends[0].address, ENTRY + 1);
    /* push %rax; je COLD; ret; and in the part: pop %rax; ret. */
    placement =
        PLACE("\x50\x0f\x84\xf9\x0f\0\0\xc3", .part = {(const uint8_t *)"\x58\xc3", COLD, 2});
    assert_null(placement.endless);
    assert_int_equal(placement.end_count, 2);
    assert_int_equal(placement.ends[1].address, COLD + 1);
    /* nop; notrack jmp *%rax; ret: stays within. */
    placement = PLACE("\x90\x3e\xff\xe0\xc3", .reached = 0);
    assert_null(placement.endless);
    assert_int_equal(placement.end_count, 1);
}

static void ends_that_cannot_be_told(void **state) {
    (void)state;
    /* push %rax; je OTHER; ret */
    struct spex_placement placement = PLACE("\x50\x0f\x84\xf9\x1f\0\0\xc3", .reached = 0);
    assert_string_equal(placement.endless, "a conditional jump leaves it");
    /* push %rax; jmp to where nothing is known. */
    placement = PLACE("\x50\xe9\0\x50\0\0", .reached = 0);
    assert_string_equal(placement.endless, "it jumps to where no function is known to begin");
    /* push %rax; cs ret: with a prefix that the kernel refuses. */
    placement = PLACE("\x50\x2e\xc3", .reached = 0);
    assert_string_equal(placement.endless, "the kernel has no breakpoint for an end of it");
    /* nop; ud2 */
    placement = PLACE("\x90\x0f\x0b", .reached = 0);
    assert_string_equal(placement.endless, "it never returns");
    /* nop; a byte that is no instruction; ret */
    placement = PLACE("\x90\x06\xc3", .reached = 0);
    assert_string_equal(placement.endless, "not all of it can be decoded");
    /* jmp OTHER: one instruction for both. */
    placement = PLACE("\xe9\xfb\x1f\0\0", .reached = 0);
    expect_entry(&placement, 0, SPEX_HIT_JUMP, 0, "");
    assert_string_equal(placement.endless, "it begins and ends with one instruction");
    /* mov %rdi,%rax; jmp OTHER: counted at the jump, and timed from the first instruction on. */
    placement = PLACE("\x48\x89\xf8\xe9\xf8\x1f\0\0", .reached = 0);
    expect_entry(&placement, 3, SPEX_HIT_JUMP, 0, "its first instruction would be stepped");
    assert_null(placement.endless);
    assert_int_equal(placement.begin.address, ENTRY);
    assert_int_equal(placement.ends[0].address, ENTRY + 3);
}

static void functions_without_an_end(void **state) {
    struct spex_placement placement;
    const struct spex_function_code function = {
        .code = {(const uint8_t *)"\x89\xf8\x90\xc3", ENTRY, 4}};
    (void)state;
    spex_place(&function, &placement);
    expect_entry(&placement, 0, SPEX_HIT_STEPPED, 0, "its end is not known");
    assert_string_equal(placement.endless, "its end is not known");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patches_are_where_nothing_leads),
        cmocka_unit_test(patches_are_not_where_others_lead),
        cmocka_unit_test(what_may_fault_is_told),
        cmocka_unit_test(hits_are_told_apart),
        cmocka_unit_test(arguments_are_still_there),
        cmocka_unit_test(arguments_that_are_gone),
        cmocka_unit_test(the_first_instruction_where_it_is_emulated),
        cmocka_unit_test(a_later_one_of_the_entry_block),
        cmocka_unit_test(never_where_it_is_executed_twice),
        cmocka_unit_test(ends_are_all_found),
        cmocka_unit_test(ends_that_cannot_be_told),
        cmocka_unit_test(functions_without_an_end),
    };
    if (!spex_can_decode()) {
        puts("SKIP: this build decodes no instructions");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
