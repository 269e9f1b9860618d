/* SPDX-License-Identifier: MIT
 *
 * Boxes of ISO/IEC 14496-12 and 23008-12.
 *
 * A reader turns a picture by the properties irot and imir that are associated with its item. Those are
 * replaced, which changes the box's size, and so the places of all that lies behind it in the file.
 */
#include "heif_items.h"

#include <string.h>

#define KIND(text)                                                                                           \
    ((guint32)(text)[0] << 24 | (guint32)(text)[1] << 16 | (guint32)(text)[2] << 8 | (guint32)(text)[3])

enum { LARGEST_META = 1 << 24, MOST_ITEMS = 1 << 16, ESSENTIAL = 0x8000, MOST_PROPERTIES = 0x7fff };

typedef struct {
    const guint8 *data;
    gsize at, end;
    gboolean bad;
} Cursor;

typedef struct {
    guint32 kind;
    gsize start, body, end;
} Box;

static guint64 take(Cursor *c, gsize n) {
    guint64 value = 0;
    if (n > c->end - c->at) {
        c->bad = TRUE;
        c->at = c->end;
        return 0;
    }
    while (n--)
        value = value << 8 | c->data[c->at++];
    return value;
}

/* The next box; FALSE at the end. */
static gboolean take_box(Cursor *c, Box *box) {
    if (c->bad || c->at == c->end)
        return FALSE;
    gsize start = c->at;
    guint64 size = take(c, 4);
    guint32 kind = (guint32)take(c, 4);
    if (size == 1)
        size = take(c, 8);
    *box = (Box){kind, start, c->at, 0};
    if (c->bad || size < c->at - start || size > c->end - start) {
        c->bad = TRUE;
        return FALSE;
    }
    c->at = box->end = start + (gsize)size;
    return TRUE;
}

static Cursor inside(const guint8 *data, const Box *box) {
    return (Cursor){data, box->body, box->end, FALSE};
}

/* FALSE if there is none, or more than one. */
static gboolean find_box(Cursor within, guint32 kind, Box *found) {
    Box box;
    guint n = 0;
    while (take_box(&within, &box))
        if (box.kind == kind) {
            *found = box;
            n++;
        }
    return n == 1 && !within.bad;
}

static Cursor children(const HeifItems *items) {
    Cursor c = {items->data, 0, (gsize)(items->end - items->at), FALSE};
    Box meta;
    if (!take_box(&c, &meta))
        return (Cursor){.bad = TRUE};
    c = inside(items->data, &meta);
    take(&c, 4); /* version and flags */
    return c;
}

/* The version of such a box, in the highest byte, and its flags. */
static guint32 take_version(Cursor *c) {
    return (guint32)take(c, 4);
}

HeifItem *heif_items_find(const HeifItems *items, guint32 id) {
    gpointer place = g_hash_table_lookup(items->places, GUINT_TO_POINTER(id)); /* from 1 on */
    return place ? &g_array_index(items->items, HeifItem, GPOINTER_TO_UINT(place) - 1) : NULL;
}

gboolean heif_item_turns(const HeifItem *item) {
    return item->sized && !item->part;
}

/* ---- Properties --------------------------------------------------------------------------------------- */

static gboolean is_turn(guint32 kind) {
    return kind == KIND("irot") || kind == KIND("imir");
}

static TtOrientation turn_of(guint32 kind, guint8 value) {
    static const TtOrientation turns[] = {TT_NONE, TT_ROT270, TT_ROT180, TT_ROT90};
    if (kind == KIND("irot"))
        return turns[value & 3];
    return value & 1 ? TT_FLIPH : TT_FLIPV;
}

/* The properties, in their order; each is named by its place from 1 on. */
static GArray *read_properties(const guint8 *data, const Box *container) {
    GArray *properties = g_array_new(FALSE, FALSE, sizeof(Box));
    Cursor c = inside(data, container);
    Box box;
    while (take_box(&c, &box) && properties->len <= MOST_PROPERTIES)
        g_array_append_val(properties, box);
    if (!c.bad && c.at == c.end)
        return properties;
    g_array_unref(properties);
    return NULL;
}

