/* SPDX-License-Identifier: MIT */
/* Exploration policies in objects of their own, the built-in ones among them, explore as those that
 * are built in do; what is none is refused.
 *
 *     policy_object NO_POLICY WRONG_SIZE WRONG_VERSION WRONG_SUMMARY POLICY… */
#include <errno.h>

#include "../check.h"
#include "explore/policy_object.h"
#include "policies/explore/builtin.h"
#include "simulation.h"

enum { NO_POLICY = 1, WRONG_SIZE, WRONG_VERSION, WRONG_SUMMARY, FIRST };

static char **paths;

static void assert_refused(const char *path, int err, const char *expected) {
    struct spex_shared_object object;
    struct spex_error why = {""};
    assert_int_equal(spex_shared_object_open(&object, path, &spex_policy_object_kind, &why), err);
    if (!strstr(why.text, expected))
        fail_msg("\"%s\" is not in \"%s\"", expected, why.text);
    assert_null(object.handle);
    assert_null(object.found);
}

TEST(what_is_no_policy_is_refused) {
    char expected[160];
    assert_refused("/", -EINVAL, "a shared object was expected: not a regular file");
    assert_refused(paths[NO_POLICY], -ENOENT,
                   "a shared object with the symbol spex_policy was expected, as "
                   "SPEX_POLICY_OBJECT makes it");
    snprintf(expected, sizeof(expected),
             "a policy of %zu bytes was expected, as in this spex/policy.h, not %zu",
             sizeof(struct spex_policy_ops), sizeof(struct spex_policy_ops) - 1);
    assert_refused(paths[WRONG_SIZE], -ENOTSUP, expected);
    assert_refused(paths[WRONG_VERSION], -ENOTSUP,
                   "a policy of version 4 of spex/policy.h was expected, not 5");
    assert_refused(paths[WRONG_SUMMARY], -EINVAL,
                   "a policy with name, summary, state_size, init and next was expected");
}

static void explores_the_same(const struct spex_policy_ops *policy, const struct landscape *small) {
    const struct spex_policy_ops *builtin = spex_builtin_policy(policy->name);
    struct simulation simulation = {.policy = policy, .landscape = small, .seed = 3};
    struct outcome outcome, same;
    simulate(&simulation, &outcome);
    assert_true(outcome.trials > 0);
    assert_true(outcome.share > 0.5);
    if (!builtin)
        return;
    simulation.policy = builtin;
    simulate(&simulation, &same);
    assert_int_equal(outcome.trials, same.trials);
    assert_float_equal(outcome.seconds, same.seconds, 0);
    assert_float_equal(outcome.share, same.share, 0);
}

TEST(objects_explore) {
    struct landscape small;
    landscape_make(&small, LANDSCAPES - 1);
    for (char **path = &paths[FIRST]; *path; path++) {
        struct spex_shared_object object;
        struct spex_error why = {""};
        if (spex_shared_object_open(&object, *path, &spex_policy_object_kind, &why))
            fail_msg("%s: %s", *path, why.text);
        explores_the_same(object.found, &small);
        spex_shared_object_close(&object);
        assert_null(object.found);
    }
}

int main(int argc, char **argv) {
    paths = argv;
    if (argc <= FIRST)
        return 2;
    return tests_run(NULL, NULL);
}
