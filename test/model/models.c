/* SPDX-License-Identifier: MIT */
/* The file of models: what is read is what was written, and what is no such file is refused where
 * it is wrong. */
#include <errno.h>
#include <math.h>

#include "../check.h"
#include "../comma_locale.h"
#include "../open_descriptors.h"
#include "model/models.h"

/* What version 3 has alone: changes, segments and negative powers. */
static void any_segments(uint64_t *seed, struct spex_model *model) {
    model->class = (enum spex_model_class)random_below(seed, 6);
    if (model->parameter_count == 0)
        return;
    model->change_count = random_below(seed, SPEX_MODEL_CHANGES_MAX + 1);
    model->change_parameter = random_below(seed, model->parameter_count);
    for (size_t c = 0; c < model->change_count; c++) {
        double at = (double)(c + 1) * 1000 / 7;
        model->changes[c] = (struct spex_model_change){at, at / 3, at * 3};
    }
    for (size_t t = 0; t < model->term_count; t++) {
        model->terms[t].segment = (uint8_t)random_below(seed, model->change_count + 1);
        model->terms[t].factors[0].twelfths = (int8_t) - (int)random_below(seed, 37);
    }
}

static struct spex_model any_model(uint64_t *seed, size_t parameters) {
    struct spex_model model = {.parameter_count = parameters,
                               .constant = (double)random_below(seed, 1000) / 7e9,
                               .constant_error = (double)random_below(seed, 1000) / 3e9,
                               .term_count = random_below(seed, SPEX_MODEL_TERMS_MAX + 1),
                               .class = (enum spex_model_class)random_below(seed, 5),
                               .adjusted_r2 = 1 - (double)random_below(seed, 100) / 33,
                               .floor = 1e-7 / 3,
                               .share = 0.1,
                               .freedom = (double)random_below(seed, 50)};
    for (size_t t = 0; t < model.term_count; t++) {
        model.terms[t].coefficient = 1e-9 / (double)(1 + random_below(seed, 99));
        model.terms[t].error = 1e-11 / (double)(1 + random_below(seed, 99));
        for (size_t p = 0; p < parameters; p++)
            model.terms[t].factors[p] = (struct spex_exponents){
                .twelfths = (int8_t)random_below(seed, 37), .log = (uint8_t)random_below(seed, 3)};
    }
    for (size_t a = 0; a <= model.term_count; a++)
        for (size_t b = 0; b <= model.term_count; b++)
            model.covariance[a][b] = (double)random_below(seed, 1000) / 3e20 - 1e-19;
    return model;
}

static void fill_version(struct spex_models *models, uint64_t seed, size_t count, int version) {
    static const char *const names[] = {"n", "rows * 2", "f(a, b)", "x", "y", "z", "u", "v"};
    *models = (struct spex_models){.count = 0};
    for (size_t k = 0; k < count; k++) {
        struct spex_kernel_model *kernel;
        char path[64];
        snprintf(path, sizeof(path), "main/kernel %04zu", k);
        size_t parameters = random_below(&seed, SPEX_MODEL_PARAMETERS_MAX + 1);
        assert_int_equal(spex_models_add(models, path, names, parameters, &kernel), 0);
        kernel->executions = (double)random_below(&seed, 1 << 30);
        kernel->least_seconds = 1e-6 / 3;
        for (size_t p = 0; p < parameters; p++) {
            kernel->low[p] = (double)random_below(&seed, 100) / 3;
            kernel->high[p] = kernel->low[p] + (double)p;
        }
        kernel->model = any_model(&seed, parameters);
        if (version == 3)
            any_segments(&seed, &kernel->model);
        kernel->point_count = count % 2 ? random_below(&seed, SPEX_MODEL_POINTS + 1) : 0;
        kernel->points = calloc(kernel->point_count + 1, sizeof(*kernel->points));
        assert_non_null(kernel->points);
        for (size_t i = 0; i < kernel->point_count; i++) {
            kernel->points[i].seconds = (double)random_below(&seed, 1000) / 7e9;
            kernel->points[i].executions = (double)random_below(&seed, 1000);
            for (size_t p = 0; p < parameters; p++)
                kernel->points[i].values[p] = (double)random_below(&seed, 1000) / 3;
        }
    }
}

