/* SPDX-License-Identifier: MIT */
/* A policy in an object of its own is found, checked and asked as one that is built in; what is
 * none is refused.
 *
 *     rate_object FIRST_ONLY NO_POLICY WRONG_SIZE WRONG_VERSION WRONG_SUMMARY */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/wait.h>

#include "asking.h"
#include "rate/policy_object.h"

enum { FIRST_ONLY = 1, NO_POLICY, WRONG_SIZE, WRONG_VERSION, WRONG_SUMMARY, ARGUMENTS };

enum { NOBODY = 65534, NOT_SECURE = 98, NO_COPY };

static char **paths;

static bool is_loaded(const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle)
        dlclose(handle);
    return handle != NULL;
}

TEST(an_object_of_its_own_decides) {
    struct spex_shared_object object;
    struct spex_error why;
    assert_int_equal(
        spex_shared_object_open(&object, paths[FIRST_ONLY], &spex_rate_object_kind, &why), 0);
    const struct spex_rate_policy_ops *policy = object.found;
    assert_string_equal(policy->name, "first-only");
    assert_true(is_loaded(paths[FIRST_ONLY]));

    struct use_case use;
    struct spex_rate_decision decisions[5];
    struct spex_rate_plan plan = {.size = sizeof(plan), .decisions = decisions};
    make_use_case(&use, (const double[]){2, 1, 1, 1, 1}, 925);
    assert_int_equal(policy->decide(&use.problem, NULL, &plan), 0);
    assert_float_equal(decisions[0].frequency, 359, 0);
    assert_int_equal(decisions[1].mode, SPEX_RATE_OFF);
    assert_float_equal(plan.information, 718, 1e-9);

    spex_shared_object_close(&object);
    assert_null(object.found);
    assert_false(is_loaded(paths[FIRST_ONLY]));
    spex_shared_object_close(&object);
}

static void assert_refused(const char *path, int err, const char *expected) {
    struct spex_shared_object object;
    struct spex_error why = {""};
    assert_int_equal(spex_shared_object_open(&object, path, &spex_rate_object_kind, &why), err);
    if (!strstr(why.text, expected))
        fail_msg("\"%s\" is not in \"%s\"", expected, why.text);
    assert_null(object.handle);
    assert_null(object.found);
    assert_false(is_loaded(path));
}

TEST(the_builtin_ones_are_named) {
    char names[SPEX_RATE_POLICY_NAMES], few[8];
    spex_rate_policy_names(names, sizeof(names));
    assert_string_equal(names, "fair, budget, fixed or hybrid");
    spex_rate_policy_names(few, sizeof(few));
    assert_string_equal(few, "fair, b");
}

TEST(what_is_no_object_is_refused) {
    char path[] = "/tmp/spex-rate-object-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_refused(path, -ENOENT, "a shared object was expected: file too short");
    assert_int_equal(dprintf(file, "%4096s", "text"), 4096);
    assert_refused(path, -ENOENT, "a shared object was expected: invalid ELF header");
    close(file);
    unlink(path);
    assert_refused(path, -ENOENT,
                   "a shared object was expected: cannot open shared object file: No such file");
    assert_refused("/", -EINVAL, "a shared object was expected: not a regular file");
}

static bool silent;

char *__real_dlerror(void);
char *__wrap_dlerror(void);

char *__wrap_dlerror(void) {
    char *text = __real_dlerror();
    return silent ? NULL : text;
}

TEST(a_loader_may_tell_nothing) {
    silent = true;
    assert_refused("/none.so", -ENOENT, "a shared object was expected: unknown error");
    silent = false;
}

TEST(what_is_no_policy_is_refused) {
    char expected[160];
    assert_refused(paths[NO_POLICY], -ENOENT,
                   "a shared object with the symbol spex_rate_policy was expected");
    assert_refused(paths[WRONG_VERSION], -ENOTSUP,
                   "a policy of version 1 of spex/rate_policy.h was expected, not 2");
    snprintf(expected, sizeof(expected),
             "a policy of %zu bytes was expected, as in this spex/rate_policy.h, not %zu",
             sizeof(struct spex_rate_policy_ops), sizeof(struct spex_rate_policy_ops) - 1);
    assert_refused(paths[WRONG_SIZE], -ENOTSUP, expected);
    assert_refused(paths[WRONG_SUMMARY], -EINVAL,
                   "a policy with name, summary, workspace_size and decide was expected");
}

/* This program, copied, as another user's. */
TEST(set_user_id_programs_load_none) {
    char directory[] = "/tmp/spex-rate-object-XXXXXX", copy[64], command[1024];
    int status;
    if (getenv("TEST_EMULATED")) {
        print_message("SKIP: a program that is emulated cannot start another of its kind\n");
        skip();
    }
    if (geteuid() != 0) {
        print_message("SKIP: only root can be another user\n");
        skip();
    }
    assert_non_null(mkdtemp(directory));
    snprintf(copy, sizeof(copy), "%s/copy", directory);
    snprintf(command, sizeof(command), "chmod 711 %s && cp '%s' %s && chmod 4755 %s", directory,
             paths[0], copy, copy);
    assert_int_equal(system(command), 0);
    pid_t child = fork();
    if (child == 0) {
        if (setgid(NOBODY) == 0 && setuid(NOBODY) == 0)
            execl(copy, copy, paths[FIRST_ONLY], (char *)NULL);
        _exit(NO_COPY);
    }
    waitpid(child, &status, 0);
    unlink(copy);
    rmdir(directory);
    if (WEXITSTATUS(status) == NOT_SECURE) {
        print_message("SKIP: set-user-ID programs are not run as such here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

/* As the set-user-ID program. */
static int refused(const char *path) {
    struct spex_shared_object object;
    struct spex_error why = {""};
    if (geteuid() == getuid())
        return NOT_SECURE;
    return spex_shared_object_open(&object, path, &spex_rate_object_kind, &why) == -EPERM &&
                   !object.handle && strstr(why.text, "a set-user-ID program loads no objects")
               ? 0
               : 1;
}

TEST(files_are_told_from_names) {
    assert_true(spex_shared_object_is_path("./fair"));
    assert_true(spex_shared_object_is_path("/lib/policy.so"));
    assert_false(spex_shared_object_is_path("policy.so"));
}

TEST(what_is_no_policy_is_told_apart) {
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
    if (argc == 2)
        return refused(argv[1]);
    paths = argv;
    if (argc != ARGUMENTS)
        return 2;
    return tests_run(NULL, NULL);
}
