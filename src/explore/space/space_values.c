/* SPDX-License-Identifier: MIT */
/* Lists the values of a parameter. Values have the text that the program gets; numbers are read
 * back from it, so that spex and the program see the same value. */
#include "explore/space/space_values.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/number.h"
#include "text/plain_numbers.h"

/* Appends a value with a copy of the text's first `length` bytes. 0; -EINVAL or -ENOMEM, with the
 * error set. The room is doubled when the count is a power of two. */
static int value_append(struct spex_xml *xml, const xmlNode *element,
                        struct spex_parameter *parameter, const char *text, size_t length,
                        struct spex_value **value) {
    struct spex_value *values = (struct spex_value *)(uintptr_t)parameter->values, *more = values;
    if (parameter->count == SPEX_VALUES_MAX)
        return spex_xml_fail(xml, element, "at most %d values were expected", SPEX_VALUES_MAX);
    if ((parameter->count & (parameter->count - 1)) == 0) {
        size_t room = parameter->count ? parameter->count * 2 : 1;
        more = realloc(values, room * sizeof(*values));
        if (more)
            parameter->values = values = more;
    }
    char *copy = more ? strndup(text, length) : NULL;
    if (!copy)
        return spex_fail(xml->error, -ENOMEM, "out of memory");
    *value = &values[parameter->count++];
    **value = (struct spex_value){.text = copy};
    return 0;
}

/* Appends an integer. 0; -EINVAL or -ENOMEM, with the error set. */
static int value_append_integer(struct spex_xml *xml, const xmlNode *element,
                                struct spex_parameter *parameter, int64_t integer) {
    char text[24];
    int length = snprintf(text, sizeof(text), "%" PRId64, integer);
    struct spex_value *value;
    int err = value_append(xml, element, parameter, text, (size_t)length, &value);
    if (err)
        return err;
    value->integer = integer;
    value->number = (double)integer;
    return 0;
}

/* Appends a number as it is written for the program, in 12 digits. */
static int value_append_real(struct spex_xml *xml, const xmlNode *element,
                             struct spex_parameter *parameter, double number) {
    SPEX_PLAIN_NUMBERS;
    char text[40];
    int length = snprintf(text, sizeof(text), "%.12g", number);
    struct spex_value *value;
    int err = value_append(xml, element, parameter, text, (size_t)length, &value);
    if (err)
        return err;
    value->number = strtod(text, NULL);
    return 0;
}

/* False: the text is no number of this kind. */
static bool read_number(enum spex_parameter_kind kind, struct spex_value *value) {
    if (kind == SPEX_REAL)
        return spex_number_real(value->text, &value->number);
    bool whole = spex_number_integer(value->text, &value->integer);
    value->number = (double)value->integer;
    return whole;
}

/* Parses the number appended last; numbers have to ascend. */
static int check_last_number(struct spex_xml *xml, const xmlNode *element,
                             const struct spex_parameter *parameter, struct spex_value *last) {
    if (!read_number(parameter->kind, last))
        return spex_xml_fail(xml, element, "values: \"%s\" is no %s", last->text,
                             parameter->kind == SPEX_REAL ? "number" : "integer");
    if (parameter->count > 1 && last->number <= last[-1].number)
        return spex_xml_fail(xml, element, "values: ascending ones were expected, not %s after %s",
                             last->text, last[-1].text);
    return 0;
}

/* Checks that the text appended last is new. O(count). */
static int check_last_category(struct spex_xml *xml, const xmlNode *element,
                               const struct spex_parameter *parameter) {
    const struct spex_value *last = &parameter->values[parameter->count - 1];
    if (parameter->count > SPEX_CATEGORIES_MAX)
        return spex_xml_fail(xml, element, "at most %d categories were expected",
                             SPEX_CATEGORIES_MAX);
    for (const struct spex_value *value = parameter->values; value < last; value++)
        if (strcmp(value->text, last->text) == 0)
            return spex_xml_fail(xml, element, "values: \"%s\" is there twice", last->text);
    return 0;
}

/* Of a boolean's two values the first is false, the second true. */
static int take_item(struct spex_xml *xml, const xmlNode *element, struct spex_parameter *parameter,
                     const char *item, size_t length) {
    struct spex_value *value;
    int err = value_append(xml, element, parameter, item, length, &value);
    if (err)
        return err;
    if (parameter->kind == SPEX_BOOLEAN)
        value->integer = parameter->count == 2;
    return spex_parameter_ordered(parameter) ? check_last_number(xml, element, parameter, value)
                                             : check_last_category(xml, element, parameter);
}

