/* SPDX-License-Identifier: MIT */
/* Configurations as XML: written by the explorer for each run, read by the program through
 * include/spex/config.h. The program reads on its own threads, without locks: a configuration does
 * not change once it has been read. Values are the texts of the space, so both sides see the
 * same. */
#define _GNU_SOURCE
#include <spex/config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <libxml/tree.h>

#include "base/descriptor.h"
#include "explore/space/config_file.h"
#include "text/number.h"
#include "xml/xml.h"

/* A configuration is its XML document: values are looked up in it. */
struct spex_config {
    char *path;
    struct spex_xml xml;
    const xmlNode *root;
};

/* NULL: there is none of this name. O(parameters). */
static const xmlNode *parameter_of(const struct spex_config *config, const char *name) {
    for (const xmlNode *p = spex_xml_child(config->root); p; p = spex_xml_next(p))
        if (strcmp(spex_xml_attribute(p, "name"), name) == 0)
            return p;
    return NULL;
}

/* An empty value is allowed, an attribute that is missing is not. */
static int check_parameter(struct spex_config *config, const xmlNode *parameter) {
    static const char *const known[] = {"name", "value", NULL};
    const char *name;
    if (strcmp(spex_xml_name(parameter), "parameter") != 0)
        return spex_xml_fail(&config->xml, parameter, "<parameter> was expected here");
    int err = spex_xml_check(&config->xml, parameter, known, 0);
    err = err ? err : spex_xml_required(&config->xml, parameter, "name", &name);
    if (!err && !spex_xml_attribute(parameter, "value"))
        err = spex_xml_fail(&config->xml, parameter, "attribute \"value\" was expected");
    if (!err && parameter_of(config, name) != parameter)
        err = spex_xml_fail(&config->xml, parameter, "parameter \"%s\" is there twice", name);
    return err;
}

static int config_check(struct spex_config *config) {
    static const char *const known[] = {"space", NULL};
    int err = spex_xml_root(&config->xml, "configuration", &config->root);
    err = err ? err : spex_xml_check(&config->xml, config->root, known, 1);
    for (const xmlNode *p = err ? NULL : spex_xml_child(config->root); p && !err;
         p = spex_xml_next(p))
        err = check_parameter(config, p);
    return err;
}

/* The path is copied because messages of the document refer to it. */
int spex_config_read(const char *path, struct spex_config **out, char *why, size_t why_size) {
    struct spex_error reason = {"out of memory"};
    struct spex_config *config = calloc(1, sizeof(*config));
    int err = config && (config->path = strdup(path)) ? 0 : -ENOMEM;
    err = err ? err : spex_xml_read_file(&config->xml, config->path, &reason);
    err = err ? err : config_check(config);
    if (err) {
        snprintf(why, why_size, "%s", reason.text);
        spex_config_free(config);
        config = NULL;
    } else {
        /* It points to a local variable; no function below fails through it. */
        config->xml.error = NULL;
    }
    *out = config;
    return err;
}

/* Reads the configuration by the descriptor that the program has inherited, where it cannot reach
 * the file by its path. Returns `err`, the error of the path, if it cannot be read so, either. */
static int receive_inherited(struct spex_config **config, int err) {
    struct spex_descriptor file = spex_descriptor_read(secure_getenv("SPEX_CONFIG_FILE"));
    char path[32], ignored[1];
    if ((err != -EACCES && err != -ENOENT) || !spex_descriptor_is_ours(&file))
        return err;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file.number);
    return spex_config_read(path, config, ignored, sizeof(ignored)) ? err : 0;
}

/* A set-user-ID program is never explored: secure_getenv returns NULL in it. -ENOENT means "not
 * explored", so a file that is missing is another error. A pipe, whose writer would be waited
 * for, is refused. */
