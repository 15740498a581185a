/* SPDX-License-Identifier: MIT */
/* The functions of this program, by the symbols of its file; near jumps in text that is made here; and how
 * functions are chosen. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "attach/choice.h"
#include "attach/code/decode.h"
#include "attach/object_functions.h"

int chosen_at_start(int value);
int known_function(int value);
int known_alias(int value);

__attribute__((noinline, used)) int known_function(int value) {
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}

int known_alias(int value) __attribute__((alias("known_function")));

__attribute__((used)) static int (*resolve(void))(int) {
    return known_function;
}

#if !defined(__SANITIZE_ADDRESS__)
int chosen_at_start(int value) __attribute__((ifunc("resolve")));
#endif

static int find_base(struct dl_phdr_info *info, size_t size, void *user) {
    (void)size;
    *(uintptr_t *)user = info->dlpi_addr;
    return 1;
}

static const struct spex_object_function *called(const struct spex_object_functions *functions,
                                                 const char *name) {
    for (size_t f = 0; f < functions->count; f++)
        if (strcmp(functions->items[f].name, name) == 0)
            return &functions->items[f];
    return NULL;
}

static void functions_of_this_program(void **state) {
    struct spex_object_functions functions;
    struct spex_error error;
    uintptr_t base = 0;
    (void)state;
    dl_iterate_phdr(find_base, &base);
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_int_equal(spex_object_functions_read(fd, "it", &functions, &error), 0);
    const struct spex_object_function *known = called(&functions, "known_function");
    const struct spex_object_function *alias = called(&functions, "known_alias");
    assert_true(known && alias);
    assert_int_equal(known->address + base, (uintptr_t)known_function);
    assert_int_equal(alias->address, known->address);
    assert_true(known->size > 0 && !known->resolver);
    size_t first = spex_object_functions_at(&functions, known->address), bytes;
    assert_int_equal(functions.items[first].address, known->address);
    assert_memory_equal(spex_object_functions_bytes(&functions, known->address, &bytes),
                        (const void *)(uintptr_t)known_function, known->size);
    uint8_t there;
    assert_int_equal(
        pread(fd, &there, 1, (off_t)spex_object_functions_offset(&functions, known->address)), 1);
    assert_int_equal(there, *(const uint8_t *)(uintptr_t)known_function);
#if !defined(__SANITIZE_ADDRESS__)
    assert_true(called(&functions, "chosen_at_start")->resolver);
    assert_int_equal(chosen_at_start(1), 2);
#endif
    for (size_t f = 1; f < functions.count; f++)
        assert_true(functions.items[f - 1].address <= functions.items[f].address);
    spex_object_functions_free(&functions);
    close(fd);
}

static void each_function_has_a_place_or_a_reason(void **state) {
    struct spex_object_functions functions;
    struct spex_error error;
    (void)state;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_int_equal(spex_object_functions_read(fd, "it", &functions, &error), 0);
    for (size_t f = 0; f < functions.count; f++) {
        struct spex_placement placement;
        assert_int_equal(spex_object_functions_place(&functions, f, &placement), 0);
        assert_non_null(placement.why);
        uint64_t into = placement.entry.address - functions.items[f].address;
        assert_true(into == 0 || into < functions.items[f].size);
        if (spex_can_decode() && functions.items[f].size)
            assert_true(spex_object_functions_is_instruction(&functions, placement.entry.address));
    }
    spex_object_functions_free(&functions);
    close(fd);
}

#ifdef __x86_64__
/* A function that begins behind the first instruction of another one; and one that a short jump of its
 * neighbour leads into. */
__asm__(".text\n"
        ".type first_entry, %function\n"
        "first_entry: endbr64\n"
        ".type second_entry, %function\n"
        "second_entry: nop\n"
        "ret\n"
        ".size second_entry, . - second_entry\n"
        ".size first_entry, . - first_entry\n"
        ".type jumped_into, %function\n"
        "jumped_into: endbr64\n"
        "1: nop\n"
        "ret\n"
        ".size jumped_into, . - jumped_into\n"
        ".type jumper, %function\n"
        "jumper: jmp 1b\n"
        ".size jumper, . - jumper\n");

