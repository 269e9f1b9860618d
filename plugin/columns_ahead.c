/* SPDX-License-Identifier: MIT
 *
 * Columns are counted in groups of whole pages of memory. Once some of a group has been read, as by whoever
 * reads all of it and not a detail here and there, the rest of it and the group behind it are asked for.
 */
#include "columns_ahead.h"

#include <sys/mman.h>
#include <unistd.h>

enum {
    GROUPS_HELD = 3, /* one is read, one arrives, and of one some rows are still wanted */
    READ_IN_FULL = 64,
};

typedef struct {
    gsize read; /* bytes */
    gboolean asked;
} Group;

struct ColumnsAhead {
    guint8 *first;
    gsize row_bytes, rows, page, group_bytes; /* of a row */
    gssize step, count;
    GMutex lock; /* of the groups */
    Group groups[];
};

ColumnsAhead *columns_ahead_new(guint8 *first, gsize row_bytes, gsize rows, gsize memory, gboolean backward) {
    gsize page = (gsize)sysconf(_SC_PAGESIZE), group_bytes = memory / GROUPS_HELD / rows / page * page;
    group_bytes = CLAMP(group_bytes, page, row_bytes + page);
    gsize count = (row_bytes - 1) / group_bytes + 1;
    ColumnsAhead *a = g_malloc0(sizeof(*a) + count * sizeof(Group));
    *a = (ColumnsAhead){.first = first,
                        .row_bytes = row_bytes,
                        .rows = rows,
                        .page = page,
                        .group_bytes = group_bytes,
                        .step = backward ? -1 : 1,
                        .count = (gssize)count};
    g_mutex_init(&a->lock);
    guint8 *begin = first - (guintptr)first % page;
    madvise(begin, (gsize)(first - begin) + row_bytes * rows, MADV_RANDOM);
    return a;
}

void columns_ahead_free(ColumnsAhead *a) {
    if (!a)
        return;
    g_mutex_clear(&a->lock);
    g_free(a);
}

/* Both answers are right where the system doesn't take advice: then pages come when they are read. */
static void ask_for(const ColumnsAhead *a, gssize group) {
    gsize from = (gsize)group * a->group_bytes, bytes = MIN(a->group_bytes, a->row_bytes - from);
    for (gsize y = 0; y < a->rows; y++) {
        guint8 *at = a->first + y * a->row_bytes + from, *begin = at - (guintptr)at % a->page;
        madvise(begin, (gsize)(at - begin) + bytes, MADV_WILLNEED);
    }
}

/* Whether nobody has asked for it; then the caller does. A reader that comes again, from the start, finds the
 * groups forgotten that lie behind. */
static gboolean take(ColumnsAhead *a, gssize group) {
    if (group < 0 || group >= a->count || a->groups[group].asked)
        return FALSE;
    a->groups[group].asked = TRUE;
    for (gssize i = 0; i < a->count; i++)
        if (i != group && i != group - a->step && i != group - 2 * a->step)
            a->groups[i] = (Group){0, FALSE};
    return TRUE;
}

void columns_ahead_of(ColumnsAhead *a, gsize from, gsize to, gsize rows) {
    gssize group = (gssize)(from / a->group_bytes);
    g_mutex_lock(&a->lock);
    Group *now = &a->groups[group];
    now->read += (to - from) * rows;
    gboolean in_full = now->read > a->group_bytes / READ_IN_FULL * a->rows;
    gboolean this_one = in_full && take(a, group), next = in_full && take(a, group + a->step);
    g_mutex_unlock(&a->lock);
    if (this_one)
        ask_for(a, group);
    if (next)
        ask_for(a, group + a->step);
}
