/* SPDX-License-Identifier: MIT */
/* Strict reading of XML with libxml2. The whole file is read first, so that the text can be stored
 * with the trials. Documents are not trusted: their size is bounded, there is no network, and
 * document type declarations, which could expand entities without bound, are refused. */
#include "xml/xml.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libxml/parser.h>

#include "base/files/whole_file.h"
#include "text/number.h"
#include "text/printable.h"

/* No network access; messages are ours. XML_PARSE_BIG_LINES: line numbers above 65535. */
#define PARSE_OPTIONS                                                                              \
    (XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_BIG_LINES)

#if LIBXML_VERSION >= 21200
typedef const xmlError parse_error;
#else
typedef xmlError parse_error;
#endif

/* Passes the parser's message on, without its newline. */
static int fail_parse(struct spex_xml *xml, const xmlError *error) {
    const char *text = error && error->message ? error->message : "not an XML document\n";
    return spex_fail(xml->error, -EINVAL, "%s:%d: not well-formed XML: %.*s", xml->path,
                     error ? error->line : 1, (int)strcspn(text, "\n"), text);
}

/* Fails when the file has a zero byte: the parser would take it for the end of the document. */
static int check_bytes(const struct spex_xml *xml) {
    size_t length = strlen(xml->text);
    int line = 1;
    if (length == xml->length)
        return 0;
    for (size_t i = 0; i < length; i++)
        line += xml->text[i] == '\n';
    return spex_fail(xml->error, -EINVAL, "%s:%d: not well-formed XML: a zero byte", xml->path,
                     line);
}

/* Suppresses libxml2's printing: it prints errors of encodings whatever the options are. */
static void ignore_error(void *context, parse_error *error) {
    (void)context;
    (void)error;
}

/* The error function is libxml2's global one, per thread; the program's own is put back. */
static xmlDoc *read_silently(struct spex_xml *xml, xmlParserCtxt *parser) {
    xmlStructuredErrorFunc old = xmlStructuredError;
    void *old_context = xmlStructuredErrorContext;
    xmlSetStructuredErrorFunc(NULL, ignore_error);
    xmlDoc *document =
        xmlCtxtReadMemory(parser, xml->text, (int)xml->length, xml->path, NULL, PARSE_OPTIONS);
    xmlSetStructuredErrorFunc(old_context, old);
    return document;
}

/* The document refers to nothing outside of it afterwards; nodes stay valid until spex_xml_free. */
static int xml_parse(struct spex_xml *xml) {
    int err = check_bytes(xml);
    if (err)
        return err;
    xmlParserCtxt *parser = xmlNewParserCtxt();
    if (!parser)
        return spex_fail(xml->error, -ENOMEM, "out of memory");
    xml->document = read_silently(xml, parser);
    if (!xml->document)
        err = fail_parse(xml, xmlCtxtGetLastError(parser));
    else if (xml->document->intSubset)
        err = spex_fail(xml->error, -EINVAL, "%s: a document type declaration is not accepted",
                        xml->path);
    xmlFreeParserCtxt(parser);
    return err;
}

int spex_xml_read_file(struct spex_xml *xml, const char *path, struct spex_error *error) {
    *xml = (struct spex_xml){.path = path, .error = error};
    int err = spex_whole_file_read(path, SPEX_FILE_ANY, SPEX_XML_BYTES_MAX, &xml->text,
                                   &xml->length, error);
    err = err ? err : xml_parse(xml);
    if (err)
        spex_xml_free(xml);
    return err;
}

int spex_xml_read_text(struct spex_xml *xml, const char *path, const char *text,
                       struct spex_error *error) {
    *xml = (struct spex_xml){.path = path, .error = error, .text = strdup(text)};
    xml->length = strlen(text);
    int err = xml->text ? xml_parse(xml) : spex_fail(error, -ENOMEM, "out of memory");
    if (err)
        spex_xml_free(xml);
    return err;
}

void spex_xml_free(struct spex_xml *xml) {
    xmlFreeDoc(xml->document);
    free(xml->text);
    xml->document = NULL;
    xml->text = NULL;
}

void spex_xml_complain(struct spex_xml *xml, const xmlNode *element, const char *format, ...) {
    char text[384];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    spex_error_set(xml->error, "%s:%ld: <%s>: %s", xml->path,
                   xmlGetLineNo((xmlNode *)(uintptr_t)element), spex_xml_name(element), text);
}