static void fill(struct spex_models *models, uint64_t seed, size_t count) {
    fill_version(models, seed, count, 1);
}

static char *written(const struct spex_models *models) {
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    assert_int_equal(spex_models_write(models, out), 0);
    fclose(out);
    return text;
}

static int read_text(const char *text, size_t length, struct spex_models *models,
                     struct spex_error *why) {
    FILE *in = fmemopen((void *)(uintptr_t)text, length, "r");
    assert_non_null(in);
    int err = spex_models_read(models, in, "models", why);
    fclose(in);
    return err;
}

static void expect_written_is_read(size_t count, int version) {
    struct spex_models models, read;
    struct spex_error why = {""};
    fill_version(&models, count + 1, count, version);
    char *text = written(&models);
    if (read_text(text, strlen(text), &read, &why) != 0)
        fail_msg("%s", why.text);
    assert_int_equal(read.count, count);
    char *again = written(&read);
    assert_string_equal(again, text);
    for (size_t k = 0; k < count; k++) {
        assert_int_equal(read.items[k].point_count, models.items[k].point_count);
        assert_true(!read.items[k].point_count ||
                    memcmp(read.items[k].points, models.items[k].points,
                           read.items[k].point_count * sizeof(*read.items[k].points)) == 0);
    }
    for (size_t k = 0; k < count; k++)
        assert_memory_equal(&read.items[k].model, &models.items[k].model,
                            sizeof(struct spex_model));
    free(text);
    free(again);
    spex_models_free(&models);
    spex_models_free(&read);
}

TEST(what_is_written_is_read) {
    for (size_t count = 0; count < 60; count += 7) {
        expect_written_is_read(count, 1);
        expect_written_is_read(count, 3);
    }
}

/* By a file, whose name is told where it is wrong, and nothing stays open. */
TEST(files_of_models) {
    char path[] = "/tmp/spex-models-XXXXXX", why_expected[128];
    struct spex_models models, read;
    struct spex_error why = {""};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    size_t descriptors = open_descriptors();
    fill(&models, 4, 9);
    char *text = written(&models);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    for (int kind = SPEX_FILE_ANY; kind <= SPEX_FILE_REGULAR; kind++) {
        if (spex_models_read_file(&read, path, (enum spex_file_kind)kind, &why))
            fail_msg("%s", why.text);
        char *again = written(&read);
        assert_string_equal(again, text);
        free(again);
        spex_models_free(&read);
        assert_int_equal(open_descriptors(), descriptors);
    }
    assert_int_equal(ftruncate(fd, 3), 0);
    snprintf(why_expected, sizeof(why_expected), "%s: line 1: ", path);
    assert_int_equal(spex_models_read_file(&read, path, SPEX_FILE_ANY, &why), -EINVAL);
    if (strncmp(why.text, why_expected, strlen(why_expected)) != 0)
        fail_msg("%s", why.text);
    spex_models_free(&read);
    unlink(path);
    assert_int_equal(spex_models_read_file(&read, path, SPEX_FILE_ANY, &why), -ENOENT);
    assert_non_null(strstr(why.text, path));
    assert_true(!read.items && !read.count);
    assert_int_equal(open_descriptors(), descriptors);
    close(fd);
    free(text);
    spex_models_free(&models);
}

static ssize_t cannot_read(void *cookie, char *bytes, size_t size) {
    (void)cookie;
    (void)bytes;
    (void)size;
    errno = EIO;
    return -1;
}

TEST(what_cannot_be_read) {
    struct spex_models read;
    struct spex_error why = {""};
    FILE *in = fopencookie(NULL, "r", (cookie_io_functions_t){.read = cannot_read});
    assert_non_null(in);
    assert_int_equal(spex_models_read(&read, in, "models", &why), -EIO);
    assert_string_equal(why.text, "models: cannot be read");
    spex_models_free(&read);
    fclose(in);
}

