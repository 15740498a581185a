/* SPDX-License-Identifier: MIT */
/* Commands that the server of `spex serve` runs, and the folder of traces that it lists. This
 * program is the command, too: it does what its argument says. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../check.h"
#include "base/clock.h"
#include "tools/serve/commands/children.h"
#include "tools/serve/commands/document.h"
#include "tools/serve/commands/traces.h"

#define SECOND 1000000000ull

enum { MOST = 10000 };

/* As a command. */
static int behave(const char *how, const char *path) {
    char here[4096] = "";
    if (strcmp(how, "says") == 0)
        return fputs("one\ntwo\nthree", stdout) < 0;
    if (strcmp(how, "fails") == 0) {
        fputs("first\nspex: it has \x1b[31mfailed\n", stderr);
        return 3;
    }
    if (strcmp(how, "floods") == 0)
        for (;;)
            if (puts("0123456789") < 0)
                return 0;
    if (strcmp(how, "waits") == 0)
        for (;;)
            pause();
    if (strcmp(how, "where") == 0)
        return puts(getcwd(here, sizeof(here))) < 0;
    if (strcmp(how, "killed") == 0)
        raise(SIGKILL);
    if (strcmp(how, "long") == 0)
        return printf("%0*d\nshort\n", 2 * MOST, 0) < 0;
    if (strcmp(how, "reads") == 0) {
        FILE *file = fopen(path, "re");
        int c;
        while (file && (c = fgetc(file)) != EOF)
            putchar(c);
        return !file || fclose(file) != 0;
    }
    if (strcmp(how, "open") == 0)
        for (int fd = 3; fd < 1000; fd++)
            if (fcntl(fd, F_GETFD) >= 0)
                return printf("%d\n", fd) < 0;
    if (strcmp(how, "writes") == 0) {
        FILE *file = fopen("big", "we");
        for (int b = 0; file && b < 100000; b++)
            fputs("0123456789", file);
        return !file || fclose(file) != 0;
    }
    return 0;
}

struct heard {
    char lines[10][100];
    size_t count;
    bool over;
    int status;
    char text[MOST + 1], why[256];
};

static void take_line(void *user, const char *line, size_t bytes) {
    struct heard *heard = user;
    assert_true(heard->count < 10 && bytes < 100 && strlen(line) == bytes);
    memcpy(heard->lines[heard->count++], line, bytes + 1);
}

static void take_end(void *user, struct spex_child *child) {
    struct heard *heard = user;
    assert_false(heard->over);
    heard->over = true;
    heard->status = child->status;
    assert_true(child->bytes <= MOST);
    if (child->text)
        memcpy(heard->text, child->text, child->bytes + 1);
    memcpy(heard->why, child->why, sizeof(heard->why));
}

static struct spex_children children;

/* Takes what comes as if it were so late. */
static void turn(uint64_t now_ns) {
    struct pollfd fds[SPEX_CHILDREN_FDS];
    spex_children_wait(&children, fds);
    poll(fds, SPEX_CHILDREN_FDS, 100);
    spex_children_take(&children, fds, now_ns);
}

static struct spex_child *start(const char *how, struct heard *heard, bool lines, int folder) {
    const char *const arguments[] = {how, NULL};
    const struct spex_child_task task = {.arguments = arguments,
                                         .folder = folder,
                                         .most = MOST,
                                         .most_ns = SECOND,
                                         .most_file = 5000,
                                         .line = lines ? take_line : NULL,
                                         .over = take_end,
                                         .user = heard};
    *heard = (struct heard){.count = 0};
    struct spex_child *child = spex_children_start(&children, &task, 0);
    assert_non_null(child);
    return child;
}

static void run(const char *how, struct heard *heard, bool lines) {
    start(how, heard, lines, -1);
    while (!heard->over)
        turn(0);
}

TEST(output_is_kept) {
    struct heard heard;
    run("says", &heard, false);
    assert_int_equal(heard.status, 0);
    assert_string_equal(heard.text, "one\ntwo\nthree");
    run("open", &heard, false);
    assert_string_equal(heard.text, "");
}

/* A line without an end is none. */
TEST(lines_are_told) {
    struct heard heard;
    run("says", &heard, true);
    assert_int_equal(heard.count, 2);
    assert_string_equal(heard.lines[0], "one");
    assert_string_equal(heard.lines[1], "two");
    run("long", &heard, true);
    assert_int_equal(heard.count, 1);
    assert_string_equal(heard.lines[0], "short");
}

TEST(failures_are_told) {
    struct heard heard;
    run("fails", &heard, false);
    assert_int_equal(heard.status, 3);
    assert_string_equal(heard.why, "it has ?[31mfailed");
    run("killed", &heard, false);
    assert_int_equal(heard.status, -EINTR);
}

TEST(too_much_ends_it) {
    struct heard heard;
    run("floods", &heard, false);
    assert_int_equal(heard.status, -EFBIG);
}

TEST(too_long_ends_it) {
    struct heard heard;
    start("waits", &heard, false, -1);
    turn(SECOND - 1);
    assert_false(heard.over);
    while (!heard.over)
        turn(SECOND);
    assert_int_equal(heard.status, -ETIMEDOUT);
}

/* SIGTERM does not reach one that is stopped. */
TEST(who_does_not_end_is_killed) {
    struct heard heard;
    struct spex_child *child = start("waits", &heard, false, -1);
    kill(child->process, SIGSTOP);
    assert_int_equal(waitpid(child->process, NULL, WUNTRACED), child->process);
    spex_child_end(child, 0);
    turn(SECOND);
    assert_false(heard.over);
    while (!heard.over)
        turn(100 * SECOND);
    assert_int_equal(heard.status, -EINTR);
}

