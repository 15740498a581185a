/* SPDX-License-Identifier: MIT */
/* Functions that become kernels by their names: what their records hold of contexts and parameters,
 * however they are left; how names are made and chosen; and what symbol tables that are damaged
 * come to. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <spex/kernel.h>
#include <spex/spex.h>

#include "../check.h"
#include "functions/function_calls.h"
#include "functions/function_names.h"
#include "functions/function_search.h"
#include "functions/symbols.h"
#include "instrumented.h"
#include "probe/contexts.h"
#include "seen.h"
#include "site/registry.h"

enum { PATH_BYTES = 256, TOO_DEEP = 1200 };

void __cyg_profile_func_enter(void *, void *);

static void begin(const char *probes) {
    struct spex_options options = {.size = sizeof(options),
                                   .probes = probes,
                                   .out = "/dev/null",
                                   .functions = "fn_*,fn_left*@off"};
    seen_start();
    assert_int_equal(spex_start(&options), 0);
}

static const struct spex_site_info *info_of(uint16_t kernel) {
    for (uint32_t s = 0; s < spex_sites_count(); s++)
        if (spex_site_info(s)->probe_id == kernel && spex_site_info(s)->probe_type == SPEX_KERNEL)
            return spex_site_info(s);
    fail_msg("there is no kernel %u", kernel);
    return NULL;
}

/* "fn_outer/fn_inner". */
static const char *path_of(const struct spex_record *record) {
    static char path[PATH_BYTES];
    struct spex_context_node node;
    uint64_t number = record->fields[1];
    path[0] = '\0';
    while (number != SPEX_CONTEXT_ROOT) {
        char before[PATH_BYTES];
        memcpy(before, path, sizeof(before));
        assert_true(spex_context_node(number, &node));
        snprintf(path, sizeof(path), "%.100s%s%.100s", info_of(node.kernel)->name,
                 before[0] ? "/" : "", before);
        number = node.parent;
    }
    return path;
}

static int by_time(const void *a, const void *b) {
    const struct spex_record *one = a, *other = b;
    return (one->timestamp > other->timestamp) - (one->timestamp < other->timestamp);
}

/* "path(n,size) path(n,size)", in the order in which they ended: rings are emptied one after the
 * other. */
static const char *all_records(void) {
    static char text[RECORDS_MAX];
    size_t length = 0;
    text[0] = '\0';
    qsort(seen, seen_count, sizeof(seen[0]), by_time);
    for (size_t r = 0; r < seen_count; r++)
        length += (size_t)snprintf(
            text + length, sizeof(text) - length, "%s%s(%lu,%lu)", r ? " " : "", path_of(&seen[r]),
            (unsigned long)seen[r].fields[2], (unsigned long)seen[r].fields[3]);
    return text;
}

static void functions_are_kernels_in_their_contexts(void **state) {
    (void)state;
    begin("fn_*");
    fn_outer(5);
    fn_left_out();
    spex_stop();
    assert_string_equal(
        all_records(), "fn_outer/fn_inner(6,0) fn_outer/fn_plain(5,0) fn_outer(5,0) fn_plain(0,0)");
    const struct spex_site_info *info = info_of(seen[0].probe_id);
    assert_string_equal(info->parameters, "n, size");
    assert_non_null(strstr(info->file, "unit-functions"));
    assert_int_equal(seen[0].field_count, SPEX_KERNEL_VALUES + 2);
    assert_int_equal(spex_context, SPEX_CONTEXT_ROOT);
}

/* What a function gives that is off is given outside. */
static void only_what_is_on_is_in_a_context(void **state) {
    (void)state;
    begin("fn_*,fn_outer@off");
    fn_outer(5);
    spex_stop();
    assert_string_equal(all_records(), "fn_inner(6,7) fn_plain(5,7)");
}

static void *gives_and_calls(void *size) {
    if (size)
        give_size(*(const uint64_t *)size);
    fn_plain();
    return NULL;
}

static void in_a_thread(const uint64_t *size) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, gives_and_calls, (void *)(uintptr_t)size), 0);
    pthread_join(thread, NULL);
}

/* What is given outside of functions stays: so this and the next are the last that look at
 * parameters. */
static void what_is_given_outside_holds_for_threads_that_give_nothing(void **state) {
    const uint64_t other = 9;
    (void)state;
    begin("fn_*");
    give_size(7);
    fn_outer(1);
    in_a_thread(NULL);
    in_a_thread(&other);
    in_a_thread(NULL);
    fn_plain();
    spex_stop();
    assert_string_equal(all_records(),
                        "fn_outer/fn_inner(2,7) fn_outer/fn_plain(1,7) fn_outer(1,7) "
                        "fn_plain(0,7) fn_plain(0,9) fn_plain(0,9) fn_plain(0,7)");
}