static void note_property(HeifItem *item, const guint8 *data, const Box *box) {
    Cursor c = inside(data, box);
    if (is_turn(box->kind)) {
        item->lies = tt_compose(item->lies, turn_of(box->kind, (guint8)take(&c, 1)));
    } else if (box->kind == KIND("ispe")) {
        take_version(&c);
        item->width = (guint)take(&c, 4);
        item->height = (guint)take(&c, 4);
        item->sized = item->width && item->height;
    } else if (box->kind == KIND("clap")) {
        guint64 width = take(&c, 4), parts = take(&c, 4), height = take(&c, 4), parts_down = take(&c, 4);
        item->cut_width = (guint)(width / MAX(parts, 1));
        item->cut_height = (guint)(height / MAX(parts_down, 1));
        item->odd |= item->lies != TT_NONE;
    }
    item->odd |= c.bad || box->kind == KIND("iscl");
}

/* One entry of an association: an item, and the properties that it has. */
typedef struct {
    guint32 id;
    guint n;
    guint16 properties[255]; /* with ESSENTIAL */
} Entry;

static void take_entry(Cursor *c, guint32 version, Entry *entry) {
    entry->id = (guint32)take(c, version >> 24 ? 4 : 2);
    entry->n = (guint)take(c, 1);
    for (guint i = 0; i < entry->n; i++) {
        guint value = (guint)take(c, version & 1 ? 2 : 1);
        entry->properties[i] =
            (guint16)(version & 1 ? value : (value & 0x80 ? ESSENTIAL : 0) | (value & 0x7f));
    }
}

static gboolean read_association(HeifItems *items, const Box *box, const GArray *properties) {
    Cursor c = inside(items->data, box);
    guint32 version = take_version(&c);
    guint64 n = take(&c, 4);
    Entry entry;
    while (n-- && !c.bad) {
        take_entry(&c, version, &entry);
        HeifItem *item = heif_items_find(items, entry.id);
        if (item)
            item->associated++;
        for (guint i = 0; i < entry.n; i++) {
            guint which = entry.properties[i] & ~ESSENTIAL;
            if (which > properties->len)
                return FALSE;
            if (item && which)
                note_property(item, items->data, &g_array_index(properties, Box, which - 1));
        }
    }
    return !c.bad;
}

static gboolean read_associations(HeifItems *items) {
    Box iprp, ipco, box;
    if (!find_box(children(items), KIND("iprp"), &iprp) ||
        !find_box(inside(items->data, &iprp), KIND("ipco"), &ipco))
        return FALSE;
    GArray *properties = read_properties(items->data, &ipco);
    gboolean good = properties != NULL;
    Cursor c = inside(items->data, &iprp);
    while (good && take_box(&c, &box))
        good = box.kind != KIND("ipma") || read_association(items, &box, properties);
    if (properties)
        g_array_unref(properties);
    return good && !c.bad;
}

/* ---- Items -------------------------------------------------------------------------------------------- */

/* What is made of others in other ways than by their places, or stored in ways that are not known here. */
static gboolean is_strange(guint32 kind) {
    return kind == KIND("tmap") || kind == KIND("iden") || kind == KIND("hvt1");
}

