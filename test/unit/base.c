/* SPDX-License-Identifier: MIT */
/* Descriptors that programs do not reach, numbers and texts from outside, misspelt variables,
 * quantiles, deadlines. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "../check.h"
#include "base/clock.h"
#include "base/deadline.h"
#include "base/descriptor.h"
#include "base/service_thread.h"
#include "base/student.h"
#include "base/terminal.h"
#include "messages.h"
#include "text/message.h"
#include "text/number.h"
#include "text/printable.h"
#include "text/variables.h"

/* ---- descriptors ---- */

/* In the last quarter of the numbers, of which no more than 1024 count; a low one where it is
 * full. */
TEST(descriptors_are_high) {
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    static const rlim_t ends[] = {1024, 400};
    for (size_t e = 0; e < COUNT_OF(ends); e++) {
        limit = before;
        limit.rlim_cur = ends[e];
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        int low = open("/dev/null", O_RDONLY | O_CLOEXEC);
        struct spex_descriptor high = spex_descriptor_of(low);
        assert_int_equal(high.number, ends[e] / 4 * 3);
        assert_int_equal(fcntl(low, F_GETFD), -1);
        assert_int_equal(fcntl(high.number, F_GETFD), FD_CLOEXEC);
        assert_int_equal(spex_descriptor_close(&high), 0);
    }
    if (before.rlim_max > 8192) {
        limit.rlim_cur = 8192;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        struct spex_descriptor high = spex_descriptor_of(open("/dev/null", O_RDONLY | O_CLOEXEC));
        assert_int_equal(high.number, 768);
        assert_int_equal(spex_descriptor_close(&high), 0);
    }
    limit.rlim_cur = 8;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    int all[8], count = 0, fd;
    while ((fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        all[count++] = fd;
    assert_true(count > 0);
    assert_int_equal(spex_descriptor_of(all[0]).number, all[0]);
    while (count > 0)
        close(all[--count]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* What the program has put in the place of a descriptor is neither used nor closed. */
TEST(descriptors_of_others_stay) {
    int pipes[2];
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    struct spex_descriptor ours = spex_descriptor_of(pipes[0]);
    assert_true(spex_descriptor_is_ours(&ours));
    char text[SPEX_DESCRIPTOR_TEXT_BYTES];
    spex_descriptor_text(&ours, text);
    struct spex_descriptor read = spex_descriptor_read(text);
    assert_true(read.number == ours.number && read.device == ours.device &&
                read.inode == ours.inode);
    int number = ours.number;
    assert_int_equal(dup2(pipes[1], number), number);
    assert_true(spex_descriptor_is_ours(&ours)); /* both ends of a pipe are one file */
    int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(dup2(other, number), number);
    assert_false(spex_descriptor_is_ours(&ours));
    assert_int_equal(spex_descriptor_close(&ours), -EBADF);
    assert_int_equal(ours.number, -1);
    assert_int_not_equal(fcntl(number, F_GETFD), -1);
    close(number);
    struct spex_descriptor mine = spex_descriptor_of(other);
    number = mine.number;
    spex_descriptor_close(&mine);
    assert_int_equal(fcntl(number, F_GETFD), -1);
    close(pipes[1]);
    static const char *const bad[] = {NULL, "", "1", "1:2", "1:2:", "a:2:3", "-1:2:3", "1::3"};
    for (size_t b = 0; b < COUNT_OF(bad); b++)
        assert_int_equal(spex_descriptor_read(bad[b]).number, -1);
}

/* Nothing is a descriptor that is none. One that is closed soon keeps its number, but for those of
 * the standard streams. */
TEST(brief_descriptors) {
    assert_int_equal(spex_descriptor_of(-1).number, -1);
    assert_int_equal(spex_descriptor_brief(-1).number, -1);
    int number = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct spex_descriptor brief = spex_descriptor_brief(number);
    assert_int_equal(brief.number, number);
    assert_true(spex_descriptor_is_at(&brief, AT_FDCWD, "/dev/null", true));
    assert_false(spex_descriptor_is_at(&brief, AT_FDCWD, "/dev/zero", true));
    assert_false(spex_descriptor_is_at(&brief, AT_FDCWD, "/dev/no such", true));
    assert_int_equal(spex_descriptor_close(&brief), 0);
    int input = dup(STDIN_FILENO);
    close(STDIN_FILENO);
    assert_int_equal(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    brief = spex_descriptor_brief(STDIN_FILENO);
    assert_true(brief.number > STDERR_FILENO);
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
    assert_int_equal(spex_descriptor_close(&brief), 0);
    if (input >= 0)
        assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
    close(input);
}

TEST(files_of_the_kernel) {
    char text[64], few[4], path[] = "/proc/self/comm";
    assert_int_equal(prctl(PR_SET_NAME, "a name"), 0);
    assert_int_equal(spex_descriptor_read_path(path, text, sizeof(text)), 7);
    assert_string_equal(text, "a name\n");
    assert_int_equal(spex_descriptor_read_path(path, few, sizeof(few)), 3);
    assert_string_equal(few, "a n");
    assert_int_equal(spex_descriptor_read_path("/proc/no such", text, sizeof(text)), -1);
    assert_string_equal(text, "");
}

/* What is on the number of standard error, and whether spex may write to it. */
TEST(standard_streams) {
    char name[] = "/tmp/spex-standard-XXXXXX";
    int kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3), file = mkostemp(name, O_CLOEXEC);
    int ends[2], sockets[2], input = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(kept >= 0 && file >= 0 && unlink(name) == 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    assert_true(spex_standard_is_open(STDERR_FILENO));
    static const struct {
        enum { FILE_AT, APPENDED, PIPE, SOCKET, NETWORK, NULL_DEVICE, CLOSED } what;
        int flags;
        bool open;
    } cases[] = {{FILE_AT, 0, false},       {APPENDED, 0, true},          {PIPE, 0, true},
                 {SOCKET, 0, true},         {NETWORK, 0, false},          {NULL_DEVICE, 0, false},
                 {CLOSED, 0, false},        {APPENDED, O_CLOEXEC, false}, {PIPE, O_CLOEXEC, false},
                 {SOCKET, O_CLOEXEC, false}};
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        const int of[] = {file, file, ends[1], sockets[0], input, null};
        assert_int_equal(fcntl(file, F_SETFL, cases[c].what == APPENDED ? O_APPEND : 0), 0);
        if (cases[c].what == CLOSED)
            close(STDERR_FILENO);
        else
            dup3(of[cases[c].what], STDERR_FILENO, cases[c].flags);
        bool is_open = spex_standard_is_open(STDERR_FILENO);
        spex_message("a line");
        dup2(kept, STDERR_FILENO);
        assert_int_equal(is_open, cases[c].open);
        struct stat now;
        assert_int_equal(fstat(file, &now), 0);
        assert_int_equal(now.st_size != 0, cases[c].what == APPENDED && cases[c].open);
        assert_int_equal(ftruncate(file, 0), 0);
    }
    assert_true(spex_standard_is_open(STDERR_FILENO));
    const int all[] = {kept, file, ends[0], ends[1], sockets[0], sockets[1], input, null};
    for (size_t a = 0; a < COUNT_OF(all); a++)
        close(all[a]);
}

/* ---- numbers ---- */

TEST(integers) {
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},
                {"-1", -1},
                {"42", 42},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN}};
    static const char *const bad[] = {"",
                                      "-",
                                      "-0",
                                      "00",
                                      "07",
                                      "-07",
                                      "1.0",
                                      " 1",
                                      "1 ",
                                      "+1",
                                      "0x10",
                                      "1e3",
                                      "9223372036854775808"};
    int64_t value;
    for (size_t g = 0; g < COUNT_OF(good); g++)
        assert_true(spex_number_integer(good[g].text, &value) && value == good[g].value);
    for (size_t b = 0; b < COUNT_OF(bad); b++)
        assert_false(spex_number_integer(bad[b], &value));
}

TEST(seconds) {
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0},           {"2", 2},
                {"0.25", 0.25},     {"007", 7},
                {"10.5", 10.5},     {"999999999", 999999999},
                {"0.000001", 1e-6}, {"1.0000000000000000000001", 1}};
    static const char *const bad[] = {"",   ".",   ".5",  "1.",         "-1",  "+1",
                                      " 1", "1e3", "1,5", "1000000000", "inf", "1.5s"};
    double value;
    for (size_t g = 0; g < COUNT_OF(good); g++)
        assert_true(spex_number_seconds(good[g].text, &value) &&
                    fabs(value - good[g].value) <= 1e-12 * good[g].value);
    for (size_t b = 0; b < COUNT_OF(bad); b++)
        assert_false(spex_number_seconds(bad[b], &value));
    static const char *const not_real[] = {"", "-", ".5", "inf", "nan", "0x1", "1e999", " 1", "1 "};
    assert_true(spex_number_real("-2", &value) && value == -2);
    assert_true(spex_number_real("1e-3", &value) && value == 1e-3);
    assert_true(spex_number_real("9.5E+2", &value) && value == 950);
    for (size_t b = 0; b < COUNT_OF(not_real); b++)
        assert_false(spex_number_real(not_real[b], &value));
}