static void entries_between_are_seen(void **state) {
    static const char *const names[] = {"first_entry", "jumped_into"};
    struct spex_object_functions functions;
    struct spex_error error;
    (void)state;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_int_equal(spex_object_functions_read(fd, "it", &functions, &error), 0);
    for (size_t n = 0; n < COUNT_OF(names) && spex_can_decode(); n++) {
        const struct spex_object_function *function = called(&functions, names[n]);
        struct spex_placement placement;
        assert_non_null(function);
        assert_int_equal(spex_object_functions_place(
                             &functions, (size_t)(function - functions.items), &placement),
                         0);
        assert_int_equal(placement.entry.address, function->address);
        assert_string_equal(placement.why, "other code may jump behind it");
    }
    spex_object_functions_free(&functions);
    close(fd);
}
#else
static void entries_between_are_seen(void **state) {
    (void)state;
}
#endif

static void near_jumps_are_found(void **state) {
    /* jmp to 0x1010; je to 0x1001; and a jump that leaves the text. */
    static const uint8_t bytes[32] = {0xe9, 0x0b, 0,    0,    0, 0x0f, 0x84, 0xf6,
                                      0xff, 0xff, 0xff, 0xe9, 0, 0,    1,    0};
    const struct spex_code text = {bytes, 0x1000, sizeof(bytes)};
    struct spex_near_jumps jumps;
    (void)state;
    assert_int_equal(spex_near_jumps_find(&jumps, &text), 0);
    assert_int_equal(jumps.count, 2);
    assert_int_equal(jumps.targets[0], 0x1001);
    assert_int_equal(jumps.targets[1], 0x1010);
    assert_true(spex_near_jumps_reach(&jumps, 0x1000, 0x1001));
    assert_false(spex_near_jumps_reach(&jumps, 0x1001, 0x100f));
    assert_true(spex_near_jumps_reach(&jumps, 0x100f, 0x1010));
    assert_false(spex_near_jumps_reach(&jumps, 0x1010, UINT64_MAX));
    spex_near_jumps_free(&jumps);
}

static void choices_are_read(void **state) {
    struct spex_function_choices choices = {NULL, 0};
    struct spex_error error;
    (void)state;
    assert_int_equal(spex_function_choices_add(
                         &choices, "func:malloc,func:libc.so.6:re*d:lat,func:a+0x1F0:cnt", &error),
                     0);
    assert_int_equal(choices.count, 3);
    assert_true(spex_function_choice_has_object(&choices.items[0], "/any/thing"));
    assert_true(spex_function_choice_has_name(&choices.items[0], "malloc"));
    assert_false(choices.items[0].timed || choices.items[2].timed);
    assert_true(choices.items[1].timed);
    assert_true(spex_function_choice_has_object(&choices.items[1], "/usr/lib/libc.so.6"));
    assert_false(spex_function_choice_has_object(&choices.items[1], "/usr/lib/libm.so.6"));
    assert_true(spex_function_choice_has_object(&choices.items[1], "/usr/lib/libc.so.6.1.12"));
    assert_false(spex_function_choice_has_object(&choices.items[1], "/usr/lib/libc.so.61"));
    assert_false(spex_function_choice_has_object(&choices.items[1], "/usr/lib/libc.so.6.debug"));
    assert_false(spex_function_choice_has_object(&choices.items[2], "/usr/bin/a.1"));
    assert_true(spex_function_choice_has_name(&choices.items[1], "read"));
    assert_int_equal(choices.items[2].address, 0x1f0);
    assert_false(spex_function_choice_has_name(&choices.items[2], "malloc"));
    spex_function_choices_free(&choices);
}

static void probes_are_chosen(void **state) {
    struct spex_function_choices choices = {NULL, 0};
    struct spex_error error;
    (void)state;
    assert_int_equal(
        spex_function_choices_add(&choices, "usdt:libc:set*,usdt:lib*.so:a:b:cnt", &error), 0);
    assert_int_equal(choices.count, 2);
    assert_true(choices.items[0].probe && choices.items[1].probe);
    assert_true(spex_function_choice_has_object(&choices.items[0], "/any/thing"));
    assert_true(spex_function_choice_has_name(&choices.items[0], "libc:setjmp"));
    assert_false(spex_function_choice_has_name(&choices.items[0], "libm:setjmp"));
    assert_true(spex_function_choice_has_object(&choices.items[1], "/usr/lib/libx.so"));
    assert_true(spex_function_choice_has_name(&choices.items[1], "a:b"));
    spex_function_choices_free(&choices);
}

