/* SPDX-License-Identifier: MIT */
/* Conditions are compiled once and evaluated by libxml2's XPath. Names and functions are checked
 * before, since XPath's own messages would not say what was expected and since an unknown name
 * would only fail during evaluation. A condition may name earlier parameters only, so parameters
 * are settled in one pass from the first to the last. */
#include "explore/space/space_condition.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libxml/xpath.h>
#include <libxml/xpathInternals.h>

#include "explore/space/space_list.h"
#include "explore/space/space_parameter.h"

/* Longer names are cut in messages. */
#define NAME_BYTES_MAX 128

/* A compiled condition. */
struct condition {
    xmlXPathCompExpr *expression;
    char *text;
    uint64_t parameters; /* bit p: names parameter p */
};

/* All conditions of a space. */
struct spex_conditions {
    const struct spex_space *space;
    xmlXPathContext *context;
    pthread_mutex_t lock; /* guards context and levels: libxml2's context is not thread-safe */
    const size_t *levels; /* configuration under evaluation */
    /* By parameter. Without an expression the parameter always applies. */
    struct condition when[SPEX_PARAMETERS_MAX];
    struct condition constraints[SPEX_CONSTRAINTS_MAX];
    size_t constraint_count;
    size_t when_count;
    size_t *order; /* of the space's list; NULL: there is none */
};

/* XPath's variable lookup: the value of a parameter in `levels`. The lock is held
 * (condition_evaluate). XPath owns the result. */
static xmlXPathObject *condition_variable(void *user, const xmlChar *name,
                                          const xmlChar *space_uri) {
    const struct spex_conditions *conditions = user;
    const struct spex_space *space = conditions->space;
    size_t p = spex_space_parameter(space, (const char *)name);
    if (space_uri || p == space->parameter_count)
        return NULL;
    const struct spex_parameter *parameter = &space->parameters[p];
    const struct spex_value *value = &parameter->values[conditions->levels[p]];
    if (parameter->kind == SPEX_CATEGORICAL)
        return xmlXPathNewCString(value->text);
    if (parameter->kind == SPEX_BOOLEAN)
        return xmlXPathNewBoolean(value->integer != 0);
    return xmlXPathNewFloat(value->number);
}

/* Keeps libxml2 from printing; errors are reported by their results. */
static void ignore_error(void *user, const xmlError *error) {
    (void)user;
    (void)error;
}

/* A context without a document: conditions have variables and no paths. */
struct spex_conditions *spex_conditions_new(const struct spex_space *space) {
    struct spex_conditions *conditions = calloc(1, sizeof(*conditions));
    if (!conditions)
        return NULL;
    pthread_mutex_init(&conditions->lock, NULL);
    conditions->space = space;
    conditions->context = xmlXPathNewContext(NULL);
    if (!conditions->context) {
        free(conditions);
        return NULL;
    }
    conditions->context->error = (xmlStructuredErrorFunc)(uintptr_t)ignore_error;
    xmlXPathRegisterVariableLookup(conditions->context, condition_variable, conditions);
    return conditions;
}

static void condition_free(struct condition *condition) {
    if (condition->expression)
        xmlXPathFreeCompExpr(condition->expression);
    free(condition->text);
}

void spex_conditions_free(struct spex_conditions *conditions) {
    if (!conditions)
        return;
    for (size_t p = 0; p < SPEX_PARAMETERS_MAX; p++)
        condition_free(&conditions->when[p]);
    for (size_t c = 0; c < conditions->constraint_count; c++)
        condition_free(&conditions->constraints[c]);
    free(conditions->order);
    xmlXPathFreeContext(conditions->context);
    pthread_mutex_destroy(&conditions->lock);
    free(conditions);
}

/* How many blank characters the text begins with, as XPath defines them. */
static size_t blanks(const char *text) {
    return strspn(text, " \t\r\n");
}

/* Moves *text behind "=" or "!=" and the blanks around it. False: neither is there. */
static bool equals_follows(const char **text) {
    *text += blanks(*text);
    size_t length = **text == '=' ? 1 : strncmp(*text, "!=", 2) == 0 ? 2 : 0;
    *text += length;
    *text += blanks(*text);
    return length > 0;
}

/* Checks comparisons such as "$mode = 'x'": the text must be a value of the parameter. Comparisons
 * of another form are left to XPath. */
static int check_comparison(struct spex_xml *xml, const xmlNode *element, const char *attribute,
                            const struct spex_parameter *parameter, const char *rest) {
    if (!equals_follows(&rest) || (*rest != '\'' && *rest != '"'))
        return 0;
    const char *end = strchr(rest + 1, *rest);
    if (!end)
        return 0; /* not closed: XPath fails */
    if (parameter->kind == SPEX_BOOLEAN)
        return spex_xml_fail(xml, element, "%s: $%s is a truth value: $%s or not($%s) was expected",
                             attribute, parameter->name, parameter->name, parameter->name);
    for (size_t v = 0; v < parameter->count; v++)
        if (strlen(parameter->values[v].text) == (size_t)(end - rest - 1) &&
            memcmp(parameter->values[v].text, rest + 1, (size_t)(end - rest - 1)) == 0)
            return 0;
    return spex_xml_fail(xml, element, "%s: %.*s is no value of parameter \"%s\"", attribute,
                         (int)(end - rest + 1), rest, parameter->name);
}

