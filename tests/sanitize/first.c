/* SPDX-License-Identifier: MIT
 *
 * Preloaded with a sanitizer into programs that are built without it, before whose constructors this one
 * runs.
 *
 * The sanitizer begins with the first malloc(). Where that is in newlocale(), called by a library's
 * constructor (p11-kit's), its beginning unlocks glibc's lock of locales once too often, and the next
 * setlocale() hangs.
 */
#include <stdlib.h>

__attribute__((constructor)) static void begin(void) {
    void *volatile memory = malloc(1);
    free(memory);
}
