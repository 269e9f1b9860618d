/* SPDX-License-Identifier: MIT
 *
 * Settings of glibc's malloc().
 */
#include "heap.h"

#include <glib.h>
#include <malloc.h>

/* Coefficients and blocks of pixels are short-lived. A quarter of the time of a turn was the system's,
 * clearing pages that the last file had given back; so as much as a photograph needs is kept. */
void heap_keep(void) {
    static gsize done;
    if (!g_once_init_enter(&done))
        return;
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* the most that glibc takes */
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    g_once_init_leave(&done, 1);
}