static gboolean read_item(HeifItems *items, const Box *box) {
    static const char rdf[] = "application/rdf+xml";
    Cursor c = inside(items->data, box);
    guint32 version = take_version(&c);
    HeifItem item = {.lies = TT_NONE, .hidden = version & 1};
    guint place = items->items->len + 1;
    if (version >> 24 < 2)
        return FALSE;
    item.id = (guint32)take(&c, version >> 24 == 2 ? 2 : 4);
    take(&c, 2); /* protection */
    guint32 kind = (guint32)take(&c, 4);
    const guint8 *name = items->data + c.at, *behind = memchr(name, 0, c.end - c.at);
    item.grid = kind == KIND("grid");
    item.exif = kind == KIND("Exif");
    item.xmp = kind == KIND("mime") && behind &&
               c.end - (gsize)(behind + 1 - items->data) >= sizeof(rdf) - 1 &&
               !memcmp(behind + 1, rdf, sizeof(rdf) - 1);
    g_array_append_val(items->items, item);
    return !c.bad && !is_strange(kind) && place <= MOST_ITEMS &&
           g_hash_table_insert(items->places, GUINT_TO_POINTER(item.id), GUINT_TO_POINTER(place));
}

static gboolean read_items(HeifItems *items) {
    Box iinf, box;
    if (!find_box(children(items), KIND("iinf"), &iinf))
        return FALSE;
    Cursor c = inside(items->data, &iinf);
    take(&c, take_version(&c) >> 24 ? 4 : 2); /* how many */
    while (take_box(&c, &box))
        if (box.kind == KIND("infe") && !read_item(items, &box))
            return FALSE;
    return !c.bad;
}

static gboolean read_primary(HeifItems *items) {
    Box box;
    if (!find_box(children(items), KIND("pitm"), &box))
        return FALSE;
    Cursor c = inside(items->data, &box);
    items->primary = (guint32)take(&c, take_version(&c) >> 24 ? 4 : 2);
    return !c.bad;
}

static void note_reference(HeifItems *items, guint32 kind, guint32 from, guint32 to) {
    HeifItem *one = heif_items_find(items, from), *other = heif_items_find(items, to);
    if (kind == KIND("dimg") && other) {
        other->part = TRUE;
        other->overlaid |= one && !one->grid;
    } else if ((kind == KIND("thmb") || kind == KIND("auxl")) && one) {
        one->beside = TRUE;
    } else if (kind == KIND("cdsc") && one && !one->about) {
        one->about = to;
    }
}

static gboolean read_references(HeifItems *items) {
    Box iref, box;
    if (!find_box(children(items), KIND("iref"), &iref))
        return TRUE;
    Cursor c = inside(items->data, &iref);
    gsize size = take_version(&c) >> 24 ? 4 : 2;
    while (take_box(&c, &box)) {
        Cursor of = inside(items->data, &box);
        guint32 from = (guint32)take(&of, size);
        for (guint64 n = take(&of, 2); n && !of.bad; n--)
            note_reference(items, box.kind, from, (guint32)take(&of, size));
        c.bad |= of.bad;
    }
    return !c.bad;
}

/* ---- Places ------------------------------------------------------------------------------------------- */

/* Sizes of the numbers in the box of places. */
typedef struct {
    guint version;
    gsize offset, length, base, index;
} Sizes;

static Sizes take_sizes(Cursor *c) {
    Sizes sizes = {.version = take_version(c) >> 24};
    guint bytes = (guint)take(c, 2);
    sizes.offset = bytes >> 12;
    sizes.length = bytes >> 8 & 15;
    sizes.base = bytes >> 4 & 15;
    sizes.index = sizes.version ? bytes & 15 : 0;
    return sizes;
}

static gboolean move(guint8 *at, gsize size, guint64 value, gint64 by) {
    value += (guint64)by;
    if (size < 8 && value >> 8 * size)
        return FALSE;
    for (gsize i = size; i-- > 0; value >>= 8)
        at[i] = (guint8)value;
    return TRUE;
}

/* A piece of an item. */
typedef struct {
    guint64 start, length;
    gboolean in_meta, metadata;
} Extent;

static gint by_place(gconstpointer a, gconstpointer b) {
    const Extent *one = a, *other = b;
    if (one->in_meta != other->in_meta)
        return one->in_meta ? 1 : -1;
    return one->start < other->start ? -1 : one->start > other->start;
}

