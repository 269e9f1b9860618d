/* SPDX-License-Identifier: MIT
 *
 * Intents and their ends, by the name of the output, and by what tells a turned file from others: the same
 * file can have another name in another folder, or be spelled otherwise.
 */
#define _GNU_SOURCE
#include "journal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "fault.h"
#include "json_line.h"
#include "report.h"

enum { DEEPEST = 2 }; /* a file's line has an object of seconds in it */

/* A file, as its inode and the moment of its last change tell it from others. */
typedef struct {
    gint64 inode, size, modified_ns;
} Mark;

/* What the last lines about an output say. */
typedef struct {
    TtOrientation operation;
    gboolean done;              /* there is a line that says so, after the intent if there is one */
    gint64 bytes_in, bytes_out; /* that it tells of */
    gboolean intended;
    Mark turned, original; /* of the intent */
    char *sha256;
} Entry;

struct Journal {
    char *path; /* for messages */
    GHashTable *entries;
    GHashTable *turned; /* entries by the marks of turned files */
};

static void free_entry(gpointer data) {
    g_free(((Entry *)data)->sha256);
    g_free(data);
}

static guint hash_mark(gconstpointer mark) {
    const Mark *m = mark;
    return g_int64_hash(&m->inode) ^ g_int64_hash(&m->modified_ns);
}

static gboolean same_mark(gconstpointer a, gconstpointer b) {
    return !memcmp(a, b, sizeof(Mark));
}

/* ---- Reading ------------------------------------------------------------------------------------------ */

static const char *text(JsonObject *object, const char *member) {
    const char *value = json_line_text(object, member);
    return value ? value : "";
}

static Entry *entry_of(Journal *journal, JsonObject *object) {
    char *output = report_name(object, "output");
    Entry *entry = output ? g_hash_table_lookup(journal->entries, output) : NULL;
    if (!output || entry) {
        g_free(output);
        return entry;
    }
    entry = g_new0(Entry, 1);
    g_hash_table_insert(journal->entries, output, entry);
    return entry;
}

static void note_intent(Journal *journal, Entry *entry, JsonObject *object) {
    g_free(entry->sha256);
    *entry = (Entry){.intended = TRUE, .sha256 = g_strdup(text(object, "sha256"))};
    entry->turned = (Mark){json_line_number(object, "inode"), json_line_number(object, "size"),
                           json_line_number(object, "modified_ns")};
    entry->original =
        (Mark){json_line_number(object, "original_inode"), json_line_number(object, "original_size"),
               json_line_number(object, "original_modified_ns")};
    g_hash_table_insert(journal->turned, g_memdup2(&entry->turned, sizeof(Mark)), entry);
}

static void note_file(Entry *entry, JsonObject *object) {
    const char *status = text(object, "status");
    if (strcmp(status, "turned") && strcmp(status, "copied"))
        return;
    entry->done = TRUE;
    entry->bytes_in = json_line_number(object, "bytes_in");
    entry->bytes_out = json_line_number(object, "bytes_out");
}

static void note_line(Journal *journal, JsonObject *object) {
    const char *event = text(object, "event");
    TtOrientation operation;
    Entry *entry;
    if ((strcmp(event, "intent") && strcmp(event, "file")) ||
        tt_orientation_parse(text(object, "operation"), &operation) || !(entry = entry_of(journal, object)))
        return;
    if (*event == 'i')
        note_intent(journal, entry, object);
    else
        note_file(entry, object);
    entry->operation = operation;
}

/* Lines that are no JSON are halves, left by a kill or a full disk: what they would have said is not so. */
static gboolean read_lines(Journal *journal, FILE *file, GError **error) {
    JsonParser *parser = json_parser_new();
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, file) > 0) {
        guint depth = json_line_depth(line);
        if (depth && depth <= DEEPEST && json_parser_load_from_data(parser, line, -1, NULL))
            note_line(journal, json_node_get_object(json_parser_get_root(parser)));
    }
    free(line);
    g_object_unref(parser);
    return !ferror(file) || system_fault(error, "read it", errno);
}

