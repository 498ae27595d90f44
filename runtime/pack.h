// What a session leaves on disk for the next start: the optimised program and its weights, already
// in the layouts that the device's kernels want. The next start maps it and computes nothing.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/device/device.h"
#include "runtime/plan.h"
#include "runtime/program.h"

namespace hub {

/// Writes atomically. A place that cannot be written to is left alone: the pack only saves time.
void save_pack(const std::string& path, const Program& program, const Device& device,
               const Packs& packs);

/// The program of a pack, its constants registered in `packs`. Nothing when there is no pack, or
/// one of another build, device or processor, or a damaged one.
std::optional<Program> load_pack(const std::string& path, Device& device, Packs& packs);

}  // namespace hub