TEST(what_is_stopped_is_not_heard_of) {
    struct heard heard;
    pid_t process = start("waits", &heard, false, -1)->process;
    spex_children_close(&children);
    assert_false(heard.over);
    assert_int_equal(kill(process, 0), -1);
    for (int c = 0; c < SPEX_CHILDREN; c++)
        start("waits", &heard, false, -1);
    assert_null(spex_children_start(
        &children,
        &(struct spex_child_task){.arguments = (const char *const[]){"waits", NULL}, .folder = -1},
        0));
    spex_children_close(&children);
}

static char folder[] = "/tmp/spex-test-XXXXXX";
static int folder_fd;

TEST(a_command_works_in_its_folder) {
    struct heard heard;
    struct stat about;
    start("where", &heard, false, folder_fd);
    while (!heard.over)
        turn(0);
    heard.text[strcspn(heard.text, "\n")] = '\0';
    assert_string_equal(heard.text, folder);
    start("writes", &heard, false, folder_fd);
    while (!heard.over)
        turn(0);
    assert_int_not_equal(heard.status, 0);
    assert_int_equal(fstatat(folder_fd, "big", &about, 0), 0);
    assert_int_equal(about.st_size, 5000);
}

static void write_file(const char *name, const char *text) {
    int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

/* Reads it if it is to be read; with `later`, as if the pause were over. Returns the version. */
static unsigned look(struct spex_document *document, bool later) {
    document->next_ns = later ? 0 : document->next_ns;
    bool reads = spex_document_look(document, &children, spex_clock_ns(CLOCK_MONOTONIC));
    while (reads && document->child)
        turn(0);
    return document->version;
}

static bool written;

static bool is_written(const char *path) {
    (void)path;
    return written;
}

TEST(a_document_is_read_when_it_changes) {
    char path[64];
    snprintf(path, sizeof(path), "%s/document", folder);
    const char *const arguments[] = {"reads", path, NULL};
    struct spex_document document = {
        .path = path, .arguments = arguments, .is_written = is_written};
    write_file("document", "first");
    assert_int_equal(look(&document, true), 1);
    assert_string_equal(document.text, "first");
    write_file("document", "second one");
    document.next_ns = UINT64_MAX;
    assert_int_equal(look(&document, false), 1);
    assert_int_equal(look(&document, true), 2);
    assert_string_equal(document.text, "second one");
    assert_true(document.next_ns > document.began_ns + SECOND);
    assert_int_equal(look(&document, true), 2);
    /* The same text from another state of the file is no other version. */
    written = true;
    uint64_t began = document.began_ns;
    assert_int_equal(look(&document, true), 2);
    assert_true(document.began_ns > began);
    unlinkat(folder_fd, "document", 0);
    assert_int_equal(look(&document, true), 3);
    assert_null(document.text);
    assert_string_not_equal(document.why, "");
    spex_document_free(&document);
}

static void make_trace(const char *name, const char *inner) {
    char path[128];
    assert_int_equal(mkdirat(folder_fd, name, 0700), 0);
    snprintf(path, sizeof(path), "%s/%s", name, inner);
    assert_true(!*inner || mkdirat(folder_fd, path, 0700) == 0);
    snprintf(path, sizeof(path), "%s/%s/metadata", name, inner);
    write_file(path, "12345");
}

static bool is_listed(const struct spex_trace_list *list, const char *name) {
    for (size_t e = 0; e < list->count; e++)
        if (strcmp(list->entries[e].name, name) == 0)
            return list->entries[e].bytes == 5;
    return false;
}

TEST(traces_are_listed) {
    static const char *const others[] = {"empty", "link",  "..",         ".",          "one/",
                                         "",      "/etc",  "one/../two", ".hidden",    "none",
                                         "big",   "x\x1b", "../one",     "one\x01\xff"};
    char longest[4096];
    struct spex_trace_list list;
    make_trace("one", "");
    make_trace("two <b>", "process-1");
    make_trace("x\x1b", "");
    make_trace(".hidden", "");
    assert_int_equal(mkdirat(folder_fd, "empty", 0700), 0);
    assert_int_equal(symlinkat("one", folder_fd, "link"), 0);
    assert_int_equal(symlinkat("/", folder_fd, "empty/link"), 0);
    assert_int_equal(spex_traces_list(folder_fd, &list), 0);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.left_out, 1);
    assert_true(is_listed(&list, "one") && is_listed(&list, "two <b>"));
    spex_traces_free(&list);
    assert_true(spex_traces_has(folder_fd, "one") && spex_traces_has(folder_fd, "two <b>"));
    for (size_t o = 0; o < COUNT_OF(others); o++)
        assert_false(spex_traces_has(folder_fd, others[o]));
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_false(spex_traces_has(folder_fd, longest));
    write_file("metadata", "1234567");
    assert_true(spex_traces_has(folder_fd, "."));
}

static int enter(void **state) {
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return folder_fd < 0;
}

static int leave(void **state) {
    char command[64];
    (void)state;
    close(folder_fd);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

int main(int argc, char **argv) {
    if (argc > 1)
        return behave(argv[1], argc > 2 ? argv[2] : NULL) != 0 ? 3 : fflush(stdout) != 0;
    return tests_run(enter, leave);
}