int spex_xml_root(struct spex_xml *xml, const char *name, const xmlNode **root) {
    *root = xmlDocGetRootElement(xml->document);
    if (strcmp(spex_xml_name(*root), name) == 0)
        return 0;
    return spex_xml_fail(xml, *root, "<%s> was expected here", name);
}

/* The first element from this node on; comments and texts are skipped. */
static const xmlNode *element_from(const xmlNode *node) {
    while (node && node->type != XML_ELEMENT_NODE)
        node = node->next;
    return node;
}

const xmlNode *spex_xml_child(const xmlNode *element) {
    return element_from(element->children);
}

const xmlNode *spex_xml_next(const xmlNode *element) {
    return element_from(element->next);
}

const char *spex_xml_name(const xmlNode *element) {
    return (const char *)element->name;
}

static bool is_known(const char *name, const char *const *known) {
    for (; *known; known++)
        if (strcmp(name, *known) == 0)
            return true;
    return false;
}

/* Reports an unknown attribute with those that are known. */
static int fail_unknown(struct spex_xml *xml, const xmlNode *element, const char *attribute,
                        const char *const *known) {
    char list[256] = "";
    for (size_t length = 0; *known && length < sizeof(list); known++)
        length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%s", length ? ", " : "",
                                   *known);
    return spex_xml_fail(xml, element, "unknown attribute \"%s\"; expected: %s", attribute, list);
}

static bool is_blank(const xmlNode *text) {
    const char *content = (const char *)text->content;
    return !content || content[strspn(content, " \t\r\n")] == '\0';
}

/* Namespaces are refused, since names are compared without their prefix. */
static bool has_namespace(const xmlNode *element) {
    for (const xmlAttr *a = element->properties; a; a = a->next)
        if (a->ns)
            return true;
    return element->ns || element->nsDef;
}

/* Control characters are refused, because values are printed to terminals and passed to
 * programs. */
int spex_xml_check(struct spex_xml *xml, const xmlNode *element, const char *const *known,
                   int children) {
    if (has_namespace(element))
        return spex_xml_fail(xml, element, "namespaces are not expected");
    for (const xmlAttr *a = element->properties; a; a = a->next)
        if (!is_known((const char *)a->name, known))
            return fail_unknown(xml, element, (const char *)a->name, known);
    for (const xmlAttr *a = element->properties; a; a = a->next)
        if (!spex_is_printable(spex_xml_attribute(element, (const char *)a->name)))
            return spex_xml_fail(xml, element, "%s: a control character is not expected", a->name);
    for (const xmlNode *node = element->children; node; node = node->next) {
        bool text = node->type == XML_TEXT_NODE || node->type == XML_CDATA_SECTION_NODE ||
                    node->type == XML_ENTITY_REF_NODE;
        if (text && !is_blank(node))
            return spex_xml_fail(xml, element, "text is not expected here");
        if (node->type == XML_ELEMENT_NODE && !children)
            return spex_xml_fail(xml, node, "not expected inside <%s>", spex_xml_name(element));
    }
    return 0;
}

/* Without a document type declaration there are no entities of the document's own, so an attribute
 * has one text node. */
const char *spex_xml_attribute(const xmlNode *element, const char *name) {
    for (const xmlAttr *a = element->properties; a; a = a->next)
        if (strcmp((const char *)a->name, name) == 0)
            return a->children && a->children->content ? (const char *)a->children->content : "";
    return NULL;
}

int spex_xml_required(struct spex_xml *xml, const xmlNode *element, const char *name,
                      const char **value) {
    *value = spex_xml_attribute(element, name);
    if (*value && **value)
        return 0;
    return spex_xml_fail(xml, element, "attribute \"%s\" was expected", name);
}

int spex_xml_part(struct spex_xml *xml, const xmlNode *element, const char *name, double *value) {
    const char *text = spex_xml_attribute(element, name);
    char digits[32] = "";
    size_t length = text ? strlen(text) : 0;
    double percent = 0;
    if (!text)
        return 0;
    if (length > 1 && length < sizeof(digits) && text[length - 1] == '%')
        memcpy(digits, text, length - 1);
    if (!spex_number_seconds(digits, &percent) || percent <= 0 || percent > 100)
        return spex_xml_fail(xml, element,
                             "%s=\"%s\": more than 0%% and at most 100%% were expected, as \"2%%\"",
                             name, text);
    *value = percent / 100;
    return 0;
}
