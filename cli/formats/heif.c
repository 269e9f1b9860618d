/* SPDX-License-Identifier: MIT
 *
 * A picture's rotation and mirroring are properties that every reader has to apply. So a turn is composed
 * into them, for each picture in the file and what belongs to it, and no pixel is decoded: all else stays to
 * the byte. EXIF and XMP, which count for nothing there, are made to say the same.
 */
#include "heif.h"

#include <errno.h>
#include <string.h>

#include "../say.h"
#include "heif_items.h"
#include "orientation_tag.h"

typedef struct {
    Reader reader;
    Format format; /* of the reader: named as the file's */
    const Options *options;
    FILE *file;
    HeifItems items;
    TtOrientation turn;
    GByteArray *meta; /* as it becomes */
    GPtrArray *patches;
} HeifReader;

/* Bytes of the file that become others. */
typedef struct {
    guint64 at;
    GBytes *bytes;
} Patch;

static void patch_free(gpointer data) {
    Patch *patch = data;
    g_bytes_unref(patch->bytes);
    g_free(patch);
}

/* ---- Reading ------------------------------------------------------------------------------------------ */

static void describe(HeifReader *r) {
    const HeifItem *primary = heif_items_find(&r->items, r->items.primary);
    gboolean swap = tt_swaps_axes(primary->lies) != 0;
    guint width = primary->cut_width ? primary->cut_width : primary->width,
          height = primary->cut_height ? primary->cut_height : primary->height;
    r->reader.shape = tt_image(NULL, 0, swap ? height : width, swap ? width : height, 1, 8);
    for (guint i = 0; i < r->items.items->len; i++) {
        const HeifItem *item = &g_array_index(r->items.items, HeifItem, i);
        r->reader.pages += heif_item_turns(item) && !item->hidden && !item->beside;
    }
    r->reader.pages = MAX(r->reader.pages, 1);
}

static void close_heif(Reader *reader) {
    HeifReader *r = (HeifReader *)reader;
    heif_items_clear(&r->items);
    if (r->meta)
        g_byte_array_unref(r->meta);
    g_ptr_array_unref(r->patches);
    g_free(r);
}

static gboolean read_at(FILE *file, guint64 at, void *bytes, gsize n, GError **error) {
    if (!fseeko(file, (off_t)at, SEEK_SET) && fread(bytes, 1, n, file) == n)
        return TRUE;
    return ferror(file) ? system_fault(error, "read it", errno)
                        : fault(error, STATUS_FAILED, "is cut short: restore it from a copy");
}

/* ---- Orientation in EXIF and XMP ---------------------------------------------------------------------- */

static void state_orientation(const HeifItem *item, guint8 *data, gsize size, int orientation) {
    enum { START = 4 }; /* a number, which says how far behind it EXIF begins */
    if (item->xmp) {
        xmp_set_orientation(data, size, orientation);
    } else if (size >= START) {
        gsize skipped = START + ((gsize)data[0] << 24 | (gsize)data[1] << 16 | (gsize)data[2] << 8 | data[3]);
        if (skipped < size)
            exif_set_orientation(data + skipped, size - skipped, orientation);
    }
}

static gboolean state_in_file(HeifReader *r, const HeifItem *item, int orientation, GError **error) {
    guint8 *data = g_try_malloc(item->length);
    if (!data)
        return memory_fault(item->length, error);
    if (!read_at(r->file, item->start, data, item->length, error)) {
        g_free(data);
        return FALSE;
    }
    state_orientation(item, data, item->length, orientation);
    Patch *patch = g_new(Patch, 1);
    *patch = (Patch){item->start, g_bytes_new_take(data, item->length)};
    g_ptr_array_add(r->patches, patch);
    return TRUE;
}

static gboolean state_orientations(HeifReader *r, GError **error) {
    for (guint i = 0; i < r->items.items->len; i++) {
        const HeifItem *item = &g_array_index(r->items.items, HeifItem, i), *of;
        if ((!item->exif && !item->xmp) || !item->length)
            continue;
        of = item->about ? heif_items_find(&r->items, item->about) : NULL;
        if (!of || !heif_item_turns(of))
            of = heif_items_find(&r->items, r->items.primary);
        int orientation = (int)tt_compose(of->lies, r->turn);
        if (item->in_meta)
            state_orientation(item, r->items.data + item->start, item->length, orientation);
        else if (!state_in_file(r, item, orientation, error))
            return FALSE;
    }
    return TRUE;
}

/* ---- Turning ------------------------------------------------------------------------------------------ */

/* For the header, as it is and twice as it becomes, and for all that states an orientation. */
static gboolean has_room(HeifReader *r, GError **error) {
    r->reader.own_memory = 4 * (gsize)(r->items.end - r->items.at);
    for (guint i = 0; i < r->items.items->len; i++) {
        const HeifItem *item = &g_array_index(r->items.items, HeifItem, i);
        r->reader.own_memory += item->exif || item->xmp ? (gsize)item->length : 0;
    }
    return r->reader.own_memory <= options_memory(r->options) ||
           fault(error, STATUS_FAILED,
                 "takes %.1f MB of memory for what is said beside its pictures, more than is allowed: raise "
                 "--memory-limit",
                 (double)r->reader.own_memory / 1e6);
}

