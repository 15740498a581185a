/* SPDX-License-Identifier: MIT */
/* Which libraries a program links, told without anything of it running.
 *
 *     linked_objects LINKING AUDITED OBSERVED */
#include <errno.h>
#include <libgen.h>
#include <sys/wait.h>

#include "../scarce_descriptors.h"
#include "../scarce_memory.h"
#include "observe/objects/linked_objects.h"
#include "observe/objects/loader_check.h"
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

TEST(libraries_are_found) {
    struct spex_linked_objects objects;
    struct spex_error why = {""};
    assert_int_equal(spex_linked_objects_find(linking, &objects, &why), 0);
    assert_true(has_file(objects.found, objects.found_count, observed));
    assert_true(objects.found_count >= 2);
    for (size_t f = 0; f < objects.found_count; f++)
        assert_int_equal(access(objects.found[f], R_OK), 0);
    assert_int_equal(objects.missing_count, 0);
    spex_linked_objects_free(&objects);
}

TEST(auditors_are_not_run) {
    struct spex_linked_objects objects;
    struct spex_error why = {""};
    assert_int_equal(spex_linked_objects_find(audited, &objects, &why), -ENOTSUP);
    assert_non_null(strstr(why.text, "auditor"));
    assert_int_equal(objects.found_count, 0);
    spex_linked_objects_free(&objects);
}

TEST(what_is_missing_is_told) {
    char name[256];
    struct spex_linked_objects objects;
    struct spex_error why = {""};
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

/* A name that looks like an option is none, and neither is one without a slash looked for. */
TEST(names_are_paths) {
    static const char *const names[] = {"--help", "libx.so"};
    struct spex_linked_objects objects;
    struct spex_error why = {""};
    setenv("LD_LIBRARY_PATH", dirname(strcpy((char[4096]){""}, observed)), 1);
    for (size_t n = 0; n < COUNT_OF(names); n++) {
        assert_int_equal(symlink(linking, names[n]), 0);
        assert_int_equal(spex_linked_objects_find(names[n], &objects, &why), 0);
        assert_int_equal(objects.missing_count, 0);
        assert_true(has_file(objects.found, objects.found_count, observed));
        spex_linked_objects_free(&objects);
        assert_true(!objects.found && objects.found_count == 0);
        unlink(names[n]);
    }
    unsetenv("LD_LIBRARY_PATH");
}

static int fork_error;

pid_t __real_fork(void);
pid_t __wrap_fork(void);

pid_t __wrap_fork(void) {
    if (!fork_error)
        return __real_fork();
    errno = fork_error;
    return -1;
}

static void expect_failure(const char *path, int err, const char *reason) {
    struct spex_linked_objects objects;
    struct spex_error why = {""};
    size_t open = open_descriptors();
    assert_int_equal(spex_linked_objects_find(path, &objects, &why), err);
    if (strncmp(why.text, reason, strlen(reason)) != 0)
        fail_msg("%s", why.text);
    spex_linked_objects_free(&objects);
    assert_int_equal(open_descriptors(), open);
}

TEST(what_cannot_be_done_is_told) {
    struct scarce_descriptors scarce;
    char expected[300];
    expect_failure("nothing", -ENOENT, "nothing: No such file or directory");
    expect_failure(".", -EISDIR, ". is a directory");
    scratch_text("text", "text");
    expect_failure("text", -ENOEXEC, "text is not an ELF program");
    fork_error = EAGAIN;
    snprintf(expected, sizeof(expected), "cannot start %s: Resource temporarily unavailable",
             spex_loader_path());
    expect_failure(linking, -EAGAIN, expected);
    fork_error = 0;
    for (int left = 0; left < 2; left++) {
        struct spex_linked_objects objects;
        struct spex_error why = {""};
        descriptors_take(&scarce, left);
        int err = spex_linked_objects_find(linking, &objects, &why);
        descriptors_give_back(&scarce);
        assert_int_equal(err, -EMFILE);
        snprintf(expected, sizeof(expected), "%s%sToo many open files",
                 left ? "cannot make a pipe: " : linking, left ? "" : " cannot be read: ");
        assert_string_equal(why.text, expected);
        spex_linked_objects_free(&objects);
    }
    /* A library that is none ends the loader, with its reason. */
    assert_int_equal(mkdir("broken", 0700), 0);
    snprintf(expected, sizeof(expected), "broken/%.100s", strrchr(observed, '/') + 1);
    scratch_text(expected, "");
    setenv("LD_LIBRARY_PATH", "broken", 1);
    expect_failure(linking, -EIO, "the loader failed: ");
    unsetenv("LD_LIBRARY_PATH");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left */
    assert_int_equal(errno, ECHILD);
}

static int find_all(void *user) {
    struct spex_linked_objects objects;
    int err = spex_linked_objects_find(linking, &objects, user);
    if (!err)
        assert_true(has_file(objects.found, objects.found_count, observed));
    spex_linked_objects_free(&objects);
    return err;
}

TEST(without_memory) {
    struct spex_error why;
    size_t open = open_descriptors();
    assert_true(without_each_allocation(find_all, &why) >= 4);
    assert_int_equal(open_descriptors(), open);
}

TEST(nothing_runs) {
    /* Each would have the loader do more than to list. */
    static const char *const variables[][2] = {
        {"LD_DEBUG", "unused"}, {"LD_BIND_NOW", "1"}, {"LD_WARN", "1"}, {"LD_VERBOSE", "1"}};
    struct spex_linked_objects objects;
    struct spex_error why = {""};
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

int main(int argc, char **argv) {
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
    int failed = tests_run(scratch_enter, scratch_leave);
    free(linking);
    free(audited);
    free(observed);
    return failed;
}
