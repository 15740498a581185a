/* SPDX-License-Identifier: MIT */
/* What becomes of a picture's script: the programs that draw are scripts of the shell here, which
 * end well, fail, are killed, or draw half a picture. */
#include <errno.h>
#include <sys/stat.h>

#include "../scarce_descriptors.h"
#include "../scarce_memory.h"
#include "explore/picture/picture.h"
#include "scratch.h"

#define SVG      "<svg a=\"1\">drawn</svg>"
#define DRAW_SVG "printf '<?xml version=\"1.0\"?>\\n%s\\n' '" SVG "'\n"
#define PNG_END  "\0\0\0\0IEND\xae\x42\x60\x82"
#define DRAW_PNG "printf 'P\\000\\000\\000\\000IEND\\256\\102\\140\\202'\n"

static const char said[] = "set 'it';\nplot it\n";

/* The script of every picture here. */
static int draw(const void *subject, struct spex_script *script, struct spex_error *error) {
    (void)error;
    assert_string_equal(script->name, "of a test");
    assert_int_equal(script->png, *(const bool *)subject);
    fputs(said, script->out);
    return 0;
}

static int draw_nothing(const void *subject, struct spex_script *script, struct spex_error *error) {
    (void)subject;
    (void)script;
    return spex_fail(error, -ENODATA, "there is nothing to draw");
}

static bool png;

static struct spex_picture picture_of(bool graph) {
    return (struct spex_picture){
        .name = "of a test", .graph = graph, .draw = draw, .subject = &png};
}

/* Makes a program that does so; it keeps its arguments and what it reads. */
static void make_program(const char *name, const char *does) {
    char text[1024];
    snprintf(text, sizeof(text), "#!/bin/sh\necho \"$0\" \"$@\" >arguments\n/bin/cat >script\n%s",
             does);
    scratch_text(name, text);
    assert_int_equal(chmod(name, 0700), 0);
}

static void expect_text(const char *path, const char *expected, size_t length) {
    char text[1024];
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof(text), file), length);
    fclose(file);
    assert_memory_equal(text, expected, length);
}

static void expect_run(const char *arguments) {
    char expected[512];
    int length = snprintf(expected, sizeof(expected), "%s/%s\n", scratch_path, arguments);
    expect_text("arguments", expected, (size_t)length);
    expect_text("script", said, strlen(said));
}

TEST(pictures_are_drawn) {
    static const struct {
        const char *name, *arguments;
        bool png, graph;
    } cases[] = {
        {"p.svg", "gnuplot -", false, false}, {"p.png", "gnuplot -", true, false},
        {"p.dot", "dot -Tsvg", false, true},  {".png", "dot -Tpng", true, true},
        {"png", "gnuplot -", false, false},   {"p.png2", "dot -Tsvg", false, true},
    };
    size_t descriptors = open_descriptors();
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_error why = {""};
        struct spex_picture picture = picture_of(cases[c].graph);
        png = cases[c].png;
        make_program("gnuplot", png ? DRAW_PNG : DRAW_SVG);
        make_program("dot", png ? DRAW_PNG : DRAW_SVG);
        if (spex_picture_file(&picture, cases[c].name, &why))
            fail_msg("%s: %s", cases[c].name, why.text);
        expect_run(cases[c].arguments);
        if (png)
            expect_text(cases[c].name, "P" PNG_END, sizeof("P" PNG_END) - 1);
        else
            expect_text(cases[c].name, "<?xml version=\"1.0\"?>\n" SVG "\n",
                        strlen("<?xml version=\"1.0\"?>\n" SVG "\n"));
        assert_int_equal(unlink(cases[c].name), 0);
        if (png)
            continue;
        char *svg;
        assert_int_equal(spex_picture_svg(&picture, &svg, &why), 0);
        assert_string_equal(svg, SVG "\n");
        expect_run(cases[c].arguments);
        free(svg);
    }
    assert_int_equal(open_descriptors(), descriptors);
}

/* Nothing is left under the picture's name. */
static void expect_failure(const char *path, const char *does, int err, const char *reason) {
    struct spex_error why = {""};
    struct spex_picture picture = picture_of(false);
    make_program("gnuplot", does);
    size_t descriptors = open_descriptors();
    int found = spex_picture_file(&picture, path, &why);
    if (found != err || strcmp(why.text, reason) != 0)
        fail_msg("%d: %s", found, why.text);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(open_descriptors(), descriptors);
}

