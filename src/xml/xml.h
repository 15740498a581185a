/* SPDX-License-Identifier: MIT */
/* Strict reading of small XML files: only known elements and attributes are accepted, and
 * messages name the line, the element and what was expected. Values are in attributes; text is
 * not allowed. */
#ifndef SPEX_XML_XML_H
#define SPEX_XML_XML_H

#include <errno.h>
#include <stddef.h>

#include <libxml/tree.h>

#include "text/error.h"

/* Larger files are refused. */
#define SPEX_XML_BYTES_MAX (1 << 20)

struct spex_xml {
    const char *path; /* for messages; not owned */
    char *text;       /* the file's text; owned */
    size_t length;
    xmlDoc *document;
    struct spex_error *error;
};

/* Reads and parses a file. `error` has to stay valid as long as functions below may fail. 0;
 * -EINVAL when it is not well-formed; or the error of reading. */
int spex_xml_read_file(struct spex_xml *xml, const char *path, struct spex_error *error);

/* The same from a text; `path` is for messages. */
int spex_xml_read_text(struct spex_xml *xml, const char *path, const char *text,
                       struct spex_error *error);

void spex_xml_free(struct spex_xml *xml);

/* The root element; -EINVAL when it is not called `name`. */
int spex_xml_root(struct spex_xml *xml, const char *name, const xmlNode **root);

/* The first child element, and the next sibling; NULL at the end. */
const xmlNode *spex_xml_child(const xmlNode *element);
const xmlNode *spex_xml_next(const xmlNode *element);

const char *spex_xml_name(const xmlNode *element);

/* -EINVAL when an attribute is not in `known`, which ends with NULL, when there is text, or,
 * without `children`, a child element. */
int spex_xml_check(struct spex_xml *xml, const xmlNode *element, const char *const *known,
                   int children);

/* An attribute's value, valid as long as the document, or NULL. */
const char *spex_xml_attribute(const xmlNode *element, const char *name);

/* The same; -EINVAL when it is missing or empty. */
int spex_xml_required(struct spex_xml *xml, const xmlNode *element, const char *name,
                      const char **value);

/* Sets the error to "path:line: <element>: …". */
__attribute__((format(printf, 3, 4))) void spex_xml_complain(struct spex_xml *xml,
                                                             const xmlNode *element,
                                                             const char *format, ...);

#define spex_xml_fail(xml, element, ...) (spex_xml_complain((xml), (element), __VA_ARGS__), -EINVAL)

/* Sets *value to the part that "2%" means: above 0, and 1 at most. It stays when the attribute is
 * not there. */
int spex_xml_part(struct spex_xml *xml, const xmlNode *element, const char *name, double *value);

#endif
