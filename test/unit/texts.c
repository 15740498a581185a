/* SPDX-License-Identifier: MIT */
/* Texts: which bytes are printable, against the definition of UTF-8; cells of CSV; messages that
 * are cut; and the signals that writing raises. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>

#include "../check.h"
#include "messages.h"
#include "text/characters.h"
#include "text/csv_cell.h"
#include "text/error.h"
#include "text/message.h"
#include "text/printable.h"
#include "text/write_signals.h"

/* ---- printable ---- */

enum { LAST_CHARACTER = 0x10ffff };

/* The character in so many bytes, which may be more than it needs. */
static void encode(char text[8], uint32_t character, unsigned bytes) {
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    memset(text, 0, 8);
    if (bytes == 1)
        text[0] = (char)character;
    for (unsigned b = bytes; bytes > 1 && b-- > 0; character >>= 6)
        text[b] = (char)(b ? 0x80 | (character & 0x3f) : first[bytes] | character);
}

static unsigned bytes_of(uint32_t character) {
    return character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
}

static bool is_control(uint32_t character) {
    return character < 0x20 || (character >= 0x7f && character < 0xa0);
}

/* All but control characters and surrogates, in as few bytes as they need. */
TEST(each_character_has_one_form) {
    char text[8], made[8];
    for (uint32_t character = 1; character < 0x200000; character++)
        for (unsigned bytes = bytes_of(character); bytes <= 4; bytes++) {
            bool is = bytes == bytes_of(character) && !is_control(character) &&
                      (character < 0xd800 || character > 0xdfff) && character <= LAST_CHARACTER;
            encode(text, character, bytes);
            if (spex_is_printable(text) != is)
                fail_msg("U+%x in %u bytes", character, bytes);
            memcpy(made, text, sizeof(made));
            spex_make_printable(made);
            assert_string_equal(made, is ? text : &"????"[4 - bytes]);
        }
}

/* As Unicode's UAX 11 has them, at the ends of scripts. */
TEST(characters_have_widths) {
    static const struct {
        uint32_t character;
        size_t columns;
    } known[] = {
        {'a', 1},     {0xe9, 1},    {0x2ff, 1},   {0x300, 0},    {0x36f, 0},   {0x370, 1},
        {0x10ff, 1},  {0x1100, 2},  {0x115f, 2},  {0x1160, 0},   {0x1200, 1},  {0x200b, 0},
        {0x2026, 1},  {0x20ac, 1},  {0x2265, 1},  {0x3000, 2},   {0x302a, 0},  {0x303f, 1},
        {0x3042, 2},  {0x309a, 0},  {0x4e00, 2},  {0x9fff, 2},   {0xac00, 2},  {0xd7a3, 2},
        {0xfe0f, 0},  {0xff01, 2},  {0xff60, 2},  {0xff61, 1},   {0x10000, 1}, {0x1f300, 2},
        {0x1f680, 2}, {0x20000, 2}, {0x3fffd, 2}, {0x10fffd, 1},
    };
    char text[16];
    for (size_t k = 0; k < COUNT_OF(known); k++) {
        unsigned bytes = bytes_of(known[k].character);
        encode(text, known[k].character, bytes);
        if (spex_characters(text) != known[k].columns)
            fail_msg("U+%x is %zu wide", known[k].character, spex_characters(text));
        memcpy(&text[bytes], "bc", sizeof("bc"));
        assert_int_equal(spex_characters(text), known[k].columns + 2);
        assert_int_equal(spex_characters_bytes(text, known[k].columns), bytes);
        assert_int_equal(spex_characters_bytes(text, known[k].columns + 1), bytes + 1);
        if (known[k].columns == 2)
            assert_int_equal(spex_characters_bytes(text, 1), 0);
    }
}

/* What does not go on as it began is replaced byte by byte, and what follows is as it is. */
TEST(characters_may_be_cut) {
    static const uint32_t characters[] = {0xe9, 0x20ac, 0x1f600};
    static const char *const behind[] = {"", "a", "\xc3\xa9", "\x7f"};
    char text[16], expected[16];
    for (size_t c = 0; c < COUNT_OF(characters); c++)
        for (unsigned left = 1; left < bytes_of(characters[c]); left++)
            for (size_t b = 0; b < COUNT_OF(behind); b++) {
                encode(text, characters[c], bytes_of(characters[c]));
                strcpy(text + left, behind[b]);
                snprintf(expected, sizeof(expected), "%.*s%s", (int)left, "????",
                         behind[b][0] == '\x7f' ? "?" : behind[b]);
                assert_false(spex_is_printable(text));
                spex_make_printable(text);
                assert_string_equal(text, expected);
            }
}

/* ---- cells ---- */

