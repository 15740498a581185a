/* SPDX-License-Identifier: MIT */
/* A policy in an object of its own is found, checked and asked as one that is built in.
 *
 *     rate_object OBJECT */
#include <dlfcn.h>
#include <errno.h>

#include "asking.h"

static const char *path;

static void an_object_of_its_own_decides(void **state) {
    (void)state;
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(object);
    const struct spex_rate_policy_ops *ops = dlsym(object, "spex_rate_policy");
    assert_non_null(ops);
    assert_int_equal(spex_rate_policy_check(ops), 0);

    struct use_case use;
    struct spex_rate_decision decisions[5];
    struct spex_rate_plan plan = {.size = sizeof(plan), .decisions = decisions};
    make_use_case(&use, (const double[]){2, 1, 1, 1, 1}, 925);
    assert_int_equal(ops->decide(&use.problem, NULL, &plan), 0);
    assert_float_equal(decisions[0].frequency, 359, 0);
    assert_int_equal(decisions[1].mode, SPEX_RATE_OFF);
    assert_float_equal(plan.information, 718, 1e-9);
    dlclose(object);
}

static void what_is_no_policy_is_told_apart(void **state) {
    (void)state;
    struct spex_rate_policy_ops ops = *spex_builtin_rate_policy("hybrid");
    assert_int_equal(spex_rate_policy_check(&ops), 0);
    ops.abi++;
    assert_int_equal(spex_rate_policy_check(&ops), -ENOTSUP);
    ops.abi--;
    ops.size--;
    assert_int_equal(spex_rate_policy_check(&ops), -ENOTSUP);
    ops.size++;
    ops.combinations = NULL;
    assert_int_equal(spex_rate_policy_check(&ops), -EINVAL);
    ops.combinations_workspace_size = NULL;
    assert_int_equal(spex_rate_policy_check(&ops), 0);
    ops.decide = NULL;
    assert_int_equal(spex_rate_policy_check(&ops), -EINVAL);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_of_its_own_decides),
        cmocka_unit_test(what_is_no_policy_is_told_apart),
    };
    path = argc > 1 ? argv[1] : "";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