/* Whether what is changed in metadata would be changed in something else, too. */
static gboolean metadata_overlaps(GArray *extents) {
    guint64 end = 0, metadata_end = 0;
    g_array_sort(extents, by_place);
    for (guint i = 0; i < extents->len; i++) {
        const Extent *e = &g_array_index(extents, Extent, i);
        if (i && e->in_meta && !g_array_index(extents, Extent, i - 1).in_meta)
            end = metadata_end = 0;
        if (e->start < (e->metadata ? end : metadata_end))
            return TRUE;
        end = MAX(end, e->start + e->length);
        metadata_end = e->metadata ? MAX(metadata_end, e->start + e->length) : metadata_end;
    }
    return FALSE;
}

/* Whether a piece that counts from the file's start reaches into the meta box, where nothing says what
 * becomes of it. */
static gboolean in_the_way(const HeifItems *items, guint64 start, guint64 length) {
    return start < items->end && (start >= items->at || length > items->at - start);
}

/* An item's pieces. What lies behind the meta box moves by so much, in `moved` at the same places. FALSE also
 * for one of no length, which goes on to the end. */
static gboolean place_pieces(HeifItems *items, HeifItem *item, Cursor *c, const Sizes *sizes, guint method,
                             guint8 *moved, gint64 by) {
    gsize base_at = c->at;
    guint64 base = take(c, sizes->base);
    gboolean of_file = method == 0, base_moves = of_file && sizes->base && base >= items->end;
    if (moved && base_moves && !move(moved + base_at, sizes->base, base, by))
        return FALSE;
    for (guint64 n = take(c, 2); n && !c->bad; n--) {
        take(c, sizes->index);
        gsize at = c->at;
        guint64 offset = take(c, sizes->offset), length = take(c, sizes->length), start = base + offset;
        gboolean moves = of_file && !base_moves && start >= items->end;
        if (moved && moves && !move(moved + at, sizes->offset, offset, by))
            return FALSE;
        if (start < base || !length || (of_file && in_the_way(items, start, length)))
            return FALSE;
        items->cut_short |= of_file && (start > items->file_size || length > items->file_size - start);
        if (item && !moved) {
            Extent extent = {start, length, !of_file, item->exif || item->xmp};
            g_array_append_val(items->extents, extent);
            item->start = start;
            item->length = length;
            item->in_meta = method == 1;
            item->odd |= method > 1;
            item->pieces++;
        }
    }
    return TRUE;
}

static gboolean places(HeifItems *items, guint8 *moved, gint64 by) {
    Box iloc;
    if (!find_box(children(items), KIND("iloc"), &iloc))
        return FALSE;
    Cursor c = inside(items->data, &iloc);
    Sizes sizes = take_sizes(&c);
    guint64 n = take(&c, sizes.version < 2 ? 2 : 4);
    while (n-- && !c.bad) {
        HeifItem *item = heif_items_find(items, (guint32)take(&c, sizes.version < 2 ? 2 : 4));
        guint method = sizes.version ? take(&c, 2) & 15 : 0;
        gboolean elsewhere = take(&c, 2) != 0; /* in another file */
        if (elsewhere || !place_pieces(items, item, &c, &sizes, method, moved, by))
            return FALSE;
    }
    return !c.bad && sizes.version <= 2;
}

/* ---- Reading ------------------------------------------------------------------------------------------ */

