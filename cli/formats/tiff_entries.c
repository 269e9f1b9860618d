/* SPDX-License-Identifier: MIT
 *
 * Entry by entry.
 */
#include "tiff_entries.h"

#include <string.h>

#include "../fault.h"
#include "orientation_tag.h"
#include "photoshop_turn.h"
#include "tiff_geo.h"
#include "tiff_ome.h"
#include "tiff_tag.h"
#include "xmp_sizes.h"

enum {
    DEEPEST = 4,       /* directories within each other */
    MOST_INNER = 1024, /* directories without pixels that a page has */
    LARGEST = 1 << 30, /* bytes of values */
    SUBJECT_AREA = 0x9214,
    SUBJECT_LOCATION = 0xa214,
};

/* Across and down. */
static const guint pairs[][2] = {{TAG_WIDTH, TAG_HEIGHT},
                                 {TAG_CELL_WIDTH, TAG_CELL_HEIGHT},
                                 {TAG_X_RESOLUTION, TAG_Y_RESOLUTION},
                                 {TAG_TILE_WIDTH, TAG_TILE_HEIGHT},
                                 {TAG_X_POSITION, TAG_Y_POSITION},
                                 {0xa002, 0xa003} /* pixels */,
                                 {0xa20e, 0xa20f} /* of the focal plane */,
                                 {0x1001, 0x1002} /* related image */};

static guint partner_of(guint tag) {
    for (gsize i = 0; i < G_N_ELEMENTS(pairs); i++)
        for (int side = 0; side < 2; side++)
            if (pairs[i][side] == tag)
                return pairs[i][!side];
    return tag;
}

/* Where pixels are: written anew, or, of what is not in use, left out. */
static gboolean is_made_anew(guint tag) {
    static const guint16 tags[] = {
        TAG_STRIP_OFFSETS,   TAG_STRIP_BYTES,    TAG_TILE_OFFSETS, TAG_TILE_BYTES, TAG_ROWS_PER_STRIP,
        TAG_OLD_JPEG_OFFSET, TAG_OLD_JPEG_BYTES, TAG_FREE_OFFSETS, TAG_FREE_BYTES, TAG_SUB_IFDS};
    for (gsize i = 0; i < G_N_ELEMENTS(tags); i++)
        if (tags[i] == tag)
            return TRUE;
    return FALSE;
}

static gboolean is_needed(guint tag) {
    static const guint16 tags[] = {254, 256, 257, 258, 259, 262, 266, 277, 282, 283, 284, 292,
                                   293, 296, 297, 301, 317, 318, 319, 320, 322, 323, 332, 333,
                                   334, 336, 338, 339, 340, 341, 347, 529, 530, 531, 532, TAG_ICC};
    for (gsize i = 0; i < G_N_ELEMENTS(tags); i++)
        if (tags[i] == tag)
            return TRUE;
    return FALSE;
}

static gboolean is_kept(const TiffDirectory *d, guint tag, const TiffEntriesTurn *how) {
    if (tag == TAG_X_POSITION || tag == TAG_Y_POSITION) /* on a page of unknown size */
        return !how->strip && (how->turn == TT_NONE || how->turn == TT_TRANSPOSE);
    if (!how->strip || is_needed(tag) || (tag == TAG_NO_DATA && how->from->sparse))
        return TRUE;
    return !how->state_tag &&
           (tag == TAG_ORIENTATION || (tag == TAG_XMP && !tiff_directory_find(d, TAG_ORIENTATION)));
}

static gboolean is_directory(const TiffEntry *entry) {
    if (entry->count != 1 || (entry->type != TYPE_LONG && entry->type != TYPE_IFD &&
                              entry->type != TYPE_LONG8 && entry->type != TYPE_IFD8))
        return FALSE;
    return entry->type == TYPE_IFD || entry->type == TYPE_IFD8 || entry->tag == TAG_EXIF ||
           entry->tag == TAG_GPS || entry->tag == TAG_INTEROPERABILITY || entry->tag == TAG_GLOBAL_PARAMETERS;
}

/* ---- Orientation -------------------------------------------------------------------------------------- */

int tiff_entries_orientation(const TiffFile *file, const TiffDirectory *d) {
    guint64 tag = tiff_directory_number(file, d, TAG_ORIENTATION, 0);
    const TiffEntry *xmp = tiff_directory_find(d, TAG_XMP);
    int orientation = 0;
    if (tag >= 1 && tag <= 8)
        return (int)tag;
    guint8 *packet = xmp ? tiff_entry_data(file, xmp, NULL) : NULL;
    if (packet)
        orientation = xmp_orientation(packet, tiff_entry_size(xmp), FALSE);
    g_free(packet);
    return orientation;
}

