/* SPDX-License-Identifier: MIT */
/* Any text as a template: it is refused with one line, or filled so that what was escaped is itself
 * again, what has no braces stays, and every value is where its name was. */
#include <errno.h>
#include <string.h>

#include "explore/space/space.h"
#include "explore/space/template.h"
#include "fuzz.h"

static const char xml[] = "<space name='s'>"
                          "<parameter name='t' type='integer' min='1' max='2'/>"
                          "<parameter name='m' type='categorical' values='{t} }}'/>"
                          "<parameter name='c' type='integer' values='8 16' when='$t = 2'/>"
                          "<objective probe='q:lat' metric='mean' goal='minimise'/></space>";

static const struct spex_space *space(void) {
    static struct spex_space_file *file;
    struct spex_error why;
    FUZZ_CHECK(file || spex_space_parse("made", xml, &file, &why) == 0);
    return &file->space;
}

static char *fill(const char *text, const size_t *levels) {
    char *filled;
    FUZZ_CHECK(spex_template_fill(text, space(), levels, &filled) == 0);
    return filled;
}

/* Every brace twice. */
static void check_escaped(const char *text) {
    static const size_t levels[3];
    char *escaped = malloc(2 * strlen(text) + 1), *to = escaped;
    struct spex_error why;
    uint64_t named;
    FUZZ_CHECK(escaped);
    for (const char *from = text; *from; from++) {
        *to++ = *from;
        if (*from == '{' || *from == '}')
            *to++ = *from;
    }
    *to = '\0';
    FUZZ_CHECK(spex_template_check(escaped, space(), &named, &why) == 0 && !named);
    char *filled = fill(escaped, levels);
    FUZZ_CHECK(filled && strcmp(filled, text) == 0);
    free(filled);
    free(escaped);
}

static void check_filled(const char *text, uint64_t named) {
    static const size_t first[] = {0, 1, 0}, second[] = {1, 0, 1};
    char *filled = fill(text, first), *other = fill(text, second);
    FUZZ_CHECK((filled == NULL) == (named >> 2 & 1)); /* where t is 1, c does not apply */
    FUZZ_CHECK(other);
    if (!named)
        FUZZ_CHECK(strcmp(filled, other) == 0 && strlen(filled) <= strlen(text));
    if (!strpbrk(text, "{}"))
        FUZZ_CHECK(!named && strcmp(filled, text) == 0);
    if (named & 1)
        FUZZ_CHECK(strchr(other, '2'));
    free(filled);
    free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    struct spex_error why = {""};
    uint64_t named;
    check_escaped(text);
    int err = spex_template_check(text, space(), &named, &why);
    FUZZ_CHECK(err == 0 || err == -EINVAL);
    if (err)
        FUZZ_CHECK(strstr(why.text, ": the space has no such parameter; it has t, m, c, "));
    else
        check_filled(text, named);
    free(text);
    return 0;
}

size_t fuzz_seed(unsigned number, uint8_t *data, size_t room) {
    static const char *const seeds[] = {
        "--threads={t} --cache={c}MB {m}",
        "{{t}} {{{t}}} ${t} {\"a\":{\"b\":{t}}}",
        "plain",
        "{}{ }{unknown}}}",
    };
    return fuzz_text_seed(seeds, sizeof(seeds) / sizeof(seeds[0]), number, data, room);
}

const char *const fuzz_words[] = {"{",   "}",   "{{", "}}", "$",  "${", "{t}", "{m}",
                                  "{c}", "{x}", "{_", "t",  "\"", ":",  ",",   NULL};