TEST(what_cannot_be_drawn) {
    static const struct {
        const char *path, *does, *reason;
    } cases[] = {
        {"p.svg", DRAW_SVG "printf '\\n  line 3: it\\n is wrong' >&2; exit 7\n",
         "gnuplot failed with status 7: line 3: it"},
        {"p.svg", DRAW_SVG "exit 1\n", "gnuplot failed with status 1: "},
        {"p.svg", "echo gone >&2; kill -9 $$\n", "gnuplot failed with signal 9: gone"},
        {"p.svg", "", "the picture has no end: it could not be drawn"},
        {"p.svg", "printf '</svg'\n", "the picture has no end: it could not be drawn"},
        {"p.svg", "printf '%s.' '" SVG "'\n", "the picture has no end: it could not be drawn"},
        {"p.svg", DRAW_PNG, "the picture has no end: it could not be drawn"},
        {"p.png", DRAW_SVG, "the picture has no end: it could not be drawn"},
        {"p.png", DRAW_PNG "echo\n", "the picture has no end: it could not be drawn"},
        {"p.png", "printf 'IEND\\256\\102\\140\\202'\n",
         "the picture has no end: it could not be drawn"},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        png = strcmp(cases[c].path, "p.png") == 0;
        expect_failure(cases[c].path, cases[c].does, -EIO, cases[c].reason);
    }
    png = false;
    struct spex_error why = {""};
    struct spex_picture picture = picture_of(false);
    char *svg;
    make_program("gnuplot", "printf '\\r\\n </svg>\\r\\n'\n");
    assert_int_equal(spex_picture_svg(&picture, &svg, &why), -EIO);
    assert_string_equal(why.text, "no SVG has been drawn");
    assert_null(svg);
    picture.draw = draw_nothing;
    assert_int_equal(spex_picture_svg(&picture, &svg, &why), -ENODATA);
    assert_string_equal(why.text, "there is nothing to draw");
    assert_null(svg);
}

TEST(programs_that_are_not_there) {
    struct spex_error why = {""};
    png = false;
    unlink("gnuplot");
    unlink("dot");
    for (int graph = 0; graph < 2; graph++) {
        struct spex_picture picture = picture_of(graph);
        assert_int_equal(spex_picture_file(&picture, "p.svg", &why), -ENOENT);
        assert_string_equal(why.text,
                            graph ? "a picture needs dot, which is not installed (Debian: graphviz)"
                                  : "a picture needs gnuplot, which is not installed (Debian: "
                                    "gnuplot-nox)");
    }
    scratch_text("gnuplot", "#!/nowhere/at/all\n");
    assert_int_equal(chmod("gnuplot", 0600), 0);
    struct spex_picture picture = picture_of(false);
    assert_int_equal(spex_picture_file(&picture, "p.svg", &why), -EACCES);
    assert_string_equal(why.text, "cannot run gnuplot: Permission denied");
    assert_int_equal(access("p.svg", F_OK), -1);
}

/* Each descriptor that cannot be had is an error, and those that are had are closed. */
TEST(without_descriptors) {
    struct spex_error why = {""};
    struct spex_picture picture = picture_of(false);
    png = false;
    make_program("gnuplot", DRAW_SVG);
    size_t descriptors = open_descriptors();
    for (int left = 0; left < 6; left++) {
        struct scarce_descriptors scarce;
        char *svg;
        descriptors_take(&scarce, left);
        int err = spex_picture_svg(&picture, &svg, &why);
        descriptors_give_back(&scarce);
        assert_int_equal(open_descriptors(), descriptors);
        assert_true(!svg == (err != 0));
        free(svg);
        /* With three the program runs, but may lack descriptors of its own. */
        if (left < 3 ? err != -EMFILE || !strstr(why.text, "Too many open files")
                     : err && !strstr(why.text, "gnuplot failed with "))
            fail_msg("%d left: %d, %s", left, err, why.text);
    }
}

static int svg_is_drawn(void *user) {
    struct spex_error why = {""};
    struct spex_picture picture = picture_of(false);
    char *svg;
    (void)user;
    int err = spex_picture_svg(&picture, &svg, &why);
    assert_true(!svg == (err != 0));
    if (err)
        assert_string_equal(why.text, "out of memory");
    free(svg);
    return err;
}

TEST(without_memory) {
    png = false;
    make_program("gnuplot", DRAW_SVG);
    assert_int_equal(svg_is_drawn(NULL), 0);
    assert_int_equal(without_each_allocation(svg_is_drawn, NULL), 2);
}

static char path_before[4096];

/* The programs of this folder are found first. */
static int enter(void **state) {
    char path[4608];
    const char *before = getenv("PATH");
    snprintf(path_before, sizeof(path_before), "%s", before ? before : "/usr/bin:/bin");
    int err = scratch_enter(state);
    snprintf(path, sizeof(path), "%s", scratch_path);
    return err || setenv("PATH", path, 1);
}

static int leave(void **state) {
    return setenv("PATH", path_before, 1) || scratch_leave(state);
}

int main(void) {
    return tests_run(enter, leave);
}
