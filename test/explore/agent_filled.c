/* SPDX-License-Identifier: MIT */
/* What one configuration makes of arguments and agent, and what is left out of it. */
#include <errno.h>

#include "../scarce_memory.h"
#include "explore/trial/agent_filled.h"
#include "explore/trial/trial_agent.h"
#include "spaces.h"

static const char xml[] =
    "<space name='s'><parameter name='threads' type='integer' min='0' max='4'/>"
    "<parameter name='mode' type='categorical' values='plain cached'/>"
    "<parameter name='cache.size' type='integer' values='8 16' when=\"$mode = 'cached'\"/>"
    "<objective probe='q:lat' metric='mean' goal='minimise'/>"
    "<environment name='T' value='{threads} {mode}'/><environment name='C' value='{cache.size}'/>"
    "<setup command='start {threads} {{'/><teardown command='stop {cache.size}'/>"
    "<service command='serve {mode}' ready='port:700{threads}' timeout='7'/>"
    "<service command='serve' ready='asked {cache.size}'/>"
    "<load stressor='cpu' workers='{threads}' options=' --cpu-load  {threads}0 '/>"
    "<load stressor='vm' workers='3' options='--vm-bytes {cache.size}m'/>"
    "<load stressor='io' workers='1'/></space>";

static char *arguments[] = {(char *)(uintptr_t) "program{threads}",
                            (char *)(uintptr_t) "{cache.size}",
                            (char *)(uintptr_t) "--mode={mode}",
                            (char *)(uintptr_t) "{threads}/{cache.size}",
                            (char *)(uintptr_t) "",
                            NULL};