/* Unicode, table 3-7, at the bounds of each row; and control characters. */
TEST(printable_texts) {
    static const struct {
        const char *text, *made;
    } texts[] = {
        {"plain text ~", NULL},
        {"", NULL},
        {"tab\there", "tab?here"},
        {"\x1b[2J\x7f", "?[2J?"},
        {"\xc2\xa0 \xdf\xbf \xc3\x80", NULL},
        {"\xc2\x80 \xc2\x9f", "?? ??"},
        {"\xc1\xbf \xc0\x80", "?? ??"},
        {"\xe0\xa0\x80 \xe0\xbf\xbf \xe1\x80\x80 \xec\xbf\xbf \xed\x80\x80 \xed\x9f\xbf", NULL},
        {"\xe0\x9f\xbf", "???"},
        {"\xed\xa0\x80", "???"},
        {"\xee\x80\x80 \xef\xbf\xbf", NULL},
        {"\xf0\x90\x80\x80 \xf1\x80\x80\x80 \xf3\xbf\xbf\xbf \xf4\x8f\xbf\xbf", NULL},
        {"\xf0\x8f\xbf\xbf", "????"},
        {"\xf4\x90\x80\x80", "????"},
        {"\xf5\x80\x80\x80", "????"},
        {"\xe2\x82", "??"},
        {"\xe2\x82z", "??z"},
        {"\xf0\x9f\x98", "???"},
        {"\xe2\x82\xc0", "???"},
    };
    char text[64];
    for (size_t t = 0; t < COUNT_OF(texts); t++) {
        assert_int_equal(spex_is_printable(texts[t].text), !texts[t].made);
        strcpy(text, texts[t].text);
        spex_make_printable(text);
        assert_string_equal(text, texts[t].made ? texts[t].made : texts[t].text);
        assert_true(spex_is_printable(text));
    }
}