TEST(cells_of_csv) {
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    static const char *const cells[] = {"plain text",       "",     "a,b", "\"",
                                        "say \"it\", once", "a\nb", "\r",  "a'b;c"};
    for (size_t c = 0; c < COUNT_OF(cells); c++) {
        spex_csv_cell_text(out, cells[c]);
        fputc('|', out);
    }
    static const double numbers[] = {0, -1.5, 1e300, 0.1, 123456789, NAN, INFINITY, -INFINITY};
    for (size_t n = 0; n < COUNT_OF(numbers); n++) {
        spex_csv_cell_number(out, numbers[n]);
        fputc('|', out);
    }
    assert_int_equal(fclose(out), 0);
    assert_string_equal(
        text, "plain text||\"a,b\"|\"\"\"\"|\"say \"\"it\"\", once\"|\"a\nb\"|\"\r\"|a'b;c|"
              "0|-1.5|1e+300|0.1|123456789||||");
    free(text);
}

/* ---- messages ---- */

TEST(messages_are_lines) {
    struct spex_error error;
    char longest[2000];
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    messages_begin();
    spex_message("%s\n%d\x1b", "two\tlines", 3);
    spex_message("%s", longest);
    const char *messages = messages_end();
    const char *second = strchr(messages, '\n') + 1;
    assert_memory_equal(messages, "spex: two?lines?3?\n", strlen("spex: two?lines?3?\n"));
    assert_int_equal(strlen(second), strlen("spex: ") + 511 + 1);
    spex_error_set(&error, "%s\n%d", "a", 7);
    assert_string_equal(error.text, "a?7");
    spex_error_set(&error, "%s", longest);
    assert_int_equal(strlen(error.text), sizeof(error.text) - 1);
}

/* ---- signals ---- */

static volatile sig_atomic_t handled;

static void handle(int number) {
    (void)number;
    handled++;
}

static bool is_blocked(int number) {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    return sigismember(&mask, number);
}

static bool is_pending(int number) {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, number);
}

/* As a write to a pipe that nobody reads does. */
static void write_in_vain(void) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    assert_int_equal(write(ends[1], "x", 1), -1);
    assert_int_equal(errno, EPIPE);
    close(ends[1]);
}

/* The program gets none of the signals, whether it has a handler or would end, and its mask and
 * errno are as before. */
TEST(signals_of_writes_do_not_reach_the_program) {
    struct spex_write_signals signals;
    for (int blocked = 0; blocked < 2; blocked++) {
        sigset_t pipe_signal, before;
        sigemptyset(&pipe_signal);
        sigaddset(&pipe_signal, SIGPIPE);
        handled = 0;
        signal(SIGPIPE, handle);
        signal(SIGXFSZ, handle);
        pthread_sigmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &pipe_signal, &before);
        spex_write_signals_hold(&signals);
        assert_true(is_blocked(SIGPIPE) && is_blocked(SIGXFSZ));
        assert_false(is_blocked(SIGTERM));
        write_in_vain();
        raise(SIGXFSZ);
        assert_true(is_pending(SIGPIPE) && is_pending(SIGXFSZ));
        errno = ENOSPC;
        spex_write_signals_release(&signals);
        assert_int_equal(errno, ENOSPC);
        assert_false(is_pending(SIGPIPE) || is_pending(SIGXFSZ));
        assert_int_equal(is_blocked(SIGPIPE), blocked);
        assert_false(is_blocked(SIGXFSZ));
        assert_int_equal(handled, 0);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    write_in_vain();
    assert_int_equal(handled, 1);
}

/* What came before is the program's. */
TEST(signals_of_others_stay) {
    struct spex_write_signals signals;
    sigset_t pipe_signal, before;
    handled = 0;
    signal(SIGPIPE, handle);
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    raise(SIGPIPE);
    spex_write_signals_hold(&signals);
    write_in_vain();
    raise(SIGXFSZ);
    spex_write_signals_release(&signals);
    assert_true(is_pending(SIGPIPE));
    assert_false(is_pending(SIGXFSZ));
    assert_int_equal(handled, 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    assert_int_equal(handled, 1);
}

/* A message that nobody can read ends no program, and leaves its signals as they were. */
TEST(messages_raise_no_signals) {
    int ends[2], standard = dup(STDERR_FILENO);
    handled = 0;
    signal(SIGPIPE, handle);
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    errno = 0;
    spex_message("in vain");
    bool written = !ferror(stderr) && errno == 0;
    bool blocked = is_blocked(SIGPIPE) || is_blocked(SIGXFSZ), pending = is_pending(SIGPIPE);
    assert_int_equal(dup2(standard, STDERR_FILENO), STDERR_FILENO);
    clearerr(stderr);
    close(standard);
    close(ends[1]);
    assert_false(written);
    assert_false(blocked);
    assert_false(pending);
    assert_int_equal(handled, 0);
}