/* ---- Losses ------------------------------------------------------------------------------------------- */

static void lose_damaged(const TiffEntry *entry, GString *loss, gboolean *damaged) {
    enum { LONG_ENOUGH = 1000 };
    if (loss->len < LONG_ENOUGH)
        g_string_append_printf(loss, "%swhose damaged tag %u is left out", loss->len ? ", " : "", entry->tag);
    *damaged = TRUE;
}

/* Of a directory without pixels, and those in it; *most: how many more are looked at. */
static void inner_losses(const TiffFile *file, const TiffEntry *at, guint depth, guint *most, GString *loss,
                         gboolean *damaged) {
    guint64 *offset = tiff_entry_numbers(file, at, NULL);
    TiffDirectory *d = offset && *most ? tiff_directory_read(file, *offset, NULL) : NULL;
    *most -= *most > 0;
    for (gsize i = 0; d && i < d->n; i++) {
        if (!d->entries[i].good)
            lose_damaged(&d->entries[i], loss, damaged);
        else if (d->entries[i].tag == TAG_MAKER_NOTE && tiff_entry_size(&d->entries[i]) > 8)
            g_string_append_printf(loss, "%swhose maker note moves, and may point into the file",
                                   loss->len ? ", " : "");
        else if (depth < DEEPEST && is_directory(&d->entries[i]))
            inner_losses(file, &d->entries[i], depth + 1, most, loss, damaged);
    }
    if (d)
        tiff_directory_free(d);
    g_free(offset);
}

void tiff_entries_losses(const TiffFile *file, const TiffDirectory *d, gboolean strip, GString *loss,
                         gboolean *damaged) {
    guint most = MOST_INNER;
    for (gsize i = 0; i < d->n; i++) {
        const TiffEntry *entry = &d->entries[i];
        if (entry->tag == TAG_SUB_IFDS && !entry->good) {
            lose_damaged(entry, loss, damaged);
        } else if (strip) {
            continue;
        } else if (!entry->good && !is_made_anew(entry->tag)) {
            lose_damaged(entry, loss, damaged);
        } else if (entry->good && is_directory(entry) && !is_made_anew(entry->tag)) {
            inner_losses(file, entry, 1, &most, loss, damaged);
        } else if (entry->tag == TAG_OLD_JPEG_OFFSET) {
            g_string_append_printf(loss, "%swhose embedded JPEG (tag 513) is left out",
                                   loss->len ? ", " : "");
        } else if (entry->tag == TAG_LAYERS && !strstr(loss->str, "layers")) {
            g_string_append_printf(loss, "%swhose Photoshop layers are left out", loss->len ? ", " : "");
        }
    }
}

/* ---- Values ------------------------------------------------------------------------------------------- */

/* A point, perhaps with a diameter, or with a width and a height. */
static void turn_subject(const TiffFile *file, const TiffEntry *entry, guint8 *data,
                         const TiffEntriesTurn *how) {
    if (entry->type != TYPE_SHORT || entry->count < 2 || entry->count > 4)
        return;
    gsize x = tiff_number(file, data, 2), y = tiff_number(file, data + 2, 2);
    if (x >= how->width || y >= how->height)
        return;
    TtRect point = tt_map_rect(how->turn, how->width, how->height, (TtRect){x, y, 1, 1});
    tiff_put_number(file, data, 2, point.x);
    tiff_put_number(file, data + 2, 2, point.y);
    if (entry->count == 4 && tt_swaps_axes(how->turn)) {
        guint8 width[2];
        memcpy(width, data + 4, 2);
        memcpy(data + 4, data + 6, 2);
        memcpy(data + 6, width, 2);
    }
}

static gsize turn_photoshop(guint8 *data, gsize size, gboolean swap) {
    static const char name[] = "Photoshop 3.0";
    guint8 *segment = g_malloc(size + sizeof(name));
    memcpy(segment, name, sizeof(name));
    memcpy(segment + sizeof(name), data, size);
    size = photoshop_turn(segment, size + sizeof(name), swap) - sizeof(name);
    memcpy(data, segment + sizeof(name), size);
    g_free(segment);
    return size;
}