/* ---- variables ---- */

/* Once in a process, so that one environment has all cases. */
TEST(misspelt_variables) {
    static const char *const said[] = {
        "spex: SPEX_PROBE is no variable of spex's; did you mean SPEX_PROBES?\n",
        "spex: SPEX_BUGDET is no variable of spex's; did you mean SPEX_BUDGET?\n",
        "spex: SPEX_PORBSE is no variable of spex's; did you mean SPEX_PROBES?\n",
        "spex: SPEX_probes is no variable of spex's; did you mean SPEX_PROBES?\n",
        "spex: SPEX_COMMITS is no variable of spex's; did you mean SPEX_COMMIT?\n",
        "spex: SPEX_SOMETHING_ELSE is no variable of spex's; there are: SPEX_PROBES, ",
    };
    clearenv();
    setenv("SPEX_PROBE", "x", 1);
    setenv("SPEX_BUGDET", "x", 1);
    setenv("SPEX_PORBSE", "x", 1);
    setenv("SPEX_probes", "x", 1);
    setenv("SPEX_COMMITS", "x", 1);
    setenv("SPEX_SOMETHING_ELSE", "x", 1);
    setenv("SPEX_EMPTY", "", 1);
    setenv("SPEX_PARAMETER_A", "x", 1);
    setenv("SPEX_OUT", "x", 1);
    setenv("spex_probe", "x", 1);
    messages_begin();
    spex_variables_check();
    const char *messages = messages_end();
    for (size_t s = 0; s < COUNT_OF(said); s++)
        if (!strstr(messages, said[s]))
            fail_msg("%s not in\n%s", said[s], messages);
    size_t lines = 0;
    for (const char *at = messages; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, COUNT_OF(said));
    messages_begin();
    spex_variables_check();
    assert_string_equal(messages_end(), "");
    assert_string_equal(spex_variable_text(SPEX_VARIABLE_OUT), "x");
    assert_null(spex_variable_text(SPEX_VARIABLE_PROBES));
    setenv("SPEX_PROBES", "", 1);
    assert_null(spex_variable_text(SPEX_VARIABLE_PROBES));
}

