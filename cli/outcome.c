/* SPDX-License-Identifier: MIT
 *
 * Words and sums of what became of files.
 */
#include "outcome.h"

void outcome_clear(Outcome *outcome) {
    g_free(outcome->input_sha256);
    g_free(outcome->output_sha256);
    g_free(outcome->message);
    *outcome = (Outcome){0};
}

const char *outcome_word(OutcomeKind kind) {
    static const char *const words[OUTCOME_KINDS] = {
        [OUTCOME_FAILED] = "failed",       [OUTCOME_TURNED] = "turned",   [OUTCOME_COPIED] = "copied",
        [OUTCOME_UNCHANGED] = "unchanged", [OUTCOME_SKIPPED] = "skipped", [OUTCOME_IGNORED] = "ignored",
    };
    return words[kind];
}

void tally_add(Tally *tally, const Outcome *outcome) {
    tally->files[outcome->kind]++;
    tally->bytes_in += outcome->bytes_in;
    tally->bytes_out += outcome->bytes_out;
}
