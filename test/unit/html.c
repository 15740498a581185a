/* SPDX-License-Identifier: MIT */
/* Texts as HTML, against a decoder of UTF-8 by code points: what is valid stays as it is, and of
 * what is not each byte becomes U+FFFD. */
#include "text/html.h"
#include "../check.h"

static char written[8192];
static FILE *out;

static int open_out(void **state) {
    (void)state;
    out = fmemopen(written, sizeof(written), "w");
    return out ? 0 : -1;
}

static int close_out(void **state) {
    (void)state;
    return fclose(out);
}

static void expect(const char *text, const char *expected) {
    rewind(out);
    spex_html_text(out, text);
    fputc('\0', out);
    fflush(out);
    if (strcmp(written, expected) != 0)
        fail_msg("\"%s\" becomes \"%s\" and not \"%s\"", text, written, expected);
}

/* How many bytes the code point that begins here takes; 0: it is none. */
static size_t decoded(const char *text) {
    static const unsigned long least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = (unsigned char)*text;
    size_t bytes = first < 0x80         ? 1
                   : first >> 5 == 0x06 ? 2
                   : first >> 4 == 0x0e ? 3
                   : first >> 3 == 0x1e ? 4
                                        : 0;
    if (bytes < 2)
        return bytes;
    unsigned long point = first & (0x7fu >> bytes);
    for (size_t b = 1; b < bytes; b++) {
        unsigned char next = (unsigned char)text[b];
        if (next >> 6 != 2)
            return 0;
        point = point << 6 | (next & 0x3f);
    }
    bool surrogate = point >= 0xd800 && point <= 0xdfff, none = point == 0xfffe || point == 0xffff;
    return point >= least[bytes] && point <= 0x10ffff && !surrogate && !none ? bytes : 0;
}

static void escape(const char *text, char *escaped) {
    *escaped = '\0';
    while (*text) {
        size_t bytes = decoded(text);
        bool control = bytes == 1 && ((unsigned char)*text < 32 || *text == 127) && *text != '\n' &&
                       *text != '\t';
        const char *name = *text == '&'    ? "&amp;"
                           : *text == '<'  ? "&lt;"
                           : *text == '>'  ? "&gt;"
                           : *text == '"'  ? "&quot;"
                           : *text == '\'' ? "&#39;"
                                           : NULL;
        if (name)
            strcat(escaped, name);
        else if (!bytes || control)
            strcat(escaped, "\xef\xbf\xbd");
        else
            strncat(escaped, text, bytes);
        text += bytes ? bytes : 1;
    }
}

/* Bytes at which something changes. */
static const char edges[] = "\x01\t\n\x1f 'A~\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe1"
                            "\xbe\xec\xed\xee\xef\xf0\xf1\xf3\xf4\xf5\xff";

TEST_WITH(each_byte_and_each_pair, open_out, close_out) {
    char text[3] = "", escaped[64];
    for (unsigned a = 1; a < 256; a++)
        for (unsigned b = 0; b < 256; b++) {
            text[0] = (char)a;
            text[1] = (char)b;
            escape(text, escaped);
            expect(text, escaped);
        }
}

TEST_WITH(longer_ones_at_the_edges, open_out, close_out) {
    enum { EDGES = sizeof(edges) - 1 };
    char text[5] = "", escaped[64];
    for (unsigned n = 0; n < EDGES * EDGES * EDGES * EDGES; n++) {
        unsigned left = n;
        for (size_t b = 0; b < 4; b++, left /= EDGES)
            text[b] = edges[left % EDGES];
        if ((unsigned char)text[0] < 0xe0 && n % 5)
            continue;
        escape(text, escaped);
        expect(text, escaped);
    }
}

/* A result is cut to 1023 bytes, and a character that is cut is none. */
TEST_WITH(formats_are_escaped_and_cut, open_out, close_out) {
    char letters[1100], expected[1100];
    rewind(out);
    spex_html_format(out, "%d<%s>%%", 7, "a&b");
    fputc('\0', out);
    fflush(out);
    assert_string_equal(written, "7&lt;a&amp;b&gt;%");
    memset(letters, 'x', sizeof(letters) - 1);
    letters[sizeof(letters) - 1] = '\0';
    memcpy(letters + 1022, "\xc3\xa9", 2);
    memcpy(expected, letters, sizeof(letters));
    strcpy(expected + 1022, "\xef\xbf\xbd");
    rewind(out);
    spex_html_format(out, "%s", letters);
    fputc('\0', out);
    fflush(out);
    assert_string_equal(written, expected);
}
