/* SPDX-License-Identifier: MIT
 *
 * Completing a Huffman code, by the procedure of ITU-T T.81, annex K.2.
 */
#include "jpeg_codes.h"

#include <string.h>

enum {
    SYMBOLS = 256,
    RESERVED = 256,   /* takes the code of ones alone, which no symbol may have */
    LONGEST = 16,     /* bits that a code may have */
    UNLIMITED = 64,   /* bits that a code might have before it is shortened */
    SHARES = 1 << 20, /* by how much a present symbol weighs more than an absent one */
    LARGEST_DC = 11,  /* bits of a value */
    LARGEST_AC = 10,
    ZERO_RUN = 0xf0
};

/* Weights by the lengths of the codes; 1 for a symbol that has none but might come. */
static void weigh(const JHUFF_TBL *table, gboolean dc, guint *weights) {
    memset(weights, 0, (SYMBOLS + 1) * sizeof(*weights));
    weights[RESERVED] = 1;
    for (int symbol = 0; symbol < SYMBOLS; symbol++) {
        int bits = symbol & 15;
        gboolean ends = symbol == 0 || symbol == ZERO_RUN;
        weights[symbol] = dc ? symbol <= LARGEST_DC : ends || (bits >= 1 && bits <= LARGEST_AC);
    }
    for (int length = 1, i = 0; length <= LONGEST; length++)
        for (int n = 0; n < table->bits[length] && i < SYMBOLS; n++, i++)
            weights[table->huffval[i]] = SHARES >> length;
}

/* The lightest that is not 0, other than `but`; -1 if there is none. Of equals the last. */
static int lightest(const guint *weights, int but) {
    int found = -1;
    for (int i = 0; i <= RESERVED; i++)
        if (weights[i] && i != but && (found < 0 || weights[i] <= weights[found]))
            found = i;
    return found;
}

static void measure(guint *weights, guint8 *lengths) {
    int next[SYMBOLS + 1]; /* chains of the symbols that share a subtree */
    memset(next, -1, sizeof(next));
    memset(lengths, 0, SYMBOLS + 1);
    for (int a, b; (b = lightest(weights, a = lightest(weights, -1))) >= 0;) {
        weights[a] += weights[b];
        weights[b] = 0;
        int last = a;
        for (int i = a; i >= 0; i = next[i]) {
            lengths[i]++;
            last = i;
        }
        next[last] = b;
        for (int i = b; i >= 0; i = next[i])
            lengths[i]++;
    }
}

/* How many codes of each length, none too long: a pair of the longest moves up, beside a shorter code. */
static void limit(const guint8 *lengths, guint *counts) {
    memset(counts, 0, UNLIMITED * sizeof(*counts));
    for (int i = 0; i <= RESERVED; i++)
        if (lengths[i])
            counts[lengths[i]]++;
    for (int length = UNLIMITED - 1; length > LONGEST; length--)
        while (counts[length]) {
            int shorter = length - 2;
            while (!counts[shorter])
                shorter--;
            counts[length] -= 2;
            counts[length - 1]++;
            counts[shorter + 1] += 2;
            counts[shorter]--;
        }
    int longest = LONGEST;
    while (!counts[longest])
        longest--;
    counts[longest]--; /* RESERVED's */
}

static void complete(const JHUFF_TBL *table, gboolean dc, JHUFF_TBL *result) {
    guint weights[SYMBOLS + 1], counts[UNLIMITED];
    guint8 lengths[SYMBOLS + 1];
    weigh(table, dc, weights);
    measure(weights, lengths);
    limit(lengths, counts);
    memset(result->bits, 0, sizeof(result->bits));
    memset(result->huffval, 0, sizeof(result->huffval));
    for (int length = 1; length <= LONGEST; length++)
        result->bits[length] = (UINT8)counts[length];
    for (int length = 1, n = 0; length < UNLIMITED; length++)
        for (int i = 0; i < SYMBOLS; i++)
            if (lengths[i] == length)
                result->huffval[n++] = (UINT8)i;
    result->sent_table = FALSE;
}

static void copy(JHUFF_TBL *from, gboolean dc, j_compress_ptr to, JHUFF_TBL **slot) {
    if (!*slot)
        *slot = jpeg_alloc_huff_table((j_common_ptr)to);
    complete(from, dc, *slot);
}

gboolean jpeg_codes_copy(j_decompress_ptr from, j_compress_ptr to) {
    for (int i = 0; i < to->num_components; i++) {
        const jpeg_component_info *c = &from->comp_info[i];
        if (c->dc_tbl_no < 0 || c->dc_tbl_no >= NUM_HUFF_TBLS || c->ac_tbl_no < 0 ||
            c->ac_tbl_no >= NUM_HUFF_TBLS) /* not checked before its scan, nor set before that is found */
            return FALSE;
        if (!from->dc_huff_tbl_ptrs[c->dc_tbl_no] || !from->ac_huff_tbl_ptrs[c->ac_tbl_no])
            return FALSE;
    }
    for (int i = 0; i < to->num_components; i++) {
        int dc = from->comp_info[i].dc_tbl_no, ac = from->comp_info[i].ac_tbl_no;
        to->comp_info[i].dc_tbl_no = dc;
        to->comp_info[i].ac_tbl_no = ac;
        copy(from->dc_huff_tbl_ptrs[dc], TRUE, to, &to->dc_huff_tbl_ptrs[dc]);
        copy(from->ac_huff_tbl_ptrs[ac], FALSE, to, &to->ac_huff_tbl_ptrs[ac]);
    }
    return TRUE;
}
