/* SPDX-License-Identifier: MIT
 *
 * Settings of glibc's malloc(), and pages of a thread's own.
 *
 * A quarter of the time of a turn was the system's, clearing pages that the last file had given back; so as
 * much as a photograph needs is kept.
 */
#define _GNU_SOURCE
#include "heap.h"

#include <glib.h>
#include <malloc.h>
#include <sys/mman.h>

enum { MOST_KEPT = 64 << 20, HUGE_PAGE = 2 << 20, HEAD = 4096 };

/* Coefficients and blocks of pixels are short-lived. */
void heap_keep(void) {
    static gsize done;
    if (!g_once_init_enter(&done))
        return;
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* the most that glibc takes */
    mallopt(M_TRIM_THRESHOLD, MOST_KEPT);
    g_once_init_leave(&done, 1);
}

/* What a frame has, behind a page that says how much. */
typedef struct {
    gsize size;
} Pages;

static void free_pages(gpointer pages) {
    munmap(pages, ((Pages *)pages)->size);
}

static GPrivate kept = G_PRIVATE_INIT(free_pages);

static Pages *new_pages(gsize size) {
    Pages *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return NULL;
    madvise(pages, size, MADV_HUGEPAGE);
    pages->size = size;
    return pages;
}

void *heap_frame(size_t bytes, void *user G_GNUC_UNUSED) {
    if (bytes > G_MAXSIZE - HEAD - HUGE_PAGE)
        return NULL;
    gsize size = (bytes + HEAD + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    Pages *pages = g_private_get(&kept);
    if (pages && pages->size >= size) {
        g_private_set(&kept, NULL);
    } else {
        g_private_replace(&kept, NULL);
        pages = new_pages(size);
    }
    return pages ? (guint8 *)pages + HEAD : NULL;
}

void heap_frame_back(void *memory, size_t bytes G_GNUC_UNUSED, void *user G_GNUC_UNUSED) {
    Pages *pages = (Pages *)((guint8 *)memory - HEAD);
    pages->size <= MOST_KEPT ? g_private_replace(&kept, pages) : free_pages(pages);
}
