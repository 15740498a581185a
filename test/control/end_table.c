/* SPDX-License-Identifier: MIT */
/* Where the table at the end goes: files, pipes and standard streams, and what is said where it
 * cannot go there. */
#include "serving.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../open_descriptors.h"
#include "../unit/messages.h"
#include "serve/call.h"
#include "serve/end_table.h"
#include "text/message.h"
#include "wire/listening_socket.h"

static char path[128], table[4096];

static const char *in_directory(const char *name) {
    snprintf(path, sizeof(path), "%s/%s", serving_directory, name);
    return path;
}

static size_t file_text(const char *from, char *text, size_t size) {
    FILE *file = fopen(from, "re");
    assert_non_null(file);
    size_t length = fread(text, 1, size - 1, file);
    text[length] = '\0';
    fclose(file);
    return length;
}

/* What is said meanwhile. */
static const char *table_to(const char *out) {
    struct spex_end_table *output = NULL;
    messages_begin();
    int err = spex_end_table_open(out, false, &output);
    if (!err)
        spex_end_table_finish(output);
    const char *said = messages_end();
    assert_int_equal(err, 0);
    return said;
}

/* The table of a program without a collection, as standard error has it. */
static int table_begin(void **state) {
    serving_begin(state);
    snprintf(table, sizeof(table), "%s", table_to(NULL));
    return table[0] && strchr(table, '\n') ? 0 : -1;
}

static void expect_tables(const char *from, const char *before, unsigned count) {
    char text[16384];
    size_t length = file_text(from, text, sizeof(text)), one = strlen(table);
    assert_int_equal(length, strlen(before) + count * one);
    assert_memory_equal(text, before, strlen(before));
    for (unsigned t = 0; t < count; t++)
        assert_memory_equal(text + strlen(before) + t * one, table, one);
}