int spex_config_receive(struct spex_config **config, char *why, size_t why_size) {
    const char *path = secure_getenv("SPEX_CONFIG");
    struct stat found;
    *config = NULL;
    if (!path || !*path) {
        snprintf(why, why_size, "SPEX_CONFIG is not set: nobody is exploring this program");
        return -ENOENT;
    }
    if (stat(path, &found) == 0 && !S_ISREG(found.st_mode)) {
        snprintf(why, why_size, "SPEX_CONFIG=%s: a regular file was expected", path);
        return -EINVAL;
    }
    int err = spex_config_read(path, config, why, why_size);
    err = err ? receive_inherited(config, err) : 0;
    return err == -ENOENT ? -EIO : err; /* -ENOENT means "not explored" */
}

void spex_config_free(struct spex_config *config) {
    if (!config)
        return;
    spex_xml_free(&config->xml);
    free(config->path);
    free(config);
}

const char *spex_config_text(const struct spex_config *config, const char *name) {
    const xmlNode *parameter = parameter_of(config, name);
    return parameter ? spex_xml_attribute(parameter, "value") : NULL;
}

/* *value is undefined after an error. */
int spex_config_integer(const struct spex_config *config, const char *name, int64_t low,
                        int64_t high, int64_t *value, char *why, size_t why_size) {
    const char *text = spex_config_text(config, name);
    if (!text) {
        snprintf(why, why_size, "the configuration has no parameter \"%s\"", name);
        return -ENOENT;
    }
    if (spex_number_integer(text, value) && *value >= low && *value <= high)
        return 0;
    snprintf(why, why_size,
             "parameter \"%s\": an integer of %" PRId64 " to %" PRId64 " was expected, not \"%s\"",
             name, low, high, text);
    return -EINVAL;
}

static int document_add_parameter(xmlNode *root, const struct spex_parameter *parameter,
                                  size_t level) {
    xmlNode *element = xmlNewChild(root, NULL, BAD_CAST "parameter", NULL);
    if (!element || !xmlNewProp(element, BAD_CAST "name", BAD_CAST parameter->name) ||
        !xmlNewProp(element, BAD_CAST "value", BAD_CAST parameter->values[level].text))
        return -ENOMEM;
    return 0;
}

/* NULL: out of memory. */
static xmlDoc *config_document(const struct spex_space *space, const size_t *levels) {
    xmlDoc *document = xmlNewDoc(BAD_CAST "1.0");
    xmlNode *root = xmlNewDocNode(document, NULL, BAD_CAST "configuration", NULL);
    if (!document || !root) {
        xmlFreeNode(root);
        xmlFreeDoc(document);
        return NULL;
    }
    xmlDocSetRootElement(document, root);
    int err = xmlNewProp(root, BAD_CAST "space", BAD_CAST space->name) ? 0 : -ENOMEM;
    for (size_t p = 0; p < space->parameter_count && !err; p++)
        err = document_add_parameter(root, &space->parameters[p], levels[p]);
    if (err) {
        xmlFreeDoc(document);
        return NULL;
    }
    return document;
}

/* Whatever the umask, the program of another user may read the file by a descriptor; the directory
 * keeps others out. */
static int config_write_file(const char *path, const void *text, size_t length) {
    FILE *out = fopen(path, "we");
    if (!out)
        return -errno;
    fchmod(fileno(out), 0644);
    int err = fwrite(text, 1, length, out) == length ? 0 : -errno;
    if (fclose(out) != 0 && !err)
        err = -errno;
    return err;
}

int spex_config_write(const char *path, const struct spex_space *space, const size_t *levels,
                      struct spex_error *error) {
    /* libxml2's own function would take the path for a URI and print errors. */
    xmlDoc *document = config_document(space, levels);
    xmlChar *text = NULL;
    int length = 0;
    if (document)
        xmlDocDumpFormatMemoryEnc(document, &text, &length, "UTF-8", 1);
    xmlFreeDoc(document);
    if (!text)
        return spex_fail(error, -ENOMEM, "out of memory");
    int err = config_write_file(path, text, (size_t)length);
    xmlFree(text);
    if (err)
        return spex_fail(error, err, "cannot write the configuration to %s: %s", path,
                         strerror(-err));
    return 0;
}
