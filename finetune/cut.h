// Two halves of a program at one value: what leads to it, and what follows from it alone.
#pragma once

#include "runtime/runtime.h"

namespace hub {

/// Ends in `value`; inputs that it does not depend on are gone.
Program cut_before(const Program& program, ValueId value);
/// Begins with `value` as its only input (besides the constants and states it uses). Throws
/// Code::unsupported naming an input of the program that the outputs depend on by another way.
Program cut_after(const Program& program, ValueId value);

}  // namespace hub