/* Takes the list of values="a b c". */
static int take_list(struct spex_xml *xml, const xmlNode *element, const char *list,
                     struct spex_parameter *parameter) {
    static const char blanks[] = " \t\r\n";
    static const char *const ranges[] = {"min", "max", "step", "factor", "points"};
    for (size_t r = 0; r < sizeof(ranges) / sizeof(ranges[0]); r++)
        if (spex_xml_attribute(element, ranges[r]))
            return spex_xml_fail(xml, element, "either values or %s was expected, not both",
                                 ranges[r]);
    int err = 0;
    for (const char *item = list + strspn(list, blanks); *item && !err;) {
        size_t length = strcspn(item, blanks);
        err = take_item(xml, element, parameter, item, length);
        item += length;
        item += strspn(item, blanks);
    }
    if (!err && parameter->count == 0)
        err = spex_xml_fail(xml, element, "values: at least one was expected");
    if (!err && parameter->kind == SPEX_BOOLEAN && parameter->count != 2)
        err = spex_xml_fail(xml, element,
                            "values: two were expected for a boolean, what false and true are to "
                            "the program");
    return err;
}

/* Reads an integer attribute of at least `low`; *value stays when the attribute is missing. */
static int take_integer(struct spex_xml *xml, const xmlNode *element, const char *name, int64_t low,
                        int64_t *value) {
    const char *text = spex_xml_attribute(element, name);
    if (!text || (spex_number_integer(text, value) && *value >= low))
        return 0;
    if (low == INT64_MIN)
        return spex_xml_fail(xml, element, "%s=\"%s\": an integer was expected", name, text);
    return spex_xml_fail(xml, element, "%s=\"%s\": an integer from %" PRId64 " was expected", name,
                         text, low);
}

/* The same for a number above `low`. */
static int take_real(struct spex_xml *xml, const xmlNode *element, const char *name, double low,
                     double *value) {
    const char *text = spex_xml_attribute(element, name);
    if (!text || (spex_number_real(text, value) && *value > low))
        return 0;
    if (low == -INFINITY)
        return spex_xml_fail(xml, element, "%s=\"%s\": a number was expected", name, text);
    return spex_xml_fail(xml, element, "%s=\"%s\": a number above %g was expected", name, text,
                         low);
}

/* A range of integers; factor 0: it goes by steps. */
struct range {
    int64_t min, max, step, factor;
};

/* Checks that both ends are given and at most one of step, factor and points. */
static int check_attributes(struct spex_xml *xml, const xmlNode *element) {
    static const char *const ways[] = {"step", "factor", "points"};
    const char *seen = NULL;
    if (!spex_xml_attribute(element, "min") || !spex_xml_attribute(element, "max"))
        return spex_xml_fail(xml, element, "values, or min and max, were expected");
    for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
        if (!spex_xml_attribute(element, ways[w]))
            continue;
        if (seen)
            return spex_xml_fail(xml, element, "either %s or %s was expected, not both", seen,
                                 ways[w]);
        seen = ways[w];
    }
    return 0;
}

/* *points stays when the attribute is missing. */
static int take_points(struct spex_xml *xml, const xmlNode *element, int64_t *points) {
    int err = take_integer(xml, element, "points", 2, points);
    if (!err && *points > SPEX_VALUES_MAX)
        err = spex_xml_fail(xml, element, "at most %d values were expected", SPEX_VALUES_MAX);
    return err;
}

/* Point i of n between two numbers, at equal distances or equal ratios. The last is `max` itself,
 * free of rounding. */
static double range_point(bool logarithmic, double min, double max, int64_t i, int64_t n) {
    double part = (double)i / (double)(n - 1);
    if (i == n - 1)
        return max;
    return logarithmic ? min * pow(max / min, part) : min + (max - min) * part;
}

/* The negated comparison refuses NaN, too. */
static int check_scale(struct spex_xml *xml, const xmlNode *element,
                       const struct spex_parameter *parameter, double min, double max) {
    if (!(min <= max))
        return spex_xml_fail(xml, element, "min=%.12g was expected not to be above max=%.12g", min,
                             max);
    if (parameter->logarithmic && min <= 0)
        return spex_xml_fail(
            xml, element, "a logarithmic scale was expected to begin above 0, not at %.12g", min);
    return 0;
}

/* Moves to the next value of a range; false on overflow. */
static bool range_next(const struct range *range, int64_t *value) {
    if (range->factor)
        return !__builtin_mul_overflow(*value, range->factor, value);
    return !__builtin_add_overflow(*value, range->step, value);
}

/* Lists a range in steps or by a factor. A range that does not end at its max is refused, since the
 * user would not know which values there are. */
static int step_through(struct spex_xml *xml, const xmlNode *element, const struct range *range,
                        struct spex_parameter *parameter) {
    int err = 0;
    int64_t value = range->min;
    bool more = true;
    while (!err && more && value <= range->max) {
        err = value_append_integer(xml, element, parameter, value);
        more = range_next(range, &value);
    }
    if (!err && parameter->values[parameter->count - 1].integer != range->max)
        err = spex_xml_fail(xml, element,
                            "max=%" PRId64 " is not reached from min=%" PRId64 "; %s is the last",
                            range->max, range->min, parameter->values[parameter->count - 1].text);
    return err;
}