/* The meta box; there is one, and nothing else tells places in the file. */
static gboolean find_meta(FILE *file, HeifItems *items) {
    guint8 head[16];
    guint found = 0;
    if (fseeko(file, 0, SEEK_END))
        return FALSE;
    items->file_size = (guint64)ftello(file);
    for (guint64 at = 0, size; at < items->file_size; at += size) {
        gsize n = (gsize)MIN(items->file_size - at, sizeof(head));
        if (n < 8 || fseeko(file, (off_t)at, SEEK_SET) || fread(head, 1, n, file) != n)
            return found == 1; /* what stands behind the boxes is no box */
        Cursor c = {head, 0, n, FALSE};
        size = take(&c, 4);
        guint32 kind = (guint32)take(&c, 4);
        if (size == 1)
            size = take(&c, 8);
        if (size == 0)
            size = items->file_size - at;
        if (kind == KIND("moov") || kind == KIND("moof"))
            return FALSE;
        if (kind == KIND("meta")) {
            items->at = at;
            items->end = at + size;
            found++;
        }
        if (size < 8 || size > items->file_size - at)
            return found == 1 && kind != KIND("meta");
    }
    return found == 1;
}

static gboolean read_meta(FILE *file, HeifItems *items) {
    gsize size = (gsize)(items->end - items->at);
    if (items->end - items->at > LARGEST_META)
        return FALSE;
    items->data = g_malloc(size);
    return !fseeko(file, (off_t)items->at, SEEK_SET) && fread(items->data, 1, size, file) == size;
}

/* Places of items in the meta box itself, which count from the start of one of its boxes. */
static gboolean settle(HeifItems *items) {
    Box idat = {0};
    gboolean there = find_box(children(items), KIND("idat"), &idat);
    for (guint i = 0; i < items->items->len; i++) {
        HeifItem *item = &g_array_index(items->items, HeifItem, i);
        if (!item->in_meta)
            continue;
        if (!there || item->start > idat.end - idat.body || item->length > idat.end - idat.body - item->start)
            return FALSE;
        item->start += idat.body;
    }
    return TRUE;
}

static gboolean is_regular(const HeifItems *items) {
    const HeifItem *primary = heif_items_find(items, items->primary);
    if (!items->cut_short && metadata_overlaps(items->extents))
        return FALSE;
    for (guint i = 0; i < items->items->len; i++) {
        const HeifItem *item = &g_array_index(items->items, HeifItem, i);
        gboolean stated =
            (item->exif || item->xmp) && (item->pieces != 1 || item->odd || item->length > LARGEST_META);
        if (stated || (item->overlaid && !item->hidden) ||
            (heif_item_turns(item) && (item->odd || item->associated != 1)))
            return FALSE;
    }
    return primary && heif_item_turns(primary);
}

gboolean heif_items_read(FILE *file, HeifItems *items) {
    *items = (HeifItems){.items = g_array_new(FALSE, FALSE, sizeof(HeifItem)),
                         .extents = g_array_new(FALSE, FALSE, sizeof(Extent)),
                         .places = g_hash_table_new(NULL, NULL)};
    return find_meta(file, items) && read_meta(file, items) && read_items(items) && read_primary(items) &&
           read_references(items) && read_associations(items) && places(items, NULL, 0) && settle(items) &&
           is_regular(items);
}

void heif_items_clear(HeifItems *items) {
    if (!items->items)
        return;
    g_free(items->data);
    g_array_unref(items->items);
    g_array_unref(items->extents);
    g_hash_table_unref(items->places);
}

/* ---- Turning ------------------------------------------------------------------------------------------ */

static void put(GByteArray *to, guint64 value, gsize n) {
    for (; n > 0; n--) {
        guint8 byte = (guint8)(value >> 8 * (n - 1));
        g_byte_array_append(to, &byte, 1);
    }
}

static guint begin_box(GByteArray *to, guint32 kind) {
    guint start = to->len;
    put(to, 0, 4);
    put(to, kind, 4);
    return start;
}

static void end_box(GByteArray *to, guint start) {
    move(to->data + start, 4, to->len - start, 0);
}

static void copy_box(GByteArray *to, const guint8 *data, const Box *box) {
    g_byte_array_append(to, data + box->start, (guint)(box->end - box->start));
}