/* What is within an execution of its own is a part of that. */
static void recursion_is_one_execution(void **state) {
    (void)state;
    begin("fn_*");
    fn_recursive(3);
    spex_stop();
    assert_string_equal(all_records(), "fn_recursive(0,0)");
}

static void what_is_too_deep_is_left_as_it_was_entered(void **state) {
    (void)state;
    begin("fn_*");
    fn_recursive(TOO_DEEP);
    assert_int_equal(spex_context, SPEX_CONTEXT_ROOT);
    fn_plain();
    spex_stop();
    assert_string_equal(all_records(), "fn_recursive(0,0) fn_plain(0,0)");
}

static void jumps(void *user) {
    (void)user;
    jmp_buf back;
    if (!setjmp(back))
        fn_jumps(&back);
}

/* fn_jumps has no end, and so no record; what is around it has. */
static void a_jump_out_of_functions_is_made_up_for(void **state) {
    (void)state;
    begin("fn_*");
    fn_calls(jumps, NULL);
    fn_plain();
    spex_stop();
    assert_string_equal(all_records(), "fn_calls(0,0) fn_plain(0,0)");
    assert_int_equal(spex_context, SPEX_CONTEXT_ROOT);
}

static void handler(int number) {
    (void)number;
    fn_plain();
}

static void interrupts(void *user) {
    (void)user;
    raise(SIGUSR1);
}

static void handlers_are_in_the_context_that_they_interrupt(void **state) {
    (void)state;
    signal(SIGUSR1, handler);
    begin("fn_*");
    fn_calls(interrupts, NULL);
    spex_stop();
    assert_string_equal(all_records(), "fn_calls/fn_plain(0,0) fn_calls(0,0)");
}

static void switches_on(void *user) {
    (void)user;
    assert_true(spex_set("fn_*") > 0);
    fn_plain();
}

static void switches_off(void *user) {
    (void)user;
    assert_int_equal(spex_set("off"), 0);
}

static void what_is_switched_while_it_is_executed_makes_no_record(void **state) {
    (void)state;
    begin("off");
    fn_calls(switches_on, NULL);
    fn_calls(switches_off, NULL);
    assert_int_equal(spex_context, SPEX_CONTEXT_ROOT);
    spex_set("fn_*");
    fn_plain();
    spex_stop();
    assert_string_equal(all_records(), "fn_plain(0,0) fn_plain(0,0)");
}

static void forks(void *child) {
    *(pid_t *)child = fork();
}

static void a_fork_within_a_function_leaves_it_in_both(void **state) {
    pid_t child;
    int status;
    (void)state;
    begin("fn_*");
    fn_calls(forks, &child);
    if (child == 0)
        _exit(spex_context == SPEX_CONTEXT_ROOT ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    spex_stop();
    assert_string_equal(all_records(), "fn_calls(0,0)");
}

/* Static functions of two files, in the order of their addresses. */
static void equal_names_are_numbered(void **state) {
    struct spex_found_functions found;
    (void)state;
    link_twin();
    assert_int_equal(spex_functions_find("twin", (uintptr_t)&__cyg_profile_func_enter, 10, &found),
                     0);
    assert_int_equal(found.count, 2);
    assert_string_equal(found.items[0].name, "twin");
    assert_string_equal(found.items[1].name, "twin#2");
    assert_true(found.items[0].address < found.items[1].address);
    spex_functions_found_free(&found);
}

/* Whatever is asked for, the same functions are looked at, each of which has one name. */
static void what_is_found_is_sorted_and_cut(void **state) {
    enum { ALL = 100000 };
    static const char *const filters[] = {"*", "fn_*", "no such function"};
    size_t functions = 0;
    (void)state;
    for (size_t f = 0; f < COUNT_OF(filters); f++) {
        uintptr_t hook = (uintptr_t)&__cyg_profile_func_enter;
        struct spex_found_functions all, few;
        assert_int_equal(spex_functions_find(filters[f], hook, ALL, &all), 0);
        size_t most = all.count ? all.count - 1 : 0;
        assert_int_equal(spex_functions_find(filters[f], hook, most, &few), 0);
        functions = f == 0 ? all.functions : functions;
        assert_true(all.functions == functions && few.functions == functions);
        assert_true(all.matched == all.count && few.matched == all.count);
        assert_int_equal(few.count, most);
        assert_true(f > 0 || all.count > MANY_FUNCTIONS);
        assert_true(malloc_usable_size(all.items) >= all.count * sizeof(*all.items));
        assert_true(f == 2 ? all.count == 0 : all.count >= 7 && all.count <= functions);
        for (size_t i = 0; i < all.count; i++) {
            assert_true(i == 0 || strcmp(all.items[i - 1].name, all.items[i].name) < 0);
            assert_null(strstr(all.items[i].name, "_alias"));
        }
        for (size_t i = 0; i < few.count; i++)
            assert_true(few.items[i].address == all.items[i].address);
        spex_functions_found_free(&all);
        spex_functions_found_free(&few);
    }
}

static void a_filter_that_cannot_be_read_is_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"", ",", "a,,b", "a@of", "a@", "@off", "a b"};
    struct spex_error error;
    for (size_t b = 0; b < COUNT_OF(bad); b++)
        assert_int_equal(spex_function_filter_check(bad[b], &error), -EINVAL);
    assert_int_equal(spex_function_filter_check("a*,?b[cd]@off", &error), 0);
    char item[252] = "";
    memset(item, 'a', sizeof(item) - 1);
    assert_int_equal(spex_function_filter_check(item, &error), -EINVAL);
    assert_int_equal(spex_function_filter_check(item + 1, &error), 0);
    struct spex_options options = {.size = sizeof(options), .functions = "a,,b"};
    assert_int_equal(spex_start(&options), -EINVAL);
}