static void turn_values(const TiffFile *file, TiffEntry *entry, guint8 *data, const TiffEntriesTurn *how) {
    gboolean swap = tt_swaps_axes(how->turn) != 0;
    gsize size = tiff_entry_size(entry);
    switch (entry->tag) {
    case TAG_ORIENTATION:
        if (how->state_tag && entry->count == 1 && (entry->type == TYPE_SHORT || entry->type == TYPE_LONG))
            tiff_put_number(file, data, tiff_type_size(entry->type), how->tag);
        break;
    case TAG_XMP:
        if (how->state_tag)
            xmp_set_orientation(data, size, how->tag);
        xmp_turn_sizes(data, size, how->turn, (guint)how->width, (guint)how->height, (guint)how->width,
                       (guint)how->height);
        break;
    case TAG_PHOTOSHOP:
        if (how->turn != TT_NONE && tiff_type_size(entry->type) == 1)
            entry->count = turn_photoshop(data, size, swap);
        break;
    case TAG_YCBCR_SUBSAMPLING:
        if (swap && entry->count >= 2) {
            gsize bytes = tiff_type_size(entry->type);
            guint64 across = tiff_number(file, data, bytes);
            tiff_put_number(file, data, bytes, tiff_number(file, data + bytes, bytes));
            tiff_put_number(file, data + bytes, bytes, across);
        }
        break;
    case TAG_DESCRIPTION:
        if (swap)
            tiff_ome_swap((char *)data, size);
        break;
    case SUBJECT_AREA:
    case SUBJECT_LOCATION:
        turn_subject(file, entry, data, how);
    }
}

/* ---- Directories -------------------------------------------------------------------------------------- */

static gboolean copy_entries(const TiffFile *file, const TiffDirectory *d, const TiffEntriesTurn *how,
                             TiffOutput *output, guint depth, GArray *entries, GError **error);

/* A directory without pixels, and what is in it. */
static gboolean copy_directory(const TiffFile *file, const TiffEntry *entry, const TiffEntriesTurn *how,
                               TiffOutput *output, guint depth, GArray *entries, GError **error) {
    if (++output->inner > MOST_INNER)
        return fault(error, STATUS_FAILED,
                     "is damaged, as a page has more than %d directories of tags: restore it from a copy",
                     MOST_INNER);
    guint64 *at = tiff_entry_numbers(file, entry, error), placed;
    TiffDirectory *d = at ? tiff_directory_read(file, *at, error) : NULL;
    g_free(at);
    if (!d)
        return FALSE;
    if (tiff_directory_find(d, TAG_STRIP_OFFSETS) || tiff_directory_find(d, TAG_TILE_OFFSETS)) {
        tiff_directory_free(d);
        return fault(error, STATUS_FAILED,
                     "holds a picture within its tag %u, where none is expected: remove it", entry->tag);
    }
    GArray *inner = tiff_new_entries();
    gboolean good = depth < DEEPEST
                        ? copy_entries(file, d, how, output, depth + 1, inner, error)
                        : fault(error, STATUS_FAILED,
                                "is damaged, as its directories hold each other: restore it from a "
                                "copy");
    good = good && tiff_output_directory(output, inner, &placed, error);
    guint type = entry->type;
    if (output->file.big)
        type = type == TYPE_IFD ? TYPE_IFD8 : type == TYPE_LONG ? TYPE_LONG8 : type;
    if (good)
        tiff_add_entry(entries, entry->tag, type, 1, tiff_values(&output->file, type, &placed, 1));
    tiff_new_entries_free(inner);
    tiff_directory_free(d);
    return good;
}

static gboolean copy_entry(const TiffFile *file, const TiffEntry *original, const TiffEntriesTurn *how,
                           GArray *entries, GError **error) {
    TiffEntry entry = *original;
    if (tiff_entry_size(&entry) > LARGEST)
        return fault(error, STATUS_FAILED, "has a tag of %.1f MB, which is too large to be copied: remove it",
                     (double)tiff_entry_size(&entry) / 1e6);
    guint8 *data = tiff_entry_data(file, &entry, error);
    if (!data)
        return FALSE;
    turn_values(file, &entry, data, how);
    guint tag = tt_swaps_axes(how->turn) ? partner_of(entry.tag) : entry.tag;
    if (entry.count)
        tiff_add_entry(entries, tag, entry.type, entry.count, data);
    else
        g_free(data);
    return TRUE;
}