static void arguments_are_chosen(void **state) {
    static const uint64_t registers[SPEX_ARGUMENTS_MAX] = {UINT64_C(0xfffffffffffffffe), 2,
                                                           UINT64_C(0x12345678fffffffd)};
    struct spex_function_choices choices = {NULL, 0};
    struct spex_error error;
    (void)state;
#ifdef __x86_64__
    assert_int_equal(
        spex_function_choices_add(&choices,
                                  "func:f(all,_,low:i32):lat,func:lib:g(_,_,n:u32),func:h", &error),
        0);
    assert_int_equal(choices.count, 3);
    const struct spex_arguments *f = &choices.items[0].arguments, *g = &choices.items[1].arguments;
    assert_true(choices.items[0].timed && !choices.items[1].timed);
    assert_int_equal(f->count, 2);
    assert_string_equal(f->items[1].name, "low");
    assert_int_equal(spex_arguments_places(f), 5);
    assert_int_equal(spex_argument_value(&f->items[0], registers), -2);
    assert_int_equal(spex_argument_value(&f->items[1], registers), -3);
    assert_int_equal(g->count, 1);
    assert_int_equal(spex_argument_value(&g->items[0], registers), 0xfffffffd);
    assert_true(spex_function_choice_has_name(&choices.items[1], "g"));
    assert_int_equal(choices.items[2].arguments.count, 0);
#else
    (void)registers;
    assert_int_equal(spex_function_choices_add(&choices, "func:f(n)", &error), -ENOTSUP);
#endif
    spex_function_choices_free(&choices);
}

static void malformed_arguments(void **state) {
    static const char *const malformed[] = {
        "func:f()",   "func:f(_,_)",           "func:f(n,n)", "func:f(1x)",   "func:f(n:i)",
        "func:f(n,)", "func:f(a,b,c,d,e,f,g)", "func:f(n n)", "func:f(_:i32)"};
    static const char *const unclosed[] = {"func:f(n", "func:f(n)x", "usdt:a:b(n)"};
    (void)state;
    for (size_t m = 0; m < COUNT_OF(malformed); m++) {
        struct spex_function_choices choices = {NULL, 0};
        struct spex_error error = {""};
        assert_int_equal(spex_function_choices_add(&choices, malformed[m], &error), -EINVAL);
        assert_non_null(strstr(error.text, "expected up to six names"));
        spex_function_choices_free(&choices);
    }
    for (size_t m = 0; m < COUNT_OF(unclosed); m++) {
        struct spex_function_choices choices = {NULL, 0};
        struct spex_error error = {""};
        assert_int_equal(spex_function_choices_add(&choices, unclosed[m], &error), -EINVAL);
        assert_non_null(strstr(error.text, "expected func:NAME"));
        spex_function_choices_free(&choices);
    }
}

static void malformed_choices(void **state) {
    static const char *const malformed[] = {
        "",          "malloc",       "func:",
        "func:a:",   "func:malloc,", "func::cnt",
        "func:a+0x", "func:a+0x1g",  "func:a:b:c",
        "func:+0x1", "lat:malloc",   "func:a+0x11111111111111111",
        "usdt:",     "usdt:a",       "usdt:a:b:lat",
        "usdt::b",   "usdt:a:",      "usdt:a:b:c:d"};
    (void)state;
    for (size_t m = 0; m < COUNT_OF(malformed); m++) {
        struct spex_function_choices choices = {NULL, 0};
        struct spex_error error = {""};
        assert_int_equal(spex_function_choices_add(&choices, malformed[m], &error), -EINVAL);
        assert_non_null(strstr(error.text, "expected func:NAME"));
        spex_function_choices_free(&choices);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_this_program),
        cmocka_unit_test(each_function_has_a_place_or_a_reason),
        cmocka_unit_test(entries_between_are_seen),
        cmocka_unit_test(near_jumps_are_found),
        cmocka_unit_test(choices_are_read),
        cmocka_unit_test(probes_are_chosen),
        cmocka_unit_test(arguments_are_chosen),
        cmocka_unit_test(malformed_arguments),
        cmocka_unit_test(malformed_choices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