TEST(models_are_found_by_their_path) {
    struct spex_models models;
    fill(&models, 1, 20);
    assert_ptr_equal(spex_models_find(&models, "main/kernel 0013"), &models.items[13]);
    assert_null(spex_models_find(&models, "main"));
    spex_models_free(&models);
    assert_null(spex_models_find(&models, "main"));
}

/* A file that was cut off anywhere is refused, but for its last line's end. */
TEST(a_part_is_no_file) {
    struct spex_models models, read;
    fill(&models, 3, 5);
    char *text = written(&models);
    for (size_t length = 1; length < strlen(text) - 1; length++) {
        struct spex_error why = {""};
        assert_int_equal(read_text(text, length, &read, &why), -EINVAL);
        assert_int_equal(strncmp(why.text, "models: line ", 13), 0);
        spex_models_free(&read);
    }
    free(text);
    spex_models_free(&models);
}

#define FIRST            "spex-models 3\n"
#define UP_TO_PARAMETERS FIRST "kernel main\nexecutions 3\nleast 1e-6\n"
#define UP_TO_CLASS      UP_TO_PARAMETERS "parameters 1\nparameter 1 10 n\n"
#define LINEAR           "class linear\nadjusted-r2 0.99\nspread 1 2 3\nconstant 0 0\n"
#define UP_TO_CHANGES    UP_TO_CLASS LINEAR
#define UP_TO_TERMS      UP_TO_CHANGES "changes 0 0\n"
#define UP_TO_POINTS     UP_TO_TERMS "terms 0\ncovariance 0\n"