/* Properties as they become: those that were there, and some behind them. */
typedef struct {
    const HeifItems *items;
    TtOrientation turn;
    GByteArray *bytes; /* of all */
    GArray *ends;      /* of each, in bytes */
    guint kept;        /* so many, the last of which is used or no turn */
    guint turns[2][4]; /* places, from 1 on, of rotations and of mirrorings, once they were looked up */
} Properties;

static const guint8 *property(const Properties *p, guint i, guint *size) {
    guint start = i ? g_array_index(p->ends, guint, i - 1) : 0;
    *size = g_array_index(p->ends, guint, i) - start;
    return p->bytes->data + start;
}

static void add_property(Properties *p, const guint8 *data, gsize size) {
    g_byte_array_append(p->bytes, data, (guint)size);
    g_array_append_val(p->ends, p->bytes->len);
}

/* The number of a property that holds this byte alone, which is there then. */
static guint16 property_of(Properties *p, guint32 kind, guint8 value) {
    guint8 wanted[9] = {
        0, 0, 0, 9, (guint8)(kind >> 24), (guint8)(kind >> 16), (guint8)(kind >> 8), (guint8)kind, value};
    guint size, *place = &p->turns[kind == KIND("imir")][value & 3];
    for (guint i = 0; !*place && i < p->ends->len; i++) {
        const guint8 *data = property(p, i, &size);
        if (size == sizeof(wanted) && !memcmp(data, wanted, size))
            *place = i + 1;
    }
    if (!*place) {
        add_property(p, wanted, sizeof(wanted));
        *place = p->ends->len;
    }
    p->kept = MAX(p->kept, *place);
    return (guint16)*place;
}

/* One rotation and one mirroring, in this order, make any turn; most need no mirroring. */
static void add_turns(Properties *p, Entry *entry, TtOrientation lies) {
    for (guint mirror = 0; mirror < 3; mirror++)
        for (guint8 angle = 0; angle < 4; angle++) {
            TtOrientation made = turn_of(KIND("irot"), angle);
            if (mirror)
                made = tt_compose(made, turn_of(KIND("imir"), (guint8)(2 - mirror)));
            if (made != lies)
                continue;
            if (angle)
                entry->properties[entry->n++] = ESSENTIAL | property_of(p, KIND("irot"), angle);
            if (mirror)
                entry->properties[entry->n++] =
                    ESSENTIAL | property_of(p, KIND("imir"), (guint8)(2 - mirror));
            return;
        }
}

static guint32 kind_of(const Properties *p, guint16 which) {
    guint size, i = which & ~(guint)ESSENTIAL;
    return i ? (guint32)take(&(Cursor){property(p, i - 1, &size), 4, 8, FALSE}, 4) : 0;
}

/* FALSE if an item would have too many. */
static gboolean turn_entry(Properties *p, Entry *entry) {
    const HeifItem *item = heif_items_find(p->items, entry->id);
    gboolean turns = item && heif_item_turns(item);
    guint kept = 0;
    for (guint i = 0; i < entry->n; i++)
        if (!turns || !is_turn(kind_of(p, entry->properties[i])))
            entry->properties[kept++] = entry->properties[i];
    entry->n = kept;
    if (turns && kept > G_N_ELEMENTS(entry->properties) - 2)
        return FALSE;
    if (turns)
        add_turns(p, entry, tt_compose(item->lies, p->turn));
    for (guint i = 0; i < entry->n; i++)
        p->kept = MAX(p->kept, entry->properties[i] & ~(guint)ESSENTIAL);
    return TRUE;
}