/* ---- quantiles and deadlines ---- */

/* The share of Student's distribution beyond a value, on both sides, by Simpson's rule over the
 * angle whose tangent is value / sqrt(freedom). */
static double beyond_of_student(double value, double freedom) {
    enum { STEPS = 4000 };
    double from = atan(value / sqrt(freedom)), width = (M_PI / 2 - from) / STEPS, sum = 0;
    for (int i = 0; i < STEPS; i++)
        sum += (i == 0 ? 1 : i % 2 ? 4 : 2) * pow(cos(from + i * width), freedom - 1);
    return 2 * exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2)) / sqrt(M_PI) * sum * width / 3;
}

static double density_of_student(double value, double freedom) {
    return exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2) -
               (freedom + 1) / 2 * log1p(value * value / freedom)) /
           sqrt(freedom * M_PI);
}

/* Errors are those of the algorithm, which this limits with some to spare. */
TEST(quantiles_of_student) {
    static const struct {
        double freedom, error, probabilities[6];
    } rows[] = {
        {1.2, 0.01, {0.9, 0.5, 0.2, 0.1, 0.05}},
        {1.5, 0.005, {0.9, 0.5, 0.2, 0.1, 0.05}},
        {2.01, 1e-3, {0.5, 0.2, 0.05, 0.001}},
        {2.5, 5e-5, {0.9, 0.5, 0.2, 0.05, 0.001}},
        {3, 9e-7, {0.9, 0.5, 0.3, 0.2, 0.05}},
        {3, 1e-7, {0.9, 0.02, 0.01, 0.001}},
        {3.5, 6e-7, {0.9, 0.5, 0.3, 0.2, 0.1}},
        {4, 1.5e-7, {0.9, 0.5, 0.2, 0.1, 0.05, 0.001}},
        {4.5, 5e-8, {0.9, 0.5, 0.1, 0.05}},
        {5, 1e-7, {0.9, 0.5, 0.1, 0.05, 0.02, 0.001}},
        {6, 6e-8, {0.9, 0.5, 0.1, 0.05, 0.01}},
        {8, 2e-8, {0.9, 0.5, 0.1, 0.05, 0.01}},
        {10, 3e-8, {0.7, 0.5, 0.1, 0.05, 1e-3}},
        {20, 5e-9, {0.7, 0.5, 0.1, 0.05, 0.01, 1e-3}},
        {50, 1e-9, {0.7, 0.5, 0.1, 0.05, 1e-3}},
        {1000, 1e-9, {0.1, 0.05, 0.01, 1e-3}},
        {2000, 5e-7, {0.1, 0.05}},
    };
    for (size_t r = 0; r < COUNT_OF(rows); r++)
        for (size_t i = 0; i < COUNT_OF(rows[r].probabilities); i++) {
            double freedom = rows[r].freedom, probability = rows[r].probabilities[i];
            double value = probability > 0 ? spex_student_two_sided(probability, freedom) : 0;
            double error = (beyond_of_student(value, freedom) - probability) /
                           density_of_student(value, freedom) / 2 / value;
            if (probability > 0 && !(fabs(error) < rows[r].error))
                fail_msg("%g %g: %.9g, error %g", probability, freedom, value, error);
        }
    for (double p = 0.001; p < 1; p += 0.037) {
        assert_float_equal(spex_student_two_sided(p, 1) * tan(p * M_PI / 2), 1, 1e-12);
        assert_float_equal(spex_student_two_sided(p, 2) / sqrt(2 / (p * (2 - p)) - 2), 1, 1e-12);
        assert_true(spex_student_two_sided(p, 0.5) == spex_student_two_sided(p, 1));
    }
    assert_float_equal(spex_student_two_sided(0.05, 1e6), 1.959966, 1e-6);
    assert_true(spex_student_95(10) == spex_student_two_sided(0.05, 10));
}