Journal *journal_read(const char *path, GError **error) {
    Journal *journal = g_new0(Journal, 1);
    journal->path = g_strdup(path);
    journal->entries = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_entry);
    journal->turned = g_hash_table_new_full(hash_mark, same_mark, g_free, NULL);
    FILE *file = fopen(path, "re");
    gboolean good =
        file ? read_lines(journal, file, error) : errno == ENOENT || system_fault(error, "read it", errno);
    if (file)
        fclose(file);
    if (good)
        return journal;
    g_prefix_error(error, "%s: ", path);
    journal_free(journal);
    return NULL;
}

void journal_free(Journal *journal) {
    g_hash_table_unref(journal->turned);
    g_hash_table_unref(journal->entries);
    g_free(journal->path);
    g_free(journal);
}

/* ---- Comparing with the disk -------------------------------------------------------------------------- */

static Mark mark_of(const struct stat *info) {
    return (Mark){(gint64)info->st_ino, (gint64)info->st_size, report_time(&info->st_mtim)};
}

static gboolean is_marked(const struct stat *info, const Mark *mark) {
    Mark own = mark_of(info);
    return same_mark(&own, mark);
}

/* A file that is to be replaced is known as what it is, before its name counts. */
static const Entry *find_entry(const Journal *journal, const Task *task, gboolean in_place,
                               const struct stat *info) {
    Mark own = mark_of(info);
    const Entry *turned = in_place ? g_hash_table_lookup(journal->turned, &own) : NULL;
    return turned && is_marked(info, &turned->turned) ? turned
                                                      : g_hash_table_lookup(journal->entries, task->output);
}

/* Bare pixels with the original's times: who copies the original back over its turn leaves no trace. */
static gboolean is_alike(const Mark *turned, const Mark *original) {
    return turned->size == original->size && turned->modified_ns == original->modified_ns;
}

/* Neither a copy of the file to another disk nor a new date makes it another one. */
static gboolean has_checksum(int fd, const struct stat *info, const Entry *entry, gboolean *same,
                             GError **error) {
    *same = FALSE;
    if ((gint64)info->st_size != entry->turned.size)
        return TRUE;
    char *sum = checksum_of(fd, error);
    *same = sum && !strcmp(sum, entry->sha256);
    g_free(sum);
    return sum != NULL;
}

static gboolean look_in_place(const Journal *journal, const Entry *entry, int input, const struct stat *info,
                              gboolean *done, GError **error) {
    if (!entry->intended || is_marked(info, &entry->original))
        return TRUE;
    if (entry->done && is_marked(info, &entry->turned) && !is_alike(&entry->turned, &entry->original)) {
        *done = TRUE;
        return TRUE;
    }
    if (!has_checksum(input, info, entry, done, error))
        return FALSE;
    return *done ||
           fault(
               error, STATUS_FAILED,
               "is, by the journal %s, neither the original nor its turn, and is left alone: look at it, and "
               "turn it with another report",
               journal->path);
}

static gboolean has_output(const Entry *entry, const Task *task, const struct stat *before) {
    struct stat after;
    return entry->done && !stat(task->output, &after) && before->st_size == entry->bytes_in &&
           after.st_size == entry->bytes_out;
}

gboolean journal_look_up(const Journal *journal, const Task *task, TtOrientation operation, gboolean in_place,
                         int input, gboolean *done, GError **error) {
    struct stat info;
    *done = FALSE;
    if (!journal)
        return TRUE;
    if (fstat(input, &info)) /* a pipe, which nothing is known of */
        return !in_place || system_fault(error, "look at it", errno);
    const Entry *entry = find_entry(journal, task, in_place, &info);
    if (!entry)
        return TRUE;
    if (!in_place)
        *done = has_output(entry, task, &info);
    else if (!look_in_place(journal, entry, input, &info, done, error))
        return FALSE;
    return !*done || entry->operation == operation ||
           fault(error, STATUS_FAILED,
                 "was turned by %s before, as %s says, and not by %s: name another journal",
                 tt_orientation_name(entry->operation), journal->path, tt_orientation_name(operation));
}