static void expect_list(char *const *list, const char *const *expected) {
    size_t i = 0;
    for (; expected[i]; i++) {
        assert_non_null(list[i]);
        assert_string_equal(list[i], expected[i]);
    }
    assert_null(list[i]);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static void fill(const struct spex_space_file *file, const size_t *levels,
                 struct spex_agent_filled *filled) {
    struct spex_error why = {""};
    if (spex_agent_fill(file, arguments, levels, filled, &why))
        fail_msg("%s", why.text);
}

TEST(all_that_applies) {
    static const size_t levels[] = {2, 1, 1};
    struct spex_space_file *file = space_of(xml);
    struct spex_agent_filled filled;
    fill(file, levels, &filled);
    expect_list(filled.argv, LIST("program2", "16", "--mode=cached", "2/16", ""));
    expect_list(filled.variables, LIST("T=2 cached", "C=16"));
    expect_list(filled.parameters, LIST("SPEX_PARAMETER_THREADS=2", "SPEX_PARAMETER_MODE=cached",
                                        "SPEX_PARAMETER_CACHE_SIZE=16"));
    assert_string_equal(filled.setup, "start 2 {");
    assert_string_equal(filled.teardown, "stop 16");
    assert_int_equal(filled.service_count, 2);
    assert_string_equal(filled.services[0].command, "serve cached");
    assert_string_equal(filled.services[0].ready, "port:7002");
    assert_true(filled.services[0].timeout_seconds == 7);
    assert_string_equal(filled.services[1].command, "serve");
    assert_string_equal(filled.services[1].ready, "asked 16");
    assert_true(filled.services[1].timeout_seconds == 60);
    assert_int_equal(filled.load_count, 3);
    assert_string_equal(filled.loads[0].stressor, "cpu");
    assert_int_equal(filled.loads[0].workers, 2);
    expect_list(filled.loads[0].options, LIST("--cpu-load", "20"));
    assert_int_equal(filled.loads[1].workers, 3);
    expect_list(filled.loads[1].options, LIST("--vm-bytes", "16m"));
    assert_int_equal(filled.loads[2].workers, 1);
    assert_null(filled.loads[2].options[0]);
    spex_agent_filled_free(&filled);
    spex_space_free(file);
}

TEST(what_does_not_apply) {
    static const size_t levels[] = {0, 0, 0};
    struct spex_space_file *file = space_of(xml);
    struct spex_agent_filled filled;
    fill(file, levels, &filled);
    expect_list(filled.argv, LIST("program0", "--mode=plain", ""));
    expect_list(filled.variables, LIST("T=0 plain", "C"));
    expect_list(filled.parameters, LIST("SPEX_PARAMETER_THREADS=0", "SPEX_PARAMETER_MODE=plain",
                                        "SPEX_PARAMETER_CACHE_SIZE"));
    assert_string_equal(filled.setup, "start 0 {");
    assert_null(filled.teardown);
    assert_string_equal(filled.services[0].ready, "port:7000");
    assert_null(filled.services[1].ready);
    assert_int_equal(filled.loads[0].workers, 0);
    assert_int_equal(filled.loads[1].workers, 0);
    assert_int_equal(filled.loads[2].workers, 1);
    spex_agent_filled_free(&filled);
    spex_space_free(file);
}

TEST(a_program_that_does_not_apply) {
    static const size_t levels[] = {0, 0, 0};
    struct spex_space_file *file = space_of(xml);
    struct spex_agent_filled filled;
    struct spex_error why = {""};
    assert_int_equal(spex_agent_fill(file, arguments + 1, levels, &filled, &why), -EINVAL);
    assert_string_equal(why.text, "{cache.size} names a parameter that does not apply");
    spex_agent_filled_free(&filled);
    spex_space_free(file);
}

TEST(arguments_are_checked) {
    struct spex_space_file *file = space_of(xml);
    struct spex_error why = {""};
    char *wrong[] = {arguments[0], arguments[1], (char *)(uintptr_t) "--t={thread}", NULL};
    assert_int_equal(spex_agent_check_arguments(&file->space, arguments, &why), 0);
    assert_int_equal(spex_agent_check_arguments(&file->space, wrong, &why), -EINVAL);
    assert_string_equal(why.text,
                        "argument 2 of the program, \"--t={thread}\": {thread}: the space has no "
                        "such parameter; it has threads, mode, cache.size, and {{ is for a brace");
    spex_space_free(file);
}

static int fills(void *user) {
    static const size_t levels[] = {2, 1, 1};
    struct spex_agent_filled filled;
    struct spex_error why = {""};
    int err = spex_agent_fill(user, arguments, levels, &filled, &why);
    spex_agent_filled_free(&filled);
    return err;
}

/* Each of its texts has memory of its own, and none is left out. */
TEST(without_memory) {
    struct spex_space_file *file = space_of(xml);
    assert_int_equal(fills(file), 0);
    assert_true(without_each_allocation(fills, file) > 20);
    spex_space_free(file);
}

/* Whatever runs around a program is waited for: the setup's output, and each service's and load's
 * with its end. */
TEST(what_is_waited_for) {
    enum {
        LOADS = 101 + 2 * SPEX_AGENT_SERVICES_MAX,
        ALL = 1 + 2 * SPEX_AGENT_SERVICES_MAX + 2 * SPEX_AGENT_LOADS_MAX
    };
    struct spex_trial_agent around = {.setup.output = 100};
    struct pollfd fds[ALL + 1];
    for (int s = 0; s < SPEX_AGENT_SERVICES_MAX; s++) {
        around.services[s].output = 101 + 2 * s;
        around.services[s].pidfd = 102 + 2 * s;
    }
    for (int l = 0; l < SPEX_AGENT_LOADS_MAX; l++) {
        around.loads[l].output = LOADS + 2 * l;
        around.loads[l].pidfd = LOADS + 1 + 2 * l;
    }
    memset(fds, 0, sizeof(fds));
    spex_trial_agent_fds(&around, fds);
    for (int f = 0; f < ALL; f++) {
        assert_int_equal(fds[f].fd, 100 + f);
        assert_int_equal(fds[f].events, POLLIN);
    }
    assert_int_equal(fds[ALL].fd, 0);
}