TEST(deadlines) {
    assert_int_equal(spex_deadline_left_ms(spex_deadline_in(0)), 0);
    assert_int_equal(spex_deadline_left_ms(spex_deadline_in(-5)), 0);
    assert_in_range(spex_deadline_left_ms(spex_deadline_in(1000)), 900000, 1000000);
    assert_in_range(spex_deadline_left_ms(spex_deadline_in(1e6)), 999000000, 1000000000);
    assert_int_equal(spex_deadline_left_ms(spex_deadline_in(1e9)), INT_MAX);
    struct spex_deadline soon = spex_deadline_in(0.0005);
    assert_in_range(spex_deadline_left_ms(soon), 0, 1);
}

/* ---- widths ---- */

TEST(widths_of_texts) {
    static const struct {
        const char *columns;
        unsigned width;
    } known[] = {{"", 80},   {"132", 132}, {"20", 20},   {"19", 80},
                 {"-1", 80}, {"wide", 80}, {"0x99", 80}, {"99999999999999999999", 80}};
    for (size_t k = 0; k < COUNT_OF(known); k++) {
        setenv("COLUMNS", known[k].columns, 1);
        assert_int_equal(spex_text_width(), known[k].width);
    }
    unsetenv("COLUMNS");
    assert_int_equal(spex_text_width(), 80);
}

/* One that does not know its width is as good as none. */
TEST(widths_of_terminals) {
    struct winsize size = {.ws_row = 24};
    FILE *file = fdopen(posix_openpt(O_RDWR | O_NOCTTY), "r+"), *none = fopen("/dev/null", "we");
    assert_true(file && none);
    assert_int_equal(spex_terminal_width(none, 33), 33);
    for (size.ws_col = 0; size.ws_col < 200; size.ws_col += 19) {
        assert_int_equal(ioctl(fileno(file), TIOCSWINSZ, &size), 0);
        assert_int_equal(spex_terminal_width(file, 33), size.ws_col < 20 ? 33 : size.ws_col);
    }
    fclose(none);
    fclose(file);
}

/* ---- service threads ---- */

static void *never_run(void *unused) {
    return unused;
}

/* No address space has such a stack. What has not started is not waited for. */
TEST(threads_that_do_not_start) {
    pthread_t thread;
    assert_int_equal(spex_service_thread_start(&thread, "none", (size_t)1 << 50, never_run, NULL),
                     -EAGAIN);
    struct spex_patience patience = spex_patience_for(60 * (uint64_t)1000000000);
    const struct spex_patience before = patience;
    spex_service_threads_await(&patience);
    assert_int_equal(patience.sleeps, before.sleeps);
}