static gboolean turn_association(Properties *p, const Box *box, GByteArray *to) {
    enum { NARROW = 0x7f };
    Cursor c = inside(p->items->data, box);
    guint32 version = take_version(&c);
    guint64 n = take(&c, 4);
    Entry entry;
    guint32 wide = version & 1 || p->ends->len + 8 > NARROW; /* there are eight properties of turns at most */
    guint start = begin_box(to, KIND("ipma"));
    put(to, version | wide, 4);
    put(to, n, 4);
    while (n--) {
        take_entry(&c, version, &entry);
        if (!turn_entry(p, &entry))
            return FALSE;
        put(to, entry.id, version >> 24 ? 4 : 2);
        put(to, entry.n, 1);
        for (guint i = 0; i < entry.n; i++) {
            guint16 one = entry.properties[i];
            put(to, wide ? one : (one & ESSENTIAL ? 0x80u : 0u) | (one & NARROW), wide ? 2 : 1);
        }
    }
    end_box(to, start);
    return TRUE;
}

static void write_properties(const Properties *p, GByteArray *to) {
    guint size, start = begin_box(to, KIND("ipco"));
    for (guint i = 0; i < p->kept; i++) {
        const guint8 *data = property(p, i, &size);
        g_byte_array_append(to, data, size);
    }
    end_box(to, start);
}

/* Turns that nothing uses any more and that no other property is behind are left out: so four quarter turns
 * leave the file as it was. */
static void keep_all_others(Properties *p) {
    for (guint i = 0; i < p->ends->len; i++)
        if (!is_turn(kind_of(p, (guint16)(i + 1))))
            p->kept = MAX(p->kept, i + 1);
}

static void read_all_properties(Properties *p, const Box *ipco) {
    GArray *boxes = read_properties(p->items->data, ipco);
    for (guint i = 0; i < boxes->len; i++) {
        const Box *box = &g_array_index(boxes, Box, i);
        add_property(p, p->items->data + box->start, box->end - box->start);
    }
    g_array_unref(boxes);
}

static gboolean turn_properties(const HeifItems *items, TtOrientation turn, const Box *iprp, GByteArray *to) {
    Properties p = {.items = items,
                    .turn = turn,
                    .bytes = g_byte_array_new(),
                    .ends = g_array_new(FALSE, FALSE, sizeof(guint))};
    GByteArray *associations = g_byte_array_new();
    Box ipco = {0}, box;
    gboolean good = find_box(inside(items->data, iprp), KIND("ipco"), &ipco);
    if (good)
        read_all_properties(&p, &ipco);
    Cursor c = inside(items->data, iprp);
    while (good && take_box(&c, &box))
        if (box.kind == KIND("ipma"))
            good = turn_association(&p, &box, associations);
        else if (box.kind != KIND("ipco"))
            copy_box(associations, items->data, &box);
    keep_all_others(&p);
    guint start = begin_box(to, KIND("iprp"));
    write_properties(&p, to);
    g_byte_array_append(to, associations->data, associations->len);
    end_box(to, start);
    g_byte_array_unref(p.bytes);
    g_array_unref(p.ends);
    g_byte_array_unref(associations);
    return good;
}

/* Its children in their order: where it starts is told for the places. */
static GByteArray *rebuild(const HeifItems *items, const guint8 *data, TtOrientation turn) {
    GByteArray *to = g_byte_array_new();
    Cursor c = children(items);
    Box box;
    guint start = begin_box(to, KIND("meta"));
    gboolean good = TRUE;
    g_byte_array_append(to, data + c.at - 4, 4);
    while (good && take_box(&c, &box))
        if (box.kind == KIND("iprp"))
            good = turn_properties(items, turn, &box, to);
        else
            copy_box(to, data, &box);
    end_box(to, start);
    if (good)
        return to;
    g_byte_array_unref(to);
    return NULL;
}

GByteArray *heif_items_turned(const HeifItems *items, TtOrientation turn) {
    gsize size = (gsize)(items->end - items->at);
    HeifItems copy = *items;
    GByteArray *sized = rebuild(items, items->data, turn), *turned = NULL;
    if (!sized)
        return NULL;
    guint8 *moved = g_memdup2(items->data, size);
    if (places(&copy, moved, (gint64)sized->len - (gint64)size))
        turned = rebuild(items, moved, turn);
    g_free(moved);
    g_byte_array_unref(sized);
    return turned;
}
