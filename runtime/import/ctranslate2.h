// CTranslate2 models: named tensors without a program, one file (model.bin).
#pragma once

#include "runtime/import/import.h"

namespace hub {

/// A model.bin of binary version 6. Tensors view the mapped file where their address suits the
/// type; an alias is the same tensor under a second name. Any bytes in, a clear refusal out.
NamedTensors read_ctranslate2(const MappedFile& file);

}  // namespace hub