static const struct {
    const char *text;
    const char *expected;
} mistakes[] = {
    {"PNG\n", "line 1: \"spex-models …\" was expected"},
    {"spex-models 4\nend 0\n", "line 1: version 3 was expected"},
    {"spex-models 2\nend 0\n", "line 1: version 3 was expected"},
    {"spex-models\nend 0\n", "line 1: a number of 0 or more was expected"},
    {FIRST "end 1\n", "line 2: the number of kernels before it was expected"},
    {FIRST "end 0\nkernel x\n", "line 3: nothing behind the end was expected"},
    {FIRST, "line 2: \"kernel …\" or \"end …\" was expected"},
    {FIRST "kernels\n", "line 2: \"kernel …\" or \"end …\" was expected"},
    {FIRST "kernel\n", "line 2: a kernel's path was expected"},
    {FIRST "kernel main\nleast 1\n", "line 3: \"executions …\" was expected"},
    {FIRST "kernel main\nexecutions many\n", "line 3: a number of 0 or more was expected"},
    {FIRST "kernel main\nexecutions -1\n", "line 3: a number of 0 or more was expected"},
    {FIRST "kernel main\nexecutions 1e999\n", "line 3: a number of 0 or more was expected"},
    {FIRST "kernel main\nexecutions nan\n", "line 3: a number of 0 or more was expected"},
    {FIRST "kernel main\nexecutions 1 2\n", "line 3: the end of the line was expected"},
    {FIRST "kernel main\nexecutions  1\n", "line 3: a number of 0 or more was expected"},
    {UP_TO_PARAMETERS "parameters 9\n", "line 5: a smaller whole number was expected"},
    {UP_TO_PARAMETERS "parameters 0.5\n", "line 5: a smaller whole number was expected"},
    {UP_TO_PARAMETERS "parameters 1\nparameter 1 10\n", "line 6: the parameter's name"},
    {UP_TO_PARAMETERS "parameters 1\nparameter 10 1 n\n", "line 6: a number was expected"},
    {UP_TO_CLASS "class cubic\n", "line 7: a class of models was expected"},
    {UP_TO_TERMS "terms 9\n", "line 12: a smaller whole number was expected"},
    {UP_TO_TERMS "terms 1\nterm 0 1\n", "line 13: a number of 0 or more was expected"},
    {UP_TO_TERMS "terms 1\nterm 0 1 1 37:0\n", "line 13: a smaller whole number was expected"},
    {UP_TO_TERMS "terms 1\nterm 0 1 1 12:3\n", "line 13: a smaller whole number was expected"},
    {UP_TO_TERMS "terms 1\nterm 0 1 1 12:1 0:0\n", "line 13: the end of the line was expected"},
    {UP_TO_POINTS "end 1\n", "line 14: \"points …\" was expected"},
    {UP_TO_POINTS "points 65\n", "line 14: a smaller whole number was expected"},
    {UP_TO_POINTS "points 1\nend 1\n", "line 15: \"point …\" was expected"},
    {UP_TO_POINTS "points 1\npoint 1 1\n", "line 15: a number of 0 or more was expected"},
    {UP_TO_POINTS "points 1\npoint 1 1 1 1\n", "line 15: the end of the line was expected"},
    {UP_TO_POINTS "points 1\npoint -1 1 1\n", "line 15: a number of 0 or more was expected"},
    {UP_TO_CHANGES "terms 0\n", "line 11: \"changes …\" was expected"},
    {UP_TO_CHANGES "changes 3 0\n", "line 11: a smaller whole number was expected"},
    {UP_TO_CHANGES "changes 1\n", "line 11: a number of 0 or more was expected"},
    {UP_TO_CHANGES "changes 1 8\n", "line 11: a smaller whole number was expected"},
    {UP_TO_CHANGES "changes 1 1\n", "line 11: the number of a parameter, from 0, was expected"},
    {UP_TO_CHANGES "changes 1 0\nterms 0\n", "line 12: \"change …\" was expected"},
    {UP_TO_CHANGES "changes 1 0\nchange 0 0 1\n",
     "line 12: a change behind the one before was expected"},
    {UP_TO_CHANGES "changes 1 0\nchange 5 6 7\n",
     "line 12: an interval around the change was expected"},
    {UP_TO_CHANGES "changes 1 0\nchange 5 3 4\n", "line 12: an interval around the change"},
    {UP_TO_CHANGES "changes 1 0\nchange 5 3 nan\n", "line 12: a number of 0 or more"},
    {UP_TO_CHANGES "changes 2 0\nchange 5 3 6\nchange 5 3 6\n",
     "line 13: a change behind the one before"},
    {UP_TO_CHANGES "changes 0 0\nterms 1\nterm 1 1 1 12:0\n",
     "line 13: a smaller whole number was expected"},
    {UP_TO_CHANGES "changes 0 0\nterms 1\nterm 0 1 1 -37:0\n", "line 13: a number was expected"},
    {UP_TO_TERMS "terms 0\ncovariance\n", "line 13: a number was expected"},
    {UP_TO_TERMS "terms 0\ncovariance 0\npoints 0\nkernel main\n",
     "line 15: a path behind the one before"},
    {UP_TO_TERMS "terms 0\ncovariance 0\npoints 0\nkernel a\n",
     "line 15: a path behind the one before"},
};

TEST(mistakes_are_told_with_their_line) {
    for (size_t m = 0; m < COUNT_OF(mistakes); m++) {
        struct spex_models models;
        struct spex_error why = {""};
        assert_int_equal(read_text(mistakes[m].text, strlen(mistakes[m].text), &models, &why),
                         -EINVAL);
        if (!strstr(why.text, mistakes[m].expected))
            fail_msg("\"%s\" instead of \"%s\"", why.text, mistakes[m].expected);
        spex_models_free(&models);
    }
}

TEST(a_zero_within_is_no_text) {
    static const char text[] = "spex-models 3\nkernel a\0b\n";
    struct spex_models models;
    struct spex_error why = {""};
    assert_int_equal(read_text(text, sizeof(text) - 1, &models, &why), -EINVAL);
    assert_string_equal(why.text, "models: line 2: text was expected");
    spex_models_free(&models);
}

