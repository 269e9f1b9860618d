/* SPDX-License-Identifier: MIT */
#include "shim.h"

#include "../../../kernels/cuda/kernels.cu"

#include "kernels.h"

#undef TURN
#undef MOVE
#undef COPY
#undef UNIT

#define ENTRY(name, Parameter)                    {#name, [](const void *p) { name(*(const Parameter *)p); }},
#define TURN(bytes, src, dst, width, height, ...) ENTRY(tt_turn_##bytes##_##src##_##dst##_##height, TtTask)
#define TURN_IN_LIST(bytes, src, dst, width, height, ...)                                                    \
    ENTRY(tt_turn_list_##bytes##_##src##_##dst##_##height, TtTaskList)
#define MOVE(bytes, channels, from, to, any, ...)                                                            \
    ENTRY(tt_move_##bytes##_##channels##_##from##_##to##_##any, TtTaskList)
#define COPY(bytes, reverse, alike) ENTRY(tt_copy_##bytes##_##reverse##_##alike, TtTaskList)
#define PLANES(bytes, src, dst, width, height, ...)                                                          \
    ENTRY(tt_turn_join_##bytes##_##src##_##dst##_##height, TtTask)                                           \
    ENTRY(tt_turn_split_##bytes##_##src##_##dst##_##height, TtTask)
#define UNIT(bytes) ENTRY(tt_turn_units_##bytes, TtTaskList) ENTRY(tt_gather_units_##bytes, TtTaskList)

static const struct {
    const char *name;
    ShimKernel run;
} kernels[] = {TT_TURN_KERNELS(TURN) TT_TURN_LIST_KERNELS(TURN_IN_LIST) TT_TURN_PLANES_KERNELS(PLANES)
                   TT_MOVE_KERNELS(MOVE) TT_COPY_KERNELS(COPY) TT_UNIT_KERNELS(UNIT)};

ShimKernel shim_kernel(const char *name) {
    for (const auto &k : kernels)
        if (!strcmp(k.name, name))
            return k.run;
    return nullptr;
}