/* Lists rounded points between two integers, each once. */
static int integer_points(struct spex_xml *xml, const xmlNode *element, const struct range *range,
                          int64_t points, struct spex_parameter *parameter) {
    int err = 0;
    for (int64_t i = 0; i < points && !err; i++) {
        int64_t value = i == points - 1
                            ? range->max
                            : llround(range_point(parameter->logarithmic, (double)range->min,
                                                  (double)range->max, i, points));
        if (parameter->count == 0 || value > parameter->values[parameter->count - 1].integer)
            err = value_append_integer(xml, element, parameter, value);
    }
    return err;
}

/* Takes min="2" max="256" and step="2", factor="2", points="20" or none of these. */
static int take_integer_range(struct spex_xml *xml, const xmlNode *element,
                              struct spex_parameter *parameter) {
    struct range range = {.step = 1};
    int64_t points = 0;
    int err = take_integer(xml, element, "min", INT64_MIN, &range.min);
    err = err ? err : take_integer(xml, element, "max", INT64_MIN, &range.max);
    err = err ? err : take_integer(xml, element, "step", 1, &range.step);
    err = err ? err : take_integer(xml, element, "factor", 2, &range.factor);
    err = err ? err : take_points(xml, element, &points);
    if (!err && range.factor && range.min < 1)
        err = spex_xml_fail(xml, element, "with factor, min was expected to be at least 1");
    err = err ? err : check_scale(xml, element, parameter, (double)range.min, (double)range.max);
    if (err)
        return err;
    return points ? integer_points(xml, element, &range, points, parameter)
                  : step_through(xml, element, &range, parameter);
}

/* The number of points that a step or a factor gives; 0 when they do not reach the end, within the
 * rounding errors of decimal fractions; more than SPEX_VALUES_MAX for too many. */
static int64_t range_points(double min, double max, double step, double factor) {
    double steps = factor > 0 ? log(max / min) / log(factor) : (max - min) / step;
    if (!(steps < SPEX_VALUES_MAX))
        return SPEX_VALUES_MAX + 1;
    return fabs(steps - round(steps)) <= 1e-9 * (steps + 1) ? llround(steps) + 1 : 0;
}

/* Takes min="0.1" max="10" and points="21", step="0.1", factor="10" or none of these. */
static int take_real_range(struct spex_xml *xml, const xmlNode *element,
                           struct spex_parameter *parameter) {
    double min = 0, max = 0, step = 0, factor = 0;
    int64_t points = SPEX_POINTS_DEFAULT;
    int err = take_real(xml, element, "min", -INFINITY, &min);
    err = err ? err : take_real(xml, element, "max", -INFINITY, &max);
    err = err ? err : take_real(xml, element, "step", 0, &step);
    err = err ? err : take_real(xml, element, "factor", 1, &factor);
    err = err ? err : take_points(xml, element, &points);
    err = err ? err : check_scale(xml, element, parameter, min, max);
    if (err)
        return err;
    if (min == max)
        return value_append_real(xml, element, parameter, min);
    if (step > 0 || factor > 0)
        points = range_points(min, max, step, factor);
    if (points > SPEX_VALUES_MAX)
        return spex_xml_fail(xml, element, "at most %d values were expected", SPEX_VALUES_MAX);
    if (points == 0)
        return spex_xml_fail(xml, element, "max=%.12g is not reached from min=%.12g", max, min);
    bool ratios = step > 0 ? false : parameter->logarithmic;
    for (int64_t i = 0; i < points && !err; i++) {
        err = value_append_real(xml, element, parameter, range_point(ratios, min, max, i, points));
        if (!err && i && parameter->values[i].number <= parameter->values[i - 1].number)
            err = spex_xml_fail(xml, element,
                                "points that differ in 12 digits were expected, not %s after %s",
                                parameter->values[i].text, parameter->values[i - 1].text);
    }
    return err;
}

/* A list is taken for any kind, a range for numbers only. A boolean without a list has "false" and
 * "true". */
int spex_values_take(struct spex_xml *xml, const xmlNode *element,
                     struct spex_parameter *parameter) {
    const char *list = spex_xml_attribute(element, "values");
    if (!list && parameter->kind == SPEX_BOOLEAN)
        list = "false true";
    if (list)
        return take_list(xml, element, list, parameter);
    if (parameter->kind == SPEX_CATEGORICAL)
        return spex_xml_fail(xml, element, "attribute \"values\" was expected");
    int err = check_attributes(xml, element);
    if (err)
        return err;
    return parameter->kind == SPEX_REAL ? take_real_range(xml, element, parameter)
                                        : take_integer_range(xml, element, parameter);
}