/* Checks the name after a "$" and adds the parameter to *parameters; *text moves behind it. */
static int check_variable_name(struct spex_xml *xml, const xmlNode *element, const char *attribute,
                               const char **text, const struct spex_space *space, size_t known,
                               uint64_t *parameters) {
    const char *start = ++*text;
    size_t length = strspn(start, SPEX_NAME_LETTERS "0123456789.-");
    char name[NAME_BYTES_MAX];
    *text += length;
    snprintf(name, sizeof(name), "%.*s", (int)length, start);
    size_t p = length < sizeof(name) ? spex_space_parameter(space, name) : space->parameter_count;
    if (p == space->parameter_count)
        return spex_xml_fail(xml, element, "%s: $%s: the space has no such parameter%s", attribute,
                             name, known < space->parameter_count ? " before this" : "");
    if (p >= known)
        return spex_xml_fail(xml, element, "%s: $%s: a parameter before this was expected",
                             attribute, name);
    *parameters |= UINT64_C(1) << p;
    return check_comparison(xml, element, attribute, &space->parameters[p], *text);
}

/* A word that is not called must be an operator: XPath takes others for elements of a document, which
 * are equal to nothing. */
static int check_bare_word(struct spex_xml *xml, const xmlNode *element, const char *attribute,
                           const char *word, size_t length) {
    static const char *const operators[] = {"and", "or", "div", "mod"};
    for (size_t o = 0; o < sizeof(operators) / sizeof(operators[0]); o++)
        if (strlen(operators[o]) == length && memcmp(operators[o], word, length) == 0)
            return 0;
    return spex_xml_fail(xml, element, "%s: %.*s: a parameter has a $, and a text quotes: '%.*s'",
                         attribute, (int)length, word, (int)length, word);
}

/* Checks a word: if it is called, it must be one of the functions that work without a document. */
static int check_function_name(struct spex_xml *xml, const xmlNode *element, const char *attribute,
                               const char **text) {
    static const char *const functions[] = {
        "not",           "true",  "false",   "boolean", "number",   "string",
        "floor",         "round", "ceiling", "concat",  "contains", "starts-with",
        "string-length", "and",   "or",      "div",     "mod"};
    const char *word = *text;
    size_t length = strspn(word, SPEX_NAME_LETTERS "0123456789.-");
    *text += length;
    if ((*text)[blanks(*text)] != '(')
        return check_bare_word(xml, element, attribute, word, length);
    for (size_t f = 0; f < sizeof(functions) / sizeof(functions[0]); f++)
        if (strlen(functions[f]) == length && memcmp(functions[f], word, length) == 0)
            return 0;
    return spex_xml_fail(xml, element,
                         "%s: %.*s(): there are not, true, false, boolean, number, string, floor, "
                         "round, ceiling, concat, contains, starts-with and string-length",
                         attribute, (int)length, word);
}

/* Checks the names in an expression: at least one parameter, of the first `known` ones only. */
static int check_names(struct spex_xml *xml, const xmlNode *element, const char *attribute,
                       const char *text, const struct spex_space *space, size_t known,
                       uint64_t *parameters) {
    int err = 0;
    *parameters = 0;
    while (*text && !err) {
        if (*text == '$') {
            err = check_variable_name(xml, element, attribute, &text, space, known, parameters);
        } else if (strchr(SPEX_NAME_LETTERS, *text)) {
            err = check_function_name(xml, element, attribute, &text);
        } else if (*text == '\'' || *text == '"') {
            const char *end = strchr(text + 1, *text);
            text = end ? end + 1 : text + strlen(text);
        } else if (strchr("0123456789", *text)) {
            text += strspn(text, "0123456789.eE");
        } else {
            text++;
        }
    }
    if (!err && !*parameters)
        err = spex_xml_fail(xml, element, "%s: a parameter was expected in it, as in \"$%s\"",
                            attribute, space->parameters[0].name);
    return err;
}

/* The truth of a condition, 1 or 0; -1 when it cannot be evaluated. Takes the lock. */
static int condition_evaluate(struct spex_conditions *conditions, const struct condition *condition,
                              const size_t *levels) {
    pthread_mutex_lock(&conditions->lock);
    conditions->levels = levels;
    int truth = xmlXPathCompiledEvalToBoolean(condition->expression, conditions->context);
    pthread_mutex_unlock(&conditions->lock);
    return truth;
}

/* Checks, compiles and tries a condition. The first `known` parameters may be named. Evaluating it
 * once, with the defaults, finds errors of types that compiling does not. */