static gboolean is_repeated(const TiffDirectory *d, gsize i) {
    for (gsize j = 0; j < i; j++)
        if (d->entries[j].tag == d->entries[i].tag && d->entries[j].good)
            return TRUE;
    return FALSE;
}

static gboolean copy_entries(const TiffFile *file, const TiffDirectory *d, const TiffEntriesTurn *how,
                             TiffOutput *output, guint depth, GArray *entries, GError **error) {
    for (gsize i = 0; i < d->n; i++) {
        const TiffEntry *entry = &d->entries[i];
        gboolean geo = tiff_is_geo_place(entry->tag) && how->turn != TT_NONE;
        if (!entry->good || is_repeated(d, i) || (depth == 0 && (is_made_anew(entry->tag) || geo)) ||
            (depth == 0 && !is_kept(d, entry->tag, how)) ||
            (entry->tag == TAG_LAYERS && how->turn != TT_NONE) ||
            (entry->tag == TAG_JPEG_TABLES && how->jpeg_tables))
            continue;
        if (!(is_directory(entry) ? copy_directory(file, entry, how, output, depth, entries, error)
                                  : copy_entry(file, entry, how, entries, error)))
            return FALSE;
    }
    return TRUE;
}

/* Where the pixels are now. */
static void add_blocks(const TiffFile *file, const TiffDirectory *d, const TiffEntriesTurn *how,
                       const TiffOutput *output, GArray *entries) {
    const TiffPicture *from = how->from, *to = how->to;
    guint type = output->file.big ? TYPE_LONG8 : TYPE_LONG;
    const TiffEntry *lengths = tiff_directory_find(d, from->tiled ? TAG_TILE_BYTES : TAG_STRIP_BYTES);
    guint length_type = output->file.big && lengths && lengths->type == TYPE_LONG8 ? TYPE_LONG8 : TYPE_LONG;
    for (gsize i = 0; i < to->blocks; i++)
        if (to->lengths[i] > G_MAXUINT32)
            length_type = TYPE_LONG8;
    tiff_add_entry(entries, to->tiled ? TAG_TILE_OFFSETS : TAG_STRIP_OFFSETS, type, to->blocks,
                   tiff_values(&output->file, type, to->starts, to->blocks));
    tiff_add_entry(entries, to->tiled ? TAG_TILE_BYTES : TAG_STRIP_BYTES, length_type, to->blocks,
                   tiff_values(&output->file, length_type, to->lengths, to->blocks));
    const TiffEntry *rows = tiff_directory_find(d, TAG_ROWS_PER_STRIP);
    if (to->tiled || (!rows && to->down == 1))
        return;
    guint64 n = rows ? tiff_directory_number(file, d, TAG_ROWS_PER_STRIP, 0) : 0;
    if (!rows || to->down > from->down ||
        (n && n < G_MAXUINT32 && (n <= from->height || tt_swaps_axes(how->turn))))
        n = to->block_height;
    guint rows_type = rows && rows->type == TYPE_SHORT && n <= G_MAXUINT16 ? TYPE_SHORT : TYPE_LONG;
    tiff_add_entry(entries, TAG_ROWS_PER_STRIP, rows_type, 1, tiff_values(&output->file, rows_type, &n, 1));
}

GArray *tiff_entries_turned(const TiffFile *file, const TiffDirectory *d, const TiffEntriesTurn *how,
                            TiffOutput *output, GError **error) {
    GArray *entries = tiff_new_entries();
    output->inner = 0;
    gboolean good = copy_entries(file, d, how, output, 0, entries, error);
    if (good && how->turn != TT_NONE && !how->strip)
        good = tiff_geo_turn(file, d, how->turn, how->width, how->height, entries, error);
    if (good && how->state_tag && how->tag != TT_NONE && !tiff_directory_find(d, TAG_ORIENTATION)) {
        guint64 tag = how->tag;
        tiff_add_entry(entries, TAG_ORIENTATION, TYPE_SHORT, 1, tiff_values(file, TYPE_SHORT, &tag, 1));
    }
    if (good && how->jpeg_tables)
        tiff_add_entry(entries, TAG_JPEG_TABLES, TYPE_UNDEFINED, how->jpeg_tables_size,
                       g_memdup2(how->jpeg_tables, how->jpeg_tables_size));
    if (good && how->to)
        add_blocks(file, d, how, output, entries);
    if (good)
        return entries;
    tiff_new_entries_free(entries);
    return NULL;
}