/* Where there is no class, why; the formula is for programs. */
TEST(what_is_shown_of_a_model) {
    const char *const names[] = {"n"};
    struct spex_model model = {.parameter_count = 1,
                               .constant = 2,
                               .term_count = 1,
                               .terms = {{3, 0, {{12, 0}}, 0}},
                               .class = SPEX_MODEL_LINEAR,
                               .adjusted_r2 = 0.99};
    char text[200];
    spex_model_shown(&model, names, text, sizeof(text));
    assert_string_equal(text, "2 + 3·n");
    model.class = SPEX_MODEL_UNKNOWN;
    spex_model_shown(&model, names, text, sizeof(text));
    assert_string_equal(text, "no model: at least three values of a parameter are needed");
    model.adjusted_r2 = SPEX_MODEL_GOOD_R2;
    spex_model_shown(&model, names, text, sizeof(text));
    assert_string_equal(text, "no model: at least three values of a parameter are needed");
    model.adjusted_r2 = 0.949;
    spex_model_shown(&model, names, text, sizeof(text));
    assert_string_equal(text, "no model: no formula of the parameters follows the times (adjusted "
                              "R² 0.95, 0.95 is needed)");
}

/* Divisions stand behind the factors; each segment has the range of the parameter. */
TEST(segments_are_shown_with_their_ranges) {
    const char *const names[] = {"n", "to - from"};
    struct spex_model model = {.parameter_count = 2,
                               .term_count = 4,
                               .terms = {{3, 0, {{-12, 0}, {12, 1}}, 0},
                                         {4, 0, {{0}}, 1},
                                         {5, 0, {{-6, 1}}, 1},
                                         {6, 0, {{-8, 0}, {-24, 0}}, 2}},
                               .change_count = 2,
                               .changes = {{100, 90, 110}, {2000, 2000, 4000}},
                               .class = SPEX_MODEL_LINEAR};
    char text[300];
    spex_model_shown(&model, names, text, sizeof(text));
    assert_string_equal(text, "3·(to - from)·log2(to - from)/n (n < 100); "
                              "4 + 5·log2(n)/n^(1/2) (100 ≤ n < 2000); "
                              "6/n^(2/3)/(to - from)^2 (n ≥ 2000)");
}

/* At the value of a change the next segment holds. Where the change may be above or below, an
 * interval has both segments. */
TEST(segments_predict) {
    const struct spex_model model = {
        .parameter_count = 2,
        .term_count = 3,
        .terms = {{2, 0, {{0}, {12, 0}}, 0}, {10, 0, {{0}}, 1}, {3, 0, {{0}, {12, 0}}, 1}},
        .change_count = 1,
        .change_parameter = 1,
        .changes = {{100, 80, 150}},
        .freedom = 1e9,
        .floor = 1};
    static const struct {
        double at, value, low, high;
    } expected[] = {{80, 160, 160, 160},  {81, 162, 162, 253},  {99, 198, 198, 307},
                    {100, 310, 200, 310}, {149, 457, 298, 457}, {150, 460, 460, 460}};
    for (size_t e = 0; e < COUNT_OF(expected); e++) {
        const double at[] = {7, expected[e].at};
        struct spex_prediction made = spex_model_predict(&model, at);
        assert_true(made.value == expected[e].value && spex_model_value(&model, at) == made.value);
        assert_float_equal(made.low, expected[e].low - 1.96, 1e-3);
        assert_float_equal(made.high, expected[e].high + 1.96, 1e-3);
        assert_int_equal(spex_model_segment(&model, at), expected[e].at >= 100);
        bool either = expected[e].at > 80 && expected[e].at < 150;
        double before = 2 * expected[e].at, behind = 10 + 3 * expected[e].at;
        assert_true(spex_model_nearest(&model, at, before * 1.1) == (either ? before : made.value));
        assert_true(spex_model_nearest(&model, at, behind * 0.9) == (either ? behind : made.value));
    }
}

/* A file that has no blocks of its own. */
TEST(a_file_has_a_greatest_size) {
    char path[] = "/tmp/spex-models-XXXXXX";
    struct spex_models models;
    struct spex_error why = {""};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (128 << 20) + 1), 0);
    close(fd);
    int err = spex_models_read_file(&models, path, SPEX_FILE_REGULAR, &why);
    unlink(path);
    assert_int_equal(err, -EFBIG);
    assert_non_null(strstr(why.text, "at most 128 MiB were expected"));
}