static int condition_take(struct spex_conditions *conditions, struct spex_xml *xml,
                          const xmlNode *element, const char *attribute, const char *text,
                          size_t known, struct condition *condition) {
    size_t defaults[SPEX_PARAMETERS_MAX];
    for (size_t p = 0; p < conditions->space->parameter_count; p++)
        defaults[p] = conditions->space->parameters[p].default_level;
    int err = check_names(xml, element, attribute, text, conditions->space, known,
                          &condition->parameters);
    if (err)
        return err;
    condition->expression = xmlXPathCtxtCompile(conditions->context, BAD_CAST text);
    if (!condition->expression || condition_evaluate(conditions, condition, defaults) < 0)
        return spex_xml_fail(
            xml, element,
            "%s=\"%s\": an XPath condition was expected, as \"$a * $b &lt;= 64 and "
            "$mode = 'x'\"",
            attribute, text);
    condition->text = strdup(text);
    return condition->text ? 0 : spex_fail(xml->error, -ENOMEM, "out of memory");
}

/* `last`: the parameter itself; those before it may be named. */
int spex_conditions_when(struct spex_conditions *conditions, struct spex_xml *xml,
                         const xmlNode *element) {
    const char *text = spex_xml_attribute(element, "when");
    size_t last = conditions->space->parameter_count - 1;
    if (!text)
        return 0;
    conditions->when_count++;
    return condition_take(conditions, xml, element, "when", text, last, &conditions->when[last]);
}

/* The count grows before the condition is read, so that what was compiled is freed after an
 * error. */
int spex_conditions_require(struct spex_conditions *conditions, struct spex_xml *xml,
                            const xmlNode *element) {
    static const char *const known[] = {"require", NULL};
    const char *text;
    int err = spex_xml_check(xml, element, known, 0);
    err = err ? err : spex_xml_required(xml, element, "require", &text);
    if (!err && conditions->constraint_count == SPEX_CONSTRAINTS_MAX)
        err = spex_xml_fail(xml, element, "at most %d were expected", SPEX_CONSTRAINTS_MAX);
    if (err)
        return err;
    return condition_take(conditions, xml, element, "require", text,
                          conditions->space->parameter_count,
                          &conditions->constraints[conditions->constraint_count++]);
}

void spex_conditions_list(struct spex_conditions *conditions, size_t *order) {
    conditions->order = order;
}

bool spex_conditions_any(const struct spex_conditions *conditions) {
    return conditions->constraint_count || conditions->when_count || conditions->order;
}

/* Returns whether a parameter applies, when the levels before it are settled. A parameter whose
 * condition names one that does not apply does not apply either. A condition that cannot be
 * evaluated counts as false. */
static bool settled_applies(struct spex_conditions *conditions, const size_t *levels, size_t p,
                            uint64_t unapplied) {
    const struct condition *when = &conditions->when[p];
    if (!when->expression)
        return true;
    return !(when->parameters & unapplied) && condition_evaluate(conditions, when, levels) == 1;
}

/* Sets the first `count` parameters that do not apply to their default level. Returns these, a bit
 * each. */
static uint64_t conditions_settle(struct spex_conditions *conditions, size_t *levels,
                                  size_t count) {
    uint64_t unapplied = 0;
    for (size_t p = 0; conditions->when_count && p < count; p++)
        if (!settled_applies(conditions, levels, p, unapplied)) {
            unapplied |= UINT64_C(1) << p;
            levels[p] = conditions->space->parameters[p].default_level;
        }
    return unapplied;
}

/* Each condition is evaluated under the lock by itself, so threads may settle at the same time. */
bool spex_conditions_settle(const struct spex_space *space, size_t *levels) {
    struct spex_conditions *conditions = space->context;
    conditions_settle(conditions, levels, space->parameter_count);
    for (size_t c = 0; c < conditions->constraint_count; c++)
        if (condition_evaluate(conditions, &conditions->constraints[c], levels) != 1)
            return false;
    return !conditions->order || spex_list_has(space, conditions->order, levels);
}

/* Settles a copy up to the parameter: whether it applies depends on those before it. */
bool spex_conditions_apply(const struct spex_space *space, const size_t *levels, size_t parameter) {
    struct spex_conditions *conditions = space->context;
    size_t settled[SPEX_PARAMETERS_MAX];
    memcpy(settled, levels, space->parameter_count * sizeof(*levels));
    return !(conditions_settle(conditions, settled, parameter + 1) &
             UINT64_C(1) << parameter % SPEX_PARAMETERS_MAX);
}

void spex_conditions_print(const struct spex_conditions *conditions, FILE *out) {
    for (size_t p = 0; p < conditions->space->parameter_count; p++)
        if (conditions->when[p].text)
            fprintf(out, "parameter %s when %s\n", conditions->space->parameters[p].name,
                    conditions->when[p].text);
    for (size_t c = 0; c < conditions->constraint_count; c++)
        fprintf(out, "require %s\n", conditions->constraints[c].text);
    spex_list_print(conditions->space, out);
}