static void the_last_item_that_matches_decides(void **state) {
    (void)state;
    assert_true(spex_function_chosen("*", "sort"));
    assert_true(spex_function_chosen("sort,other", "sort"));
    assert_false(spex_function_chosen("sort", "sort_rows"));
    assert_false(spex_function_chosen("*,sort*@off", "sort_rows"));
    assert_true(spex_function_chosen("*,sort*@off,sort_rows", "sort_rows"));
    assert_false(spex_function_chosen("sort@off", "find"));
}

static void names_are_those_that_people_know(void **state) {
    (void)state;
    static const struct {
        const char *symbol, *name;
    } cases[] = {
        {"sort", "sort"},
        {"sort.constprop.0", "sort"},
        {"sort.part.0.isra.1", "sort"},
        {"memcpy@@GLIBC_2.14", "memcpy"},
        {"_Z4sortPii", "sort"},
        {"_ZN5store4scanEi", "store.scan"},
        {"_ZN5storeIiE4scanIcEEiT_", "store.scan"},
        {"_ZN12_GLOBAL__N_14scanEv", "scan"},
        {"_ZN5storeclEi", "store.operator()"},
        {"_ZN5storeltERKS_", "store.operator<"},
        {"_ZN5storeptEv", "store.operator->"},
        {"_ZN5store4scanEi.cold", "store.scan"},
        {"_ZN5store3boxclIiEEvT_", "store.box.operator()"},
        {"_ZN5storelsERKi", "store.operator<<"},
        {"_ZN5storecvbEv", "store.operator_bool"},
        {"_Z3fooI3barE3barv", "foo"},
        {"_Zbroken", "_Zbroken"},
        {"_start", "_start"},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        char name[SPEX_NAME_BYTES];
        spex_function_name(cases[c].symbol, name, sizeof(name));
        assert_string_equal(name, cases[c].name);
    }
    char shorter[4], within_operator[10];
    spex_function_name("_ZN5storeclEi", within_operator, sizeof(within_operator));
    assert_string_equal(within_operator, "store.op");
    spex_function_name("_ZN5store4scanEi", shorter, sizeof(shorter));
    assert_string_equal(shorter, "sto");
}

static char *read_program(size_t *bytes) {
    FILE *file = fopen("/proc/self/exe", "r");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    char *content = malloc(*bytes);
    assert_int_equal(fread(content, 1, *bytes, file), *bytes);
    fclose(file);
    return content;
}

/* Whether it could be opened; then all of it is looked at. */
static bool look_at(const char *path, size_t *functions) {
    struct spex_symbols symbols;
    unsigned char resident;
    *functions = 0;
    if (spex_symbols_open(&symbols, path, SHT_SYMTAB) != 0)
        return false;
    for (size_t s = 0; s < symbols.count; s++)
        *functions += strncmp(spex_symbol_name(&symbols, &symbols.symbols[s]), "fn_", 3) == 0;
    spex_symbols_refer_to(&symbols, "no such name");
    void *map = symbols.map;
    spex_symbols_close(&symbols);
    assert_int_equal(mincore(map, 1, &resident), -1); /* nothing is mapped there */
    return true;
}

static void write_file(const char *path, const char *content, size_t bytes) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, bytes, file), bytes);
    fclose(file);
}

