/* SPDX-License-Identifier: MIT */
/* Functions that become kernels by their names: what their records hold of contexts and parameters,
 * however they are left; and how names are made and chosen. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include <spex/kernel.h>
#include <spex/spex.h>

#include "../check.h"
#include "instrumented.h"
#include "kernels/function_calls.h"
#include "kernels/function_names.h"
#include "kernels/function_search.h"
#include "kernels/functions.h"
#include "messages.h"
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

/* Ids of the program's own, which no function gets. */
COMPILED_ONCE static void own_kernels(void) {
    KERNEL_PROBE_BEGIN(65535, 1);
    KERNEL_PROBE_BEGIN(65533, 1);
    KERNEL_PROBE_END(65533);
    KERNEL_PROBE_END(65535);
}

/* In a process of its own, since functions are made once: 0, or the status of what went wrong. */
static void expect_said(const char *filter, uintptr_t hook, int expected, const char *text) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        messages_begin();
        int err = spex_function_kernels_make(filter, hook);
        bool again = spex_function_kernels_make("*", hook) == 0;
        _exit(err != expected ? 1 : strcmp(messages_end(), text) != 0 ? 2 : !again ? 3 : 0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

TEST(what_is_not_found_is_said) {
    assert_null(spex_function_table);
    expect_said("nothing", (uintptr_t)&__cyg_profile_func_enter, 0,
                "spex: SPEX_FUNCTIONS: no instrumented function matches\n");
    expect_said("*", 1, 0,
                "spex: SPEX_FUNCTIONS: nothing that is loaded was compiled with "
                "-finstrument-functions\n");
    expect_said("fn_plain", (uintptr_t)&__cyg_profile_func_enter, 0, "");
    assert_null(spex_function_table);
}

/* Static functions of two files, in the order of their addresses. */
TEST(equal_names_are_numbered) {
    struct spex_found_functions found;
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
TEST(what_is_found_is_sorted_and_cut) {
    enum { ALL = 100000 };
    static const char *const filters[] = {"*", "fn_*", "no such function"};
    size_t functions = 0;
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

TEST(a_filter_that_cannot_be_read_is_refused) {
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

/* Ids go down from the greatest that is free, in the order of names. */
TEST(each_function_has_an_id_and_a_place) {
    struct spex_found_functions found;
    begin("off");
    own_kernels();
    spex_stop();
    const struct spex_function_table *table = spex_function_table;
    assert_non_null(table);
    assert_int_equal(spex_functions_find("fn_*,fn_left*@off", (uintptr_t)&__cyg_profile_func_enter,
                                         1000, &found),
                     0);
    assert_true(found.count >= 6);
    for (size_t f = 0; f < found.count; f++) {
        const struct spex_site *site = spex_function_site(table, found.items[f].address);
        assert_non_null(site);
        uint16_t id = (uint16_t)(f == 0 ? 65534 : 65533 - f);
        assert_int_equal(site->probe_id, id);
        assert_string_equal(info_of(id)->name, found.items[f].name);
        assert_true(info_of(id)->site == site);
        assert_int_equal(site->detail, 2);
        assert_null(spex_function_site(table, found.items[f].address + 1));
    }
    size_t used = 0;
    for (size_t p = 0; p <= table->mask; p++)
        used += table->places[p].address != 0;
    assert_int_equal(used, found.count);
    assert_true(table->mask + 1 >= 2 * used && table->mask + 1 < 4 * used);
    assert_int_equal(table->mask & (table->mask + 1), 0);
    assert_int_equal(UINT64_C(1) << (64 - table->shift), table->mask + 1);
    spex_functions_found_free(&found);
}

TEST(functions_are_kernels_in_their_contexts) {
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

/* What is within an execution of its own is a part of that. */
TEST(recursion_is_one_execution) {
    begin("fn_*");
    fn_recursive(3);
    spex_stop();
    assert_string_equal(all_records(), "fn_recursive(0,0)");
}

TEST(what_is_too_deep_is_left_as_it_was_entered) {
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
TEST(a_jump_out_of_functions_is_made_up_for) {
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

TEST(handlers_are_in_the_context_that_they_interrupt) {
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

TEST(what_is_switched_while_it_is_executed_makes_no_record) {
    begin("off");
    fn_calls(switches_on, NULL);
    fn_calls(switches_off, NULL);
    assert_int_equal(spex_context, SPEX_CONTEXT_ROOT);
    spex_set("fn_*");
    fn_plain();
    spex_stop();
    assert_string_equal(all_records(), "fn_plain(0,0) fn_plain(0,0)");
}

static void switches_on_and_jumps(void *user) {
    switches_on(user);
    jumps(user);
}

static void *calls_what_switches_on_and_jumps(void *arg) {
    fn_calls(switches_on_and_jumps, NULL);
    return arg;
}

/* A function that has begun before does not end the one that has been left since. */
TEST(what_has_no_beginning_ends_nothing) {
    pthread_t thread;
    begin("off");
    assert_int_equal(pthread_create(&thread, NULL, calls_what_switches_on_and_jumps, NULL), 0);
    pthread_join(thread, NULL);
    spex_stop();
    assert_string_equal(all_records(), "fn_plain(0,0)");
}

static void forks(void *child) {
    *(pid_t *)child = fork();
}

TEST(a_fork_within_a_function_leaves_it_in_both) {
    pid_t child;
    int status;
    begin("fn_*");
    fn_calls(forks, &child);
    if (child == 0)
        _exit(spex_context == SPEX_CONTEXT_ROOT ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    spex_stop();
    assert_string_equal(all_records(), "fn_calls(0,0)");
}

int __real_munmap(void *at, size_t size);
int __wrap_munmap(void *at, size_t size);

static __thread bool is_counted;
static unsigned unmapped; /* by threads that are counted */

int __wrap_munmap(void *at, size_t size) {
    if (is_counted)
        unmapped++;
    return __real_munmap(at, size);
}

static void *gives_and_calls(void *size) {
    is_counted = true;
    if (size)
        give_size(*(const uint64_t *)size);
    fn_plain();
    return NULL;
}

/* At its end the thread gives back its room for functions. */
static void in_a_thread(const uint64_t *size) {
    pthread_t thread;
    unmapped = 0;
    assert_int_equal(pthread_create(&thread, NULL, gives_and_calls, (void *)(uintptr_t)size), 0);
    pthread_join(thread, NULL);
    assert_int_equal(unmapped, 1);
}

/* What is given outside of functions stays: so this and the next are the last that look at
 * parameters. */
TEST(what_is_given_outside_holds_for_threads_that_give_nothing) {
    const uint64_t other = 9;
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

/* What a function gives that is off is given outside. */
TEST(only_what_is_on_is_in_a_context) {
    begin("fn_*,fn_outer@off");
    fn_outer(5);
    spex_stop();
    assert_string_equal(all_records(), "fn_inner(6,7) fn_plain(5,7)");
}

TEST(the_last_item_that_matches_decides) {
    assert_true(spex_function_chosen("*", "sort"));
    assert_true(spex_function_chosen("sort,other", "sort"));
    assert_false(spex_function_chosen("sort", "sort_rows"));
    assert_false(spex_function_chosen("*,sort*@off", "sort_rows"));
    assert_true(spex_function_chosen("*,sort*@off,sort_rows", "sort_rows"));
    assert_false(spex_function_chosen("sort@off", "find"));
}

TEST(names_are_those_that_people_know) {
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

TEST(direct_calls_are_found) {
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