static gboolean decide(Reader *reader, TtOrientation turn, gboolean tag_used, GError **error) {
    HeifReader *r = (HeifReader *)reader;
    (void)tag_used; /* there is none */
    r->turn = turn;
    if (!has_room(r, error) || !state_orientations(r, error))
        return FALSE;
    r->meta = heif_items_turned(&r->items, turn);
    return r->meta || fault(error, STATUS_FAILED,
                            "has no room in its header for how its pictures lie: convert it first");
}

static void apply_patches(const HeifReader *r, guint64 at, guint8 *bytes, gsize n) {
    for (guint i = 0; i < r->patches->len; i++) {
        const Patch *patch = r->patches->pdata[i];
        gsize size;
        const guint8 *data = g_bytes_get_data(patch->bytes, &size);
        guint64 from = MAX(at, patch->at), to = MIN(at + n, patch->at + size);
        if (from < to)
            memcpy(bytes + (from - at), data + (from - patch->at), (gsize)(to - from));
    }
}

/* What is done with a part of the turned file. */
typedef gboolean (*Take)(FILE *file, guint8 *bytes, gsize n, GError **error);

static gboolean write_part(FILE *file, guint8 *bytes, gsize n, GError **error) {
    return fwrite(bytes, 1, n, file) == n || system_fault(error, "write the output", errno);
}

static gboolean compare_part(FILE *file, guint8 *bytes, gsize n, GError **error) {
    guint8 *back = g_malloc(MAX(n, 1));
    gboolean same = fread(back, 1, n, file) == n && !memcmp(back, bytes, n);
    g_free(back);
    return same || copy_fault(error);
}

/* What lies between two places of the source, which another may be changing. */
static gboolean take_range(const HeifReader *r, guint64 from, guint64 to, FILE *file, Take take,
                           GError **error) {
    guint8 part[65536];
    for (gsize n; from < to; from += n) {
        n = (gsize)MIN(to - from, sizeof(part));
        if (r->reader.cancel && *r->reader.cancel)
            return fault(error, STATUS_SIGNAL, "interrupted");
        if (!read_at(r->file, from, part, n, error))
            return FALSE;
        apply_patches(r, from, part, n);
        if (!take(file, part, n, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean take_file(const HeifReader *r, FILE *file, Take take, GError **error) {
    return take_range(r, 0, r->items.at, file, take, error) &&
           take(file, r->meta->data, r->meta->len, error) &&
           take_range(r, r->items.end, r->items.file_size, file, take, error);
}

static gboolean turn_itself(Reader *reader, FILE *file, const atomic_int *cancel, GError **error) {
    (void)cancel; /* which the reader has */
    return take_file((HeifReader *)reader, file, write_part, error);
}

/* Whether the copy's header says of an item what it should, and finds the same bytes. */
static gboolean verify_item(const HeifReader *r, const HeifItem *item, const HeifItems *copy, FILE *output,
                            GError **error) {
    const HeifItem *other = heif_items_find(copy, item->id);
    TtOrientation lies = heif_item_turns(item) ? tt_compose(item->lies, r->turn) : item->lies;
    if (!other || other->lies != lies || other->pieces != item->pieces || other->length != item->length ||
        other->in_meta != item->in_meta)
        return copy_fault(error);
    if (item->pieces != 1)
        return TRUE;
    if (item->in_meta)
        return !memcmp(r->items.data + item->start, copy->data + other->start, item->length) ||
               copy_fault(error);
    return !fseeko(output, (off_t)other->start, SEEK_SET) &&
           take_range(r, item->start, item->start + item->length, output, compare_part, error);
}

static gboolean verify_items(const HeifReader *r, FILE *output, GError **error) {
    HeifItems copy;
    gboolean good = heif_items_read(output, &copy) || copy_fault(error);
    for (guint i = 0; good && i < r->items.items->len; i++)
        good = verify_item(r, &g_array_index(r->items.items, HeifItem, i), &copy, output, error);
    heif_items_clear(&copy);
    return good;
}

static gboolean verify_itself(Reader *reader, FILE *output, GError **error) {
    rewind(output);
    return take_file((HeifReader *)reader, output, compare_part, error) &&
           verify_items((HeifReader *)reader, output, error);
}

static gboolean check(Reader *reader, const atomic_int *cancel, GError **error) {
    (void)reader;
    (void)cancel;
    (void)error;
    return TRUE; /* it is whole, as far as can be told without a decoder */
}

Reader *heif_open(const Format *self, FILE *file, const char *path, const Options *options, GError **error) {
    HeifReader *r = g_new0(HeifReader, 1);
    r->format = (Format){.name = self->name,
                         .close = close_heif,
                         .decide = decide,
                         .turn = turn_itself,
                         .verify = verify_itself,
                         .check = check};
    memcpy(r->format.extensions, self->extensions, sizeof(self->extensions));
    r->reader = (Reader){.format = &r->format, .path = path, .tag = TT_NONE, .by_itself = TRUE};
    r->file = file;
    r->options = options;
    r->patches = g_ptr_array_new_with_free_func(patch_free);
    gboolean good = !options->strip && heif_items_read(file, &r->items);
    if (good && r->items.cut_short)
        good = fault(error, STATUS_FAILED, "is cut short: restore it from a copy");
    if (good) {
        describe(r);
        return &r->reader;
    }
    close_heif(&r->reader);
    rewind(file);
    return NULL;
}