/* The header and the table of sections are where mistakes matter. */
static void damaged_files_are_refused_or_read_within_their_bounds(void **state) {
    enum { ROUNDS = 2000, CHANGES = 3 };
    char path[] = "/tmp/spex-symbols-XXXXXX";
    size_t bytes, functions;
    uint64_t random = 7;
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    char *content = read_program(&bytes);
    ElfW(Ehdr) header;
    memcpy(&header, content, sizeof(header));
    size_t table = header.e_shnum * sizeof(ElfW(Shdr));
    write_file(path, content, bytes);
    assert_true(look_at(path, &functions));
    assert_true(functions >= 7);
    for (unsigned round = 0; round < ROUNDS; round++) {
        off_t places[CHANGES];
        for (unsigned c = 0; c < CHANGES; c++) {
            bool in_header = random_below(&random, 2);
            places[c] = (off_t)(in_header ? random_below(&random, sizeof(header))
                                          : header.e_shoff + random_below(&random, table));
            char byte = (char)random_next(&random);
            assert_int_equal(pwrite(fd, &byte, 1, places[c]), 1);
        }
        look_at(path, &functions);
        for (unsigned c = 0; c < CHANGES; c++)
            assert_int_equal(pwrite(fd, content + places[c], 1, places[c]), 1);
    }
    for (unsigned part = 0; part < 64; part++) {
        assert_int_equal(ftruncate(fd, (off_t)(bytes * (63 - part) / 64)), 0);
        look_at(path, &functions);
    }
    assert_false(look_at("/nonexistent", &functions));
    assert_false(look_at("/", &functions));
    close(fd);
    unlink(path);
    free(content);
}

static void tables_tell_what_is_missing(void **state) {
    enum { NO_TABLE = 0x7fffffff };
    struct spex_symbols symbols;
    (void)state;
    assert_int_equal(spex_symbols_open(&symbols, "/nonexistent", SHT_DYNSYM), -ENOENT);
    assert_int_equal(spex_symbols_open(&symbols, "/dev/null", SHT_DYNSYM), -ENOEXEC);
    assert_int_equal(spex_symbols_open(&symbols, "/etc/passwd", SHT_DYNSYM), -ENOEXEC);
    assert_int_equal(spex_symbols_open(&symbols, "/proc/self/exe", NO_TABLE), -ENOENT);
    assert_int_equal(spex_symbols_open(&symbols, "/proc/self/exe", SHT_SYMTAB), 0);
    assert_true(spex_symbols_refer_to(&symbols, "__gmon_start__"));
    assert_false(spex_symbols_refer_to(&symbols, "main"));
    spex_symbols_close(&symbols);
}

static void direct_calls_are_found(void **state) {
    (void)state;
#if defined(__x86_64__)
    unsigned char code[16] = {0x90, 0xe8, 0xe8, 0, 0, 0, 0, 0x90}; /* the call is at 2 */
    const int32_t distance = 100;
    memcpy(code + 3, &distance, sizeof(distance));
    uintptr_t target = (uintptr_t)code + 7 + 100;
    size_t length = 7;
#elif defined(__aarch64__)
    unsigned char code[16] = {0};
    const uint32_t call = 0x94000000u | (0x03ffffffu & (uint32_t)-5);
    memcpy(code + 8, &call, sizeof(call));
    uintptr_t target = (uintptr_t)code + 8 - 20;
    size_t length = 12;
#else
    skip();
#endif
    assert_true(spex_function_calls(code, sizeof(code), target));
    assert_true(spex_function_calls(code, length, target));
    assert_false(spex_function_calls(code, length - 1, target));
    assert_false(spex_function_calls(code, sizeof(code), target + 4));
    assert_false(spex_function_calls(code, 0, target));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_names_are_numbered),
        cmocka_unit_test(what_is_found_is_sorted_and_cut),
        cmocka_unit_test(a_filter_that_cannot_be_read_is_refused),
        cmocka_unit_test(functions_are_kernels_in_their_contexts),
        cmocka_unit_test(recursion_is_one_execution),
        cmocka_unit_test(what_is_too_deep_is_left_as_it_was_entered),
        cmocka_unit_test(a_jump_out_of_functions_is_made_up_for),
        cmocka_unit_test(handlers_are_in_the_context_that_they_interrupt),
        cmocka_unit_test(what_is_switched_while_it_is_executed_makes_no_record),
        cmocka_unit_test(a_fork_within_a_function_leaves_it_in_both),
        cmocka_unit_test(what_is_given_outside_holds_for_threads_that_give_nothing),
        cmocka_unit_test(only_what_is_on_is_in_a_context),
        cmocka_unit_test(the_last_item_that_matches_decides),
        cmocka_unit_test(names_are_those_that_people_know),
        cmocka_unit_test(damaged_files_are_refused_or_read_within_their_bounds),
        cmocka_unit_test(tables_tell_what_is_missing),
        cmocka_unit_test(direct_calls_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
