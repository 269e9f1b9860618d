/* SPDX-License-Identifier: MIT */
#include "shim.h"

#include "../../../kernels/cuda/kernels.cu"

#include "kernels.h"

#undef TURN
#undef MOVE
#undef COPY
#undef RUN
#undef UNIT

#define ENTRY(name, Parameter)                                                                               \
    {#name, {[](const void *p) { name(*(const Parameter *)p); }, sizeof(Parameter)}},
#define TURN(bytes, src, dst, width, height, ...)                                                            \
    ENTRY(tt_turn_##bytes##_##src##_##dst##_##width##x##height, TtTask)
#define TURN_IN_LIST(bytes, src, dst, width, height, ...)                                                    \
    ENTRY(tt_turn_list_##bytes##_##src##_##dst##_##width##x##height, TtTaskList)
#define MOVE(bytes, channels, from, to, any, ...)                                                            \
    ENTRY(tt_move_##bytes##_##channels##_##from##_##to##_##any, TtTaskList)
#define COPY(bytes, reverse, alike) ENTRY(tt_copy_##bytes##_##reverse##_##alike, TtTaskList)
#define RUN(bytes)                  ENTRY(tt_reverse_run_##bytes, TtTaskList)
#define JOIN(bytes, src, dst, width, height, ...)                                                            \
    ENTRY(tt_turn_join_##bytes##_##src##_##dst##_##width##x##height, TtTask)
#define SPLIT(bytes, src, dst, width, height, ...)                                                           \
    ENTRY(tt_turn_split_##bytes##_##src##_##dst##_##width##x##height, TtTask)
#define UNIT(bytes) ENTRY(tt_turn_units_##bytes, TtTaskList) ENTRY(tt_gather_units_##bytes, TtTaskList)

static const struct {
    const char *name;
    ShimKernel run;
} kernels[] = {TT_TURN_KERNELS(TURN) TT_TURN_LIST_KERNELS(TURN_IN_LIST) TT_TURN_JOIN_KERNELS(JOIN)
                   TT_TURN_SPLIT_KERNELS(SPLIT) TT_MOVE_KERNELS(MOVE) TT_COPY_KERNELS(COPY)
                       TT_RUN_KERNELS(RUN) TT_UNIT_KERNELS(UNIT)};

ShimKernel shim_kernel(const char *name) {
    for (const auto &k : kernels)
        if (!strcmp(k.name, name))
            return k.run;
    return {};
}
