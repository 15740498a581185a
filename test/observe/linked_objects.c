/* SPDX-License-Identifier: MIT */
/* Which libraries a program links, told without anything of it running.
 *
 *     linked_objects LINKING AUDITED OBSERVED */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "observe/objects/linked_objects.h"
#include "scratch.h"

static char *linking, *audited, *observed;

static bool has_file(char *const *list, size_t count, const char *what) {
    struct stat wanted, found;
    assert_int_equal(stat(what, &wanted), 0);
    for (size_t i = 0; i < count; i++)
        if (stat(list[i], &found) == 0 && found.st_dev == wanted.st_dev &&
            found.st_ino == wanted.st_ino)
            return true;
    return false;
}

static bool something_ran(void) {
    return access("constructor-ran", F_OK) == 0 || access("resolver-ran", F_OK) == 0;
}

static void libraries_are_found(void **state) {
    struct spex_linked_objects objects;
    struct spex_error why = {""};
    (void)state;
    assert_int_equal(spex_linked_objects_find(linking, &objects, &why), 0);
    assert_true(has_file(objects.found, objects.found_count, observed));
    assert_true(objects.found_count >= 2);
    for (size_t f = 0; f < objects.found_count; f++)
        assert_int_equal(access(objects.found[f], R_OK), 0);
    assert_int_equal(objects.missing_count, 0);
    spex_linked_objects_free(&objects);
}

static void nothing_runs(void **state) {
    /* Each would have the loader do more than to list. */
    static const char *const variables[][2] = {
        {"LD_DEBUG", "unused"}, {"LD_BIND_NOW", "1"}, {"LD_WARN", "1"}, {"LD_VERBOSE", "1"}};
    struct spex_linked_objects objects;
    struct spex_error why = {""};
    (void)state;
    for (size_t v = 0; v < COUNT_OF(variables); v++)
        setenv(variables[v][0], variables[v][1], 1);
    assert_int_equal(spex_linked_objects_find(linking, &objects, &why), 0);
    spex_linked_objects_free(&objects);
    for (size_t v = 0; v < COUNT_OF(variables); v++)
        unsetenv(variables[v][0]);
    assert_false(something_ran());

    int status;
    pid_t pid = fork();
    if (pid == 0) {
        execl(linking, linking, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(access("constructor-ran", F_OK), 0);
    assert_int_equal(access("resolver-ran", F_OK), 0);
}

static void auditors_are_not_run(void **state) {
    struct spex_linked_objects objects;
    struct spex_error why = {""};
    (void)state;
    assert_int_equal(spex_linked_objects_find(audited, &objects, &why), -ENOTSUP);
    assert_non_null(strstr(why.text, "auditor"));
    assert_int_equal(objects.found_count, 0);
    spex_linked_objects_free(&objects);
}

static void what_is_missing_is_told(void **state) {
    char name[256];
    struct spex_linked_objects objects;
    struct spex_error why = {""};
    (void)state;
    /* Names are of the same length, so that the program can be changed as it is. */
    FILE *from = fopen(linking, "rb"), *to = fopen("changed", "wb");
    static char bytes[1 << 20];
    size_t length = fread(bytes, 1, sizeof(bytes), from);
    assert_in_range(length, 1, sizeof(bytes) - 1);
    const char *file = strrchr(observed, '/') + 1;
    snprintf(name, sizeof(name), "%s", file);
    name[3] = 'X';
    char *at = memmem(bytes, length, file, strlen(file) + 1);
    assert_non_null(at);
    at[3] = 'X';
    assert_int_equal(fwrite(bytes, 1, length, to), length);
    fclose(from);
    fclose(to);
    assert_int_equal(spex_linked_objects_find("changed", &objects, &why), 0);
    assert_false(something_ran());
    assert_int_equal(objects.missing_count, 1);
    assert_string_equal(objects.missing[0], name);
    assert_true(objects.found_count >= 1);
    spex_linked_objects_free(&objects);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libraries_are_found), cmocka_unit_test(auditors_are_not_run),
        cmocka_unit_test(what_is_missing_is_told),
        cmocka_unit_test(nothing_runs), /* ends with running the program */
    };
    const char *emulated = getenv("TEST_EMULATED");
    if (emulated && *emulated) {
        puts("SKIP: an emulator's loader is not where programs say");
        return 77;
    }
    assert_int_equal(argc, 4);
    linking = realpath(argv[1], NULL); /* the directory will be another */
    audited = realpath(argv[2], NULL);
    observed = realpath(argv[3], NULL);
    assert_true(linking && audited && observed);
    int failed = cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
    free(linking);
    free(audited);
    free(observed);
    return failed;
}