static void file_write(const char *to, const char *text) {
    FILE *file = fopen(to, "we");
    assert_true(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* Emptied by the first of a program's tables, which the others follow; another file again. */
TEST(files_are_emptied_once) {
    char back[256];
    assert_non_null(getcwd(back, sizeof(back)));
    file_write(in_directory("a"), "before");
    assert_string_equal(table_to(path), "");
    expect_tables(path, "", 1);
    assert_string_equal(table_to(path), "");
    expect_tables(path, "", 2);
    file_write(in_directory("b"), "before");
    assert_string_equal(table_to(path), "");
    expect_tables(path, "", 1);
    /* The file is that of when the collection began. */
    struct spex_end_table *output;
    assert_int_equal(chdir(serving_directory), 0);
    assert_int_equal(spex_end_table_open("c", false, &output), 0);
    assert_int_equal(chdir("/"), 0);
    spex_end_table_finish(output);
    expect_tables(in_directory("c"), "", 1);
    assert_int_equal(chdir(back), 0);
    struct stat made;
    assert_int_equal(stat(path, &made), 0);
    assert_int_equal(made.st_mode & 0111, 0);
    /* And is not written where nothing is to be. */
    assert_int_equal(spex_end_table_open(in_directory("d"), false, &output), 0);
    spex_end_table_abandon(output);
    expect_tables(path, "", 0);
    spex_end_table_abandon(NULL);
}

TEST(standard_output) {
    struct spex_end_table *output;
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    int fd = open(in_directory("out"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(saved >= 0 && fd >= 0 && dup2(fd, STDOUT_FILENO) == STDOUT_FILENO);
    int opened = spex_end_table_open("-", false, &output);
    printf("before\n"); /* what the program has left in its buffer goes first */
    if (!opened)
        spex_end_table_finish(output);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    close(fd);
    assert_int_equal(opened, 0);
    expect_tables(path, "before\n", 1);
}

TEST(what_cannot_be_written_is_said) {
    static const char unopened[] = "spex: SPEX_OUT: cannot open /nowhere/file: No such file or "
                                   "directory; the table goes to standard error\n";
    char expected[256];
    const char *said = table_to("/nowhere/file");
    assert_int_equal(strncmp(said, unopened, strlen(unopened)), 0);
    assert_string_equal(strchr(said, '\n') + 1, table);
    assert_string_equal(
        table_to("/dev/full"),
        "spex: SPEX_OUT: cannot write the table to /dev/full: No space left on device\n");
    assert_int_equal(mkfifo(in_directory("unread"), 0600), 0);
    snprintf(expected, sizeof(expected),
             "spex: SPEX_OUT: cannot write the table to %s: nobody reads it\n", path);
    assert_string_equal(table_to(path), expected);
}

static int reader;
static char received[1 << 21];
static size_t received_bytes;

/* Also where the file gets the number of a stream that the program has closed. */
TEST(nothing_stays_open) {
    int input = dup(0);
    close(0);
    assert_string_equal(table_to(in_directory("zero")), "");
    assert_int_equal(fcntl(0, F_GETFD), -1);
    assert_int_equal(dup2(input, 0), 0);
    close(input);
    expect_tables(path, "", 1);
    size_t open = open_descriptors();
    assert_string_equal(table_to(path), "");
    assert_int_equal(open_descriptors(), open);
}

static void *read_all(void *unused) {
    ssize_t got;
    while ((got = read(reader, received + received_bytes, 4096)) > 0)
        received_bytes += (size_t)got;
    return unused;
}

/* A pipe that is full is waited for, and has the whole table. */
TEST(a_slow_reader_gets_the_table) {
    struct spex_end_table *output;
    pthread_t thread;
    static char block[4096];
    size_t filled = 0;
    ssize_t got;
    assert_int_equal(mkfifo(in_directory("pipe"), 0600), 0);
    reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    int writer = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0 && writer >= 0);
    while ((got = write(writer, block, sizeof(block))) > 0)
        filled += (size_t)got;
    assert_in_range(filled, 1, sizeof(received) - sizeof(table));
    assert_int_equal(spex_end_table_open(path, false, &output), 0);
    assert_int_equal(fcntl(reader, F_SETFL, 0), 0);
    assert_int_equal(pthread_create(&thread, NULL, read_all, NULL), 0);
    spex_end_table_finish(output);
    close(writer);
    pthread_join(thread, NULL);
    close(reader);
    assert_int_equal(received_bytes, filled + strlen(table));
    assert_memory_equal(received + filled, table, strlen(table));
}

/* A full pipe that nobody reads takes the place of the stream; the program does not wait for it. */
TEST(nobody_reads_a_standard_stream) {
    static const int streams[] = {STDOUT_FILENO, STDERR_FILENO};
    static char block[4096];
    for (size_t s = 0; s < COUNT_OF(streams); s++) {
        struct spex_end_table *output;
        int ends[2], saved = dup(streams[s]);
        assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
        while (write(ends[1], block, sizeof(block)) > 0)
            continue;
        assert_int_equal(fcntl(ends[1], F_SETFL, 0), 0);
        assert_int_equal(spex_end_table_open(s ? NULL : "-", false, &output), 0);
        fflush(stdout);
        dup2(ends[1], streams[s]);
        spex_end_table_finish(output);
        spex_message("nobody will read this");
        dup2(saved, streams[s]);
        close(saved);
        close(ends[0]);
        close(ends[1]);
    }
}

/* ---- connections to commands ---- */

TEST(calls_begin_with_early_reports) {
    static struct spex_connection connection;
    static const struct spex_descriptor none = {.number = -1};
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    uint64_t begun = connection.active_ns;
    spex_call_open(&connection, spex_descriptor_of(pair[0]), 500);
    assert_true(connection.ours && connection.reports && !connection.waits);
    assert_int_equal(connection.interval_ms, 500);
    assert_int_equal(connection.early_ns, 10000000);
    assert_true(connection.due_ns > begun && connection.due_ns >= connection.active_ns);
    assert_int_equal(connection.reply.next, 0);
    /* It is not made again while it is there, nor where it was not ours. */
    assert_int_equal(spex_call_again(&connection, "/nowhere", &none), SPEX_CALL_STANDS);
    close(connection.socket.number);
    connection.ours = false;
    assert_int_equal(spex_call_again(&connection, "/nowhere", &none), SPEX_CALL_STANDS);
    connection.ours = true;
    assert_int_equal(spex_call_again(&connection, "/nowhere", &none), SPEX_CALL_LOST);
    assert_true(spex_call_connect("/nowhere", &none).number < 0);
    spex_connection_close(&connection);
    close(pair[1]);
}

/* A command listens; the connection does not block, and is made again when it is lost. */
TEST(calls_are_made_again) {
    static struct spex_connection connection;
    static const struct spex_descriptor none = {.number = -1};
    struct spex_listening_socket listening;
    struct spex_error error;
    char to[8192];
    assert_int_equal(spex_listening_socket_open(&listening, serving_directory, &error), 0);
    snprintf(to, sizeof(to), "%s/%s", listening.path, listening.name);
    struct spex_descriptor fresh = spex_call_connect(to, &none);
    assert_true(fresh.number >= 0);
    assert_true(fcntl(fresh.number, F_GETFL) & O_NONBLOCK);
    spex_call_open(&connection, fresh, 70);
    int accepted = spex_listening_socket_accept(&listening).number;
    assert_true(accepted >= 0);
    close(connection.socket.number);
    assert_int_equal(spex_call_again(&connection, to, &none), SPEX_CALL_AGAIN);
    assert_true(spex_connection_there(&connection) && connection.reports);
    assert_int_equal(connection.interval_ms, 70);
    int again = spex_listening_socket_accept(&listening).number;
    assert_true(again >= 0);
    spex_connection_close(&connection);
    close(accepted);
    close(again);
    spex_listening_socket_close(&listening);
}

/* The process ends where it asks a terminal or a file. */
static bool forbid_ioctl(void) {
    static struct sock_filter calls[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {COUNT_OF(calls), calls};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* The sandbox is entered when the table is open. */
TEST(a_sandbox_allows_the_table) {
    enum { NO_SANDBOX = 77 };
    struct spex_end_table *output = NULL;
    int status;
    messages_begin();
    assert_int_equal(spex_end_table_open(NULL, false, &output), 0);
    pid_t child = fork();
    if (child == 0) {
        if (!forbid_ioctl())
            _exit(NO_SANDBOX);
        spex_end_table_finish(output);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    spex_end_table_abandon(output);
    const char *said = messages_end();
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_SANDBOX)
        skip();
    assert_int_equal(status, 0);
    assert_non_null(strstr(said, "no probe was on\n"));
}

int main(void) {
    return tests_run(table_begin, serving_end);
}
